/* Memory objects. */
#ifndef DTP_COMMON_PRIMITIVE_MEMORY_H
#define DTP_COMMON_PRIMITIVE_MEMORY_H

#include "common/primitive/engine.h"
#include "common/layout/memory_desc.h"

struct dnnl_tp_memory {
    dtp_object_t obj;
    dnnl_tp_engine_t engine; /* retained; NULL: a host scalar */
    void *handle;
    size_t bytes;      /* dtp_md_size(&md) */
    uint64_t identity; /* dtp_md_identity(&md) with the engine's device */
    void *owned;       /* the library's buffer or NULL */
    uint64_t scalar;   /* bytes of a host scalar, at handle */
    dtp_md_t md;
};

#endif
