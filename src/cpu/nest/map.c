/* Building and running element-wise programs. */
#include "cpu/nest/map.h"

#include "threading/parallel.h"

/* Nanoseconds per element of a tile, for grains: bytes at L3 speed plus a share for every step. */
#define NS_PER_BYTE 0.012
#define NS_PER_STEP 0.06
/* Elements of a tile that needs no buffers: small enough to balance, large enough to hide the call. */
#define DIRECT_TILE (16 * 1024)
/* Sides of a tile whose source runs across its rows. */
#define CROSS_COLS 64
#define CROSS_ROWS 64
/* Rows of at most so many bytes are grouped. */
#define SHORT_ROW 256
/* Tiles of at most so many elements are run several at once. */
#define SMALL_TILE 1024
#define GROUP 16

void dtp_map_begin(dtp_map_t *m, unsigned isa, dnnl_tp_data_type_t dst_dt, int dst_arg,
                   dnnl_tp_data_type_t src_dt, int src_arg) {
    m->vops = dtp_vops(isa);
    m->moves = dtp_moves(isa);
    m->nops = m->nsteps = m->nboxes = m->nzero = 0;
    m->nunits = 0;
    m->moves_bytes = m->reads_dst = m->stream = false;
    (void)dtp_map_operand(m, dst_dt, dst_arg);
    (void)dtp_map_operand(m, src_dt, src_arg);
}

int dtp_map_operand(dtp_map_t *m, dnnl_tp_data_type_t dt, int arg) {
    if (m->nops == DTP_NEST_OPS) return -1;
    m->dt[m->nops] = dt;
    m->size[m->nops] = dtp_type_size(dt);
    m->arg[m->nops] = arg;
    return m->nops++;
}

static dtp_map_step_t *new_step(dtp_map_t *m, dtp_map_step_kind_t kind) {
    if (m->nsteps == DTP_MAP_STEPS) return NULL;
    dtp_map_step_t *s = &m->step[m->nsteps++];
    *s = (dtp_map_step_t){.kind = kind, .y = DTP_MAP_ACC, .a = DTP_MAP_ACC, .b = -1, .c = -1};
    if (m->nsteps == 1) s->a = 1;
    return s;
}

bool dtp_map_binary(dtp_map_t *m, int y, int a, int b, int c, dnnl_tp_alg_kind_t alg) {
    dtp_binary_fn_t fn = dtp_vops_binary(m->vops, alg);
    dtp_map_step_t *s = fn && a >= 0 && b >= 0 ? new_step(m, DTP_MAP_BINARY) : NULL;
    if (!s) return false;
    s->y = y;
    s->a = a;
    s->b = b;
    s->c = c;
    s->binary = fn;
    return true;
}

int dtp_map_value(const dtp_map_t *m) {
    for (int i = 0; i < m->nsteps; ++i)
        if (m->step[i].y == DTP_MAP_ACC) return DTP_MAP_ACC;
    return 1;
}

bool dtp_map_eltwise(dtp_map_t *m, dnnl_tp_alg_kind_t alg, float alpha, float beta) {
    int a = dtp_map_value(m);
    dtp_eltwise_fn_t fn = dtp_vops_eltwise(m->vops, alg);
    dtp_map_step_t *s = fn ? new_step(m, DTP_MAP_ELTWISE) : NULL;
    if (!s) return false;
    s->a = a;
    s->eltwise = fn;
    s->alpha = alpha;
    s->beta = beta;
    return true;
}

bool dtp_map_sum(dtp_map_t *m, float scale, float zero_point, dnnl_tp_data_type_t dt) {
    int a = dtp_map_value(m);
    dtp_map_step_t *s = new_step(m, DTP_MAP_SUM);
    if (!s) return false;
    s->a = a;
    s->alpha = scale;
    s->beta = zero_point;
    s->dt = dt == dnnl_tp_data_type_undef ? m->dt[0] : dt;
    m->reads_dst = true;
    return true;
}

