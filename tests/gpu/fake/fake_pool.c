/* Pools of device memory, and stream-ordered allocation. What a pool has reserved counts against the device's memory; it
 * keeps up to its threshold when a call waits. */
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/calls.h"

enum { RESERVE_STEP = 2 << 20, POOL_ALIGN = 512 };

static fake_pool_t *find_pool_locked(dtp_cu_pool_t handle, const char *call) {
    for (fake_pool_t *pool = fake.pools; pool; pool = pool->next)
        if (pool->handle == (uintptr_t)handle && !pool->destroyed) return pool;
    fake_wrong_locked("%s: %p is no pool", call, (void *)handle);
    return NULL;
}

static bool props_are_valid(const dtp_cu_pool_props_t *props) {
    for (size_t i = 0; i < sizeof props->reserved; ++i)
        if (props->reserved[i]) return false;
    return props->alloc_type == DTP_CU_ALLOC_PINNED && !props->handle_types && !props->security &&
           !props->usage && props->location.type == DTP_CU_LOCATION_DEVICE && props->location.id >= 0 &&
           props->location.id < fake.devices;
}

dtp_cu_result_t fake_cuMemPoolCreate(dtp_cu_pool_t *handle, const dtp_cu_pool_props_t *props) {
    const dtp_cu_result_t result =
        fake_enter("cuMemPoolCreate", FAKE_NEEDS_INIT | FAKE_ANY_CTX | FAKE_CAN_FAIL | FAKE_UNSAFE);
    if (result) return result;
    if (!props_are_valid(props)) return fake_leave(DTP_CU_INVALID_VALUE);
    fake_pool_t *pool = fake_zalloc(sizeof *pool);
    *pool = (fake_pool_t){.next = fake.pools,
                          .handle = fake_handle_locked(),
                          .ctx = &fake.ctx[props->location.id],
                          .limit = props->max_size,
                          .waits_for_reuse = true};
    fake.pools = pool;
    *handle = (dtp_cu_pool_t)pool->handle;
    ++fake.stats.pools;
    return fake_leave(DTP_CU_SUCCESS);
}

static void reserve_locked(fake_pool_t *pool, size_t bytes) {
    pool->ctx->reserved += bytes - pool->reserved;
    pool->reserved = bytes;
    if (pool->reserved_high < bytes) pool->reserved_high = bytes;
}

/* Ends a pool that is destroyed and has no block left. */
static void end_pool_locked(fake_pool_t *pool) {
    fake_pool_t **link = &fake.pools;
    while (*link != pool) link = &(*link)->next;
    *link = pool->next;
    reserve_locked(pool, 0);
    free(pool);
}

dtp_cu_result_t fake_cuMemPoolDestroy(dtp_cu_pool_t handle) {
    const dtp_cu_result_t result =
        fake_enter("cuMemPoolDestroy", FAKE_NEEDS_INIT | FAKE_RELEASES | FAKE_UNSAFE);
    if (result) return result;
    fake_pool_t *pool = find_pool_locked(handle, "cuMemPoolDestroy");
    if (!pool) return fake_leave(DTP_CU_INVALID_VALUE);
    pool->destroyed = true;
    --fake.stats.pools;
    const dtp_cu_result_t sticky = pool->ctx->sticky;
    if (!pool->blocks) end_pool_locked(pool);
    return fake_leave(sticky);
}

dtp_cu_result_t fake_cuMemPoolSetAttribute(dtp_cu_pool_t handle, dtp_cu_pool_attribute_t attribute,
                                           void *value) {
    const dtp_cu_result_t result =
        fake_enter("cuMemPoolSetAttribute", FAKE_NEEDS_INIT | FAKE_ANY_CTX | FAKE_CAN_FAIL);
    if (result) return result;
    fake_pool_t *pool = find_pool_locked(handle, "cuMemPoolSetAttribute");
    if (!pool) return fake_leave(DTP_CU_INVALID_VALUE);
    uint64_t number = 0;
    memcpy(&number, value,
           attribute == DTP_CU_POOL_REUSE_INTERNAL_DEPENDENCIES ? sizeof(int) : sizeof number);
    if (attribute == DTP_CU_POOL_REUSE_INTERNAL_DEPENDENCIES) pool->waits_for_reuse = number != 0;
    else if (attribute == DTP_CU_POOL_RELEASE_THRESHOLD) pool->threshold = number;
    else if (attribute == DTP_CU_POOL_RESERVED_HIGH && !number) pool->reserved_high = pool->reserved;
    else if (attribute == DTP_CU_POOL_USED_HIGH && !number) pool->used_high = pool->used;
    else return fake_leave(DTP_CU_INVALID_VALUE);
    return fake_leave(DTP_CU_SUCCESS);
}

