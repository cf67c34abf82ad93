/* Functions of tensors of any strides, element by element. The tensors are walked as a box of loops; a kernel takes the
 * innermost one, with steps of 1 or 0 elements as constants that the compiler sees. The frequent ones have kernels of
 * their own for each instruction set (pointwise_kern.h). */
#include "common/problems/graph/pointwise.h"

#include "common/primitive/primitive_desc.h"
#include "cpu/elementwise/boxes.h"
#include "cpu/pointwise/pointwise_kern.h"
#include "threading/base/parallel.h"

float dtp_pointwise_sin(float x) { return sinf(x); }
float dtp_pointwise_cos(float x) { return cosf(x); }

#define INLINE static inline __attribute__((always_inline))
#define C_f32 float
#define C_f64 double
#define C_s64 int64_t
#define C_s32 int32_t
#define C_s8 int8_t
#define C_u8 uint8_t
#define C_boolean uint8_t
/* Any byte but 0 is true. */
#define LOAD_boolean(v) ((v) != 0)
#define LOAD_f32(v) (v)
#define LOAD_f64(v) (v)
#define LOAD_s64(v) (v)
#define LOAD_s32(v) (v)
#define LOAD_s8(v) (v)
#define LOAD_u8(v) (v)

/* ---- Functions of one and two sources ------------------------------------------------------------------ */

#define ROW_1(fn, type, to_type, expression)                                                                \
    INLINE void body_##fn##_##type(int64_t n, to_type *restrict to, const C_##type *restrict a, int64_t st, \
                                   int64_t sx) {                                                            \
        for (int64_t i = 0; i < n; ++i) {                                                                   \
            const C_##type x = LOAD_##type(a[i * sx]);                                                      \
            to[i * st] = (to_type)(expression);                                                             \
        }                                                                                                   \
    }                                                                                                       \
    static void row_##fn##_##type(int64_t n, char *to, const char *const *src, const int64_t *s) {          \
        to_type *t = (to_type *)(void *)to;                                                                 \
        const C_##type *a = (const C_##type *)(const void *)src[0];                                         \
        if (s[0] == 1 && s[1] == 1) body_##fn##_##type(n, t, a, 1, 1);                                      \
        else body_##fn##_##type(n, t, a, s[0], s[1]);                                                       \
    }
#define ROW_2(fn, type, to_type, expression)                                                         \
    INLINE void body_##fn##_##type(int64_t n, to_type *restrict to, const C_##type *restrict a,      \
                                   const C_##type *restrict b, int64_t st, int64_t sx, int64_t sy) { \
        for (int64_t i = 0; i < n; ++i) {                                                            \
            const C_##type x = LOAD_##type(a[i * sx]), y = LOAD_##type(b[i * sy]);                   \
            to[i * st] = (to_type)(expression);                                                      \
        }                                                                                            \
    }                                                                                                \
    static void row_##fn##_##type(int64_t n, char *to, const char *const *src, const int64_t *s) {   \
        to_type *t = (to_type *)(void *)to;                                                          \
        const C_##type *a = (const C_##type *)(const void *)src[0];                                  \
        const C_##type *b = (const C_##type *)(const void *)src[1];                                  \
        if (s[0] == 1 && s[1] == 1 && s[2] == 1) body_##fn##_##type(n, t, a, b, 1, 1, 1);            \
        else if (s[0] == 1 && s[1] == 1 && s[2] == 0) body_##fn##_##type(n, t, a, b, 1, 1, 0);       \
        else if (s[0] == 1 && s[1] == 0 && s[2] == 1) body_##fn##_##type(n, t, a, b, 1, 0, 1);       \
        else body_##fn##_##type(n, t, a, b, s[0], s[1], s[2]);                                       \
    }
