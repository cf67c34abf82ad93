/* See problems.h. Makers create primitive descriptors; the public API does where it can, graphs' operations have descriptions. */
#include "gpu/traffic/problems.h"

#include <stdlib.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/attention.h"
#include "common/problems/graph/gather.h"
#include "common/problems/graph/pool_normalize.h"
#include "support/check.h"
#include "support/upload.h"

/* ---- Tensors -------------------------------------------------------------------------------------------- */

/* Dense; order: the dimensions from the outermost to the innermost, NULL: as they are. */
static dtp_md_t tensor(dnnl_tp_data_type_t dt, int n, const int64_t *dims, const int *order) {
    int64_t strides[DNNL_TP_MAX_NDIMS], step = 1;
    dtp_md_t md;
    for (int i = n - 1; i >= 0; --i) {
        const int d = order ? order[i] : i;
        strides[d] = step;
        step *= dims[d];
    }
    CHECK_OK(dtp_md_init_strides(&md, n, dims, dt, strides));
    return md;
}
static dtp_md_t matrix(dnnl_tp_data_type_t dt, int64_t rows, int64_t columns, bool transposed) {
    static const int order[] = {1, 0};
    return tensor(dt, 2, (const int64_t[]){rows, columns}, transposed ? order : NULL);
}
static dtp_md_t vector(dnnl_tp_data_type_t dt, int64_t n) { return tensor(dt, 1, &n, NULL); }

static void add(made_t *m, int arg, dtp_md_t md) {
    if (m->n == PROBLEM_ARGS) abort();
    m->arg[m->n] = arg;
    m->md[m->n++] = md;
}

static dnnl_tp_primitive_attr_t new_attr(void) {
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    return attr;
}
/* relu, then + a tensor of that shape (NULL: none). */
static void add_chain(made_t *m, dnnl_tp_primitive_attr_t attr, const dtp_md_t *tensor) {
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0, 0));
    if (tensor) {
        CHECK_OK(dnnl_tp_post_ops_append_binary(po, dnnl_tp_binary_add, tensor));
        add(m, DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_TP_ARG_SRC_1, *tensor);
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
}

/* ---- Makers --------------------------------------------------------------------------------------------- */

/* {rows, columns}; option: the axis. */
static void softmax(const problem_t *p, made_t *m) {
    const dtp_md_t md = matrix(p->from, m->dims[0], m->dims[1], false);
    CHECK_OK(dnnl_tp_softmax_forward_primitive_desc_create(
        &m->pd, m->engine, dnnl_tp_forward_inference, dnnl_tp_softmax_accurate, &md, &md, p->option, NULL));
    add(m, DNNL_TP_ARG_SRC, md), add(m, DNNL_TP_ARG_DST, md);
}

