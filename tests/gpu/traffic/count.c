/* Counts what the kernels of the CUDA engine ask of memory: each problem of problems.c runs on the fake driver, and the interpreter
 * counts (ptx_traffic_t). These are counts, not times: caches and clocks are not modelled.
 *
 *   gpu_traffic                   prints a table
 *   gpu_traffic --lines PROBLEM   what each line of the PTX text asked for
 *   gpu_traffic --bounds          prints what --check compares with
 *   gpu_traffic --check FILE      fails where a count is worse than the bound in the file, or another kernel runs; or where a bound
 *                                 is so much better met that it would not see a loss
 *   gpu_traffic --kernels         fails where a problem of the size that is meant takes other kernels than the small one
 *   gpu_traffic --controls        fails where kernels that are changed to ask for more are not seen (edits.h) */
#include <stdlib.h>
#include <string.h>

#include "gpu/driver/cu_api.h"
#include "gpu/fake/fake_cuda.h"
#include "gpu/fake/fatbin.h"
#include "gpu/controls/edits.h"
#include "gpu/traffic/edits.h"
#include "gpu/traffic/problems.h"
#include "support/check.h"

enum { KERNELS_TEXT = 128, MOST_LINES = 1 << 18 };

/* ---- Texts ---------------------------------------------------------------------------------------------- */

#define DTP_GPU_MODULE(name) extern const unsigned long long dtp_fatbin_##name[];
#include "gpu/engine/modules.inc"
static const void *const modules[] = {
#define DTP_GPU_MODULE(name) dtp_fatbin_##name,
#include "gpu/engine/modules.inc"
};

/* The text of the module that has the kernel; the caller frees the fat binary. */
static const char *text_of(const char *kernel, fatbin_t *fatbin) {
    char error[256], entry[KERNELS_TEXT + 16];
    snprintf(entry, sizeof entry, ".entry dtp_%s(", kernel);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; ++i) {
        if (!fatbin_read(fatbin, modules[i], error, sizeof error)) continue;
        const char *text = fatbin_choose(fatbin, 9, 0);
        if (text && strstr(text, entry)) return text;
        fatbin_free(fatbin);
    }
    return NULL;
}

/* ---- Launches ------------------------------------------------------------------------------------------- */

static struct {
    bool executes; /* false: launches are only written down */
    edit_fn *edit; /* NULL, or what is done to kernels first */
    char kernels[KERNELS_TEXT];
    ptx_traffic_t traffic;
} run;

/* The same launch of the kernel as it is with an edit. */
static bool run_edited(const char *name, const ptx_launch_t *launch, char *error, size_t error_bytes) {
    char full[KERNELS_TEXT];
    fatbin_t fatbin;
    const char *module = text_of(name, &fatbin);
    if (!module) return false;
    snprintf(full, sizeof full, "dtp_%s", name);
    char *text = kernel_text(module, full), *edited = run.edit(text);
    ptx_module_t *parsed = ptx_parse(edited, error, error_bytes);
    const bool ok = parsed && ptx_run(ptx_find(parsed, full), launch, error, error_bytes);
    ptx_free(parsed);
    free(text), free(edited);
    fatbin_free(&fatbin);
    return ok;
}

/* On a thread of the fake device. */
static bool counted(const ptx_kernel_t *kernel, const ptx_launch_t *as, char *error, size_t error_bytes) {
    ptx_launch_t launch = *as;
    const size_t at = strlen(run.kernels);
    const char *name = ptx_kernel_name(kernel);
    if (!strncmp(name, "dtp_", 4)) name += 4;
    snprintf(run.kernels + at, sizeof run.kernels - at, "%s%s", at ? "+" : "", name);
    launch.traffic = &run.traffic;
    if (run.edit) return run_edited(name, &launch, error, error_bytes);
    return !run.executes || ptx_run(kernel, &launch, error, error_bytes);
}

