/* The memory plan of an executable and its final tables.
 *
 * Buffers share memory when all uses of one happen before the first write of the other. Whole steps run one
 * after another. In a segment, slices of different participants are at different steps, so its whole-size
 * buffers live from its first to its last step, except that two with equal units may follow one another (a
 * slice overwrites only its own rows). Buffers inside a group are planned per unit and belong to the
 * participant. */
#include "exec/executable.h"
#include "exec/lower.h"
#include "exec/segment.h"

/* Something that needs room: from step `first` to step `last`. */
typedef struct {
    int buf;
    int first, last;
    size_t bytes;
    size_t at;
} room_t;

static int by_size(const void *a, const void *b) {
    const room_t *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->buf - y->buf;
}

static void insertion_sort(room_t *r, int n) {
    for (int i = 1; i < n; ++i) {
        room_t x = r[i];
        int k = i;
        for (; k > 0 && by_size(&r[k - 1], &x) > 0; --k) r[k] = r[k - 1];
        r[k] = x;
    }
}

/* Best fit, large ones first; returns the bytes that all take together. */
static size_t place_rooms(room_t *r, int n) {
    size_t total = 0;
    insertion_sort(r, n);
    for (int i = 0; i < n; ++i) {
        size_t at = 0;
        bool moved = true;
        while (moved) { /* the lowest place where nothing that lives at the same time stands */
            moved = false;
            for (int k = 0; k < i; ++k) {
                bool together = r[k].first <= r[i].last && r[i].first <= r[k].last;
                if (together && at < r[k].at + r[k].bytes && r[k].at < at + r[i].bytes) {
                    at = r[k].at + r[k].bytes;
                    moved = true;
                }
            }
        }
        r[i].at = at;
        if (at + r[i].bytes > total) total = at + r[i].bytes;
    }
    return total;
}

/* A buffer that starts on the same 4 KiB offset as its neighbour makes loads wait for unrelated stores. */
static size_t padded(size_t bytes) {
    enum { SKEW = 17 * DTP_CACHE_LINE, LARGE = 4096 };
    size_t n = dtp_round_up_size(bytes ? bytes : 1, DTP_CACHE_LINE);
    return n >= LARGE ? n + SKEW : n;
}

/* ---- Whole-size buffers -----------------------------------------------------------------------------------
 */

/* The buffer whose place b takes over: in the same segment, of equal units, dead before b is written. -1 =
 * none. */
static int predecessor(const dtp_lower_t *l, const int *heir, int b) {
    const dtp_buf_t *x = &l->bufs[b];
    for (int i = 0; i < b && x->segment >= 0; ++i) {
        const dtp_buf_t *y = &l->bufs[i];
        if (y->kind == DTP_BUF_SLAB && y->segment == x->segment && y->domain == x->domain &&
            y->unit_bytes == x->unit_bytes && heir[i] < 0 && y->last < x->first)
            return i;
    }
    return -1;
}

static dnnl_tp_status_t plan_slab(dtp_exec_t *e, dtp_lower_t *l) {
    room_t *r = dtp_arena_alloc(l->ir->arena, sizeof *r * (size_t)(l->nbufs + 1));
    int *heir = dtp_arena_alloc(l->ir->arena, sizeof *heir * (size_t)(l->nbufs + 1));
    int *from = dtp_arena_alloc(l->ir->arena, sizeof *from * (size_t)(l->nbufs + 1));
    if (!r || !heir || !from) return dnnl_tp_out_of_memory;
    int n = 0;
    for (int b = 0; b < l->nbufs; ++b) heir[b] = from[b] = -1;
    for (int b = 0; b < l->nbufs; ++b) {
        const dtp_buf_t *buf = &l->bufs[b];
        if (buf->kind != DTP_BUF_SLAB || buf->first < 0) continue;
        const dtp_segment_t *seg = buf->segment >= 0 ? &e->segments[buf->segment] : NULL;
        bool inside = seg && buf->last < seg->first_step + seg->nsteps;
        if (inside) {
            from[b] = predecessor(l, heir, b);
            if (from[b] >= 0) {
                heir[from[b]] = b;
                continue;
            }
        }
        room_t *x = &r[n++];
        x->buf = b;
        x->bytes = padded(buf->bytes);
        x->first = buf->first;
        x->last = buf->last;
        /* Widen to all of each segment that touches it: slices pass its steps at different times. */
        for (int s = 0; s < e->nsegments; ++s) {
            const dtp_segment_t *t = &e->segments[s];
            int end = t->first_step + t->nsteps - 1;
            if (x->first >= t->first_step && x->first <= end) x->first = t->first_step;
            if (x->last >= t->first_step && x->last <= end) x->last = end;
        }
        for (int s = 0; s < e->ndags; ++s) {
            const dtp_dag_t *t = &e->dags[s];
            int end = t->first_step + t->nsteps - 1;
            if (x->first >= t->first_step && x->first <= end) x->first = t->first_step;
            if (x->last >= t->first_step && x->last <= end) x->last = end;
        }
    }
    e->slab_bytes = place_rooms(r, n);
    for (int i = 0; i < n; ++i) l->bufs[r[i].buf].offset = (int64_t)r[i].at;
    for (int b = 0; b < l->nbufs; ++b)
        if (from[b] >= 0)
            l->bufs[b].offset = l->bufs[from[b]].offset; /* earlier in the order, so already final */
    return dnnl_tp_success;
}

