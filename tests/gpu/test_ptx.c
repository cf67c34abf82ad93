/* Whole kernels in the PTX interpreter: their results, and what must be caught when they are broken on purpose.
 * The texts are nvcc's output of ptx/kernels/kernels.cu. Single instructions: test_ptx_insn.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "ptx.h"

enum { SEEDS = 10, MAX_REGIONS = 4 };

static char *text; /* kernels.ptx */

static int read_text(void **state) {
    (void)state;
    FILE *f = fopen(KERNELS "/kernels.ptx", "r");
    if (!f) return -1;
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    text = malloc(n + 1);
    n = fread(text, 1, n, f);
    text[n] = 0;
    fclose(f);
    return 0;
}

static int free_text(void **state) {
    (void)state;
    free(text);
    return 0;
}

/* The text with the n-th occurrence (from 0 on) of `from` after `start` replaced. */
static char *edited(const char *start, const char *from, int n, const char *to) {
    const char *at = strstr(text, start);
    assert_non_null(at);
    for (at = strstr(at, from); at && n; --n) at = strstr(at + 1, from);
    assert_non_null(at);
    size_t before = (size_t)(at - text), rest = strlen(at + strlen(from)) + 1;
    char *s = malloc(before + strlen(to) + rest);
    memcpy(s, text, before);
    memcpy(s + before, to, strlen(to));
    memcpy(s + before + strlen(to), at + strlen(from), rest);
    return s;
}

/* Memory of a launch: each buffer is a region of its own, far from the others. */
typedef struct {
    ptx_region_t regions[MAX_REGIONS];
    size_t n;
} memory_t;

static uint64_t add(memory_t *m, void *host, size_t bytes, unsigned char *set) {
    uint64_t address = (m->n + 1) << 32;
    m->regions[m->n++] = (ptx_region_t){address, bytes, host, set};
    return address;
}

static bool run(const char *source, const char *name, const uint32_t grid[3], const uint32_t block[3],
                const void *params, const memory_t *m, uint64_t seed, char error[512]) {
    ptx_module_t *module = ptx_parse(source, error, 512);
    if (!module) fail_msg("%s", error);
    const ptx_kernel_t *k = ptx_find(module, name);
    assert_non_null(k);
    ptx_launch_t l = {
        .params = params, .regions = m->regions, .num_regions = m->n, .seed = seed, .max_steps = 10000000};
    memcpy(l.grid, grid, sizeof l.grid);
    memcpy(l.block, block, sizeof l.block);
    error[0] = 0;
    bool ok = ptx_run(k, &l, error, 512);
    ptx_free(module);
    return ok;
}

/* Each problem runs a text of its kernel: 0 right, 1 a wrong result, 2 a trap with its message. */
typedef int problem_fn(const char *source, uint64_t seed, char error[512]);

static int rowsum(const char *source, uint64_t seed, char error[512]) {
    enum { ROWS = 5, N = 1001 };
    float x[ROWS * N], y[ROWS];
    unsigned char set[sizeof y] = {0};
    for (int i = 0; i < ROWS * N; ++i) x[i] = (float)(i * 7 % 11 - 5);
    memory_t m = {.n = 0};
    struct {
        uint64_t x, y;
        int n;
    } p = {add(&m, x, sizeof x, NULL), add(&m, y, sizeof y, set), N};
    if (!run(source, "rowsum", (uint32_t[]){ROWS, 1, 1}, (uint32_t[]){256, 1, 1}, &p, &m, seed, error))
        return 2;
    for (int r = 0; r < ROWS; ++r) {
        float sum = 0;
        for (int i = 0; i < N; ++i) sum += x[r * N + i];
        if (!set[4 * r] || y[r] != sum) return 1;
    }
    return 0;
}

static int transpose(const char *source, uint64_t seed, char error[512]) {
    enum { ROWS = 45, COLS = 70 };
    uint16_t x[ROWS * COLS], y[ROWS * COLS];
    unsigned char set[sizeof y] = {0};
    for (int i = 0; i < ROWS * COLS; ++i) x[i] = (uint16_t)(i * 31);
    memory_t m = {.n = 0};
    struct {
        uint64_t x, y;
        int64_t rows, cols;
    } p = {add(&m, x, sizeof x, NULL), add(&m, y, sizeof y, set), ROWS, COLS};
    if (!run(source, "transpose", (uint32_t[]){3, 2, 1}, (uint32_t[]){32, 8, 1}, &p, &m, seed, error))
        return 2;
    for (int r = 0; r < ROWS; ++r)
        for (int c = 0; c < COLS; ++c)
            if (!set[2 * (c * ROWS + r)] || y[c * ROWS + r] != x[r * COLS + c]) return 1;
    return 0;
}

