/* Running element-wise programs: tiles and their order. program.c builds them. */
#include "cpu/elementwise/program.h"
#include "threading/base/parallel.h"

/* Bytes of a row from which non-temporal stores pay their fence. */
#define STREAM_ROW 4096

/* ---- Tiles ------------------------------------------------------------------------------------------- */

/* A matrix of values: element (r, c) lies (r * ld + c * cs) values behind p. */
typedef struct {
    char *p;
    int64_t ld;
    int cs;
} view_t;

typedef struct {
    const dtp_program_t *m;
    char *const *ptr;
    char *buf;          /* nops + 2 tiles */
    int64_t tile_bytes; /* of each */
    bool stream;
    int64_t sx[DTP_BOXES_OPS], sy[DTP_BOXES_OPS];
} tile_env_t;

/* The truth of values of another arithmetic than f32's. */
#define TRUTH(type)                                                            \
    for (int64_t i = 0; i < n; ++i) y[i * stride] = ((const type *)x)[i] != 0; \
    break
static void store_truth(dnnl_tp_data_type_t arithmetic, char *y, const void *x, int64_t n, int64_t stride) {
    switch (arithmetic) {
    case dnnl_tp_f64: TRUTH(double);
    case dnnl_tp_s64: TRUTH(int64_t);
    case dnnl_tp_s32: TRUTH(int32_t);
    default: TRUTH(int8_t);
    }
}
#undef TRUTH

/* Rows between operands of type dt, or the destination, and buffers; in other arithmetics they are moved. */
static inline void load_row(const dtp_program_t *m, dnnl_tp_data_type_t dt, void *y, const void *x, int64_t n,
                            int64_t stride) {
    if (DTP_LIKELY(m->arithmetic == dnnl_tp_f32)) m->vops->load[dt](y, x, n, stride);
    else dtp_move_strided(y, 1, x, stride, n, m->word);
}
static inline void store_row(const dtp_program_t *m, void *y, const void *x, int64_t n, int64_t stride) {
    if (DTP_LIKELY(m->arithmetic == dnnl_tp_f32)) m->vops->store[m->dt[0]](y, x, n, stride);
    else if (m->dt[0] == m->arithmetic) dtp_move_strided(y, stride, x, 1, n, m->word);
    else store_truth(m->arithmetic, y, x, n, stride);
}

static char *tile_buf(const tile_env_t *e, int i) { return e->buf + i * e->tile_bytes; }

static view_t load_tile(const tile_env_t *e, dnnl_tp_data_type_t dt, const char *p, int64_t sx, int64_t sy,
                        char *buf, int64_t rows, int64_t cols) {
    const dtp_program_t *m = e->m;
    const int64_t size = (int64_t)dtp_type_size(dt), word = m->word;
    if (dt == m->arithmetic && (sx == 0 || sx == 1)) return (view_t){(char *)(uintptr_t)p, sy, (int)sx};
    if (sx == 0) {
        load_row(m, dt, buf, p, sy == 0 ? 1 : rows, sy == 0 ? 1 : sy);
        return (view_t){buf, sy == 0 ? 0 : 1, 0};
    }
    if (sy == 0) {
        load_row(m, dt, buf, p, cols, sx);
        return (view_t){buf, 0, 1};
    }
    if (sx != 1 && sy == 1 && rows > 1) {
        char *turn = tile_buf(e, m->nops + 1);
        for (int64_t c = 0; c < cols; ++c)
            load_row(m, dt, turn + c * rows * word, p + c * sx * size, rows, 1);
        dtp_move_transpose(m->moves, (size_t)word)(buf, cols, turn, rows, rows, cols, 0, 0);
        return (view_t){buf, cols, 1};
    }
    if (sy == cols * sx) load_row(m, dt, buf, p, rows * cols, sx);
    else
        for (int64_t r = 0; r < rows; ++r)
            load_row(m, dt, buf + r * cols * word, p + r * sy * size, cols, sx);
    return (view_t){buf, cols, 1};
}

static inline void store_tile(const tile_env_t *e, char *p, view_t v, int64_t rows, int64_t cols) {
    const dtp_program_t *m = e->m;
    const int64_t sx = e->sx[0], sy = e->sy[0], size = (int64_t)m->size[0];
    if (v.ld == cols && sy == cols * sx) store_row(m, p, v.p, rows * cols, sx);
    else
        for (int64_t r = 0; r < rows; ++r)
            store_row(m, p + r * sy * size, v.p + r * v.ld * m->word, cols, sx);
}

