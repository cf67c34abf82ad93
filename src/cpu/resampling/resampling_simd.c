/* Resampling on vectors, in f32: any types whose values are floats; nearest elements of one type are moved, of any type. Two
 * ways:
 *
 * rows   the channels of a pixel lie side by side in src and in dst (channels last, or one layout in blocks of channels): a kernel
 *        call is one row of dst, of a block of channels.
 * planes everything else: a kernel call is one row of the plane of a channel.
 *
 * A unit of work is a band of rows. What kernels cannot read or write where it lies (other types than f32, or bf16 on both sides
 * without post-operations; for planes, columns that do not lie side by side) passes through scratch, where the rows of src that neighbours share stay converted. */
#include "common/base/scalar.h"
#include "common/layout/zero_pad.h"
#include "cpu/elementwise/move.h"
#include "cpu/postops/postops.h"
#include "cpu/resampling/resampling.h"
#include "cpu/resampling/resampling_kern.h"
#include "threading/base/parallel.h"

enum {
    COLUMNS = DTP_RESAMPLING_DIMS - 1,
    BAND_FLOATS = 16 * 1024,       /* of dst in a unit, if rows are short */
    SLOT_FLOATS = 4 * 1024 * 1024, /* of scratch for a participant; beyond, the reference serves */
    WORD = 4,
    CHUNK_FLOATS = 2 * 1024, /* of pixels that are finished while they are in the L1 */
    SPARSE = 4,              /* so many columns of src for one of dst: most are not used */
    UNITS_PER_THREAD = 4,    /* at least, of rows that are made once */
    LINES = 16               /* of dst that are of different rows of src, in a kernel call */
};

/* Where element (n, c, d, h, w) lies: offset0 + n * n_stride + (c / block) * c_stride + (c % block) + d * s[0] + h * s[1] +
 * w * s[2]; block 1: plain. */
typedef struct {
    int64_t offset0, n_stride, c_stride, block, s[DTP_RESAMPLING_DIMS];
} view_t;

typedef struct {
    const dtp_resampling_kernels_t *kernels;
    const dtp_vops_t *vops;
    void (*rows)(char *, int64_t, const char *, int64_t, int64_t, int64_t, int); /* dtp_move_t's */
    view_t src, dst;
    dnnl_tp_data_type_t sdt, ddt;
    int64_t n, c, in[DTP_RESAMPLING_DIMS], out[DTP_RESAMPLING_DIMS];
    bool linear, planes;
    int64_t moves; /* bytes of elements that are moved from channel rows to channel rows; 0: computed */
    bool words;    /* these rows are whole words, at places of whole words: kernels move them as f32 */
    v_type_t type; /* that kernels read and write */
    bool same;     /* nearest changes the depth only: lines and columns of planes are those of src, densely */
    bool src_direct, dst_direct; /* kernels read src, write dst where they lie */
    bool stream;                 /* dst goes past the caches */
    bool
        ragged; /* rows of dst are whole, copied from src, of no whole vectors of channels: made once for neighbours */
    bool through;          /* such rows, or bands of planes, are made in scratch, and go past the caches */
    float sum;             /* the only post-operation, which kernels do */
    int64_t block, blocks; /* channels of a kernel call, and how many such blocks */
    int64_t band, bands, units, grain;
    int64_t chunk;          /* pixels of a kernel call, where channels lie side by side */
    int64_t row_floats;     /* of a converted row of src */
    size_t dst_at, room_at; /* bytes into a participant's scratch, behind the converted rows */
    dtp_postops_t po;
} simd_plan_t;

/* Made once for a primitive. */
typedef struct {
    dtp_resampling_place_t *place[DTP_RESAMPLING_DIMS];
    dtp_resampling_columns_t *columns;
    int64_t tail; /* dtp_resampling_lines_t's */
    /* Planes whose columns stand twice: how often lines do; 0: other planes. */
    int64_t copies;
} table_t;

/* ---- Tables ------------------------------------------------------------------------------------------ */

static void fill_places(const dtp_resampling_desc_t *d, const simd_plan_t *p, int dim,
                        dtp_resampling_place_t *to) {
    const int spatial = dim - (DTP_RESAMPLING_DIMS - d->spatial);
    for (int64_t o = 0; o < p->out[dim]; ++o)
        to[o] = spatial < 0 ? (dtp_resampling_place_t){0} : dtp_resampling_place_of(d, spatial, o);
}

