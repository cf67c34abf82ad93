/* RNN, GRU and LSTM: unrolled where the sequence has few steps. More steps, and as many as a run tells, are an operator of
 * their own if the cell is a usual one, else a While of the graph. Everything that does not depend on the
 * step before is one product for all steps. */
#include "onnx/ops/ops.h"
#include "onnx/ops/repeat.h"

#include <strings.h>

enum { X, W, R, B, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };
enum { MAX_STEPS = 64, FEW_STEPS = 16 /* no operator is faster */, MAX_GATES = 4, FUNCTIONS = 3 };
enum { MOST_ON_DEVICE = 4096 }; /* hidden units of which every device holds three rows in shared memory */
typedef enum { RNN, GRU, LSTM } cell_kind_t;
static const int gates_of[] = {[RNN] = 1, [GRU] = 3, [LSTM] = 4};

typedef struct {
    cell_kind_t kind;
    int64_t steps, batch, hidden; /* CV_RUNTIME: not known */
    float clip;                   /* 0: none */
    bool clips;
    bool is_operator;                   /* an operator that computes all steps */
    bool loops;                         /* a While of the graph */
    bool is_linear;                     /* GRU: the reset gate stands behind the product */
    bool couples;                       /* LSTM: the forget gate is 1 - the input gate */
    const char *function[2][FUNCTIONS]; /* by direction */
    float alpha[2][FUNCTIONS], beta[2][FUNCTIONS];
    val_t *r, *r_bias;           /* {G H, H}, {G H} or NULL */
    val_t *r_inner, *inner_bias; /* GRU: the rows of the last gate */
    val_t *peepholes;            /* {3 H} or NULL; i, o, f */
    val_t *peephole[FUNCTIONS];  /* {H} each, or NULL */
    val_t *lengths;              /* {B, 1} of s64 or NULL */
    val_t *zeros;                /* {B, H} */
    dnnl_tp_data_type_t type;
} cell_t;

/* ---- Activations --------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int kind;
    int alpha, beta; /* attributes, -1: none */
    float standard[2];
} functions[] = {
    {"Relu", dnnl_tp_op_relu, -1, -1, {0, 0}},
    {"Tanh", dnnl_tp_op_tanh, -1, -1, {0, 0}},
    {"Sigmoid", dnnl_tp_op_sigmoid, -1, -1, {0, 0}},
    {"LeakyRelu", dnnl_tp_op_leaky_relu, dnnl_tp_op_attr_alpha, -1, {.01f, 0}},
    {"HardSigmoid", dnnl_tp_op_hard_sigmoid, dnnl_tp_op_attr_alpha, dnnl_tp_op_attr_beta, {.2f, .5f}},
    {"Elu", dnnl_tp_op_elu, dnnl_tp_op_attr_alpha, -1, {1, 0}},
    {"Softplus", dnnl_tp_op_softplus, -1, -1, {0, 0}},
};

static val_t *activate(cv_t *cv, const cell_t *c, int direction, int which, val_t *x) {
    if (c->clips)
        x = dtp_cv_unary_with(cv, dnnl_tp_op_clamp, x, dnnl_tp_op_attr_min, -c->clip, dnnl_tp_op_attr_max,
                              c->clip);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i)
        if (!strcasecmp(c->function[direction][which], functions[i].name))
            return dtp_cv_unary_with(cv, functions[i].kind, x, functions[i].alpha, c->alpha[direction][which],
                                     functions[i].beta, c->beta[direction][which]);
    dtp_cv_fail(cv, dnnl_tp_unimplemented, "its activation '%s' is not implemented",
                c->function[direction][which]);
    return NULL;
}

