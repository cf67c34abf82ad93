/* See group_pool.h. Groups are never freed before the pool, so that a late use is seen and not a crash. */
#include "support/group_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct group {
    struct group *next;
    int left; /* tasks that were scheduled and have not ended */
    bool over;
    bool joining;
    dnnl_tp_task_fn_t done;
    void *done_arg;
} group_t;

typedef struct task {
    struct task *next;
    dnnl_tp_task_fn_t fn;
    void *arg;
    group_t *group;
} task_t;

struct group_pool {
    dnnl_tp_threadpool_iface_t iface;
    group_mode_t mode;
    int workers;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    task_t *first, **last;
    group_t *groups;
    group_counts_t counts;
    bool stop, refuse, held;
    pthread_t *thread, joiner;
};

static _Thread_local group_t *current;
static _Thread_local int is_worker;

void *group_pool_current(void) { return current; }
int group_pool_worker(void) { return is_worker; }

static void *worker(void *arg) {
    group_pool_t *p = arg;
    is_worker = 1;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        task_t *task = p->first;
        if (!task) {
            if (p->stop) break;
            pthread_cond_wait(&p->changed, &p->mutex);
            continue;
        }
        p->first = task->next;
        if (!p->first) p->last = &p->first;
        pthread_mutex_unlock(&p->mutex);
        current = task->group;
        task->fn(task->arg);
        current = NULL;
        pthread_mutex_lock(&p->mutex);
        if (task->group) --task->group->left;
        free(task);
        pthread_cond_broadcast(&p->changed);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

/* Joins groups whose run has ended: waits until they have no task. */
static void *joiner(void *arg) {
    group_pool_t *p = arg;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        group_t *g = p->groups;
        bool any = false;
        while (g && (p->held || !g->joining || g->left > 0)) {
            any |= g->joining;
            g = g->next;
        }
        if (!g) {
            if (p->stop && !any) break;
            pthread_cond_wait(&p->changed, &p->mutex);
            continue;
        }
        g->joining = false;
        ++p->counts.done;
        pthread_mutex_unlock(&p->mutex);
        if (p->mode == GROUP_DELAYED) usleep(3000);
        g->done(g->done_arg);
        pthread_mutex_lock(&p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static int get_num_threads(void *ctx) { return ((group_pool_t *)ctx)->workers; }

static int schedule(void *ctx, void *run, dnnl_tp_task_fn_t fn, void *arg) {
    group_pool_t *p = ctx;
    group_t *g = run;
    task_t *task = malloc(sizeof(*task));
    if (!task) abort();
    *task = (task_t){NULL, fn, arg, g};
    pthread_mutex_lock(&p->mutex);
    if (g) {
        ++p->counts.tasks;
        if (g->over) ++p->counts.complaints; /* the last schedule of a run comes before its end */
        ++g->left;
    }
    *p->last = task;
    p->last = &task->next;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    return 0;
}

static int run_begin(void *ctx, uint64_t id, void **run) {
    group_pool_t *p = ctx;
    (void)id;
    group_t *g = calloc(1, sizeof(*g));
    if (!g) abort();
    pthread_mutex_lock(&p->mutex);
    bool refuse = p->refuse;
    p->refuse = false;
    g->next = p->groups;
    p->groups = g;
    g->over = refuse;
    p->counts.begun += !refuse;
    pthread_mutex_unlock(&p->mutex);
    *run = g;
    return refuse ? 7 : 0;
}

static void run_end(void *ctx, void *run, int status, int may_block, dnnl_tp_task_fn_t done, void *done_arg) {
    group_pool_t *p = ctx;
    group_t *g = run;
    pthread_mutex_lock(&p->mutex);
    if (g->over) ++p->counts.complaints;
    g->over = true;
    ++p->counts.ended;
    p->counts.failed += status != 0;
    if (may_block) { /* a synchronous run: join here */
        while (g->left > 0) pthread_cond_wait(&p->changed, &p->mutex);
    } else if (p->mode != GROUP_AT_ONCE) {
        g->done = done;
        g->done_arg = done_arg;
        g->joining = true;
        pthread_cond_broadcast(&p->changed);
        pthread_mutex_unlock(&p->mutex);
        return;
    }
    ++p->counts.done;
    pthread_mutex_unlock(&p->mutex);
    done(done_arg);
}

group_pool_t *group_pool_create(group_mode_t mode, int workers) {
    group_pool_t *p = calloc(1, sizeof(*p));
    if (!p) abort();
    p->mode = mode;
    p->workers = workers;
    p->last = &p->first;
    p->iface = (dnnl_tp_threadpool_iface_t){.struct_size = sizeof(p->iface),
                                            .ctx = p,
                                            .get_num_threads = get_num_threads,
                                            .schedule = schedule,
                                            .run_begin = run_begin,
                                            .run_end = run_end};
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->thread = calloc((size_t)workers, sizeof(*p->thread));
    if (!p->thread) abort();
    for (int i = 0; i < workers; ++i)
        if (pthread_create(&p->thread[i], NULL, worker, p)) abort();
    if (pthread_create(&p->joiner, NULL, joiner, p)) abort();
    return p;
}

const dnnl_tp_threadpool_iface_t *group_pool_iface(const group_pool_t *p) { return &p->iface; }

group_counts_t group_pool_counts(group_pool_t *p) {
    pthread_mutex_lock(&p->mutex);
    group_counts_t counts = p->counts;
    pthread_mutex_unlock(&p->mutex);
    return counts;
}

void group_pool_hold(group_pool_t *p, int held) {
    pthread_mutex_lock(&p->mutex);
    p->held = held;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}

void group_pool_refuse_run(group_pool_t *p) {
    pthread_mutex_lock(&p->mutex);
    p->refuse = true;
    pthread_mutex_unlock(&p->mutex);
}

void group_pool_destroy(group_pool_t *p) {
    pthread_mutex_lock(&p->mutex);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < p->workers; ++i) pthread_join(p->thread[i], NULL);
    pthread_join(p->joiner, NULL);
    while (p->groups) {
        group_t *g = p->groups;
        p->groups = g->next;
        free(g);
    }
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->changed);
    free(p->thread);
    free(p);
}
