/* A host that makes a task group of every run: tasks of the run belong to it, and run_end joins it, in one of
 * three ways. Notes every breach of the rules of run_begin, schedule and run_end. */
#ifndef TESTS_SUPPORT_GROUP_POOL_H
#define TESTS_SUPPORT_GROUP_POOL_H

#include "dnnl_tp/dnnl_tp_threadpool.h"

typedef enum {
    GROUP_AT_ONCE, /* run_end calls done and joins nothing */
    GROUP_LATER,   /* a thread of the host joins the group, then calls done */
    GROUP_DELAYED, /* the same, some milliseconds later, and not while held */
    GROUP_MODES
} group_mode_t;

typedef struct group_pool group_pool_t;

group_pool_t *group_pool_create(group_mode_t mode, int workers);
const dnnl_tp_threadpool_iface_t *group_pool_iface(const group_pool_t *pool);
/* The run whose task the calling thread is in; NULL outside. */
void *group_pool_current(void);
/* Is the calling thread one of the pool's? */
int group_pool_worker(void);
typedef struct {
    int begun, ended, done, failed; /* failed: ended with another status than success */
    int tasks;                      /* with a cookie */
    int complaints; /* a task or an end for a run that is over, an end inside which tasks are left */
} group_counts_t;
group_counts_t group_pool_counts(group_pool_t *pool);
/* While it is held, a GROUP_DELAYED pool ends no run. */
void group_pool_hold(group_pool_t *pool, int held);
/* The next run_begin answers an error. */
void group_pool_refuse_run(group_pool_t *pool);
void group_pool_destroy(group_pool_t *pool);

#endif
