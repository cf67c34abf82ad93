/* Red zones of a run's memory: what src/exec/run/zones.h calls. zones.cmake builds programs with
 * it. */
#include <string.h>

#include "exec/compile/lowering/lower.h"
#include "exec/run/run.h"

/* A signaling NaN of f32 and bf16, a NaN of f16; as an index it is outside of every table. */
static const uint32_t poison = 0x7fa17fa1;

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define FORBID(p, n) __asan_poison_memory_region(p, n)
#define ALLOW(p, n) __asan_unpoison_memory_region(p, n)
#else
#define FORBID(p, n) ((void)(p), (void)(n))
#define ALLOW(p, n) ((void)(p), (void)(n))
#endif

enum { OF_SLOT = -1, NOBODY = -1, SEVERAL = -2 };

typedef struct {
    int scope;        /* whose instance it lies in; OF_SLOT: a participant's local buffers */
    size_t at, bytes; /* the buffer: what lies around it is gap */
    const char *name; /* of the operator that writes it first */
    int next[2];      /* of the lists below */
} zone_t;

struct dtp_zones {
    int n;
    zone_t *zone;
    /* By step, then by slice group: 1 + the first zone that nothing reads afterwards. [0]: in any
     * order of steps, because nothing else reads it; [1]: in their own order, as the plan has it. */
    int *dies[2];
    const char *_Atomic found;
};

/* ---- The table ------------------------------------------------------------------------------- */

/* The step (or nsteps + slice group) that alone reads each buffer, in the order of every run;
 * SEVERAL: nobody knows. */
static void find_readers(const dtp_exec_t *e, const dtp_lower_t *l, int *reader) {
    for (int b = 0; b < l->nbufs; ++b) reader[b] = NOBODY;
    for (int i = 0; i < l->nsteps; ++i) {
        const dtp_step_t *s = l->steps[i];
        const bool waits = s->host && s->host->flags & DNNL_TP_HOST_MAY_WAIT;
        if (s->ctl == DTP_CTL_JOIN) continue; /* touches nothing */
        for (int k = 0; k < s->nargs + s->npost_args; ++k) {
            int64_t at;
            if (s->arg[k].buf < 0 || s->arg[k].written) continue;
            const int b = dtp_whole_of(l, s->arg[k].buf, &at);
            const int by = s->slice_group < 0 ? i : e->nsteps + s->slice_group;
            const bool knows = !s->ctl && !waits && s->scope == l->bufs[b].scope;
            reader[b] = knows && (reader[b] == NOBODY || reader[b] == by) ? by : SEVERAL;
        }
    }
}

static bool ends_with(const dtp_exec_t *e, const dtp_buf_t *b, int reader) {
    if (reader < 0) return false;
    if (reader < e->nsteps) return b->last == reader;
    const dtp_slice_group_t *group = &e->slice_groups[reader - e->nsteps];
    return b->last >= group->first_step && b->last < group->first_step + group->nsteps;
}

