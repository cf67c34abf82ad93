/* What is enqueued other than kernels: copies, fills, waits for a value, host functions. */
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/calls.h"

/* A known block? Whether it may be used is known when the item's turn comes. */
static bool is_known_locked(dtp_cu_ptr_t at, size_t bytes, const char *call) {
    if (fake_block_find_locked(at, bytes)) return true;
    char text[128];
    fake_wrong_locked("%s: %s", call, fake_address_text_locked(at, bytes, text, sizeof text));
    return false;
}

static bool is_host_locked(const void *p, const char *call) {
    if (p && !fake_is_device_address(p)) return true;
    fake_wrong_locked("%s: %p is no address of the host", call, p);
    return false;
}

/* Enters a call that enqueues; the stream, or NULL and the result. */
static fake_stream_t *enter(const char *call, dtp_cu_stream_t stream, dtp_cu_result_t *result) {
    *result = fake_enter(call, FAKE_CALL);
    if (*result) return NULL;
    fake_stream_t *s = fake_stream_use_locked(stream, call);
    if (!s) *result = fake_leave(fake.no_stream);
    return s;
}

/* Pageable memory is read now, pinned memory when the copy's turn comes; by a node of a graph both then. */
dtp_cu_result_t fake_cuMemcpyHtoDAsync(dtp_cu_ptr_t to, const void *from, size_t bytes,
                                       dtp_cu_stream_t stream) {
    static const char *const call = "cuMemcpyHtoDAsync";
    dtp_cu_result_t result;
    fake_stream_t *s = enter(call, stream, &result);
    if (!s) return result;
    if (!bytes) return fake_leave(DTP_CU_SUCCESS);
    if (!is_known_locked(to, bytes, call) || !is_host_locked(from, call))
        return fake_leave(DTP_CU_INVALID_VALUE);
    fake_item_t *item = fake_item_new(FAKE_COPY);
    item->to = to;
    item->bytes = bytes;
    item->host_from = from;
    item->pinned = fake_pinned_find_locked(from, bytes) != NULL;
    if (!item->pinned && !s->capture) {
        item->bytes_of = fake_zalloc(bytes);
        memcpy(item->bytes_of, from, bytes);
        item->host_from = item->bytes_of;
    }
    (void)fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}

/* The destination holds nonsense until the copy's turn comes, unless something before uses it. */
dtp_cu_result_t fake_cuMemcpyDtoHAsync(void *to, dtp_cu_ptr_t from, size_t bytes, dtp_cu_stream_t stream) {
    static const char *const call = "cuMemcpyDtoHAsync";
    dtp_cu_result_t result;
    fake_stream_t *s = enter(call, stream, &result);
    if (!s) return result;
    if (!bytes) return fake_leave(DTP_CU_SUCCESS);
    if (!is_known_locked(from, bytes, call) || !is_host_locked(to, call))
        return fake_leave(DTP_CU_INVALID_VALUE);
    fake_item_t *item = fake_item_new(FAKE_COPY);
    item->from = from;
    item->bytes = bytes;
    item->host_to = to;
    const fake_block_t *pinned = fake_pinned_find_locked(to, bytes);
    item->pinned = pinned != NULL;
    if (!s->capture) { /* else nothing is written before the graph is launched */
        fake.stats.pageable += !pinned;
        if (!pinned || !fake_pinned_in_use_locked(pinned, to, bytes)) memset(to, FAKE_CUDA_POISON, bytes);
    }
    (void)fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuMemcpyDtoDAsync(dtp_cu_ptr_t to, dtp_cu_ptr_t from, size_t bytes,
                                       dtp_cu_stream_t stream) {
    static const char *const call = "cuMemcpyDtoDAsync";
    dtp_cu_result_t result;
    fake_stream_t *s = enter(call, stream, &result);
    if (!s) return result;
    if (!bytes) return fake_leave(DTP_CU_SUCCESS);
    if (!is_known_locked(from, bytes, call) || !is_known_locked(to, bytes, call))
        return fake_leave(DTP_CU_INVALID_VALUE);
    if (to < from + bytes && from < to + bytes) {
        fake_wrong_locked("%s: what is copied overlaps", call);
        return fake_leave(DTP_CU_INVALID_VALUE);
    }
    fake_item_t *item = fake_item_new(FAKE_COPY);
    item->to = to;
    item->from = from;
    item->bytes = bytes;
    (void)fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuMemsetD8Async(dtp_cu_ptr_t at, unsigned char value, size_t n, dtp_cu_stream_t stream) {
    static const char *const call = "cuMemsetD8Async";
    dtp_cu_result_t result;
    fake_stream_t *s = enter(call, stream, &result);
    if (!s) return result;
    if (!n) return fake_leave(DTP_CU_SUCCESS);
    if (!is_known_locked(at, n, call)) return fake_leave(DTP_CU_INVALID_VALUE);
    fake_item_t *item = fake_item_new(FAKE_FILL);
    item->to = at;
    item->bytes = n;
    item->value = value;
    (void)fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuStreamWaitValue32(dtp_cu_stream_t stream, dtp_cu_ptr_t at, uint32_t value,
                                         unsigned flags) {
    static const char *const call = "cuStreamWaitValue32";
    enum { GEQ, EQ, AND, CONDITIONS };
    dtp_cu_result_t result;
    fake_stream_t *s = enter(call, stream, &result);
    if (!s) return result;
    if (fake_ignores_locked(call)) return fake_leave(DTP_CU_SUCCESS);
    if (flags >= CONDITIONS || at % sizeof(uint32_t)) return fake_leave(DTP_CU_INVALID_VALUE);
    if (!is_known_locked(at, sizeof(uint32_t), call)) return fake_leave(DTP_CU_INVALID_VALUE);
    fake_item_t *item = fake_item_new(FAKE_WAIT_VALUE);
    item->from = at;
    item->until = value;
    item->flags = flags;
    (void)fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}

bool fake_value_is_there_locked(const fake_item_t *item) {
    enum { GEQ, EQ, AND };
    const fake_block_t *b = fake_block_find_locked(item->from, sizeof(uint32_t));
    if (!b) return true; /* its turn comes, and it fails */
    const uint32_t *word = (const uint32_t *)(const void *)(b->data + (item->from - b->at));
    const uint32_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE); /* the host writes it */
    switch (item->flags) {
    case GEQ: return (int32_t)(value - item->until) >= 0;
    case EQ: return value == item->until;
    default: return (value & item->until) != 0;
    }
}

dtp_cu_result_t fake_cuLaunchHostFunc(dtp_cu_stream_t stream, dtp_cu_host_fn_t fn, void *arg) {
    dtp_cu_result_t result;
    fake_stream_t *s = enter("cuLaunchHostFunc", stream, &result);
    if (!s) return result;
    if (!fn) return fake_leave(DTP_CU_INVALID_VALUE);
    fake_item_t *item = fake_item_new(FAKE_HOST);
    item->fn = fn;
    item->arg = arg;
    (void)fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}
