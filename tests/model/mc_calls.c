/* What threads of an execution call: fibers, and each operation of the source as a step. What the step does:
 * mc_steps.c; the search: mc.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mc_state.h"

enum { LOCATION_HASH = 1024, STACK_BYTES = 1 << 17, CLOCK_STEP = 1 << 30, IGNORED = 8 };

void (*mc_cas_missed)(const volatile void *p, uint64_t expected, uint64_t found);
static ucontext_t scheduler_context;
static uint32_t generation;
static struct {
    uint32_t generation;
    int location;
} location_of[LOCATION_HASH];
static void **thread_local_of[MC_LOCALS];
static int n_locals;
static int64_t now;
static struct {
    const char *p;
    size_t size;
} ignored[IGNORED];
static int n_ignored;

void mc_forget_calls(void) {
    ++generation;
    n_ignored = n_locals = 0;
    now = 0;
    mc_cas_missed = NULL;
}

/* ---- Fibers ------------------------------------------------------------------------------------------ */

void mc_fail(const char *text) {
    mc.failed = true;
    mc.failure = text;
    if (mc.current >= 0) _longjmp(mc.scheduler, 1);
    if (mc.in_setup) {
        fprintf(stderr, "setup: %s\n", text);
        exit(2);
    }
    _longjmp(mc.scheduler, 1);
}

static void fiber_main(void) {
    fiber_t *f = &mc.fibers[mc.current];
    /* Each execution starts here again, whatever the last one left on the stack. */
    (void)_setjmp(f->base);
    f = &mc.fibers[mc.current];
    f->fn(f->arg);
    f->op = (op_t){.kind = OP_END, .location = -1};
    _longjmp(mc.scheduler, 1);
}

/* Runs a thread up to its next step. */
void mc_resume(int t, bool begin) {
    fiber_t *volatile f = &mc.fibers[t];
    mc.current = t;
    for (int i = 0; i < n_locals; ++i) *thread_local_of[i] = f->local[i];
    if (!_setjmp(mc.scheduler)) {
        if (!begin) _longjmp(f->here, 1);
        if (f->stack) _longjmp(f->base, 1);
        f->stack = malloc(STACK_BYTES);
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = f->stack;
        f->context.uc_stack.ss_size = STACK_BYTES;
        f->context.uc_link = NULL;
        makecontext(&f->context, fiber_main, 0);
        swapcontext(&scheduler_context, &f->context);
    }
    for (int i = 0; i < n_locals; ++i) f->local[i] = *thread_local_of[i];
    f->fresh = true;
    mc.current = -1;
}

static op_t *step(op_t op) {
    fiber_t *f = &mc.fibers[mc.current];
    f->op = op;
    if (!_setjmp(f->here)) _longjmp(mc.scheduler, 1);
    return &mc.fibers[mc.current].op;
}

void mc_thread(void (*fn)(void *), void *arg) {
    fiber_t *f = &mc.fibers[mc.n_threads++];
    f->fn = fn;
    f->arg = arg;
    f->asleep = f->woken = false;
    memset(f->local, 0, sizeof f->local);
    f->n_buffer = f->n_reads = 0;
    memset(f->sync, 0, sizeof f->sync);
    memset(f->pending, 0, sizeof f->pending);
    memset(f->released, 0, sizeof f->released);
    f->sync[f - mc.fibers] = 1;
}
void mc_ignore(const void *p, size_t size) {
    if (n_ignored == IGNORED) mc_fail("too much is ignored");
    ignored[n_ignored].p = p;
    ignored[n_ignored++].size = size;
}
/* An operation here is no step. */
static bool direct(const volatile void *p) {
    if (mc.current < 0) return true;
    for (int i = 0; i < n_ignored; ++i)
        if ((size_t)((const volatile char *)p - ignored[i].p) < ignored[i].size) return true;
    return false;
}
void mc_thread_local(void **variable) {
    if (n_locals == MC_LOCALS) mc_fail("too many thread-local variables");
    thread_local_of[n_locals++] = variable;
}
int mc_self(void) { return mc.current; }
int64_t mc_clock(void) { return now += CLOCK_STEP; }

/* ---- Operations as the source calls them ------------------------------------------------------------- */

static int location(volatile void *p, const char *text) {
    uint32_t h = (uint32_t)(((uintptr_t)p * 0x9e3779b97f4a7c15u) >> 40) % LOCATION_HASH;
    while (location_of[h].generation == generation) {
        if (mc.locations[location_of[h].location].p == p) return location_of[h].location;
        h = (h + 1) % LOCATION_HASH;
    }
    if (mc.n_locations == LOCATIONS) mc_fail("too many locations");
    location_of[h].generation = generation;
    location_of[h].location = mc.n_locations;
    location_t *l = &mc.locations[mc.n_locations];
    memset(l, 0, sizeof *l);
    l->p = p;
    l->text = text;
    return mc.n_locations++;
}

