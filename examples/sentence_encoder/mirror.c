/* See mirror.h. A reorder between memories of two engines is how data reach a GPU in the order of a stream. */
#include "mirror.h"

static dnnl_tp_status_t create_copy(se_mirror_t *m, const_dnnl_tp_memory_desc_t md, dnnl_tp_engine_t host,
                                    dnnl_tp_engine_t device) {
    dnnl_tp_primitive_desc_t pd;
    const int up = m->direction == SE_TO_DEVICE;
    dnnl_tp_status_t status =
        dnnl_tp_reorder_primitive_desc_create(&pd, md, up ? host : device, md, up ? device : host, NULL);
    if (status != dnnl_tp_success) return status;
    status = dnnl_tp_primitive_create(&m->copy, pd);
    dnnl_tp_primitive_desc_destroy(pd);
    return status;
}

int se_mirror_init(se_mirror_t *m, dnnl_tp_engine_t host, dnnl_tp_engine_t device, se_direction_t direction,
                   dnnl_tp_data_type_t type, void *buffer, size_t n, se_error_t *error) {
    const dnnl_tp_dims_t dims = {(int64_t)n};
    dnnl_tp_memory_desc_t md;
    *m = (se_mirror_t){.direction = direction};
    dnnl_tp_status_t status = dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, type, dnnl_tp_a);
    if (status == dnnl_tp_success) status = dnnl_tp_memory_create(&m->host, md, host, buffer);
    if (status == dnnl_tp_success)
        status = dnnl_tp_memory_create(&m->device, md, device, DNNL_TP_MEMORY_ALLOCATE);
    if (status == dnnl_tp_success) status = dnnl_tp_memory_get_data_handle(m->device, &m->at);
    if (status == dnnl_tp_success) status = create_copy(m, md, host, device);
    if (md) dnnl_tp_memory_desc_destroy(md);
    if (status == dnnl_tp_success) return 0;
    se_fail(error, "cannot make a buffer on the GPU: %s: %s", dnnl_tp_status2str(status),
            dnnl_tp_last_error());
    se_mirror_destroy(m);
    return -1;
}

int se_mirror_copy(const se_mirror_t *m, dnnl_tp_stream_t stream, se_error_t *error) {
    const int up = m->direction == SE_TO_DEVICE;
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, up ? m->host : m->device},
                                       {DNNL_TP_ARG_DST, up ? m->device : m->host}};
    const dnnl_tp_status_t status = dnnl_tp_primitive_execute(m->copy, stream, 2, args);
    if (status == dnnl_tp_success) return 0;
    return se_fail(error, "copy %s the GPU: %s: %s", up ? "to" : "from", dnnl_tp_status2str(status),
                   dnnl_tp_last_error());
}

void se_mirror_destroy(se_mirror_t *m) {
    if (m->copy) dnnl_tp_primitive_destroy(m->copy);
    if (m->device) dnnl_tp_memory_destroy(m->device);
    if (m->host) dnnl_tp_memory_destroy(m->host);
    *m = (se_mirror_t){0};
}