/* ---- Local buffers ----------------------------------------------------------------------------------------
 */

static dnnl_tp_status_t plan_local(dtp_exec_t *e, dtp_lower_t *l, dtp_segment_t *seg, int index) {
    room_t *r = dtp_arena_alloc(l->ir->arena, sizeof *r * (size_t)(l->nbufs + 1));
    if (!r) return dnnl_tp_out_of_memory;
    bool packed = seg->seqs > 0;
    size_t most = 0;
    for (int g = 0; g < seg->ngroups; ++g) {
        int n = 0;
        for (int b = 0; b < l->nbufs; ++b) {
            const dtp_buf_t *buf = &l->bufs[b];
            if (buf->kind != DTP_BUF_LOCAL || buf->segment != index || buf->first < seg->groups[g] ||
                buf->first >= seg->groups[g + 1])
                continue;
            room_t *x = &r[n++];
            x->buf = b;
            x->first = buf->first;
            x->last = buf->last;
            x->bytes = packed ? dtp_round_up_size((size_t)buf->unit_bytes, DTP_CACHE_LINE)
                              : padded((size_t)(buf->unit_bytes * seg->capacity));
        }
        size_t total = place_rooms(r, n);
        if (total > most) most = total;
        for (int i = 0; i < n; ++i) l->bufs[r[i].buf].offset = (int64_t)r[i].at;
    }
    size_t slot = packed ? most * (size_t)seg->capacity : most;
    seg->local_per_unit = packed ? most : 0;
    slot = dtp_round_up_size(slot, DTP_NO_SHARE);
    if (slot > e->slot_bytes) e->slot_bytes = slot;
    size_t whole = packed ? most * (size_t)(seg->units | 1) : 0; /* all rows as one slice */
    if (whole > e->local_total) e->local_total = whole;
    return dnnl_tp_success;
}

/* ---- Tables -----------------------------------------------------------------------------------------------
 */

static void set_ref(const dtp_exec_t *e, const dtp_lower_t *l, const dtp_step_t *s, const dtp_step_arg_t *a,
                    dtp_ref_t *ref) {
    memset(ref, 0, sizeof *ref);
    if (a->buf < 0) return;
    const dtp_buf_t *b = &l->bufs[a->buf];
    bool packed = s->segment >= 0 && e->segments[s->segment].seqs > 0;
    ref->offset = a->offset;
    switch (b->kind) {
    case DTP_BUF_CONST: ref->offset += (int64_t)(intptr_t)b->data; break;
    case DTP_BUF_INPUT: ref->base = DTP_BASE_ARGS + b->index; break;
    case DTP_BUF_OUTPUT: ref->base = DTP_BASE_ARGS + e->nin + b->index; break;
    case DTP_BUF_SLAB:
        ref->base = DTP_BASE_SLAB;
        ref->offset += b->offset;
        break;
    case DTP_BUF_LOCAL:
        ref->base = DTP_BASE_LOCAL;
        if (packed) ref->per_capacity = b->offset;
        else ref->offset += b->offset;
        break;
    }
    if (s->segment < 0) return;
    if (!packed) {
        if (b->kind == DTP_BUF_LOCAL || !a->sliced) return;
        ref->unit = DTP_UNIT_ROW;
        ref->advance = a->advance;
    } else if (s->wants_seq) {
        /* Offsets and pooled rows advance by sequence; rows are absolute, so local buffers start before row
         * 0. */
        ref->unit = a->advance ? DTP_UNIT_SEQ : DTP_UNIT_ROW;
        ref->advance = a->advance ? a->advance : b->kind == DTP_BUF_LOCAL ? -b->unit_bytes : 0;
    } else if (a->sliced && b->kind != DTP_BUF_LOCAL) {
        ref->unit = s->domain == DTP_BY_SEQ ? DTP_UNIT_SEQ : DTP_UNIT_ROW;
        ref->advance = a->advance;
    }
}

