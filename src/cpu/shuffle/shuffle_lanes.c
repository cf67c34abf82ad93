/* Shuffle of an axis whose elements lie side by side, in dense tensors of one layout: an axis that is innermost and not
 * blocked (channels last), or one whose blocks are innermost. A vector of dst is merged from the vectors of src that have its
 * elements; which those are, and which lanes, is a table that is made once for a primitive. */
#include "cpu/shuffle/shuffle.h"
#include "cpu/shuffle/shuffle_kern.h"
#include "threading/base/parallel.h"

enum {
    MOST_AXIS = 1 << 16,       /* elements of an axis that has a table */
    MOST_SOURCES = 8,          /* of a vector where transposing would do, too */
    MOST_LANES = 64,           /* of a vector */
    TILE_BYTES = 32 * 1024,    /* of src and dst, of a unit: short rows; */
    BLOCKS_BYTES = 256 * 1024, /* blocks */
    DWORD = 4,
    LANE_TABLE = 16 /* bytes, at least */
};
/* Nanoseconds of a vector with one source. */
#define NS_PER_VECTOR 0.5

typedef struct {
    dtp_shuffle_fn_t fn;
    int64_t width, lanes;  /* bytes and elements of a vector */
    int64_t size, axis;    /* of an element; elements of the axis, without padding */
    int64_t block;         /* elements of an inner block, 0: none */
    int64_t outer, pixels; /* outer * blocks of the axis * pixels * a block; or pixels * axis */
    int64_t ld;            /* bytes from pixel to pixel */
    int64_t plane;         /* bytes from block to block of the axis */
    int64_t slab;          /* bytes from outer to outer */
    int64_t offset;
    int64_t tile, tiles; /* pixels of a unit, units of an outer */
    int64_t grain;
    bool stream;
} lanes_plan_t;

/* The tables, in one piece: counts, vectors, from, lanes. */
typedef struct {
    int64_t nvectors, nsources;
    dtp_shuffle_vector_t *vectors;
    int64_t *from;
    char *lanes;
} lanes_table_t;

static int64_t table_width(const lanes_plan_t *p) { return dtp_max64(p->width, LANE_TABLE); }

/* ---- Tables ------------------------------------------------------------------------------------------ */

/* Lane l of dst is element e of the source whose lanes are at t. */
static void put_lane(const lanes_plan_t *p, char *t, int64_t l, int64_t e) {
    if (p->width > LANE_TABLE) {
        ((int32_t *)(void *)t)[l] = (int32_t)e;
        return;
    }
    for (int64_t b = 0; b < p->size; ++b) t[l * p->size + b] = (char)(e * p->size + b);
}

/* Adds the vector of dst at byte `to`, whose lanes are elements c0.. of the axis. */
static void add_vector(const lanes_plan_t *p, const dtp_shuffle_desc_t *d, lanes_table_t *t, int64_t to,
                       int64_t c0) {
    const int64_t n = dtp_min64(p->lanes, p->axis - c0), rows = p->axis / d->group_size;
    int64_t at[MOST_LANES],
        lane[MOST_LANES]; /* elements of src in their order, and the lanes that want them */
    int64_t row = c0 % rows, group = c0 / rows; /* dtp_shuffle_from, step by step */
    for (int64_t l = 0; l < n; ++l) {
        const int64_t e = row * d->group_size + group;
        int64_t k = l;
        for (; k > 0 && at[k - 1] > e; --k) at[k] = at[k - 1], lane[k] = lane[k - 1];
        at[k] = e;
        lane[k] = l;
        if (++row == rows) row = 0, ++group;
    }
    const int64_t first = t->nsources;
    for (int64_t k = 0; k < n; ++t->nsources) {
        /* The window of the least element that has none yet. */
        const int64_t start = p->block ? at[k] / p->lanes * p->lanes : dtp_min64(at[k], p->axis - p->lanes);
        char *lanes = t->lanes ? t->lanes + t->nsources * table_width(p) : NULL;
        if (lanes) {
            t->from[t->nsources] =
                p->block ? start / p->block * p->plane + start % p->block * p->size : start * p->size;
            memset(lanes, p->width > LANE_TABLE ? 0xff : 0x80, (size_t)table_width(p));
        }
        for (; k < n && at[k] < start + p->lanes; ++k)
            if (lanes) put_lane(p, lanes, lane[k], at[k] - start);
    }
    if (t->vectors) t->vectors[t->nvectors] = (dtp_shuffle_vector_t){to, first, t->nsources - first};
    ++t->nvectors;
}

