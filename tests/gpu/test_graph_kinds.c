/* Kinds of primitives that only graphs reach, and reorders between the host and a GPU, on the fake driver: attention on tensor cores
 * and without them, gather, pool_normalize; layouts and types that change on the way. */
#include <math.h>
#include <stdlib.h>

#include "common/base/half.h"
#include "common/base/scalar.h"
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/attention.h"
#include "common/problems/graph/gather.h"
#include "common/problems/graph/pool_normalize.h"
#include "exec/run/executable.h"
#include "gpu/gpu_world.h"
#include "support/tensor.h"
#include "support/upload.h"

/* A tensor on the host, as f32 and in the type of its descriptor; absent where md is zero. */
typedef struct {
    int arg;
    const dtp_md_t *md;
    float *x;
} host_t;

static size_t span_of(const dtp_md_t *md) {
    return dtp_md_size(md) / dtp_type_size(md->data_type) + (size_t)md->offset0;
}

/* x becomes what its type has of it. */
static void to_type(const host_t *t, void *data) {
    for (size_t i = 0; i < span_of(t->md); ++i) {
        dtp_store(t->md->data_type, data, (int64_t)i, (double)t->x[i]);
        t->x[i] = (float)dtp_load(t->md->data_type, data, (int64_t)i);
    }
}

/* Runs op on n tensors, of which the last is the result; impl: the one that must serve it; wrong: its data are. */
static void run(const dtp_op_desc_t *op, size_t size, dnnl_tp_primitive_attr_t attr, const char *impl,
                bool wrong, int n, const host_t *t) {
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    dnnl_tp_exec_arg_t args[8];
    dnnl_tp_stream_t s = gpu_stream();
    CHECK_OK(dtp_pd_create(&pd, gpu, op, size, attr));
    assert_string_equal(pd->impl->name, impl);
    int have = 0;
    void *data = NULL;
    for (int i = 0; i < n; ++i) {
        if (dtp_md_is_zero(t[i].md)) continue;
        free(data);
        const size_t bytes = span_of(t[i].md) * dtp_type_size(t[i].md->data_type);
        data = malloc(bytes + 1);
        to_type(&t[i], data);
        args[have].arg = t[i].arg;
        CHECK_OK(dnnl_tp_memory_create(&args[have].memory, t[i].md, gpu, DNNL_TP_MEMORY_ALLOCATE));
        test_upload(args[have++].memory, data, bytes);
    }
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_execute(p, s, have, args));
    CHECK_STATUS(dnnl_tp_stream_wait(s), wrong ? dnnl_tp_runtime_error : dnnl_tp_success);
    const host_t *dst = &t[n - 1];
    test_download(args[have - 1].memory, data, span_of(dst->md) * dtp_type_size(dst->md->data_type));
    for (size_t i = 0; i < span_of(dst->md); ++i)
        dst->x[i] = (float)dtp_load(dst->md->data_type, data, (int64_t)i);
    free(data);
    for (int i = 0; i < have; ++i) CHECK_OK(dnnl_tp_memory_destroy(args[i].memory));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

static float *values(test_rng_t *r, int64_t n, float most) {
    float *x = malloc(sizeof *x * (size_t)(n + 1));
    for (int64_t i = 0; i < n; ++i) x[i] = test_uniform(r, -most, most);
    return x;
}

static dtp_md_t dense(int ndims, const int64_t *dims, dnnl_tp_data_type_t dt) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_strides(&md, ndims, dims, dt, NULL));
    return md;
}

/* ---- Attention ----------------------------------------------------------------------------------------- */

