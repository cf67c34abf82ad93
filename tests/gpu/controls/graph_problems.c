/* See problems.h: kinds and types that graphs alone have, but for those that problems.c begins with. */
#include <math.h>
#include <string.h>

#include "common/problems/convolution.h"
#include "common/problems/graph/cumsum.h"
#include "common/problems/graph/indexed.h"
#include "common/problems/graph/pad.h"
#include "common/problems/graph/recurrent.h"
#include "common/problems/graph/top_k.h"
#include "common/problems/graph/tree_ensemble.h"
#include "common/problems/matmul.h"
#include "common/problems/resampling.h"
#include "gpu/controls/operations.h"
#include "gpu/controls/problems.h"
#include "support/check.h"

static const dnnl_tp_data_type_t exact_types[] = {dnnl_tp_f64, dnnl_tp_s64, dnnl_tp_s32};
enum { EXACT_TYPES = sizeof exact_types / sizeof *exact_types };

/* ---- Products and planes ----------------------------------------------------------------- */

/* Tiles with an edge, and more of k than a block holds. */
static void matmul_exact(dnnl_tp_engine_t gpu, dnnl_tp_data_type_t dt) {
    enum { M = 33, N = 34, K = 20 };
    dtp_matmul_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_matmul;
    op.src = dense(3, dt, 2, M, K);
    op.wei = dense(3, dt, 1, K, N);
    op.bia = dense(3, dt, 1, 1, N);
    op.dst = dense(3, dt, 2, M, N);
    const operand_t x[] = {{DNNL_TP_ARG_SRC, &op.src, NULL},
                           {DNNL_TP_ARG_WEIGHTS, &op.wei, NULL},
                           {DNNL_TP_ARG_BIAS, &op.bia, NULL},
                           {DNNL_TP_ARG_DST, &op.dst, NULL}};
    run_op(gpu, &op.base, sizeof op, false, 4, x);
}

/* A line of 9 elements, by 3 taps with padding. */
static void convolution_exact(dnnl_tp_engine_t gpu, dnnl_tp_data_type_t dt) {
    dtp_convolution_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_convolution;
    op.prop = dnnl_tp_forward_inference;
    op.alg = dnnl_tp_convolution_direct;
    op.nspatial = 1;
    op.strides[0] = op.padding_l[0] = op.padding_r[0] = 1;
    op.src = dense(3, dt, 2, 3, 9);
    op.wei = dense(3, dt, 5, 3, 3);
    op.bia = dense(1, dt, 5, 0, 0);
    op.dst = dense(3, dt, 2, 5, 9);
    const operand_t x[] = {{DNNL_TP_ARG_SRC, &op.src, NULL},
                           {DNNL_TP_ARG_WEIGHTS, &op.wei, NULL},
                           {DNNL_TP_ARG_BIAS, &op.bia, NULL},
                           {DNNL_TP_ARG_DST, &op.dst, NULL}};
    run_op(gpu, &op.base, sizeof op, false, 4, x);
}

/* Positions by a rule of its own for each of three dimensions. */
static void resampling(dnnl_tp_engine_t gpu, dnnl_tp_alg_kind_t alg) {
    enum { SPATIAL = 3 };
    static const int64_t src[] = {1, 2, 3, 4, 5}, dst[] = {1, 2, 4, 3, 7};
    dtp_resampling_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = dnnl_tp_resampling;
    op.prop = dnnl_tp_forward_inference;
    op.alg = alg;
    op.spatial = SPATIAL;
    op.nrule = SPATIAL * DTP_RESAMPLING_RULE;
    for (int s = 0; s < SPATIAL; ++s) {
        const dtp_resampling_rule_t rule = {
            .before = .5, .from = (double)src[2 + s], .to = (double)dst[2 + s], .after = -.5};
        memcpy(&op.rule[s * DTP_RESAMPLING_RULE], &rule, sizeof rule);
        op.factors[s] = (float)dst[2 + s] / (float)src[2 + s];
    }
    CHECK_OK(dtp_md_init_strides(&op.src, 2 + SPATIAL, src, dnnl_tp_f32, NULL));
    CHECK_OK(dtp_md_init_strides(&op.dst, 2 + SPATIAL, dst, dnnl_tp_f32, NULL));
    const operand_t x[] = {{DNNL_TP_ARG_SRC, &op.src, NULL}, {DNNL_TP_ARG_DST, &op.dst, NULL}};
    run_op(gpu, &op.base, sizeof op, false, 2, x);
}

