/* Memory of the fake driver: addresses, blocks with red zones, and memory of the host that the device reaches. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu/fake/calls.h"

enum { RED_BYTES = 512, RED = 0xa5, ALIGN = 512, PAGE = 4096, RECENT = 64 };
#define ARENA_BYTES ((uint64_t)64 << 30) /* of addresses; no memory is behind them */

static struct {
    uint64_t begin, next, bytes; /* bytes may be used */
    struct {
        uint64_t at;
        size_t bytes;
    } freed[RECENT]; /* the last ones, for what is told */
    unsigned n_freed;
} arena = {.bytes = ARENA_BYTES};

static uint64_t round_up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

bool fake_is_device_address(const void *p) {
    const uint64_t at = (uint64_t)(uintptr_t)p;
    return arena.begin && at >= arena.begin && at < arena.begin + ARENA_BYTES;
}

/* ---- Addresses --------------------------------------------------------------------------------------- */

/* The index of the first block behind the address. */
static size_t first_behind(uint64_t at) {
    size_t low = 0, high = fake.n_blocks;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (fake.blocks[mid]->at > at) high = mid;
        else low = mid + 1;
    }
    return low;
}

static uint64_t end_of(const fake_block_t *b) { return b->at + round_up(b->bytes, ALIGN) + RED_BYTES; }

/* The first place from an address on; 0: there is none. */
static uint64_t find_gap(uint64_t from, uint64_t need) {
    const uint64_t end = arena.begin + arena.bytes;
    size_t i = first_behind(from);
    if (i && end_of(fake.blocks[i - 1]) > from) from = end_of(fake.blocks[i - 1]);
    for (; from < end && need <= end - from; ++i) {
        if (i == fake.n_blocks || fake.blocks[i]->at - from >= need) return from;
        from = end_of(fake.blocks[i]);
    }
    return 0;
}

/* Addresses that no block has; what was freed comes last. 0: there are none. */
static uint64_t find_addresses(size_t bytes) {
    const uint64_t need = round_up(bytes, ALIGN) + RED_BYTES;
    if (!arena.begin) {
        void *p = mmap(NULL, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) return 0;
        arena.begin = arena.next = (uint64_t)(uintptr_t)p;
    }
    uint64_t at = find_gap(arena.next, need);
    if (!at) at = find_gap(arena.begin, need);
    if (at) arena.next = at + need;
    return at;
}

void fake_cuda_set_addresses(size_t bytes) {
    fake_lock();
    arena.bytes = bytes < ARENA_BYTES ? bytes : ARENA_BYTES;
    arena.next = arena.begin;
    fake_unlock();
}

/* ---- Blocks ------------------------------------------------------------------------------------------ */

fake_block_t *fake_block_add_locked(fake_ctx_t *ctx, size_t bytes, bool pinned) {
    const size_t front = pinned ? PAGE : RED_BYTES;
    unsigned char *memory = aligned_alloc(PAGE, round_up(front + bytes + RED_BYTES, PAGE));
    unsigned char *set = memory && !pinned ? calloc(1, bytes) : NULL;
    const uint64_t at = memory ? find_addresses(bytes) : 0;
    if (!at || (!set && !pinned)) {
        free(memory);
        free(set);
        return NULL;
    }
    if (fake.n_blocks == fake.cap_blocks) {
        fake.cap_blocks = fake.cap_blocks ? 2 * fake.cap_blocks : 64;
        fake.blocks = realloc(fake.blocks, fake.cap_blocks * sizeof *fake.blocks);
        if (!fake.blocks) abort();
    }
    fake_block_t *b = fake_zalloc(sizeof *b);
    *b = (fake_block_t){.at = at,
                        .bytes = bytes,
                        .memory = memory,
                        .data = memory + front,
                        .set = set,
                        .ctx = ctx,
                        .pinned = pinned};
    memset(b->data - RED_BYTES, RED, RED_BYTES);
    memset(b->data, FAKE_CUDA_FRESH, bytes);
    memset(b->data + bytes, RED, RED_BYTES);
    const size_t i = first_behind(at);
    memmove(fake.blocks + i + 1, fake.blocks + i, (fake.n_blocks++ - i) * sizeof *fake.blocks);
    fake.blocks[i] = b;
    return b;
}