typedef enum {
    USUAL,
    NAN_QUERY, /* the second one of each sequence */
    NAN_KEYS,  /* the first STEP of the first sequence */
    LOW_KEYS,  /* every other key of the first sequence, and all of the second, give scores of -infinity */
    LATE_KEYS  /* the first STEP of each sequence are masked */
} odd_t;
enum { STEP = 64 }; /* keys that kernels take at a time */
typedef struct {
    int heads;
    int64_t b, s, d;
    int64_t gap;       /* elements between rows: not all alignments */
    bool mask, packed; /* packed: the second sequence is empty, three rows belong to nobody */
    bool bad;          /* offsets do not fit: zeros */
    odd_t odd;
    int64_t shift; /* elements in front of each tensor */
} attention_t;
static const attention_t attentions[] = {
    {2, 2, 20, 32, 0, true, false, false, USUAL, 0},
    {1, 1, 70, 64, 8, false, false, false, USUAL, 0},
    {3, 1, 17, 16, 0, false, false, false, USUAL, 0},
    {1, 1, 130, 128, 0, false, false, false, USUAL, 0},
    {2, 1, 9, 80, 3, false, false, false, USUAL, 0},
    {1, 2, 66, 48, 0, true, false, false, USUAL, 0},
    {2, 2, 5, 5, 0, true, false, false, USUAL, 0},
    {1, 1, 3, 200, 0, false, false, false, USUAL, 0},
    {2, 5, 70, 32, 0, false, true, false, USUAL, 0},
    {1, 40, 3, 24, 0, false, true, false, USUAL, 0},
    {1, 3, 8, 37, 0, false, true, false, USUAL, 0},
    {2, 3, 70, 32, 0, false, true, true, USUAL, 0},
    /* Around the tiles: queries and keys, columns, rows that are aligned or are not. */
    {1, 1, 1, 4, 0, false, false, false, USUAL, 0},
    {2, 1, 16, 8, 0, true, false, false, USUAL, 0},
    {1, 1, 31, 28, 0, true, false, false, USUAL, 0},
    {1, 1, 32, 33, 0, false, false, false, USUAL, 0},
    {1, 1, 33, 36, 4, true, false, false, USUAL, 0},
    {1, 1, 63, 60, 2, false, false, false, USUAL, 0},
    {1, 1, 64, 64, 0, true, false, false, USUAL, 0},
    {1, 1, 65, 68, 0, true, false, false, USUAL, 0},
    {1, 1, 97, 124, 0, false, false, false, USUAL, 0},
    {1, 1, 129, 32, 1, true, false, false, USUAL, 0},
    {1, 1, 33, 127, 0, false, false, false, USUAL, 0},
    {2, 1, 40, 64, 0, false, false, false, USUAL, 1},
    {1, 1, 40, 32, 0, false, false, false, USUAL, 4},
    {1, 1, 65, 256, 0, true, false, false, USUAL, 0},
    {1, 4, 130, 20, 0, false, true, false, USUAL, 0},
    {1, 3, 70, 128, 3, false, true, false, USUAL, 0},
    {1, 64, 2, 8, 0, false, true, false, USUAL, 0},
    {1, 3, 70, 60, 0, false, true, true, USUAL, 0},
    /* Not numbers. */
    {2, 2, 10, 32, 0, false, false, false, NAN_QUERY, 0},
    {1, 2, 70, 64, 0, true, false, false, NAN_QUERY, 0},
    {1, 2, 10, 200, 0, false, false, false, NAN_QUERY, 0},
    {2, 1, 70, 32, 0, false, false, false, NAN_KEYS, 0},
    {1, 1, 70, 128, 0, false, false, false, NAN_KEYS, 0},
    {1, 1, 70, 200, 0, false, false, false, NAN_KEYS, 0},
    {1, 2, 70, 32, 0, false, false, false, LOW_KEYS, 0},
    {1, 2, 10, 200, 0, false, false, false, LOW_KEYS, 0},
    {1, 1, 70, 64, 0, true, false, false, LATE_KEYS, 0},
    {1, 2, 64, 96, 0, true, false, false, LATE_KEYS, 0},
    {1, 1, 70, 140, 0, true, false, false, LATE_KEYS, 0},
};
enum { MOST_SEQUENCES = 64 };

/* The row i of a head against the keys of its sequence, in double. */
static void attend(const attention_t *c, const dtp_attention_desc_t *op, const float *const x[3],
                   const float *mask, int64_t first, int64_t keys, int64_t i, int head, double *want) {
    const int64_t ld = op->q.strides[op->q.ndims - 2], column = head * c->d;
    double most = -INFINITY, sum = 0, *p = malloc(sizeof *p * (size_t)(keys + 1));
    for (int64_t j = 0; j < keys; ++j) {
        p[j] = 0;
        for (int64_t k = 0; k < c->d; ++k)
            p[j] += (double)x[0][(first + i) * ld + column + k] * (double)x[1][(first + j) * ld + column + k];
        p[j] = p[j] * (double)op->scale + (c->mask ? (double)mask[first + j] : 0);
        most = fmax(most, p[j]);
    }
    for (int64_t j = 0; j < keys; ++j) sum += p[j] = p[j] == -INFINITY ? 0 : exp(p[j] - most);
    for (int64_t k = 0; k < c->d; ++k) {
        want[k] = 0;
        for (int64_t j = 0; j < keys && sum != 0; ++j)
            want[k] += p[j] / sum * (double)x[2][(first + j) * ld + column + k];
    }
    free(p);
}