#define TO_SAME(type) C_##type
#define TO_TRUTH(type) uint8_t
#define FOR_FLOATS(m, ...) m(f32, __VA_ARGS__) m(f64, __VA_ARGS__)
#define FOR_INTEGERS(m, ...) m(s64, __VA_ARGS__) m(s32, __VA_ARGS__) m(s8, __VA_ARGS__) m(u8, __VA_ARGS__)
#define FOR_NUMBERS(m, ...) FOR_FLOATS(m, __VA_ARGS__) FOR_INTEGERS(m, __VA_ARGS__)
#define FOR_ALL(m, ...) FOR_NUMBERS(m, __VA_ARGS__) m(boolean, __VA_ARGS__)

#define ROW(type, fn, nsrc, result, expression) ROW_##nsrc(fn, type, TO_##result(type), expression)
#define DTP_PW(name, nsrc, types, result, expression) FOR_##types(ROW, name, nsrc, result, expression)
#include "common/problems/graph/pointwise.inc"

enum { NTYPES = DTP_POINTWISE_TYPES };
static dtp_pointwise_row_t *const rows[DTP_PW_COUNT][NTYPES] = {
#define ENTRY(type, fn) [DTP_PW_##fn][dnnl_tp_##type] = row_##fn##_##type,
#define DTP_PW(name, nsrc, types, result, expression) FOR_##types(ENTRY, name)
#include "common/problems/graph/pointwise.inc"
};

/* ---- Selections, by the size of an element ----------------------------------------------------------------- */

#define SELECT(bits)                                                                                   \
    INLINE void body_select_##bits(int64_t n, uint##bits##_t *restrict to, const uint8_t *restrict c,  \
                                   const uint##bits##_t *restrict x, const uint##bits##_t *restrict y, \
                                   int64_t st, int64_t sc, int64_t sx, int64_t sy) {                   \
        for (int64_t i = 0; i < n; ++i) {                                                              \
            const uint##bits##_t a = x[i * sx], b = y[i * sy];                                         \
            to[i * st] = c[i * sc] ? a : b;                                                            \
        }                                                                                              \
    }                                                                                                  \
    static void select_##bits(int64_t n, char *to, const char *const *src, const int64_t *s) {         \
        uint##bits##_t *t = (uint##bits##_t *)(void *)to;                                              \
        const uint8_t *c = (const uint8_t *)src[0];                                                    \
        const uint##bits##_t *x = (const uint##bits##_t *)(const void *)src[1];                        \
        const uint##bits##_t *y = (const uint##bits##_t *)(const void *)src[2];                        \
        const bool simple = s[0] == 1 && s[1] == 1;                                                    \
        if (simple && s[2] == 1 && s[3] == 1) body_select_##bits(n, t, c, x, y, 1, 1, 1, 1);           \
        else if (simple && s[2] == 1 && s[3] == 0) body_select_##bits(n, t, c, x, y, 1, 1, 1, 0);      \
        else if (simple && s[2] == 0 && s[3] == 1) body_select_##bits(n, t, c, x, y, 1, 1, 0, 1);      \
        else body_select_##bits(n, t, c, x, y, s[0], s[1], s[2], s[3]);                                \
    }
SELECT(8)
SELECT(16)
SELECT(32)
SELECT(64)

static dtp_pointwise_row_t *select_row(size_t size) {
    return size == sizeof(uint8_t)    ? select_8
           : size == sizeof(uint16_t) ? select_16
           : size == sizeof(uint32_t) ? select_32
           : size == sizeof(uint64_t) ? select_64
                                      : NULL;
}

/* ---- Changes of types ------------------------------------------------------------------------------------- */

#define PLAIN(to, from, x) ((C_##to)(x))
#define FROM_FLOAT(to, from, x) pw_to_##to##_##from(x)
#define TRUTH(to, from, x) ((x) != 0)
/* A choice, of which compilers make vectors. */
#define COUNT(to, from, x) ((C_##to)((x) ? 1 : 0))
#define CAST(from, to, how)                                                                         \
    INLINE void body_cast_##from##_##to(int64_t n, C_##to *restrict t, const C_##from *restrict a,  \
                                        int64_t st, int64_t sx) {                                   \
        for (int64_t i = 0; i < n; ++i) {                                                           \
            const C_##from x = LOAD_##from(a[i * sx]);                                              \
            t[i * st] = how(to, from, x);                                                           \
        }                                                                                           \
    }                                                                                               \
    static void cast_##from##_##to(int64_t n, char *to, const char *const *src, const int64_t *s) { \
        C_##to *t = (C_##to *)(void *)to;                                                           \
        const C_##from *a = (const C_##from *)(const void *)src[0];                                 \
        if (s[0] == 1 && s[1] == 1) body_cast_##from##_##to(n, t, a, 1, 1);                         \
        else body_cast_##from##_##to(n, t, a, s[0], s[1]);                                          \
    }