bool dtp_map_axpy(dtp_map_t *m, int o, float scale) {
    int a = dtp_map_value(m);
    dtp_map_step_t *s = o >= 0 ? new_step(m, DTP_MAP_AXPY) : NULL;
    if (!s) return false;
    s->a = a;
    s->b = o;
    s->alpha = scale;
    return true;
}

static void resolve_any(dtp_md_t *md, const dtp_md_t *dst) {
    if (dtp_md_is_zero(md) || !dtp_md_is_any(md)) return;
    int wide = 0;
    for (int d = 0; d < md->ndims; ++d) wide += md->dims[d] != 1;
    if (wide > 1 && dtp_md_same_dims(md, dst)) dtp_nest_layout_like(md, dst);
    else dtp_md_make_plain(md);
}

bool dtp_map_post_ops(dtp_map_t *m, dtp_pd_t *pd, const dtp_md_t *dst, const dtp_md_t **md) {
    for (int i = 0; i < pd->attr->post_ops->len; ++i) {
        dtp_post_op_t *p = &pd->attr->post_ops->entry[i];
        resolve_any(&p->src1, dst);
        resolve_any(&p->src2, dst);
        if (p->kind == dnnl_tp_eltwise) {
            if (!dtp_map_eltwise(m, p->alg, p->alpha, p->beta)) return false;
        } else if (p->kind == dnnl_tp_sum) {
            if (!dtp_map_sum(m, p->scale, (float)p->zero_point, p->sum_dt)) return false;
        } else {
            int b = dtp_map_operand(m, p->src1.data_type, pd->post_op_arg + 2 * i), c = -1;
            if (b < 0) return false;
            md[b] = &p->src1;
            if (p->alg == dnnl_tp_binary_select) {
                c = dtp_map_operand(m, p->src2.data_type, pd->post_op_arg + 2 * i + 1);
                if (c < 0) return false;
                md[c] = &p->src2;
            }
            if (!dtp_map_binary(m, DTP_MAP_ACC, dtp_map_value(m), b, c, p->alg)) return false;
        }
    }
    return true;
}

/* Strides of the two loops of a tile; a box of one element is a contiguous row. */
static const int64_t *tile_sx(const dtp_box_t *b) {
    static const int64_t one[DTP_NEST_OPS] = {1, 1, 1, 1, 1, 1, 1, 1};
    return b->nd > 0 ? b->s[b->nd - 1] : one;
}
static const int64_t *tile_sy(const dtp_box_t *b) {
    static const int64_t none[DTP_NEST_OPS];
    return b->nd > 1 ? b->s[b->nd - 2] : none;
}

/* An operand of a tile can be used where it lies. */
static bool lies_as_f32(const dtp_map_t *m, int o, int64_t sx) {
    return m->dt[o] == dnnl_tp_f32 && (sx == 0 || sx == 1);
}

/* Short rows whose source goes on in another loop z: [.., z, .., y, x] becomes [.., y / GROUP, z, GROUP of y,
 * x], so that source lines next to each other are read one after the other. The rest of y becomes *rest;
 * false without. */
static bool group_rows(const dtp_map_t *m, dtp_box_t *b, dtp_box_t *rest) {
    const int x = b->nd - 1, y = b->nd - 2;
    int z = -1;
    if (!m->moves_bytes || b->nd < 3 || b->nd == DTP_NEST_DIMS) return false;
    if (b->s[x][0] != 1 || b->s[x][1] != 1 || b->n[x] * (int64_t)m->size[0] > SHORT_ROW ||
        b->n[y] < 2 * GROUP)
        return false;
    for (int d = 0; d < y; ++d)
        if (b->s[d][1] == b->n[x]) z = d;
    if (z < 0) return false;
    *rest = *b;
    const int64_t groups = b->n[y] / GROUP;
    rest->n[y] = b->n[y] % GROUP;
    for (int o = 0; o < m->nops; ++o) rest->off[o] += groups * GROUP * b->s[y][o];
    dtp_nest_move(b, m->nops, z, y - 1);
    /* Insert y / GROUP in front of z. */
    for (int d = b->nd; d > y - 1; --d) {
        b->n[d] = b->n[d - 1];
        memcpy(b->s[d], b->s[d - 1], sizeof b->s[d]);
    }
    ++b->nd;
    b->n[y - 1] = groups;
    for (int o = 0; o < m->nops; ++o) b->s[y - 1][o] = b->s[y + 1][o] * GROUP;
    b->n[y + 1] = GROUP;
    return rest->n[y] > 0;
}

