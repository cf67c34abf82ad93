/* Slice groups: the key to batches.
 *
 * A run of consecutive steps in which each result row (or sequence) depends only on the same row (or
 * sequence) of what the run computed before is executed slice by slice, so that activations stay in the
 * second-level cache and a batch needs one fork and join instead of one per operator. Units are the
 * contiguous blocks that dimension 0 of every sliced tensor falls into: rows, or whole sequences once a
 * sequence-wise operator is inside.
 *
 * Two forms. Fixed: slices are known now. Packed (attention or pooling with offsets): units are rows, and
 * each run cuts them at sequence boundaries. Weights of a slice group are split into sections (about a
 * transformer layer) and the loop is group outer, slice inner. Run: run/run.c. */
#include "exec/compile/slices/slice_groups.h"

#include "common/base/with.h"

enum { MAX_UNIT_ROWS = 512 }; /* longer sequences are cut by rows between attentions instead */

/* ---- What a step's arguments do when dimension 0 of its result is cut -------------------------------- */

static int64_t advance_of(const dtp_md_t *md, int64_t units) {
    return md->dims[0] / units * md->strides[0] * (int64_t)dtp_type_size(md->data_type);
}

/* Can the step be cut into `units` along dimension 0? Marks its arguments when it can. */
static bool cut_step(dtp_lower_t *l, dtp_step_t *s, int64_t units, int group) {
    bool sliced[DTP_GRAPH_MAX_ARGS + 2 * DTP_IR_MAX_POST + 1];
    if (!s->op || !s->work->cut || s->no_slice || units < 1) return false;
    const dtp_pd_arg_t *arg = s->work->md;
    const dtp_md_t *dst = arg[s->work->dst].md;
    const int n = s->nargs + s->npost_args;
    if (dst->ndims < 1 || dst->dims[0] % units) return false;
    for (int i = 0; i < n; ++i) {
        sliced[i] = false;
        const dtp_md_t *md = arg[i].md;
        if (s->arg[i].buf < 0 || !md || dtp_md_is_zero(md)) continue;
        const dtp_buf_t *b = &l->bufs[s->arg[i].buf];
        dtp_cut_t c = (i < s->nargs ? s->work->cut : dtp_cut_by_dim)(&(dtp_cut_arg_t){s, i, md, dst});
        if (c == DTP_CUT_REFUSED || (c == DTP_CUT_WHOLE && b->slice_group == group)) return false;
        if (c == DTP_CUT_WHOLE) continue;
        /* A unit must be the same contiguous block for everybody who touches the buffer. */
        int64_t advance = advance_of(md, units);
        if (md->dims[0] % units || md->format_kind != dnnl_tp_blocked ||
            (size_t)(advance * units) != b->bytes)
            return false;
        sliced[i] = true;
    }
    for (int i = 0; i < n; ++i) {
        s->arg[i].sliced = sliced[i];
        s->arg[i].advance = sliced[i] ? advance_of(arg[i].md, units) : 0;
    }
    int rank = s->work->whole_sequences ? 1 : dst->ndims - 1;
    if (rank < 1) rank = 1;
    s->work->rows_per_unit = dst->dims[0] / units;
    for (int d = 1; d < rank; ++d) s->work->rows_per_unit *= dst->dims[d];
    return true;
}

/* ---- Packed steps ------------------------------------------------------------------------------------ */

/* Attention or pooling with offsets in a slice group of `rows` rows: absolute rows, offsets and pooled rows
 * advance by sequence. */