/* Only counts while the arrays are NULL. */
static void fill_table(const lanes_plan_t *p, const dtp_shuffle_desc_t *d, lanes_table_t *t) {
    t->nvectors = t->nsources = 0;
    if (p->block) {
        for (int64_t c = 0; c < dtp_round_up(p->axis, p->block); c += p->lanes)
            add_vector(p, d, t, c / p->block * p->plane + c % p->block * p->size, c);
        return;
    }
    /* The last vector overlaps the one before it. */
    for (int64_t c = 0; c < p->axis; c += p->lanes) {
        const int64_t c0 = dtp_min64(c, p->axis - p->lanes);
        add_vector(p, d, t, c0 * p->size, c0);
    }
}

static dnnl_tp_status_t lanes_prepare(dtp_primitive_t *primitive) {
    const lanes_plan_t *p = primitive->pd->plan;
    const dtp_shuffle_desc_t *d = (const dtp_shuffle_desc_t *)primitive->pd->op;
    lanes_table_t count = {0};
    if (primitive->pd->is_empty) return dnnl_tp_success;
    fill_table(p, d, &count);
    const size_t head = dtp_round_up_size(sizeof(lanes_table_t), DTP_CACHE_LINE),
                 lanes = (size_t)(count.nsources * table_width(p)),
                 vectors = sizeof(dtp_shuffle_vector_t) * (size_t)count.nvectors,
                 all = head + lanes + vectors + sizeof(int64_t) * (size_t)count.nsources;
    lanes_table_t *t = dtp_zalloc(primitive->pd->engine->allocator, all, DTP_CACHE_LINE);
    if (!t) DTP_RETURN(dtp_no_memory(all));
    primitive->prepared[0] = t;
    t->lanes = (char *)t + head;
    t->vectors = (dtp_shuffle_vector_t *)(void *)(t->lanes + lanes);
    t->from = (int64_t *)(void *)((char *)t->vectors + vectors);
    fill_table(p, d, t);
    return dnnl_tp_success;
}

/* ---- The plan ---------------------------------------------------------------------------------------- */

/* The widest kernel whose vectors are whole in `bytes`, or, of an axis that is not blocked, not longer. */
static bool choose_width(lanes_plan_t *p, unsigned isa, int64_t bytes) {
#if DTP_X64
    static const struct {
        int64_t width;
        dtp_shuffle_fn_t fn;
        unsigned isa;
    } kernels[] = {{64, dtp_shuffle64__avx512, DTP_ISA_AVX512},
                   {32, dtp_shuffle32__avx2, DTP_ISA_AVX2},
                   {16, dtp_shuffle16__avx2, DTP_ISA_AVX2},
                   {8, dtp_shuffle8__avx2, DTP_ISA_AVX2}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; ++i) {
        p->width = kernels[i].width;
        if ((kernels[i].isa & ~isa) || (p->width > LANE_TABLE && p->size != DWORD) || p->width <= p->size)
            continue;
        if (p->block ? bytes % p->width : bytes < p->width) continue;
        p->fn = kernels[i].fn;
        p->lanes = p->width / p->size;
        return true;
    }
#endif
    (void)p, (void)isa, (void)bytes;
    return false;
}

/* Outer and inner loops around an axis whose blocks are innermost. */
static void around_axis(lanes_plan_t *p, const dtp_md_t *md, int axis) {
    const int64_t blocks = dtp_div_up(p->axis, p->block);
    p->outer = p->pixels = 1;
    for (int k = 0; k < md->ndims; ++k) {
        if (k == axis || md->dims[k] == 1) continue;
        const bool inside = blocks > 1 ? md->strides[k] < md->strides[axis] : true;
        *(inside ? &p->pixels : &p->outer) *= md->dims[k];
    }
    p->ld = p->block * p->size;
    p->plane = p->pixels * p->ld;
    p->slab = p->plane * blocks;
}