static void read_functions(cv_t *cv, cell_t *c, int directions) {
    static const char *const usual[][FUNCTIONS] = {
        [RNN] = {"Tanh", "", ""}, [GRU] = {"Sigmoid", "Tanh", ""}, [LSTM] = {"Sigmoid", "Tanh", "Tanh"}};
    static const int counts[] = {[RNN] = 1, [GRU] = 2, [LSTM] = 3};
    int64_t na, nb;
    const float *alpha = dtp_cv_attr_floats(cv, "activation_alpha", &na),
                *beta = dtp_cv_attr_floats(cv, "activation_beta", &nb);
    int64_t ia = 0, ib = 0; /* values stand there for those that have them */
    for (int d = 0; d < directions; ++d)
        for (int f = 0; f < counts[c->kind]; ++f) {
            const char *name = dtp_cv_text(cv, "activations", d * counts[c->kind] + f);
            c->function[d][f] = name ? name : usual[c->kind][f];
            for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
                if (strcasecmp(c->function[d][f], functions[i].name)) continue;
                c->alpha[d][f] = functions[i].alpha < 0 ? 0
                                 : ia < na              ? alpha[ia++]
                                                        : functions[i].standard[0];
                c->beta[d][f] = functions[i].beta < 0 ? 0 : ib < nb ? beta[ib++] : functions[i].standard[1];
            }
        }
}

/* ---- One step --------------------------------------------------------------------------------------------------- */

static val_t *gate(cv_t *cv, const cell_t *c, val_t *x, int i) {
    return dtp_cv_part(cv, x, x->info.ndims - 1, i * c->hidden, c->hidden);
}
static val_t *plus(cv_t *cv, val_t *x, val_t *y) { return y ? dtp_cv_binary(cv, dnnl_tp_op_add, x, y) : x; }
static val_t *times(cv_t *cv, val_t *x, val_t *y) { return dtp_cv_binary(cv, dnnl_tp_op_multiply, x, y); }
static val_t *one_minus(cv_t *cv, const cell_t *c, val_t *x) {
    return dtp_cv_binary(cv, dnnl_tp_op_subtract, dtp_cv_scalar(cv, c->type, 1), x);
}
/* h r^T + bias */
static val_t *product(cv_t *cv, const cell_t *c, val_t *h) {
    return cv->status ? NULL : plus(cv, dtp_cv_matmul(cv, h, c->r, true), c->r_bias);
}

static val_t *rnn_step(cv_t *cv, const cell_t *c, int d, val_t *x, val_t *h) {
    return activate(cv, c, d, 0, plus(cv, x, product(cv, c, h)));
}

enum { Z, RESET, H }; /* gates of GRU */
static val_t *gru_step(cv_t *cv, const cell_t *c, int d, val_t *x, val_t *h) {
    val_t *rh = product(cv, c, h);
    if (cv->status) return NULL;
    val_t *z = activate(cv, c, d, 0, plus(cv, gate(cv, c, x, Z), gate(cv, c, rh, Z)));
    val_t *r = activate(cv, c, d, 0, plus(cv, gate(cv, c, x, RESET), gate(cv, c, rh, RESET)));
    val_t *inner = NULL;
    if (cv->status) return NULL;
    if (c->is_linear) inner = times(cv, r, gate(cv, c, rh, H));
    else inner = plus(cv, dtp_cv_matmul(cv, times(cv, r, h), c->r_inner, true), c->inner_bias);
    val_t *y = activate(cv, c, d, 1, plus(cv, gate(cv, c, x, H), inner));
    return plus(cv, times(cv, one_minus(cv, c, z), y), times(cv, z, h));
}

