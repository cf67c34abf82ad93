/* Concat: every source goes to its window of dst.
 *
 * Where sources and dst are dense, of one type and the parts inside the axis have one layout, the windows are
 * runs of bytes at regular distances and are copied row by row of dst. Everything else is one element-wise
 * program per source (cpu/elementwise/program.h), made at execution in booked scratch: it needs about a microsecond per
 * source. */
#include "cpu/concat/concat.h"

#include "common/layout/zero_pad.h"
#include "cpu/elementwise/program.h"
#include "threading/base/parallel.h"

#define NS_PER_BYTE 0.012

typedef struct {
    bool runs, stream;
    int64_t rows, row_bytes; /* of dst: iterations outside the axis, bytes of one */
    int64_t unit;            /* bytes per step of the axis's outer stride */
    int64_t block;           /* elements of the axis in such a step */
    const dtp_move_t *moves;
} concat_plan_t;

int64_t dtp_concat_start(const dtp_concat_desc_t *op, int i) {
    int64_t at = 0;
    for (int k = 0; k < i; ++k) at += op->src[k].dims[op->axis];
    return at;
}

/* Every source's window begins at a whole block of md. */
static bool starts_fit(const dtp_concat_desc_t *op, const dtp_md_t *md) {
    const int64_t block = dtp_md_block_of(md, op->axis);
    for (int i = 1; i < op->n; ++i)
        if (dtp_concat_start(op, i) % block != 0) return false;
    return true;
}

dnnl_tp_status_t dtp_concat_check(dtp_pd_t *pd) {
    dtp_concat_desc_t *op = (dtp_concat_desc_t *)pd->op;
    /* Other types than those of f32's tables are moved only. */
    const bool moves = op->src[0].data_type == op->dst.data_type && dtp_attr_only(pd->attr, 0);
    DTP_DISPATCH(moves || (dtp_vops_takes(op->dst.data_type) && dtp_vops_takes(op->src[0].data_type)),
                 UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, DTP_ATTR_SCALES), UNSUPPORTED_ATTR);
    for (int i = 0; i < pd->attr->n_scales; ++i) {
        const dtp_quant_t *q = &pd->attr->scales[i];
        const int k = q->arg - DNNL_TP_ARG_MULTIPLE_SRC;
        DTP_DISPATCH(k >= 0 && k < op->n && q->mask == 0 && q->group_ndims == 0, UNSUPPORTED_SCALES);
    }
    if (dtp_md_is_any(&op->dst)) {
        if (starts_fit(op, &op->src[0])) dtp_boxes_layout_like(&op->dst, &op->src[0]);
        else dtp_md_make_plain(&op->dst);
    }
    return dnnl_tp_success;
}

