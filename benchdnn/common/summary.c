/* Result lines, the summary blocks, and the table of classes against the peer. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/exec.h"
#include "common/prb.h"

bd_stat_t bd_stat;

static const char *const states[] = {"PASSED", "SKIPPED", "MISTRUSTED", "UNIMPLEMENTED", "INVALID_ARGUMENTS",
                                     "FAILED", "LISTED",  "EXECUTED",   "INITIALIZED"};

void bd_report(bd_state_t state, const char *reason, long errors, long total, double ms, const char *repro) {
    char line[2 * BD_TEXT] = "";
    bd_cat(line, sizeof line, "%ld:%s", bd_stat.tests, states[state]);
    if (reason) bd_cat(line, sizeof line, " (%s)", reason);
    if (errors) bd_cat(line, sizeof line, " (errors:%ld total:%ld)", errors, total);
    bd_cat(line, sizeof line, " (%.0f ms) __REPRO: %s", ms, repro);
    puts(line);
    fflush(stdout);
    ++bd_stat.n[state];
    ++bd_stat.tests;
    if (state == BD_FAILED || (state == BD_UNIMPLEMENTED && !bd.allow_unimpl) ||
        state == BD_INVALID_ARGUMENTS)
        bd_stat_failure(line);
}

/* ---- implementations and failures -------------------------------------------------------------------- */
enum { MAX_IMPLS = 128, MAX_FAILURES = 10 };
static struct {
    char name[64];
    long n;
} impls[MAX_IMPLS];
static int n_impls;
static char *failures[MAX_FAILURES];
static long n_failures;

void bd_stat_impl(const char *name) {
    int i = 0;
    while (i < n_impls && strcmp(impls[i].name, name)) ++i;
    if (i == MAX_IMPLS) return;
    if (i == n_impls) {
        ++n_impls;
        impls[i].name[0] = 0;
        bd_cat(impls[i].name, sizeof impls[i].name, "%s", name);
    }
    ++impls[i].n;
}

void bd_stat_failure(const char *line) {
    if (n_failures < MAX_FAILURES) failures[n_failures] = strdup(line);
    ++n_failures;
}

static void print_impls(void) {
    long all = 0;
    for (int i = 0; i < n_impls; ++i) all += impls[i].n;
    if (!all) return;
    if (bd.sum_impl_csv) {
        printf("implementation,count\n");
        for (int i = 0; i < n_impls; ++i) printf("%s,%ld\n", impls[i].name, impls[i].n);
        return;
    }
    if (!bd.sum_impl) return;
    static const char title[] = "= Implementation statistics (--summary=no-impl to disable) =";
    int width = (int)sizeof title - 1;
    for (int i = 0; i < width; ++i) putchar('=');
    printf("\n%s\n", title);
    for (int i = 0; i < width; ++i) putchar('=');
    putchar('\n');
    for (int i = 0; i < n_impls; ++i) {
        char text[160] = "";
        bd_cat(text, sizeof text, "| %s : %ld (%.0f%%)", impls[i].name, impls[i].n,
               100. * (double)impls[i].n / (double)all);
        printf("%-*s |\n", width - 2, text);
    }
    for (int i = 0; i < width; ++i) putchar('=');
    putchar('\n');
}

static void print_failures(void) {
    static const char title[] = "= Failed cases summary (--summary=no-failures to disable) =";
    if (!n_failures || !bd.sum_failures || strchr("PFS", bd.mode)) return;
    for (size_t i = 0; i < sizeof title - 1; ++i) putchar('=');
    printf("\n%s\n", title);
    for (size_t i = 0; i < sizeof title - 1; ++i) putchar('=');
    putchar('\n');
    for (long i = 0; i < n_failures && i < MAX_FAILURES; ++i) puts(failures[i]);
    if (n_failures > MAX_FAILURES) printf("(... %ld more cases ...)\n", n_failures - MAX_FAILURES);
    puts("============================");
}

/* ---- classes against the peer ------------------------------------------------------------------------ */
typedef struct {
    char klass[64], apart[48];
    char *prb;
    double ratio, lo, hi, ours, theirs;
    bool ours_ref;
} row_t;
static row_t *rows;
static int n_rows;