/* ---- Lines ------------------------------------------------------------------------------- */

/* inner: 1: by warps, which go along the line three times. */
static void cumsum(dnnl_tp_engine_t gpu, dnnl_tp_data_type_t dt, int64_t inner) {
    const int64_t n = inner == 1 ? 70 : 3;
    dtp_cumsum_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_CUMSUM;
    op.src = op.dst = dense(3, dt, 2, n, inner);
    for (op.exclusive = 0; op.exclusive < 2; ++op.exclusive) {
        op.reverse = op.exclusive;
        const operand_t x[] = {{DNNL_TP_ARG_SRC, &op.src, NULL}, {DNNL_TP_ARG_DST, &op.dst, NULL}};
        run_op(gpu, &op.base, sizeof op, false, 2, x);
    }
}

static void top_k(dnnl_tp_engine_t gpu, dnnl_tp_data_type_t dt, int64_t n, int64_t k, int64_t inner) {
    dtp_top_k_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_TOP_K;
    op.src = dense(3, dt, 2, n, inner);
    op.dst = dense(3, dnnl_tp_s64, 2, k, inner);
    for (op.last = 0; op.last < 2; ++op.last) {
        op.smallest = op.last;
        const operand_t x[] = {{DNNL_TP_ARG_SRC, &op.src, NULL}, {DNNL_TP_ARG_DST, &op.dst, NULL}};
        run_op(gpu, &op.base, sizeof op, false, 2, x);
    }
}

static void pad(dnnl_tp_engine_t gpu, dnnl_tp_data_type_t dt) {
    dtp_pad_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_PAD;
    op.ndims = 3;
    op.before[0] = 1, op.behind[0] = 2, op.before[2] = 2;
    op.times[0] = op.times[2] = 1, op.times[1] = 2;
    op.value = 5;
    op.src = dense(3, dt, 2, 3, 4);
    op.dst = dense(3, dt, 5, 6, 6);
    const operand_t x[] = {{DNNL_TP_ARG_SRC, &op.src, NULL}, {DNNL_TP_ARG_DST, &op.dst, NULL}};
    run_op(gpu, &op.base, sizeof op, false, 2, x);
}

/* ---- Sequences --------------------------------------------------------------------------- */

/* n: hidden units; has_more: the bias of a GRU, the peepholes of an LSTM. */
static void recurrent(dnnl_tp_engine_t gpu, dtp_cell_t cell, bool has_more, int64_t n) {
    enum { STEPS = 3, BATCH = 2, MOST = 4 * 33 * 33 };
    const bool is_lstm = cell == DTP_CELL_LSTM;
    const int64_t parts = is_lstm ? 4 : cell == DTP_CELL_GRU ? 3 : 1;
    static float small[MOST]; /* so that no gate is at its end */
    for (int i = 0; i < MOST; ++i) small[i] = (float)(i % 23 - 11) / 64;
    const dtp_md_t state = dense(2, dnnl_tp_f32, BATCH, n, 0);
    dtp_recurrent_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_RECURRENT;
    op.cell = cell;
    op.src = dense(3, dnnl_tp_f32, STEPS, BATCH, parts * n);
    op.wei = dense(3, dnnl_tp_f32, parts, n, n);
    op.h = op.last_h = state;
    op.dst = dense(3, dnnl_tp_f32, STEPS, BATCH, n);
    operand_t x[9] = {{DNNL_TP_ARG_SRC_0, &op.src, small},
                      {DNNL_TP_ARG_WEIGHTS, &op.wei, small},
                      {DNNL_TP_ARG_SRC_1, &op.h, small},
                      {DNNL_TP_ARG_DST_0, &op.dst, NULL},
                      {DNNL_TP_ARG_DST_1, &op.last_h, NULL}};
    int have = 5;
    if (is_lstm) {
        op.c = op.last_c = state;
        x[have++] = (operand_t){DNNL_TP_ARG_SRC_2, &op.c, small};
        x[have++] = (operand_t){DNNL_TP_ARG_DST_2, &op.last_c, NULL};
    }
    if (is_lstm && has_more) {
        op.peep = dense(1, dnnl_tp_f32, 3 * n, 0, 0);
        x[have++] = (operand_t){DNNL_TP_ARG_SRC_3, &op.peep, small};
    } else if (has_more) {
        op.bia = dense(1, dnnl_tp_f32, n, 0, 0);
        x[have++] = (operand_t){DNNL_TP_ARG_BIAS, &op.bia, small};
    }
    run_op(gpu, &op.base, sizeof op, false, have, x);
}

