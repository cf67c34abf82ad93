/* The kind of a number, the work of a problem, and cache keys from its field table. Verbose text is in verbose_text.c. */
#include "common/primitive/op_desc.h"

#include "common/base/base.h"

const dtp_op_info_t *dtp_op_info(dnnl_tp_primitive_kind_t kind) {
#define DTP_KIND(name, number) \
    if ((int)kind == (int)(number)) return &dtp_##name##_info;
#include "common/primitive/kinds.inc"
    return NULL;
}

int dtp_op_args(const dtp_op_info_t *info, const dtp_op_desc_t *op, dtp_pd_arg_t *out) {
    if (info->args) return info->args(op, out);
    int n = 0;
    for (const dtp_field_t *f = info->fields; f < info->fields + info->nfields; ++f) {
        const dtp_md_t *md = (const dtp_md_t *)(const void *)((const char *)op + f->offset);
        const int count = f->flags ? dtp_field_count(f, op) : 0;
        for (int i = 0; out && i < count; ++i) out[n + i] = (dtp_pd_arg_t){f->arg + i, f->flags, md + i};
        n += count;
    }
    return n;
}

/* ---- Work -------------------------------------------------------------------------------------------- */

double dtp_md_moved(const dtp_md_t *md) {
    return md ? (double)dtp_md_nelems(md) * (double)dtp_type_size(md->data_type) : 0.;
}

dtp_op_work_t dtp_op_work(const dtp_op_info_t *info, const dtp_op_desc_t *op, const dtp_pd_arg_t *arg,
                          int nargs) {
    dtp_op_work_t work = {0};
    for (int i = 0; i < nargs; ++i) work.bytes += dtp_md_moved(arg[i].md);
    if (info->work) info->work(op, arg, &work);
    return work;
}

void dtp_op_work_post_op(dtp_op_work_t *work, dnnl_tp_primitive_kind_t kind, const dtp_md_t *dst,
                         const dtp_md_t *src1, const dtp_md_t *src2) {
    work->flops += (kind == dnnl_tp_eltwise ? (double)DTP_ELTWISE_FLOPS
                    : kind == dnnl_tp_sum   ? 2.
                                            : 1.) *
                   (double)dtp_md_nelems(dst);
    work->bytes += dtp_md_moved(src1) + dtp_md_moved(src2) + (kind == dnnl_tp_sum ? dtp_md_moved(dst) : 0.);
}

double dtp_op_work_ns(const dtp_op_work_t *work) {
    const double flops_per_ns = 100., bytes_per_ns = 10., fixed_ns = 100.;
    const double compute = (work->flops + work->idle) / flops_per_ns, memory = work->bytes / bytes_per_ns;
    return fixed_ns + (compute > memory ? compute : memory);
}

/* ---- Keys -------------------------------------------------------------------------------------------- */

void dtp_bytes_init(dtp_bytes_t *b) {
    b->data = b->room;
    b->size = 0;
    b->capacity = sizeof b->room;
    b->failed = false;
}

void dtp_bytes_put(dtp_bytes_t *b, const void *data, size_t size) {
    if (b->failed) return;
    if (b->capacity - b->size < size) {
        size_t capacity = 2 * (b->capacity + size);
        uint8_t *grown = dtp_alloc(NULL, capacity, 16);
        if (!grown) {
            b->failed = true;
            return;
        }
        memcpy(grown, b->data, b->size);
        dtp_bytes_free(b);
        b->data = grown;
        b->capacity = capacity;
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void dtp_bytes_free(dtp_bytes_t *b) {
    if (b->data != b->room) dtp_free(NULL, b->data);
    b->data = b->room;
}

void dtp_md_serialise(dtp_bytes_t *b, const dtp_md_t *md) {
    int32_t head[4] = {md->ndims, md->data_type, md->format_kind, md->inner_nblks};
    dtp_bytes_put(b, head, sizeof head);
    if (md->ndims == 0) return;
    size_t dims = sizeof(int64_t) * (size_t)md->ndims, blks = sizeof(int64_t) * (size_t)md->inner_nblks;
    dtp_bytes_put(b, md->dims, dims);
    dtp_bytes_put(b, &md->opaque, sizeof md->opaque);
    if (md->format_kind != dnnl_tp_blocked) return;
    dtp_bytes_put(b, md->padded_dims, dims);
    dtp_bytes_put(b, md->strides, dims);
    dtp_bytes_put(b, &md->offset0, sizeof md->offset0);
    dtp_bytes_put(b, md->inner_blks, blks);
    dtp_bytes_put(b, md->inner_idxs, blks);
    int64_t extra[3] = {(int64_t)md->extra.flags, md->extra.compensation_mask,
                        md->extra.asymm_compensation_mask};
    dtp_bytes_put(b, extra, sizeof extra);
}

void dtp_op_serialise(dtp_bytes_t *b, const dtp_op_desc_t *op) {
    const dtp_op_info_t *info = dtp_op_info(op->kind);
    dtp_bytes_put(b, &op->kind, sizeof op->kind);
    for (int f = 0; f < info->nfields; ++f) {
        const dtp_field_t *field = &info->fields[f];
        const char *at = (const char *)op + field->offset;
        const int n = dtp_field_count(field, op);
        switch (field->type) {
        case DTP_FIELD_S32:
        case DTP_FIELD_F32: dtp_bytes_put(b, at, 4); break;
        case DTP_FIELD_S64: dtp_bytes_put(b, at, 8); break;
        case DTP_FIELD_F32S: dtp_bytes_put(b, at, sizeof(float) * (size_t)n); break;
        case DTP_FIELD_DIMS: dtp_bytes_put(b, at, sizeof(int64_t) * (size_t)n); break;
        case DTP_FIELD_MD:
        case DTP_FIELD_MD_ARRAY:
            for (int i = 0; i < n; ++i) dtp_md_serialise(b, (const dtp_md_t *)(const void *)at + i);
            break;
        case DTP_FIELD_F32_ARRAY:
            dtp_bytes_put(b, at + sizeof(dtp_md_t) * (size_t)n, sizeof(float) * (size_t)n);
            break;
        }
    }
}