/* y = a op b for short rows and a b that is the same for all: b is repeated, rows become long. */
static void binary_repeated(const tile_env_t *e, const dtp_program_step_t *s, view_t a, view_t b, view_t y,
                            int64_t rows, int64_t cols, int stream) {
    const int64_t word = e->m->word, many = dtp_min64(DTP_PROGRAM_TILE / cols, rows), n = rows / many,
                  wide = many * cols;
    char *x = tile_buf(e, s->b);
    memmove(x, b.p, (size_t)(cols * word));
    for (int64_t have = cols, more; have < wide; have += more) { /* twice as many each time */
        more = dtp_min64(have, wide - have);
        memcpy(x + have * word, x, (size_t)(more * word));
    }
    dtp_binary_args_t args = {.x0 = a.p,
                              .x1 = x,
                              .y = y.p,
                              .ld0 = wide,
                              .ldy = wide,
                              .rows = n,
                              .cols = wide,
                              .cs0 = 1,
                              .cs1 = 1,
                              .stream = stream};
    s->binary(&args);
    args.x0 = a.p + n * wide * word;
    args.y = y.p + n * wide * word;
    args.rows = 1;
    args.cols = (rows - n * many) * cols;
    if (args.cols > 0) s->binary(&args);
}

/* The general tile: loads, steps, store. off: element offsets of the tile by operand. */
static void run_tile(const tile_env_t *e, const int64_t *off, int64_t rows, int64_t cols) {
    const dtp_program_t *m = e->m;
    view_t reg[DTP_BOXES_OPS + 1];
    bool loaded[DTP_BOXES_OPS + 1] = {false};
    char *dst = e->ptr[0] + off[0] * (int64_t)m->size[0];
    /* Only the last step writes the destination: a post-operation's tensor may lie at the same address. */
    const bool lies = m->dt[0] == m->arithmetic && e->sx[0] == 1;
    const view_t stay = {dst, e->sy[0], 1};
    const view_t out = {tile_buf(e, m->nops), cols, 1};
    reg[DTP_PROGRAM_ACC] = out;
    if (m->nsteps == 0) {
        const char *src = e->ptr[1] + off[1] * (int64_t)m->size[1];
        if (lies && !(e->sx[1] != 1 && e->sy[1] == 1)) {
            /* Convert straight into the destination. */
            for (int64_t r = 0; r < rows; ++r)
                load_row(m, m->dt[1], stay.p + r * stay.ld * m->word,
                         src + r * e->sy[1] * (int64_t)m->size[1], cols, e->sx[1]);
            return;
        }
        view_t v = load_tile(e, m->dt[1], src, e->sx[1], e->sy[1], tile_buf(e, 1), rows, cols);
        store_tile(e, dst, v, rows, cols);
        return;
    }
    for (int i = 0; i < m->nsteps; ++i) {
        const dtp_program_step_t *s = &m->step[i];
        const int in[3] = {s->a, s->b, s->c};
        for (int k = 0; k < 3; ++k) {
            int o = in[k];
            if (o < 0 || o == DTP_PROGRAM_ACC || loaded[o]) continue;
            reg[o] = load_tile(e, m->dt[o], e->ptr[o] + off[o] * (int64_t)m->size[o], e->sx[o], e->sy[o],
                               tile_buf(e, o), rows, cols);
            loaded[o] = true;
        }
        view_t a = reg[s->a], y = out;
        bool last = i + 1 == m->nsteps;
        if (s->y != DTP_PROGRAM_ACC) y = (view_t){tile_buf(e, s->y), cols, 1};
        const bool stays = last && lies && s->kind <= DTP_PROGRAM_ELTWISE;
        const int stream = stays && e->stream;
        if (stays) y = stay;
        if (s->kind == DTP_PROGRAM_BINARY) {
            view_t b = reg[s->b];
            if (m->buffers && s->c < 0 && b.ld == 0 && b.cs == 1 && cols <= DTP_PROGRAM_REPEAT_COLS &&
                rows >= DTP_PROGRAM_REPEAT_ROWS && a.cs == 1 && a.ld == cols && y.ld == cols) {
                binary_repeated(e, s, a, b, y, rows, cols, stream);
                reg[s->y] = y;
                loaded[s->y] = true;
                if (stays) return;
                continue;
            }
            view_t c = s->c >= 0 ? reg[s->c] : (view_t){NULL, 0, 0};
            s->binary(&(dtp_binary_args_t){.x0 = a.p,
                                           .x1 = b.p,
                                           .cond = c.p,
                                           .y = y.p,
                                           .ld0 = a.ld,
                                           .ld1 = b.ld,
                                           .ldc = c.ld,
                                           .ldy = y.ld,
                                           .rows = rows,
                                           .cols = cols,
                                           .cs0 = a.cs,
                                           .cs1 = b.cs,
                                           .csc = c.cs,
                                           .stream = stream});
        } else if (s->kind == DTP_PROGRAM_ELTWISE) {
            s->eltwise(&(dtp_eltwise_args_t){.x = a.p,
                                             .y = y.p,
                                             .ldx = a.ld,
                                             .ldy = y.ld,
                                             .rows = rows,
                                             .cols = cols,
                                             .alpha = s->alpha,
                                             .beta = s->beta,
                                             .stream = stream});
        } else {
            view_t add = s->kind == DTP_PROGRAM_AXPY
                             ? reg[s->b]
                             : load_tile(e, s->dt, dst, e->sx[0], e->sy[0], e->buf, rows, cols);
            float *to = (float *)(void *)y.p;
            const float *from = (const float *)(const void *)a.p;
            if (a.p != y.p)
                for (int64_t r = 0; r < rows; ++r)
                    for (int64_t c = 0; c < cols; ++c) to[r * y.ld + c] = from[r * a.ld + c * a.cs];
            m->vops->axpy(to, y.ld, (const float *)(const void *)add.p, add.ld, rows, cols, s->alpha,
                          s->beta);
        }
        reg[s->y] = y;
        loaded[s->y] = true;
        if (stays) return;
    }
    store_tile(e, dst, reg[DTP_PROGRAM_ACC], rows, cols);
}