/* Gives the two innermost loops to the tile and fixes its sides. */
static void shape_box(dtp_map_t *m, dtp_map_box_t *mb) {
    dtp_box_t *b = &mb->box;
    int x = b->nd - 1, y = b->nd - 2;
    bool cross = false;
    /* The first source whose own fastest loop is another one. */
    for (int o = 1; o < m->nops && !cross && x > 0; ++o) {
        if (b->s[x][o] == 0 || b->s[x][o] == 1) continue;
        for (int d = x - 1; d >= 0 && !cross; --d)
            if (b->s[d][o] == 1 && b->n[d] > 1) y = d, cross = true;
    }
    if (cross && y != b->nd - 2) dtp_nest_move(b, m->nops, y, b->nd - 2);
    mb->cols = b->nd > 0 ? b->n[b->nd - 1] : 1;
    mb->rows = b->nd > 1 ? b->n[b->nd - 2] : 1;
    mb->nouter = b->nd > 2 ? b->nd - 2 : 0;
    const int64_t *sx = tile_sx(b), *sy = tile_sy(b);
    bool direct = m->moves_bytes || m->nsteps <= 1;
    for (int o = 0; o < m->nops && direct && !m->moves_bytes; ++o) direct = lies_as_f32(m, o, sx[o]);
    if (m->reads_dst) direct = false;
    if (m->moves_bytes) {
        mb->move = DTP_MOVE_STRIDED;
        if (sx[0] == 1 && sx[1] == 1) mb->move = DTP_MOVE_ROWS;
        if (sx[0] == 1 && sx[1] != 1 && sy[1] == 1 && mb->rows > 1) mb->move = DTP_MOVE_TRANSPOSE;
    }
    int64_t tile = direct ? DIRECT_TILE : DTP_MAP_TILE;
    if (cross) {
        mb->chunk_x = dtp_min64(mb->cols, CROSS_COLS);
        mb->chunk_y = dtp_min64(mb->rows, dtp_max64(tile / mb->chunk_x, 1));
        if (m->moves_bytes && mb->cols >= CROSS_COLS) mb->chunk_y = dtp_min64(mb->rows, CROSS_ROWS);
    } else {
        mb->chunk_x = dtp_min64(mb->cols, tile);
        mb->chunk_y = dtp_min64(mb->rows, dtp_max64(tile / mb->chunk_x, 1));
    }
    mb->nx = dtp_div_up(mb->cols, mb->chunk_x);
    mb->ny = dtp_div_up(mb->rows, mb->chunk_y);
    mb->depth = 0;
    if (m->moves_bytes && mb->nx * mb->ny == 1 && b->nd > 2 && mb->rows * mb->cols <= SMALL_TILE) {
        --mb->nouter;
        mb->depth = b->n[mb->nouter];
        mb->chunk_y = dtp_min64(mb->depth, DIRECT_TILE / (mb->rows * mb->cols));
        mb->ny = dtp_div_up(mb->depth, mb->chunk_y);
        if (mb->move == DTP_MOVE_TRANSPOSE && mb->rows == 16 && mb->cols * (int64_t)m->size[0] == 4 &&
            m->size[0] < 4 && sy[0] == mb->cols && mb->fill == 0)
            mb->move = DTP_MOVE_INTERLEAVE;
    }
}