static dnnl_tp_status_t emit_step(dtp_exec_t *e, const dtp_lower_t *l, dtp_step_t *s, dtp_exec_step_t *x) {
    int n = s->nargs + s->npost_args;
    dtp_ref_t *refs = dtp_arena_alloc(&e->arena, sizeof *refs * (size_t)(n + 1));
    const char *name = dtp_arena_text(&e->arena, s->name[0] ? s->name : s->kind);
    if (!refs || !name) return dnnl_tp_out_of_memory;
    for (int i = 0; i < n; ++i) set_ref(e, l, s, &s->arg[i], &refs[i]);
    x->name = name;
    x->kind = s->kind;
    x->host = s->host;
    x->copy_bytes = s->copy_bytes;
    x->nrefs = n;
    x->refs = refs;
    x->ns = dtp_step_ns(s);
    if (s->host) {
        dnnl_tp_tensor_info_t *infos = dtp_arena_alloc(&e->arena, sizeof *infos * (size_t)(n + 1));
        if (!infos) return dnnl_tp_out_of_memory;
        memcpy(infos, s->host_info, sizeof *infos * (size_t)n);
        x->host_info = infos;
    }
    x->unit = s->domain == DTP_BY_SEQ ? DTP_UNIT_SEQ : s->domain == DTP_BY_ROW ? DTP_UNIT_ROW : DTP_UNIT_NONE;
    x->rows_per_unit = s->rows_per_unit;
    for (int k = 0; k < 2; ++k) x->prim[k] = s->prim[k] ? dtp_object_retain(s->prim[k]) : NULL;
    e->nsteps = (int)(x - e->steps) + 1;
    return dnnl_tp_success;
}

/* Scratch: whole steps use one region of their size; participants of slices have one each. */
static void measure_scratch(const dtp_exec_t *e, const dtp_lower_t *l, size_t *whole, size_t *slot) {
    *whole = *slot = 0;
    for (int i = 0; i < l->nsteps; ++i)
        for (int k = 0; k < 2; ++k) {
            const dtp_primitive_t *p = l->steps[i]->prim[k];
            if (!p) continue;
            size_t all = dtp_pd_scratch_size(p->pd), one = p->pd->scratch_shared + p->pd->scratch_per_slot;
            if (all > *whole) *whole = all;
            bool by_slots = l->steps[i]->segment >= 0;
            for (int d = 0; d < e->ndags; ++d)
                by_slots |= i >= e->dags[d].first_step && i < e->dags[d].first_step + e->dags[d].nsteps;
            if (by_slots && one > *slot) *slot = one;
        }
    *whole = dtp_round_up_size(*whole, DTP_NO_SHARE);
    *slot = dtp_round_up_size(*slot, DTP_NO_SHARE);
}

/* Sequence offsets are checked once per run, so they must be there from the start. */
static dnnl_tp_status_t find_offsets(dtp_exec_t *e, dtp_lower_t *l) {
    dtp_ref_t *refs = dtp_arena_alloc(&e->arena, sizeof *refs * (size_t)(l->nsteps + 1));
    int64_t *seqs = dtp_arena_alloc(&e->arena, sizeof *seqs * (size_t)(l->nsteps + 1));
    int64_t *rows = dtp_arena_alloc(&e->arena, sizeof *rows * (size_t)(l->nsteps + 1));
    const char **names = dtp_arena_alloc(&e->arena, sizeof *names * (size_t)(l->nsteps + 1));
    int *bufs = dtp_arena_alloc(l->ir->arena, sizeof *bufs * (size_t)(l->nsteps + 1));
    if (!refs || !seqs || !rows || !names || !bufs) return dnnl_tp_out_of_memory;
    for (int i = 0; i < l->nsteps; ++i) {
        dtp_step_t *s = l->steps[i];
        if (!s->wants_seq) continue;
        bool pool = s->op->kind == (dnnl_tp_primitive_kind_t)DTP_KIND_POOL_NORMALIZE;
        const dtp_step_arg_t *a = &s->arg[pool ? (int)DTP_POOLN_OFFSETS : (int)DTP_ATTENTION_OFFSETS];
        const dtp_buf_t *b = &l->bufs[a->buf];
        if (b->kind != DTP_BUF_INPUT && b->kind != DTP_BUF_CONST)
            return dtp_fail(dnnl_tp_unimplemented, DTP_GRAPH_BAD_VALUE,
                            "operator '%s' (%s): offsets are neither an input of the graph nor a constant",
                            s->name, s->kind);
        int k = 0;
        while (k < e->noffsets && bufs[k] != a->buf) ++k;
        if (k == e->noffsets) {
            dtp_step_t plain = *s;
            plain.segment = -1;
            bufs[k] = a->buf;
            set_ref(e, l, &plain, a, &refs[k]);
            seqs[k] = (int64_t)(b->bytes / sizeof(int32_t)) - 1;
            rows[k] = INT64_MAX;
            names[k] = dtp_arena_text(&e->arena, s->name);
            if (!names[k]) return dnnl_tp_out_of_memory;
            ++e->noffsets;
        }
        const dtp_md_t *x = pool ? &((const dtp_pool_normalize_desc_t *)s->op)->src
                                 : &((const dtp_attention_desc_t *)s->op)->q;
        rows[k] = dtp_min64(rows[k], x->dims[0]);
        if (s->segment >= 0) {
            dtp_segment_t *seg = (dtp_segment_t *)(uintptr_t)&e->segments[s->segment];
            seg->offsets_ref = k;
        }
    }
    e->offsets = refs;
    e->offsets_seqs = seqs;
    e->offsets_rows = rows;
    e->offsets_name = names;
    return dnnl_tp_success;
}

