/* Would tests of kernels see it if a kernel were wrong? The kernels that ship run on the fake driver, for small problems of each
 * kind; then each launch is run again with one bug in the kernel's text (edits.h) or in its arguments, for ten seeds. A bug is caught
 * where the interpreter stops the kernel, or memory holds other bits than before.
 *
 * kernel_controls [--quick] [MODULE]; --quick: one bug of each class for each kernel; MODULE: its kernels alone. Prints a
 * table, and each bug that is missed. */
#include <stdlib.h>
#include <string.h>

#include "common/exec.h"
#include "common/options.h"
#include "gpu/controls/edits.h"
#include "gpu/controls/launches.h"
#include "gpu/controls/problems.h"
#include "gpu/driver/cu_api.h"
#include "gpu/fake/fake_cuda.h"
#include "gpu/fake/fatbin.h"

enum { SEEDS = 10, ENOUGH = 9 };
static bool quick;

/* ---- Kernels ------------------------------------------------------------------------------------------- */

#define DTP_GPU_MODULE(name) extern const unsigned long long dtp_fatbin_##name[];
#include "gpu/engine/modules.inc"
static const struct {
    const char *name;
    const void *code;
} modules[] = {
#define DTP_GPU_MODULE(name) {#name, dtp_fatbin_##name},
#include "gpu/engine/modules.inc"
};

static ptx_module_t *parse(const char *text) {
    char error[512] = "";
    ptx_module_t *module = ptx_parse(text, error, sizeof error);
    if (!module) {
        printf("an edited kernel cannot be parsed: %s\n", error);
        exit(1);
    }
    return module;
}

/* ---- Judgement ----------------------------------------------------------------------------------------- */

/* Bugs that change nothing that the interpreter can tell; `number` of those lines. Found all the same, they fail the test. */
static const struct {
    const char *kernels; /* what their names begin with */
    bug_t bug;
    int number;
    const char *why;
} explained[] = {
    {"dtp_attention_mma", BUG_COPY_WAIT, 3,
     "what it waits for is not read; a block ends without copies under way"},
    {"dtp_matmul_half", BUG_COPY_WAIT, 1, "the groups that it waits for are empty"},
    {"dtp_matmul_tf32", BUG_COPY_WAIT, 1, "the groups that it waits for are empty"},
    {"dtp_matmul_half", BUG_LATE_WAIT, 1, "the groups that it waits for are empty"},
    {"dtp_matmul_tf32", BUG_LATE_WAIT, 1, "the groups that it waits for are empty"},
};

static const char *explanation(const char *kernel, bug_t bug, int number) {
    for (size_t i = 0; i < sizeof explained / sizeof *explained; ++i)
        if (explained[i].bug == bug && explained[i].number == number &&
            !strncmp(kernel, explained[i].kernels, strlen(explained[i].kernels)))
            return explained[i].why;
    return NULL;
}

typedef enum { ARGS_SWAPPED, ARGS_LOST, ARGS_ONE_MORE, ARGS } args_bug_t;
static const char *const args_names[ARGS] = {"two arguments swapped", "an argument lost", "a size one more"};

typedef struct {
    int bugs, caught, explained,
        silent; /* silent: may change nothing, as comparisons that another one repeats */
} row_t;
static row_t table[BUGS + ARGS];
static int failures;

/* How many of the seeds see it, at the launch of the kernel that sees it best; none of one that is missed by the first seed. */
static int seen(const char *kernel, const char *text, int seeds) {
    int best = 0;
    ptx_module_t *module = parse(text);
    for (const launch_t *l = launches(); l && best < seeds; l = l->next) {
        int n = 0;
        if (strcmp(l->kernel, kernel) != 0) continue;
        for (int seed = 1; seed <= seeds && (n || seed == 1); ++seed)
            n += launch_again(l, ptx_kernel_at(module, 0), (uint64_t)seed, NULL) != RUN_SAME;
        if (n > best) best = n;
    }
    ptx_free(module);
    return best;
}

/* Threads race where a barrier is missing, so the seed matters for each; what else is wrong is wrong in any order. */
static int seeds_of(bug_t bug, int caught) { return bug <= BUG_LATE_WAIT || !caught ? SEEDS : 1; }

static void fail(const char *kernel, const char *bug, int number, const char *what) {
    printf("FAILED: %s: %s, number %d: %s\n", kernel, bug, number, what);
    ++failures;
}

/* Comparisons need not all matter: what a later one finds out, too, and types that the problems do not have. */
static void judge(const char *kernel, const char *text, bug_t bug) {
    const int sites = count_sites(text, bug);
    row_t row = {0};
    for (int site = 0; site < sites && !(quick && row.caught); ++site) {
        char *broken = with_bug(text, bug, site, false), *trap = with_bug(text, bug, site, true);
        const int seeds = seeds_of(bug, row.caught), n = seen(kernel, broken, seeds);
        const bool caught = n * SEEDS >= ENOUGH * seeds;
        const char *why = explanation(kernel, bug, site);
        ++row.bugs;
        row.caught += caught;
        if (why) ++row.explained;
        else if (!caught && bug == BUG_BOUND) ++row.silent;
        else if (!caught)
            fail(kernel, bug_name(bug), site, seen(kernel, trap, 1) ? "not found" : "no problem reaches it");
        if (why && caught) fail(kernel, bug_name(bug), site, "found, and said to change nothing");
        free(broken), free(trap);
    }
    table[bug].bugs += row.bugs, table[bug].caught += row.caught;
    table[bug].explained += row.explained, table[bug].silent += row.silent;
}