/* Where a vector of columns begins, of which src's columns first to last are wanted. Rows that are read where they lie end with
 * their last vector; those in room are read in whole vectors, as they were written. */
static void place_columns(const simd_plan_t *p, int64_t first, int64_t last, dtp_resampling_columns_t *to) {
    const int64_t lanes = p->kernels->lanes, span = last - first + 1;
    to->reach = span <= 2 * lanes ? 2 : span <= DTP_RESAMPLING_REACH * lanes ? DTP_RESAMPLING_REACH : 0;
    const int64_t whole = first / lanes * lanes, end = p->in[COLUMNS] - to->reach * lanes;
    if (to->reach && !p->linear && p->type == V_F32) first = dtp_max64(0, dtp_min64(first, end));
    else if (last < whole + to->reach * lanes) first = whole;
    to->base = (int32_t)first;
}

static void fill_columns(const simd_plan_t *p, table_t *t) {
    const dtp_resampling_place_t *place = t->place[COLUMNS];
    const int64_t lanes = p->kernels->lanes, out = p->out[COLUMNS];
    dtp_resampling_columns_t *to = t->columns;
    t->tail = p->in[COLUMNS];
    for (int64_t x = 0; x < out; x += lanes, ++to) {
        const int64_t n = dtp_min64(lanes, out - x);
        const dtp_resampling_place_t *last = &place[x + n - 1];
        place_columns(p, place[x].lo, last->part != 0 ? last->hi : last->lo, to);
        if (to->base + to->reach * lanes > p->in[COLUMNS]) t->tail = dtp_min64(t->tail, to->base);
        for (int64_t l = 0; l < n; ++l) {
            const dtp_resampling_place_t *q = &place[x + l];
            to->lo[l] = (int32_t)q->lo - to->base;
            to->hi[l] = q->part != 0 ? (int32_t)q->hi - to->base : -1;
            to->low[l] = 1 - q->part;
            to->high[l] = q->part;
        }
    }
}

static int64_t copies_of_planes(const simd_plan_t *p, const table_t *t) {
    const int64_t copies = p->in[1] > 0 ? p->out[1] / p->in[1] : 0;
    bool fits = p->planes && !p->linear && p->type == V_F32 && p->src_direct && p->dst_direct && !p->po.len &&
                !p->through && !p->same && p->sum == 0.f && p->out[COLUMNS] == 2 * p->in[COLUMNS] &&
                p->out[1] == copies * p->in[1];
    for (int64_t x = 0; fits && x < p->out[COLUMNS]; ++x) fits = t->place[COLUMNS][x].lo == x / 2;
    for (int64_t y = 0; fits && y < p->out[1]; ++y) fits = t->place[1][y].lo == y / copies;
    return fits ? copies : 0;
}

static dnnl_tp_status_t simd_prepare(dtp_primitive_t *primitive) {
    const simd_plan_t *p = primitive->pd->plan;
    const int64_t vectors = p->planes ? dtp_div_up(p->out[COLUMNS], p->kernels->lanes) : 0;
    size_t places = 0;
    for (int i = 0; i < DTP_RESAMPLING_DIMS; ++i) places += (size_t)p->out[i];
    const size_t all = sizeof(table_t) + places * sizeof(dtp_resampling_place_t) +
                       (size_t)vectors * sizeof(dtp_resampling_columns_t);
    table_t *t = dtp_zalloc(primitive->pd->engine->allocator, all, DTP_CACHE_LINE);
    if (!t) DTP_RETURN(dtp_no_memory(all));
    primitive->prepared[0] = t;
    dtp_resampling_place_t *at = (dtp_resampling_place_t *)(void *)(t + 1);
    const dtp_resampling_desc_t *d = (const dtp_resampling_desc_t *)primitive->pd->op;
    for (int i = 0; i < DTP_RESAMPLING_DIMS; at += p->out[i], ++i) fill_places(d, p, i, t->place[i] = at);
    t->columns = (dtp_resampling_columns_t *)(void *)at;
    if (vectors) fill_columns(p, t);
    t->copies = copies_of_planes(p, t);
    return dnnl_tp_success;
}

/* ---- The plan ---------------------------------------------------------------------------------------- */

