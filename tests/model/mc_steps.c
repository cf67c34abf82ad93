/* What a step does: store buffers, memory, happens-before, plain data. How a thread comes to a step:
 * mc_calls.c; the search: mc.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mc_state.h"

enum { PLAINS = 64, BLOCKS = 64, PAGE = 4096, ARENA_BYTES = 1 << 22 };

typedef struct {
    const char *p;
    size_t size;
    bool freed;
    uint32_t used[THREADS];
} block_t;

typedef struct {
    const void *p;
    int writer;
    uint32_t written, read[THREADS];
} plain_t;

mc_run_t mc;
static plain_t plains[PLAINS];
static int n_plains;
static block_t blocks[BLOCKS];
static int n_blocks;
static char *arena;
static size_t arena_used;
static const char *const kind_names[] = {"end",    "load", "store", "rmw",  "cas",      "fence",  "wait",
                                         "resume", "wake", "yield", "lock", "try lock", "unlock", "flush"};

/* ---- Happens-before, plain data, memory -------------------------------------------------------------- */

static void join(uint32_t *to, const uint32_t *from) {
    for (int i = 0; i < mc.n_threads; ++i)
        if (from[i] > to[i]) to[i] = from[i];
}
void mc_join_clock(uint16_t *to, const uint16_t *from) {
    for (int i = 0; i < ACTORS; ++i) to[i] = from[i] > to[i] ? from[i] : to[i]; /* eight at once */
}

static block_t *block_of(const volatile void *p) {
    for (int i = 0; i < n_blocks; ++i)
        if ((size_t)((const volatile char *)p - blocks[i].p) < blocks[i].size) return &blocks[i];
    return NULL;
}
static void touch(const volatile void *p, int thread) {
    if (thread < 0) return;
    block_t *b = block_of(p);
    if (!b) return;
    if (b->freed) mc_fail("use after free");
    b->used[thread] = mc.fibers[thread].sync[thread];
}

void *mc_alloc(size_t size) {
    size = (size + 255) / 128 * 128;
    if (n_blocks == BLOCKS || arena_used + size > ARENA_BYTES) mc_fail("out of model memory");
    block_t *b = &blocks[n_blocks++];
    *b = (block_t){.p = arena + arena_used, .size = size};
    arena_used += size;
    memset((void *)(uintptr_t)b->p, 0, size);
    if (mc.current >= 0) b->used[mc.current] = mc.fibers[mc.current].sync[mc.current];
    return (void *)(uintptr_t)b->p;
}
void mc_free(void *p) {
    if (!p) return;
    block_t *b = block_of(p);
    if (!b || b->p != p) mc_fail("free of what was never allocated");
    if (b->freed) mc_fail("double free");
    for (int i = 0; mc.current >= 0 && i < mc.n_threads; ++i)
        if (b->used[i] > mc.fibers[mc.current].sync[i]) mc_fail("freed without an edge from its last use");
    b->freed = true;
    enum { DEAD_BYTE = 0xdd };
    memset(p, DEAD_BYTE, b->size);
}
int64_t mc_live(void) {
    int64_t n = 0;
    for (int i = 0; i < n_blocks; ++i) n += !blocks[i].freed;
    return n;
}

static plain_t *plain(const void *p) {
    for (int i = 0; i < n_plains; ++i)
        if (plains[i].p == p) return &plains[i];
    if (n_plains == PLAINS) mc_fail("too many plain objects");
    plains[n_plains] = (plain_t){.p = p, .writer = -1};
    return &plains[n_plains++];
}
void mc_read(const void *p) {
    if (mc.current < 0) return;
    touch(p, mc.current);
    plain_t *x = plain(p);
    if (x->writer >= 0 && x->writer != mc.current && x->written > mc.fibers[mc.current].sync[x->writer])
        mc_fail("race: read of plain data without an edge from its writer");
    x->read[mc.current] = mc.fibers[mc.current].sync[mc.current];
}
void mc_write(const void *p) {
    if (mc.current < 0) return;
    touch(p, mc.current);
    plain_t *x = plain(p);
    if (x->writer >= 0 && x->writer != mc.current && x->written > mc.fibers[mc.current].sync[x->writer])
        mc_fail("race: two writers of plain data");
    for (int i = 0; i < mc.n_threads; ++i)
        if (i != mc.current && x->read[i] > mc.fibers[mc.current].sync[i])
            mc_fail("race: write of plain data without an edge from its reader");
    x->writer = mc.current;
    x->written = mc.fibers[mc.current].sync[mc.current];
}

