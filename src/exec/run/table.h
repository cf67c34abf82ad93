/* Tables that grow and never shrink: pointers by number, which any thread adds and reads without a
 * lock. Block k holds DTP_TABLE_BLOCK << k of them and does not move, so a number always leads to
 * its pointer.
 *
 * A thread that adds takes the next number, makes the block if it does not exist (of two threads
 * that do, one drops its own), and stores the pointer; then it passes the number to others. If
 * there is no memory, the number is lost, and nothing else. A thread reads only numbers that were
 * passed to it. */
#ifndef DTP_EXEC_RUN_TABLE_H
#define DTP_EXEC_RUN_TABLE_H

#include <stdatomic.h>

#include "common/base/base.h"

enum { DTP_TABLE_BLOCKS = 20, DTP_TABLE_BLOCK = 32 };
typedef struct {
    _Atomic uint32_t count; /* numbers that were taken */
    void *_Atomic *_Atomic blocks[DTP_TABLE_BLOCKS];
} dtp_table_t;

/* The position of a number: its block, and its place in the block. */
static inline int dtp_table_block(uint32_t number, uint32_t *at) {
    uint32_t first = 0, size = DTP_TABLE_BLOCK;
    int k = 0;
    for (; k < DTP_TABLE_BLOCKS && number - first >= size; ++k) {
        first += size;
        size *= 2;
    }
    *at = number - first;
    return k;
}

static inline void *dtp_table_get(const dtp_table_t *t, uint32_t number) {
    uint32_t at;
    const int k = dtp_table_block(number, &at);
    void *_Atomic *block = atomic_load_explicit(&t->blocks[k], memory_order_acquire);
    return atomic_load_explicit(&block[at], memory_order_acquire);
}

/* False: there is no memory (or the table has 33 million entries). *number is written before p can
 * be read. */
static inline bool dtp_table_add(dtp_table_t *t, const dnnl_tp_allocator_t *allocator, void *p,
                                 uint32_t *number) {
    uint32_t at;
    *number = atomic_fetch_add_explicit(&t->count, 1, memory_order_relaxed);
    const int k = dtp_table_block(*number, &at);
    void *_Atomic *block = NULL;
    if (k < DTP_TABLE_BLOCKS) block = atomic_load_explicit(&t->blocks[k], memory_order_acquire);
    if (k < DTP_TABLE_BLOCKS && !block) {
        void *_Atomic *mine =
            dtp_zalloc(allocator, sizeof *mine * (size_t)(DTP_TABLE_BLOCK << k), DTP_CACHE_LINE);
        if (mine && atomic_compare_exchange_strong_explicit(&t->blocks[k], &block, mine, memory_order_acq_rel,
                                                            memory_order_acquire))
            block = mine;
        else dtp_free(allocator, (void *)mine);
    }
    if (!block) return false;
    atomic_store_explicit(&block[at], p, memory_order_release);
    return true;
}

/* Calls drop with each pointer, and frees the table. No thread may use it any more. */
static inline void dtp_table_drop(dtp_table_t *t, const dnnl_tp_allocator_t *allocator,
                                  void (*drop)(void *arg, void *p), void *arg) {
    for (int k = 0; k < DTP_TABLE_BLOCKS; ++k) {
        void *_Atomic *block = atomic_load_explicit(&t->blocks[k], memory_order_acquire);
        for (int i = 0; block && i < DTP_TABLE_BLOCK << k; ++i) {
            void *p = atomic_load_explicit(&block[i], memory_order_acquire);
            if (p) drop(arg, p);
        }
        dtp_free(allocator, (void *)block);
    }
}

#endif