static bool view_of(view_t *v, const dtp_md_t *md) {
    const int spatial = md->ndims - 2;
    if (md->inner_nblks > 1 || (md->inner_nblks == 1 && md->inner_idxs[0] != 1)) return false;
    *v = (view_t){.offset0 = md->offset0,
                  .n_stride = md->strides[0],
                  .c_stride = md->strides[1],
                  .block = md->inner_nblks ? md->inner_blks[0] : 1};
    for (int i = 0; i < spatial; ++i) v->s[DTP_RESAMPLING_DIMS - spatial + i] = md->strides[2 + i];
    return true;
}

/* Channels side by side; 1: none. */
static int64_t run_length(const view_t *v, int64_t c) {
    return v->block > 1 ? v->block : v->c_stride == 1 && c > 1 ? c : 1;
}

static size_t floats_bytes(int64_t n) { return dtp_round_up_size((size_t)n * sizeof(float), DTP_CACHE_LINE); }

static dnnl_tp_status_t simd_pd_init(dtp_pd_t *pd) {
    const dtp_resampling_desc_t *d = (const dtp_resampling_desc_t *)pd->op;
    const unsigned isa = dtp_pd_isa(pd);
    simd_plan_t *p = pd->plan;
    p->linear = d->alg == dnnl_tp_resampling_linear;
    p->sdt = d->src.data_type;
    p->ddt = d->dst.data_type;
    const bool copies = !p->linear && p->sdt == p->ddt && pd->attr->post_ops->len == 0;
    if (copies && dtp_type_size(p->sdt) == sizeof(float))
        p->sdt = p->ddt = dnnl_tp_f32; /* bits like any others */
    DTP_DISPATCH(dtp_dt_fits_f32(p->sdt) && dtp_dt_fits_f32(p->ddt), UNSUPPORTED_DATA_TYPE);
    DTP_TRY(dtp_resampling_check(pd));
    DTP_DISPATCH(view_of(&p->src, &d->src) && view_of(&p->dst, &d->dst), UNSUPPORTED_LAYOUT);
    p->kernels = DTP_BY_ISA_BF16(isa, &dtp_resampling_kernels, &dtp_resampling_kernels__portable);
    p->vops = dtp_vops(isa);
    p->rows = dtp_moves(isa)->rows;
    p->n = d->src.dims[0];
    p->c = d->src.dims[1];
    for (int i = 0; i < DTP_RESAMPLING_DIMS; ++i) {
        const int at = i - (DTP_RESAMPLING_DIMS - d->spatial);
        p->in[i] = at < 0 ? 1 : d->src.dims[2 + at];
        p->out[i] = at < 0 ? 1 : d->dst.dims[2 + at];
    }
    const int64_t run = run_length(&p->src, p->c), in = p->in[COLUMNS], out = p->out[COLUMNS];
    p->planes = run == 1 || run_length(&p->dst, p->c) != run || p->src.block != p->dst.block;
    p->block = p->planes ? 1 : run;
    p->blocks = dtp_div_up(p->c, p->block);
    const bool even_src = !p->planes || p->src.s[COLUMNS] == 1 || in == 1,
               even_dst = !p->planes || p->dst.s[COLUMNS] == 1 || out == 1;
    DTP_TRY(p->planes ? dtp_postops_init(&p->po, pd, DTP_RESAMPLING_DST, isa)
                      : dtp_postops_init_channels(&p->po, pd, DTP_RESAMPLING_DST, isa));
    const dtp_po_step_t *first = &p->po.step[0];
    if (p->po.len == 1 && first->kind == dnnl_tp_sum && first->dt == dnnl_tp_f32 && p->ddt == dnnl_tp_f32 &&
        first->zero_point == 0.f && !p->planes) {
        p->sum = first->scale;
        if (p->sum != 0.f) p->po.len = 0;
    }
    if (p->sdt == dnnl_tp_bf16 && p->ddt == dnnl_tp_bf16 && even_src && even_dst && !p->po.len)
        p->type = V_BF16;
    p->src_direct = p->type == V_BF16 || (p->sdt == dnnl_tp_f32 && even_src);
    p->dst_direct =
        p->type == V_BF16 || (p->ddt == dnnl_tp_f32 && even_dst && dtp_postops_only_eltwise(&p->po));
    if (copies && !p->planes && p->sdt != dnnl_tp_f32) {
        p->moves = (int64_t)dtp_type_size(p->sdt);
        p->words = isa && (p->block | p->src.s[COLUMNS] | p->dst.s[COLUMNS]) * p->moves % WORD == 0;
    }
    p->same = p->planes && !p->linear && p->src_direct && p->dst_direct && !p->po.len && p->sdt == p->ddt &&
              p->in[1] == p->out[1] && in == out && p->src.s[1] == in && p->dst.s[1] == out;
    const double bytes = (double)dtp_md_nelems(&d->src) * (double)dtp_type_size(p->sdt) +
                         (double)dtp_md_nelems(&d->dst) * (double)dtp_type_size(p->ddt);
    const bool big = dtp_exceeds_caches(bytes, pd->engine->l3_bytes);
    p->stream = !p->planes && p->sum == 0.f && p->ddt == dnnl_tp_f32 && p->dst_direct && !p->po.len &&
                (p->block | p->dst.s[COLUMNS]) % DTP_RESAMPLING_LANES == 0 && big;
    p->ragged = copies && !p->planes && p->ddt == dnnl_tp_f32 && p->block % DTP_RESAMPLING_LANES != 0 &&
                p->dst.s[COLUMNS] == p->block && p->dst.block == 1;
    const bool apart = p->out[1] > 1 && p->dst.s[1] != out; /* rows of a plane */
    p->through = big && out * p->block < SLOT_FLOATS &&
                 (p->ragged ||
                  (p->planes && p->src_direct && p->dst_direct && p->type == V_F32 && !p->po.len && !apart));
    p->band = dtp_max64(dtp_min64(p->out[1], BAND_FLOATS / dtp_max64(out * p->block, 1)), 1);
    if (p->ragged) { /* rows that are made once */
        const int64_t copies = dtp_div_up(p->out[1], dtp_max64(1, p->in[1])),
                      all = UNITS_PER_THREAD * pd->num_threads;
        p->band = dtp_max64(p->band, dtp_min64(2 * copies, dtp_div_up(p->out[1], all)));
    }
    p->row_floats = p->src_direct || p->moves ? 0 : in * p->block;
    p->chunk = p->dst_direct && !p->po.len ? out : dtp_max64(dtp_min64(out, CHUNK_FLOATS / p->block), 1);
    const int64_t tile = p->through                  ? (p->planes ? p->band : p->block) * out
                         : p->dst_direct || p->moves ? 0
                                                     : (p->planes ? out : p->chunk * p->block),
                  room = p->planes ? in + DTP_RESAMPLING_REACH * DTP_RESAMPLING_LANES : 0;
    DTP_DISPATCH(DTP_RESAMPLING_ROWS * p->row_floats < SLOT_FLOATS && tile < SLOT_FLOATS &&
                     room < SLOT_FLOATS,
                 UNSUPPORTED_SHAPE);
    p->dst_at = DTP_RESAMPLING_ROWS * floats_bytes(p->row_floats);
    p->room_at = p->dst_at + floats_bytes(tile);
    dtp_pd_book(pd, 0, p->room_at + floats_bytes(room));
    p->bands = dtp_div_up(p->out[1], p->band);
    p->units = dtp_md_nelems(&d->dst) ? p->n * p->blocks * p->out[0] * p->bands : 0;
    double ns = (double)(out * p->block) * (p->linear ? .12 : .06) + (p->planes ? .05 * (double)in : 0);
    if (!p->src_direct) ns += .2 * (double)(in * p->block);
    if (!p->dst_direct || p->po.len) ns += .2 * (double)(out * p->block);
    p->grain = dtp_grain((ns + 10) * (double)p->band);
    return dnnl_tp_success;
}

