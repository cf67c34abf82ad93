/* The comparison with the peer: interleaved blocks, each started only when all threads of the other side
 * sleep.
 *
 * A row's ratio is the median of the ratios of neighbouring blocks, with the 95 % interval of that median. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/compare.h"
#include "common/options.h"
#include "common/perf.h"

#define BLOCK_S 50e-3
#define BATCH_S 200e-6 /* executions between two readings of the clock */
#define WARM_S 3e-3    /* dropped at the start of a block */
enum { WARM_TIMES = 3, MIN_BATCHES = 3, MIN_PAIRS = 5, MAX_PAIRS = 101, MAX_BATCHES = 4096 };

typedef struct {
    bd_side_t *s;
    bd_rotation_t rot;
    dnnl_tp_stream_t stream;
    bool wait;
    long batch;
    double least; /* of all batches of all blocks */
} runner_t;

static dnnl_tp_status_t once(runner_t *r) {
    bd_side_t *s = r->s;
    const bd_api_t *api = s->api;
    if (bd.measure == BD_MEASURE_CREATE) return bd_create_once(s->prb, api, s->md, s->attr);
    if (bd.measure == BD_MEASURE_HANDLES) {
        enum { HANDLES = 3 };
        for (int i = 0; i < s->prb->nt && i < HANDLES; ++i) {
            dnnl_tp_status_t st = api->memory_set_data_handle(s->mem[i], s->data[i]);
            if (st != dnnl_tp_success) return st;
        }
    }
    dnnl_tp_status_t st = api->primitive_execute(s->prim, r->stream, s->nargs, r->rot.args[r->rot.at]);
    if (++r->rot.at == r->rot.n) r->rot.at = 0;
    if (r->wait && st == dnnl_tp_success) st = api->stream_wait(r->stream);
    return st;
}

static dnnl_tp_status_t batch(runner_t *r, long n, double *s) {
    double t = bd_now();
    for (long i = 0; i < n; ++i) {
        dnnl_tp_status_t st = once(r);
        if (st != dnnl_tp_success) return st;
    }
    *s = (bd_now() - t) / (double)n;
    return dnnl_tp_success;
}

/* At least so many, and so long; of executions that take longer than a block, one. */
static bool go_on(int i, int least, double begin, double s) {
    const double passed = bd_now() - begin;
    return passed < s || i == 0 || (i < least && passed < BLOCK_S);
}

/* One block; *out = median of its batches, seconds per execution. */
static dnnl_tp_status_t block(runner_t *r, double *out) {
    static double v[MAX_BATCHES];
    dnnl_tp_status_t st;
    double t, begin = bd_now();
    int n = 0;
    for (int i = 0; go_on(i, WARM_TIMES, begin, WARM_S); ++i)
        if ((st = batch(r, 1, &t)) != dnnl_tp_success) return st;
    begin = bd_now();
    while (n < MAX_BATCHES && go_on(n, MIN_BATCHES, begin, BLOCK_S))
        if ((st = batch(r, r->batch, &v[n++])) != dnnl_tp_success) return st;
    *out = bd_median(v, n);
    for (int i = 0; i < n; ++i)
        if (r->least == 0 || v[i] < r->least) r->least = v[i];
    return dnnl_tp_success;
}

static dnnl_tp_status_t prepare(runner_t *r, bd_side_t *s) {
    memset(r, 0, sizeof *r);
    r->s = s;
    r->stream = bd_stream(s->api, s->api->is_peer ? 0 : s->prb->ctx_exe.max_concurrency);
    r->wait = !s->api->is_peer && bd.pool == BD_POOL_ASYNC;
    dnnl_tp_status_t st = bd_rotation_init(&r->rot, s);
    double t = 0;
    const double begin = bd_now();
    for (int i = 0; st == dnnl_tp_success && go_on(i, WARM_TIMES, begin, 0); ++i) st = batch(r, 1, &t);
    long n = 1;
    while (st == dnnl_tp_success && t * (double)n < BATCH_S && n < 1 << 20) {
        n *= 2;
        st = batch(r, n, &t);
    }
    r->batch = n;
    return st;
}

/* Both computed the same problem: their outputs must agree. */
static bool agree(bd_side_t *a, bd_side_t *b) {
    const bd_prb_t *p = a->prb;
    for (int i = 0; i < p->nt; ++i) {
        if (!(p->t[i].io & BD_OUT) || p->t[i].io & BD_OWN || p->t[i].alias >= 0 || bd_attr_has_sum(&p->attr))
            continue;
        int64_t n = bd_elems(&p->t[i]);
        double *x = bd_alloc((size_t)n * sizeof *x, 64), *y = bd_alloc((size_t)n * sizeof *y, 64);
        bool ok = bd_side_load(a, i, x) == dnnl_tp_success && bd_side_load(b, i, y) == dnnl_tp_success;
        double l2 = ok ? bd_l2(x, y, n) : INFINITY;
        double limit = p->t[i].dt == dnnl_tp_f32                                 ? 2e-5
                       : p->t[i].dt == dnnl_tp_bf16 || p->t[i].dt == dnnl_tp_f16 ? 1e-2
                                                                                 : 1e-3;
        bd_free(x);
        bd_free(y);
        if (l2 <= limit) continue;
        printf("peer: outputs '%s' differ, relative L2 %g\n", p->t[i].name, l2);
        return false;
    }
    return true;
}