void fake_check_red_zones_locked(const fake_block_t *b) {
    const char *what = b->pinned ? "pinned memory" : "device memory";
    for (size_t i = 1; i <= RED_BYTES; ++i)
        if (b->data[-(ptrdiff_t)i] != RED) {
            fake_wrong_locked("written %zu bytes before a block of %zu of %s", i, b->bytes, what);
            return;
        }
    for (size_t i = 0; i < RED_BYTES; ++i)
        if (b->data[b->bytes + i] != RED) {
            fake_wrong_locked("written %zu bytes behind a block of %zu of %s", i, b->bytes, what);
            return;
        }
}

void fake_block_remove_locked(fake_block_t *b) {
    fake_check_red_zones_locked(b);
    const size_t i = first_behind(b->at) - 1;
    memmove(fake.blocks + i, fake.blocks + i + 1, (--fake.n_blocks - i) * sizeof *fake.blocks);
    arena.freed[arena.n_freed % RECENT].at = b->at;
    arena.freed[arena.n_freed++ % RECENT].bytes = b->bytes;
    free(b->memory);
    free(b->set);
    fake_order_forget(b);
    free(b);
}

fake_block_t *fake_block_find_locked(dtp_cu_ptr_t at, size_t bytes) {
    const size_t i = first_behind(at);
    fake_block_t *b = i ? fake.blocks[i - 1] : NULL;
    return b && at - b->at <= b->bytes && bytes <= b->bytes - (at - b->at) ? b : NULL;
}

fake_block_t *fake_pinned_find_locked(const void *host, size_t bytes) {
    const uintptr_t p = (uintptr_t)host;
    for (size_t i = 0; i < fake.n_blocks; ++i) {
        fake_block_t *b = fake.blocks[i];
        const uintptr_t data = (uintptr_t)b->data;
        if (b->pinned && p >= data && p - data <= b->bytes && bytes <= b->bytes - (p - data)) return b;
    }
    return NULL;
}

/* The size of the block, of those freed last, in which the address was; 0: it was in none. */
static size_t freed_bytes(dtp_cu_ptr_t at) {
    for (unsigned i = arena.n_freed; i-- > 0 && i + RECENT >= arena.n_freed;)
        if (at - arena.freed[i % RECENT].at < arena.freed[i % RECENT].bytes)
            return arena.freed[i % RECENT].bytes;
    return 0;
}
bool fake_was_freed_locked(dtp_cu_ptr_t at) { return !fake_block_find_locked(at, 0) && freed_bytes(at); }

const char *fake_address_text_locked(dtp_cu_ptr_t at, size_t bytes, char *text, size_t text_bytes) {
    const fake_block_t *b = fake_block_find_locked(at, 0);
    if (b) {
        snprintf(text, text_bytes, "%zu bytes at %zu of a block of %zu", bytes, (size_t)(at - b->at),
                 b->bytes);
        return text;
    }
    const size_t freed = freed_bytes(at);
    if (freed) {
        snprintf(text, text_bytes, "%zu bytes of a block of %zu that is freed", bytes, freed);
        return text;
    }
    snprintf(text, text_bytes, "%zu bytes at 0x%llx, which is no memory of a device", bytes, at);
    return text;
}

void fake_memory_reset_locked(void) {
    while (fake.n_blocks) fake_block_remove_locked(fake.blocks[fake.n_blocks - 1]);
    free(fake.blocks);
    fake.blocks = NULL;
    arena.bytes = ARENA_BYTES;
    fake.cap_blocks = 0;
}

const void *fake_cuda_peek(dtp_cu_ptr_t at, size_t bytes) {
    fake_lock();
    const fake_block_t *b = fake_block_find_locked(at, bytes);
    const void *p = b ? b->data + (at - b->at) : NULL;
    fake_unlock();
    return p;
}

/* ---- Pinned memory ----------------------------------------------------------------------------------- */

dtp_cu_result_t fake_cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    const dtp_cu_result_t result = fake_enter("cuMemHostAlloc", FAKE_CALL | FAKE_UNSAFE);
    if (result) return result;
    if (!bytes || flags & ~7u) return fake_leave(DTP_CU_INVALID_VALUE);
    fake_block_t *b = fake_block_add_locked(fake_current(), bytes, true);
    if (!b) return fake_leave(DTP_CU_OUT_OF_MEMORY);
    b->live = true;
    *at = b->data;
    ++fake.stats.allocations;
    ++fake.stats.host_blocks;
    return fake_leave(DTP_CU_SUCCESS);
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x && x < y + b_bytes && y < x + a_bytes;
}

