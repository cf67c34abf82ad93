/* What the parts of the far engine share. */
#ifndef TESTS_SUPPORT_FAR_PARTS_H
#define TESTS_SUPPORT_FAR_PARTS_H

#include "common/primitive/primitive_desc.h"
#include "support/far_engine/far_engine.h"

/* Tells what is wrong and ends the process: such a test has found something. */
void far_wrong(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

typedef struct {
    struct dnnl_tp_engine base;
    far_engine_own_t own;
    size_t used; /* under the lock of far_memory.c */
} far_engine_t;

/* far_memory.c */
void *far_alloc(dnnl_tp_engine_t engine, size_t bytes, bool zeroed);
void far_free(dnnl_tp_engine_t engine, void *handle);
dnnl_tp_status_t far_map(dnnl_tp_engine_t engine, void *handle, size_t bytes, void **mapped);
dnnl_tp_status_t far_write(dnnl_tp_engine_t engine, void *handle, const void *data, size_t bytes);
dnnl_tp_status_t far_unmap(dnnl_tp_engine_t engine, void *handle, size_t bytes, void *mapped);
/* Where the engine's threads find bytes that begin at handle, all in one block of the device; ends the process. */
void *far_translate(size_t device, const void *handle, size_t bytes, const char *what);

/* far_stream.c */
dnnl_tp_status_t far_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags,
                                   const dtp_stream_attr_t *attr);
dnnl_tp_status_t far_sync(dnnl_tp_engine_t engine, struct dtp_sync *sync);
dnnl_tp_status_t far_zero_pad(dnnl_tp_stream_t stream, const dtp_md_t *md, void *handle);
dnnl_tp_status_t far_copy(dnnl_tp_stream_t stream, dtp_copy_t how, void *to, const void *from, size_t bytes);
void far_count_execution(void);
void far_count_copy(void);

/* far_engine.c: of a primitive of the far engine, before it is executed. */
void far_check_constants(const dtp_primitive_t *primitive);

#endif