static void write_csv(const char *klass, const bd_side_t *a, const bd_side_t *b, const char *repro,
                      double ours, double theirs, double ratio, double lo, double hi, double ours_min,
                      double peer_min, const char *note) {
    if (!*bd.perf_csv) return;
    FILE *f = fopen(bd.perf_csv, "a");
    if (!f) bd_die(BD_EXIT_FAIL, "cannot open file %s", bd.perf_csv);
    if (!ftell(f))
        fprintf(f, "class,threads,peer,impl,peer_impl,ours_us,peer_us,ratio,lo,hi,ours_min_us,peer_min_us,"
                   "note,prb\n");
    fprintf(f, "%s,%d,\"%s\",%s,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%s,\"", klass, bd_threads(),
            bd_peer_version(), a->impl, b->impl, ours, theirs, ratio, lo, hi, ours_min, peer_min, note);
    for (const char *c = repro; *c; ++c) {
        if (*c == '"') fputc('"', f);
        fputc(*c, f);
    }
    fprintf(f, "\"\n");
    fclose(f);
}

dnnl_tp_status_t bd_duel(bd_side_t *ours, bd_side_t *theirs, const char *repro) {
    const char *klass = *bd.klass ? bd.klass : ours->prb->drv->name;
    static double ratio[MAX_PAIRS], a[MAX_PAIRS], b[MAX_PAIRS];
    runner_t r[2];
    bool quiet = true, create = bd.measure == BD_MEASURE_CREATE;
    dnnl_tp_status_t st = dnnl_tp_success;
    if (create) {
        st = ours->api->set_primitive_cache_capacity(0);
        if (st == dnnl_tp_success) st = theirs->api->set_primitive_cache_capacity(0);
    }
    if (st == dnnl_tp_success) st = prepare(&r[0], ours);
    else return st;
    if (st == dnnl_tp_success) st = prepare(&r[1], theirs);
    else memset(&r[1], 0, sizeof r[1]);
    bool same = st != dnnl_tp_success || agree(ours, theirs);
    int pairs = bd.fix_times ? bd.fix_times : (int)(bd.max_ms * 1e-3 / (2 * (BLOCK_S + WARM_S)));
    pairs = pairs < MIN_PAIRS ? MIN_PAIRS : pairs > MAX_PAIRS ? MAX_PAIRS : pairs | 1;
    for (int k = 0; k < pairs && st == dnnl_tp_success; ++k)
        for (int h = 0; h < 2 && st == dnnl_tp_success; ++h) {
            int side = (k + h) & 1;
            bd_peer_rest();
            quiet &= bd_wait_quiet();
            st = block(&r[side], side ? &b[k] : &a[k]);
            if (side) bd_peer_rest();
        }
    bd_rotation_free(&r[0].rot);
    if (r[1].s) bd_rotation_free(&r[1].rot);
    if (create) {
        (void)!(ours->api->set_primitive_cache_capacity(1024) ||
                theirs->api->set_primitive_cache_capacity(1024));
    }
    if (st != dnnl_tp_success) return st;
    for (int k = 0; k < pairs; ++k) ratio[k] = b[k] / a[k];
    double mid = bd_median(ratio, pairs);
    int edge = (int)floor(pairs / 2. - 0.98 * sqrt(pairs)); /* order statistics of a 95 % interval */
    if (edge < 0) edge = 0;
    double lo = ratio[edge], hi = ratio[pairs - 1 - edge], us = bd_median(a, pairs) * 1e6,
           peer_us = bd_median(b, pairs) * 1e6;
    const double least[] = {r[0].least * 1e6, r[1].least * 1e6};
    bool small_class =
        !strncmp(klass, "tiny", 4) || !strncmp(klass, "creation", 8) || !strncmp(klass, "overhead", 8);
    const char *note = !same                                                           ? "MISMATCH"
                       : strstr(theirs->impl, "ref") || strstr(theirs->impl, "simple") ? "peer ref"
                       : peer_us < 2 && !small_class                                   ? "under 2 us"
                       : !quiet                                                        ? "not quiet"
                                                                                       : "";
    static bool title;
    if (!title)
        printf("peer,class,impl,peer_impl,ours_us,peer_us,ratio,lo,hi,ours_min_us,peer_min_us,note,prb\n");
    title = true;
    printf("peer,%s,%s,%s,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%s,%s\n", klass, ours->impl, theirs->impl, us,
           peer_us, mid, lo, hi, least[0], least[1], note, repro);
    fflush(stdout);
    write_csv(klass, ours, theirs, repro, us, peer_us, mid, lo, hi, least[0], least[1], note);
    bd_stat_ratio(klass, mid, lo, hi, us, peer_us, *note ? note : NULL, repro, theirs->impl);
    bd_stat.perf_min_ms += us * 1e-3;
    bd_stat.perf_avg_ms += us * 1e-3;
    return same ? dnnl_tp_success : dnnl_tp_runtime_error;
}
