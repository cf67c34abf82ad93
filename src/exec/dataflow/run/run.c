/* Runs a dataflow program: the state's memory, the start and the end of a run, what is rare in it. The engine's
 * steps are step.h, threads are share.c, the state machine is dataflow/dataflow.h. */
#include "exec/dataflow/run/run.h"

#include "exec/dataflow/run/step.h"
#include "threading/base/futex.h"

enum { UNSPILL = DTP_DATAFLOW_LIFO / 4 };

/* ---- Memory ------------------------------------------------------------------------------------------ */

static bool is_while(const dtp_dataflow_node_t *node) { return DTP_FN_KIND(node->bits) == DTP_FK_WHILE; }
static void link_rings(const dtp_dataflow_region_t *r, dtp_dataflow_instance_t *instance) {
    for (uint32_t i = 0; i < r->n_rings; ++i) {
        const dtp_dataflow_ring_t *ring = &r->rings[i];
        char *at = (char *)instance + ring->ring_at;
        size_t bytes = ring->region->bytes;
        uint32_t instances = ring->window + 1, node = 0;
        while (!is_while(&r->nodes[node]) || r->nodes[node].index != i) ++node;
        for (uint32_t k = 0; k < instances; ++k) {
            dtp_dataflow_instance_t *q = (dtp_dataflow_instance_t *)(void *)(at + bytes * k);
            memset(q, 0, sizeof *q);
            q->data = instance->data + ring->data_offset + (int64_t)k * ring->data_stride;
            q->up = instance;
            q->prev = (dtp_dataflow_instance_t *)(void *)(at + bytes * ((k + instances - 1) % instances));
            q->next = (dtp_dataflow_instance_t *)(void *)(at + bytes * ((k + 1) % instances));
            q->number = k;
            q->index = ring->index;
            q->node = node;
            q->region = ring->region;
            q->window = ring->window;
            link_rings(ring->region, q);
        }
    }
}

static const dtp_dataflow_region_t *function_region(const dtp_dataflow_plan_t *plan,
                                                    dtp_dataflow_block_t function) {
    uint32_t i = 0;
    while (plan->regions[i].block != function) ++i;
    return &plan->regions[i];
}

size_t dtp_dataflow_frame_bytes(const dtp_dataflow_plan_t *plan, dtp_dataflow_block_t function) {
    return function_region(plan, function)->bytes;
}

/* A task's word holds 48 bits of address; more is handed out only to who asks for it. */
static bool addressable(const void *memory, size_t bytes) {
    uint64_t end = (uint64_t)(uintptr_t)memory + bytes;
    if (end > DTP_DATAFLOW_ADDRESS_LIMIT || end < bytes) {
        (void)dtp_fail(dnnl_tp_unimplemented, DTP_BAD_FLOW, "memory above 48 bits of address");
        return false;
    }
    return true;
}

static dtp_dataflow_instance_t *instance_init(const dtp_dataflow_region_t *r, void *memory, char *data) {
    dtp_dataflow_instance_t *instance = memory;
    memset(instance, 0, sizeof *instance);
    instance->data = data;
    instance->region = r;
    link_rings(r, instance);
    return instance;
}

dtp_dataflow_instance_t *dtp_dataflow_frame_init(const dtp_dataflow_plan_t *plan,
                                                 dtp_dataflow_block_t function, void *memory, char *data) {
    if (!addressable(memory, dtp_dataflow_frame_bytes(plan, function))) return NULL;
    return instance_init(function_region(plan, function), memory, data);
}

static size_t workers_at(void) { return dtp_round_up_size(sizeof(dtp_dataflow_state_t), DTP_NO_SHARE); }
static size_t lifos_at(int num_threads) {
    return workers_at() + (size_t)num_threads * sizeof(dtp_dataflow_worker_t);
}
static size_t lifo_tasks(const dtp_dataflow_plan_t *plan) {
    size_t nodes = 0;
    for (uint32_t i = 0; i < plan->n_regions; ++i) nodes += plan->regions[i].n_nodes;
    return nodes > DTP_DATAFLOW_LIFO ? DTP_DATAFLOW_LIFO_MORE : DTP_DATAFLOW_LIFO;
}
static size_t root_at(const dtp_dataflow_plan_t *plan, int num_threads) {
    return lifos_at(num_threads) + (size_t)num_threads * lifo_tasks(plan) * sizeof(uint64_t);
}