/* ---- Figures -------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t needed;     /* bytes of the tensors, each once */
    double moved;       /* bytes in sectors, to those that are needed */
    double touched;     /* the same, each sector of a launch once */
    double load, store; /* bytes that a lane asks for at once; 0: nothing */
    double shared;      /* wavefronts to those without conflicts; 0: none */
    double per_run;     /* instructions of a warp for 16 bytes a lane of what is needed */
    double per_mma;     /* or for an mma; 0: none */
} figures_t;

static double ratio(double a, double b) { return b != 0 ? a / b : 0; }

static figures_t figures_of(const ptx_traffic_t *t, int64_t needed) {
    enum { RUN_OF_WARP = 512 };
    const ptx_shared_traffic_t *in = &t->shared_load, *out = &t->shared_store;
    return (figures_t){
        .needed = needed,
        .moved = ratio((double)(t->load.sectors + t->store.sectors) * PTX_SECTOR, (double)needed),
        .touched =
            ratio((double)(t->load.touched_sectors + t->store.touched_sectors) * PTX_SECTOR, (double)needed),
        .load = ratio((double)t->load.asked, (double)t->load.lanes),
        .store = ratio((double)t->store.asked, (double)t->store.lanes),
        .shared = ratio((double)(in->wavefronts + out->wavefronts), (double)(in->ideal + out->ideal)),
        .per_run = ratio((double)t->instructions, (double)needed / RUN_OF_WARP),
        .per_mma = ratio((double)t->instructions, (double)t->mma)};
}

static const problem_t *find_problem(const char *name) {
    for (int i = 0; i < n_problems; ++i)
        if (!strcmp(problems[i].name, name)) return &problems[i];
    printf("there is no problem %s\n", name);
    return NULL;
}

static dnnl_tp_engine_t new_engine(int multiprocessors) {
    dnnl_tp_engine_t engine;
    fake_cuda_set_multiprocessors(multiprocessors);
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_gpu, 0));
    return engine;
}

static figures_t count(const problem_t *p, dnnl_tp_engine_t engine, ptx_line_traffic_t *lines,
                       edit_fn *edit) {
    memset(&run, 0, sizeof run);
    run.executes = true;
    run.edit = edit;
    run.traffic.lines = lines;
    run.traffic.num_lines = lines ? MOST_LINES : 0;
    const int64_t needed = problem_run(p, SMALL, engine, true);
    return figures_of(&run.traffic, needed);
}

static void print_row(const char *name, const figures_t *f) {
    printf("%-20s %8.1f %6.2f %7.2f %5.1f %6.1f %7.2f %7.1f ", name, (double)f->needed / 1024, f->moved,
           f->touched, f->load, f->store, f->shared, f->per_run);
    if (f->per_mma > 0) printf("%7.1f", f->per_mma);
    else printf("%7s", "-");
    printf("  %s\n", run.kernels);
}

static void print_table(dnnl_tp_engine_t engine) {
    printf("%-20s %8s %6s %7s %5s %6s %7s %7s %7s  %s\n", "problem", "KiB", "moved", "touched", "load",
           "store", "shared", "/run", "/mma", "kernels");
    for (int i = 0; i < n_problems; ++i) {
        const figures_t f = count(&problems[i], engine, NULL, NULL);
        print_row(problems[i].name, &f);
    }
    puts("\nKiB: of the problem's tensors, each once. moved: bytes of the 32-byte sectors that requests "
         "touch, to those. touched: "
         "the same, each\nsector once in a launch. load, store: bytes that a lane asks for at once. shared: "
         "wavefronts of shared "
         "memory, to those without\nconflicts of banks. /run: PTX instructions of a warp for 16 bytes a lane "
         "of the tensors; /mma: "
         "for a matrix instruction.");
}

/* ---- Lines ---------------------------------------------------------------------------------------------- */