/* Gates i, o, f, c; peepholes i, o, f. */
static val_t *lstm_step(cv_t *cv, const cell_t *c, int d, val_t *x, val_t *h, val_t **memory) {
    enum { I, O, F, C };
    val_t *const *p = c->peephole, *all = plus(cv, x, product(cv, c, h));
    if (cv->status) return NULL;
    val_t *i = activate(cv, c, d, 0, plus(cv, gate(cv, c, all, I), p[I] ? times(cv, p[I], *memory) : NULL));
    val_t *f = c->couples ? one_minus(cv, c, i)
                          : activate(cv, c, d, 0,
                                     plus(cv, gate(cv, c, all, F), p[F] ? times(cv, p[F], *memory) : NULL));
    val_t *g = activate(cv, c, d, 1, gate(cv, c, all, C));
    *memory = plus(cv, times(cv, f, *memory), times(cv, i, g));
    val_t *o = activate(cv, c, d, 0, plus(cv, gate(cv, c, all, O), p[O] ? times(cv, p[O], *memory) : NULL));
    return times(cv, o, activate(cv, c, d, 2, *memory));
}

/* ---- Sequences -------------------------------------------------------------------------------------------------- */

/* The part of a parameter {D, ...} that a direction has, without D. */
static val_t *of_direction(cv_t *cv, val_t *x, int direction) {
    if (cv->status) return NULL;
    if (x->info.ndims < 1) {
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "one of its inputs has no dimensions");
        return NULL;
    }
    val_t *part = dtp_cv_part(cv, x, 0, direction, 1);
    return cv->status ? NULL : dtp_cv_reshape(cv, part, x->info.ndims - 1, x->info.dims + 1);
}

/* Zeros of the shape of a value. */
static val_t *zeros_like(cv_t *cv, const cell_t *c, val_t *x) {
    val_t *never = cv->status ? NULL : dtp_cv_binary(cv, dnnl_tp_op_greater, x, x);
    return cv->status ? NULL : dtp_cv_typed(cv, never, c->type);
}

/* Step t, a number of s64. *h, *memory: the states, which it changes; x: {B, G H}. What the step gives out. */
static val_t *step(cv_t *cv, const cell_t *c, int d, val_t *t, val_t *x, val_t **h, val_t **memory) {
    val_t *before = *memory;
    if (cv->status) return NULL;
    val_t *now = c->kind == RNN   ? rnn_step(cv, c, d, x, *h)
                 : c->kind == GRU ? gru_step(cv, c, d, x, *h)
                                  : lstm_step(cv, c, d, x, *h, memory);
    if (cv->status || !c->lengths) return *h = now;
    /* Where a sequence has ended, the states stay and nothing comes out. */
    val_t *runs = dtp_cv_binary(cv, dnnl_tp_op_greater, c->lengths, t);
    *h = dtp_cv_select(cv, runs, now, *h);
    if (c->kind == LSTM) *memory = dtp_cv_select(cv, runs, *memory, before);
    return dtp_cv_select(cv, runs, now, c->zeros);
}

/* xw: {T, B, G H}; what comes out: {T, B, H}. */
static val_t *unroll(cv_t *cv, const cell_t *c, int d, bool is_backward, val_t *xw, val_t **h,
                     val_t **memory) {
    val_t *y[MAX_STEPS];
    const int64_t gates[2] = {c->batch, gates_of[c->kind] * c->hidden}, none[3] = {0, c->batch, c->hidden};
    if (c->steps == 0) return dtp_cv_fill(cv, c->type, 3, none, 0);
    for (int64_t k = 0; k < c->steps && !cv->status; ++k) {
        const int64_t t = is_backward ? c->steps - 1 - k : k;
        val_t *x = dtp_cv_reshape(cv, dtp_cv_part(cv, xw, 0, t, 1), 2, gates);
        y[t] = step(cv, c, d, dtp_cv_scalar(cv, dnnl_tp_s64, (double)t), x, h, memory);
    }
    return cv->status || !dtp_cv_wanted(cv, 0) ? NULL : dtp_cv_stack(cv, (int)c->steps, y, 0);
}

