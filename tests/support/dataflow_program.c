/* See dataflow_program.h. */
#include "support/dataflow_program_parts.h"

#include <stdio.h>
#include <unistd.h>

_Noreturn void dataflow_program_die(const char *what) {
    fprintf(stderr, "dataflow_program: %s: %s\n", what, dnnl_tp_last_error());
    abort();
}
void *dataflow_program_make(size_t n) {
    void *p = calloc(1, n ? n : 1);
    if (!p) dataflow_program_die("no memory");
    return p;
}

static uint64_t *address(const dtp_dataflow_instance_t *instance, const dtp_dataflow_ref_t *r) {
    for (int i = 0; i < r->level; ++i) instance = instance->up;
    char *at = instance->data + r->offset;
    return r->indirect ? *(uint64_t **)(void *)at : (uint64_t *)(void *)at;
}

static void complain(dataflow_program_t *p, const char *what) {
    const char *none = NULL;
    atomic_compare_exchange_strong(&p->complaint, &none, what);
}

static void touch(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    atomic_fetch_add_explicit((_Atomic int64_t *)arg, end - begin, memory_order_relaxed);
}

static dnnl_tp_status_t exec(void *ctx, dtp_dataflow_instance_t *instance, uint32_t index,
                             const dtp_dataflow_where_t *where) {
    dataflow_program_t *p = ctx;
    const rec_t *r = &p->rec[index];
    if (atomic_fetch_add_explicit(&p->slots_inside[where->slot], 1, memory_order_relaxed))
        complain(p, "two threads have one slot");
    if (where->whole) {
        if (atomic_fetch_add(&p->wide_inside, 1)) complain(p, "two wide nodes have the whole pool");
        _Atomic int64_t n = 0;
        dtp_parallel_for(where->par, 64, -4000, touch, &n);
        if (n != 64) complain(p, "a loop inside a wide node was not complete");
        atomic_fetch_sub(&p->wide_inside, 1);
    }
    if (p->opts.blocking && where->slot >= p->opts.max_threads && r->salt % 4 == 0)
        usleep(50); /* on the blocking crew */
    dnnl_tp_status_t status = dnnl_tp_success;
    uint64_t *out = NULL, v = 0;
    if (p->countdown > 0 && atomic_fetch_sub(&p->countdown, 1) == 1) {
        if (p->fire_cancel) {
            atomic_store(&p->cancel, 1);
            (void)dtp_sleeper_wake(&p->sleeper); /* as who fires a token does */
        } else status = dnnl_tp_runtime_error;
    }
    if (r->nvars) { /* EXIT */
        for (int i = 0; i < r->nvars; ++i) {
            dtp_dataflow_ref_t var = {.indirect = true, .offset = r->var_at + 8 * i};
            *(uint64_t *)(void *)(instance->up->data + r->outs[i]) = *address(instance, &var);
        }
    } else if (r->nin || r->counted) {
        uint64_t in[MAX_VARS];
        for (int i = 0; i < r->nin; ++i) in[i] = *address(instance, &r->in[i]);
        if (r->op == OP_TICK) v = in[0] > 0, *address(instance, &r->in[0]) -= v;
        else v = dataflow_program_eval(r->op, r->salt, in, r->nin, p->opts.spin);
        out = (uint64_t *)(void *)(instance->data + r->out);
        if (r->to_pointer) out = *(uint64_t **)(void *)out;
        if (r->counted) {
            p->part[where->slot].sum += dataflow_program_mix(v + r->salt);
            ++p->part[where->slot].ops;
        }
        if (r->effect) p->chain = dataflow_program_mix(p->chain + v);
    }
    atomic_fetch_sub_explicit(&p->slots_inside[where->slot], 1, memory_order_relaxed);
    if (!out || status != dnnl_tp_success) return status;
    if (r->may_pend && dataflow_program_later(p, where->task, out, v, r->salt)) return DTP_DATAFLOW_PENDING;
    *out = v;
    return status;
}

