/* Building element-wise programs: steps, tiles, grain. program_run.c runs them. */
#include "cpu/elementwise/program.h"

#include <limits.h>
#include <math.h>

#include "threading/base/parallel.h"

/* Nanoseconds per element of a tile, for grains: bytes at L3 speed plus a share for every step. */
#define NS_PER_BYTE 0.012
#define NS_PER_STEP 0.06
/* Elements of a tile that needs no buffers: small enough to balance, large enough to hide the call. */
#define DIRECT_TILE (16 * 1024)
/* Sides of a tile whose source runs across its rows. */
#define CROSS_COLS 64
#define CROSS_ROWS 64
/* Tiles of at most so many elements are run several at once. */
#define SMALL_TILE 1024
/* Rows of a length that divides this repeat in registers: BIN_REPEAT of cpu/simd/binary_kern.inc. */
#define REPEATED 64
/* Bytes of a row from which a shared line per row does not matter. */
#define SHARED_ROW 8192

void dtp_program_begin(dtp_program_t *m, unsigned isa, dnnl_tp_data_type_t dst_dt, int dst_arg,
                       dnnl_tp_data_type_t src_dt, int src_arg) {
    m->vops = dtp_vops(isa);
    m->moves = dtp_moves(isa);
    m->nops = m->nsteps = m->nboxes = m->nzero = 0;
    m->isa = isa;
    m->arithmetic = dnnl_tp_f32;
    m->word = sizeof(float);
    m->nunits = 0;
    m->moves_bytes = m->reads_dst = m->stream = false;
    m->fused = NULL;
    m->cast = NULL;
    (void)dtp_program_operand(m, dst_dt, dst_arg);
    (void)dtp_program_operand(m, src_dt, src_arg);
}

void dtp_program_exact(dtp_program_t *m, dnnl_tp_data_type_t dt) {
    m->arithmetic = dt;
    m->word = (int64_t)dtp_type_size(dt);
}

/* The functions of the program's arithmetic. */
static dtp_binary_fn_t binary_fn(const dtp_program_t *m, int alg) {
    if (m->arithmetic == dnnl_tp_f32) return dtp_vops_binary(m->vops, alg);
    const int i = dtp_ew_binary(alg);
    return i >= 0 ? dtp_exact(m->isa, m->arithmetic)->binary[i] : NULL;
}
static dtp_eltwise_fn_t eltwise_fn(const dtp_program_t *m, int alg) {
    if (m->arithmetic == dnnl_tp_f32) return dtp_vops_eltwise(m->vops, alg);
    const int i = dtp_ew_unary(alg);
    return i >= 0 ? dtp_exact(m->isa, m->arithmetic)->eltwise[i] : NULL;
}

int dtp_program_operand(dtp_program_t *m, dnnl_tp_data_type_t dt, int arg) {
    if (m->nops == DTP_BOXES_OPS) return -1;
    m->dt[m->nops] = dt;
    m->size[m->nops] = dtp_type_size(dt);
    m->arg[m->nops] = arg;
    return m->nops++;
}

static dtp_program_step_t *new_step(dtp_program_t *m, dtp_program_step_kind_t kind) {
    if (m->nsteps == DTP_PROGRAM_STEPS) return NULL;
    dtp_program_step_t *s = &m->step[m->nsteps++];
    *s = (dtp_program_step_t){.kind = kind, .y = DTP_PROGRAM_ACC, .a = DTP_PROGRAM_ACC, .b = -1, .c = -1};
    if (m->nsteps == 1) s->a = 1;
    return s;
}

bool dtp_program_binary(dtp_program_t *m, int y, int a, int b, int c, dnnl_tp_alg_kind_t alg) {
    dtp_binary_fn_t fn = binary_fn(m, alg);
    dtp_program_step_t *s = fn && a >= 0 && b >= 0 ? new_step(m, DTP_PROGRAM_BINARY) : NULL;
    if (!s) return false;
    s->y = y;
    s->a = a;
    s->b = b;
    s->c = c;
    s->alg = alg;
    s->binary = fn;
    return true;
}