/* Of a problem of one launch. */
static int print_lines(const char *name, dnnl_tp_engine_t engine) {
    fatbin_t fatbin;
    const problem_t *p = find_problem(name);
    ptx_line_traffic_t *lines = calloc(MOST_LINES, sizeof *lines);
    if (!p || !lines) return 1;
    const figures_t f = count(p, engine, lines, NULL);
    print_row(name, &f);
    const char *at = text_of(run.kernels, &fatbin);
    if (!at) return 1;
    printf("%7s %8s %6s %8s %6s %6s %8s %8s\n", "line", "requests", "lanes", "sectors", "filled", "shared",
           "fronts", "ideal");
    for (size_t line = 1; *at; ++line) {
        const size_t n = strcspn(at, "\n");
        const ptx_line_traffic_t *t = &lines[line < MOST_LINES ? line : 0];
        if (t->requests || t->shared_requests)
            printf("%7zu %8lld %6.1f %8lld %5.0f%% %6lld %8lld %8lld %.*s\n", line, (long long)t->requests,
                   ratio((double)t->lanes, (double)t->requests), (long long)t->sectors,
                   100 * ratio((double)t->distinct, (double)t->sectors * PTX_SECTOR),
                   (long long)t->shared_requests, (long long)t->wavefronts, (long long)t->ideal, (int)n, at);
        at += n + (at[n] != 0);
    }
    fatbin_free(&fatbin);
    free(lines);
    return 0;
}

/* ---- Bounds --------------------------------------------------------------------------------------------- */

static void print_bounds(dnnl_tp_engine_t engine) {
    for (int i = 0; i < n_problems; ++i) {
        const figures_t f = count(&problems[i], engine, NULL, NULL);
        printf("%-20s %-40s %6.2f %5.1f %5.1f %6.2f\n", problems[i].name, run.kernels, f.moved, f.load,
               f.store, f.shared);
    }
}

/* Worse than the bound, or so much better that the bound is of no use; rounding aside. */
static int off(const char *problem, const char *what, double got, double bound, bool at_most) {
    enum { NOTHING, WORSE, LOOSE } is = NOTHING;
    const double slack = .051, loose = .1;
    if (at_most ? got > bound + slack / 10 : got < bound - slack) is = WORSE;
    else if (at_most ? got < bound * (1 - loose) : got > bound * (1 + loose) + slack) is = LOOSE;
    if (is == NOTHING) return 0;
    printf("%s: %s %.2f, %s %.2f: %s\n", problem, what, got, at_most ? "at most" : "at least", bound,
           is == WORSE ? "worse than the bound" : "better: tighten the bound");
    return 1;
}

static int check(const char *file, dnnl_tp_engine_t engine) {
    char line[256], name[64], kernels[KERNELS_TEXT];
    double moved, load, store, shared;
    int wrong = 0, rows = 0;
    FILE *f = fopen(file, "r");
    if (!f) {
        printf("%s cannot be read\n", file);
        return 1;
    }
    while (fgets(line, sizeof line, f)) {
        if (*line == '#' || *line == '\n') continue;
        if (rows == n_problems ||
            sscanf(line, "%63s %127s %lf %lf %lf %lf", name, kernels, &moved, &load, &store, &shared) != 6 ||
            strcmp(name, problems[rows].name) != 0) {
            printf("%s: not the line of %s: %s", file, rows < n_problems ? problems[rows].name : "anything",
                   line);
            ++wrong;
            break;
        }
        const figures_t got = count(&problems[rows++], engine, NULL, NULL);
        if (strcmp(kernels, run.kernels) != 0) {
            printf("%s: %s runs, not %s\n", name, run.kernels, kernels);
            ++wrong;
        }
        wrong += off(name, "bytes in sectors to those that are needed:", got.moved, moved, true);
        wrong += off(name, "bytes that a lane loads at once:", got.load, load, false);
        wrong += off(name, "bytes that a lane stores at once:", got.store, store, false);
        wrong +=
            off(name, "wavefronts of shared memory to those without conflicts:", got.shared, shared, true);
    }
    fclose(f);
    if (!wrong && rows < n_problems) printf("%s: no line of %s\n", file, problems[rows].name);
    return wrong > 0 || rows < n_problems;
}