void dtp_zones_plan(dtp_exec_t *e, const dtp_lower_t *l) {
    struct dtp_zones *z = dtp_arena_alloc(&e->arena, sizeof *z);
    int *reader = dtp_arena_alloc(&e->arena, sizeof *reader * (size_t)(l->nbufs + 1));
    bool packed = false; /* then slices of other sizes lie elsewhere in the same memory */
    for (int g = 0; g < e->nslice_groups; ++g) packed |= e->slice_groups[g].seqs > 0;
    if (!z || !reader) return;
    z->zone = dtp_arena_alloc(&e->arena, sizeof *z->zone * (size_t)(l->nbufs + 1));
    for (int k = 0; k < 2; ++k)
        z->dies[k] =
            dtp_arena_alloc(&e->arena, sizeof **z->dies * (size_t)(e->nsteps + e->nslice_groups + 1));
    if (!z->zone || !z->dies[0] || !z->dies[1]) return;
    find_readers(e, l, reader);
    for (int b = 0; b < l->nbufs; ++b) {
        const dtp_buf_t *buf = &l->bufs[b];
        const bool local = buf->kind == DTP_BUF_LOCAL && !packed;
        if (buf->first < 0 || buf->bytes == 0 || (buf->kind != DTP_BUF_INSTANCE && !local)) continue;
        const size_t bytes =
            local ? (size_t)(buf->unit_bytes * e->slice_groups[buf->slice_group].capacity) : buf->bytes;
        z->zone[z->n] = (zone_t){.scope = local ? OF_SLOT : buf->scope,
                                 .at = (size_t)buf->offset,
                                 .bytes = bytes,
                                 .name = e->steps[buf->first].name};
        const int group = l->steps[buf->last]->slice_group;
        const int by[2] = {ends_with(e, buf, reader[b]) ? reader[b] : NOBODY,
                           group < 0 ? buf->last : e->nsteps + group};
        for (int k = 0; k < 2; ++k) {
            if (local || by[k] < 0) continue;
            z->zone[z->n].next[k] = z->dies[k][by[k]];
            z->dies[k][by[k]] = z->n + 1;
        }
        ++z->n;
    }
    e->zones = z;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static void fill(char *p, size_t bytes) {
    for (; bytes && (uintptr_t)p % sizeof poison; --bytes, ++p)
        *p = ((const char *)&poison)[(uintptr_t)p % sizeof poison];
    for (; bytes >= sizeof poison; bytes -= sizeof poison, p += sizeof poison)
        memcpy(p, &poison, sizeof poison);
    memcpy(p, &poison, bytes);
}

static bool is_filled(const char *p, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        if (p[i] != ((const char *)&poison)[(uintptr_t)(p + i) % sizeof poison]) return false;
    return true;
}

static size_t behind(const zone_t *z) {
    return dtp_round_up_size(z->bytes, DTP_CACHE_LINE) - z->bytes + DTP_ZONE_GAP;
}

typedef void visit_t(struct dtp_zones *zones, const zone_t *z, char *p);

static void visit(const dtp_exec_t *e, int scope, char *memory, visit_t *fn) {
    for (int i = 0; i < e->zones->n; ++i)
        if (e->zones->zone[i].scope == scope) fn(e->zones, &e->zones->zone[i], memory + e->zones->zone[i].at);
}

/* All instances that live in that of a scope. */
static void visit_all(const dtp_exec_t *e, int scope, char *memory, visit_t *fn) {
    visit(e, scope, memory, fn);
    for (int s = scope + 1; s < e->nscopes; ++s)
        for (int k = 0; e->scopes[s].parent == scope && k < e->scopes[s].instances; ++k)
            visit_all(e, s, memory + e->scopes[s].ring + (size_t)k * e->scopes[s].bytes, fn);
    for (int k = 0; !scope && k < e->num_threads && e->nslice_groups; ++k) {
        visit(e, OF_SLOT, memory + e->slots_at + (size_t)k * e->slot_bytes, fn);
        if (!e->by_counters) continue;
        char *slot = memory + e->dataflow_at + (size_t)k * e->dataflow_slot_bytes;
        visit(e, OF_SLOT, slot + e->dataflow_local_at, fn);
    }
}

static void forbid(struct dtp_zones *zones, const zone_t *z, char *p) {
    (void)zones;
    FORBID(p - DTP_ZONE_GAP, DTP_ZONE_GAP);
    FORBID(p + z->bytes, behind(z));
}

static void check(struct dtp_zones *zones, const zone_t *z, char *p) {
    if (!is_filled(p - DTP_ZONE_GAP, DTP_ZONE_GAP) || !is_filled(p + z->bytes, behind(z)))
        atomic_store(&zones->found, z->name);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

static size_t bytes_of(const dtp_exec_t *e, int scope) {
    return scope ? e->scopes[scope].bytes : e->memory_bytes;
}

/* Where the host finds the memory, which may be another engine's; NULL: nowhere. */
static char *map(const dtp_exec_t *e, char *memory, size_t bytes) {
    void *p = memory;
    if (!e->zones) return NULL; /* there was no memory for it */
    if (e->by_stream && e->engine->v->map(e->engine, memory, bytes, &p) != dnnl_tp_success) return NULL;
    return p;
}
static void unmap(const dtp_exec_t *e, char *memory, size_t bytes, char *p) {
    if (e->by_stream) (void)!e->engine->v->unmap(e->engine, memory, bytes, p);
}

void dtp_zones_begin(const dtp_exec_t *e, int scope, char *memory) {
    const size_t bytes = bytes_of(e, scope);
    char *p = map(e, memory, bytes);
    if (!p) return;
    ALLOW(p, bytes);
    fill(p, bytes);
    if (!e->by_stream) visit_all(e, scope, p, forbid);
    unmap(e, memory, bytes, p);
}

void dtp_zones_end(const dtp_exec_t *e, int scope, char *memory) {
    const size_t bytes = bytes_of(e, scope);
    char *p = map(e, memory, bytes);
    if (!p) return;
    ALLOW(p, bytes);
    visit_all(e, scope, p, check);
    unmap(e, memory, bytes, p);
}

void dtp_zones_report(dtp_run_ctx_t *ctx) {
    const char *name = ctx->exec->zones ? atomic_exchange(&ctx->exec->zones->found, NULL) : NULL;
    if (name)
        dtp_run_fail(ctx, dnnl_tp_runtime_error, DTP_GRAPH_INDEX,
                     "red zone: something wrote beside the result of operator '%s'", name);
}

void dtp_zones_after(const dtp_exec_t *e, int done, void *const *bases, int nstages) {
    const int k = nstages == e->nstages;
    const int step = done < e->nsteps ? done : e->slice_groups[done - e->nsteps].first_step;
    for (int i = e->zones ? e->zones->dies[k][done] : 0, next; i; i = next) {
        const zone_t *z = &e->zones->zone[i - 1];
        void *const *of = bases;
        for (int s = e->steps[step].scope; s != z->scope; s = e->scopes[s].parent) of = of[DTP_BASE_UP];
        char *p = (char *)of[DTP_BASE_INSTANCE] + z->at;
        next = z->next[k];
        ALLOW(p, z->bytes); /* closures come twice */
        fill(p, z->bytes);
        if (z->scope == 0) FORBID(p, z->bytes); /* others are written in the next iteration */
    }
}