/* M(from, to, how) for every pair. */
#define CASTS_OF_FLOAT(M, from) \
    M(from, f32, PLAIN)         \
    M(from, f64, PLAIN)         \
    M(from, s64, FROM_FLOAT)    \
    M(from, s32, FROM_FLOAT) M(from, s8, FROM_FLOAT) M(from, u8, FROM_FLOAT) M(from, boolean, TRUTH)
#define CASTS_OF_INTEGER(M, from) \
    M(from, f32, PLAIN)           \
    M(from, f64, PLAIN)           \
    M(from, s64, PLAIN) M(from, s32, PLAIN) M(from, s8, PLAIN) M(from, u8, PLAIN) M(from, boolean, TRUTH)
#define CASTS_OF_TRUTH(M, from) \
    M(from, f32, COUNT)         \
    M(from, f64, COUNT)         \
    M(from, s64, PLAIN) M(from, s32, PLAIN) M(from, s8, PLAIN) M(from, u8, PLAIN) M(from, boolean, PLAIN)
#define CASTS(M)             \
    CASTS_OF_FLOAT(M, f32)   \
    CASTS_OF_FLOAT(M, f64)   \
    CASTS_OF_INTEGER(M, s64) \
    CASTS_OF_INTEGER(M, s32) \
    CASTS_OF_INTEGER(M, s8)  \
    CASTS_OF_INTEGER(M, u8)  \
    CASTS_OF_TRUTH(M, boolean)
CASTS(CAST)

static dtp_pointwise_row_t *const casts[NTYPES][NTYPES] = {
#define CAST_ENTRY(from, to, how) [dnnl_tp_##from][dnnl_tp_##to] = cast_##from##_##to,
    CASTS(CAST_ENTRY)};

/* ---- The walk --------------------------------------------------------------------------------------------- */

enum { MAX_SRC = 3, OPS = 1 + MAX_SRC };

typedef struct {
    dtp_pointwise_row_t *row;
    int nsrc;
    size_t size[OPS]; /* of an element; the result first */
    dtp_box_t box;
    int64_t rows, parts, part; /* a row is cut into parts of so many elements */
    int64_t grain;
} plan_t;

/* The kernel of the instruction set, if there is one, and the steps of the innermost loop are its own. */
static dtp_pointwise_row_t *kernel_of(const dtp_pd_t *pd, const plan_t *p) {
    const dtp_pointwise_kernels_t *k = DTP_BY_ISA(dtp_pd_isa(pd), &dtp_pointwise_kernels, NULL);
    const dtp_pointwise_desc_t *d = (const dtp_pointwise_desc_t *)pd->op;
    const int64_t *s = p->box.s[p->box.nd - 1];
    if (!k || s[0] != 1 || s[1] != 1) return NULL;
    if (d->fn == DTP_PW_cast) return k->casts[d->src0.data_type][d->dst.data_type];
    if (d->fn != DTP_PW_select) return d->src0.data_type == dnnl_tp_f32 ? k->f32[d->fn] : NULL;
    if (s[2] < 0 || s[2] > 1 || s[3] < 0 || s[3] > 1) return NULL;
    return p->size[0] == sizeof(uint32_t) ? k->select32 : p->size[0] == sizeof(uint64_t) ? k->select64 : NULL;
}