/* The dim whose padding the tiles write themselves: the one of the innermost block, blocked once; -1 = none.
 */
static int fill_dim(const dtp_md_t *md) {
    if (md->inner_nblks == 0) return -1;
    const int d = (int)md->inner_idxs[md->inner_nblks - 1];
    const int64_t block = md->inner_blks[md->inner_nblks - 1];
    if (dtp_md_block_of(md, d) != block || md->dims[d] % block < 2) return -1;
    return md->padded_dims[d] == dtp_round_up(md->dims[d], block) ? d : -1;
}

bool dtp_map_cut(dtp_map_t *m, int ndims, const int64_t *full, const int64_t *lo, const int64_t *hi,
                 const dtp_md_t *const *md, const dtp_md_t *zero_md, int64_t l3_bytes) {
    dtp_box_t box[DTP_NEST_BOXES];
    m->nboxes = m->nzero = 0;
    m->nunits = 0;
    m->grain = 1;
    m->moves_bytes = m->nsteps == 0 && m->dt[0] == m->dt[1] && m->size[0] <= 4;
    /* Boxes of the tail that the tiles fill come last. */
    int fd = zero_md ? fill_dim(zero_md) : -1, n, tail = 0;
    if (fd >= 0) {
        dnnl_tp_dims_t at;
        const int64_t block = dtp_md_block_of(zero_md, fd), cut = zero_md->dims[fd] / block * block;
        memcpy(at, hi, sizeof(at));
        at[fd] = cut;
        n = cut > 0 ? dtp_nest_cut(box, DTP_NEST_BOXES, ndims, full, lo, at, m->nops, md) : 0;
        if (n < 0) return false;
        memcpy(at, lo, sizeof(at));
        at[fd] = cut;
        tail = dtp_nest_cut(box + n, DTP_NEST_BOXES - n, ndims, full, at, hi, m->nops, md);
        if (tail < 0) return false;
    } else {
        n = dtp_nest_cut(box, DTP_NEST_BOXES, ndims, full, lo, hi, m->nops, md);
        if (n < 0) return false;
    }
    const int64_t tail_n = fd >= 0 ? zero_md->dims[fd] % dtp_md_block_of(zero_md, fd) : 0;
    for (int i = 0; i < n + tail; ++i) {
        dtp_box_t *b = &box[i];
        dtp_nest_order(b, m->nops, 0);
        if (i >= n && (b->nd == 0 || b->n[b->nd - 1] != tail_n || b->s[b->nd - 1][0] != 1)) fd = -1;
    }
    double elems = 0, bytes_each = 0;
    for (int o = 0; o < m->nops; ++o) bytes_each += (double)m->size[o];
    for (int i = 0; i < n + tail; ++i) {
        dtp_box_t rest;
        bool more = m->nboxes + n + tail - i < DTP_NEST_BOXES && group_rows(m, &box[i], &rest);
        for (;;) {
            dtp_map_box_t *mb = &m->box[m->nboxes++];
            mb->box = box[i];
            mb->fill = i >= n && fd >= 0 ? dtp_md_block_of(zero_md, fd) - tail_n : 0;
            shape_box(m, mb);
            mb->first_unit = m->nunits;
            m->nunits += dtp_nest_count(&mb->box, 0, mb->nouter) * mb->ny * mb->nx;
            elems += (double)dtp_nest_count(&mb->box, 0, mb->box.nd);
            if (!more) break;
            more = false;
            box[i] = rest;
        }
    }
    if (m->nunits > 0)
        m->grain =
            dtp_grain(elems / (double)m->nunits * (bytes_each * NS_PER_BYTE + m->nsteps * NS_PER_STEP));
    m->stream = elems * bytes_each > 0.5 * (double)l3_bytes;
    if (zero_md && dtp_md_is_padded(zero_md)) {
        m->nzero = dtp_nest_cut_padding(m->zero, DTP_NEST_BOXES, zero_md, fd);
        if (m->nzero < 0) return false;
        for (int i = 0; i < m->nzero; ++i) dtp_nest_order(&m->zero[i], 1, 0);
    }
    return true;
}