void mc_forget(void) {
    if (!arena) arena = aligned_alloc(PAGE, ARENA_BYTES);
    mc.n_threads = mc.n_locations = n_plains = n_blocks = 0;
    arena_used = 0;
    memset(mc.clocks, 0, sizeof mc.clocks);
    mc.current = -1;
    mc_forget_calls();
}

uint64_t mc_fetch(const volatile void *p, size_t size) {
    uint64_t v = 0;
    memcpy(&v, (const void *)(uintptr_t)p, size);
    return v;
}
void mc_put(volatile void *p, uint64_t v, size_t size) { memcpy((void *)(uintptr_t)p, &v, size); }
uint64_t mc_combine(mc_rmw_t what, uint64_t old, uint64_t v) {
    switch (what) {
    case MC_ADD: return old + v;
    case MC_SUB: return old - v;
    case MC_OR: return old | v;
    case MC_AND: return old & v;
    default: return v;
    }
}

/* ---- Steps ------------------------------------------------------------------------------------------- */

static int actor_of_slot(int thread, int slot) { return mc.n_threads + thread * SLOTS + slot; }

static entry_t *head_of(const fiber_t *f, int slot) {
    for (int i = 0; i < f->n_buffer; ++i)
        if (f->buffer[i].slot == slot) return (entry_t *)&f->buffer[i];
    return NULL;
}
static entry_t *newest(fiber_t *f, int at_location) {
    for (int i = f->n_buffer - 1; i >= 0; --i)
        if (f->buffer[i].location == at_location) return &f->buffer[i];
    return NULL;
}

static bool releases(int order) { return order >= RELEASE; }
static bool acquires(int order) { return order == ACQUIRE || order >= ACQ_REL; }

/* Must the buffer be empty before this step? */
static bool drains(const op_t *op) {
    switch (op->kind) {
    case OP_LOAD:
    case OP_YIELD:
    case OP_LOCK:
    case OP_TRY_LOCK: return false;
    case OP_STORE: return op->order == SEQ_CST;
    case OP_RMW:
    case OP_CAS: return releases(op->order);
    default: return true;
    }
}

/* A slot for a store; -1 if the buffer is full. */
static int slot_for(const fiber_t *f, int at_location) {
    if (f->n_buffer == BUFFER) return -1;
    for (int i = 0; i < f->n_buffer; ++i)
        if (f->buffer[i].location == at_location) return f->buffer[i].slot;
    for (int s = 0; s < SLOTS; ++s)
        if (!head_of(f, s)) return s;
    return -1;
}

static bool thread_enabled(const fiber_t *f) {
    const op_t *op = &f->op;
    if (op->kind == OP_END) return false;
    if (mc.weak_mode && f->n_buffer) {
        if (drains(op)) return false;
        if (op->kind == OP_STORE && slot_for(f, op->location) < 0) return false;
        if (op->kind == OP_RMW || op->kind == OP_CAS)
            for (int i = 0; i < f->n_buffer; ++i)
                if (f->buffer[i].location == op->location) return false;
    }
    if (op->kind == OP_LOCK) return mc_fetch(mc.locations[op->location].p, op->size) == 0;
    if (op->kind == OP_RESUME) return f->woken || op->timed;
    if (op->kind == OP_YIELD) {
        if (f->n_reads == 0) return true;
        for (int i = 0; i < f->n_reads; ++i)
            if (mc.locations[f->reads[i].location].version != f->reads[i].version) return true;
        return false;
    }
    return true;
}