/* ---- Execution --------------------------------------------------------------------------------------- */

/* Rows of src of one image and block, as the kernels read them. */
typedef struct {
    const simd_plan_t *p;
    const char *src; /* of image and block */
    float *room;
    int64_t held[DTP_RESAMPLING_ROWS]; /* numbers of the converted rows, -1: none */
} rows_t;

static void convert_row(const rows_t *r, const char *from, float *to) {
    const simd_plan_t *p = r->p;
    const int64_t size = (int64_t)dtp_type_size(p->sdt), w = p->src.s[COLUMNS];
    const dtp_load_fn_t load = p->vops->load[p->sdt];
    if (p->planes) load(to, from, p->in[COLUMNS], w);
    else if (w == p->block) load(to, from, p->in[COLUMNS] * p->block, 1);
    else
        for (int64_t x = 0; x < p->in[COLUMNS]; ++x)
            load(to + x * p->block, from + x * w * size, p->block, 1);
}

static const void *row_at(rows_t *r, int64_t number, const int64_t *wanted, int64_t n) {
    const simd_plan_t *p = r->p;
    const int64_t size = (int64_t)dtp_type_size(p->sdt),
                  at = number / p->in[1] * p->src.s[0] + number % p->in[1] * p->src.s[1];
    int free_one = 0;
    for (int i = 0; i < DTP_RESAMPLING_ROWS; ++i) {
        if (r->held[i] == number) return r->room + i * (int64_t)(floats_bytes(p->row_floats) / sizeof(float));
        bool needed = false;
        for (int64_t k = 0; k < n; ++k) needed |= r->held[i] == wanted[k];
        if (!needed) free_one = i;
    }
    float *to = r->room + free_one * (int64_t)(floats_bytes(p->row_floats) / sizeof(float));
    r->held[free_one] = number;
    convert_row(r, r->src + at * size, to);
    return to;
}