/* A tile passes without buffers through the part that needs them. */
static bool needs_buffers(const dtp_map_t *m) {
    if (m->moves_bytes) return false;
    if (m->nsteps > 1 || m->reads_dst) return true;
    for (int i = 0; i < m->nboxes; ++i) {
        const dtp_box_t *b = &m->box[i].box;
        for (int o = 0; o < m->nops; ++o)
            if (!lies_as_f32(m, o, tile_sx(b)[o])) return true;
        if (tile_sx(b)[0] == 0) return true;
    }
    return false;
}

size_t dtp_map_slot_bytes(const dtp_map_t *m) {
    /* One per operand (the destination's holds its old value), one for ACC, one to turn tiles in. */
    return needs_buffers(m) ? (size_t)(m->nops + 2) * DTP_MAP_TILE * sizeof(float) : 0;
}

/* ---- Tiles -------------------------------------------------------------------------------------------- */

/* A matrix of f32: element (r, c) at p[r * ld + c * cs]. */
typedef struct {
    float *p;
    int64_t ld;
    int cs;
} view_t;

typedef struct {
    const dtp_map_t *m;
    char *const *ptr;
    float *buf; /* (nops + 2) * DTP_MAP_TILE */
    int64_t sx[DTP_NEST_OPS], sy[DTP_NEST_OPS];
} tile_env_t;

static view_t load_tile(const tile_env_t *e, dnnl_tp_data_type_t dt, const char *p, int64_t sx, int64_t sy,
                        float *buf, int64_t rows, int64_t cols) {
    const dtp_map_t *m = e->m;
    const dtp_load_fn_t load = m->vops->load[dt];
    const int64_t size = (int64_t)dtp_type_size(dt);
    if (dt == dnnl_tp_f32 && (sx == 0 || sx == 1)) return (view_t){(float *)(uintptr_t)p, sy, (int)sx};
    if (sx == 0) {
        load(buf, p, sy == 0 ? 1 : rows, sy == 0 ? 1 : sy);
        return (view_t){buf, sy == 0 ? 0 : 1, 0};
    }
    if (sy == 0) {
        load(buf, p, cols, sx);
        return (view_t){buf, 0, 1};
    }
    if (sx != 1 && sy == 1 && rows > 1) {
        float *turn = e->buf + (m->nops + 1) * DTP_MAP_TILE;
        for (int64_t c = 0; c < cols; ++c) load(turn + c * rows, p + c * sx * size, rows, 1);
        m->moves->transpose[2](buf, cols, turn, rows, rows, cols, 0);
        return (view_t){buf, cols, 1};
    }
    if (sy == cols * sx) load(buf, p, rows * cols, sx);
    else
        for (int64_t r = 0; r < rows; ++r) load(buf + r * cols, p + r * sy * size, cols, sx);
    return (view_t){buf, cols, 1};
}

static void store_tile(const tile_env_t *e, char *p, view_t v, int64_t rows, int64_t cols) {
    const dtp_map_t *m = e->m;
    const dtp_store_fn_t store = m->vops->store[m->dt[0]];
    const int64_t sx = e->sx[0], sy = e->sy[0], size = (int64_t)m->size[0];
    if (v.ld == cols && sy == cols * sx) store(p, v.p, rows * cols, sx);
    else
        for (int64_t r = 0; r < rows; ++r) store(p + r * sy * size, v.p + r * v.ld, cols, sx);
}