/* Bytes run through in one piece per source and row. */
static bool make_runs(concat_plan_t *plan, const dtp_pd_t *pd) {
    const dtp_concat_desc_t *op = (const dtp_concat_desc_t *)pd->op;
    const dtp_md_t *dst = &op->dst;
    const int axis = op->axis;
    if (pd->attr->n_scales > 0 || op->src[0].data_type != dst->data_type) return false;
    if (!dtp_md_is_dense(dst) || dtp_md_is_padded(dst)) return false;
    if (!starts_fit(op, dst)) return false;
    const int64_t step = dst->strides[axis], block = dtp_md_block_of(dst, axis);
    int64_t inside = 1, rows = 1;
    for (int d = 0; d < dst->ndims; ++d) {
        const int64_t n = dst->dims[d] / dtp_md_block_of(dst, d);
        if (d == axis || n == 1) continue;
        if (dst->strides[d] < step) inside *= n;
        else rows *= n;
    }
    for (int b = 0; b < dst->inner_nblks; ++b) inside *= dst->inner_blks[b];
    if (inside != step) return false;
    const int64_t row = dst->dims[axis] / block * step;
    for (int i = 0; i < op->n; ++i) {
        const dtp_md_t *s = &op->src[i];
        if (!dtp_md_is_dense(s) || dtp_md_is_padded(s) || s->inner_nblks != dst->inner_nblks) return false;
        for (int b = 0; b < s->inner_nblks; ++b)
            if (s->inner_blks[b] != dst->inner_blks[b] || s->inner_idxs[b] != dst->inner_idxs[b])
                return false;
        const int64_t run = s->dims[axis] / block * step;
        for (int d = 0; d < dst->ndims; ++d) {
            const int64_t n = dst->dims[d] / dtp_md_block_of(dst, d);
            if (d == axis) {
                if (s->dims[d] > block && s->strides[d] != step) return false;
            } else if (n > 1 && dst->strides[d] < step) {
                if (s->strides[d] != dst->strides[d]) return false;
            } else if (n > 1) {
                /* An outer loop: strides grow with the run. */
                if (run > 0 && s->strides[d] != dst->strides[d] / row * run) return false;
                if (dst->strides[d] % row != 0) return false;
            }
        }
    }
    const int64_t size = (int64_t)dtp_type_size(dst->data_type);
    plan->rows = rows;
    plan->row_bytes = row * size;
    plan->unit = step * size;
    plan->block = block;
    return true;
}

/* dst as source i sees it: its window, dims of the source. */
static void window(const dtp_concat_desc_t *op, int i, dtp_md_t *md) {
    *md = op->dst;
    md->offset0 += dtp_concat_start(op, i) / dtp_md_block_of(md, op->axis) * md->strides[op->axis];
    md->dims[op->axis] = op->src[i].dims[op->axis];
}

static bool make_program(dtp_program_t *m, const dtp_pd_t *pd, int i) {
    const dtp_concat_desc_t *op = (const dtp_concat_desc_t *)pd->op;
    const int src_arg = DTP_CONCAT_SRC + i;
    dtp_md_t win, one;
    window(op, i, &win);
    const dtp_md_t *md[DTP_BOXES_OPS] = {&win, &op->src[i]};
    dtp_program_begin(m, dtp_pd_isa(pd), op->dst.data_type, DTP_CONCAT_DST, op->src[i].data_type, src_arg);
    const dtp_quant_t *q = dtp_attr_scale(pd->attr, DNNL_TP_ARG_MULTIPLE_SRC + i);
    if (q) {
        int o = dtp_program_operand(m, q->data_type, dtp_pd_scale_index(pd, DNNL_TP_ARG_MULTIPLE_SRC + i));
        dtp_md_init_masked(&one, win.ndims, win.dims, 0);
        md[o] = &one;
        if (!dtp_program_binary(m, DTP_PROGRAM_ACC, 1, o, -1, dnnl_tp_binary_mul)) return false;
    }
    return dtp_program_cut(m, pd, md, false);
}

static dnnl_tp_status_t concat_pd_init(dtp_pd_t *pd) {
    concat_plan_t *plan = pd->plan;
    const dtp_concat_desc_t *op = (const dtp_concat_desc_t *)pd->op;
    DTP_TRY(dtp_concat_check(pd));
    plan->moves = dtp_moves(dtp_pd_isa(pd));
    plan->runs = make_runs(plan, pd);
    if (plan->runs) {
        plan->stream =
            dtp_exceeds_caches(2.0 * (double)plan->rows * (double)plan->row_bytes, pd->engine->l3_bytes);
        return dnnl_tp_success;
    }
    DTP_DISPATCH(starts_fit(op, &op->dst), UNSUPPORTED_LAYOUT);
    dtp_program_t program;
    for (int i = 0; i < op->n; ++i) DTP_DISPATCH(make_program(&program, pd, i), UNSUPPORTED_LAYOUT);
    dtp_pd_book(pd, sizeof(dtp_program_t), (DTP_BOXES_OPS + 2) * DTP_PROGRAM_TILE * sizeof(float));
    return dnnl_tp_success;
}

