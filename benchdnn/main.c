/* benchdnn: correctness and speed of every primitive, from the command line. See doc/benchdnn.md. */
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "common/exec.h"
#include "common/options.h"
#include "graph/graph.h"

static void usage(void) {
    printf("Usage: benchdnn [global options] --DRIVER [options and problem descriptors]\n\nDrivers:");
    for (int i = 0; bd_drivers[i]; ++i) printf(" %s", bd_drivers[i]->name);
    printf("\n\nbenchdnn --DRIVER --help lists the options.\n"
           "\nbenchdnn [global options] [--dim=N] [--fill=INPUT:LO:HI | --fill=INPUT:ramp:STEP] "
           "[--trace=FILE] --graph=FILE ...\n"
           "runs graphs from files.\n");
}

static void find_exe_dir(void) {
    ssize_t n = readlink("/proc/self/exe", bd_exe_dir, sizeof bd_exe_dir - 1);
    if (n <= 0) return;
    bd_exe_dir[n] = 0;
    char *e = strrchr(bd_exe_dir, '/');
    if (e) *e = 0;
}

static const bd_driver_t *find_driver(const char *tok) {
    if (strncmp(tok, "--", 2)) return NULL;
    for (int i = 0; bd_drivers[i]; ++i)
        if (!strcmp(bd_drivers[i]->name, tok + 2)) return bd_drivers[i];
    return NULL;
}

static int finish(void) {
    bd_stat_print();
    bd_exec_shutdown();
    return bd_stat_failures() ? BD_EXIT_FAIL : BD_EXIT_OK;
}

/* All tokens from the first on: graphs and their options. */
static int run_graphs(int n, char **tokens) {
    bd_stat.start_s = bd_now();
    for (int i = 0; i < n; ++i)
        if (!bd_global_option(tokens[i]) && !bd_graph_token(tokens[i]))
            bd_die(BD_EXIT_USAGE,
                   strcmp(tokens[i], "--graph") && strcmp(tokens[i], "--graph=")
                       ? "Error: '%s' is no option of --graph."
                       : "Error: '%s' needs the name of a file: --graph=FILE.",
                   tokens[i]);
    return finish();
}

static bool is_graph(const char *tok) {
    return !strncmp(tok, "--graph=", 8) || !strcmp(tok, "--graph") || !strncmp(tok, "--dim=", 6) ||
           !strncmp(tok, "--fill=", 7) || !strncmp(tok, "--trace=", 8);
}

int main(int argc, char **argv) {
    bd_options_init();
    find_exe_dir();
    if (argc < 2) bd_die(BD_EXIT_FAIL, "err: no arguments passed");
    if (!strcmp(argv[1], "--help")) return usage(), BD_EXIT_OK;
    int i = 1;
    while (i < argc && bd_global_option(argv[i])) ++i;
    if (i < argc && is_graph(argv[i])) return run_graphs(argc - i, argv + i);
    const bd_driver_t *d = i < argc ? find_driver(argv[i]) : NULL;
    if (!d) {
        const char *tok = i < argc ? argv[i] : "";
        if (!strncmp(tok, "--", 2) && bd_driver_known_elsewhere(tok + 2))
            bd_die(BD_EXIT_FAIL, "Error: driver '%s' is not available in this build.", tok + 2);
        bd_die(BD_EXIT_FAIL, "Error: can't parse the driver name '%s'.", tok);
    }
    if (!strchr("PFS", bd.mode)) { /* buffers of one problem serve the next: their pages stay */
        mallopt(M_MMAP_MAX, 0);
        mallopt(M_TRIM_THRESHOLD, -1);
    }
    bd_stat.start_s = bd_now();
    for (++i; i < argc; ++i) bd_driver_token(d, argv[i]);
    return finish();
}