static val_t *as_while(cv_t *cv, const cell_t *c, int d, bool is_backward, val_t *xw, val_t **h,
                       val_t **memory) {
    enum { INDEX, STATE, MEMORY };
    dtp_repeat_t r;
    val_t *results[DTP_REPEAT_MOST], *steps, *condition = NULL, *last = NULL;
    const bool is_lstm = c->kind == LSTM, collects = dtp_cv_wanted(cv, 0);
    if (c->steps == CV_RUNTIME) {
        steps = dtp_cv_part(cv, dtp_cv_unary(cv, dnnl_tp_op_shape_of, xw), 0, 0, 1);
        steps = dtp_cv_reshape(cv, steps, 0, NULL);
    } else steps = dtp_cv_constant(cv, dnnl_tp_s64, 0, NULL, &c->steps);
    if (!cv->status) last = dtp_cv_binary(cv, dnnl_tp_op_subtract, steps, dtp_cv_scalar(cv, dnnl_tp_s64, 1));
    val_t *all = collects && !cv->status ? zeros_like(cv, c, gate(cv, c, xw, 0)) : NULL;
    dtp_repeat_begin(&r, cv);
    val_t *state = *h = dtp_repeat_variable(&r, *h);
    val_t *kept = *memory = is_lstm ? dtp_repeat_variable(&r, *memory) : NULL;
    cv->im->graph = r.cond;
    if (!cv->status) condition = dtp_cv_binary(cv, dnnl_tp_op_less, r.index, steps);
    cv->im->graph = r.body;
    val_t *t = r.index;
    if (is_backward && !cv->status) t = dtp_cv_binary(cv, dnnl_tp_op_subtract, last, r.index);
    val_t *y = step(cv, c, d, t, dtp_cv_take(cv, xw, 0, t), h, memory);
    dtp_repeat_next(&r, state, *h, "");
    if (is_lstm) dtp_repeat_next(&r, kept, *memory, "");
    if (collects) dtp_repeat_collect_in(&r, all, t, y);
    dtp_repeat_end(&r, condition, results);
    if (cv->status) return NULL;
    *h = results[STATE];
    if (is_lstm) *memory = results[MEMORY];
    return collects ? results[is_lstm ? MEMORY + 1 : MEMORY] : NULL;
}

/* The cells that have an operator: no lengths, the usual functions. */
static bool is_usual(const cv_t *cv, const cell_t *c, int directions) {
    static const char *const usual[][FUNCTIONS] = {
        [RNN] = {"Tanh"}, [GRU] = {"Sigmoid", "Tanh"}, [LSTM] = {"Sigmoid", "Tanh", "Tanh"}};
    if (c->type != dnnl_tp_f32 || c->clips || c->couples || dtp_cv_given(cv, LENGTHS)) return false;
    for (int i = 0; i < directions * FUNCTIONS; ++i) {
        const char *name = usual[c->kind][i % FUNCTIONS];
        if (name && strcasecmp(c->function[i / FUNCTIONS][i % FUNCTIONS], name)) return false;
    }
    return true;
}

/* Adds r_bias to the bias of x; what a GRU adds behind its reset gate: the last input of the operator, or NULL. */
static val_t *merge_biases(cv_t *cv, const cell_t *c, val_t **bias) {
    const int64_t before = H * c->hidden;
    val_t *r_bias = c->r_bias, *inner = NULL;
    if (c->is_linear) {
        val_t *zeros = dtp_cv_fill(cv, c->type, 1, &c->hidden, 0);
        inner = r_bias ? dtp_cv_part(cv, r_bias, 0, before, c->hidden) : zeros;
        val_t *rows[] = {r_bias ? dtp_cv_part(cv, r_bias, 0, 0, before) : NULL, zeros};
        if (r_bias && !cv->status) r_bias = dtp_cv_concat(cv, 0, 2, rows);
    }
    if (r_bias && !cv->status) *bias = plus(cv, *bias, r_bias);
    return inner;
}