uint32_t mc_enabled(void) {
    uint32_t mask = 0;
    for (int t = 0; t < mc.n_threads; ++t) {
        fiber_t *f = &mc.fibers[t];
        if (thread_enabled(f)) mask |= 1u << t;
        for (int s = 0; f->n_buffer && s < SLOTS; ++s) {
            entry_t *e = head_of(f, s);
            if (e && (!e->release || e == f->buffer)) mask |= 1u << actor_of_slot(t, s);
        }
    }
    return mask;
}

entry_t *mc_head(int actor) {
    return head_of(&mc.fibers[(actor - mc.n_threads) / SLOTS], (actor - mc.n_threads) % SLOTS);
}

/* The location that the actor's next step touches, -1 for none. */
int mc_next_location(int actor, bool *write, kind_t *kind) {
    if (actor < mc.n_threads) {
        *write = mc.fibers[actor].op.write;
        *kind = mc.fibers[actor].op.kind;
        /* A store into the buffer is nobody else's business. */
        if (mc.weak_mode && *kind == OP_STORE && mc.fibers[actor].op.order != SEQ_CST) return -1;
        return mc.fibers[actor].op.location;
    }
    entry_t *e = head_of(&mc.fibers[(actor - mc.n_threads) / SLOTS], (actor - mc.n_threads) % SLOTS);
    *write = true;
    *kind = OP_FLUSH;
    return e ? e->location : -1;
}

static void note_read(fiber_t *f, int at_location) {
    for (int i = 0; i < f->n_reads; ++i)
        if (f->reads[i].location == at_location) {
            f->reads[i].version = mc.locations[at_location].version;
            return;
        }
    if (f->n_reads == READS) f->n_reads = 0; /* then a yield may return early */
    f->reads[f->n_reads].location = at_location;
    f->reads[f->n_reads++].version = mc.locations[at_location].version;
}

void mc_say(int actor, const op_t *op, uint64_t before) {
    if (!mc.trace) return;
    if (actor >= mc.n_threads) {
        fprintf(stderr, "        %d: flush\n", (actor - mc.n_threads) / SLOTS);
        return;
    }
    fprintf(stderr, "  %d: %-8s %-28s", actor, kind_names[op->kind], op->text);
    if (op->location >= 0) {
        volatile void *p = mc.locations[op->location].p;
        fprintf(stderr, " @%04x %llx -> %llx", (unsigned)((uintptr_t)p & 0xffff), (unsigned long long)before,
                (unsigned long long)mc_fetch(p, op->size));
    }
    fprintf(stderr, "%s\n", op->kind == OP_CAS && !op->ok ? " missed" : "");
}

/* Memory order of a step that reads and one that writes. */
static void sync_read(fiber_t *f, location_t *l, int order) {
    if (acquires(order)) join(f->sync, l->sync);
    else join(f->pending, l->sync);
}
static void sync_write(fiber_t *f, uint32_t *sync, int order, bool keep) {
    uint32_t from[THREADS];
    memcpy(from, releases(order) ? f->sync : f->released, sizeof from);
    if (keep) join(sync, from);
    else memcpy(sync, from, sizeof from);
}

void mc_flush(int actor) {
    fiber_t *f = &mc.fibers[(actor - mc.n_threads) / SLOTS];
    entry_t *e = head_of(f, (actor - mc.n_threads) % SLOTS);
    location_t *l = &mc.locations[e->location];
    mc_join_clock(mc.clocks[actor], e->clock);
    mc_put(l->p, e->value, e->size);
    ++l->version;
    memcpy(l->sync, e->sync, sizeof l->sync);
    int i = (int)(e - f->buffer);
    memmove(e, e + 1, (size_t)(--f->n_buffer - i) * sizeof *e);
}