static dnnl_tp_status_t lanes_pd_init(dtp_pd_t *pd) {
    const dtp_shuffle_desc_t *d = (const dtp_shuffle_desc_t *)pd->op;
    lanes_plan_t *p = pd->plan;
    const unsigned isa = dtp_pd_isa(pd);
    DTP_TRY(dtp_shuffle_check(pd));
    const dtp_md_t *md = &d->dst;
    p->size = (int64_t)dtp_type_size(md->data_type);
    p->axis = md->dims[d->axis];
    DTP_DISPATCH(dtp_md_same_layout(&d->src, md) && dtp_md_is_dense(md) && md->offset0 == 0 &&
                     md->inner_nblks <= 1,
                 UNSUPPORTED_LAYOUT);
    if (md->inner_nblks == 1) {
        DTP_DISPATCH(md->inner_idxs[0] == d->axis, UNSUPPORTED_LAYOUT);
        p->block = md->inner_blks[0];
    } else {
        DTP_DISPATCH(md->strides[d->axis] == 1 && p->axis > 1, UNSUPPORTED_LAYOUT);
    }
    for (int k = 0; k < md->ndims; ++k)
        DTP_DISPATCH(md->padded_dims[k] ==
                         (p->block && k == d->axis ? dtp_round_up(p->axis, p->block) : md->dims[k]),
                     UNSUPPORTED_LAYOUT);
    DTP_DISPATCH(p->axis <= MOST_AXIS, UNSUPPORTED_SHAPE);
    if (dtp_md_nelems(md) == 0) p->outer = 0;
    else if (p->block) around_axis(p, md, d->axis);
    else p->outer = 1, p->pixels = dtp_md_nelems(md) / p->axis, p->ld = p->axis * p->size;
    DTP_DISPATCH(choose_width(p, isa, (p->block ? p->block : p->axis) * p->size), UNSUPPORTED_SHAPE);
    const int64_t runs = dtp_min64(d->group_size, p->axis / dtp_max64(d->group_size, 1));
    DTP_DISPATCH(p->block || runs <= MOST_SOURCES, UNSUPPORTED_SHAPE);
    const int64_t pixel = dtp_max64(2 * dtp_round_up(p->axis, dtp_max64(p->block, 1)) * p->size, 1);
    p->tile = dtp_max64((p->block ? BLOCKS_BYTES : TILE_BYTES) / pixel, 1);
    p->tiles = dtp_div_up(p->pixels, p->tile);
    p->stream =
        p->block && p->ld % DTP_CACHE_LINE == 0 &&
        dtp_exceeds_caches((double)pixel * (double)p->pixels * (double)p->outer, pd->engine->l3_bytes);
    const double vectors = (double)pixel / (double)(2 * p->width) * (double)p->tile;
    p->grain = dtp_grain(vectors * NS_PER_VECTOR * (double)(1 + dtp_min64(runs, p->lanes)));
    return dnnl_tp_success;
}

/* ---- Execution --------------------------------------------------------------------------------------- */

static void lanes_units(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *j = arg;
    const lanes_plan_t *p = j->pd->plan;
    const lanes_table_t *t = j->ctx->prepared[0];
    (void)slot;
    for (int64_t u = begin; u < end; ++u) {
        const int64_t x = u % p->tiles * p->tile, at = u / p->tiles * p->slab + x * p->ld;
        char *dst = (char *)j->ctx->ptr[DTP_SHUFFLE_DST] + at;
        p->fn(&(dtp_shuffle_args_t){.src = (const char *)j->ctx->ptr[DTP_SHUFFLE_SRC] + at,
                                    .dst = dst,
                                    .ld = p->ld,
                                    .pixels = dtp_min64(p->tile, p->pixels - x),
                                    .nvectors = t->nvectors,
                                    .vectors = t->vectors,
                                    .from = t->from,
                                    .lanes = t->lanes,
                                    .stream = p->stream && (uintptr_t)dst % DTP_CACHE_LINE == 0});
    }
}

static dnnl_tp_status_t lanes_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const lanes_plan_t *p = pd->plan;
    dtp_job_t job = {pd, ctx};
    dtp_parallel_for(ctx->par, p->outer * p->tiles, p->grain, lanes_units, &job);
    return dnnl_tp_success;
}

static const dtp_impl_constants_t lanes_constants = {lanes_prepare, NULL};
DTP_CPU_IMPLS(shuffle, "simd", .plan_size = sizeof(lanes_plan_t), .pd_init = lanes_pd_init,
              .constants = &lanes_constants, .execute = lanes_execute);