/* Zeroes the destination's padding behind the rows of a tile. */
static void fill_tile(const tile_env_t *e, const dtp_program_box_t *b, char *dst, int64_t rows,
                      int64_t cols) {
    const int64_t size = (int64_t)e->m->size[0];
    for (int64_t r = 0; b->fill > 0 && r < rows; ++r)
        memset(dst + (r * e->sy[0] + cols) * size, 0, (size_t)(b->fill * size));
}

static void move_tile(const tile_env_t *e, const dtp_program_box_t *b, const int64_t *off, int64_t rows,
                      int64_t cols) {
    const dtp_program_t *m = e->m;
    const int64_t size = (int64_t)m->size[0];
    char *dst = e->ptr[0] + off[0] * size;
    const char *src = e->ptr[1] + off[1] * size;
    if (b->move == DTP_MOVE_ROWS) {
        const int stream = e->stream && cols * size >= STREAM_ROW;
        m->moves->rows(dst, e->sy[0] * size, src, e->sy[1] * size, rows, cols * size, stream);
        fill_tile(e, b, dst, rows, cols);
        return;
    }
    if (b->move == DTP_MOVE_TRANSPOSE) {
        dtp_move_transpose(m->moves, m->size[0])(dst, e->sy[0], src, e->sx[1], rows, cols, b->fill,
                                                 e->stream);
        return;
    }
    for (int64_t r = 0; r < rows; ++r)
        dtp_move_strided(dst + r * e->sy[0] * size, e->sx[0], src + r * e->sy[1] * size, e->sx[1], cols,
                         size);
    fill_tile(e, b, dst, rows, cols);
}

typedef struct {
    const dtp_program_t *m;
    char *const *ptr;
    char *slots;
    size_t slot_bytes;
    bool stream;    /* not in place: the destination's lines were just read */
    const float *q; /* the numbers of a conversion's steps, or NULL */
} run_env_t;

