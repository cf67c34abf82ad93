/* Runs a kernel: blocks one by one, warps in turn up to their next barrier, lanes of a warp from the lowest instruction on. */
#include <fenv.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "internal.h"

enum { TURN = 4096 }; /* instructions before another warp's turn: warps may wait for each other */
static const int64_t default_steps = INT64_C(2000000000);

bool ptx_trap(warp_t *w, const insn_t *in, int lane, const char *format, ...) {
    run_t *r = w->run;
    const uint32_t *n = r->launch->block;
    uint32_t thread = w->index * LANES + (uint32_t)(lane < 0 ? 0 : lane);
    int at =
        snprintf(r->error, r->error_bytes, "%s, line %u, block (%u,%u,%u), %s (%u,%u,%u): ", r->kernel->name,
                 in->line, r->block[0], r->block[1], r->block[2], lane < 0 ? "warp of thread" : "thread",
                 thread % n[0], thread / n[0] % n[1], thread / n[0] / n[1]);
    if (at < 0 || (size_t)at >= r->error_bytes) return false;
    va_list list;
    va_start(list, format);
    vsnprintf(r->error + at, r->error_bytes - (size_t)at, format, list);
    va_end(list);
    return false;
}

static uint64_t next_random(run_t *r) {
    uint64_t x = r->random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* One instruction of the group with the lowest pc. */
static bool step(warp_t *w, const insn_t *code) {
    group_t *g = &w->groups[w->num_groups - 1];
    const insn_t *in = &code[g->pc++];
    uint32_t mask = g->mask;
    if (in->guard) {
        if (mask & ~*set_of(w, in->guard))
            return ptx_trap(w, in, -1, "a predicate that was never written guards the instruction");
        uint32_t p = row_of(w, in->guard)->u32[0];
        mask &= in->guard_not ? ~p : p;
    }
    if (mask && !in->exec(w, in, mask)) return false;
    uint32_t n = w->num_groups;
    if (n > 1 && w->groups[n - 1].pc == w->groups[n - 2].pc) {
        w->groups[n - 2].mask |= w->groups[n - 1].mask;
        --w->num_groups;
    }
    return true;
}

/* A turn of one warp: up to a barrier, its end or TURN instructions. */
static bool run_warp(warp_t *w) {
    run_t *r = w->run;
    const insn_t *code = r->kernel->code;
    for (int i = 0; i < TURN && w->num_groups && w->waits < 0; ++i) {
        r->lane_steps += count_lanes(w->groups[w->num_groups - 1].mask);
        if (++r->steps > r->max_steps)
            return ptx_trap(w, &code[w->groups[w->num_groups - 1].pc], -1,
                            "no end after %lld instructions of warps", (long long)r->max_steps);
        if (!step(w, code)) return false;
    }
    return true;
}

/* Lets the warps at a complete barrier go on. */
static bool release(run_t *r) {
    uint32_t live = 0;
    bool any = false;
    for (uint32_t i = 0; i < r->num_warps; ++i) live += count_lanes(r->warps[i].live);
    for (int id = 0; id < MAX_BARRIERS; ++id) {
        barrier_t *b = &r->barriers[id];
        if (!b->arrived || b->arrived < (b->needed ? b->needed : live)) continue;
        *b = (barrier_t){0, 0};
        if (!any) r->ordered = ++r->clock;
        any = true;
        for (uint32_t i = 0; i < r->num_warps; ++i) {
            if (r->warps[i].waits != id) continue;
            r->warps[i].waits = -1;
            ptx_order_warp(&r->warps[i]);
        }
    }
    return any;
}

static bool deadlock(run_t *r) {
    for (uint32_t i = 0; i < r->num_warps; ++i) {
        warp_t *w = &r->warps[i];
        if (w->waits < 0) continue;
        const barrier_t *b = &r->barriers[w->waits];
        return ptx_trap(w, &r->kernel->code[w->groups[0].pc - 1], -1,
                        "barrier %d: %u threads are there, nobody else can come", w->waits, b->arrived);
    }
    return false;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t fill_value(const run_t *r, const fill_t *f, uint32_t warp, uint32_t lane) {
    const uint32_t *n = r->launch->block;
    uint32_t thread = warp * LANES + lane, bit = UINT32_C(1) << lane;
    const uint32_t tid[3] = {thread % n[0], thread / n[0] % n[1], thread / n[0] / n[1]};
    const uint32_t masks[5] = {bit, bit - 1, bit | (bit - 1), ~(bit | (bit - 1)), ~(bit - 1)};
    switch (f->kind) {
    case FILL_DYNAMIC_SHARED: return (r->kernel->shared_bytes + 15) / 16 * 16;
    case FILL_TID: return tid[f->axis];
    case FILL_NTID: return n[f->axis];
    case FILL_CTAID: return r->block[f->axis];
    case FILL_NCTAID: return r->launch->grid[f->axis];
    case FILL_LANE: return lane;
    case FILL_WARP: return warp;
    case FILL_NWARPS: return r->num_warps;
    case FILL_DYNAMIC_BYTES: return r->launch->dynamic_shared;
    case FILL_TOTAL_BYTES: return r->shared_bytes;
    case FILL_TIME: return now_ns();
    default: return masks[f->axis];
    }
}

static void fill(warp_t *w, const fill_t *f) {
    lanes_t *row = row_of(w, f->row);
    uint64_t v = fill_value(w->run, f, w->index, 0);
    bool by_lane = f->kind == FILL_TID || f->kind == FILL_LANE || f->kind == FILL_LANEMASK;
    for (uint32_t i = 0; i < LANES; ++i) {
        if (by_lane) v = fill_value(w->run, f, w->index, i);
        if (f->width == 8) row->u64[i] = v;
        else row->u32[i] = (uint32_t)v;
    }
    *set_of(w, f->row) = ALL_LANES;
}

static size_t rows_bytes(const ptx_kernel_t *k) { return (size_t)(k->num_rows + 2) * ROW_BYTES; }

static bool init_registers(run_t *r) {
    const size_t bytes = r->num_warps * rows_bytes(r->kernel);
    r->registers = atomic_exchange(&r->kernel->module->spare, NULL);
    if (r->registers && r->registers->bytes >= bytes) return true;
    free(r->registers);
    r->registers = aligned_alloc(_Alignof(registers_t), sizeof *r->registers + bytes);
    if (r->registers) r->registers->bytes = bytes;
    return r->registers != NULL;
}

static bool init_warp(run_t *r, uint32_t index) {
    const ptx_kernel_t *k = r->kernel;
    warp_t *w = &r->warps[index];
    *w = (warp_t){.run = r, .index = index, .waits = -1};
    w->rows[0] = r->registers->data + index * rows_bytes(k);
    w->set[0] = calloc(k->num_rows + 2, sizeof *w->set[0]);
    w->rows[1] = k->constants;
    w->set[1] = k->constant_set;
    w->local = k->local_bytes ? malloc(k->local_bytes * LANES) : NULL;
    if (!w->set[0] || (k->local_bytes && !w->local)) return false;
    if (w->local) memset(w->local, 0xcd, k->local_bytes * LANES);
    for (uint32_t i = 0; i < k->num_fills; ++i) fill(w, &k->fills[i]);
    return true;
}

/* Everything but special registers becomes unknown again. */
static void start_warp(warp_t *w) {
    const run_t *r = w->run;
    const ptx_kernel_t *k = r->kernel;
    uint32_t left = r->num_threads - w->index * LANES;
    w->lanes = w->live = left >= LANES ? ALL_LANES : (UINT32_C(1) << left) - 1;
    w->num_groups = 1;
    w->groups[0] = (group_t){0, w->live};
    w->waits = -1;
    w->num_copies = 0;
    ptx_order_warp(w);
    memset(w->committed, 0, sizeof w->committed);
    memset(w->set[0], 0, k->num_rows * sizeof *w->set[0]);
    for (uint32_t i = 0; i < k->num_fills; ++i) {
        *set_of(w, k->fills[i].row) = ALL_LANES;
        if (k->fills[i].kind == FILL_CTAID || k->fills[i].kind == FILL_TIME) fill(w, &k->fills[i]);
    }
}

static bool run_block(run_t *r) {
    memset(r->shared_state, STATE_UNSET, r->shared_bytes);
    memset(r->barriers, 0, sizeof r->barriers);
    r->first = r->ordered = ++r->clock;
    for (uint32_t i = 0; i < r->num_warps; ++i) start_warp(&r->warps[i]);
    for (;;) {
        uint32_t first = (uint32_t)(next_random(r) % r->num_warps),
                 stride = next_random(r) & 1 ? 1 : r->num_warps - 1;
        bool runs = false, live = false;
        for (uint32_t i = 0; i < r->num_warps; ++i) {
            warp_t *w = &r->warps[(first + (uint64_t)i * stride) % r->num_warps];
            if (!w->num_groups) continue;
            live = true;
            if (w->waits >= 0) continue;
            runs = true;
            if (!run_warp(w)) return false;
        }
        if (!live) return true;
        if (!release(r) && !runs) return deadlock(r);
    }
}

/* Blocks in an order that the seed chooses: from a first one in steps that reach all. */
static bool run_blocks(run_t *r) {
    const uint32_t *n = r->launch->grid;
    uint64_t blocks = (uint64_t)n[0] * n[1] * n[2], stride = next_random(r) % blocks + 1,
             first = next_random(r) % blocks;
    for (uint64_t a = stride, b = blocks; b;) {
        uint64_t t = a % b;
        a = b;
        b = t;
        if (!b && a != 1) {
            a = ++stride;
            b = blocks;
        }
    }
    for (uint64_t i = 0; i < blocks; ++i) {
        uint64_t at = (first + (i * (stride % blocks)) % blocks) % blocks;
        if (blocks == 1) at = 0;
        r->block[0] = (uint32_t)(at % n[0]);
        r->block[1] = (uint32_t)(at / n[0] % n[1]);
        r->block[2] = (uint32_t)(at / n[0] / n[1]);
        if (!run_block(r)) return false;
    }
    return true;
}

static bool fail(const run_t *r, const char *what) {
    snprintf(r->error, r->error_bytes, "%s: %s", r->kernel->name, what);
    return false;
}

static bool check_launch(const run_t *r) {
    const ptx_launch_t *l = r->launch;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (!threads || threads > 1024 || l->block[2] > 64)
        return fail(r, "a block without threads or with too many");
    if (threads > (uint64_t)r->kernel->max_threads)
        return fail(r, "more threads in a block than .maxntid says");
    if (!l->grid[0] || !l->grid[1] || !l->grid[2] || l->grid[0] > INT32_MAX || l->grid[1] > 65535 ||
        l->grid[2] > 65535)
        return fail(r, "a grid without blocks or with too many");
    for (size_t i = 0; i < l->num_regions; ++i) {
        const ptx_region_t *a = &l->regions[i];
        if (a->address + a->bytes > PTX_SHARED_WINDOW || a->address + a->bytes < a->address)
            return fail(r, "a region at an address that is not allowed");
        if (i && a[-1].address + a[-1].bytes > a->address)
            return fail(r, "the regions are not sorted or overlap");
    }
    return true;
}

static void free_run(run_t *r) {
    for (uint32_t i = 0; i < r->num_warps; ++i) {
        free(r->warps[i].set[0]);
        free(r->warps[i].local);
        free(r->warps[i].copies);
        free(r->warps[i].seen);
    }
    if (r->shadows)
        for (size_t i = 0; i <= r->launch->num_regions; ++i) free(r->shadows[i]);
    free(r->shadows);
    free(atomic_exchange(&r->kernel->module->spare, r->registers));
    free(r->cache);
    free(r->shared);
    free(r->shared_state);
    free(r->shared_shadow);
    free(r);
}

static bool init_run(run_t *r) {
    const ptx_launch_t *l = r->launch;
    r->num_threads = l->block[0] * l->block[1] * l->block[2];
    r->num_warps = (r->num_threads + LANES - 1) / LANES;
    r->shared_bytes = l->dynamic_shared ? (r->kernel->shared_bytes + 15) / 16 * 16 + l->dynamic_shared
                                        : r->kernel->shared_bytes;
    r->shared = aligned_alloc(64, (r->shared_bytes / 64 + 1) * 64);
    r->shared_state = malloc(r->shared_bytes + 1);
    r->shared_shadow = calloc(r->shared_bytes / 4 + 1, sizeof *r->shared_shadow);
    r->shadows = calloc(l->num_regions + 1, sizeof *r->shadows);
    r->cache = calloc(r->kernel->num_code, sizeof *r->cache);
    r->module_region =
        (ptx_region_t){PTX_MODULE_WINDOW, r->kernel->module->memory_bytes, r->kernel->module->memory, NULL};
    r->max_steps = l->max_steps ? l->max_steps : default_steps;
    r->random = l->seed;
    bool ok = r->shared && r->shared_state && r->shared_shadow && r->shadows && r->cache && init_registers(r);
    for (uint32_t i = 0; i < r->num_warps; ++i) ok = ok && init_warp(r, i);
    return ok;
}

bool ptx_run(const ptx_kernel_t *kernel, const ptx_launch_t *launch, char *error, size_t error_bytes) {
    run_t *r = calloc(1, sizeof *r);
    if (!r) return false;
    r->kernel = kernel;
    r->launch = launch;
    r->error = error;
    r->error_bytes = error_bytes;
    bool ok = check_launch(r);
    if (ok) ok = init_run(r) || fail(r, "out of memory");
    fenv_t environment;
    feholdexcept(&environment);
    fesetround(FE_TONEAREST);
    ok = ok && (!launch->traffic || ptx_count_begin(r) || fail(r, "out of memory"));
    ok = ok && run_blocks(r);
    fesetenv(&environment);
    if (launch->lane_steps) *launch->lane_steps += r->lane_steps;
    if (r->touched) ptx_count_end(r);
    free_run(r);
    return ok;
}
