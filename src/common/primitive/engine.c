/* Engines and their attributes: what does not depend on the device. */
#include "common/primitive/engine.h"

#include "common/primitive/primitive_cache.h"

size_t dnnl_tp_engine_get_count(dnnl_tp_engine_kind_t kind) {
    const dtp_engine_vtbl_t *v = dtp_engine_vtbl(kind);
    return v ? v->count() : 0;
}

dnnl_tp_status_t dnnl_tp_engine_create_v2(dnnl_tp_engine_t *engine, dnnl_tp_engine_kind_t kind, size_t index,
                                          const_dnnl_tp_engine_attr_t attr) {
    DTP_OUT(engine, NULL);
    const dtp_engine_vtbl_t *v = dtp_engine_vtbl(kind);
    DTP_REQUIRE(v, BAD_ENGINE, "this build has no engine of kind %s (%d)", dnnl_tp_engine_kind2str(kind),
                (int)kind);
    const size_t n = v->count();
    if (!n && v->absence) DTP_RETURN(dtp_fail(dnnl_tp_invalid_arguments, DTP_BAD_INDEX, "%s", v->absence()));
    DTP_REQUIRE(index < n, BAD_INDEX, "engine %zu, there are %zu", index, n);
    if (attr) DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ENGINE_ATTR);
    if (attr && attr->own)
        DTP_REQUIRE(attr->own->kind == kind, BAD_ENGINE, "the attributes are those of a %s, not of a %s",
                    dnnl_tp_engine_kind2str(attr->own->kind), dnnl_tp_engine_kind2str(kind));
    DTP_RETURN(v->create(engine, index, attr));
}

dnnl_tp_status_t dnnl_tp_engine_create(dnnl_tp_engine_t *engine, dnnl_tp_engine_kind_t kind, size_t index) {
    DTP_RETURN(dnnl_tp_engine_create_v2(engine, kind, index, NULL));
}

dnnl_tp_status_t dnnl_tp_engine_get_kind(dnnl_tp_engine_t engine, dnnl_tp_engine_kind_t *kind) {
    DTP_GET(kind, dnnl_tp_any_engine, engine, DTP_OBJ_ENGINE, engine->v->kind);
}

uint64_t dtp_engine_device(dnnl_tp_engine_kind_t kind, size_t index) {
    const uint64_t odd = 0x9e3779b97f4a7c15u; /* spreads small numbers: devices are part of hashes */
    return ((uint64_t)kind << 32 | (index + 1)) * odd;
}

dnnl_tp_engine_t dtp_engine_of_reorder(dnnl_tp_engine_t src, dnnl_tp_engine_t dst) {
    if (dtp_engine_can(src, DTP_ENGINE_HOST_READABLE)) return dst;
    return dtp_engine_can(dst, DTP_ENGINE_HOST_READABLE) ? src : NULL;
}

dnnl_tp_status_t dnnl_tp_engine_destroy(dnnl_tp_engine_t engine) {
    if (!engine) return dnnl_tp_success;
    DTP_REQUIRE_HANDLE(engine, DTP_OBJ_ENGINE);
    dtp_cache_purge(engine);
    if (engine->v->end_given) engine->v->end_given();
    dtp_object_release(engine);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_set_allocator(const dnnl_tp_allocator_t *allocator) {
    if (allocator) {
        DTP_REQUIRE(allocator->struct_size >= sizeof *allocator, BAD_STRUCT_SIZE, "%zu",
                    allocator->struct_size);
        DTP_REQUIRE(allocator->alloc && allocator->free, NULL_ARG, "alloc and free must be set");
    }
    dtp_cache_purge(NULL);
    DTP_REQUIRE(dtp_object_live() == 0, NOT_IN_ORDER, "%lld objects exist", (long long)dtp_object_live());
    dtp_process_allocator_set(allocator);
    return dnnl_tp_success;
}

const dnnl_tp_allocator_t *dnnl_tp_get_allocator(void) { return dtp_process_allocator(); }

/* ---- Attributes -------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_own_set(dtp_own_t **own, dnnl_tp_engine_kind_t kind, const void *data) {
    dtp_own_t *made = NULL;
    if (data) {
        size_t bytes;
        memcpy(&bytes, data, sizeof bytes);
        DTP_REQUIRE(bytes >= sizeof bytes, BAD_STRUCT_SIZE, "%zu", bytes);
        made = dtp_object_create(NULL, sizeof *made + bytes, DTP_OBJ_OWN, NULL);
        if (!made) return dnnl_tp_out_of_memory;
        made->kind = kind;
        made->bytes = bytes;
        memcpy(made->data, data, bytes);
    }
    dtp_object_release(*own);
    *own = made;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_own_get(const dtp_own_t *own, void *to, size_t bytes) {
    memset(to, 0, bytes);
    if (!own) return dnnl_tp_success;
    for (size_t i = bytes; i < own->bytes; ++i)
        DTP_REQUIRE(!own->data[i], BAD_STRUCT_SIZE, "%zu bytes, of which this library knows %zu", own->bytes,
                    bytes);
    memcpy(to, own->data, own->bytes < bytes ? own->bytes : bytes);
    return dnnl_tp_success;
}

static void engine_attr_destroy(dtp_object_t *obj) {
    struct dnnl_tp_engine_attr *attr = (struct dnnl_tp_engine_attr *)obj;
    dtp_object_release(attr->stream_attr);
    dtp_object_release(attr->own);
}

dnnl_tp_status_t dnnl_tp_engine_attr_create(dnnl_tp_engine_attr_t *attr) {
    DTP_REQUIRE(attr, NULL_ARG, "attr");
    *attr =
        dtp_object_create(NULL, sizeof(struct dnnl_tp_engine_attr), DTP_OBJ_ENGINE_ATTR, engine_attr_destroy);
    DTP_RETURN(*attr ? dnnl_tp_success : dnnl_tp_out_of_memory);
}

dnnl_tp_status_t dnnl_tp_engine_attr_destroy(dnnl_tp_engine_attr_t attr) {
    DTP_DESTROY(attr, DTP_OBJ_ENGINE_ATTR);
}

dnnl_tp_status_t dnnl_tp_engine_attr_set_num_threads(dnnl_tp_engine_attr_t attr, int num_threads) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ENGINE_ATTR);
    DTP_REQUIRE(num_threads >= 0 && num_threads <= DTP_MAX_THREADS, BAD_COUNT,
                "thread count %d is outside 0..%d", num_threads, DTP_MAX_THREADS);
    attr->num_threads = num_threads;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_engine_attr_set_max_isa(dnnl_tp_engine_attr_t attr, dnnl_tp_cpu_isa_t isa) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ENGINE_ATTR);
    DTP_REQUIRE(dtp_cpu_isa_is_known(isa), BAD_ENUM, "isa %d", (int)isa);
    attr->max_isa = isa;
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_engine_attr_set_allocator(dnnl_tp_engine_attr_t attr,
                                                   const dnnl_tp_allocator_t *allocator) {
    DTP_REQUIRE_HANDLE(attr, DTP_OBJ_ENGINE_ATTR);
    attr->has_allocator = allocator != NULL;
    if (!allocator) return dnnl_tp_success;
    DTP_REQUIRE(allocator->struct_size >= sizeof *allocator, BAD_STRUCT_SIZE, "%zu", allocator->struct_size);
    DTP_REQUIRE(allocator->alloc && allocator->free, NULL_ARG, "alloc and free must be set");
    attr->engine_allocator = *allocator;
    return dnnl_tp_success;
}