int dtp_program_value(const dtp_program_t *m) {
    for (int i = 0; i < m->nsteps; ++i)
        if (m->step[i].y == DTP_PROGRAM_ACC) return DTP_PROGRAM_ACC;
    return 1;
}

bool dtp_program_eltwise(dtp_program_t *m, dnnl_tp_alg_kind_t alg, float alpha, float beta) {
    int a = dtp_program_value(m);
    dtp_eltwise_fn_t fn = eltwise_fn(m, alg);
    dtp_program_step_t *s = fn ? new_step(m, DTP_PROGRAM_ELTWISE) : NULL;
    if (!s) return false;
    s->a = a;
    s->alg = alg;
    s->eltwise = fn;
    s->alpha = alpha;
    s->beta = beta;
    return true;
}

bool dtp_program_sum(dtp_program_t *m, float scale, float zero_point, dnnl_tp_data_type_t dt) {
    if (m->arithmetic != dnnl_tp_f32) return false;
    int a = dtp_program_value(m);
    dtp_program_step_t *s = new_step(m, DTP_PROGRAM_SUM);
    if (!s) return false;
    s->a = a;
    s->alpha = scale;
    s->beta = zero_point;
    s->dt = dt == dnnl_tp_data_type_undef ? m->dt[0] : dt;
    m->reads_dst = true;
    return true;
}

bool dtp_program_axpy(dtp_program_t *m, int o, float scale) {
    int a = dtp_program_value(m);
    dtp_program_step_t *s = o >= 0 && m->arithmetic == dnnl_tp_f32 ? new_step(m, DTP_PROGRAM_AXPY) : NULL;
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
    if (wide > 1 && dtp_md_same_dims(md, dst)) dtp_boxes_layout_like(md, dst);
    else dtp_md_make_plain(md);
}

bool dtp_program_post_ops(dtp_program_t *m, dtp_pd_t *pd, const dtp_md_t *dst, const dtp_md_t **md) {
    for (int i = 0; i < pd->attr->post_ops->len; ++i) {
        dtp_post_op_t *p = &pd->attr->post_ops->entry[i];
        resolve_any(&p->src1, dst);
        resolve_any(&p->src2, dst);
        if (p->kind == dnnl_tp_eltwise) {
            if (!dtp_program_eltwise(m, p->alg, p->alpha, p->beta)) return false;
        } else if (p->kind == dnnl_tp_sum) {
            if (!dtp_program_sum(m, p->scale, (float)p->zero_point, p->sum_dt)) return false;
        } else if (p->kind != dnnl_tp_binary && p->kind != dnnl_tp_prelu) {
            return false;
        } else {
            const dnnl_tp_alg_kind_t alg =
                p->kind == dnnl_tp_prelu ? (dnnl_tp_alg_kind_t)DTP_ALG_prelu : p->alg;
            int b = dtp_program_operand(m, p->src1.data_type, pd->post_op_arg + 2 * i), c = -1;
            if (b < 0) return false;
            md[b] = &p->src1;
            if (alg == dnnl_tp_binary_select) {
                c = dtp_program_operand(m, p->src2.data_type, pd->post_op_arg + 2 * i + 1);
                if (c < 0) return false;
                md[c] = &p->src2;
            }
            if (!dtp_program_binary(m, DTP_PROGRAM_ACC, dtp_program_value(m), b, c, alg)) return false;
        }
    }
    return true;
}

/* An operand of a tile can be used where it lies. */
static bool lies(const dtp_program_t *m, int o, int64_t sx) {
    return m->dt[o] == m->arithmetic && (sx == 0 || sx == 1);
}

/* dt: of the result. */
static const dtp_fused_set_t *fused_table(unsigned isa, dnnl_tp_data_type_t dt) {
    return dt == dnnl_tp_bf16 ? DTP_BY_ISA_BF16(isa, &dtp_fused, NULL) : DTP_BY_ISA(isa, &dtp_fused, NULL);
}

