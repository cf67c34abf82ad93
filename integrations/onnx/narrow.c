/* Integers of types that graphs carry in wider ones, see narrow.h. */
#include "onnx/narrow.h"
#include "onnx/words.h"

#include <math.h>
#include <string.h>

/* Operators that take integers of any type. What they make of them may have more bits (CUTS), has no more (KEEPS), or has
 * another type (READS). */
typedef enum { REFUSES, CUTS, KEEPS, READS } effect_t;
static const struct {
    const char *op;
    effect_t effect;
} operators[] = {
    {"Abs", CUTS},
    {"Add", CUTS},
    {"ArgMax", READS},
    {"ArgMin", READS},
    {"BitShift", CUTS},
    {"BitwiseAnd", KEEPS},
    {"BitwiseNot", CUTS},
    {"BitwiseOr", KEEPS},
    {"BitwiseXor", KEEPS},
    {"Clip", KEEPS},
    {"Concat", KEEPS},
    {"DepthToSpace", KEEPS},
    {"Div", CUTS},
    {"Equal", READS},
    {"Expand", KEEPS},
    {"Flatten", KEEPS},
    {"Gather", KEEPS},
    {"GatherElements", KEEPS},
    {"GatherND", KEEPS},
    {"Greater", READS},
    {"GreaterOrEqual", READS},
    {"Identity", KEEPS},
    {"Less", READS},
    {"LessOrEqual", READS},
    {"Max", KEEPS},
    {"Min", KEEPS},
    {"Mod", KEEPS},
    {"Mul", CUTS},
    {"Neg", CUTS},
    {"Pad", KEEPS},
    {"Pow", CUTS},
    {"ReduceMax", KEEPS},
    {"ReduceMin", KEEPS},
    {"ReduceProd", CUTS},
    {"ReduceSum", CUTS},
    {"Reshape", KEEPS},
    {"ReverseSequence", KEEPS},
    {"Shape", READS},
    {"Sign", KEEPS},
    {"Size", READS},
    {"Slice", KEEPS},
    {"SpaceToDepth", KEEPS},
    {"Split", KEEPS},
    {"Squeeze", KEEPS},
    {"Sub", CUTS},
    {"Sum", CUTS},
    {"Tile", KEEPS},
    {"TopK", KEEPS},
    {"Transpose", KEEPS},
    {"Trilu", KEEPS},
    {"Unsqueeze", KEEPS},
    {"Where", KEEPS},
};

static bool is(const char *a, const char *b) { return !strcmp(a, b); }

static effect_t effect_of(const char *op) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i)
        if (is(op, operators[i].op)) return operators[i].effect;
    return REFUSES;
}

/* Does the operator convert its input i? */
static bool converts(const char *op, int i) {
    enum { SCALES = 1 };
    return is(op, "DequantizeLinear") ? i != SCALES
                                      : i == 0 && (is(op, "Cast") || is(op, "CastLike") || is(op, "BitCast"));
}

void dtp_onnx_read_stored(cv_t *cv) {
    const char *op = cv->row->op;
    const effect_t effect = *cv->row->domain ? REFUSES : effect_of(op);
    for (int i = 0; i < cv->nin && !cv->status; ++i) {
        if (!cv->in[i] || !cv->in[i]->stored || dtp_words_is(cv->in[i])) continue;
        const char *type = cv->in[i]->stored;
        const dtp_narrow_t *narrow = dtp_onnx_narrow(type);
        if ((narrow || dtp_onnx_float8(type)) &&
            ((is(op, "CastLike") && i == 1) || (is(op, "QuantizeLinear") && i == 2)))
            continue; /* they make what this is */
        if (!converts(op, i)) {
            if (effect == REFUSES || !narrow) {
                dtp_cv_fail(cv, dnnl_tp_unimplemented,
                            "its input %d is %s, which this operator does not read", i, type);
                return;
            }
            /* Exponents may have another type than the base, and it is the base's that stays. */
            const bool is_other = cv->narrow && !is(cv->narrow->name, type);
            if (is_other && !is(op, "Pow"))
                dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its inputs are %s and %s", cv->narrow->name, type);
            if (effect != READS && !is_other && (i == 0 || !is(op, "Pow"))) cv->narrow = narrow;
        }
        val_t *plain = dtp_cv_alloc(cv, sizeof *plain);
        if (!plain) return;
        *plain = *cv->in[i];
        plain->stored = NULL;
        cv->in[i] = plain;
    }
}

static val_t *marked(cv_t *cv, const val_t *x, const char *type) {
    val_t *y = cv->status ? NULL : dtp_cv_alloc(cv, sizeof *y);
    if (!y) return NULL;
    *y = *x;
    y->stored = type;
    return y;
}

/* The lowest bits of x, which has at least one more. */
static val_t *cut(cv_t *cv, val_t *x, const dtp_narrow_t *n) {
    if (cv->status) return NULL;
    const dnnl_tp_data_type_t type = x->info.data_type;
    val_t *half = dtp_cv_scalar(cv, type, (double)((int64_t)1 << (n->bits - 1))),
          *mask = dtp_cv_scalar(cv, type, (double)(((int64_t)1 << n->bits) - 1));
    if (n->is_signed) x = dtp_cv_binary(cv, dnnl_tp_op_add, x, half);
    x = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_bit_and, x, mask);
    return n->is_signed && !cv->status ? dtp_cv_binary(cv, dnnl_tp_op_subtract, x, half) : x;
}