/* Rows of dst from oh on, below end, that are made of the same row of src. */
static int64_t copies_of(const simd_plan_t *p, const dtp_resampling_place_t *h, int64_t oh, int64_t end) {
    int64_t n = 1;
    if (h[oh].part != 0 || p->po.len || p->sum != 0.f || !(p->planes || p->ragged)) return n;
    while (oh + n < end && h[oh + n].part == 0 && h[oh + n].lo == h[oh].lo) ++n;
    return n;
}

/* The rows that meet in row (od, oh) of dst, and how many of the rows from there on, below end, they make. */
static void gather_rows(rows_t *r, const table_t *t, int64_t od, int64_t oh, int64_t end,
                        dtp_resampling_rows_t *to) {
    const simd_plan_t *p = r->p;
    const dtp_resampling_place_t *d = &t->place[0][od], *h = &t->place[1][oh];
    const int64_t size = (int64_t)dtp_type_size(p->sdt);
    int64_t wanted[DTP_RESAMPLING_ROWS];
    to->n = 0;
    for (int i = 0; i < (d->part != 0 ? 2 : 1); ++i)
        for (int k = 0; k < (h->part != 0 ? 2 : 1); ++k) {
            const int64_t z = i ? d->hi : d->lo, y = k ? h->hi : h->lo;
            wanted[to->n] = z * p->in[1] + y;
            to->row[to->n] = r->src + (z * p->src.s[0] + y * p->src.s[1]) * size;
            to->weight[to->n++] = (i ? d->part : 1 - d->part) * (k ? h->part : 1 - h->part);
        }
    for (int64_t i = 0; !p->src_direct && i < to->n; ++i) to->row[i] = row_at(r, wanted[i], wanted, to->n);
    to->copies = copies_of(p, t->place[1], oh, end);
}

typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
    const table_t *table;
} run_t;

/* Row (od, oh) of image and block, moved as bytes. */
static void move_row(const run_t *run, const char *src, char *dst, int64_t od, int64_t oh, int64_t channels) {
    const simd_plan_t *p = run->pd->plan;
    const int64_t size = p->moves, ld = p->dst.s[COLUMNS] * size, step = p->src.s[COLUMNS] * size;
    const int64_t bytes = channels * size;
    const dtp_resampling_place_t *place = run->table->place[COLUMNS];
    src += (run->table->place[0][od].lo * p->src.s[0] + run->table->place[1][oh].lo * p->src.s[1]) * size;
    if (p->words) {
        /* Whole blocks: padding behind the channels may be written, it is zeroed in the end. */
        p->kernels->pixels(&(dtp_resampling_pixels_t){.rows = {{src}, {1.f}, 1},
                                                      .dst = dst,
                                                      .places = place,
                                                      .ld_src = step / WORD,
                                                      .ld_dst = ld / WORD,
                                                      .channels = p->block * size / WORD,
                                                      .out = p->out[COLUMNS]});
        return;
    }
    for (int64_t x = 0; x < p->out[COLUMNS]; ++x)
        p->rows(dst + x * ld, 0, src + place[x].lo * step, 0, 1, bytes, 0);
}