dtp_fused_fn_t dtp_program_fused(unsigned isa, dnnl_tp_data_type_t dt, dnnl_tp_alg_kind_t alg) {
    const dtp_fused_set_t *f = fused_table(isa, dt);
    const int i = dtp_ew_binary(alg);
    if (!f || i < 0) return NULL;
    switch (dt) {
    case dnnl_tp_bf16: return f->bf16[i];
    case dnnl_tp_f16: return f->f16[i];
    case dnnl_tp_s8: return f->s8[i];
    case dnnl_tp_u8: return f->u8[i];
    default: return NULL;
    }
}

static bool is_relu(const dtp_program_step_t *s) {
    return s->kind == DTP_PROGRAM_ELTWISE && s->alg == dnnl_tp_eltwise_relu && s->alpha == 0.f &&
           s->y == DTP_PROGRAM_ACC;
}

/* Step i is ACC = a alg operand o. */
static bool is_binary(const dtp_program_t *m, int i, dnnl_tp_alg_kind_t alg, int a, int o) {
    const dtp_program_step_t *s = &m->step[i];
    return i < m->nsteps && s->kind == DTP_PROGRAM_BINARY && s->alg == alg && s->y == DTP_PROGRAM_ACC &&
           s->a == a && s->b == o;
}

/* Columns that are multiplied by one row and added to another, with a relu or without. */
static dtp_fused_fn_t find_affine(dtp_program_t *m, const dtp_box_t *box, int nboxes) {
    enum { X = 1, SCALE, SHIFT, ALL };
    const dtp_fused_set_t *f = fused_table(m->isa, m->dt[0]);
    const bool relu = m->nsteps == 3 && is_relu(&m->step[2]);
    if (!f || m->arithmetic != dnnl_tp_f32 || m->nops != ALL || m->nsteps != 2 + relu ||
        !is_binary(m, 0, dnnl_tp_binary_mul, X, SCALE) ||
        !is_binary(m, 1, dnnl_tp_binary_add, DTP_PROGRAM_ACC, SHIFT))
        return NULL;
    if (m->stream && m->dt[0] == dnnl_tp_f32) return NULL; /* which the steps store non-temporally */
    if (m->dt[0] != m->dt[X] || m->dt[SCALE] != dnnl_tp_f32 || m->dt[SHIFT] != dnnl_tp_f32) return NULL;
    for (int i = 0; i < nboxes; ++i) {
        const int64_t *sx = dtp_box_sx(&box[i]), *sy = dtp_box_sy(&box[i]);
        for (int o = 0; o < ALL; ++o)
            if (sx[o] != 1) return NULL;
        if (sy[SCALE] || sy[SHIFT]) return NULL;
    }
    m->fused_floor = relu ? 0.f : -INFINITY;
    return m->dt[0] == dnnl_tp_f32 ? f->affine_f32 : m->dt[0] == dnnl_tp_bf16 ? f->affine_bf16 : NULL;
}

/* Images of three planes of f32 that become pixels of bf16. */
static dtp_fused_fn_t find_colours(const dtp_program_t *m, const dtp_box_t *box, int nboxes) {
    enum { COLOURS = 3 };
    const dtp_fused_set_t *f = fused_table(m->isa, m->dt[0]);
    if (!f || m->nops != 2 || m->nsteps != 0 || m->dt[0] != dnnl_tp_bf16 || m->dt[1] != dnnl_tp_f32)
        return NULL;
    for (int i = 0; i < nboxes; ++i) {
        const dtp_box_t *b = &box[i];
        const int x = b->nd - 1, y = b->nd - 2;
        if (b->nd < 2 || b->n[x] != COLOURS || b->s[x][0] != 1 || b->s[y][0] != COLOURS || b->s[y][1] != 1 ||
            b->s[x][1] < 2 || b->s[x][1] > INT_MAX)
            return NULL;
    }
    return f->colours;
}