/* ---- Rows by positions ------------------------------------------------------------------- */

/* Rows of `width` by all positions that there are, some twice; the last position may be outside. */
typedef enum { INSIDE, ABOVE, BELOW } positions_t;
static void indexed(dnnl_tp_engine_t gpu, dtp_indexed_what_t what, dnnl_tp_data_type_t dt, int64_t width,
                    positions_t positions) {
    enum { N = 72, LIMIT = 9, TAPS = 2 };
    const bool sums = what == DTP_INDEXED_SUM, gathers = what == DTP_INDEXED_GATHER;
    int32_t ids[TAPS * N];
    for (int i = 0; i < TAPS * N; ++i) ids[i] = i * 5 % LIMIT - (i % N < N / 2 ? 0 : LIMIT);
    if (positions != INSIDE) ids[N - 1] = positions == ABOVE ? LIMIT : -LIMIT - 1;
    dtp_indexed_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_INDEXED;
    op.what = what;
    op.nloops = op.ncomponents = op.nwidth = 1;
    op.loops[0] = N, op.id_strides[0] = 1;
    op.limits[0] = LIMIT, op.step_strides[0] = op.width[0] = width;
    op.data = dense(2, dt, LIMIT, width, 0);
    op.ids = sums ? dense(2, dnnl_tp_s32, TAPS, N, 0) : dense(1, dnnl_tp_s32, N, 0, 0);
    if (sums) {
        op.ntaps = TAPS;
        op.rows = dense(2, dt, TAPS, N, 0);
    } else if (!gathers) {
        op.rows = dense(2, dt, N, width, 0);
    }
    op.dst = sums || gathers ? dense(2, dt, N, width, 0) : op.data;
    const operand_t x[] = {{DNNL_TP_ARG_SRC_0, &op.data, NULL},
                           {DNNL_TP_ARG_SRC_1, &op.ids, ids},
                           {DNNL_TP_ARG_DST, &op.dst, NULL},
                           {DNNL_TP_ARG_SRC_2, &op.rows, NULL}};
    run_op(gpu, &op.base, sizeof op, positions != INSIDE, gathers ? 3 : 4, x);
}

static void indexed_all(dnnl_tp_engine_t gpu) {
    static const dnnl_tp_data_type_t numbers[] = {dnnl_tp_f32, dnnl_tp_f64, dnnl_tp_s64,
                                                  dnnl_tp_s32, dnnl_tp_s8,  dnnl_tp_u8};
    for (positions_t p = INSIDE; p <= BELOW; ++p) {
        for (int64_t width = 3; width <= 48; width *= 2) /* pieces of 1, 2, 4, 8 and 16 bytes */
            indexed(gpu, DTP_INDEXED_GATHER, dnnl_tp_u8, width, p);
        indexed(gpu, DTP_INDEXED_SUM, dnnl_tp_f32, 8, p), indexed(gpu, DTP_INDEXED_SUM, dnnl_tp_f32, 7, p);
        indexed(gpu, DTP_INDEXED_SET, dnnl_tp_bf16, 3, p);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
            indexed(gpu, i % 2 ? DTP_INDEXED_MAX : DTP_INDEXED_ADD, numbers[i], 3, p);
    }
}

/* ---- Trees ------------------------------------------------------------------------------- */

/* Trees of three nodes with an entry for each leaf. Indices that are outside of their table stand where
 * other warps than the first look. */