/* {rows, columns}; option: flags; more: a relu follows; to: the type of scale and shift. */
static void layer_norm(const problem_t *p, made_t *m) {
    const dtp_md_t md = matrix(p->from, m->dims[0], m->dims[1], false);
    dnnl_tp_primitive_attr_t attr = new_attr();
    if (p->more) add_chain(m, attr, NULL);
    CHECK_OK(dnnl_tp_layer_normalization_forward_primitive_desc_create_v2(
        &m->pd, m->engine, dnnl_tp_forward_inference, &md, &md, NULL, p->to, 1e-5f, (unsigned)p->option,
        attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    add(m, DNNL_TP_ARG_SRC, md), add(m, DNNL_TP_ARG_DST, md);
    if (p->option & dnnl_tp_use_scale) add(m, DNNL_TP_ARG_SCALE, vector(p->to, m->dims[1]));
    if (p->option & dnnl_tp_use_shift) add(m, DNNL_TP_ARG_SHIFT, vector(p->to, m->dims[1]));
}

/* {rows, columns}; more: a chain with a tensor follows. */
static void eltwise(const problem_t *p, made_t *m) {
    const dtp_md_t md = matrix(p->from, m->dims[0], m->dims[1], false);
    dnnl_tp_primitive_attr_t attr = new_attr();
    if (p->more) add_chain(m, attr, &md);
    CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(
        &m->pd, m->engine, dnnl_tp_forward_inference, (dnnl_tp_alg_kind_t)p->option, &md, &md, 0, 0, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    add(m, DNNL_TP_ARG_SRC, md), add(m, DNNL_TP_ARG_DST, md);
}

/* {rows, columns}; option: what src1 lacks: 0 nothing, 1 rows, 2 columns; more: a chain with a tensor follows. */
static void binary(const problem_t *p, made_t *m) {
    const dtp_md_t md = matrix(p->from, m->dims[0], m->dims[1], false),
                   other = matrix(p->from, p->option == 1 ? 1 : m->dims[0], p->option == 2 ? 1 : m->dims[1],
                                  false);
    dnnl_tp_primitive_attr_t attr = new_attr();
    if (p->more) add_chain(m, attr, &md);
    CHECK_OK(
        dnnl_tp_binary_primitive_desc_create(&m->pd, m->engine, dnnl_tp_binary_add, &md, &other, &md, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    add(m, DNNL_TP_ARG_SRC_0, md), add(m, DNNL_TP_ARG_SRC_1, other), add(m, DNNL_TP_ARG_DST, md);
}

/* {rows, columns}; option: the axis that is summed. */
static void reduction(const problem_t *p, made_t *m) {
    const dtp_md_t src = matrix(p->from, m->dims[0], m->dims[1], false),
                   dst =
                       matrix(p->to, p->option == 0 ? 1 : m->dims[0], p->option == 1 ? 1 : m->dims[1], false);
    CHECK_OK(dnnl_tp_reduction_primitive_desc_create(&m->pd, m->engine, dnnl_tp_reduction_sum, &src, &dst, 0,
                                                     0, NULL));
    add(m, DNNL_TP_ARG_SRC, src), add(m, DNNL_TP_ARG_DST, dst);
}

/* option: dense, both the same; dst lies the other way round; rows of dst lie apart; nchw to nhwc. */
enum { COPY, TRANSPOSE, APART, CHANNELS_LAST };
static void reorder(const problem_t *p, made_t *m) {
    static const int channels_last[] = {0, 2, 3, 1};
    const int nd = p->option == CHANNELS_LAST ? 4 : 2;
    const dtp_md_t src = tensor(p->from, nd, m->dims, NULL);
    dtp_md_t dst = p->option == CHANNELS_LAST ? tensor(p->to, nd, m->dims, channels_last)
                                              : matrix(p->to, m->dims[0], m->dims[1], p->option == TRANSPOSE);
    enum { GAP = 64 };
    if (p->option == APART)
        CHECK_OK(dtp_md_init_strides(&dst, nd, m->dims, p->to, (const int64_t[]){m->dims[1] + GAP, 1}));
    CHECK_OK(dnnl_tp_reorder_primitive_desc_create(&m->pd, &src, m->engine, &dst, m->engine, NULL));
    add(m, DNNL_TP_ARG_FROM, src), add(m, DNNL_TP_ARG_TO, dst);
}

/* {rows, columns of one source, columns of the other one}. */
static void concat(const problem_t *p, made_t *m) {
    const dtp_md_t a = matrix(p->from, m->dims[0], m->dims[1], false),
                   b = matrix(p->from, m->dims[0], m->dims[2], false),
                   dst = matrix(p->from, m->dims[0], m->dims[1] + m->dims[2], false);
    const const_dnnl_tp_memory_desc_t src[] = {&a, &b};
    CHECK_OK(dnnl_tp_concat_primitive_desc_create(&m->pd, m->engine, &dst, 2, 1, src, NULL));
    add(m, DNNL_TP_ARG_MULTIPLE_SRC, a), add(m, DNNL_TP_ARG_MULTIPLE_SRC + 1, b),
        add(m, DNNL_TP_ARG_DST, dst);
}

static void sum(const problem_t *p, made_t *m) {
    const dtp_md_t md = matrix(p->from, m->dims[0], m->dims[1], false);
    const const_dnnl_tp_memory_desc_t src[] = {&md, &md};
    CHECK_OK(
        dnnl_tp_sum_primitive_desc_create(&m->pd, m->engine, &md, 2, (const float[]){1, .5f}, src, NULL));
    add(m, DNNL_TP_ARG_MULTIPLE_SRC, md), add(m, DNNL_TP_ARG_MULTIPLE_SRC + 1, md);
    add(m, DNNL_TP_ARG_DST, md);
}

/* {rows, columns}: each row of the table once. */
static void gather(const problem_t *p, made_t *m) {
    dtp_gather_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_GATHER;
    op.table = op.dst = matrix(p->from, m->dims[0], m->dims[1], false);
    op.ids = vector(dnnl_tp_s32, m->dims[0]);
    CHECK_OK(dtp_pd_create(&m->pd, m->engine, &op.base, sizeof op, NULL));
    add(m, DNNL_TP_ARG_WEIGHTS, op.table), add(m, DNNL_TP_ARG_SRC, op.ids), add(m, DNNL_TP_ARG_DST, op.dst);
}

/* {sequences, rows, columns}. */
static void pool_normalize(const problem_t *p, made_t *m) {
    dtp_pool_normalize_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_POOL_NORMALIZE;
    op.epsilon = 1e-12f;
    op.src = tensor(p->from, 3, m->dims, NULL);
    op.mask = matrix(dnnl_tp_f32, m->dims[0], m->dims[1], false);
    op.dst = matrix(dnnl_tp_f32, m->dims[0], m->dims[2], false);
    CHECK_OK(dtp_pd_create(&m->pd, m->engine, &op.base, sizeof op, NULL));
    add(m, DNNL_TP_ARG_SRC, op.src), add(m, DNNL_TP_ARG_MULTIPLE_SRC, op.mask);
    add(m, DNNL_TP_ARG_DST, op.dst);
}

/* {sequences, rows, heads, columns of a head}; option: with a mask; more: tf32. */
static void attention(const problem_t *p, made_t *m) {
    dtp_attention_desc_t op;
    dnnl_tp_primitive_attr_t attr = new_attr();
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION;
    op.heads = (int)m->dims[2];
    op.scale = .1f;
    op.q = op.k = op.v = op.dst =
        tensor(p->from, 3, (const int64_t[]){m->dims[0], m->dims[1], m->dims[2] * m->dims[3]}, NULL);
    if (p->option) op.mask = matrix(dnnl_tp_f32, m->dims[0], m->dims[1], false);
    if (p->more) CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, dnnl_tp_fpmath_mode_tf32));
    CHECK_OK(dtp_pd_create(&m->pd, m->engine, &op.base, sizeof op, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    add(m, DNNL_TP_ARG_SRC_0, op.q), add(m, DNNL_TP_ARG_SRC_1, op.k), add(m, DNNL_TP_ARG_SRC_2, op.v);
    add(m, DNNL_TP_ARG_DST, op.dst);
    if (p->option) add(m, DNNL_TP_ARG_MULTIPLE_SRC, op.mask);
}

/* {m, n, k}; option: bit 0: columns of weights lie behind each other, 1: those of src, 2: bias, relu and a tensor follow, 3: tf32. */
enum { NN = 0, NT = 1, TN = 2, TT = 3, CHAIN = 4, TF32 = 8 };
static void matmul(const problem_t *p, made_t *m) {
    const dtp_md_t src = matrix(p->from, m->dims[0], m->dims[2], p->option & TN),
                   wei = matrix(p->from, m->dims[2], m->dims[1], p->option & NT),
                   bia = matrix(dnnl_tp_f32, 1, m->dims[1], false),
                   dst = matrix(p->to, m->dims[0], m->dims[1], false);
    const bool chain = p->option & CHAIN;
    dnnl_tp_primitive_attr_t attr = new_attr();
    if (p->option & TF32) CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, dnnl_tp_fpmath_mode_tf32));
    if (chain) add_chain(m, attr, &dst);
    CHECK_OK(
        dnnl_tp_matmul_primitive_desc_create(&m->pd, m->engine, &src, &wei, chain ? &bia : NULL, &dst, attr));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    add(m, DNNL_TP_ARG_SRC, src), add(m, DNNL_TP_ARG_WEIGHTS, wei), add(m, DNNL_TP_ARG_DST, dst);
    if (chain) add(m, DNNL_TP_ARG_BIAS, bia);
}

/* ---- Execution ------------------------------------------------------------------------------------------ */

/* Small numbers; integers are a permutation of 0, 1, ... where their number is a power of two. */
static void fill(unsigned char *to, dnnl_tp_data_type_t dt, size_t bytes) {
    const size_t size = dtp_type_size(dt), n = bytes / size;
    for (size_t i = 0; i < n; ++i) {
        const float x = (float)(i * 7 % 61) / 64 + .25f;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (dt == dnnl_tp_f16) bits = 0x3400 + (uint32_t)(i % 61);
        else if (dt == dnnl_tp_bf16) bits >>= 16;
        else if (dt != dnnl_tp_f32) bits = (uint32_t)(i * 7 % n);
        memcpy(to + i * size, &bits, size < sizeof bits ? size : sizeof bits);
    }
}

int64_t problem_run(const problem_t *p, size_kind_t size, dnnl_tp_engine_t engine, bool filled) {
    made_t m = {.engine = engine, .dims = p->dims[size]};
    dnnl_tp_primitive_t primitive;
    dnnl_tp_stream_t s;
    dnnl_tp_exec_arg_t args[PROBLEM_ARGS];
    int64_t needed = 0;
    CHECK_OK(dnnl_tp_stream_create(&s, engine, 0));
    p->make(p, &m);
    CHECK_OK(dnnl_tp_primitive_create(&primitive, m.pd));
    for (int i = 0; i < m.n; ++i) {
        const size_t bytes = dnnl_tp_memory_desc_get_size(&m.md[i]),
                     elements = (size_t)dtp_md_nelems(&m.md[i]);
        needed += (int64_t)(elements * dtp_type_size(m.md[i].data_type));
        args[i].arg = m.arg[i];
        CHECK_OK(dnnl_tp_memory_create(&args[i].memory, &m.md[i], engine, DNNL_TP_MEMORY_ALLOCATE));
        if (!filled || m.arg[i] == DNNL_TP_ARG_DST) continue;
        unsigned char *data = calloc(1, bytes);
        fill(data, m.md[i].data_type, bytes);
        test_upload(args[i].memory, data, bytes);
        free(data);
    }
    CHECK_OK(dnnl_tp_primitive_execute(primitive, s, m.n, args));
    CHECK_OK(dnnl_tp_stream_wait(s));
    for (int i = 0; i < m.n; ++i) CHECK_OK(dnnl_tp_memory_destroy(args[i].memory));
    CHECK_OK(dnnl_tp_primitive_destroy(primitive));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(m.pd));
    CHECK_OK(dnnl_tp_stream_destroy(s));
    return needed;
}

/* ---- The list ------------------------------------------------------------------------------------------- */

#define F32 dnnl_tp_f32
#define BF16 dnnl_tp_bf16
#define F16 dnnl_tp_f16
#define U8 dnnl_tp_u8
enum { SCALED = dnnl_tp_use_scale | dnnl_tp_use_shift, RMS = dnnl_tp_use_scale | dnnl_tp_rms_norm };
enum { GELU = dnnl_tp_eltwise_gelu_tanh, RELU = dnnl_tp_eltwise_relu };

const problem_t problems[] = {
    {"softmax_f32_1024", softmax, F32, F32, {{64, 1024}, {16384, 1024}}, 1, 0},
    {"softmax_bf16_1024", softmax, BF16, BF16, {{64, 1024}, {16384, 1024}}, 1, 0},
    {"softmax_f32_4096", softmax, F32, F32, {{16, 4096}, {4096, 4096}}, 1, 0},
    {"softmax_bf16_8192", softmax, BF16, BF16, {{16, 8192}, {4096, 8192}}, 1, 0},
    {"softmax_f32_32768", softmax, F32, F32, {{4, 32768}, {512, 32768}}, 1, 0},
    {"softmax_f32_axis0", softmax, F32, F32, {{64, 512}, {1024, 32768}}, 0, 0},
    {"softmax_bf16_axis0", softmax, BF16, BF16, {{64, 512}, {1024, 32768}}, 0, 0},
    {"lnorm_f32_768", layer_norm, F32, F32, {{64, 768}, {16384, 768}}, SCALED, 0},
    {"lnorm_f32_4096", layer_norm, F32, F32, {{16, 4096}, {4096, 4096}}, SCALED, 0},
    {"lnorm_bf16_1024", layer_norm, BF16, F32, {{64, 1024}, {16384, 1024}}, SCALED, 0},
    {"lnorm_bf16_4096", layer_norm, BF16, F32, {{16, 4096}, {8192, 4096}}, SCALED, 0},
    {"lnorm_bf16_all", layer_norm, BF16, BF16, {{16, 4096}, {8192, 4096}}, SCALED, 0},
    {"rms_bf16_4096", layer_norm, BF16, F32, {{16, 4096}, {8192, 4096}}, RMS, 0},
    {"rms_bf16_all", layer_norm, BF16, BF16, {{16, 4096}, {8192, 4096}}, RMS, 0},
    {"lnorm_bf16_relu", layer_norm, BF16, F32, {{16, 4096}, {8192, 4096}}, SCALED, 1},
    {"eltwise_f32", eltwise, F32, F32, {{64, 1024}, {16384, 1024}}, GELU, 0},
    {"eltwise_bf16", eltwise, BF16, BF16, {{64, 1024}, {16384, 1024}}, GELU, 0},
    {"eltwise_f16", eltwise, F16, F16, {{64, 1024}, {16384, 1024}}, GELU, 0},
    {"eltwise_u8", eltwise, U8, U8, {{64, 1024}, {65536, 1024}}, RELU, 0},
    {"eltwise_f32_chain", eltwise, F32, F32, {{64, 1024}, {16384, 1024}}, GELU, 1},
    {"eltwise_bf16_chain", eltwise, BF16, BF16, {{64, 1024}, {16384, 1024}}, GELU, 1},
    {"binary_f32", binary, F32, F32, {{64, 1024}, {16384, 1024}}, 0, 0},
    {"binary_bf16", binary, BF16, BF16, {{64, 1024}, {16384, 1024}}, 0, 0},
    {"binary_bf16_row", binary, BF16, BF16, {{64, 1024}, {16384, 1024}}, 1, 0},
    {"binary_bf16_column", binary, BF16, BF16, {{64, 1024}, {16384, 1024}}, 2, 0},
    {"binary_bf16_chain", binary, BF16, BF16, {{64, 1024}, {16384, 1024}}, 0, 1},
    {"reduce_rows_f32", reduction, F32, F32, {{64, 4096}, {4096, 4096}}, 1, 0},
    {"reduce_rows_bf16", reduction, BF16, BF16, {{64, 4096}, {8192, 4096}}, 1, 0},
    {"reduce_columns_f32", reduction, F32, F32, {{1024, 512}, {16384, 1024}}, 0, 0},
    {"reduce_columns_bf16", reduction, BF16, F32, {{1024, 512}, {16384, 1024}}, 0, 0},
    {"reduce_all_f32", reduction, F32, F32, {{1, 131072}, {1, 1 << 24}}, 1, 0},
    {"convert_f32_bf16", reorder, F32, BF16, {{64, 1024}, {16384, 1024}}, COPY, 0},
    {"convert_bf16_f32", reorder, BF16, F32, {{64, 1024}, {16384, 1024}}, COPY, 0},
    {"convert_f32_u8", reorder, F32, U8, {{64, 1024}, {16384, 1024}}, COPY, 0},
    {"transpose_f32", reorder, F32, F32, {{256, 256}, {4096, 4096}}, TRANSPOSE, 0},
    {"transpose_bf16", reorder, BF16, BF16, {{256, 256}, {8192, 4096}}, TRANSPOSE, 0},
    {"transpose_u8", reorder, U8, U8, {{256, 256}, {8192, 8192}}, TRANSPOSE, 0},
    {"transpose_f32_bf16", reorder, F32, BF16, {{256, 256}, {4096, 4096}}, TRANSPOSE, 0},
    {"channels_last_bf16", reorder, BF16, BF16, {{2, 64, 16, 16}, {32, 256, 64, 64}}, CHANNELS_LAST, 0},
    {"apart_f32", reorder, F32, F32, {{64, 1024}, {16384, 1024}}, APART, 0},
    {"apart_bf16", reorder, BF16, BF16, {{64, 1024}, {16384, 1024}}, APART, 0},
    {"concat_f32", concat, F32, F32, {{64, 512, 256}, {16384, 512, 256}}, 0, 0},
    {"concat_bf16", concat, BF16, BF16, {{64, 512, 256}, {32768, 512, 256}}, 0, 0},
    {"sum_f32", sum, F32, F32, {{64, 1024}, {16384, 1024}}, 0, 0},
    {"sum_bf16", sum, BF16, BF16, {{64, 1024}, {16384, 1024}}, 0, 0},
    {"gather_f32", gather, F32, F32, {{128, 768}, {16384, 768}}, 0, 0},
    {"gather_bf16", gather, BF16, BF16, {{128, 768}, {32768, 768}}, 0, 0},
    {"pool_normalize_f32", pool_normalize, F32, F32, {{4, 128, 384}, {256, 128, 384}}, 0, 0},
    {"pool_normalize_bf16", pool_normalize, BF16, F32, {{4, 128, 768}, {256, 128, 768}}, 0, 0},
    {"attention_bf16_32", attention, BF16, BF16, {{1, 256, 2, 32}, {32, 512, 12, 32}}, 1, 0},
    {"attention_bf16_64", attention, BF16, BF16, {{1, 256, 2, 64}, {4, 2048, 16, 64}}, 0, 0},
    {"attention_f16_128", attention, F16, F16, {{1, 256, 2, 128}, {1, 4096, 32, 128}}, 0, 0},
    {"attention_f32_32", attention, F32, F32, {{1, 128, 2, 32}, {32, 512, 12, 32}}, 1, 0},
    {"attention_f32_64", attention, F32, F32, {{1, 128, 2, 64}, {4, 2048, 16, 64}}, 0, 0},
    {"attention_f32_136", attention, F32, F32, {{1, 128, 1, 136}, {4, 2048, 8, 136}}, 0, 0},
    {"attention_tf32_64", attention, F32, F32, {{1, 128, 2, 64}, {4, 2048, 16, 64}}, 0, 1},
    {"matmul_bf16_nn", matmul, BF16, BF16, {{256, 256, 256}, {4096, 4096, 4096}}, NN, 0},
    {"matmul_bf16_nt", matmul, BF16, BF16, {{256, 256, 256}, {4096, 4096, 4096}}, NT, 0},
    {"matmul_bf16_tn", matmul, BF16, BF16, {{256, 256, 256}, {4096, 4096, 4096}}, TN, 0},
    {"matmul_f16_tt", matmul, F16, F32, {{256, 256, 256}, {4096, 4096, 4096}}, TT, 0},
    {"matmul_bf16_chain", matmul, BF16, BF16, {{256, 256, 256}, {4096, 4096, 4096}}, NN | CHAIN, 0},
    {"matmul_tf32_nn", matmul, F32, F32, {{256, 256, 256}, {4096, 4096, 4096}}, NN | TF32, 0},
    {"matmul_tf32_nt", matmul, F32, F32, {{256, 256, 256}, {4096, 4096, 4096}}, NT | TF32, 0},
    {"matmul_f32_nn", matmul, F32, F32, {{256, 256, 256}, {4096, 4096, 4096}}, NN, 0},
    {"matmul_f32_nt", matmul, F32, F32, {{256, 256, 256}, {4096, 4096, 4096}}, NT, 0},
    {"matmul_bf16_small", matmul, BF16, BF16, {{64, 128, 1024}, {64, 4096, 4096}}, NT, 0},
    {"matmul_bf16_1_nt", matmul, BF16, BF16, {{1, 128, 1024}, {1, 4096, 8192}}, NT, 0},
    {"matmul_bf16_1_nn", matmul, BF16, BF16, {{1, 128, 1024}, {1, 4096, 8192}}, NN, 0},
    {"matmul_bf16_16_nt", matmul, BF16, BF16, {{16, 128, 1024}, {16, 4096, 8192}}, NT, 0},
    {"matmul_f32_8_nn", matmul, F32, F32, {{8, 128, 1024}, {8, 4096, 4096}}, NN, 0},
};
const int n_problems = (int)(sizeof problems / sizeof *problems);