static bool cut_sequences(dtp_lower_t *l, dtp_step_t *s, int64_t rows, int group) {
    if (s->no_slice || s->npost_args || s->work->md[0].md->dims[0] != rows) return false;
    for (int i = 0; i < s->nargs; ++i) {
        dtp_step_arg_t *a = &s->arg[i];
        a->sliced = false;
        a->advance = 0;
        if (a->buf < 0) continue;
        dtp_buf_t *b = &l->bufs[a->buf];
        if (i + 1 == s->work->offsets) {
            if (b->slice_group == group) return false;
            a->advance = (int64_t)sizeof(int32_t);
        } else if (s->work->pools && a->written) {
            const dtp_md_t *md = s->work->md[i].md;
            a->advance = md->dims[1] * md->strides[1] * (int64_t)dtp_type_size(md->data_type);
        } else if (b->bytes % (size_t)rows || b->domain == DTP_BY_SEQ) {
            return false;
        }
    }
    s->domain = DTP_BY_SEQ;
    s->work->rows_per_unit = 1;
    return true;
}

/* ---- Growing a slice group --------------------------------------------------------------------------- */

typedef struct {
    int first, end;
    int64_t units; /* rows in the packed form */
    int64_t seqs;  /* packed: sequences; 0 = fixed */
    int offsets_buf;
    int64_t offsets_at;
    int64_t rows;
} grow_t;

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

static const dtp_md_t *dst_md(const dtp_step_t *s) { return s->op ? s->work->md[s->work->dst].md : NULL; }

static void mark(dtp_lower_t *l, dtp_step_t *s, int group, int domain) {
    for (int i = 0; i < s->nargs; ++i)
        if (s->arg[i].written) {
            l->bufs[s->arg[i].buf].slice_group = group;
            l->bufs[s->arg[i].buf].domain = domain;
        }
}

/* A step of a packed slice group must take its rows at run time. */
static dnnl_tp_status_t takes_rows(dtp_lower_t *l, dtp_step_t *s, bool *yes) {
    *yes = false;
    if (!s->op || s->no_slice) return dnnl_tp_success;
    if (!s->work->prim[0]) DTP_TRY(dtp_step_create(l, s, 0, 0, l->num_threads, 0));
    *yes = dtp_step_takes_rows(s);
    s->no_slice = !*yes;
    return dnnl_tp_success;
}

static dnnl_tp_status_t packed_step(dtp_lower_t *l, dtp_step_t *s, grow_t *g, int group, bool *joined) {
    *joined = false;
    bool rows_ok;
    DTP_TRY(takes_rows(l, s, &rows_ok));
    if (!rows_ok) return dnnl_tp_success;
    if (s->work->offsets) {
        const dtp_step_arg_t *o = &s->arg[s->work->offsets - 1];
        if (g->seqs && (o->buf != g->offsets_buf || o->offset != g->offsets_at)) return dnnl_tp_success;
        if (!cut_sequences(l, s, g->units, group)) return dnnl_tp_success;
        g->offsets_buf = o->buf;
        g->offsets_at = o->offset;
        g->seqs = (int64_t)(l->bufs[o->buf].bytes / sizeof(int32_t)) - 1;
        mark(l, s, group, s->work->pools ? DTP_BY_SEQ : DTP_BY_ROW);
        *joined = true;
        return dnnl_tp_success;
    }
    /* What reads pooled rows goes on by sequence. */
    int domain = DTP_BY_ROW;
    for (int i = 0; i < s->nargs + s->npost_args; ++i)
        if (s->arg[i].buf >= 0 && l->bufs[s->arg[i].buf].slice_group == group &&
            l->bufs[s->arg[i].buf].domain == DTP_BY_SEQ)
            domain = DTP_BY_SEQ;
    const dtp_md_t *dst = dst_md(s);
    int64_t units = domain == DTP_BY_SEQ ? g->seqs : g->units;
    if (dst->dims[0] != units || !cut_step(l, s, units, group)) return dnnl_tp_success;
    for (int i = 0; i < s->nargs + s->npost_args; ++i)
        if (s->arg[i].sliced && l->bufs[s->arg[i].buf].slice_group == group &&
            l->bufs[s->arg[i].buf].domain != domain)
            return dnnl_tp_success;
    s->domain = domain;
    mark(l, s, group, domain);
    *joined = true;
    return dnnl_tp_success;
}