/* Takes the step of a thread; true if it wrote what others see. */
bool mc_execute(int t) {
    fiber_t *f = &mc.fibers[t];
    op_t *op = &f->op;
    location_t *l = op->location >= 0 ? &mc.locations[op->location] : NULL;
    uint64_t old = l ? mc_fetch(l->p, op->size) : 0;
    bool wrote = false;
    op->ok = true;
    op->result = old;
    if (l) touch(l->p, t);
    if (mc.weak_mode && drains(op))
        for (int s = 0; s < SLOTS; ++s) mc_join_clock(mc.clocks[t], mc.clocks[actor_of_slot(t, s)]);
    switch (op->kind) {
    case OP_LOAD: {
        entry_t *own = newest(f, op->location);
        if (own) {
            op->result = own->value;
            break;
        }
        sync_read(f, l, op->order);
        note_read(f, op->location);
        break;
    }
    case OP_STORE:
        if (mc.weak_mode && op->order != SEQ_CST) {
            entry_t e = {.location = op->location,
                         .size = op->size,
                         .slot = slot_for(f, op->location),
                         .release = releases(op->order),
                         .value = op->value};
            memcpy(e.clock, mc.clocks[t], sizeof e.clock);
            sync_write(f, e.sync, op->order, false);
            f->buffer[f->n_buffer++] = e;
            break;
        }
        mc_put(l->p, op->value, op->size);
        sync_write(f, l->sync, op->order, false);
        wrote = true;
        break;
    case OP_RMW:
        mc_put(l->p, mc_combine(op->what, old, op->value), op->size);
        sync_read(f, l, op->order);
        sync_write(f, l->sync, op->order, true);
        /* One that changes nothing and gives nothing is a look. */
        wrote = mc_fetch(l->p, op->size) != old || releases(op->order);
        if (!wrote) note_read(f, op->location);
        break;
    case OP_CAS:
        if (old != op->expected) {
            op->ok = false;
            sync_read(f, l, op->miss);
            note_read(f, op->location);
            break;
        }
        mc_put(l->p, op->value, op->size);
        sync_read(f, l, op->order);
        sync_write(f, l->sync, op->order, true);
        wrote = true;
        break;
    case OP_FENCE:
        if (acquires(op->order)) join(f->sync, f->pending);
        if (releases(op->order)) memcpy(f->released, f->sync, sizeof f->released);
        break;
    case OP_WAIT:
        op->ok = (uint32_t)old == (uint32_t)op->expected;
        f->asleep = op->ok;
        f->woken = false;
        wrote = true; /* for the search */
        break;
    case OP_RESUME:
        op->ok = f->woken;
        f->asleep = f->woken = false;
        wrote = true;
        break;
    case OP_WAKE:
        for (uint64_t left = op->value; left; --left) {
            int who[THREADS], n = 0;
            for (int i = 0; i < mc.n_threads; ++i)
                if (mc.fibers[i].asleep && !mc.fibers[i].woken && mc.fibers[i].op.location == op->location)
                    who[n++] = i;
            if (!n) break;
            mc.fibers[who[left < (uint64_t)n ? mc_choose(n) : 0]].woken = true;
        }
        wrote = true;
        break;
    case OP_YIELD:
        for (int i = 0; i < f->n_reads; ++i) {
            location_t *seen = &mc.locations[f->reads[i].location];
            if (seen->version != f->reads[i].version) mc_join_clock(mc.clocks[t], seen->wrote);
        }
        f->n_reads = 0;
        break;
    case OP_LOCK:
    case OP_TRY_LOCK:
        op->ok = old == 0;
        if (op->ok) mc_put(l->p, 1, op->size);
        sync_read(f, l, ACQUIRE);
        wrote = true;
        break;
    case OP_UNLOCK:
        if (!old) mc_fail("unlock of a free lock");
        mc_put(l->p, 0, op->size);
        sync_write(f, l->sync, RELEASE, false);
        wrote = true;
        break;
    default: break;
    }
    ++f->sync[t];
    if (l && wrote) ++l->version;
    mc_say(t, op, old);
    return wrote;
}