/* Does the item use these bytes of a pinned block? Kernels may use all of a block. */
static bool item_uses(const fake_item_t *item, const fake_block_t *b, const void *at, size_t bytes) {
    if (overlap(item->host_to, item->bytes, at, bytes) || overlap(item->host_from, item->bytes, at, bytes))
        return true;
    if (item->to - b->at < b->bytes || item->from - b->at < b->bytes) return true;
    for (size_t i = 0; i + sizeof(uint64_t) <= item->params_bytes; i += sizeof(uint64_t)) {
        uint64_t value;
        memcpy(&value, (const char *)item->params + i, sizeof value);
        if (value - b->at < b->bytes) return true;
    }
    return false;
}

bool fake_pinned_in_use_locked(const fake_block_t *b, const void *at, size_t bytes) {
    for (const fake_stream_t *s = fake.streams; s; s = s->next)
        for (const fake_item_t *item = s->head; item; item = item->next)
            if (item_uses(item, b, at, bytes)) return true;
    return false;
}

/* Do enqueued items still use the block? Copies among them do nothing then; other items will find no block. */
static bool cut_off_locked(const fake_block_t *b) {
    bool any = false;
    for (fake_stream_t *s = fake.streams; s; s = s->next)
        for (fake_item_t *item = s->head; item; item = item->next) {
            if (!item_uses(item, b, b->data, b->bytes)) continue;
            any = true;
            if (item->work == FAKE_COPY) item->work = FAKE_MARK;
        }
    return any;
}

dtp_cu_result_t fake_cuMemFreeHost(void *at) {
    const dtp_cu_result_t result =
        fake_enter("cuMemFreeHost", FAKE_NEEDS_INIT | FAKE_NEEDS_CTX | FAKE_RELEASES | FAKE_UNSAFE);
    if (result) return result;
    fake_block_t *b = fake_pinned_find_locked(at, 0);
    if (!b || b->data != at) {
        fake_wrong_locked("cuMemFreeHost: %p is no pinned memory", at);
        return fake_leave(DTP_CU_INVALID_VALUE);
    }
    fake_wait_idle_locked();
    if (cut_off_locked(b) && fake_current()->sticky == DTP_CU_SUCCESS)
        fake_wrong_locked("cuMemFreeHost: a block of %zu is freed, and something enqueued uses it", b->bytes);
    fake_block_remove_locked(b);
    fake_wait_for_context_locked(fake_current(), "cuMemFreeHost");
    ++fake.stats.frees;
    --fake.stats.host_blocks;
    return fake_leave_released(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuMemHostGetDevicePointer(dtp_cu_ptr_t *at, void *host, unsigned flags) {
    const dtp_cu_result_t result = fake_enter("cuMemHostGetDevicePointer", FAKE_CALL);
    if (result) return result;
    const fake_block_t *b = fake_pinned_find_locked(host, 1);
    if (!b || flags) {
        fake_wrong_locked("cuMemHostGetDevicePointer: %p is no pinned memory", host);
        return fake_leave(DTP_CU_INVALID_VALUE);
    }
    *at = b->at + (uint64_t)((const unsigned char *)host - b->data);
    return fake_leave(DTP_CU_SUCCESS);
}

/* A real driver answers invalid_value for what is not its own, too. */
dtp_cu_result_t fake_cuPointerGetAttribute(void *value, dtp_cu_pointer_attribute_t attribute,
                                           dtp_cu_ptr_t at) {
    const dtp_cu_result_t result =
        fake_enter("cuPointerGetAttribute", FAKE_NEEDS_INIT | FAKE_ANY_CTX | FAKE_CAN_FAIL);
    if (result) return result;
    const fake_block_t *b = fake_block_find_locked(at, 1);
    if (!b || b->freeing || attribute != DTP_CU_POINTER_DEVICE) return fake_leave(DTP_CU_INVALID_VALUE);
    const int device = b->ctx->device;
    memcpy(value, &device, sizeof device);
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuMemGetInfo(size_t *free_bytes, size_t *total_bytes) {
    const dtp_cu_result_t result = fake_enter("cuMemGetInfo", FAKE_CALL);
    if (result) return result;
    const size_t used = fake_current()->reserved;
    *total_bytes = fake.memory_bytes;
    *free_bytes = used < fake.memory_bytes ? fake.memory_bytes - used : 0;
    return fake_leave(DTP_CU_SUCCESS);
}