static dnnl_tp_status_t pointwise_init(dtp_pd_t *pd) {
    const dtp_pointwise_desc_t *d = (const dtp_pointwise_desc_t *)pd->op;
    const dtp_md_t *md[OPS] = {&d->dst, &d->src0, &d->src1, &d->src2};
    plan_t *p = pd->plan;
    const size_t type = (size_t)d->src0.data_type, to = (size_t)d->dst.data_type;
    DTP_DISPATCH(type < NTYPES && to < NTYPES, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    if (d->fn == DTP_PW_select)
        p->row = type == dnnl_tp_boolean ? select_row(dtp_type_size(d->dst.data_type)) : NULL;
    else if (d->fn == DTP_PW_cast) p->row = casts[type][to];
    else p->row = rows[d->fn][type];
    DTP_DISPATCH(p->row, UNSUPPORTED_DATA_TYPE);
    for (int i = 0; i < OPS; ++i) {
        if (md[i]->ndims == 0) continue;
        DTP_DISPATCH(dtp_md_is_plain(md[i]), UNSUPPORTED_LAYOUT);
        p->nsrc = i;
        p->size[i] = dtp_type_size(md[i]->data_type);
    }
    const int boxes = dtp_boxes_cut(&p->box, 1, d->dst.ndims, d->dst.dims, (const dnnl_tp_dims_t){0},
                                    d->dst.dims, p->nsrc + 1, md);
    DTP_DISPATCH(boxes >= 0, UNSUPPORTED_LAYOUT);
    if (boxes == 0) {
        p->rows = 0;
        p->parts = p->grain = 1;
        return dnnl_tp_success;
    }
    dtp_boxes_order(&p->box, p->nsrc + 1, 0);
    if (p->box.nd == 0) { /* one element */
        p->box.nd = 1;
        p->box.n[0] = 1;
        memset(p->box.s[0], 0, sizeof p->box.s[0]);
    }
    dtp_pointwise_row_t *kernel = kernel_of(pd, p);
    if (kernel) p->row = kernel;
    enum { PART = 4096 };
    const double element_ns = kernel ? .2 : .5;
    const int64_t n = p->box.n[p->box.nd - 1];
    p->part = PART;
    p->parts = dtp_div_up(n, p->part);
    p->rows = dtp_boxes_count(&p->box, 0, p->box.nd - 1);
    p->grain = dtp_grain(2 + element_ns * (double)dtp_min64(n, p->part));
    return dnnl_tp_success;
}

typedef struct {
    const plan_t *plan;
    char *ptr[OPS];
} job_t;

static void pointwise_items(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *p = j->plan;
    const int inner = p->box.nd - 1, nops = p->nsrc + 1;
    const int64_t n = p->box.n[inner], *step = p->box.s[inner];
    dtp_cursor_t c;
    (void)slot;
    dtp_cursor_set(&c, &p->box, inner, nops, begin / p->parts);
    for (int64_t i = begin; i < end; ++i) {
        const int64_t part = i % p->parts, first = part * p->part;
        char *at[OPS] = {NULL};
        for (int o = 0; o < nops; ++o) at[o] = j->ptr[o] + (c.off[o] + first * step[o]) * (int64_t)p->size[o];
        p->row(dtp_min64(p->part, n - first), at[0], (const char *const *)at + 1, step);
        if (part == p->parts - 1) dtp_cursor_next(&c, &p->box, inner, nops);
    }
}

static dnnl_tp_status_t pointwise_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    job_t job = {p, {ctx->ptr[DTP_POINTWISE_DST], ctx->ptr[DTP_POINTWISE_SRC0], NULL, NULL}};
    if (p->nsrc > 1) job.ptr[2] = ctx->ptr[DTP_POINTWISE_SRC1];
    if (p->nsrc > 2) job.ptr[3] = ctx->ptr[DTP_POINTWISE_SRC2];
    dtp_parallel_for(ctx->par, p->rows * p->parts, p->grain, pointwise_items, &job);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(pointwise, "rows", .plan_size = sizeof(plan_t), .pd_init = pointwise_init,
                      .execute = pointwise_execute);
/* Lists end with a reference: as of gather, the same walk. */
DTP_CPU_REFERENCE(pointwise, 0, .plan_size = sizeof(plan_t), .pd_init = pointwise_init,
                  .execute = pointwise_execute);