size_t dtp_dataflow_state_bytes(const dtp_dataflow_plan_t *plan, int num_threads) {
    return root_at(plan, num_threads) + plan->regions[0].bytes + dtp_dataflow_learn_bytes(plan, num_threads);
}

dtp_dataflow_state_t *dtp_dataflow_state_init(const dtp_dataflow_plan_t *plan, int num_threads, void *memory,
                                              char *data) {
    dtp_dataflow_state_t *s = memory;
    char *base = memory;
    if (!addressable(memory, dtp_dataflow_state_bytes(plan, num_threads))) return NULL;
    memset(s, 0, sizeof *s);
    s->plan = plan;
    s->num_threads = num_threads;
    s->workers = (dtp_dataflow_worker_t *)(void *)(base + workers_at());
    s->alone = (dtp_parallel_t){.num_threads = 1};
    dtp_dataflow_set_mean(s, plan->mean_ns);
    for (int i = 0; i < num_threads; ++i) {
        dtp_dataflow_worker_t *w = &s->workers[i];
        memset(w, 0, offsetof(dtp_dataflow_worker_t, queue) + offsetof(dtp_dataflow_queue_t, word));
        w->state = s;
        w->lifo = (uint64_t *)(void *)(base + lifos_at(num_threads)) + (size_t)i * lifo_tasks(plan);
        w->top = w->lifo;
        w->limit = w->lifo + lifo_tasks(plan);
        w->where = (dtp_dataflow_where_t){.slot = i, .par = &s->alone};
        w->fuel = s->fuel;
        w->random = (uint32_t)i;
    }
    const dtp_dataflow_region_t *root = &plan->regions[0];
    if (dtp_dataflow_learn_bytes(plan, num_threads))
        root = dtp_dataflow_learn_init(s, base + root_at(plan, num_threads) + root->bytes);
    s->root = instance_init(root, base + root_at(plan, num_threads), data);
    return s;
}

void dtp_dataflow_state_move(dtp_dataflow_state_t *state, char *data) { state->root->data = data; }

/* ---- Overflow ---------------------------------------------------------------------------------------- */

void dtp_dataflow_spill(dtp_dataflow_worker_t *w) {
    size_t half = (size_t)(w->limit - w->lifo) / 2, n = (size_t)(w->top - w->lifo);
    for (size_t i = 0; i < half; ++i) {
        uint64_t word = w->lifo[i];
        if (!w->spill) w->spill_last = word;
        *dtp_dataflow_link(word) = w->spill;
        w->spill = word;
    }
    memmove(w->lifo, w->lifo + half, (n - half) * sizeof *w->lifo);
    w->top -= half;
}

bool dtp_dataflow_unspill(dtp_dataflow_worker_t *w) {
    uint64_t *to = w->lifo + UNSPILL, *end = to;
    while (w->spill && to > w->lifo) {
        *--to = w->spill;
        w->spill = *dtp_dataflow_link(w->spill);
    }
    size_t n = (size_t)(end - to);
    memmove(w->lifo, to, n * sizeof *w->lifo);
    w->top = w->lifo + n;
    return n > 0;
}

/* ---- Rare steps -------------------------------------------------------------------------------------- */

void dtp_dataflow_fail(dtp_dataflow_state_t *s, dnnl_tp_status_t status, int why, uint32_t index) {
    uint32_t running = 0;
    if (!DTP_CAS(&s->stop, &running, 1, relaxed)) return;
    s->result.status = status;
    s->result.why = why;
    s->result.index = index;
}

bool dtp_dataflow_failed(const dtp_dataflow_state_t *s) { return DTP_LOAD(&s->stop, relaxed) != 0; }