/* The first step with offsets turns a slice group of rows into a packed one: its steps so far must take rows. */
static dnnl_tp_status_t to_packed(dtp_lower_t *l, grow_t *g, bool *ok) {
    *ok = true;
    for (int i = g->first; i < g->end && *ok; ++i) {
        DTP_TRY(takes_rows(l, l->steps[i], ok));
        const dtp_md_t *dst = dst_md(l->steps[i]);
        *ok = *ok && dst->dims[0] == g->units;
    }
    return dnnl_tp_success;
}

/* A join of parts that each have a piece of every unit, as channels of pixels: nothing runs, and what reads the whole of a unit
 * comes after those who write it. Parts that lie one behind the other belong to different units. */
static bool joins_units(const dtp_lower_t *l, const dtp_step_t *s) {
    if (s->ctl != DTP_CTL_JOIN) return false;
    for (int i = 0; i < s->nargs; ++i)
        if (l->bufs[s->arg[i].buf].bytes != l->bufs[s->arg[s->nargs - 1].buf].bytes) return false;
    return true;
}

static bool has_channels_innermost(const dtp_md_t *md) {
    return md->ndims > 2 && md->strides[1] == 1 && md->dims[1] > 1;
}

/* Rows of a result that is cut by its dimension 0: of images pixels, not pixels of all channels. */
static int64_t rows_of(const dtp_step_t *s, const dtp_md_t *dst) {
    const dnnl_tp_primitive_kind_t kind = s->op->kind;
    const bool is_image = has_channels_innermost(dst) ||
                          (kind == dnnl_tp_reorder && has_channels_innermost(s->work->md[0].md)) ||
                          kind == dnnl_tp_convolution || kind == dnnl_tp_deconvolution;
    const int inner = is_image || dst->ndims == 1 ? 1 : dst->ndims - 1;
    int64_t rows = 1;
    for (int d = 0; d < dst->ndims; ++d) rows *= d == inner ? 1 : dst->dims[d];
    return rows;
}

static dnnl_tp_status_t grow(dtp_lower_t *l, int first, int group, grow_t *g) {
    memset(g, 0, sizeof *g);
    g->first = g->end = first;
    for (int i = first; i < l->nsteps; ++i) {
        dtp_step_t *s = l->steps[i];
        const dtp_md_t *dst = dst_md(s);
        if (i > first && !g->seqs && joins_units(l, s)) {
            mark(l, s, group, DTP_BY_ROW);
            g->end = i + 1;
            continue;
        }
        if (!dst || dst->ndims < 1) break;
        if (g->seqs || s->work->offsets) {
            bool ok;
            if (i == first) g->units = s->work->md[0].md->dims[0];
            if (!g->seqs) {
                DTP_TRY(to_packed(l, g, &ok));
                if (!ok) break;
            }
            DTP_TRY(packed_step(l, s, g, group, &ok));
            if (!ok) break;
            g->rows = g->units;
        } else {
            int64_t units = i == first ? dst->dims[0] : gcd(g->units, dst->dims[0]);
            const int64_t rows = dtp_max64(rows_of(s, dst), g->rows);
            if (i > first && units < g->units &&
                (units < dtp_max64(2, l->num_threads) || rows / units > MAX_UNIT_ROWS))
                break;
            if (units < 2 || !cut_step(l, s, units, group)) break;
            g->units = units;
            g->rows = rows;
            s->domain = DTP_BY_ROW;
            mark(l, s, group, DTP_BY_ROW);
        }
        g->end = i + 1;
    }
    /* Units may have become coarser since the first steps were marked. */
    for (int i = g->first; i < g->end && !g->seqs; ++i) (void)cut_step(l, l->steps[i], g->units, -2);
    return dnnl_tp_success;
}

/* ---- Slices and sections ----------------------------------------------------------------------------- */