val_t *dtp_cv_narrowed(cv_t *cv, val_t *x, const dtp_narrow_t *n) {
    x = cut(cv, cv->status ? NULL : dtp_cv_typed(cv, x, dnnl_tp_s64), n);
    return cv->status ? NULL : marked(cv, dtp_cv_typed(cv, x, n->as), n->name);
}

val_t *dtp_cv_bits(cv_t *cv, val_t *x, dnnl_tp_data_type_t to) {
    if (cv->status || x->info.data_type == to) return x;
    const char *name = dnnl_tp_dt2str(to);
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_to, dnnl_tp_op_attr_string, (int)strlen(name), name};
    return dtp_cv_op(cv, dnnl_tp_op_bit_cast, 1, &x, 1, &attr);
}

static val_t *with(cv_t *cv, int kind, val_t *x, double value) {
    return cv->status ? NULL : dtp_cv_binary(cv, kind, x, dtp_cv_scalar(cv, x->info.data_type, value));
}

/* The bits of x that a mask has, of s32 or s64. */
static val_t *masked(cv_t *cv, val_t *x, dnnl_tp_data_type_t whole, int64_t mask) {
    x = cv->status ? NULL : dtp_cv_bits(cv, x, whole);
    val_t *m = cv->status ? NULL : dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &mask);
    m = cv->status ? NULL : dtp_cv_typed(cv, m, whole);
    return cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_bit_and, x, m);
}

/* The sum of a number below 2^(e + 1) and of 1.5 times 2^(e + b - m), where numbers have b bits behind the first one, is the
 * number rounded to m bits behind its first one, 2^e; so rounds the processor. */
val_t *dtp_cv_float8(cv_t *cv, val_t *x, const dtp_float8_t *type, bool saturates) {
    enum { F32_BITS = 23, F64_BITS = 52, MOST_EXPONENT = 16 };
    if (cv->status) return NULL;
    /* Of other types only f64 has all numbers that are not too large for 8 bits. */
    const bool is_f32 = x->info.data_type == dnnl_tp_f32;
    const dnnl_tp_data_type_t real = is_f32 ? dnnl_tp_f32 : dnnl_tp_f64,
                              whole = is_f32 ? dnnl_tp_s32 : dnnl_tp_s64;
    const int bits = is_f32 ? F32_BITS : F64_BITS;
    x = dtp_cv_typed(cv, x, real);
    val_t *a = cv->status ? NULL : dtp_cv_unary(cv, dnnl_tp_op_abs, x);
    val_t *power = masked(cv, a, whole, is_f32 ? INT64_C(0x7f800000) : INT64_C(0x7ff) << F64_BITS);
    power = cv->status ? NULL : dtp_cv_bits(cv, power, real);
    power = with(cv, dnnl_tp_op_maximum, power, ldexp(1, type->least));
    power = with(cv, dnnl_tp_op_minimum, power, ldexp(1, MOST_EXPONENT));
    val_t *more = with(cv, dnnl_tp_op_multiply, power, ldexp(1.5, bits - type->mantissa));
    val_t *y = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_add, a, more);
    y = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_subtract, y, more);
    const double beyond = saturates ? (double)type->most : type->has_infinity ? INFINITY : NAN;
    val_t *is_beyond = with(cv, dnnl_tp_op_greater, y, (double)type->most);
    y = cv->status ? NULL : dtp_cv_select(cv, is_beyond, dtp_cv_scalar(cv, real, beyond), y);
    if (type->has_minus_zero && !cv->status) {
        val_t *sign = masked(cv, x, whole, is_f32 ? INT32_MIN : INT64_MIN);
        y = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_bit_or, dtp_cv_bits(cv, y, whole), sign);
        y = cv->status ? NULL : dtp_cv_bits(cv, y, real);
    } else if (!cv->status) {
        val_t *zero = dtp_cv_scalar(cv, real, 0), *negative = dtp_cv_binary(cv, dnnl_tp_op_subtract, zero, y);
        y = dtp_cv_select(cv, with(cv, dnnl_tp_op_less, x, 0), negative, y);
    }
    y = cv->status ? NULL : dtp_cv_typed(cv, y, dnnl_tp_f32);
    return cv->status ? NULL : marked(cv, y, type->name);
}

void dtp_onnx_narrow_results(cv_t *cv) {
    const dtp_narrow_t *n = cv->narrow;
    if (!n) return;
    const bool is_first = is(cv->row->op, "TopK"); /* then come indices */
    for (int i = 0; i < (is_first ? 1 : cv->nout) && !cv->status; ++i) {
        val_t *x = cv->out[i];
        if (!x || x->info.data_type != n->as) continue;
        if (effect_of(cv->row->op) == CUTS)
            x = n->as == dnnl_tp_s32 || n->as == dnnl_tp_s64 ? cut(cv, x, n) : dtp_cv_narrowed(cv, x, n);
        cv->out[i] = cv->status ? NULL : marked(cv, x, n->name);
    }
}