typedef enum { GOOD, CHECKED, BAD_NODE, BAD_CHILD, BAD_ROOT, BAD_LEAF, BAD_TARGET } tables_t;
static void trees(dnnl_tp_engine_t gpu, dnnl_tp_data_type_t dt, tables_t tables) {
    enum { TREES = 40, NODES = 3 * TREES, ENTRIES = 2 * TREES, FEATURES = 3, TARGETS = 2, ROWS = 5 };
    int32_t nodes[NODES][2], roots[TREES][2], leaves[NODES + 1], targets[ENTRIES];
    float splits_f32[NODES];
    double splits_f64[NODES];
    for (int i = 0; i < NODES; ++i) {
        const bool is_leaf = i % 3 != 0;
        nodes[i][0] = is_leaf ? 0 : i / 3 % FEATURES;
        nodes[i][1] = is_leaf ? i - 1 : i + 1;
        splits_f64[i] = is_leaf ? (double)NAN : i % 9;
        splits_f32[i] = (float)splits_f64[i];
        leaves[i] = i - (i + 2) / 3;
    }
    leaves[NODES] = ENTRIES;
    for (int t = 0; t < TREES; ++t) roots[t][0] = 3 * t, roots[t][1] = 1;
    for (int e = 0; e < ENTRIES; ++e) targets[e] = e % TARGETS;
    if (tables == BAD_NODE) nodes[NODES - 1][0] = FEATURES;
    if (tables == BAD_CHILD) nodes[NODES - 1][1] = NODES - 1;
    if (tables == BAD_ROOT) roots[TREES - 1][0] = NODES;
    if (tables == BAD_LEAF) leaves[NODES] = ENTRIES + 1;
    if (tables == BAD_TARGET) targets[ENTRIES - 1] = TARGETS;
    dtp_tree_ensemble_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_TREE_ENSEMBLE;
    op.is_checked = tables == CHECKED;
    op.src = dense(2, dt, ROWS, FEATURES, 0);
    op.nodes = dense(2, dnnl_tp_s32, NODES, 2, 0);
    op.roots = dense(2, dnnl_tp_s32, TREES, 2, 0);
    op.leaves = dense(1, dnnl_tp_s32, NODES + 1, 0, 0);
    op.targets = dense(1, dnnl_tp_s32, ENTRIES, 0, 0);
    op.splits = dense(1, dt, NODES, 0, 0);
    op.weights = dense(1, dt, ENTRIES, 0, 0);
    op.dst = dense(2, dt, ROWS, TARGETS, 0);
    const operand_t x[] = {
        {DNNL_TP_ARG_SRC_0, &op.src, NULL},
        {DNNL_TP_ARG_WEIGHTS_0, &op.nodes, nodes},
        {DNNL_TP_ARG_WEIGHTS_1, &op.roots, roots},
        {DNNL_TP_ARG_WEIGHTS_2, &op.leaves, leaves},
        {DNNL_TP_ARG_WEIGHTS_3, &op.targets, targets},
        {DNNL_TP_ARG_SHIFT, &op.splits, dt == dnnl_tp_f32 ? (const void *)splits_f32 : splits_f64},
        {DNNL_TP_ARG_SCALE, &op.weights, NULL},
        {DNNL_TP_ARG_DST, &op.dst, NULL}};
    run_op(gpu, &op.base, sizeof op, tables >= BAD_NODE, 8, x);
}

void run_graph_problems(dnnl_tp_engine_t gpu) {
    static const dnnl_tp_data_type_t pads[] = {dnnl_tp_u8, dnnl_tp_bf16, dnnl_tp_f32, dnnl_tp_s64};
    for (int i = 0; i < EXACT_TYPES; ++i) {
        matmul_exact(gpu, exact_types[i]), convolution_exact(gpu, exact_types[i]);
        cumsum(gpu, exact_types[i], 1), cumsum(gpu, exact_types[i], 40);
    }
    for (size_t i = 0; i < sizeof pads / sizeof *pads; ++i) pad(gpu, pads[i]);
    /* A warp has a line, a block, a thread; each element counts. Of u8 and s32 many are the same. */
    top_k(gpu, dnnl_tp_f32, 70, 3, 1), top_k(gpu, dnnl_tp_u8, 70, 3, 1);
    top_k(gpu, dnnl_tp_f64, 300, 3, 1), top_k(gpu, dnnl_tp_s32, 300, 3, 1);
    top_k(gpu, dnnl_tp_s64, 20, 1, 33), top_k(gpu, dnnl_tp_f32, 20, 5, 2), top_k(gpu, dnnl_tp_s8, 20, 5, 2);
    /* More hidden units than a block has warps; than a warp has lanes, and fewer. */
    for (int64_t n = 33; n >= 20; n -= 13) {
        recurrent(gpu, DTP_CELL_LSTM, false, n), recurrent(gpu, DTP_CELL_GRU, false, n);
        recurrent(gpu, DTP_CELL_LSTM, true, n), recurrent(gpu, DTP_CELL_GRU, true, n);
        recurrent(gpu, DTP_CELL_RNN, false, n);
    }
    resampling(gpu, dnnl_tp_resampling_nearest), resampling(gpu, dnnl_tp_resampling_linear);
    indexed_all(gpu);
    for (tables_t t = GOOD; t <= BAD_TARGET; ++t) trees(gpu, dnnl_tp_f32, t), trees(gpu, dnnl_tp_f64, t);
}