static int count_slices(const grow_t *g, int threads) {
    int64_t n = dtp_div_up(g->rows, DTP_SLICE_ROWS);
    if (n % threads) {
        int64_t up = dtp_round_up(n, threads);
        if (up <= g->units && g->rows / up >= DTP_MIN_SLICE_ROWS) n = up;
    }
    n = dtp_min64(n, g->units);
    return (int)dtp_max64(n, 1);
}

static double weight_bytes(const dtp_step_t *s) {
    double bytes = 0.;
    for (const dtp_packing_t *p = s->work->packing; p; p = p->next)
        for (int i = 0; i < p->nparts; ++i)
            bytes += (double)dtp_md_nelems(&p->part[i].src) * (double)dtp_type_size(p->part[i].src.data_type);
    return bytes;
}

/* Bytes per unit of what is written in the slice group before step `at` and touched from there on. */
static double crossing(const dtp_lower_t *l, const dtp_slice_group_t *group, int index, int at) {
    double bytes = 0.;
    for (int b = 0; b < l->nbufs; ++b) {
        const dtp_buf_t *buf = &l->bufs[b];
        if (buf->kind != DTP_BUF_PART && buf->slice_group == index && buf->first < at && buf->last >= at)
            bytes += (double)buf->bytes;
    }
    return bytes / (double)group->units;
}

/* Section borders: about `limit` bytes of weights each, cut where the least has to be kept for all slices. */
static dnnl_tp_status_t make_sections(dtp_exec_t *e, dtp_lower_t *l, dtp_slice_group_t *group, int index) {
    enum { MIB = 1 << 20 };
    int64_t l3 = l->engine->l3_bytes;
    double limit = (double)(l3 > 0 ? dtp_min64(l3 / 4, 16 * MIB) : 8 * MIB), sum = 0.;
    int *sections = dtp_arena_alloc(&e->arena, sizeof *sections * (size_t)(group->nsteps + 1));
    if (!sections) return dnnl_tp_out_of_memory;
    int n = 0, end = group->first_step + group->nsteps;
    sections[n++] = group->first_step;
    bool one = group->offsets_ref < 0 && group->nslices <= e->num_threads;
    for (int i = group->first_step; i < end && !one; ++i) {
        sum += weight_bytes(l->steps[i]);
        if (sum <= limit || i == sections[n - 1]) continue;
        int best = -1;
        double least = 0.;
        for (int at = sections[n - 1] + 1; at <= i; ++at) {
            double c = crossing(l, group, index, at);
            if (best < 0 || c <= least) best = at, least = c;
        }
        sections[n++] = best;
        sum = 0.;
        for (int k = best; k <= i; ++k) sum += weight_bytes(l->steps[k]);
    }
    sections[n] = end;
    group->nsections = n;
    group->sections = sections;
    return dnnl_tp_success;
}

static int section_of(const dtp_slice_group_t *group, int step) {
    int g = 0;
    while (g + 1 < group->nsections && group->sections[g + 1] <= step) ++g;
    return g;
}

/* Buffers that live inside one section of one slice group hold a slice only and belong to the participant. */
static void find_locals(dtp_lower_t *l, const dtp_slice_group_t *group, int index) {
    for (int b = 0; b < l->nbufs; ++b) {
        dtp_buf_t *buf = &l->bufs[b];
        if (buf->kind != DTP_BUF_INSTANCE || buf->slice_group != index) continue;
        bool local = buf->domain == DTP_BY_ROW && buf->first >= group->first_step &&
                     buf->last < group->first_step + group->nsteps &&
                     section_of(group, buf->first) == section_of(group, buf->last);
        buf->unit_bytes = (int64_t)buf->bytes / group->units;
        if (local) buf->kind = DTP_BUF_LOCAL;
    }
}

