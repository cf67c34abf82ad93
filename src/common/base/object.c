/* Reference counting of handles; see object.h. */
#include "common/base/object.h"

static _Atomic int64_t live_objects;

void *dtp_object_create_begun(const dnnl_tp_allocator_t *allocator, size_t size, size_t zeroed,
                              dtp_object_kind_t kind, void (*destroy)(dtp_object_t *)) {
    if (!allocator) allocator = dtp_process_allocator();
    dtp_object_t *object =
        dtp_alloc(allocator, size, DTP_NO_SHARE); /* some objects have members that far apart */
    if (!object) {
        dtp_no_memory(size);
        return NULL;
    }
    memset(object, 0, zeroed);
    atomic_init(&object->refs, 1);
    object->kind = (uint32_t)kind;
    object->destroy = destroy;
    object->allocator = allocator;
    atomic_fetch_add_explicit(&live_objects, 1, memory_order_relaxed);
    return object;
}

void *dtp_object_create(const dnnl_tp_allocator_t *allocator, size_t size, dtp_object_kind_t kind,
                        void (*destroy)(dtp_object_t *)) {
    return dtp_object_create_begun(allocator, size, size, kind, destroy);
}

void *dtp_object_retain(void *ptr) {
    dtp_object_t *object = ptr;
    if (object) atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
    return object;
}

void dtp_object_release(void *ptr) {
    dtp_object_t *object = ptr;
    if (!object || atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) != 1) return;
    /* The allocator may live in an engine that this object keeps alive: copy it before its members go. */
    dnnl_tp_allocator_t allocator = *object->allocator;
    if (object->destroy) object->destroy(object);
    object->kind = DTP_OBJ_DEAD;
    dtp_free(&allocator, object);
    atomic_fetch_sub_explicit(&live_objects, 1, memory_order_relaxed);
}

int64_t dtp_object_live(void) { return atomic_load(&live_objects); }
