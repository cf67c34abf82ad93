/* Checks a thread pool that lives in a shared library: does it keep the promises of
 * dnnl_tp_threadpool_iface_t?
 *
 *   pool_check LIBRARY [FUNCTION] [--threads=N]
 *
 * LIBRARY exports `const dnnl_tp_threadpool_iface_t *FUNCTION(int threads)` (default: make_pool), which
 * starts a pool. Each test runs in a process of its own on a fresh pool, so that one that crashes or hangs
 * does not hide the others. Exit codes: 0 all promises kept, 1 some broken, 2 wrong usage or no pool. Names and cures:
 * doc/pool_check.md. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dnnl_tp/dnnl_tp.h"
#include "dnnl_tp/dnnl_tp_pool_check.h"

typedef const dnnl_tp_threadpool_iface_t *(*make_pool_t)(int threads);

enum { KEPT = 0, BROKEN = 1, WRONG_USAGE = 2, NO_POOL = 3, TIME_LIMIT_S = 60 };

static const struct {
    unsigned bit;
    const char *name;
} tests[] = {{DNNL_TP_POOL_CHECK_TASKS, "tasks are called once each"},
             {DNNL_TP_POOL_CHECK_LOOPS, "loops call each job once"},
             {DNNL_TP_POOL_CHECK_CALLERS, "several threads call at once"},
             {DNNL_TP_POOL_CHECK_NESTED, "calls from inside tasks and jobs"},
             {DNNL_TP_POOL_CHECK_ORDER, "order of asynchronous loops"},
             {DNNL_TP_POOL_CHECK_WAIT, "wait"},
             {DNNL_TP_POOL_CHECK_RUNS, "begin and end of runs"},
             {DNNL_TP_POOL_CHECK_SATURATION, "all threads call the library at once"}};

static int check_here(const char *library, const char *function, int threads, unsigned bit) {
    static char report[1 << 14];
    void *handle = dlopen(library, RTLD_NOW);
    make_pool_t make = NULL;
    if (handle) {
        void *symbol = dlsym(handle, function);
        memcpy(&make, &symbol, sizeof make);
    }
    const dnnl_tp_threadpool_iface_t *pool = make ? make(threads) : NULL;
    if (!pool) {
        fprintf(stderr, "pool_check: %s\n", !handle || !make ? dlerror() : "the function returned no pool");
        return NO_POOL;
    }
    dnnl_tp_status_t status = dnnl_tp_pool_check(pool, bit, report, sizeof report);
    fputs(report, stdout);
    if (status != dnnl_tp_success && status != dnnl_tp_runtime_error)
        fprintf(stderr, "pool_check: %s\n", dnnl_tp_last_error());
    return status == dnnl_tp_success ? KEPT : status == dnnl_tp_runtime_error ? BROKEN : NO_POOL;
}

int main(int argc, char **argv) {
    const char *library = NULL, *function = "make_pool";
    static const char usage[] = "usage: pool_check LIBRARY [FUNCTION] [--threads=N]\n";
    int threads = (int)sysconf(_SC_NPROCESSORS_ONLN), names = 0;
    if (argc == 2 && !strcmp(argv[1], "--help")) {
        printf("%sLIBRARY exports const dnnl_tp_threadpool_iface_t *FUNCTION(int threads), by default "
               "make_pool.\n",
               usage);
        return KEPT;
    }
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        const dnnl_tp_version_t *v = dnnl_tp_version();
        printf("pool_check, with dnnl_tp %d.%d.%d (%s)\n", v->library_major, v->library_minor,
               v->library_patch, v->hash);
        return KEPT;
    }
    for (int i = 1; i < argc; ++i) {
        if (!strncmp(argv[i], "--threads=", 10)) threads = atoi(argv[i] + 10);
        else if (argv[i][0] == '-' || names == 2) names = 3;
        else if (names++ == 0) library = argv[i];
        else function = argv[i];
    }
    if (!library || names > 2 || threads < 1) {
        fputs(usage, stderr);
        return WRONG_USAGE;
    }
    int broken = 0;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i) {
        printf("test: %s\n", tests[i].name);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(TIME_LIMIT_S);
            int code = check_here(library, function, threads, tests[i].bit);
            fflush(stdout);
            _exit(code); /* not exit: a broken pool may hang in its destructors */
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child) {
            perror("pool_check");
            return WRONG_USAGE;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == NO_POOL) return WRONG_USAGE;
        if (WIFSIGNALED(status))
            printf("violated: crash: the process was ended by signal %d (%s); reproduce: this test alone\n",
                   WTERMSIG(status), strsignal(WTERMSIG(status)));
        broken += !WIFEXITED(status) || WEXITSTATUS(status) != KEPT;
    }
    printf(broken ? "%d tests found broken promises\n" : "all promises are kept\n", broken);
    return broken ? BROKEN : KEPT;
}
