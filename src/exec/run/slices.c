/* Running a slice group: cutting packed sequences into slices, handing slices to participants. See
 * slice_groups.c. */
#include "exec/run/run.h"

typedef struct {
    dtp_run_ctx_t *ctx;
    const dtp_where_t *where;
    const dtp_slice_group_t *group;
    int nslices;
    int64_t capacity;
} job_t;

/* ---- Slices ------------------------------------------------------------------------------------------ */

/* Units (and, packed, sequences) before slice i. */
static int64_t slice_begin(const job_t *j, int i, int64_t *seq) {
    *seq = 0;
    if (j->group->seqs == 0) return i * j->group->slice + dtp_min64(i, j->group->larger);
    *seq = j->where->bounds[2 * i + 1];
    return j->where->bounds[2 * i];
}

/* Cuts the sequences into n slices of about equal rows; returns the rows of the largest. Deterministic:
 * depends on the offsets and n only. */
static int64_t cut(const int32_t *offsets, int64_t seqs, int n, int64_t *bounds) {
    int64_t total = offsets[seqs], s = 0, most = 0;
    bounds[0] = bounds[1] = 0;
    for (int i = 1; i <= n; ++i) {
        int64_t want = total * i / n;
        while (s < seqs && (i == n || 2 * (want - offsets[s]) > offsets[s + 1] - offsets[s])) ++s;
        bounds[2 * i] = offsets[s];
        bounds[2 * i + 1] = s;
        most = dtp_max64(most, offsets[s] - bounds[2 * i - 2]);
    }
    return most;
}

/* ---- Execution --------------------------------------------------------------------------------------- */

static void run_slices(const job_t *j, const dtp_parallel_t *par, int slot, int begin, int end,
                       char *scratch) {
    dtp_run_ctx_t *ctx = j->ctx;
    const dtp_exec_t *e = ctx->exec;
    dtp_where_t w = {
        .par = par, .bases = j->where->bases, .slot = slot, .scratch = scratch, .capacity = j->capacity};
    w.local = j->where->locals + (size_t)slot * e->slot_bytes;
    for (int g = 0; g < j->group->nsections; ++g) {
        for (int i = begin; i < end; ++i) {
            int64_t seq, seq_end, unit = slice_begin(j, i, &seq), unit_end = slice_begin(j, i + 1, &seq_end);
            if (unit == unit_end && seq == seq_end) continue;
            w.first[DTP_UNIT_ROW] = unit;
            w.first[DTP_UNIT_SEQ] = seq;
            w.count[DTP_UNIT_NONE] = -1;
            w.count[DTP_UNIT_ROW] = unit_end - unit;
            w.count[DTP_UNIT_SEQ] = seq_end - seq;
            w.variant = i >= j->group->larger && j->group->larger > 0;
            for (int s = j->group->sections[g]; s < j->group->sections[g + 1]; ++s) {
                const dtp_exec_work_t *work = e->steps[s].work;
                if (!work->prim[0] || w.count[work->unit] == 0) continue; /* a join; nothing in this slice */
                if (!dtp_run_step(ctx, &e->steps[s], &w)) return;
            }
        }
    }
}

static void slices_fn(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const dtp_exec_t *e = j->ctx->exec;
    char *scratch = j->where->slot_scratch + (size_t)slot * e->slot_scratch_bytes;
    run_slices(j, &j->ctx->alone, slot, (int)begin, (int)end, scratch);
}

/* ---- Choice ------------------------------------------------------------------------------------------ */

/* Slices beside each other, each on one thread (true), or one slice after the other with all threads inside
 * each operator. `longest` is the share of the whole that the largest slice has. */
static bool slices_win(const dtp_slice_group_t *group, int nslices, double share, double longest,
                       int threads) {
    const double region_ns = 1500.,
                 inside = .93; /* a hand-off between warm threads; efficiency inside operators */
    double ns = group->ns * share, rounds = (double)dtp_div_up(nslices, threads);
    double beside = ns * longest * rounds + 2. * region_ns;
    double within = ns / (inside * threads) + region_ns * (double)nslices * (double)group->nsteps;
    return nslices > 1 && beside <= within;
}

/* share: rows of this run by rows planned. A slice costs far more than a hand-off: the loop is told how much.
 */
static void run_beside(job_t *j, double share) {
    double ns = j->group->ns * share / j->nslices;
    dtp_parallel_for(j->where->across, j->nslices, -dtp_max64(1, (int64_t)ns), slices_fn, j);
}

static void run_within(job_t *j, const dtp_parallel_t *par) {
    run_slices(j, par, 0, 0, j->nslices, j->where->scratch);
}

static void run_packed(job_t *j, int threads, const dtp_parallel_t *inside) {
    const dtp_slice_group_t *group = j->group;
    const dtp_exec_t *e = j->ctx->exec;
    const dtp_ref_t *ref = &e->offsets[group->offsets_ref].ref;
    const int32_t *offsets = (const int32_t *)((char *)j->ctx->run->bases[ref->base] + ref->offset);
    int64_t *bounds = j->where->bounds, total = offsets[group->seqs];
    int64_t most_slices = dtp_min64(e->max_slices, dtp_max64(group->seqs, 1));
    int64_t few = dtp_max64(1, dtp_min64(dtp_div_up(total, DTP_SLICE_ROWS), most_slices)), many = few;
    if (many % threads && total / dtp_round_up(many, threads) >= DTP_MIN_SLICE_ROWS)
        many = dtp_min64(dtp_round_up(many, threads), most_slices);
    double share = (double)total / (double)dtp_max64(group->units, 1);
    j->capacity = group->capacity;
    j->nslices = (int)many;
    int64_t most = cut(offsets, group->seqs, j->nslices, bounds);
    if (threads > 1 && most <= group->capacity &&
        slices_win(group, j->nslices, share, (double)most / (double)dtp_max64(total, 1), threads)) {
        run_beside(j, share);
        return;
    }
    j->nslices = (int)few;
    most = cut(offsets, group->seqs, j->nslices, bounds);
    if (most > group->capacity) { /* a very long sequence: all rows at once, in buffers that hold them */
        j->nslices = 1;
        j->capacity = group->units | 1;
        (void)cut(offsets, group->seqs, 1, bounds);
    }
    run_within(j, inside);
}

void dtp_run_slice_group(dtp_run_ctx_t *ctx, const dtp_slice_group_t *group, const dtp_where_t *where) {
    const dtp_parallel_t *inside = where->par;
    int threads = where->across->num_threads;
    job_t j = {
        .ctx = ctx, .where = where, .group = group, .nslices = group->nslices, .capacity = group->capacity};
    if (group->seqs > 0) {
        run_packed(&j, threads, inside);
        return;
    }
    double longest = (double)(group->slice + (group->larger > 0)) / (double)group->units;
    if (threads > 1 && slices_win(group, group->nslices, 1., longest, threads)) run_beside(&j, 1.);
    else run_within(&j, inside);
}