static uint16_t to_bf16(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return (uint16_t)(u >> 16);
}

static int gemm(const char *source, uint64_t seed, char error[512]) {
    enum { M = 100, N = 41, K = 96 };
    uint16_t a[M * K], b[N * K];
    float c[M * N], fa[M * K], fb[N * K];
    unsigned char set[sizeof c] = {0};
    for (int i = 0; i < M * K; ++i) a[i] = to_bf16(fa[i] = (float)(i * 13 % 17 - 8));
    for (int i = 0; i < N * K; ++i) b[i] = to_bf16(fb[i] = (float)(i * 11 % 19 - 9));
    memory_t m = {.n = 0};
    struct {
        uint64_t a, b, c;
        int m, n, k;
    } p = {add(&m, a, sizeof a, NULL), add(&m, b, sizeof b, NULL), add(&m, c, sizeof c, set), M, N, K};
    if (!run(source, "gemm", (uint32_t[]){2, 2, 1}, (uint32_t[]){128, 1, 1}, &p, &m, seed, error)) return 2;
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            float sum = 0;
            for (int k = 0; k < K; ++k) sum += fa[i * K + k] * fb[j * K + k];
            if (!set[4 * (i * N + j)] || c[i * N + j] != sum) return 1;
        }
    return 0;
}

static void runs_right(problem_fn *problem) {
    char error[512];
    for (uint64_t seed = 0; seed < SEEDS; ++seed) {
        int got = problem(text, seed, error);
        if (got) fail_msg("seed %d: %s", (int)seed, got == 1 ? "a wrong result" : error);
    }
}

static void test_rowsum(void **state) {
    (void)state;
    runs_right(rowsum);
}
static void test_transpose(void **state) {
    (void)state;
    runs_right(transpose);
}
static void test_gemm(void **state) {
    (void)state;
    runs_right(gemm);
}

static void test_mixed(void **state) {
    (void)state;
    enum { BLOCKS = 3, THREADS = 64, N = BLOCKS * THREADS };
    struct {
        int n;
        int64_t off[4];
        float a;
        int16_t s;
    } p = {5, {3, -7, 11, 1000000000000}, 1.5f, 13};
    int x[N], y[N];
    int64_t sum = 17, want_sum = 17;
    float f[N];
    char error[512];
    unsigned char y_set[sizeof y] = {0}, f_set[sizeof f] = {0};
    for (int i = 0; i < N; ++i) x[i] = i * 7919 % 4001 - 2000;
    memory_t m = {.n = 0};
    unsigned char params[80] = {0};
    uint64_t at[4] = {add(&m, x, sizeof x, NULL), add(&m, y, sizeof y, y_set),
                      add(&m, &sum, sizeof sum, NULL), add(&m, f, sizeof f, f_set)};
    memcpy(params, &p, sizeof p);
    memcpy(params + 48, at, sizeof at);
    ptx_module_t *module = ptx_parse(text, error, sizeof error);
    assert_non_null(module);
    const ptx_kernel_t *k = ptx_find(module, "mixed");
    assert_int_equal(ptx_num_params(k), 5);
    assert_int_equal(ptx_params_bytes(k), sizeof params);
    assert_int_equal(ptx_param_offset(k, 1), 48);
    assert_int_equal(ptx_max_threads(k), 128);
    assert_true(ptx_local_bytes(k) >= 64);
    ptx_launch_t l = {.grid = {BLOCKS, 1, 1},
                      .block = {THREADS, 1, 1},
                      .params = params,
                      .regions = m.regions,
                      .num_regions = m.n};
    if (!ptx_run(k, &l, error, sizeof error)) fail_msg("%s", error);
    for (int i = 0; i < N; ++i) {
        int v = x[i];
        const int all[7] = {v + 5, v * v, v ^ i, v / 3, v % p.s, __builtin_popcount((unsigned)v), abs(v)};
        v = all[i % 7];
        want_sum += (int64_t)v * p.off[i & 3] / (p.n + i);
        if (y[i] != v) fail_msg("y[%d] is %d, not %d", i, y[i], v);
        float want = p.a * (float)(i & 15) + (float)i + (float)(i & 7) + 1;
        if (f[i] != want) fail_msg("f[%d] is %g, not %g", i, (double)f[i], (double)want);
    }
    assert_true(sum == want_sum);
    uint64_t address;
    size_t bytes;
    unsigned char *host;
    int counter;
    assert_true(ptx_variable(module, "counter", &address, &bytes, &host));
    memcpy(&counter, host, sizeof counter);
    assert_int_equal(counter, N);
    ptx_free(module);
}