/* What follows the sums of a row of dst, which lie at y. */
static void finish_row(const run_t *run, float *y, char *dst, int64_t line, int64_t x0, int64_t out,
                       int64_t c0, int64_t channels) {
    const simd_plan_t *p = run->pd->plan;
    const int64_t w = p->dst.s[COLUMNS], size = (int64_t)dtp_type_size(p->ddt);
    const int64_t ld = p->dst_direct ? w : p->block;
    if (p->po.len && p->planes) dtp_postops_apply(&p->po, run->pd, run->ctx, y, out, 1, out, line, 0);
    else if (p->po.len)
        dtp_postops_apply(&p->po, run->pd, run->ctx, y, ld, out, channels, line * p->out[COLUMNS] + x0, c0);
    if (p->dst_direct) return;
    const dtp_store_fn_t store = p->vops->store[p->ddt];
    if (p->planes) store(dst, y, out, w);
    else if (w == p->block && channels == p->block) store(dst, y, out * p->block, 1);
    else
        for (int64_t x = 0; x < out; ++x) store(dst + x * w * size, y + x * p->block, channels, 1);
}

/* Rows oh to end - 1 of a plane: as many rows at once as are read and written where they lie. */
static void plane_rows(const run_t *run, rows_t *rows, char *scratch, char *dst, int64_t line, int64_t od,
                       int64_t oh, int64_t end) {
    const simd_plan_t *p = run->pd->plan;
    const int64_t size = (int64_t)dtp_type_size(p->ddt), step = p->dst.s[1] * size, out = p->out[COLUMNS];
    const bool direct = p->src_direct && p->dst_direct && !p->po.len;
    dtp_resampling_rows_t from[LINES];
    dtp_resampling_lines_t a = {.rows = from,
                                .ld_dst = p->through ? out : p->dst.s[1],
                                .type = p->type,
                                .room = (float *)(void *)(scratch + p->room_at),
                                .columns = run->table->columns,
                                .in = p->in[COLUMNS],
                                .out = out,
                                .tail = run->table->tail,
                                .linear = p->linear,
                                .sparse = p->in[COLUMNS] > SPARSE * out};
    float *tile = (float *)(void *)(scratch + p->dst_at);
    const int64_t oh0 = oh, copies = run->table->copies;
    if (copies && oh % copies == 0 && end % copies == 0) {
        const int64_t at = run->table->place[0][od].lo * p->src.s[0] + oh / copies * p->src.s[1];
        p->kernels->twice((float *)(void *)dst, p->dst.s[1], (const float *)(const void *)rows->src + at,
                          p->src.s[1], (end - oh) / copies, p->in[COLUMNS], copies);
        return;
    }
    if (p->same && !p->through) {
        const int64_t at = run->table->place[0][od].lo * p->src.s[0] + oh * out;
        p->rows(dst, 0, rows->src + at * size, 0, 1, (end - oh) * out * size, 0);
        return;
    }
    while (oh < end) {
        int64_t made = 0;
        for (a.n = 0; a.n < (direct ? LINES : 1) && oh + made < end; made += from[a.n++].copies)
            gather_rows(rows, run->table, od, oh + made, end, &from[a.n]);
        a.dst = p->through ? (char *)(tile + (oh - oh0) * out) : dst;
        if (!p->dst_direct) {
            a.dst = tile;
            from[0].copies = 1;
        }
        p->kernels->lines(&a);
        for (int64_t i = 0; !direct && i < made; ++i)
            finish_row(run, a.dst, dst + i * step, line + i, 0, out, 0, 0);
        oh += made;
        dst += made * step;
        line += made;
    }
    if (p->through)
        p->kernels->stream((float *)(void *)(dst - (end - oh0) * step), 0, 1, tile, (end - oh0) * out);
}

/* Row oh of a block of channels; how many rows of dst it was. */
static int64_t channel_rows(const run_t *run, rows_t *rows, char *scratch, char *dst, int64_t line,
                            int64_t od, int64_t oh, int64_t end, int64_t c0, int64_t channels) {
    const simd_plan_t *p = run->pd->plan;
    const int64_t size = (int64_t)dtp_type_size(p->ddt), ld = p->dst.s[1], whole = p->out[COLUMNS] * p->block;
    dtp_resampling_rows_t from;
    gather_rows(rows, run->table, od, oh, end, &from);
    for (int64_t x = 0, n; x < p->out[COLUMNS]; x += n) {
        n = dtp_min64(p->chunk, p->out[COLUMNS] - x);
        char *to = dst + x * p->dst.s[COLUMNS] * size;
        void *y = p->dst_direct && !p->through ? to : scratch + p->dst_at;
        p->kernels->pixels(&(dtp_resampling_pixels_t){.rows = from,
                                                      .dst = y,
                                                      .type = p->type,
                                                      .linear = p->linear,
                                                      .stream = p->stream,
                                                      .sum = p->sum,
                                                      .places = run->table->place[COLUMNS] + x,
                                                      .ld_src = p->src_direct ? p->src.s[COLUMNS] : p->block,
                                                      .ld_dst = p->dst_direct ? p->dst.s[COLUMNS] : p->block,
                                                      .channels = channels,
                                                      .out = n});
        finish_row(run, y, to, line, x, n, c0, channels);
    }
    if (p->through)
        p->kernels->stream((float *)(void *)dst, ld, from.copies,
                           (const float *)(const void *)(scratch + p->dst_at), whole);
    else if (from.copies > 1) p->rows(dst + ld * size, ld * size, dst, 0, from.copies - 1, whole * size, 0);
    return from.copies;
}

