/* Command line of exec_bench. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec_bench.h"

eb_options_t eb = {.threads = {1, 2},
                   .nthreads = 2,
                   .kernel_ns = {0, 200, 1000, 10000},
                   .nkernels = 4,
                   .rounds = 5,
                   .block_ms = 20};

static bool row_found;
bool eb_wanted(const char *list, const char *name) {
    if (!list) return true;
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        for (const char *q = name; n && *q; ++q)
            if (strncmp(q, p, n) == 0) {
                row_found |= list == eb.rows;
                return true;
            }
        p += n + (p[n] == ',');
    }
    return false;
}

static FILE *csv;
void eb_csv(const char *group, const char *row, int threads, int kernel_ns, const char *side,
            const char *unit, double value, double lo, double hi, double allocs, double count) {
    if (csv)
        fprintf(csv, "%s,%s,%d,%d,%s,%s,%.4g,%.4g,%.4g,%.3g,%.0f\n", group, row, threads, kernel_ns, side,
                unit, value, lo, hi, allocs, count);
}

static int numbers(const char *text, int *to, int max) {
    int n = 0;
    for (char *end; *text && n < max; text = *end ? end + 1 : end) to[n++] = (int)strtol(text, &end, 10);
    return n;
}

static const char usage[] =
    "exec_bench [option]...\n"
    "  --threads=1,2            thread counts\n"
    "  --kernel-ns=0,200,...    time of each node of a plain graph\n"
    "  --group=dag,flow,...     which tables: dag, build, compile, flow, system, model; default: all\n"
    "  --rows=A,B               rows whose name contains A or B\n"
    "  --sides=A,B              sides whose name contains A or B\n"
    "  --rounds=5               blocks of each side, interleaved\n"
    "  --block-ms=20            length of a block\n"
    "  --big                    graphs of more than 500,000 nodes also with kernels that take time\n"
    "  --csv=FILE               appends every figure to FILE\n"
    "  --check                  tiny sizes; counts nodes and checks order and results, measures nothing\n"
    "  --list                   names of the shapes and of the sides of this build\n"
    "  --dump=NAME              a shape as text: graph NAME NODES EDGES, then n NS and e BEFORE AFTER "
    "lines\n";

static const char *value(const char *arg, const char *name) {
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

static const struct {
    const char *name;
    void (*run)(void);
} groups[] = {{"dag", eb_rows_dag},   {"build", eb_rows_build},   {"compile", eb_rows_compile},
              {"flow", eb_rows_flow}, {"system", eb_rows_system}, {"model", eb_rows_model}};
enum { NGROUPS = sizeof groups / sizeof *groups };

static void list_names(void) {
    for (int i = 0; i < eb_nshapes; ++i) printf("%s\n", eb_shapes[i].name);
    printf("sides: dnnl_tp/plain dnnl_tp sequence%s%s%s%s%s\n", EB_WITH_EIGEN ? " eigen" : "",
           EB_WITH_TBB ? " tbb" : "", EB_WITH_OPENMP ? " openmp" : "", EB_WITH_TASKFLOW ? " taskflow" : "",
           EB_WITH_PTHREADPOOL ? " pthreadpool" : "");
}

static void missing(const char *name, int there) {
    if (!there) printf("without %s: not found when this was configured\n", name);
}

int main(int argc, char **argv) {
    const char *v, *dump = NULL;
    bool list = false;
    for (int i = 1; i < argc; ++i) {
        const char *a = argv[i];
        if ((v = value(a, "--threads"))) eb.nthreads = numbers(v, eb.threads, 8);
        else if ((v = value(a, "--kernel-ns"))) eb.nkernels = numbers(v, eb.kernel_ns, 8);
        else if ((v = value(a, "--group"))) eb.group = v;
        else if ((v = value(a, "--rows"))) eb.rows = v;
        else if ((v = value(a, "--sides"))) eb.sides = v;
        else if ((v = value(a, "--rounds"))) eb.rounds = atoi(v);
        else if ((v = value(a, "--block-ms"))) eb.block_ms = atof(v);
        else if ((v = value(a, "--csv"))) eb.csv = v;
        else if ((v = value(a, "--dump"))) dump = v;
        else if (!strcmp(a, "--big")) eb.big = true;
        else if (!strcmp(a, "--check")) eb.check = true;
        else if (!strcmp(a, "--list")) list = true;
        else {
            fputs(usage, strcmp(a, "--help") ? stderr : stdout);
            return strcmp(a, "--help") ? 2 : 0;
        }
    }
    bool good = eb.nthreads > 0 && eb.nkernels > 0 && eb.rounds > 0 && eb.rounds <= 101 && eb.block_ms > 0;
    for (int i = 0; i < eb.nthreads; ++i) good &= eb.threads[i] > 0 && eb.threads[i] <= 256;
    if (!good) {
        fputs(usage, stderr);
        return 2;
    }
    if (dump) {
        if (eb_dump(dump, eb.check)) return 0;
        fprintf(stderr, "exec_bench: no shape '%s'; see --list\n", dump);
        return 2;
    }
    if (list) {
        list_names();
        return 0;
    }
    bool any = false;
    for (int i = 0; i < NGROUPS; ++i) any |= eb_wanted(eb.group, groups[i].name);
    if (!any) {
        fprintf(stderr, "exec_bench: no group '%s'\n", eb.group);
        return 2;
    }
    if (eb.csv && !(csv = fopen(eb.csv, "a"))) {
        fprintf(stderr, "exec_bench: cannot write %s\n", eb.csv);
        return 2;
    }
    const dnnl_tp_version_t *version = dnnl_tp_version();
    printf("dnnl_tp %d.%d.%d (%s); ns are medians of %d blocks of %g ms\n", version->library_major,
           version->library_minor, version->library_patch, version->hash, eb.rounds, eb.block_ms);
    missing("Eigen's ThreadPool (libeigen3-dev)", EB_WITH_EIGEN);
    missing("oneTBB (libtbb-dev)", EB_WITH_TBB);
    missing("OpenMP (the compiler's)", EB_WITH_OPENMP);
    missing("Taskflow (-DTASKFLOW_DIR=folder with taskflow/taskflow.hpp)", EB_WITH_TASKFLOW);
    missing("pthreadpool (libpthreadpool-dev)", EB_WITH_PTHREADPOOL);
    for (int i = 0; i < NGROUPS; ++i)
        if (eb_wanted(eb.group, groups[i].name)) groups[i].run();
    if (csv) fclose(csv);
    eb_end();
    if (eb.rows && !row_found) {
        fprintf(stderr, "exec_bench: no row has '%s' in its name\n", eb.rows);
        return 2;
    }
    if (eb.check) printf("%s\n", eb_failures ? "FAILED" : "all results are right");
    return eb_failures != 0;
}