/* A program of one binary step, or of one and a relu, on one type and unit strides. */
static dtp_fused_fn_t find_fused(const dtp_program_t *m) {
    const dtp_program_step_t *s = m->step;
    if (m->arithmetic != dnnl_tp_f32 || m->nops != 3 || m->nsteps < 1 || s[0].kind != DTP_PROGRAM_BINARY ||
        s[0].a != 1 || s[0].b != 2 || s[0].c >= 0)
        return NULL;
    if (m->dt[0] != m->dt[1] || m->dt[0] != m->dt[2]) return NULL;
    for (int i = 0; i < m->nboxes; ++i) {
        const int64_t *sx = dtp_box_sx(&m->box[i].box);
        if (sx[0] != 1 || sx[1] < 0 || sx[1] > 1 || sx[2] < 0 || sx[2] > 1 || sx[1] + sx[2] == 0) return NULL;
    }
    if (m->nsteps == 1) return dtp_program_fused(m->isa, m->dt[0], s[0].alg);
    const dtp_fused_set_t *f = fused_table(m->isa, m->dt[0]);
    if (!f || m->nsteps != 2 || m->dt[0] != dnnl_tp_f32) return NULL;
    if (!is_relu(&s[1])) return NULL;
    return s[0].alg == dnnl_tp_binary_add ? f->relu[0] : s[0].alg == dnnl_tp_binary_mul ? f->relu[1] : NULL;
}

/* A conversion of contiguous rows, with some of the steps of cast.h in their order, each by one number. */
static dtp_cast_fn_t find_cast(dtp_program_t *m, const dtp_box_t *box, int nboxes) {
    static const dnnl_tp_alg_kind_t alg[DTP_CAST_NSTEPS] = {dnnl_tp_binary_sub, dnnl_tp_binary_mul,
                                                            dnnl_tp_binary_div, dnnl_tp_binary_add};
    const dtp_cast_t *table = DTP_BY_ISA(m->isa, &dtp_cast, NULL);
    if (!table || m->moves_bytes || m->arithmetic != dnnl_tp_f32 || m->nops != 2 + m->nsteps ||
        m->nsteps > DTP_CAST_NSTEPS)
        return NULL;
    int next = 0;
    for (int i = 0; i < DTP_CAST_NSTEPS; ++i) {
        const dtp_program_step_t *s = &m->step[next];
        const bool wanted = next < m->nsteps && s->kind == DTP_PROGRAM_BINARY && s->alg == alg[i];
        m->cast_op[i] = wanted ? s->b : -1;
        if (!wanted) continue;
        if (s->y != DTP_PROGRAM_ACC || s->a != (next ? DTP_PROGRAM_ACC : 1) || s->b < 2 || s->b >= m->nops ||
            s->c >= 0)
            return NULL;
        ++next;
    }
    if (next < m->nsteps) return NULL;
    for (int i = 0; i < nboxes; ++i) {
        const dtp_box_t *b = &box[i];
        if (b->nd > 0 && (b->s[b->nd - 1][0] != 1 || b->s[b->nd - 1][1] != 1)) return NULL;
        for (int d = 0; d < b->nd; ++d)
            for (int o = 2; o < m->nops; ++o)
                if (b->s[d][o] != 0) return NULL;
    }
    return table->fn[m->dt[1]][m->dt[0]];
}