static void concat_rows(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *e = arg;
    const dtp_concat_desc_t *op = (const dtp_concat_desc_t *)e->pd->op;
    const concat_plan_t *plan = e->pd->plan;
    const int64_t size = (int64_t)dtp_type_size(op->dst.data_type);
    char *dst = (char *)e->ctx->ptr[DTP_CONCAT_DST] + op->dst.offset0 * size + begin * plan->row_bytes;
    (void)slot;
    for (int i = 0; i < op->n; ++i) {
        const int64_t run = op->src[i].dims[op->axis] / plan->block * plan->unit;
        if (run == 0) continue;
        const char *src =
            (const char *)e->ctx->ptr[DTP_CONCAT_SRC + i] + op->src[i].offset0 * size + begin * run;
        plan->moves->rows(dst, plan->row_bytes, src, run, end - begin, run, plan->stream);
        dst += run;
    }
}

/* Few long rows: units are pieces of PIECE bytes of the runs. */
#define PIECE (64 * 1024)

static void concat_pieces(void *arg, int slot, int64_t begin, int64_t end) {
    const dtp_job_t *e = arg;
    const dtp_concat_desc_t *op = (const dtp_concat_desc_t *)e->pd->op;
    const concat_plan_t *plan = e->pd->plan;
    const int64_t size = (int64_t)dtp_type_size(op->dst.data_type);
    (void)slot;
    int64_t unit = 0, at = 0;
    char *dst = (char *)e->ctx->ptr[DTP_CONCAT_DST] + op->dst.offset0 * size;
    for (int i = 0; i < op->n && unit < end; ++i) {
        const int64_t run = op->src[i].dims[op->axis] / plan->block * plan->unit,
                      pieces = dtp_div_up(run, PIECE);
        const char *src = (const char *)e->ctx->ptr[DTP_CONCAT_SRC + i] + op->src[i].offset0 * size;
        for (int64_t u = dtp_max64(begin, unit); u < dtp_min64(end, unit + pieces * plan->rows); ++u) {
            const int64_t row = (u - unit) / pieces, p = (u - unit) % pieces * PIECE;
            plan->moves->rows(dst + row * plan->row_bytes + at + p, 0, src + row * run + p, 0, 1,
                              dtp_min64(PIECE, run - p), plan->stream);
        }
        unit += pieces * plan->rows;
        at += run;
    }
}

static dnnl_tp_status_t concat_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_concat_desc_t *op = (const dtp_concat_desc_t *)pd->op;
    const concat_plan_t *plan = pd->plan;
    if (plan->runs) {
        dtp_job_t e = {pd, ctx};
        if (plan->row_bytes < PIECE) {
            dtp_parallel_for(ctx->par, plan->rows, dtp_grain((double)plan->row_bytes * 2 * NS_PER_BYTE),
                             concat_rows, &e);
            return dnnl_tp_success;
        }
        int64_t units = 0;
        for (int i = 0; i < op->n; ++i)
            units += dtp_div_up(op->src[i].dims[op->axis] / plan->block * plan->unit, PIECE) * plan->rows;
        dtp_parallel_for(ctx->par, units, dtp_grain(PIECE * 2 * NS_PER_BYTE), concat_pieces, &e);
        return dnnl_tp_success;
    }
    dtp_program_t *program = (dtp_program_t *)(void *)ctx->scratch;
    for (int i = 0; i < op->n; ++i) {
        if (!make_program(program, pd, i))
            return dtp_fail(dnnl_tp_runtime_error, DTP_UNSUPPORTED_LAYOUT, "source %d", i);
        dtp_program_run_args(program, pd, ctx);
    }
    if (dtp_md_is_padded(&op->dst)) dtp_zero_pad(&op->dst, ctx->ptr[DTP_CONCAT_DST]);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(concat, "simd", .plan_size = sizeof(concat_plan_t), .pd_init = concat_pd_init,
                      .execute = concat_execute);
