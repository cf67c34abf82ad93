/* Bump allocation from the library's allocator, see import_memory.h. */
#include "common/import_memory.h"

#include <string.h>

enum { ALIGN = 16, BLOCK_BYTES = 16 * 1024, LARGE = BLOCK_BYTES / 2 };

struct dtp_import_block {
    struct dtp_import_block *next;
    size_t used, size;
    _Alignas(ALIGN) char data[];
};

void dtp_import_memory_init(dtp_import_memory_t *memory) {
    memory->blocks = NULL;
    memory->allocator = dnnl_tp_get_allocator();
}

void dtp_import_memory_free(dtp_import_memory_t *memory) {
    for (struct dtp_import_block *b = memory->blocks, *next; b; b = next) {
        next = b->next;
        memory->allocator->free(memory->allocator->ctx, b);
    }
    memory->blocks = NULL;
}

void *dtp_import_alloc(dtp_import_memory_t *memory, size_t size) {
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    struct dtp_import_block *b = memory->blocks;
    if (!b || size > b->size - b->used) {
        const size_t room = size > LARGE ? size : BLOCK_BYTES;
        struct dtp_import_block *made = memory->allocator->alloc(memory->allocator->ctx, sizeof *made + room,
                                                                 _Alignof(struct dtp_import_block));
        if (!made) {
            (void)dnnl_tp_fail(dnnl_tp_out_of_memory, "out of memory");
            return NULL;
        }
        /* A large block stands behind the newest one, whose rest stays in use. */
        struct dtp_import_block **at = b && size > LARGE ? &b->next : &memory->blocks;
        made->next = *at;
        made->used = 0;
        made->size = room;
        *at = b = made;
    }
    b->used += size;
    return memset(b->data + b->used - size, 0, size);
}

dnnl_tp_status_t dtp_import_grow(dtp_import_memory_t *memory, void **array, int *capacity, int need,
                                 size_t size) {
    enum { FEW = 4 };
    if (need <= *capacity) return dnnl_tp_success;
    int n = *capacity ? *capacity : FEW;
    while (n < need) n *= 2;
    void *p = dtp_import_alloc(memory, (size_t)n * size);
    if (!p) return dnnl_tp_out_of_memory;
    if (*capacity) memcpy(p, *array, (size_t)*capacity * size);
    *array = p;
    *capacity = n;
    return dnnl_tp_success;
}