void mc_load(const volatile void *p, void *result, size_t size, int order, const char *text) {
    if (direct(p)) {
        memcpy(result, (const void *)(uintptr_t)p, size);
        return;
    }
    volatile void *q = (volatile void *)(uintptr_t)p;
    op_t *op = step((op_t){.kind = OP_LOAD,
                           .order = order,
                           .location = location(q, text),
                           .size = (uint32_t)size,
                           .text = text});
    memcpy(result, &op->result, size);
}

void mc_store(volatile void *p, const void *value, size_t size, int order, const char *text) {
    if (direct(p)) {
        memcpy((void *)(uintptr_t)p, value, size);
        return;
    }
    (void)step((op_t){.kind = OP_STORE,
                      .order = order,
                      .location = location(p, text),
                      .size = (uint32_t)size,
                      .write = true,
                      .value = mc_fetch(value, size),
                      .text = text});
}

void mc_rmw(volatile void *p, void *value, size_t size, mc_rmw_t what, int order, const char *text) {
    if (direct(p)) {
        uint64_t old = mc_fetch(p, size);
        mc_put(p, mc_combine(what, old, mc_fetch(value, size)), size);
        memcpy(value, &old, size);
        return;
    }
    op_t *op = step((op_t){.kind = OP_RMW,
                           .order = order,
                           .location = location(p, text),
                           .size = (uint32_t)size,
                           .write = true,
                           .what = what,
                           .value = mc_fetch(value, size),
                           .text = text});
    memcpy(value, &op->result, size);
}

bool mc_cas(volatile void *p, void *expected, const void *value, size_t size, int order, int miss,
            const char *text) {
    if (direct(p)) {
        if (memcmp((void *)(uintptr_t)p, expected, size) == 0) {
            memcpy((void *)(uintptr_t)p, value, size);
            return true;
        }
        memcpy(expected, (void *)(uintptr_t)p, size);
        return false;
    }
    uint64_t want = mc_fetch(expected, size);
    op_t *op = step((op_t){.kind = OP_CAS,
                           .order = order,
                           .location = location(p, text),
                           .size = (uint32_t)size,
                           .write = true,
                           .miss = miss,
                           .value = mc_fetch(value, size),
                           .expected = want,
                           .text = text});
    if (op->ok) return true;
    uint64_t found = op->result;
    memcpy(expected, &found, size);
    if (mc_cas_missed) mc_cas_missed(p, want, found);
    return false;
}

void mc_fence(int order) {
    if (mc.current >= 0) (void)step((op_t){.kind = OP_FENCE, .order = order, .location = -1, .text = ""});
}
void mc_yield(void) {
    if (mc.current >= 0) (void)step((op_t){.kind = OP_YIELD, .location = -1, .text = ""});
}
static op_t sleep_op(kind_t kind, volatile void *p, const char *text) {
    return (op_t){.kind = kind,
                  .order = SEQ_CST,
                  .location = location(p, text),
                  .size = sizeof(uint32_t),
                  .write = true,
                  .text = text};
}
bool mc_futex_wait(volatile void *p, uint32_t value, bool timed) {
    if (mc.current < 0) mc_fail("sleeps outside threads");
    op_t op = sleep_op(OP_WAIT, p, "futex");
    op.expected = value;
    if (!step(op)->ok) return true;
    op = sleep_op(OP_RESUME, p, "futex");
    op.timed = timed;
    return step(op)->ok;
}
void mc_futex_wake(volatile void *p, int count) {
    if (mc.current < 0) return;
    op_t op = sleep_op(OP_WAKE, p, "futex");
    op.value = (uint64_t)count;
    (void)step(op);
}
void mc_lock(volatile uint32_t *word) {
    if (mc.current >= 0) (void)step(sleep_op(OP_LOCK, word, "lock"));
}
bool mc_try_lock(volatile uint32_t *word) {
    return mc.current < 0 || step(sleep_op(OP_TRY_LOCK, word, "lock"))->ok;
}
void mc_unlock(volatile uint32_t *word) {
    if (mc.current >= 0) (void)step(sleep_op(OP_UNLOCK, word, "lock"));
}
void mc_copy(void *to, const void *from, size_t n) {
    for (size_t i = 0; i < n; ++i) mc_store((char *)to + i, (const char *)from + i, 1, RELAXED, "copy");
}
