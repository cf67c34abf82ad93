/* What the product's source needs from the ground floor when it runs under the model checker: memory comes
 * from the execution's arena, errors are their status. Included once per check, after its source. */
#ifndef DTP_MODEL_PRODUCT_H
#define DTP_MODEL_PRODUCT_H

#include "common/base/base.h"

const dnnl_tp_allocator_t *dtp_process_allocator(void) {
    static const dnnl_tp_allocator_t none;
    return &none;
}
void *dtp_zalloc(const dnnl_tp_allocator_t *allocator, size_t size, size_t alignment) {
    (void)allocator, (void)alignment;
    return mc_alloc(size);
}
void *dtp_alloc(const dnnl_tp_allocator_t *allocator, size_t size, size_t alignment) {
    return dtp_zalloc(allocator, size, alignment);
}
void dtp_free(const dnnl_tp_allocator_t *allocator, void *ptr) {
    (void)allocator;
    mc_free(ptr);
}
dnnl_tp_status_t dtp_no_memory(size_t bytes) {
    (void)bytes;
    return dnnl_tp_out_of_memory;
}
void dtp_failed_in(const char *function) { (void)function; }
const char *dtp_said(dnnl_tp_status_t status) {
    (void)status;
    return NULL;
}
dnnl_tp_status_t dtp_fail(dnnl_tp_status_t status, dtp_reason_t reason, const char *format, ...) {
    (void)reason, (void)format;
    return status;
}
const char *dnnl_tp_last_error(void) { return ""; }
const char *dtp_last_text(void) { return ""; }
const char *dtp_last_detail(void) { return ""; }
const char *dnnl_tp_status2str(dnnl_tp_status_t status) {
    (void)status;
    return "";
}

#endif