static void simd_band(const run_t *run, char *scratch, int64_t image, int64_t block, int64_t od, int64_t oh0,
                      int64_t oh1) {
    const simd_plan_t *p = run->pd->plan;
    const int64_t ssize = (int64_t)dtp_type_size(p->sdt), dsize = (int64_t)dtp_type_size(p->ddt),
                  c0 = block * p->block, channels = dtp_min64(p->block, p->c - c0);
    const int64_t sc = p->src.block > 1 ? c0 / p->src.block * p->src.c_stride + c0 % p->src.block
                                        : c0 * p->src.c_stride,
                  dc = p->dst.block > 1 ? c0 / p->dst.block * p->dst.c_stride + c0 % p->dst.block
                                        : c0 * p->dst.c_stride;
    rows_t rows = {.p = p,
                   .src = (const char *)run->ctx->ptr[DTP_RESAMPLING_SRC] +
                          (p->src.offset0 + image * p->src.n_stride + sc) * ssize,
                   .room = (float *)(void *)scratch};
    for (int i = 0; i < DTP_RESAMPLING_ROWS; ++i) rows.held[i] = -1;
    char *dst =
        (char *)run->ctx->ptr[DTP_RESAMPLING_DST] +
        (p->dst.offset0 + image * p->dst.n_stride + dc + od * p->dst.s[0] + oh0 * p->dst.s[1]) * dsize;
    const int64_t line = ((p->planes ? image * p->c + block : image) * p->out[0] + od) * p->out[1] + oh0;
    if (p->planes && !p->moves) {
        plane_rows(run, &rows, scratch, dst, line, od, oh0, oh1);
        return;
    }
    for (int64_t oh = oh0, made = 1; oh < oh1; oh += made, dst += made * p->dst.s[1] * dsize)
        if (p->moves) move_row(run, rows.src, dst, od, oh, channels);
        else made = channel_rows(run, &rows, scratch, dst, line + oh - oh0, od, oh, oh1, c0, channels);
}

static void simd_units(void *arg, int slot, int64_t begin, int64_t end) {
    const run_t *run = arg;
    const simd_plan_t *p = run->pd->plan;
    char *scratch = dtp_scratch_slot(run->pd, run->ctx, slot);
    for (int64_t u = begin; u < end; ++u) {
        int64_t at = u;
        const int64_t band = at % p->bands, od = (at /= p->bands) % p->out[0],
                      block = (at /= p->out[0]) % p->blocks, image = at / p->blocks, oh = band * p->band;
        simd_band(run, scratch, image, block, od, oh, dtp_min64(oh + p->band, p->out[1]));
    }
}

static dnnl_tp_status_t simd_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_resampling_desc_t *d = (const dtp_resampling_desc_t *)pd->op;
    const simd_plan_t *p = pd->plan;
    run_t run = {pd, ctx, ctx->prepared[0]};
    dtp_parallel_for(ctx->par, p->units, p->grain, simd_units, &run);
    if (dtp_md_is_padded(&d->dst)) dtp_zero_pad(&d->dst, ctx->ptr[DTP_RESAMPLING_DST]);
    return dnnl_tp_success;
}

static const dtp_impl_constants_t simd_constants = {simd_prepare, NULL};
DTP_PLAN_ENDS_WITH_POSTOPS(simd_plan_t)
DTP_CPU_IMPLS_AND_ANY(resampling, "simd", .plan_size = sizeof(simd_plan_t), .plan_used = plan_used,
                      .pd_init = simd_pd_init, .constants = &simd_constants, .execute = simd_execute);
