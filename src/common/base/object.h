/* The header that every handle starts with: reference count, destructor, allocator. */
#ifndef DTP_COMMON_BASE_OBJECT_H
#define DTP_COMMON_BASE_OBJECT_H

#include <stdatomic.h>

#include "common/base/base.h"

/* Kinds of handles; the header carries one, so a stale or foreign pointer can be refused. */
typedef enum {
    DTP_OBJ_DEAD = 0,
    DTP_OBJ_ENGINE = 0x64747001,
    DTP_OBJ_ENGINE_ATTR,
    DTP_OBJ_STREAM,
    DTP_OBJ_STREAM_ATTR,
    DTP_OBJ_MEMORY,
    DTP_OBJ_ATTR,
    DTP_OBJ_POST_OPS,
    DTP_OBJ_PD,
    DTP_OBJ_PRIMITIVE,
    DTP_OBJ_THREADPOOL,
    DTP_OBJ_GRAPH,
    DTP_OBJ_EXECUTABLE,
    DTP_OBJ_CANCEL,
    DTP_OBJ_SESSION,
    DTP_OBJ_CALLABLE,
    DTP_OBJ_EVENT,
    DTP_OBJ_TRACE,
    DTP_OBJ_OWN
} dtp_object_kind_t;

typedef struct dtp_object {
    _Atomic int refs;
    uint32_t kind; /* dtp_object_kind_t; DTP_OBJ_DEAD once freed */
    void (*destroy)(
        /* releases members; the memory itself is freed by dtp_object_release */
        struct dtp_object *);
    const dnnl_tp_allocator_t *allocator; /* what the object was allocated with; outlives it */
} dtp_object_t;

/* Zeroed object of size bytes with one reference; NULL on failure. */
void *dtp_object_create(const dnnl_tp_allocator_t *allocator, size_t size, dtp_object_kind_t kind,
                        void (*destroy)(dtp_object_t *));
/* The same with zeros in its first `zeroed` bytes only; the caller writes the rest. */
void *dtp_object_create_begun(const dnnl_tp_allocator_t *allocator, size_t size, size_t zeroed,
                              dtp_object_kind_t kind, void (*destroy)(dtp_object_t *));
/* NULL is allowed for release. */
void *dtp_object_retain(void *object);
void dtp_object_release(void *object);
/* Number of live objects in the process. */
int64_t dtp_object_live(void);

static inline bool dtp_is(const void *object, dtp_object_kind_t kind) {
    return object && ((const dtp_object_t *)object)->kind == (uint32_t)kind;
}
/* Refuses NULL and anything whose header is not of this kind. */
#define DTP_REQUIRE_HANDLE(object, object_kind)                            \
    DTP_REQUIRE(dtp_is(object, object_kind), BAD_HANDLE, #object " is %s", \
                (object) ? "not a live handle" : "NULL")
/* The last lines of public functions that only drop a reference (also of NULL), or only return a
 * value. */
#define DTP_DESTROY(object, object_kind)                     \
    do {                                                     \
        if (object) DTP_REQUIRE_HANDLE(object, object_kind); \
        dtp_object_release(object);                          \
        return dnnl_tp_success;                              \
    } while (0)
#define DTP_GET(out, none, object, object_kind, value) \
    do {                                               \
        DTP_OUT(out, none);                            \
        DTP_REQUIRE_HANDLE(object, object_kind);       \
        *(out) = value;                                \
        return dnnl_tp_success;                        \
    } while (0)

#endif