/* What is not usual in the data of a case. */
static void make_odd(const attention_t *c, int64_t ld, float *q, float *k, float *mask) {
    for (int64_t b = 0; b < c->b; ++b)
        for (int64_t i = 0; i < c->s; ++i) {
            const int64_t at = b * c->s + i;
            if (c->odd == NAN_QUERY && i == 1) q[at * ld] = NAN;
            if (c->odd == NAN_KEYS && b == 0 && i < STEP) k[at * ld] = NAN;
            if (c->odd == LATE_KEYS && i < STEP) mask[at] = -INFINITY;
            if (c->odd == LOW_KEYS) {
                q[at * ld] = 1;
                if (b == 1 || (b == 0 && i % 2 == 0)) k[at * ld] = -INFINITY;
            }
        }
}

/* tf32: f32 may be rounded to it. */
static void check_attention(const attention_t *c, int number, dnnl_tp_data_type_t dt, bool tf32) {
    test_rng_t r = test_rng((uint64_t)number);
    float offsets[MOST_SEQUENCES + 1] = {0};
    int64_t total = c->b * c->s;
    if (c->packed) {
        for (int64_t i = 0; i < c->b; ++i)
            offsets[i + 1] = offsets[i] + (i == 1 ? 0.f : (float)(1 + test_rand(&r) % (uint64_t)c->s));
        total = (int64_t)offsets[c->b] + 3;
        if (c->bad) offsets[c->b] += 4;
    }
    const int64_t h = c->heads * c->d, ld = h + c->gap, n1 = c->b + 1;
    const int64_t dims3[] = {c->b, c->s, h}, strides3[] = {c->s * ld, ld, 1}, dims2[] = {total, h},
                  strides2[] = {ld, 1};
    dtp_attention_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION;
    op.heads = c->heads;
    op.scale = 1.f / sqrtf((float)c->d);
    if (c->packed) CHECK_OK(dtp_md_init_strides(&op.q, 2, dims2, dt, strides2));
    else CHECK_OK(dtp_md_init_strides(&op.q, 3, dims3, dt, strides3));
    op.q.offset0 = c->shift;
    op.k = op.v = op.dst = op.q;
    if (c->mask) op.mask = dense(2, dims3, dnnl_tp_f32);
    if (c->packed) op.offsets = dense(1, &n1, dnnl_tp_s32);
    const int64_t all = c->shift + total * ld;
    float *const qs = values(&r, all, 2), *const ks = values(&r, all, 2), *const vs = values(&r, all, 1);
    float *const os = values(&r, all, 1), *const mask = values(&r, total, 1);
    float *const q = qs + c->shift, *const k = ks + c->shift, *const v = vs + c->shift,
                 *const o = os + c->shift;
    for (int64_t i = 0; i < all; ++i) os[i] = 776.f;
    for (int64_t i = 0; i < total; ++i) mask[i] = test_rand(&r) % 4 ? 0.f : -INFINITY;
    for (int64_t i = 0; i < c->s && c->mask && c->b > 1; ++i)
        mask[c->s + i] = -INFINITY; /* nothing to see: zeros */
    make_odd(c, ld, q, k, mask);
    const host_t tensors[] = {{DNNL_TP_ARG_SRC_0, &op.q, qs},
                              {DNNL_TP_ARG_SRC_1, &op.k, ks},
                              {DNNL_TP_ARG_SRC_2, &op.v, vs},
                              {DNNL_TP_ARG_MULTIPLE_SRC, &op.mask, mask},
                              {DNNL_TP_ARG_MULTIPLE_SRC + 1, &op.offsets, offsets},
                              {DNNL_TP_ARG_DST, &op.dst, os}};
    const bool any = c->d > 128 || (dt != dnnl_tp_f32 && c->d % 8 != 0);
    dnnl_tp_primitive_attr_t attr;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    if (tf32) CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, dnnl_tp_fpmath_mode_tf32));
    run(&op.base, sizeof op, attr,
        any                          ? "cuda:any"
        : dt == dnnl_tp_f32 && !tf32 ? "cuda:tile"
                                     : "cuda:mma",
        c->bad, 6, tensors);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    /* Probabilities are rounded to the type, too; in tf32 scores of up to 20 are products of rounded numbers. */
    const double tol = tf32 ? 0x1p-8 : dt == dnnl_tp_f32 ? 1e-5 : dt == dnnl_tp_bf16 ? 0x1p-7 : 0x1p-10;
    double *want = calloc((size_t)c->d, sizeof *want);
    for (int64_t b = 0; b < c->b && !c->bad; ++b) {
        const int64_t first = c->packed ? (int64_t)offsets[b] : b * c->s;
        const int64_t n = c->packed ? (int64_t)offsets[b + 1] - first : c->s;
        for (int64_t i = 0; i < n; ++i)
            for (int head = 0; head < c->heads; ++head) {
                attend(c, &op, (const float *const[]){q, k, v}, mask, first, n, i, head, want);
                for (int64_t x = 0; x < c->d; ++x) {
                    const double got = (double)o[(first + i) * ld + head * c->d + x];
                    if (isnan(want[x]) ? !isnan(got) : !(fabs(got - want[x]) <= tol))
                        fail_msg("case %d: sequence %d row %d head %d column %d: %.9g, not %.9g", number,
                                 (int)b, (int)i, head, (int)x, got, want[x]);
                }
            }
    }
    for (int64_t i = 0; i < total && c->packed; ++i)
        for (int64_t x = 0; x < h; ++x)
            if (c->bad) assert_true(o[i * ld + x] == 0.f);
            else if (i >= total - 3) assert_true(o[i * ld + x] == 776.f);
    free(want), free(qs), free(ks), free(vs), free(os), free(mask);
}