static dnnl_tp_status_t create_fixed(dtp_lower_t *l, dtp_step_t *s, const dtp_slice_group_t *group) {
    int64_t most = group->slice + (group->larger > 0);
    DTP_TRY(dtp_step_create(l, s, most, group->units, l->num_threads, 0));
    if (!dtp_step_takes_rows(s)) {
        s->domain = DTP_BY_NONE; /* no rows are passed */
        if (group->larger) DTP_TRY(dtp_step_create(l, s, group->slice, group->units, l->num_threads, 1));
    }
    return dnnl_tp_success;
}

static void unmark(dtp_lower_t *l, int first, int end, int group) {
    for (int i = first; i < end; ++i) {
        dtp_step_t *s = l->steps[i];
        s->domain = DTP_BY_NONE;
        s->slice_group = -1;
        for (int k = 0; k < s->nargs + s->npost_args; ++k) {
            s->arg[k].sliced = false;
            s->arg[k].advance = 0;
            if (s->arg[k].buf >= 0 && l->bufs[s->arg[k].buf].slice_group == group) {
                l->bufs[s->arg[k].buf].slice_group = -1;
                l->bufs[s->arg[k].buf].domain = DTP_BY_NONE;
            }
        }
    }
}

/* Packed slice groups hand their bounds over in run objects: this many slices at most. */
static int packed_slices(const dtp_slice_group_t *group, int threads) {
    int64_t n = dtp_round_up(dtp_div_up(group->units, DTP_SLICE_ROWS), threads);
    return (int)dtp_max64(1, dtp_min64(n, dtp_max64(group->seqs, 1)));
}

static dnnl_tp_status_t accept(dtp_exec_t *e, dtp_lower_t *l, const grow_t *g, dtp_slice_group_t *group,
                               int index) {
    group->first_step = g->first;
    group->nsteps = g->end - g->first;
    group->units = g->units;
    group->seqs = g->seqs;
    group->offsets_ref = g->seqs ? g->offsets_buf : -1; /* replaced by the plan */
    if (g->seqs) {
        group->nslices = packed_slices(group, e->num_threads);
        group->capacity =
            dtp_min64(g->units, 4 * DTP_SLICE_ROWS) | 1; /* odd: buffers do not alias in the caches */
    } else {
        group->nslices = count_slices(g, e->num_threads);
        group->slice = g->units / group->nslices;
        group->larger = g->units % group->nslices;
        group->capacity = group->slice + (group->larger > 0);
    }
    for (int i = g->first; i < g->end; ++i) l->steps[i]->slice_group = index;
    DTP_TRY(make_sections(e, l, group, index));
    find_locals(l, group, index);
    for (int i = g->first; i < g->end; ++i) {
        if (!g->seqs && l->steps[i]->op) DTP_TRY(create_fixed(l, l->steps[i], group));
        group->ns += dtp_step_ns(l->steps[i]);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_slice_groups(dtp_exec_t *e, dtp_lower_t *l) {
    dtp_buf_ranges(l);
    DTP_TRY(dtp_describe_steps(l));
    if (l->nproblems == 0) return dnnl_tp_success;
    dtp_slice_group_t *groups = dtp_arena_alloc(&e->arena, sizeof *groups * (size_t)l->nproblems);
    if (!groups) return dnnl_tp_out_of_memory;
    e->slice_groups = groups;
    const bool may =
        DTP_WITH_SLICES && l->ir->fuse && dtp_engine_can(l->engine, DTP_ENGINE_ROWS | DTP_ENGINE_CACHES);
    for (int i = 0; i < l->nsteps && may;) {
        grow_t g;
        int index = e->nslice_groups;
        DTP_TRY(grow(l, i, index, &g));
        bool worth = g.end - g.first >= 2 && (g.seqs || count_slices(&g, e->num_threads) > 1);
        if (worth) {
            DTP_TRY(accept(e, l, &g, &groups[index], index));
            ++e->nslice_groups;
        } else {
            unmark(l, g.first, g.end, index);
        }
        i = g.end > i ? g.end : i + 1;
    }
    return dnnl_tp_success;
}
