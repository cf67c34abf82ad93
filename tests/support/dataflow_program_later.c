/* Operators of random programs that are complete later than their exec returns: a thread of the program's own computes
 * their results and returns them, in any order; or exec does so itself before it returns; or, in a run that fails,
 * nobody does until the engine recalls them. See exec/dataflow/run/pending.c. */
#include <unistd.h>

#include "support/dataflow_program_parts.h"

enum { NEVER_NS = 3000000 }; /* a run that does not fail after all goes on */

static void give(dataflow_program_t *p, const later_t *l) {
    *l->out = l->value;
    dtp_dataflow_return(p->state, l->task, dnnl_tp_success);
}

/* One that may be returned now, out of the list; under the lock. */
static bool take(dataflow_program_t *p, later_t *l) {
    for (int i = 0; i < p->nlater; ++i) {
        const int at = (int)((unsigned)(p->nlater * 7 + i) % (unsigned)p->nlater);
        if (p->later[at].until_ns && dtp_now_ns() < p->later[at].until_ns) continue;
        *l = p->later[at];
        p->later[at] = p->later[--p->nlater];
        return true;
    }
    return false;
}

static void *complete(void *arg) {
    dataflow_program_t *p = arg;
    pthread_mutex_lock(&p->later_lock);
    while (!p->later_ends) {
        later_t l;
        if (!take(p, &l)) {
            struct timespec at;
            clock_gettime(CLOCK_REALTIME, &at);
            at.tv_nsec += 1000000;
            if (at.tv_nsec >= 1000000000) ++at.tv_sec, at.tv_nsec -= 1000000000;
            pthread_cond_timedwait(&p->later_more, &p->later_lock, &at);
            continue;
        }
        pthread_mutex_unlock(&p->later_lock);
        if (l.task >> 7 & 1) usleep(20);
        give(p, &l);
        pthread_mutex_lock(&p->later_lock);
    }
    pthread_mutex_unlock(&p->later_lock);
    return NULL;
}

bool dataflow_program_later(dataflow_program_t *p, uint64_t task, uint64_t *out, uint64_t value,
                            uint32_t salt) {
    later_t l = {task, out, value, 0};
    if (salt % 4 == 0) {
        give(p, &l);
        return true;
    }
    bool taken = false;
    pthread_mutex_lock(&p->later_lock);
    if (p->nlater < LATER && !atomic_load(&p->recalled)) {
        if (p->fails && salt % 4 == 1) l.until_ns = dtp_now_ns() + NEVER_NS;
        p->later[p->nlater++] = l;
        taken = true;
        pthread_cond_signal(&p->later_more);
    }
    pthread_mutex_unlock(&p->later_lock);
    return taken;
}

void dataflow_program_recall(void *arg) {
    dataflow_program_t *p = arg;
    later_t list[LATER];
    pthread_mutex_lock(&p->later_lock);
    atomic_store(&p->recalled, true); /* from now on nothing is given out: exec looks under the lock */
    const int n = p->nlater;
    memcpy(list, p->later, sizeof *list * (size_t)n);
    p->nlater = 0;
    pthread_mutex_unlock(&p->later_lock);
    for (int i = 0; i < n; ++i) dtp_dataflow_return(p->state, list[i].task, dnnl_tp_success);
}

void dataflow_program_later_begin(dataflow_program_t *p) {
    if (!p->opts.pending) return;
    pthread_mutex_init(&p->later_lock, NULL);
    pthread_cond_init(&p->later_more, NULL);
    if (pthread_create(&p->completer, NULL, complete, p)) dataflow_program_die("no thread");
}

void dataflow_program_later_end(dataflow_program_t *p) {
    if (!p->opts.pending) return;
    pthread_mutex_lock(&p->later_lock);
    p->later_ends = true;
    pthread_cond_signal(&p->later_more);
    pthread_mutex_unlock(&p->later_lock);
    pthread_join(p->completer, NULL);
    pthread_mutex_destroy(&p->later_lock);
    pthread_cond_destroy(&p->later_more);
}