static void attention_all(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_bf16, dnnl_tp_f16};
    for (size_t c = 0; c < sizeof attentions / sizeof *attentions; ++c)
        for (int t = 0; t < 4; ++t) check_attention(&attentions[c], (int)c, types[t % 3], t == 3);
}

/* ---- Gather, pool_normalize ---------------------------------------------------------------------------- */

static void gather_rows(void **state) {
    (void)state;
    enum { V = 50, N = 23 };
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_bf16, dnnl_tp_f16, dnnl_tp_s8,
                                                dnnl_tp_s32};
    for (int t = 0; t < 5; ++t)
        for (int form = 0; form < 8; ++form) { /* width of rows; s64 ids; added, or as the table has it */
            const int64_t h = form & 1 ? 37 : 40, dims[] = {V, h}, n[] = {N}, out[] = {N, h};
            const bool adds = form & 4;
            test_rng_t r = test_rng((uint64_t)(t * 8 + form));
            dtp_gather_desc_t op;
            memset(&op, 0, sizeof op);
            op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_GATHER;
            op.table = dense(2, dims, types[t]);
            op.ids = dense(1, n, form & 2 ? dnnl_tp_s64 : dnnl_tp_s32);
            op.dst = dense(2, out, adds ? dnnl_tp_f32 : types[t]);
            float *table = values(&r, V * h, 9), *dst = values(&r, N * h, 3), *old = values(&r, N * h, 3),
                  ids[N];
            for (int i = 0; i < N; ++i) ids[i] = (float)(test_rand(&r) % V);
            ids[3] = -1, ids[7] = V; /* clamped, where nobody asks */
            memcpy(old, dst, sizeof *old * (size_t)(N * h));
            dnnl_tp_primitive_attr_t attr;
            dnnl_tp_post_ops_t po;
            CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
            CHECK_OK(dnnl_tp_post_ops_create(&po));
            if (adds) CHECK_OK(dnnl_tp_post_ops_append_sum(po, 2.f, 0, dnnl_tp_data_type_undef));
            CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
            CHECK_OK(dnnl_tp_post_ops_destroy(po));
            const host_t tensors[] = {{DNNL_TP_ARG_WEIGHTS, &op.table, table},
                                      {DNNL_TP_ARG_SRC, &op.ids, ids},
                                      {DNNL_TP_ARG_DST, &op.dst, dst}};
            run(&op.base, sizeof op, attr, "cuda:rows", true, 3, tensors);
            CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
            for (int64_t i = 0; i < N; ++i)
                for (int64_t c = 0; c < h; ++c) {
                    const int64_t id = dtp_max64(0, dtp_min64((int64_t)ids[i], V - 1));
                    const float want = table[id * h + c] + (adds ? 2 * old[i * h + c] : 0.f);
                    assert_true(fabsf(dst[i * h + c] - want) <= 1e-5f);
                }
            free(table), free(dst), free(old);
        }
}