void dtp_dataflow_check_deadline(dtp_dataflow_state_t *s) {
    if (s->args.deadline_ns && dtp_now_ns() >= s->args.deadline_ns)
        dtp_dataflow_fail(s, dnnl_tp_deadline_exceeded, DTP_DATAFLOW_DEADLINE, DTP_DATAFLOW_NO_INDEX);
}

/* ---- The run ----------------------------------------------------------------------------------------- */

static __attribute__((noinline)) bool run_alone(dtp_dataflow_worker_t *w) { return run_tasks(w, false); }
static __attribute__((noinline)) void start_alone(dtp_dataflow_worker_t *w, dtp_dataflow_instance_t *root) {
    enter_block(w, root, 0, false);
}
bool dtp_dataflow_run_shared(dtp_dataflow_worker_t *w) { return run_tasks(w, true); }

/* The crew is open: until everything has ended, or waits for nodes that are away. */
static void run_together(dtp_dataflow_worker_t *w) {
    dtp_dataflow_state_t *s = w->state;
    if (DTP_UNLIKELY(DTP_LOAD(&s->returned, relaxed))) come_back(w, true);
    if (w->top - w->lifo > 1) dtp_dataflow_invite(w);
    while (!DTP_LOAD(&s->finished, acquire)) {
        (void)dtp_dataflow_run_shared(w); /* the owner never leaves */
        if (DTP_LOAD(&s->finished, acquire)) break;
        if (!dtp_dataflow_take(w) && !dtp_dataflow_wait(w)) break;
    }
    dtp_dataflow_close(w);
    if (DTP_LIKELY(DTP_LOAD(&s->finished, relaxed))) return;
    dtp_dataflow_gather(w);
    s->crew_size = 1;
    w->fuel = w->given = s->fuel;
}

void dtp_dataflow_begin(const dtp_dataflow_plan_t *plan, dtp_dataflow_state_t *s,
                        const dtp_dataflow_args_t *args) {
    static const DTP_ATOMIC(uint32_t) never;
    dtp_dataflow_worker_t *w = &s->workers[0];
    s->args = *args;
    if (!s->args.cancel) s->args.cancel = &never;
    s->result = (dtp_dataflow_result_t){.index = DTP_DATAFLOW_NO_INDEX};
    s->crew_size = 1;
    dtp_dataflow_learn_begin(s);
    w->looks = 0;
    /* The first look comes soon where threads could come: of a short run little is left soon. */
    w->fuel = w->given = s->eager && s->args.par->num_threads > 1 ? 1 : s->fuel;
    DTP_STORE(&s->stop, 0, relaxed);
    DTP_STORE(&s->finished, 0, relaxed);
    if (DTP_UNLIKELY(plan->may_pend)) dtp_dataflow_pending_begin(s);
    dtp_dataflow_arm_instance(s->root->region, s->root, 2);
    if (s->args.deadline_ns) dtp_dataflow_check_deadline(s);
    start_alone(w, s->root);
}

bool dtp_dataflow_go(dtp_dataflow_state_t *s, const dtp_parallel_t *par) {
    dtp_dataflow_worker_t *w = &s->workers[0];
    s->args.par = par;
    for (;;) {
        const bool idle = run_alone(w);
        if (s->crew_size > 1) run_together(w);
        else if (!idle) continue;
        if (DTP_LIKELY(!s->plan->may_pend) || DTP_LOAD(&s->finished, relaxed)) return true;
        if (w->top == w->lifo && !w->spill && dtp_dataflow_may_rest(w)) return false;
    }
}

dnnl_tp_status_t dtp_dataflow_end(dtp_dataflow_state_t *s, dtp_dataflow_result_t *result) {
    dtp_dataflow_learn_end(s);
    if (result) *result = s->result;
    return s->result.status;
}

dnnl_tp_status_t dtp_dataflow_run(const dtp_dataflow_plan_t *plan, dtp_dataflow_state_t *s,
                                  const dtp_dataflow_args_t *args, dtp_dataflow_result_t *result) {
    dtp_dataflow_begin(plan, s, args);
    while (!dtp_dataflow_go(s, args->par)) dtp_sleep_until_woken(s->sleeper); /* keeps its thread */
    return dtp_dataflow_end(s, result);
}