void bd_stat_ratio(const char *klass, double ratio, double lo, double hi, double ours_us, double peer_us,
                   const char *apart, const char *prb, const char *peer_impl) {
    row_t *r = realloc(rows, (size_t)(n_rows + 1) * sizeof *r);
    if (!r) return;
    rows = r;
    r += n_rows++;
    memset(r, 0, sizeof *r);
    bd_cat(r->klass, sizeof r->klass, "%s", klass);
    if (apart) bd_cat(r->apart, sizeof r->apart, "%s", apart);
    size_t size = strlen(prb) + strlen(peer_impl) + 16;
    r->prb = bd_alloc(size, 16);
    r->prb[0] = 0;
    bd_cat(r->prb, size, "%s [peer %s]", prb, peer_impl);
    r->ours_ref = strstr(prb, "--impl=ref") != NULL;
    r->ratio = ratio;
    r->lo = lo;
    r->hi = hi;
    r->ours = ours_us;
    r->theirs = peer_us;
}

static int by_class_then_ratio(const void *a, const void *b) {
    const row_t *x = a, *y = b;
    int c = strcmp(x->klass, y->klass);
    if (c) return c;
    if (!*x->apart != !*y->apart) return *x->apart ? 1 : -1;
    return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

static void print_classes(void) {
    enum { WORST = 5 };
    if (!n_rows) return;
    qsort(rows, (size_t)n_rows, sizeof *rows, by_class_then_ratio);
    printf("\n= Against %s, %d thread%s: ratio = its time / ours =\n", bd_peer_version(), bd_threads(),
           bd_threads() == 1 ? "" : "s");
    printf("%-28s %5s %8s %8s %6s\n", "class", "rows", "geomean", "minimum", "apart");
    double all = 0;
    int n_all = 0, refs = 0;
    for (int i = 0; i < n_rows;) {
        int e = i, n = 0;
        double logs = 0;
        for (; e < n_rows && !strcmp(rows[e].klass, rows[i].klass); ++e) {
            refs += rows[e].ours_ref;
            if (*rows[e].apart) continue;
            logs += log(rows[e].ratio);
            ++n;
        }
        if (n)
            printf("%-28s %5d %8.3f %8.3f %6d\n", rows[i].klass, n, exp(logs / n), rows[i].ratio, e - i - n);
        else printf("%-28s %5d %8s %8s %6d\n", rows[i].klass, 0, "-", "-", e - i);
        all += logs;
        n_all += n;
        for (int k = i; k < i + n && k < i + WORST; ++k)
            printf("    %7.3f [%.3f, %.3f] %10.3f us  %s\n", rows[k].ratio, rows[k].lo, rows[k].hi,
                   rows[k].ours, rows[k].prb);
        i = e;
    }
    if (n_all) printf("%-28s %5d %8.3f\n", "all classes", n_all, exp(all / n_all));
    printf("reference implementations of ours: %d of %d rows\n", refs, n_rows);
    bool title = false;
    for (int i = 0; i < n_rows; ++i) {
        if (!*rows[i].apart) continue;
        if (!title) printf("rows kept apart (why):\n");
        title = true;
        printf("    %7.3f %10.3f us (%s) %s: %s\n", rows[i].ratio, rows[i].ours, rows[i].apart, rows[i].klass,
               rows[i].prb);
    }
    putchar('\n');
}

long bd_stat_failures(void) {
    const long *n = bd_stat.n;
    return n[BD_FAILED] + n[BD_INVALID_ARGUMENTS] + (bd.allow_unimpl ? 0 : n[BD_UNIMPLEMENTED]);
}

void bd_stat_print(void) {
    static const char *const names[] = {"create_pd", "create_prim", "fill",
                                        "execute",   "compute_ref", "compare"};
    const long *n = bd_stat.n;
    const long failed = bd_stat_failures();
    print_impls();
    print_failures();
    print_classes();
    printf("tests:%ld passed:%ld skipped:%ld mistrusted:%ld unimplemented:%ld invalid_arguments:%ld "
           "failed:%ld listed:%ld\n",
           bd_stat.tests, n[BD_PASSED] + n[BD_EXECUTED] + n[BD_INITIALIZED], n[BD_SKIPPED], n[BD_MISTRUSTED],
           n[BD_UNIMPLEMENTED], n[BD_INVALID_ARGUMENTS], failed, n[BD_LISTED]);
    if (strchr("PFS", bd.mode))
        printf("total perf: min(ms):%g avg(ms):%g\n", bd_stat.perf_min_ms, bd_stat.perf_avg_ms);
    double total = bd_now() - bd_stat.start_s;
    printf("total: %.2fs;", total);
    for (int i = 0; i < BD_N_TIMERS; ++i)
        printf(" %s: %.2fs (%.0f%%);", names[i], bd_stat.t[i], total > 0 ? 100 * bd_stat.t[i] / total : 0);
    putchar('\n');
}
