/* Working memory that all executables of a store share: a run takes a block and gives it back. A new
 * shape then starts in memory that runs of other shapes have touched (a first touch costs a page
 * fault), and many shapes need no more memory than the largest one.
 *
 * Only executables with the allocator of the first executable alive share memory, and only blocks of at
 * least DTP_RUN_MEMORY_MIN bytes are shared; run/run_object.c decides. The last executable that leaves
 * frees the blocks. */
#ifndef DTP_EXEC_GRAPH_RUN_MEMORY_H
#define DTP_EXEC_GRAPH_RUN_MEMORY_H

#include "common/base/base.h"
#include "threading/base/futex.h"

enum { DTP_RUN_MEMORY_MIN = 64 * 1024 };

typedef struct dtp_run_block {
    struct dtp_run_block *next;
    /* Bytes; touched: those from the begin that runs or reservations have touched. */
    size_t capacity, touched;
} dtp_run_block_t;

/* The lock protects all members but `hot` and `listed`; zeroed = empty. A block that a run gives back goes
 * to `hot` if `hot` is empty, where the next run finds it without the lock; a thread that takes a block
 * under the lock first moves it to the list. */
typedef struct {
    dtp_run_block_t *_Atomic hot;
    _Atomic bool listed; /* idle is not empty; written under the lock */
    dtp_lock_t lock;
    int executables;
    const dnnl_tp_allocator_t *allocator;
    /* The block that was given back last comes first. */
    dtp_run_block_t *idle;
    /* Largest size that was reserved; a block of that capacity is not freed before the others. */
    size_t largest;
} dtp_run_memory_t;

/* An executable may take and give blocks between enter, if that returns true, and leave. */
bool dtp_run_memory_enter(dtp_run_memory_t *s, const dnnl_tp_allocator_t *allocator);
void dtp_run_memory_leave(dtp_run_memory_t *s);
/* Makes successive runs of at most so many bytes allocate nothing and touch no new page; false: no memory. */
bool dtp_run_memory_reserve(dtp_run_memory_t *s, size_t bytes);
/* Writes to every page without changing its bytes, so that a run has no page fault there: a fault takes up
 * to a hundred times as long as the computation of a loop in its page, and delays the check of the stop word. */
void dtp_touch_pages(void *p, size_t bytes);
/* NULL: no memory. Contents are undefined. */
dtp_run_block_t *dtp_run_memory_take(dtp_run_memory_t *s, size_t bytes);
void dtp_run_memory_give(dtp_run_memory_t *s, dtp_run_block_t *block);

static inline char *dtp_run_block_data(dtp_run_block_t *block) { return (char *)block + DTP_NO_SHARE; }

#endif
