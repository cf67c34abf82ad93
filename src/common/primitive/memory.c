/* Memory objects: a descriptor and a buffer, the library's or the caller's. What is done with the bytes is in the
 * engine's table. */
#include "common/primitive/memory.h"

/* Bytes behind the handle that belong to the memory. */
static size_t bytes_of(const struct dnnl_tp_memory *memory) {
    return memory->bytes + ((size_t)memory->md.offset0 * (size_t)dtp_type_bits(memory->md.data_type) + 7) / 8;
}

static void memory_destroy(dtp_object_t *obj) {
    struct dnnl_tp_memory *memory = (struct dnnl_tp_memory *)obj;
    if (memory->engine) memory->engine->v->free(memory->engine, memory->owned);
    dtp_object_release(memory->engine);
}

static dnnl_tp_status_t require_no_scalar(const struct dnnl_tp_memory *memory) {
    DTP_REQUIRE(memory->engine, BAD_ENGINE, "the memory is a host scalar");
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_create(dnnl_tp_memory_t *memory, const_dnnl_tp_memory_desc_t memory_desc,
                                       dnnl_tp_engine_t engine, void *handle) {
    DTP_OUT(memory, NULL);
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    const dtp_md_t *md = memory_desc ? memory_desc : &dtp_md_zero;
    DTP_REQUIRE(dtp_md_is_zero(md) || !dtp_md_is_any(md), ANY_NOT_ALLOWED, "in a memory object");
    DTP_REQUIRE(!dtp_md_is_host_scalar(md), BAD_TAG,
                "a host scalar: dnnl_tp_memory_create_host_scalar makes one");
    DTP_REQUIRE(dtp_md_is_zero(md) || !dtp_md_has_runtime(md), RUNTIME_NOT_ALLOWED, "in a memory object");
    struct dnnl_tp_memory *m =
        dtp_object_create(engine->allocator, sizeof *m, DTP_OBJ_MEMORY, memory_destroy);
    if (!m) DTP_RETURN(dnnl_tp_out_of_memory);
    m->engine = dtp_object_retain(engine);
    m->md = *md;
    m->bytes = dtp_md_size(md);
    m->identity = dtp_md_identity(md) ^ engine->device;
    m->handle = handle;
    if (handle == DNNL_TP_MEMORY_ALLOCATE) {
        /* Not a byte more than the descriptor's: an access behind it is one that tools can see. */
        m->handle = m->owned = m->bytes ? engine->v->alloc(engine, bytes_of(m), true) : NULL;
        if (m->bytes && !m->owned) {
            dtp_object_release(m);
            DTP_RETURN(dnnl_tp_out_of_memory);
        }
    }
    *memory = m;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_create_host_scalar(dnnl_tp_memory_t *memory,
                                                   const_dnnl_tp_memory_desc_t memory_desc,
                                                   void *scalar_ptr) {
    DTP_OUT(memory, NULL);
    DTP_REQUIRE(memory_desc && scalar_ptr, NULL_ARG, "memory_desc or scalar_ptr");
    DTP_REQUIRE(dtp_md_is_host_scalar(memory_desc), BAD_TAG, "not the descriptor of a host scalar");
    struct dnnl_tp_memory *m = dtp_object_create(NULL, sizeof *m, DTP_OBJ_MEMORY, memory_destroy);
    if (!m) DTP_RETURN(dnnl_tp_out_of_memory);
    m->md = *memory_desc;
    m->bytes = dtp_md_size(memory_desc);
    m->identity = dtp_md_identity(memory_desc);
    m->handle = &m->scalar;
    memcpy(&m->scalar, scalar_ptr, m->bytes);
    *memory = m;
    return dnnl_tp_success;
}

static dnnl_tp_status_t require_scalar(const struct dnnl_tp_memory *memory, const void *value) {
    DTP_REQUIRE_HANDLE(memory, DTP_OBJ_MEMORY);
    DTP_REQUIRE(value, NULL_ARG, "value");
    DTP_REQUIRE(!memory->engine, BAD_TAG, "the memory is no host scalar");
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_get_host_scalar_value(const_dnnl_tp_memory_t memory, void *value) {
    DTP_TRY(require_scalar(memory, value));
    memcpy(value, &memory->scalar, memory->bytes);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_set_host_scalar_value(dnnl_tp_memory_t memory, const void *value) {
    DTP_TRY(require_scalar(memory, value));
    memcpy(&memory->scalar, value, memory->bytes);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_create_v2(dnnl_tp_memory_t *memory, const_dnnl_tp_memory_desc_t memory_desc,
                                          dnnl_tp_engine_t engine, int nhandles, void **handles) {
    DTP_OUT(memory, NULL);
    DTP_REQUIRE(nhandles == 1, BAD_COUNT, "a dense memory has 1 handle, got %d", nhandles);
    DTP_REQUIRE(handles, NULL_ARG, "handles");
    DTP_RETURN(dnnl_tp_memory_create(memory, memory_desc, engine, handles[0]));
}

dnnl_tp_status_t dnnl_tp_memory_create_on_stream(dnnl_tp_memory_t *memory,
                                                 const_dnnl_tp_memory_desc_t memory_desc,
                                                 dnnl_tp_engine_t engine, void *handle,
                                                 dnnl_tp_stream_t stream) {
    DTP_OUT(memory, NULL);
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_REQUIRE(stream->engine == engine, BAD_ENGINE, "the stream is of another engine");
    dnnl_tp_memory_t m;
    DTP_TRY(dnnl_tp_memory_create(&m, memory_desc, engine, handle));
    if (handle != DNNL_TP_MEMORY_ALLOCATE && handle != DNNL_TP_MEMORY_NONE) {
        dnnl_tp_status_t status = dnnl_tp_memory_set_data_handle_on_stream(m, handle, stream);
        if (status) {
            dtp_object_release(m);
            DTP_RETURN(status);
        }
    }
    *memory = m;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_destroy(dnnl_tp_memory_t memory) { DTP_DESTROY(memory, DTP_OBJ_MEMORY); }

dnnl_tp_status_t dnnl_tp_memory_get_memory_desc(const_dnnl_tp_memory_t memory,
                                                const_dnnl_tp_memory_desc_t *memory_desc) {
    DTP_GET(memory_desc, NULL, memory, DTP_OBJ_MEMORY, &memory->md);
}

dnnl_tp_status_t dnnl_tp_memory_get_engine(const_dnnl_tp_memory_t memory, dnnl_tp_engine_t *engine) {
    DTP_GET(engine, NULL, memory, DTP_OBJ_MEMORY, memory->engine);
}

dnnl_tp_status_t dnnl_tp_memory_get_data_handle(const_dnnl_tp_memory_t memory, void **handle) {
    DTP_OUT(handle, NULL);
    if (!memory) return dnnl_tp_success;
    DTP_REQUIRE_HANDLE(memory, DTP_OBJ_MEMORY);
    DTP_TRY(require_no_scalar(memory));
    *handle = memory->handle;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_set_data_handle(dnnl_tp_memory_t memory, void *handle) {
    DTP_REQUIRE_HANDLE(memory, DTP_OBJ_MEMORY);
    DTP_TRY(require_no_scalar(memory));
    DTP_REQUIRE(handle != DNNL_TP_MEMORY_ALLOCATE, BAD_PARAM, "the library allocates at creation only");
    if (memory->owned && handle != memory->owned) {
        memory->engine->v->free(memory->engine, memory->owned);
        memory->owned = NULL;
    }
    memory->handle = handle;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_set_data_handle_on_stream(dnnl_tp_memory_t memory, void *handle,
                                                          dnnl_tp_stream_t stream) {
    DTP_REQUIRE_HANDLE(memory, DTP_OBJ_MEMORY);
    DTP_REQUIRE_HANDLE(stream, DTP_OBJ_STREAM);
    DTP_REQUIRE(stream->engine == memory->engine, BAD_ENGINE, "the stream is of another engine");
    if (handle && dtp_md_is_padded(&memory->md))
        DTP_TRY(stream->engine->v->zero_pad(stream, &memory->md, handle));
    DTP_RETURN(dnnl_tp_memory_set_data_handle(memory, handle));
}

static dnnl_tp_status_t require_index_0(int index) {
    DTP_REQUIRE(index == 0, BAD_INDEX, "index %d of a dense memory", index);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_memory_get_data_handle_v2(const_dnnl_tp_memory_t memory, void **handle, int index) {
    DTP_OUT(handle, NULL);
    DTP_TRY(require_index_0(index));
    DTP_RETURN(dnnl_tp_memory_get_data_handle(memory, handle));
}

dnnl_tp_status_t dnnl_tp_memory_set_data_handle_v2(dnnl_tp_memory_t memory, void *handle, int index) {
    DTP_TRY(require_index_0(index));
    DTP_RETURN(dnnl_tp_memory_set_data_handle(memory, handle));
}

dnnl_tp_status_t dnnl_tp_memory_map_data(const_dnnl_tp_memory_t memory, void **mapped_ptr) {
    DTP_OUT(mapped_ptr, NULL);
    DTP_REQUIRE_HANDLE(memory, DTP_OBJ_MEMORY);
    if (!memory->engine) { /* a host scalar */
        *mapped_ptr = memory->handle;
        return dnnl_tp_success;
    }
    DTP_RETURN(memory->engine->v->map(memory->engine, memory->handle, bytes_of(memory), mapped_ptr));
}

dnnl_tp_status_t dnnl_tp_memory_unmap_data(const_dnnl_tp_memory_t memory, void *mapped_ptr) {
    DTP_REQUIRE_HANDLE(memory, DTP_OBJ_MEMORY);
    if (!memory->engine) {
        DTP_REQUIRE(mapped_ptr == memory->handle, BAD_PARAM, "not the pointer that map_data gave");
        return dnnl_tp_success;
    }
    DTP_RETURN(memory->engine->v->unmap(memory->engine, memory->handle, bytes_of(memory), mapped_ptr));
}

dnnl_tp_status_t dnnl_tp_memory_map_data_v2(const_dnnl_tp_memory_t memory, void **mapped_ptr, int index) {
    DTP_OUT(mapped_ptr, NULL);
    DTP_TRY(require_index_0(index));
    DTP_RETURN(dnnl_tp_memory_map_data(memory, mapped_ptr));
}

dnnl_tp_status_t dnnl_tp_memory_unmap_data_v2(const_dnnl_tp_memory_t memory, void *mapped_ptr, int index) {
    DTP_TRY(require_index_0(index));
    DTP_RETURN(dnnl_tp_memory_unmap_data(memory, mapped_ptr));
}