static void run_units(void *arg, int slot, int64_t begin, int64_t end) {
    const run_env_t *r = arg;
    const dtp_program_t *m = r->m;
    tile_env_t e = {.m = m,
                    .ptr = r->ptr,
                    .buf = r->slots + (size_t)slot * r->slot_bytes,
                    .tile_bytes = DTP_PROGRAM_TILE * m->word,
                    .stream = r->stream};
    int i = m->nboxes - 1;
    while (m->box[i].first_unit > begin) --i;
    for (int64_t u = begin; u < end; ++i) {
        const dtp_program_box_t *mb = &m->box[i];
        const dtp_box_t *b = &mb->box;
        const int64_t last = i + 1 < m->nboxes ? dtp_min64(end, m->box[i + 1].first_unit) : end;
        const int64_t *sx = dtp_box_sx(b), *sy = dtp_box_sy(b);
        for (int o = 0; o < m->nops; ++o) e.sx[o] = sx[o], e.sy[o] = sy[o];
        const int64_t k = u - mb->first_unit;
        /* Divisions only where a range starts inside a box. */
        int64_t ix = 0, iy = 0, outer = 0;
        if (k > 0) {
            ix = k % mb->nx;
            iy = k / mb->nx % mb->ny;
            outer = k / (mb->nx * mb->ny);
        }
        dtp_cursor_t cur;
        dtp_cursor_set(&cur, b, mb->nouter, m->nops, outer);
        for (; u < last; ++u) {
            int64_t off[DTP_BOXES_OPS];
            const int64_t y0 = iy * mb->chunk_y, x0 = ix * mb->chunk_x;
            if (mb->depth > 0) {
                /* Several small tiles along the loop around them. */
                const int64_t *sz = b->s[mb->nouter], count = dtp_min64(mb->chunk_y, mb->depth - y0);
                off[0] = cur.off[0] + y0 * sz[0];
                off[1] = cur.off[1] + y0 * sz[1];
                if (mb->move == DTP_MOVE_INTERLEAVE)
                    m->moves->interleave[m->size[0] >> 1](r->ptr[0] + off[0] * (int64_t)m->size[0], sz[0],
                                                          r->ptr[1] + off[1] * (int64_t)m->size[1], sx[1],
                                                          sz[1], count);
                else
                    for (int64_t z = 0; z < count; ++z, off[0] += sz[0], off[1] += sz[1])
                        move_tile(&e, mb, off, mb->rows, mb->cols);
            } else {
                const int64_t rows = dtp_min64(mb->chunk_y, mb->rows - y0),
                              cols = dtp_min64(mb->chunk_x, mb->cols - x0);
                for (int o = 0; o < m->nops; ++o) off[o] = cur.off[o] + y0 * sy[o] + x0 * sx[o];
                if (m->moves_bytes) {
                    move_tile(&e, mb, off, rows, cols);
                } else if (m->one_binary) {
                    const int64_t size = m->word;
                    m->step[0].binary(&(dtp_binary_args_t){.x0 = r->ptr[1] + off[1] * size,
                                                           .x1 = r->ptr[2] + off[2] * size,
                                                           .y = r->ptr[0] + off[0] * size,
                                                           .ld0 = sy[1],
                                                           .ld1 = sy[2],
                                                           .ldy = sy[0],
                                                           .rows = rows,
                                                           .cols = cols,
                                                           .cs0 = (int)sx[1],
                                                           .cs1 = (int)sx[2],
                                                           .stream = r->stream});
                    if (mb->fill) fill_tile(&e, mb, r->ptr[0] + off[0] * size, rows, cols);
                } else if (m->fused) {
                    char *at[DTP_BOXES_OPS] = {NULL};
                    for (int o = 0; o < m->nops; ++o) at[o] = r->ptr[o] + off[o] * (int64_t)m->size[o];
                    m->fused(&(dtp_fused_args_t){.x0 = at[1],
                                                 .x1 = at[2],
                                                 .x2 = at[3],
                                                 .y = at[0],
                                                 .ld0 = sy[1],
                                                 .ld1 = sy[2],
                                                 .ldy = sy[0],
                                                 .rows = rows,
                                                 .cols = cols,
                                                 .cs0 = (int)sx[1],
                                                 .cs1 = (int)sx[2],
                                                 .stream = r->stream,
                                                 .floor = m->fused_floor});
                    fill_tile(&e, mb, at[0], rows, cols);
                } else if (m->cast) {
                    char *dst = r->ptr[0] + off[0] * (int64_t)m->size[0];
                    m->cast(&(dtp_cast_args_t){r->ptr[1] + off[1] * (int64_t)m->size[1], dst, sy[1], sy[0],
                                               rows, cols, r->q, r->stream});
                    fill_tile(&e, mb, dst, rows, cols);
                } else {
                    run_tile(&e, off, rows, cols);
                    fill_tile(&e, mb, r->ptr[0] + off[0] * (int64_t)m->size[0], rows, cols);
                }
            }
            if (++ix < mb->nx) continue;
            ix = 0;
            if (++iy < mb->ny) continue;
            iy = 0;
            dtp_cursor_next(&cur, b, mb->nouter, m->nops);
        }
    }
}

