/* Working memory that the executables of one store lend each other: a run takes a block and gives it back, so
 * that a new shape starts in memory that runs of other shapes have touched (a first touch costs a page
 * fault), and many shapes need no more memory than the largest one.
 *
 * Only for executables with one allocator, that of the first one alive, and blocks worth it (DTP_LENT_MIN);
 * run/run_object.c decides. Blocks are freed when the last executable leaves. */
#ifndef DTP_EXEC_GRAPH_LENT_H
#define DTP_EXEC_GRAPH_LENT_H

#include "common/base/base.h"
#include "threading/base/futex.h"

enum { DTP_LENT_MIN = 64 * 1024 };

typedef struct dtp_lent_block {
    struct dtp_lent_block *next;
    size_t capacity, touched; /* bytes; touched: by us, from the begin */
} dtp_lent_block_t;

/* All but `hot` and `listed` under the lock; zeroed = empty. The first block that is given back goes to
 * `hot`, where runs one after another find it without the lock; who takes the lock to take moves it to the
 * list. */
typedef struct {
    dtp_lent_block_t *_Atomic hot;
    _Atomic bool listed; /* idle is not empty; written under the lock */
    dtp_lock_t lock;
    int executables;
    const dnnl_tp_allocator_t *allocator;
    dtp_lent_block_t *idle; /* given back last first */
    size_t largest;         /* that was reserved; a block of that capacity is not freed before the others */
} dtp_lent_t;

/* An executable may lend and borrow between enter, if that is true, and leave. */
bool dtp_lent_enter(dtp_lent_t *lent, const dnnl_tp_allocator_t *allocator);
void dtp_lent_leave(dtp_lent_t *lent);
/* Runs of at most so many bytes that follow one another will allocate nothing and touch no new page;
 * false: no memory. */
bool dtp_lent_reserve(dtp_lent_t *lent, size_t bytes);
/* Writes to every page and changes nothing, so that a run meets no page fault there: a fault takes up to a
 * hundred times as long as what a loop computes in its page, and delays the look at the stop word. */
void dtp_touch_pages(void *p, size_t bytes);
/* NULL: no memory. Contents are undefined. */
dtp_lent_block_t *dtp_lent_take(dtp_lent_t *lent, size_t bytes);
void dtp_lent_give(dtp_lent_t *lent, dtp_lent_block_t *block);

static inline char *dtp_lent_data(dtp_lent_block_t *block) { return (char *)block + DTP_NO_SHARE; }

#endif