static void pool_normalize_all(void **state) {
    (void)state;
    enum { B = 5, S = 11, T = B * S };
    for (int form = 0; form < 12;
         ++form) { /* plain, mask, packed, bad offsets; bf16; columns beyond the threads of a block */
        const int what = form % 4;
        const int64_t h = form >= 8 ? 2052 : form & 1 ? 37 : 64;
        const dnnl_tp_data_type_t dt = form >= 4 ? dnnl_tp_bf16 : dnnl_tp_f32;
        const int64_t dims[] = {B, S, h}, flat[] = {T, h}, out[] = {B, h}, n1[] = {B + 1};
        test_rng_t r = test_rng((uint64_t)form);
        float offsets[B + 1] = {0, 4, 4, 20, 21, what == 3 ? T + 1 : 50};
        dtp_pool_normalize_desc_t op;
        memset(&op, 0, sizeof op);
        op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_POOL_NORMALIZE;
        op.epsilon = 1e-12f;
        op.src = what >= 2 ? dense(2, flat, dt) : dense(3, dims, dt);
        op.dst = dense(2, out, dnnl_tp_f32);
        if (what == 1) op.mask = dense(2, dims, dnnl_tp_f32);
        if (what >= 2) op.offsets = dense(1, n1, dnnl_tp_s32);
        float *x = values(&r, T * h, 1), *y = values(&r, B * h, 1), mask[T];
        for (int i = 0; i < T; ++i) mask[i] = i / S == 2 ? 0.f : (float)(test_rand(&r) & 1);
        const host_t tensors[] = {{DNNL_TP_ARG_SRC, &op.src, x},
                                  {DNNL_TP_ARG_MULTIPLE_SRC, &op.mask, mask},
                                  {DNNL_TP_ARG_MULTIPLE_SRC + 1, &op.offsets, offsets},
                                  {DNNL_TP_ARG_DST, &op.dst, y}};
        run(&op.base, sizeof op, NULL, "cuda:block", what == 3, 4, tensors);
        double *want = calloc((size_t)h, sizeof *want);
        for (int b = 0; b < B; ++b) {
            double count = 0, norm = 0;
            const int from = what == 2 ? (int)offsets[b] : b * S,
                      to = what == 2 ? (int)offsets[b + 1] : (b + 1) * S;
            memset(want, 0, sizeof *want * (size_t)h);
            for (int i = from; i < to && what != 3; ++i) {
                const double w = what == 1 ? (double)mask[i] : 1;
                count += w;
                for (int64_t c = 0; c < h; ++c) want[c] += w * (double)x[i * h + c];
            }
            for (int64_t c = 0; c < h; ++c) {
                want[c] = count > 0 ? want[c] / count : 0;
                norm += want[c] * want[c];
            }
            norm = fmax(sqrt(norm), 1e-12);
            for (int64_t c = 0; c < h; ++c) assert_true(fabs((double)y[b * h + c] - want[c] / norm) < 2e-6);
        }
        free(want), free(x), free(y);
    }
}

/* ---- Between the host and the GPU ---------------------------------------------------------------------- */

enum { ROWS = 33, COLS = 70, ROOM = 4 * ROWS * COLS };

/* Elements of `from` go to the layout and type of `to` and back; what lies between the elements of the host stays. */
static void check_way(const dtp_md_t *host, const dtp_md_t *device, dnnl_tp_engine_t cpu,
                      dnnl_tp_primitive_attr_t attr) {
    static char there[ROOM * 4], back[ROOM * 4];
    dnnl_tp_memory_t from, on_gpu, to;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    dnnl_tp_stream_t s = gpu_stream();
    test_rng_t r = test_rng(11);
    memset(there, 0x2a, sizeof there), memset(back, 0x2a, sizeof back);
    for (int64_t i = 0; i < ROWS * COLS; ++i)
        dtp_store(host->data_type, there, dtp_md_offset_linear(host, i),
                  (double)(int)(test_rand(&r) % 200) - 100);
    CHECK_OK(dnnl_tp_memory_create(&from, host, cpu, there));
    CHECK_OK(dnnl_tp_memory_create(&to, host, cpu, back));
    CHECK_OK(dnnl_tp_memory_create(&on_gpu, device, gpu, DNNL_TP_MEMORY_ALLOCATE));
    for (int way = 0; way < 2; ++way) {
        CHECK_OK(way ? dnnl_tp_reorder_primitive_desc_create(&pd, device, gpu, host, cpu, attr)
                     : dnnl_tp_reorder_primitive_desc_create(&pd, host, cpu, device, gpu, attr));
        CHECK_OK(dnnl_tp_primitive_create(&p, pd));
        const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_FROM, way ? on_gpu : from},
                                           {DNNL_TP_ARG_TO, way ? to : on_gpu}};
        CHECK_OK(dnnl_tp_primitive_execute(p, s, 2, args));
        CHECK_OK(dnnl_tp_stream_wait(s));
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
    assert_memory_equal(there, back, sizeof there);
    CHECK_OK(dnnl_tp_memory_destroy(from));
    CHECK_OK(dnnl_tp_memory_destroy(to));
    CHECK_OK(dnnl_tp_memory_destroy(on_gpu));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