/* The general tile: loads, steps, store. off: element offsets of the tile by operand. */
static void run_tile(const tile_env_t *e, const int64_t *off, int64_t rows, int64_t cols) {
    const dtp_map_t *m = e->m;
    view_t reg[DTP_NEST_OPS + 1];
    bool loaded[DTP_NEST_OPS + 1] = {false};
    char *dst = e->ptr[0] + off[0] * (int64_t)m->size[0];
    /* Only the last step writes the destination: a post-operation's tensor may lie at the same address. */
    const bool lies = m->dt[0] == dnnl_tp_f32 && e->sx[0] == 1;
    const view_t stay = {(float *)(uintptr_t)dst, e->sy[0], 1};
    const view_t out = {e->buf + m->nops * DTP_MAP_TILE, cols, 1};
    reg[DTP_MAP_ACC] = out;
    if (m->nsteps == 0) {
        const char *src = e->ptr[1] + off[1] * (int64_t)m->size[1];
        if (lies && !(e->sx[1] != 1 && e->sy[1] == 1)) {
            /* Convert straight into the destination. */
            const dtp_load_fn_t load = m->vops->load[m->dt[1]];
            for (int64_t r = 0; r < rows; ++r)
                load(stay.p + r * stay.ld, src + r * e->sy[1] * (int64_t)m->size[1], cols, e->sx[1]);
            return;
        }
        view_t v = load_tile(e, m->dt[1], src, e->sx[1], e->sy[1], e->buf + DTP_MAP_TILE, rows, cols);
        store_tile(e, dst, v, rows, cols);
        return;
    }
    for (int i = 0; i < m->nsteps; ++i) {
        const dtp_map_step_t *s = &m->step[i];
        const int in[3] = {s->a, s->b, s->c};
        for (int k = 0; k < 3; ++k) {
            int o = in[k];
            if (o < 0 || o == DTP_MAP_ACC || loaded[o]) continue;
            reg[o] = load_tile(e, m->dt[o], e->ptr[o] + off[o] * (int64_t)m->size[o], e->sx[o], e->sy[o],
                               e->buf + o * DTP_MAP_TILE, rows, cols);
            loaded[o] = true;
        }
        view_t a = reg[s->a], y = out;
        bool last = i + 1 == m->nsteps;
        if (s->y != DTP_MAP_ACC) y = (view_t){e->buf + s->y * DTP_MAP_TILE, cols, 1};
        const bool stays = last && lies && s->kind <= DTP_MAP_ELTWISE;
        const int stream = stays && m->stream;
        if (stays) y = stay;
        if (s->kind == DTP_MAP_BINARY) {
            view_t b = reg[s->b], c = s->c >= 0 ? reg[s->c] : (view_t){NULL, 0, 0};
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
        } else if (s->kind == DTP_MAP_ELTWISE) {
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
            view_t add = s->kind == DTP_MAP_AXPY
                             ? reg[s->b]
                             : load_tile(e, s->dt, dst, e->sx[0], e->sy[0], e->buf, rows, cols);
            if (a.p != y.p)
                for (int64_t r = 0; r < rows; ++r)
                    for (int64_t c = 0; c < cols; ++c) y.p[r * y.ld + c] = a.p[r * a.ld + c * a.cs];
            m->vops->axpy(y.p, y.ld, add.p, add.ld, rows, cols, s->alpha, s->beta);
        }
        reg[s->y] = y;
        loaded[s->y] = true;
        if (stays) return;
    }
    store_tile(e, dst, reg[DTP_MAP_ACC], rows, cols);
}

/* Zeroes the destination's padding behind the rows of a tile. */
static void fill_tile(const tile_env_t *e, const dtp_map_box_t *b, char *dst, int64_t rows, int64_t cols) {
    const int64_t size = (int64_t)e->m->size[0];
    for (int64_t r = 0; b->fill > 0 && r < rows; ++r)
        memset(dst + (r * e->sy[0] + cols) * size, 0, (size_t)(b->fill * size));
}