static void enter(void *ctx, dtp_dataflow_instance_t *instance) {
    dataflow_program_t *p = ctx;
    const rec_t *r = &p->rec[instance->index];
    uint64_t **var = (uint64_t **)(void *)(instance->data + r->var_at);
    if (!instance->prev) { /* a function */
        for (int i = 0; i < r->nin; ++i) var[i] = address(instance->up, &r->in[i]);
        var[MAX_VARS] = (uint64_t *)(void *)(instance->up->data + r->out);
        return;
    }
    if (instance->iteration == 0) {
        for (int i = 0; i < r->nvars; ++i) var[i] = address(instance->up, &r->in[i]);
        for (dtp_dataflow_instance_t *q = instance->next; q != instance; q = q->next)
            for (int i = 0; i < r->nvars; ++i)
                ((char **)(void *)(q->data + r->var_at))[i] = q->prev->data + r->body_out[i];
    } else {
        for (int i = 0; i < r->nvars; ++i)
            var[i] = (uint64_t *)(void *)(instance->prev->data + r->body_out[i]);
    }
}

static void lock(dataflow_program_t *p) {
    while (atomic_exchange_explicit(&p->free_lock, 1, memory_order_acquire))
        ;
}
static void unlock(dataflow_program_t *p) { atomic_store_explicit(&p->free_lock, 0, memory_order_release); }

static int function_of(const dataflow_program_t *p, dtp_dataflow_block_t block) {
    int f = 0;
    while (p->fn[f].block != block) ++f;
    return f;
}

static void *frame_take(void *ctx, dtp_dataflow_block_t function, dtp_dataflow_instance_t **instance) {
    dataflow_program_t *p = ctx;
    int f = function_of(p, function);
    frame_t *frame = NULL;
    lock(p);
    if (p->nfree[f]) frame = p->frames[f][--p->nfree[f]];
    else if (p->nmade < FRAMES) {
        frame = &p->made[p->nmade++];
        size_t bytes = dtp_dataflow_frame_bytes(p->plan, function);
        frame->memory = dtp_alloc(NULL, bytes, DTP_NO_SHARE);
        frame->data = dtp_zalloc(NULL, (size_t)p->fn[f].bytes, DTP_NO_SHARE);
        if (!frame->memory || !frame->data) dataflow_program_die("no memory");
        frame->instance = dtp_dataflow_frame_init(p->plan, function, frame->memory, frame->data);
    }
    unlock(p);
    if (frame) *instance = frame->instance;
    return frame;
}
static void frame_give(void *ctx, dtp_dataflow_block_t function, void *frame) {
    dataflow_program_t *p = ctx;
    int f = function_of(p, function);
    lock(p);
    p->frames[f][p->nfree[f]++] = frame;
    unlock(p);
}

dataflow_program_t *dataflow_program_create(const dataflow_program_opts_t *opts) {
    dataflow_program_t *p = dtp_zalloc(NULL, sizeof *p, 128);
    if (!p) dataflow_program_die("no memory");
    p->opts = *opts;
    p->rng = opts->seed * 2654435761u + 88172645463325252ull;
    p->budget = opts->budget;
    dataflow_program_generate(p);
    dataflow_program_lower(p);
    dtp_arena_init(&p->arena, NULL);
    unsigned flags = opts->flags | (opts->effects ? DTP_DATAFLOW_ORDERED : 0);
    if (dtp_dataflow_build(p->b, flags, &p->arena, &p->plan) != dnnl_tp_success)
        dataflow_program_die("build");
    dtp_dataflow_builder_destroy(p->b);
    int threads = opts->max_threads ? opts->max_threads : 1;
    p->state_memory = dtp_alloc(NULL, dtp_dataflow_state_bytes(p->plan, threads), DTP_NO_SHARE);
    p->data = dtp_zalloc(NULL, (size_t)p->region_bytes[0] + 8, DTP_NO_SHARE);
    if (!p->state_memory || !p->data) dataflow_program_die("no memory");
    p->state = dtp_dataflow_state_init(p->plan, threads, p->state_memory, p->data);
    p->share = (dtp_share_t){.stop = &p->cancel, .late = 1, .sleeper = &p->sleeper};
    dataflow_program_later_begin(p);
    return p;
}