static void layouts_change_on_the_way(void **state) {
    (void)state;
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_s32, dnnl_tp_s8, dnnl_tp_bf16};
    static const int64_t dims[] = {ROWS, COLS},
                         strides[][2] = {{COLS, 1}, {1, ROWS}, {COLS + 5, 1}, {2, 3 * ROWS}};
    enum { TYPES = sizeof types / sizeof *types, LAYOUTS = sizeof strides / sizeof *strides };
    dnnl_tp_engine_t cpu;
    CHECK_OK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
    for (int i = 0; i < TYPES * TYPES * LAYOUTS * LAYOUTS; ++i) {
        dtp_md_t host, device;
        CHECK_OK(dtp_md_init_strides(&host, 2, dims, types[i % TYPES], strides[i / TYPES / TYPES % LAYOUTS]));
        CHECK_OK(dtp_md_init_strides(&device, 2, dims, types[i / TYPES % TYPES],
                                     strides[i / TYPES / TYPES / LAYOUTS]));
        check_way(&host, &device, cpu, NULL);
    }
    CHECK_OK(dnnl_tp_engine_destroy(cpu));
}

/* ---- tf32 ---------------------------------------------------------------------------------------------- */

/* A graph that is compiled for tf32 computes products of f32 with matrix instructions; one that is not does not. */
static void graphs_in_tf32(void **state) {
    (void)state;
    enum { SIDE = 64, N = SIDE * SIDE };
    static float x[N], y[2][N];
    const dnnl_tp_dims_t dims = {SIDE, SIDE};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in, out;
    dnnl_tp_stream_t s = gpu_stream();
    test_rng_t r = test_rng(1);
    for (int i = 0; i < N; ++i) x[i] = test_uniform(&r, -1, 1);
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_gpu));
    CHECK_OK(dnnl_tp_graph_input(g, &in, "x", dnnl_tp_f32, 2, dims));
    CHECK_OK(dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "xx", 2, (dnnl_tp_value_t[]){in, in}, 0, NULL, 1, &out));
    CHECK_OK(dnnl_tp_graph_output(g, out, "y"));
    for (int tf32 = 0; tf32 < 2; ++tf32) {
        const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                             .fpmath_mode = tf32 ? dnnl_tp_fpmath_mode_tf32
                                                                 : dnnl_tp_fpmath_mode_strict};
        dnnl_tp_executable_t e;
        CHECK_OK(dnnl_tp_executable_compile(&e, g, gpu, 0, NULL, &opts));
        assert_string_equal(e->steps[0].work->prim[0]->pd->impl->name, tf32 ? "cuda:mma" : "cuda:simt");
        CHECK_OK(test_run_graph(e, s, 1, (void *[]){x}, 1, (void *[]){y[tf32]}, NULL));
        CHECK_OK(dnnl_tp_executable_destroy(e));
    }
    double worst = 0;
    for (int i = 0; i < N; ++i) worst = fmax(worst, fabs((double)y[0][i] - (double)y[1][i]));
    assert_true(worst > 1e-5 && worst < SIDE * 0x1p-10);
    CHECK_OK(dnnl_tp_graph_destroy(g));
    CHECK_OK(dnnl_tp_stream_destroy(s));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, gpu_setup, gpu_teardown)
    const struct CMUnitTest tests[] = {TEST(attention_all), TEST(gather_rows), TEST(pool_normalize_all),
                                       TEST(layouts_change_on_the_way), TEST(graphs_in_tf32)};
    return cmocka_run_group_tests_name("graph kinds", tests, NULL, NULL);
}