static double function(int i, double x) {
    switch (i) {
    case 0: return exp(x);
    case 1: return tanh(x);
    case 2: return erf(x);
    case 3: return log(fabs(x));
    case 4: return pow(fabs(x), (double)1.7f);
    case 5: return log1p(fabs(x));
    case 6: return 1 / (1 + exp(-x));
    case 7: return sqrt(fabs(x)) / (x + 20);
    default: return x;
    }
}

static void test_functions(void **state) {
    (void)state;
    enum { N = 500, FUNCTIONS = 10 };
    /* nvcc's functions promise 2 to 4 units in the last place, __expf less; halves are rounded to 11 and 8 bits. */
    static const double limit[FUNCTIONS] = {3e-7, 3e-7, 3e-7, 3e-7, 1e-6, 3e-7, 2e-6, 3e-7, 4.9e-4, 3.95e-3};
    static float x[N], y[N * FUNCTIONS];
    static unsigned char set[sizeof y];
    char error[512];
    for (int i = 0; i < N; ++i) x[i] = (float)(i - N / 2) * 0.037f + 0.01f;
    memory_t m = {.n = 0};
    struct {
        uint64_t x, y;
        int n;
    } p = {add(&m, x, sizeof x, NULL), add(&m, y, sizeof y, set), N};
    if (!run(text, "functions", (uint32_t[]){2, 1, 1}, (uint32_t[]){96, 1, 1}, &p, &m, 1, error))
        fail_msg("%s", error);
    for (int k = 0; k < FUNCTIONS; ++k)
        for (int i = 0; i < N; ++i) {
            double want = function(k, (double)x[i]), got = (double)y[k * N + i];
            if (!(fabs(got - want) <= limit[k] * fmax(fabs(want), 1e-3)))
                fail_msg("function %d of %g: %.9g, not %.9g", k, (double)x[i], got, want);
        }
}

/* What is broken, and words of the message ("": any); NULL: a wrong result. */
typedef struct {
    const char *what, *start, *from;
    int nth;
    const char *to;
    problem_fn *problem;
    const char *message;
} control_t;

static const control_t controls[] = {
    {"barrier removed from rowsum", ".entry rowsum", "bar.sync \t0;", 0, "", rowsum, ""},
    {"barrier removed from transpose", ".entry transpose", "bar.sync \t0;", 0, "", transpose, ""},
    {"first barrier removed from gemm", ".entry gemm", "bar.sync \t0;", 0, "", gemm, ""},
    {"second barrier removed from gemm", ".entry gemm", "bar.sync \t0;", 1, "", gemm, ""},
    {"divergent barrier", ".entry rowsum", "bar.sync \t0;", 0, "@%p8 bar.sync 0;", rowsum,
     "divergent barrier"},
    {"barrier that some threads do not reach", ".entry rowsum", "bar.sync \t0;", 0, "bar.sync 0, 288;",
     rowsum, "nobody else can come"},
    {"wait for copies removed", ".entry gemm", "cp.async.wait_group 0;", 0, "", gemm, "before the wait"},
    {"wait for too few copies", ".entry gemm", "cp.async.wait_group 1;", 0, "cp.async.wait_group 2;", gemm,
     "before the wait"},
    {"operands of mma exchanged", ".entry gemm", "{%r89,%r90,%r91,%r92},{", 0, "{%r89,%r91,%r90,%r92},{",
     gemm, NULL},
    {"mask that leaves lanes out", ".entry rowsum", "mov.u32 \t%r25, -1;", 0, "mov.u32 %r25, 65535;", rowsum,
     "leaves out the lane itself"},
    {"bound off by one", ".entry rowsum", "setp.lt.s32", 0, "setp.le.s32", rowsum, "are outside"},
    {"misaligned read", ".entry rowsum", "[%rd10];", 0, "[%rd10+2];", rowsum, "misaligned"},
};

static void test_controls(void **state) {
    (void)state;
    char error[512];
    for (size_t i = 0; i < sizeof controls / sizeof *controls; ++i) {
        const control_t *c = &controls[i];
        char *source = edited(c->start, c->from, c->nth, c->to);
        for (uint64_t seed = 0; seed < SEEDS; ++seed) {
            int got = c->problem(source, seed, error);
            if (c->message ? got != 2 || !strstr(error, c->message) : got != 1)
                fail_msg("%s, seed %d: %d, %s", c->what, (int)seed, got, error);
        }
        free(source);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rowsum), cmocka_unit_test(test_transpose), cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_mixed),  cmocka_unit_test(test_functions), cmocka_unit_test(test_controls),
    };
    return cmocka_run_group_tests(tests, read_text, free_text);
}