/* ---- Kernels -------------------------------------------------------------------------------------------- */

/* What all problems launch on a device with so many multiprocessors, without running it. */
static void write_down(size_kind_t size, int multiprocessors, char (*kernels)[KERNELS_TEXT]) {
    dnnl_tp_engine_t engine = new_engine(multiprocessors);
    for (int i = 0; i < n_problems; ++i) {
        memset(&run, 0, sizeof run);
        (void)problem_run(&problems[i], size, engine, false);
        memcpy(kernels[i], run.kernels, KERNELS_TEXT);
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

static int compare_kernels(void) {
    int wrong = 0;
    char(*small)[KERNELS_TEXT] = calloc((size_t)n_problems, sizeof *small),
    (*large)[KERNELS_TEXT] = calloc((size_t)n_problems, sizeof *large);
    write_down(SMALL, SMALL_MULTIPROCESSORS, small);
    write_down(LARGE, MULTIPROCESSORS, large);
    for (int i = 0; i < n_problems; ++i) {
        if (!strcmp(small[i], large[i])) continue;
        printf("%s: large, %s runs; small, %s\n", problems[i].name, large[i], small[i]);
        ++wrong;
    }
    free(small), free(large);
    return wrong > 0;
}

/* ---- Controls ------------------------------------------------------------------------------------------- */

static double moved(const figures_t *f) { return f->moved; }
static double narrowness(const figures_t *f) { return 1 / f->load; }
static double conflicts(const figures_t *f) { return f->shared; }

/* The count of the kernel with an edit is so many times that of the kernel that ships. */
static const struct {
    const char *problem, *what;
    edit_fn *edit;
    double (*of)(const figures_t *f), factor;
} controls[] = {
    {"eltwise_f32", "loads of a word each", edit_narrow, narrowness, 4},
    {"eltwise_bf16", "loads of a word each", edit_narrow, moved, 2.5},
    {"eltwise_f32", "threads that change places", edit_scatter, moved, 2},
    {"binary_bf16", "threads that change places", edit_scatter, moved, 2},
    {"softmax_f32_1024", "loads of a word each", edit_narrow, narrowness, 4},
    {"transpose_f32", "a tile without padding", edit_unpad, conflicts, 16.5},
};

static int run_controls(dnnl_tp_engine_t engine) {
    int wrong = 0;
    for (size_t i = 0; i < sizeof controls / sizeof *controls; ++i) {
        const problem_t *p = find_problem(controls[i].problem);
        if (!p) return 1;
        const figures_t ships = count(p, engine, NULL, NULL),
                        edited = count(p, engine, NULL, controls[i].edit);
        const double factor = controls[i].of(&edited) / controls[i].of(&ships);
        const bool seen = factor > controls[i].factor * .99 && factor < controls[i].factor * 1.01;
        printf("%s, %s: %.2f times, %s\n", p->name, controls[i].what, factor,
               seen ? "as it must be" : "which is wrong");
        wrong += !seen;
    }
    return wrong;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *of = argc > 2 ? argv[2] : "";
    int result = 0;
    fake_cuda_reset();
    dtp_cu_set_for_test(fake_cuda_table());
    fake_cuda_set_delay(-1);
    fake_cuda_run_by(counted);
    if (!strcmp(what, "--kernels")) return compare_kernels() || fake_cuda_report(stdout);
    dnnl_tp_engine_t engine = new_engine(SMALL_MULTIPROCESSORS);
    if (!strcmp(what, "--lines")) result = print_lines(of, engine);
    else if (!strcmp(what, "--bounds")) print_bounds(engine);
    else if (!strcmp(what, "--check")) result = check(of, engine);
    else if (!strcmp(what, "--controls")) result = run_controls(engine);
    else print_table(engine);
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    return result || fake_cuda_report(stdout);
}