static void zero_padding(const dtp_program_t *m, char *dst) {
    const size_t size = m->size[0];
    for (int i = 0; i < m->nzero; ++i) {
        const dtp_box_t *b = &m->zero[i];
        const bool run = b->nd > 0 && b->s[b->nd - 1][0] == 1;
        const int nouter = run ? b->nd - 1 : b->nd;
        const size_t bytes = run ? size * (size_t)b->n[b->nd - 1] : size;
        const int64_t count = dtp_boxes_count(b, 0, nouter);
        dtp_cursor_t cur;
        dtp_cursor_set(&cur, b, nouter, 1, 0);
        for (int64_t k = 0; k < count; ++k) {
            memset(dst + cur.off[0] * (int64_t)size, 0, bytes);
            dtp_cursor_next(&cur, b, nouter, 1);
        }
    }
}

static inline void run_once(const dtp_program_t *m, char *const *ptr) {
    char *dst = ptr[0] + m->once_off[0];
    const char *src = ptr[1] + m->once_off[1];
    switch (m->once) {
    case DTP_PROGRAM_ONE_BINARY: {
        dtp_binary_args_t a = m->once_args.binary;
        a.x0 = src;
        a.x1 = ptr[2] + m->once_off[2];
        a.y = dst;
        m->step[0].binary(&a);
        break;
    }
    case DTP_PROGRAM_ONE_FUSED: {
        dtp_fused_args_t a = m->once_args.fused;
        a.x0 = src;
        a.x1 = ptr[2] + m->once_off[2];
        a.y = dst;
        m->fused(&a);
        break;
    }
    case DTP_PROGRAM_ONE_CAST: {
        dtp_cast_args_t a = m->once_args.cast;
        a.x = src;
        a.y = dst;
        m->cast(&a);
        break;
    }
    case DTP_PROGRAM_ONE_ROWS:
        m->moves->rows(dst, m->once_args.move.ldd, src, m->once_args.move.lds, m->once_args.move.rows,
                       m->once_args.move.cols, 0);
        break;
    default:
        dtp_move_transpose(m->moves, m->size[0])(dst, m->once_args.move.ldd, src, m->once_args.move.lds,
                                                 m->once_args.move.rows, m->once_args.move.cols,
                                                 m->once_args.move.fill, 0);
    }
}

void dtp_program_run(const dtp_program_t *m, const struct dtp_parallel *par, char *const *ptr, char *slots,
                     size_t slot_bytes) {
    if (m->once) {
        run_once(m, ptr);
        return;
    }
    run_env_t r = {m, ptr, slots, slot_bytes, m->stream, NULL};
    float q[DTP_CAST_NSTEPS] = {0.f, 1.f, 1.f, -0.f};
    if (m->cast && m->nsteps > 0 && m->nunits > 0) {
        for (int i = 0; i < DTP_CAST_NSTEPS; ++i) {
            const int o = m->cast_op[i];
            if (o < 0) continue;
            const char *p = ptr[o] + m->box[0].box.off[o] * (int64_t)m->size[o];
            m->vops->load[m->dt[o]](&q[i], p, 1, 1);
        }
        r.q = q;
    }
    for (int o = 1; o < m->nops; ++o) r.stream &= ptr[o] != ptr[0];
    if (m->nunits > 0) dtp_parallel_for(par, m->nunits, m->grain, run_units, &r);
    if (m->nzero > 0) zero_padding(m, ptr[0]);
}

void dtp_program_run_args(const dtp_program_t *m, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    char *ptr[DTP_BOXES_OPS];
    for (int o = 0; o < m->nops; ++o) ptr[o] = ctx->ptr[m->arg[o]];
    dtp_program_run(m, ctx->par, ptr, ctx->scratch + pd->scratch_shared, pd->scratch_per_slot);
}

dnnl_tp_status_t dtp_program_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    dtp_program_run_args(pd->plan, pd, ctx);
    return dnnl_tp_success;
}
