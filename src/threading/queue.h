/* In-order queue of submission blocks: what an asynchronous stream is made of.
 *
 * Items run one after another, each on some thread of the pool (or on a thread that waits for the queue), and
 * may use the pool's other threads through the dtp_parallel_t they get. Nobody blocks while an item waits its
 * turn. */
#ifndef DTP_THREADING_QUEUE_H
#define DTP_THREADING_QUEUE_H

#include "threading/pool.h"

typedef struct dtp_queue dtp_queue_t;

/* First member of a submission block. The block belongs to the queue from submit until recycle is called. */
typedef struct dtp_item {
    struct dtp_item *_Atomic next;
    int num_threads; /* participants at most */
    /* par NULL: an earlier item failed, this one only drops what it holds (the result is ignored). */
    dnnl_tp_status_t (*run)(struct dtp_item *item, const dtp_parallel_t *par);
    void (*recycle)(struct dtp_item *item); /* the queue reads the item no more */
} dtp_item_t;

dnnl_tp_status_t dtp_queue_create(dtp_queue_t **queue, dtp_pool_t *pool,
                                  const dnnl_tp_allocator_t *allocator);
/* Never blocks, never allocates. The first failed item poisons the queue: later ones are skipped. */
dnnl_tp_status_t dtp_queue_submit(dtp_queue_t *queue, dtp_item_t *item);
/* Until all items submitted before are done: success, the first error, or would_deadlock at once when called
 * from inside an item of any queue that is unfinished; timeout_ns < 0 = none. A waiting thread helps. */
dnnl_tp_status_t dtp_queue_wait(dtp_queue_t *queue, int64_t timeout_ns);
/* Drains, then frees. would_deadlock from inside own work, and the queue stays. */
dnnl_tp_status_t dtp_queue_close(dtp_queue_t *queue);

#endif
