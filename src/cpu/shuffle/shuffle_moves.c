/* Shuffle as moves of bytes: the axis, where it is not blocked, is two dims of a program of element-wise moves, and
 * dst's are src's the other way round. Any element size and any layouts that have common boxes. */
#include "cpu/elementwise/program.h"
#include "cpu/shuffle/shuffle.h"

/* md with the axis as outer x inner, of these strides. */
static void split_axis(dtp_md_t *to, const dtp_md_t *md, int axis, int64_t outer, int64_t inner,
                       int64_t outer_stride, int64_t inner_stride) {
    *to = *md;
    to->ndims = md->ndims + 1;
    for (int d = axis + 1; d < md->ndims; ++d) {
        to->dims[d + 1] = md->dims[d];
        to->padded_dims[d + 1] = md->padded_dims[d];
        to->padded_offsets[d + 1] = md->padded_offsets[d];
        to->strides[d + 1] = md->strides[d];
    }
    to->dims[axis] = to->padded_dims[axis] = outer;
    to->dims[axis + 1] = to->padded_dims[axis + 1] = inner;
    to->padded_offsets[axis] = to->padded_offsets[axis + 1] = 0;
    to->strides[axis] = outer_stride;
    to->strides[axis + 1] = inner_stride;
    for (int b = 0; b < md->inner_nblks; ++b) to->inner_idxs[b] += md->inner_idxs[b] > axis;
}

static dnnl_tp_status_t shuffle_moves_pd_init(dtp_pd_t *pd) {
    const dtp_shuffle_desc_t *d = (const dtp_shuffle_desc_t *)pd->op;
    dtp_program_t *program = pd->plan;
    DTP_DISPATCH(d->src.ndims < DNNL_TP_MAX_NDIMS, UNSUPPORTED_SHAPE);
    DTP_TRY(dtp_shuffle_check(pd));
    const dtp_md_t *const given[] = {&d->dst, &d->src};
    for (int i = 0; i < 2; ++i)
        DTP_DISPATCH(dtp_md_block_of(given[i], d->axis) == 1 &&
                         given[i]->padded_dims[d->axis] == given[i]->dims[d->axis],
                     UNSUPPORTED_LAYOUT);
    const int64_t group = d->group_size, rows = d->src.dims[d->axis] / group,
                  src_stride = d->src.strides[d->axis], dst_stride = d->dst.strides[d->axis];
    dtp_md_t dst, src;
    split_axis(&dst, &d->dst, d->axis, group, rows, rows * dst_stride, dst_stride);
    split_axis(&src, &d->src, d->axis, group, rows, src_stride, group * src_stride);
    const dtp_md_t *md[DTP_BOXES_OPS] = {&dst, &src};
    dtp_program_begin(program, dtp_pd_isa(pd), dst.data_type, DTP_SHUFFLE_DST, src.data_type,
                      DTP_SHUFFLE_SRC);
    return dtp_program_plan(program, pd, md);
}

DTP_CPU_IMPLS_AND_ANY(shuffle_moves, "moves", DTP_PROGRAM_PLAN, .pd_init = shuffle_moves_pd_init,
                      .execute = dtp_program_execute);