/* As unroll; the biases are merged. */
static val_t *as_operator(cv_t *cv, const cell_t *c, bool is_backward, val_t *xw, val_t *inner, val_t **h,
                          val_t **memory) {
    enum { LAST = 3, RESULTS = 3 };
    const bool is_lstm = c->kind == LSTM;
    val_t *out[RESULTS], *last = is_lstm ? *memory : inner, *const in[] = {xw, c->r, *h, last, c->peepholes};
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_reverse, dnnl_tp_op_attr_bool, 1, &is_backward};
    static const int kinds[] = {[RNN] = dnnl_tp_op_rnn, [GRU] = dnnl_tp_op_gru, [LSTM] = dnnl_tp_op_lstm};
    dtp_cv_ops(cv, kinds[c->kind], LAST + (last != NULL) + (c->peepholes != NULL), in, 1, &attr,
               is_lstm ? RESULTS : RESULTS - 1, out);
    *h = out[1];
    if (is_lstm) *memory = out[2];
    return out[0];
}

/* The initial state that an input holds, or zeros. */
static val_t *initial(cv_t *cv, const cell_t *c, int input, int index, bool is_batch_first) {
    static const int64_t perm[] = {1, 0, 2};
    if (cv->status || !dtp_cv_given(cv, input)) return c->zeros;
    val_t *x = cv->in[input];
    if (x->info.ndims != 3) {
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its initial state has %d dimensions", x->info.ndims);
        return NULL;
    }
    return of_direction(cv, is_batch_first ? dtp_cv_transpose(cv, x, perm) : x, index);
}

/* x: {T, B, I}; what comes out of the steps, {T, B, H}; the last states. */
static val_t *sequence(cv_t *cv, cell_t *c, int index, bool is_backward, bool is_batch_first, val_t *x,
                       val_t **h, val_t **memory) {
    val_t *w = of_direction(cv, cv->in[W], index), *bias = NULL;
    const int64_t rows = (int64_t)gates_of[c->kind] * c->hidden, state[2] = {c->batch, c->hidden};
    c->r = of_direction(cv, cv->in[R], index);
    c->r_bias = NULL;
    if (dtp_cv_given(cv, B)) {
        val_t *both = of_direction(cv, cv->in[B], index);
        bias = both ? dtp_cv_part(cv, both, 0, 0, rows) : NULL;
        c->r_bias = both ? dtp_cv_part(cv, both, 0, rows, rows) : NULL;
    }
    if (c->kind == LSTM && dtp_cv_given(cv, PEEPHOLES)) {
        c->peepholes = of_direction(cv, cv->in[PEEPHOLES], index);
        for (int k = 0; k < FUNCTIONS && !c->is_operator && !cv->status; ++k)
            c->peephole[k] = gate(cv, c, c->peepholes, k);
    }
    if (c->kind == GRU && !c->is_linear && !cv->status) {
        c->r_inner = dtp_cv_part(cv, c->r, 0, H * c->hidden, c->hidden);
        c->inner_bias = c->r_bias ? gate(cv, c, c->r_bias, H) : NULL;
    }
    if (cv->status) return NULL;
    val_t *inner = c->is_operator ? merge_biases(cv, c, &bias) : NULL;
    if (cv->status) return NULL;
    val_t *xw = plus(cv, dtp_cv_matmul(cv, x, w, true), bias);
    if (c->batch != CV_RUNTIME) c->zeros = dtp_cv_fill(cv, c->type, 2, state, 0);
    else if (!cv->status)
        c->zeros =
            zeros_like(cv, c, dtp_cv_take(cv, gate(cv, c, xw, 0), 0, dtp_cv_scalar(cv, dnnl_tp_s64, 0)));
    *h = initial(cv, c, INITIAL_H, index, is_batch_first);
    *memory = c->kind == LSTM ? initial(cv, c, INITIAL_C, index, is_batch_first) : NULL;
    if (cv->status) return NULL;
    if (c->is_operator) return as_operator(cv, c, is_backward, xw, inner, h, memory);
    return (c->loops ? as_while : unroll)(cv, c, index, is_backward, xw, h, memory);
}

