/* Turns: threads that want the same call, or the same model for a state, at one time make it once.
 *
 * The first thread makes it, the others sleep until it is done. Where a session has made nothing
 * yet, they wait whatever they want, because the first compilation packs the weights of all. A
 * compilation depends on no work of a pool, so a worker may wait, too. A thread makes what it wants
 * itself, beside the others, where waiting might not end or not help: if it has a turn already (the
 * program's allocator runs the model), if the thread that it waits for stands still (its allocator
 * may wait for this one), and if that thread failed. */
#include "onnx/session.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/* A thread that takes no processor time for so long stands still. */
enum { NS = 1000000000, STANDS_NS = NS };

/* turn_ended is never destroyed: that would wait for sleepers that a forked child does not have. */
dnnl_tp_status_t dtp_turns_init(session_t *s) {
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr)) return dnnl_tp_out_of_memory;
    int failed = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (!failed) failed = pthread_cond_init(&s->turn_ended, &attr);
    (void)pthread_condattr_destroy(&attr);
    s->process = getpid();
    return failed ? dnnl_tp_out_of_memory : dnnl_tp_success;
}

/* In a child that was forked the others take their turns, and sleep, in the parent. */
static void forget_parents(session_t *s) {
    if (s->process == getpid()) return;
    s->turns = NULL;
    (void)dtp_turns_init(s);
}

/* Under the lock: the turn to wait for, or NULL. */
static dtp_turn_t *awaited(session_t *s, const dtp_turn_t *mine) {
    dtp_turn_t *found = NULL;
    forget_parents(s);
    for (dtp_turn_t *t = s->turns; t; t = t->next) {
        if (pthread_equal(t->thread, pthread_self())) return NULL;
        if (!s->has_made || (t->list == mine->list && t->key_bytes == mine->key_bytes &&
                             (!t->key_bytes || !memcmp(t->key, mine->key, t->key_bytes))))
            found = t;
    }
    return mine->is_alone ? NULL : found;
}

/* Processor time of a thread that has a turn. */
static int64_t spent_ns(const dtp_turn_t *t) {
    clockid_t clock;
    struct timespec spent = {0, 0};
    if (pthread_getcpuclockid(t->thread, &clock) || clock_gettime(clock, &spent)) return 0;
    return (int64_t)spent.tv_sec * NS + spent.tv_nsec;
}

static int64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

dnnl_tp_status_t dtp_turn_late(void) {
    return dtp_onnx_fail(dnnl_tp_deadline_exceeded,
                         "the deadline passed before another thread had compiled the model");
}

bool dtp_turn_wait(session_t *s, dtp_turn_t *mine) {
    const dtp_turn_t *t = awaited(s, mine);
    const int64_t now = now_ns(), stands = now + STANDS_NS;
    const bool has_deadline = mine->deadline_ns && mine->deadline_ns < stands;
    mine->is_late = t && has_deadline && mine->deadline_ns <= now;
    if (mine->is_late) return false;
    if (!t) {
        mine->thread = pthread_self();
        mine->next = s->turns;
        s->turns = mine;
        return false;
    }
    const int64_t spent = spent_ns(t);
    const uint64_t ended = s->turns_ended, failed = s->turns_failed;
    const int64_t end = has_deadline ? mine->deadline_ns : stands;
    const struct timespec until = {.tv_sec = (time_t)(end / NS), .tv_nsec = (long)(end % NS)};
    const bool stood = pthread_cond_timedwait(&s->turn_ended, &s->lock, &until) == ETIMEDOUT && !has_deadline;
    mine->is_alone = s->turns_failed != failed || (stood && s->turns_ended == ended && spent_ns(t) == spent);
    return true;
}

void dtp_turn_end(session_t *s, const dtp_turn_t *mine, bool failed) {
    pthread_mutex_lock(&s->lock);
    forget_parents(s);
    dtp_turn_t **at = &s->turns;
    while (*at && *at != mine) at = &(*at)->next;
    if (*at) *at = mine->next; /* there, but in a child that it forked itself */
    s->has_made |= !failed;
    s->turns_failed += failed;
    ++s->turns_ended;
    (void)pthread_cond_broadcast(&s->turn_ended);
    pthread_mutex_unlock(&s->lock);
}