static size_t whole(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

dtp_cu_result_t fake_cuMemPoolTrimTo(dtp_cu_pool_t handle, size_t keep) {
    const dtp_cu_result_t result =
        fake_enter("cuMemPoolTrimTo", FAKE_NEEDS_INIT | FAKE_ANY_CTX | FAKE_CAN_FAIL);
    if (result) return result;
    fake_pool_t *pool = find_pool_locked(handle, "cuMemPoolTrimTo");
    if (!pool) return fake_leave(DTP_CU_INVALID_VALUE);
    const size_t used = whole(pool->used, RESERVE_STEP), least = keep > used ? keep : used;
    if (pool->reserved > least) reserve_locked(pool, least);
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuMemPoolGetAttribute(dtp_cu_pool_t handle, dtp_cu_pool_attribute_t attribute,
                                           void *value) {
    const dtp_cu_result_t result =
        fake_enter("cuMemPoolGetAttribute", FAKE_NEEDS_INIT | FAKE_ANY_CTX | FAKE_CAN_FAIL);
    if (result) return result;
    const fake_pool_t *pool = find_pool_locked(handle, "cuMemPoolGetAttribute");
    if (!pool) return fake_leave(DTP_CU_INVALID_VALUE);
    uint64_t number;
    switch (attribute) {
    case DTP_CU_POOL_RELEASE_THRESHOLD: number = pool->threshold; break;
    case DTP_CU_POOL_RESERVED_CURRENT: number = pool->reserved; break;
    case DTP_CU_POOL_RESERVED_HIGH: number = pool->reserved_high; break;
    case DTP_CU_POOL_USED_CURRENT: number = pool->used; break;
    case DTP_CU_POOL_USED_HIGH: number = pool->used_high; break;
    default: return fake_leave(DTP_CU_INVALID_VALUE);
    }
    memcpy(value, &number, sizeof number);
    return fake_leave(DTP_CU_SUCCESS);
}

/* ---- Allocation -------------------------------------------------------------------------------------- */

/* Can the pool hold so much more? Reserves it. */
static bool take_locked(fake_pool_t *pool, size_t bytes) {
    const size_t device = fake.memory_bytes, others = pool->ctx->reserved - pool->reserved;
    if (bytes > device || others > device || pool->used + bytes > device - others) return false;
    if (pool->limit && pool->used + bytes > pool->limit) return false;
    size_t reserve = whole(pool->used + bytes, RESERVE_STEP);
    if (reserve > device - others) reserve = device - others;
    if (pool->limit && reserve > pool->limit) reserve = pool->limit;
    if (reserve > pool->reserved) reserve_locked(pool, reserve);
    pool->used += bytes;
    if (pool->used_high < pool->used) pool->used_high = pool->used;
    fake.stats.bytes += bytes;
    if (fake.stats.peak_bytes < fake.stats.bytes) fake.stats.peak_bytes = fake.stats.bytes;
    return true;
}

static void give_locked(fake_pool_t *pool, size_t bytes) {
    pool->used -= bytes;
    fake.stats.bytes -= bytes;
}

void fake_pools_trim_locked(const fake_ctx_t *ctx) {
    for (fake_pool_t *pool = fake.pools; pool; pool = pool->next) {
        const size_t used = whole(pool->used, RESERVE_STEP);
        const size_t keep = pool->threshold > used ? (size_t)pool->threshold : used;
        if (pool->ctx == ctx && pool->reserved > keep) reserve_locked(pool, keep);
    }
}

/* Now and then the allocation gets memory that another stream has freed, or is going to free, and waits for that stream. */
static void wait_for_reuse_locked(const fake_stream_t *s, const fake_pool_t *pool, fake_item_t *alloc) {
    for (const fake_stream_t *other = fake.streams; other; other = other->next) {
        uint64_t seq = 0;
        if (other == s || other->ctx != s->ctx) continue;
        for (const fake_item_t *item = other->head; item; item = item->next)
            if (item->work == FAKE_FREE && !item->graph && fake_block_find_locked(item->to, 0)->pool == pool)
                seq = item->seq;
        if (!seq || fake_random_locked() % 2) continue;
        alloc->after.of[other->slot] = seq;
        return;
    }
}

dtp_cu_result_t fake_cuMemAllocFromPoolAsync(dtp_cu_ptr_t *at, size_t bytes, dtp_cu_pool_t handle,
                                             dtp_cu_stream_t stream) {
    dtp_cu_result_t result = fake_enter("cuMemAllocFromPoolAsync", FAKE_CALL);
    if (result) return result;
    fake_pool_t *pool = find_pool_locked(handle, "cuMemAllocFromPoolAsync");
    if (!pool || !bytes) return fake_leave(DTP_CU_INVALID_VALUE);
    fake_stream_t *s = fake_stream_use_locked(stream, "cuMemAllocFromPoolAsync");
    if (!s) return fake_leave(fake.no_stream);
    if (s->ctx != pool->ctx) return fake_leave(DTP_CU_INVALID_VALUE);
    if (s->capture) {
        result = fake_capture_alloc_locked(s, bytes, at);
        return fake_leave(result);
    }
    if (bytes > SIZE_MAX / 2 || !take_locked(pool, whole(bytes, POOL_ALIGN)))
        return fake_leave(DTP_CU_OUT_OF_MEMORY);
    fake_block_t *b = fake_block_add_locked(s->ctx, bytes, false);
    if (!b) {
        give_locked(pool, whole(bytes, POOL_ALIGN));
        return fake_leave(DTP_CU_OUT_OF_MEMORY);
    }
    b->pool = pool;
    ++pool->blocks;
    ++fake.stats.allocations;
    ++fake.stats.blocks;
    *at = b->at;
    fake_item_t *item = fake_item_new(FAKE_ALLOC);
    item->to = b->at;
    if (pool->waits_for_reuse) wait_for_reuse_locked(s, pool, item);
    b->slot = s->slot;
    b->seq = fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}

/* A block that its stream frees can be had again at once, so its bytes count no longer. */
dtp_cu_result_t fake_cuMemFreeAsync(dtp_cu_ptr_t at, dtp_cu_stream_t stream) {
    dtp_cu_result_t result = fake_enter("cuMemFreeAsync", FAKE_NEEDS_INIT | FAKE_NEEDS_CTX | FAKE_RELEASES);
    if (result) return result;
    fake_block_t *b = fake_block_find_locked(at, 0);
    if (!b || b->at != at || !(b->pool || b->graph) || b->freeing) {
        char text[128];
        fake_wrong_locked("cuMemFreeAsync: %s", b && b->freeing
                                                    ? "a block is freed twice"
                                                    : fake_address_text_locked(at, 0, text, sizeof text));
        return fake_leave(DTP_CU_INVALID_VALUE);
    }
    fake_stream_t *s = fake_stream_use_locked(stream, "cuMemFreeAsync");
    if (!s) return fake_leave(fake.no_stream);
    if (s->ctx != b->ctx) return fake_leave(DTP_CU_INVALID_HANDLE);
    if (s->capture || b->graph) {
        result = fake_capture_free_locked(s, b);
        return fake_leave(result);
    }
    b->freeing = true;
    give_locked(b->pool, whole(b->bytes, POOL_ALIGN));
    ++fake.stats.frees;
    --fake.stats.blocks;
    fake_item_t *item = fake_item_new(FAKE_FREE);
    item->to = at;
    (void)fake_submit_locked(s, item);
    return fake_leave_released(DTP_CU_SUCCESS);
}

void fake_pool_block_gone_locked(fake_block_t *b) {
    fake_pool_t *pool = b->pool;
    fake_block_remove_locked(b);
    if (pool && --pool->blocks == 0 && pool->destroyed) end_pool_locked(pool);
}

void fake_pools_reset_locked(void) {
    while (fake.pools) end_pool_locked(fake.pools);
}