/* The argument at word `at` of 8 or 4 bytes; false: no such bug can be there. */
static bool break_args(args_bug_t bug, unsigned char *args, size_t bytes, size_t at) {
    enum { WORD = 8, MOST = 1 << 20 };
    unsigned char word[WORD];
    uint32_t n;
    if (bug == ARGS_ONE_MORE) {
        memcpy(&n, args + at * sizeof n, sizeof n);
        if (n == 0 || n > MOST) return false;
        ++n;
        memcpy(args + at * sizeof n, &n, sizeof n);
        return true;
    }
    if (at % 2 || (at + 4) * 4 > bytes || !memcmp(args + at * 4, args + at * 4 + WORD, WORD)) return false;
    memcpy(word, args + at * 4, WORD);
    if (bug == ARGS_SWAPPED) {
        memcpy(args + at * 4, args + at * 4 + WORD, WORD);
        memcpy(args + at * 4 + WORD, word, WORD);
    } else {
        memmove(args + at * 4, args + at * 4 + WORD, bytes - at * 4 - WORD);
    }
    return true;
}

/* Many arguments are not looked at by a launch: strides of dimensions that it lacks. One of each kind is to be found by all seeds. */
static void judge_args(const ptx_kernel_t *ptx, const char *kernel, args_bug_t bug) {
    row_t *row = &table[BUGS + bug];
    const launch_t *l = launches();
    int caught = 0;
    while (strcmp(l->kernel, kernel) != 0) l = l->next;
    unsigned char *args = malloc(l->params_bytes);
    for (size_t at = 0; at < l->params_bytes / 4 && !(quick && caught); ++at) {
        memcpy(args, l->as.params, l->params_bytes);
        if (!break_args(bug, args, l->params_bytes, at)) continue;
        int n = 0;
        const int seeds = caught ? 1 : SEEDS;
        for (int seed = 1; seed <= seeds && (n || seed == 1); ++seed)
            n += launch_again(l, ptx, (uint64_t)seed, args) != RUN_SAME;
        ++row->bugs;
        if (n * SEEDS >= ENOUGH * seeds) ++caught;
        else ++row->silent;
    }
    if (!caught) fail(kernel, args_names[bug], 0, "none is found");
    row->caught += caught;
    free(args);
}

static void judge_kernel(const char *module, const char *kernel) {
    const launch_t *l = launches();
    while (l && strcmp(l->kernel, kernel) != 0) l = l->next;
    if (!l) {
        fail(kernel, "any bug", 0, "no problem runs this kernel");
        return;
    }
    char *text = kernel_text(module, kernel);
    ptx_module_t *right = parse(text);
    for (int seed = 1; seed <= SEEDS; ++seed)
        if (launch_again(l, ptx_kernel_at(right, 0), (uint64_t)seed, NULL) != RUN_SAME)
            fail(kernel, "no bug", seed, "other results with this seed");
    for (bug_t bug = 0; bug < BUGS; ++bug) judge(kernel, text, bug);
    for (args_bug_t bug = 0; bug < ARGS; ++bug) judge_args(ptx_kernel_at(right, 0), kernel, bug);
    ptx_free(right);
    free(text);
}

static void judge_module(const void *code) {
    char error[256], kernel[64];
    fatbin_t fatbin;
    if (!fatbin_read(&fatbin, code, error, sizeof error)) {
        fail(error, "any bug", 0, "a module cannot be read");
        return;
    }
    const char *text = fatbin_choose(&fatbin, 9, 0), *at = text;
    while ((at = next_kernel(at, kernel)))
        if (strcmp(kernel, "dtp_stamp") != 0) judge_kernel(text, kernel); /* that one reads the clock */
    fatbin_free(&fatbin);
}

int main(int argc, char **argv) {
    const char *only = NULL; /* module */
    for (int i = 1; i < argc; ++i)
        if (!strcmp(argv[i], "--quick")) quick = true;
        else only = argv[i];
    fake_cuda_reset();
    dtp_cu_set_for_test(fake_cuda_table());
    launches_keep();
    run_problems();
    for (size_t i = 0; i < sizeof modules / sizeof *modules; ++i)
        if (!only || !strcmp(only, modules[i].name)) judge_module(modules[i].code);
    printf("%-24s %6s %6s %9s %6s\n", "bug", "tried", "found", "explained", "silent");
    for (int i = 0; i < BUGS + ARGS; ++i)
        printf("%-24s %6d %6d %9d %6d\n", i < BUGS ? bug_name((bug_t)i) : args_names[i - BUGS], table[i].bugs,
               table[i].caught, table[i].explained, table[i].silent);
    for (size_t i = 0; i < sizeof explained / sizeof *explained; ++i)
        printf("explained: %s*: %s, number %d: %s\n", explained[i].kernels, bug_name(explained[i].bug),
               explained[i].number, explained[i].why);
    launches_free();
    return failures > 0;
}