static void move_tile(const tile_env_t *e, const dtp_map_box_t *b, const int64_t *off, int64_t rows,
                      int64_t cols) {
    const dtp_map_t *m = e->m;
    const int64_t size = (int64_t)m->size[0];
    char *dst = e->ptr[0] + off[0] * size;
    const char *src = e->ptr[1] + off[1] * size;
    if (b->move == DTP_MOVE_ROWS) {
        m->moves->rows(dst, e->sy[0] * size, src, e->sy[1] * size, rows, cols * size, m->stream);
        fill_tile(e, b, dst, rows, cols);
        return;
    }
    if (b->move == DTP_MOVE_TRANSPOSE) {
        m->moves->transpose[size >> 1](dst, e->sy[0], src, e->sx[1], rows, cols, b->fill);
        return;
    }
    for (int64_t r = 0; r < rows; ++r) {
        char *d = dst + r * e->sy[0] * size;
        const char *s = src + r * e->sy[1] * size;
        const int64_t dx = e->sx[0] * size, sx = e->sx[1] * size;
        if (size == 4)
            for (int64_t c = 0; c < cols; ++c) memcpy(d + c * dx, s + c * sx, 4);
        else if (size == 2)
            for (int64_t c = 0; c < cols; ++c) memcpy(d + c * dx, s + c * sx, 2);
        else
            for (int64_t c = 0; c < cols; ++c) d[c * dx] = s[c * sx];
    }
    fill_tile(e, b, dst, rows, cols);
}

typedef struct {
    const dtp_map_t *m;
    char *const *ptr;
    char *slots;
    size_t slot_bytes;
} run_env_t;

static void run_units(void *arg, int slot, int64_t begin, int64_t end) {
    const run_env_t *r = arg;
    const dtp_map_t *m = r->m;
    tile_env_t e = {.m = m, .ptr = r->ptr, .buf = (float *)(void *)(r->slots + (size_t)slot * r->slot_bytes)};
    int i = m->nboxes - 1;
    while (m->box[i].first_unit > begin) --i;
    for (int64_t u = begin; u < end; ++i) {
        const dtp_map_box_t *mb = &m->box[i];
        const dtp_box_t *b = &mb->box;
        const int64_t last = i + 1 < m->nboxes ? dtp_min64(end, m->box[i + 1].first_unit) : end;
        const int64_t *sx = tile_sx(b), *sy = tile_sy(b);
        for (int o = 0; o < m->nops; ++o) e.sx[o] = sx[o], e.sy[o] = sy[o];
        int64_t k = u - mb->first_unit;
        int64_t ix = k % mb->nx, iy = k / mb->nx % mb->ny;
        dtp_cursor_t cur;
        dtp_cursor_set(&cur, b, mb->nouter, m->nops, k / (mb->nx * mb->ny));
        for (; u < last; ++u) {
            int64_t off[DTP_NEST_OPS];
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

static void zero_padding(const dtp_map_t *m, char *dst) {
    const size_t size = m->size[0];
    for (int i = 0; i < m->nzero; ++i) {
        const dtp_box_t *b = &m->zero[i];
        const bool run = b->nd > 0 && b->s[b->nd - 1][0] == 1;
        const int nouter = run ? b->nd - 1 : b->nd;
        const size_t bytes = run ? size * (size_t)b->n[b->nd - 1] : size;
        const int64_t count = dtp_nest_count(b, 0, nouter);
        dtp_cursor_t cur;
        dtp_cursor_set(&cur, b, nouter, 1, 0);
        for (int64_t k = 0; k < count; ++k) {
            memset(dst + cur.off[0] * (int64_t)size, 0, bytes);
            dtp_cursor_next(&cur, b, nouter, 1);
        }
    }
}

void dtp_map_run(const dtp_map_t *m, const struct dtp_parallel *par, char *const *ptr, char *slots,
                 size_t slot_bytes) {
    run_env_t r = {m, ptr, slots, slot_bytes};
    if (m->nunits > 0) dtp_parallel_for(par, m->nunits, m->grain, run_units, &r);
    if (m->nzero > 0) zero_padding(m, ptr[0]);
}