/* Gives the two innermost loops to the tile and fixes its sides. */
static void shape_box(dtp_program_t *m, dtp_program_box_t *mb) {
    dtp_box_t *b = &mb->box;
    int x = b->nd - 1, y = b->nd - 2;
    bool cross = false;
    /* The first source whose own fastest loop is another one. */
    for (int o = 1; o < m->nops && !cross && x > 0; ++o) {
        if (b->s[x][o] == 0 || b->s[x][o] == 1) continue;
        for (int d = x - 1; d >= 0 && !cross; --d)
            if (b->s[d][o] == 1 && b->n[d] > 1) y = d, cross = true;
    }
    if (cross && y != b->nd - 2) dtp_boxes_move(b, m->nops, y, b->nd - 2);
    mb->cols = b->nd > 0 ? b->n[b->nd - 1] : 1;
    mb->rows = b->nd > 1 ? b->n[b->nd - 2] : 1;
    mb->nouter = b->nd > 2 ? b->nd - 2 : 0;
    const int64_t *sx = dtp_box_sx(b), *sy = dtp_box_sy(b);
    bool direct = m->moves_bytes || m->nsteps <= 1;
    for (int o = 0; o < m->nops && direct && !m->moves_bytes; ++o) direct = lies(m, o, sx[o]);
    if (m->reads_dst) direct = false;
    if (m->cast || m->fused) direct = true;
    if (m->moves_bytes) {
        mb->move = DTP_MOVE_STRIDED;
        if (sx[0] == 1 && sx[1] == 1) mb->move = DTP_MOVE_ROWS;
        if (sx[0] == 1 && sx[1] != 1 && sy[1] == 1 && mb->rows > 1) mb->move = DTP_MOVE_TRANSPOSE;
    }
    int64_t tile = direct ? DIRECT_TILE : DTP_PROGRAM_TILE;
    if (cross) {
        mb->chunk_x = dtp_min64(mb->cols, CROSS_COLS);
        /* Runs of the source that end within the tile need not be few. */
        if (m->moves_bytes && mb->rows <= CROSS_ROWS / 4) mb->chunk_x = dtp_min64(mb->cols, tile / mb->rows);
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

/* Rows so short that a source which is the same for all of them is better repeated in a buffer. */
static bool repeats(const dtp_program_box_t *mb, int o) {
    const dtp_box_t *b = &mb->box;
    return mb->cols <= DTP_PROGRAM_REPEAT_COLS && mb->rows >= DTP_PROGRAM_REPEAT_ROWS &&
           dtp_box_sx(b)[o] == 1 && dtp_box_sy(b)[o] == 0;
}

static bool repeats_any(const dtp_program_t *m, const dtp_program_box_t *mb) {
    bool any = false;
    for (int o = 1; o < m->nops; ++o) any |= repeats(mb, o);
    return any;
}

/* The one step keeps operand 2, which repeats, in registers. */
static bool repeats_in_registers(const dtp_program_t *m, const dtp_program_box_t *mb) {
    const int64_t *sy = dtp_box_sy(&mb->box);
    return repeats(mb, 2) && m->nops == 3 && m->nsteps == 1 && m->step[0].kind == DTP_PROGRAM_BINARY &&
           m->step[0].b == 2 && m->arithmetic == dnnl_tp_f32 && m->isa && REPEATED % mb->cols == 0 &&
           sy[0] == mb->cols && sy[1] == mb->cols;
}

/* Short rows of the destination that share lines. A shared line is fetched before it is stored to, and stores wait for
 * the ones before them: with non-temporal stores between, each row would wait for memory. */
static bool shares_lines(const dtp_program_t *m, const dtp_program_box_t *mb) {
    const int64_t size = (int64_t)m->size[0], row = mb->cols * size, ld = dtp_box_sy(&mb->box)[0] * size;
    return mb->rows > 1 && row < SHARED_ROW && (row % DTP_CACHE_LINE || ld % DTP_CACHE_LINE);
}

/* Some tile needs buffers. */
static bool needs_buffers(const dtp_program_t *m) {
    if (m->moves_bytes || m->fused || m->cast) return false;
    if (m->nsteps > 1 || m->reads_dst) return true;
    for (int i = 0; i < m->nboxes; ++i) {
        const dtp_box_t *b = &m->box[i].box;
        for (int o = 0; o < m->nops; ++o)
            if (!lies(m, o, dtp_box_sx(b)[o])) return true;
        if (dtp_box_sx(b)[0] == 0) return true;
        if (repeats_any(m, &m->box[i]) && !repeats_in_registers(m, &m->box[i])) return true;
    }
    return false;
}

/* Fixes the one call of a program of one tile. */
static void plan_once(dtp_program_t *m) {
    const dtp_program_box_t *mb = &m->box[0];
    m->once = DTP_PROGRAM_TILES;
    if (m->nunits != 1 || m->nzero > 0 || mb->depth > 0 || m->stream || m->nops > 3) return;
    const int64_t *sx = dtp_box_sx(&mb->box), *sy = dtp_box_sy(&mb->box), size = (int64_t)m->size[0];
    for (int o = 0; o < m->nops; ++o) m->once_off[o] = mb->box.off[o] * (int64_t)m->size[o];
    if (m->moves_bytes && mb->move == DTP_MOVE_ROWS && mb->fill == 0) {
        m->once = DTP_PROGRAM_ONE_ROWS;
        m->once_args.move.ldd = sy[0] * size;
        m->once_args.move.lds = sy[1] * size;
        m->once_args.move.rows = mb->rows;
        m->once_args.move.cols = mb->cols * size;
    } else if (m->moves_bytes && mb->move == DTP_MOVE_TRANSPOSE) {
        m->once = DTP_PROGRAM_ONE_TRANSPOSE;
        m->once_args.move.ldd = sy[0];
        m->once_args.move.lds = sx[1];
        m->once_args.move.rows = mb->rows;
        m->once_args.move.cols = mb->cols;
        m->once_args.move.fill = mb->fill;
    } else if (m->one_binary && mb->fill == 0) {
        m->once = DTP_PROGRAM_ONE_BINARY;
        m->once_args.binary = (dtp_binary_args_t){.ld0 = sy[1],
                                                  .ld1 = sy[2],
                                                  .ldy = sy[0],
                                                  .rows = mb->rows,
                                                  .cols = mb->cols,
                                                  .cs0 = (int)sx[1],
                                                  .cs1 = (int)sx[2]};
    } else if (m->fused && m->nops == 3 && mb->fill == 0) {
        m->once = DTP_PROGRAM_ONE_FUSED;
        m->once_args.fused = (dtp_fused_args_t){.ld0 = sy[1],
                                                .ld1 = sy[2],
                                                .ldy = sy[0],
                                                .rows = mb->rows,
                                                .cols = mb->cols,
                                                .cs0 = (int)sx[1],
                                                .cs1 = (int)sx[2]};
    } else if (m->cast && m->nsteps == 0 && mb->fill == 0) {
        m->once = DTP_PROGRAM_ONE_CAST;
        m->once_args.cast = (dtp_cast_args_t){NULL, NULL, sy[1], sy[0], mb->rows, mb->cols, NULL, 0};
    }
}

static double touched_bytes(const dtp_program_t *m, const dtp_box_t *box, int nboxes) {
    double all = 0;
    for (int i = 0; i < nboxes; ++i)
        for (int o = 0; o < m->nops; ++o) {
            double bytes = (double)m->size[o];
            for (int d = 0; d < box[i].nd; ++d) bytes *= box[i].s[d][o] ? (double)box[i].n[d] : 1;
            all += bytes;
        }
    return all;
}

bool dtp_program_cut(dtp_program_t *m, const dtp_pd_t *pd, const dtp_md_t *const *md, bool pads) {
    static const dnnl_tp_dims_t zero;
    const dtp_md_t *dst = md[0];
    const int64_t *dims = dst->dims;
    dtp_box_t box[DTP_BOXES_MAX];
    m->once = DTP_PROGRAM_TILES;
    m->nboxes = m->nzero = 0;
    m->nunits = 0;
    m->grain = 1;
    m->moves_bytes = m->nsteps == 0 && m->dt[0] == m->dt[1];
    /* Boxes of the tail that the tiles fill come last. */
    int fd = pads ? fill_dim(dst) : -1, n, tail = 0;
    if (fd >= 0) {
        dnnl_tp_dims_t at;
        const int64_t block = dtp_md_block_of(dst, fd), cut = dims[fd] / block * block;
        memcpy(at, dims, sizeof at);
        at[fd] = cut;
        n = dtp_boxes_cut(box, DTP_BOXES_MAX, dst->ndims, dims, zero, at, m->nops, md);
        if (n < 0) return false;
        memset(at, 0, sizeof at);
        at[fd] = cut;
        tail = dtp_boxes_cut(box + n, DTP_BOXES_MAX - n, dst->ndims, dims, at, dims, m->nops, md);
    } else {
        n = dtp_boxes_cut_all(box, dst->ndims, dims, m->nops, md);
    }
    if (n < 0 || tail < 0) return false;
    const int64_t tail_n = fd >= 0 ? dst->dims[fd] % dtp_md_block_of(dst, fd) : 0;
    for (int i = 0; i < n + tail; ++i) {
        dtp_box_t *b = &box[i];
        dtp_boxes_order(b, m->nops, 0);
        if (i >= n && (b->nd == 0 || b->n[b->nd - 1] != tail_n || b->s[b->nd - 1][0] != 1)) fd = -1;
    }
    m->stream = dtp_exceeds_caches(touched_bytes(m, box, n + tail), pd->engine->l3_bytes);
    m->cast = find_cast(m, box, n + tail);
    m->fused = find_affine(m, box, n + tail);
    if (!m->fused) m->fused = find_colours(m, box, n + tail);
    double elems = 0, bytes_each = 0;
    for (int o = 0; o < m->nops; ++o) bytes_each += (double)m->size[o];
    for (int i = 0; i < n + tail; ++i) {
        dtp_program_box_t *mb = &m->box[m->nboxes++];
        mb->box = box[i];
        mb->fill = i >= n && fd >= 0 ? dtp_md_block_of(dst, fd) - tail_n : 0;
        shape_box(m, mb);
        mb->first_unit = m->nunits;
        m->nunits += dtp_boxes_count(&mb->box, 0, mb->nouter) * mb->ny * mb->nx;
        elems += (double)dtp_boxes_count(&mb->box, 0, mb->box.nd);
    }
    if (m->nunits > 0)
        m->grain =
            dtp_grain(elems / (double)m->nunits * (bytes_each * NS_PER_BYTE + m->nsteps * NS_PER_STEP));
    for (int i = 0; i < m->nboxes && !m->moves_bytes; ++i)
        m->stream &= !shares_lines(m, &m->box[i]) || repeats_any(m, &m->box[i]);
    if (!m->fused) m->fused = find_fused(m);
    m->buffers = needs_buffers(m);
    m->one_binary = !m->buffers && !m->fused && !m->cast && m->nops == 3 && m->nsteps == 1 &&
                    m->step[0].kind == DTP_PROGRAM_BINARY;
    if (pads && dtp_md_is_padded(dst)) {
        m->nzero = dtp_boxes_cut_padding(m->zero, DTP_BOXES_MAX, dst, fd);
        if (m->nzero < 0) return false;
        for (int i = 0; i < m->nzero; ++i) dtp_boxes_order(&m->zero[i], 1, 0);
    }
    plan_once(m);
    return true;
}

size_t dtp_program_used(const void *program) {
    const dtp_program_t *m = program;
    return m->nzero ? offsetof(dtp_program_t, zero) + sizeof *m->zero * (size_t)m->nzero
                    : offsetof(dtp_program_t, box) + sizeof *m->box * (size_t)m->nboxes;
}

size_t dtp_program_slot_bytes(const dtp_program_t *m) {
    /* One per operand (the destination's holds its old value), one for ACC, one to turn tiles in. */
    return m->buffers ? (size_t)(m->nops + 2) * (size_t)(DTP_PROGRAM_TILE * m->word) : 0;
}

dnnl_tp_status_t dtp_program_plan(dtp_program_t *m, dtp_pd_t *pd, const dtp_md_t *const *md) {
    DTP_DISPATCH(dtp_program_cut(m, pd, md, true), UNSUPPORTED_LAYOUT);
    dtp_pd_book(pd, 0, dtp_program_slot_bytes(m));
    return dnnl_tp_success;
}