void dtp_onnx_recurrent(cv_t *cv) {
    enum { LAYOUT = 14, DIMS = 3, OUT_DIMS = 4 };
    static const int64_t swap[] = {1, 0, 2}, time_first[] = {2, 0, 1, 3};
    cell_t c = {.kind = (cell_kind_t)cv->row->kind, .type = cv->in[X]->info.data_type};
    const bool both = dtp_cv_word(cv, "direction", "forward", "bidirectional"),
               reverse = dtp_cv_word(cv, "direction", "forward", "reverse");
    const int directions = both ? 2 : 1;
    if (!both && !reverse && !dtp_cv_word(cv, "direction", "forward", "forward"))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its attribute 'direction' is not known");
    read_functions(cv, &c, directions);
    c.clips = dtp_cv_has(cv, "clip");
    c.clip = dtp_cv_float(cv, "clip", 0.f);
    if (c.kind == GRU) c.is_linear = dtp_cv_int(cv, "linear_before_reset", 0) != 0;
    if (c.kind == LSTM) c.couples = dtp_cv_int(cv, "input_forget", 0) != 0;
    const bool batch_first = cv->since >= LAYOUT && dtp_cv_int(cv, "layout", 0) != 0;
    if (cv->since < 7) (void)dtp_cv_int(cv, "output_sequence", 0);
    val_t *x = cv->in[X], *r = cv->in[R];
    if (x->info.ndims != DIMS || r->info.ndims != DIMS || cv->in[W]->info.ndims != DIMS)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape,
                    "its inputs X, W and R have %d, %d and %d dimensions, needed are 3", x->info.ndims,
                    cv->in[W]->info.ndims, r->info.ndims);
    if (cv->status) return;
    if (batch_first) x = dtp_cv_transpose(cv, x, swap);
    c.hidden = dtp_cv_dim(cv, r, 2);
    if (dtp_cv_int(cv, "hidden_size", c.hidden) != c.hidden)
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its attribute 'hidden_size' is not the size of R");
    if (cv->status) return;
    c.steps = x->info.dims[0];
    c.loops = c.steps == CV_RUNTIME || c.steps > MAX_STEPS;
    c.is_operator = (c.loops || c.steps > FEW_STEPS) && (cv->im->for_cpu || c.hidden <= MOST_ON_DEVICE) &&
                    is_usual(cv, &c, directions);
    c.batch = c.loops || c.is_operator ? x->info.dims[1] : dtp_cv_dim(cv, x, 1);
    if (!cv->status &&
        (c.hidden < 1 || r->info.dims[1] != gates_of[c.kind] * c.hidden || r->info.dims[0] != directions))
        dtp_cv_fail(cv, dnnl_tp_invalid_shape, "its steps, directions or sizes do not fit");
    if (dtp_cv_given(cv, LENGTHS))
        c.lengths = dtp_cv_typed(cv, dtp_cv_unsqueeze(cv, cv->in[LENGTHS], 0, 1), dnnl_tp_s64);
    val_t *y[2] = {NULL, NULL}, *h[2] = {NULL, NULL}, *memory[2] = {NULL, NULL};
    for (int d = 0; d < directions && !cv->status; ++d)
        y[d] = sequence(cv, &c, d, both ? d == 1 : reverse, batch_first, x, &h[d], &memory[d]);
    if (cv->status) return;
    if (dtp_cv_wanted(cv, 0)) {
        val_t *out = dtp_cv_stack(cv, directions, y, 1); /* {T, D, B, H} */
        dtp_cv_set(cv, 0, batch_first && !cv->status ? dtp_cv_transpose(cv, out, time_first) : out);
    }
    for (int i = 1; i < 3; ++i)
        if (dtp_cv_wanted(cv, i) && (i == 1 || c.kind == LSTM))
            dtp_cv_set(cv, i,
                       cv->status ? NULL
                                  : dtp_cv_stack(cv, directions, i == 1 ? h : memory, batch_first ? 1 : 0));
}