static dnnl_tp_status_t find_used_args(dtp_exec_t *e, const dtp_lower_t *l) {
    uint8_t *in = dtp_arena_alloc(&e->arena, (size_t)e->nin + 1),
            *out = dtp_arena_alloc(&e->arena, (size_t)e->nout + 1);
    if (!in || !out) return dnnl_tp_out_of_memory;
    for (int i = 0; i < l->nbufs; ++i) {
        const dtp_buf_t *b = &l->bufs[i];
        if (b->first < 0 || b->bytes == 0) continue;
        if (b->kind == DTP_BUF_INPUT) in[b->index] = 1;
        if (b->kind == DTP_BUF_OUTPUT) out[b->index] = 1;
    }
    e->in_used = in;
    e->out_used = out;
    return dnnl_tp_success;
}

static dnnl_tp_status_t emit_stages(dtp_exec_t *e, const dtp_lower_t *l) {
    dtp_stage_t *stages = dtp_arena_alloc(&e->arena, sizeof *stages * (size_t)(l->nsteps + 1));
    if (!stages) return dnnl_tp_out_of_memory;
    e->stages = stages;
    for (int i = 0; i < l->nsteps;) {
        int dag = -1;
        for (int d = 0; d < e->ndags; ++d)
            if (e->dags[d].first_step == i) dag = d;
        dtp_stage_t *st = &stages[e->nstages++];
        if (dag >= 0) {
            *st = (dtp_stage_t){DTP_STAGE_DAG, dag};
            i += e->dags[dag].nsteps;
        } else if (l->steps[i]->segment >= 0) {
            *st = (dtp_stage_t){DTP_STAGE_SEGMENT, l->steps[i]->segment};
            i += e->segments[l->steps[i]->segment].nsteps;
        } else {
            *st = (dtp_stage_t){DTP_STAGE_STEP, i};
            ++i;
        }
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_plan(dtp_exec_t *e, dtp_lower_t *l, size_t memory_budget) {
    DTP_TRY(plan_slab(e, l));
    for (int i = 0; i < e->nsegments; ++i)
        DTP_TRY(plan_local(e, l, (dtp_segment_t *)(uintptr_t)&e->segments[i], i));
    DTP_TRY(find_offsets(e, l));
    dtp_exec_step_t *steps = dtp_arena_alloc(&e->arena, sizeof *steps * (size_t)(l->nsteps + 1));
    if (!steps) return dnnl_tp_out_of_memory;
    e->steps = steps;
    for (int i = 0; i < l->nsteps; ++i) {
        DTP_TRY(emit_step(e, l, l->steps[i], &steps[i]));
        e->ns += steps[i].ns;
    }
    DTP_TRY(find_used_args(e, l));
    DTP_TRY(emit_stages(e, l));
    for (int i = 0; i < e->nsegments; ++i)
        if (e->segments[i].nslices > e->max_slices) e->max_slices = e->segments[i].nslices;
    size_t whole, slot;
    measure_scratch(e, l, &whole, &slot);
    size_t slots = e->nsegments || e->ndags ? (size_t)e->num_threads : 0;
    if (e->slot_bytes * slots > e->local_total) e->local_total = e->slot_bytes * slots;
    e->slot_scratch_bytes = slot;
    e->scratch_at = dtp_round_up_size(e->slab_bytes, DTP_NO_SHARE);
    e->slots_at = e->scratch_at + whole;
    e->slot_scratch_at = e->slots_at + dtp_round_up_size(e->local_total, DTP_NO_SHARE);
    e->slab_bytes = e->slot_scratch_at + slot * slots;
    if (memory_budget && e->slab_bytes > memory_budget)
        return dtp_fail(dnnl_tp_out_of_memory, DTP_GRAPH_BUDGET, "a run needs %zu bytes, the budget is %zu",
                        e->slab_bytes, memory_budget);
    return dnnl_tp_success;
}
