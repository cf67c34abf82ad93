/* Integers of types that graphs carry in wider ones, see narrow.h. */
#include "onnx/narrow.h"
#include "onnx/words.h"

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
        if (narrow && ((is(op, "CastLike") && i == 1) || (is(op, "QuantizeLinear") && i == 2)))
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

static val_t *marked(cv_t *cv, const val_t *x, const dtp_narrow_t *type) {
    val_t *y = cv->status ? NULL : dtp_cv_alloc(cv, sizeof *y);
    if (!y) return NULL;
    *y = *x;
    y->stored = type->name;
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
    return cv->status ? NULL : marked(cv, dtp_cv_typed(cv, x, n->as), n);
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
        cv->out[i] = cv->status ? NULL : marked(cv, x, n);
    }
}