void dataflow_program_destroy(dataflow_program_t *p) {
    dataflow_program_later_end(p);
    dataflow_program_free_blocks(p);
    for (int i = 0; i < p->nmade; ++i) {
        dtp_free(NULL, p->made[i].memory);
        dtp_free(NULL, p->made[i].data);
    }
    free(p->v);
    free(p->loc);
    free(p->want_at);
    free(p->rec);
    dtp_arena_free(&p->arena);
    dtp_free(NULL, p->state_memory);
    dtp_free(NULL, p->data);
    dtp_free(NULL, p);
}

dtp_share_t *dataflow_program_share(dataflow_program_t *p) { return &p->share; }
bool dataflow_program_rests(const dataflow_program_t *p) { return p->sleeper.rests; }

static void begin(dataflow_program_t *p, const dtp_parallel_t *par) {
    memset(p->part, 0, sizeof p->part);
    p->chain = 0;
    atomic_store(&p->cancel, 0);
    atomic_store(&p->recalled, false);
    p->fails = p->countdown > 0;
    dtp_dataflow_args_t args = {.ctx = p,
                                .exec = exec,
                                .enter = enter,
                                .frame_take = frame_take,
                                .frame_give = frame_give,
                                .max_depth = MAX_DEPTH,
                                .par = par,
                                .cancel = &p->cancel,
                                .share = &p->share,
                                .recall = p->opts.pending ? dataflow_program_recall : NULL};
    dtp_dataflow_begin(p->plan, p->state, &args);
}

/* False: it rests. */
static bool run(dataflow_program_t *p, const dtp_parallel_t *par, dnnl_tp_status_t *status) {
    static const dtp_parallel_t alone = {.num_threads = 1};
    if (!par) par = &alone;
    if (!p->sleeper.rests) begin(p, par);
    while ((p->sleeper.rests = !dtp_dataflow_go(p->state, par)) && !p->opts.rests)
        dtp_sleep_until_woken(&p->sleeper);
    if (p->sleeper.rests) return false;
    *status = dtp_dataflow_end(p->state, &p->result);
    return true;
}

static const char *quiet(dataflow_program_t *p) {
    if (p->complaint) return p->complaint;
    int made = 0;
    for (int f = 0; f < p->nfn; ++f) made += p->nfree[f];
    return made != p->nmade ? "a frame was not given back" : NULL;
}

const char *dataflow_program_run(dataflow_program_t *p, const dtp_parallel_t *par) {
    dnnl_tp_status_t got;
    p->countdown = 0;
    if (!run(p, par, &got)) return NULL;
    if (got != dnnl_tp_success) return "the run failed";
    uint64_t sum = 0;
    int64_t ops = 0;
    for (int i = 0; i < DTP_MAX_THREADS; ++i) sum += p->part[i].sum, ops += p->part[i].ops;
    if (ops != p->want_ops) return "another number of operators ran";
    if (sum != p->want_sum) return "an operator gave another result";
    if (p->chain != p->want_chain && p->opts.effects) return "side effects came in another order";
    return quiet(p);
}

const char *dataflow_program_run_failing(dataflow_program_t *p, const dtp_parallel_t *par, int64_t nth,
                                         bool fire_cancel) {
    dnnl_tp_status_t got;
    if (!p->sleeper.rests) { /* a run that rested goes on; closures on the crew read these meanwhile */
        p->countdown = nth;
        p->fire_cancel = fire_cancel;
    }
    if (!run(p, par, &got)) return NULL;
    /* Copies and exits count, too, so nth is reached if it is at most the number of operators. */
    if (nth <= p->want_ops) {
        dnnl_tp_status_t want = fire_cancel ? dnnl_tp_cancelled : dnnl_tp_runtime_error;
        if (got != want && !(fire_cancel && got == dnnl_tp_success)) return "the failure was not reported";
    }
    return quiet(p);
}

int64_t dataflow_program_ops(const dataflow_program_t *p) { return p->want_ops; }
void dataflow_program_counts(const dataflow_program_t *p, int64_t *ifs, int64_t *iterations, int64_t *calls) {
    *ifs = p->ifs;
    *iterations = p->iterations;
    *calls = p->calls;
}
const dtp_dataflow_result_t *dataflow_program_result(const dataflow_program_t *p) { return &p->result; }
