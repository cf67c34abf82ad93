/* The fake driver's kernels: how they are loaded and launched, and what is found when they run. `test_gpu_fake_kernels FILE`
 * takes a fat binary of nvcc's with the kernels of fake_kernels.cu, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/fake_use.h"

static char *ptx;        /* fake_kernels.ptx */
static const char *path; /* of a fat binary; NULL: there is none */

static char *read_file(const char *name) {
    FILE *f = fopen(name, "rb");
    char *text = NULL;
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(f);
    rewind(f);
    if ((text = malloc(bytes + 1))) text[fread(text, 1, bytes, f)] = '\0';
    fclose(f);
    return text;
}

static dtp_cu_result_t load(dtp_cu_library_t *library, const void *code) {
    return cu->cuLibraryLoadData(library, code, NULL, NULL, 0, NULL, NULL, 0);
}

static dtp_cu_function_t get(dtp_cu_library_t library, const char *name) {
    dtp_cu_kernel_t kernel = NULL;
    dtp_cu_function_t function = NULL;
    OK(cu->cuLibraryGetKernel(&kernel, library, name));
    OK(cu->cuKernelGetFunction(&function, kernel));
    return function;
}

/* Launches with n threads in one block. */
static dtp_cu_result_t launch(dtp_cu_function_t f, unsigned n, dtp_cu_stream_t stream, void **params) {
    return cu->cuLaunchKernel(f, 1, 1, 1, n, 1, 1, 0, stream, params, NULL);
}

static dtp_cu_result_t put(dtp_cu_function_t f, dtp_cu_ptr_t at, float value, int n, dtp_cu_stream_t stream) {
    return launch(f, 32, stream, (void *[]){&at, &value, &n});
}

static dtp_cu_result_t add_step(dtp_cu_function_t f, dtp_cu_ptr_t at, int which, int n,
                                dtp_cu_stream_t stream) {
    return launch(f, 32, stream, (void *[]){&at, &which, &n});
}

/* ---- Loading ----------------------------------------------------------------------------------------- */

/* A fat binary as nvcc writes it, of n entries; the caller frees it. */
static char *make_fatbin(int n, const unsigned short *kinds, const unsigned long long *flags,
                         const char *const *texts) {
    enum { FILE_HEADER = 16, HEADER = 64 };
    size_t bytes = FILE_HEADER;
    for (int i = 0; i < n; ++i) bytes += HEADER + (strlen(texts[i]) + 8) / 8 * 8;
    char *fatbin = calloc(1, bytes), *at = fatbin + FILE_HEADER;
    assert_non_null(fatbin);
    const unsigned magic = 0xba55ed50;
    const unsigned short version = 1, header = FILE_HEADER;
    const unsigned long long body = bytes - FILE_HEADER;
    memcpy(fatbin, &magic, 4);
    memcpy(fatbin + 4, &version, 2);
    memcpy(fatbin + 6, &header, 2);
    memcpy(fatbin + 8, &body, 8);
    for (int i = 0; i < n; ++i) {
        const unsigned header_bytes = HEADER;
        const unsigned long long entry_bytes = (strlen(texts[i]) + 8) / 8 * 8;
        memcpy(at, &kinds[i], 2);
        memcpy(at + 4, &header_bytes, 4);
        memcpy(at + 8, &entry_bytes, 8);
        memcpy(at + 40, &flags[i], 8);
        memcpy(at + HEADER, texts[i], strlen(texts[i]));
        at += HEADER + entry_bytes;
    }
    return fatbin;
}

#define HEAD(arch) ".version 9.0\n.target " arch "\n.address_size 64\n"
#define KERNEL(name) ".visible .entry " name "()\n{\n ret;\n}\n"

/* Which of the kernels of a fat binary with texts for several architectures does a device get? */
static dtp_cu_result_t finds(int major, int minor, const char *name) {
    static const char *const texts[] = {"\177ELF", HEAD("sm_80") KERNEL("k80"), HEAD("sm_90") KERNEL("k90"),
                                        HEAD("sm_90a") KERNEL("k90a")};
    char *fatbin =
        make_fatbin(4, (const unsigned short[]){2, 1, 1, 1}, (const unsigned long long[4]){0}, texts);
    fake_cuda_reset();
    cu = fake_cuda_table();
    fake_cuda_set_devices(1, major, minor);
    OK(cu->cuInit(0));
    dtp_cu_library_t library;
    dtp_cu_kernel_t kernel;
    OK(load(&library, fatbin));
    const dtp_cu_result_t result = cu->cuLibraryGetKernel(&kernel, library, name);
    OK(cu->cuLibraryUnload(library));
    assert_int_equal(0, fake_cuda_report(stderr));
    free(fatbin);
    return result;
}

static void chooses_the_architecture(void **state) {
    (void)state;
    OK(finds(8, 0, "k80"));
    OK(finds(8, 9, "k80"));
    FAILS(DTP_CU_NOT_FOUND, finds(8, 9, "k90"));
    OK(finds(9, 0, "k90a"));
    OK(finds(10, 0, "k90"));
    FAILS(DTP_CU_NO_BINARY_FOR_GPU, finds(7, 5, "k80"));
}

static void refused_images(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    static const struct {
        unsigned short kind;
        unsigned long long flags;
        const char *text, *told;
    } rows[] = {
        {2, 0, "\177ELF",
         "cuLibraryLoadData: the fat binary holds no PTX text; compile with code=compute_80, too"},
        {1, 0x8011, "x",
         "cuLibraryLoadData: the PTX text in the fat binary cannot be decompressed: it is damaged"},
        {1, 0x2011, "x",
         "cuLibraryLoadData: the PTX text in the fat binary cannot be decompressed: it is in LZ4"},
    };
    dtp_cu_library_t library;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        char *fatbin = make_fatbin(1, &rows[i].kind, &rows[i].flags, &rows[i].text);
        FAILS(DTP_CU_INVALID_IMAGE, load(&library, fatbin));
        assert_string_equal(rows[i].told, fake_cuda_trap());
        free(fatbin);
    }
    FAILS(DTP_CU_INVALID_IMAGE, load(&library, "MZ is no image"));
    OK(load(&library, HEAD("sm_80") ".visible .entry k()\n{\n frobnicate.f32 %f1;\n}\n"));
    dtp_cu_kernel_t kernel;
    FAILS(DTP_CU_INVALID_IMAGE, cu->cuLibraryGetKernel(&kernel, library, "k"));
    assert_non_null(strstr(fake_cuda_trap(), "frobnicate"));
    OK(cu->cuLibraryUnload(library));
    OK(load(&library, ptx));
    FAILS(DTP_CU_NOT_FOUND, cu->cuLibraryGetKernel(&kernel, library, "none"));
    OK(cu->cuLibraryUnload(library));
    FAILS(DTP_CU_INVALID_HANDLE, cu->cuLibraryUnload(library));
    use_release(&u, DTP_CU_SUCCESS);
    assert_int_equal(1, fake_cuda_report(NULL));
}

static void unloaded_early(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_library_t library;
    OK(load(&library, ptx));
    const dtp_cu_function_t f = get(library, "put");
    const dtp_cu_ptr_t at = use_alloc(&u, 4, 0);
    fake_cuda_hold(true);
    OK(put(f, at, 1, 1, u.stream[0]));
    OK(cu->cuLibraryUnload(library));
    assert_string_equal("a library is unloaded, and a launch of its kernel put is enqueued",
                        fake_cuda_trap());
    FAILS(DTP_CU_INVALID_HANDLE, put(f, at, 1, 1, u.stream[0]));
    fake_cuda_hold(false);
    OK(cu->cuMemFreeAsync(at, u.stream[0]));
    use_release(&u, DTP_CU_SUCCESS);
    assert_int_equal(2, fake_cuda_report(NULL));
}

/* ---- Launching --------------------------------------------------------------------------------------- */

/* Loads code, runs some of its kernels, and compares. */
static void run_all(const void *code) {
    use_t u;
    use_begin(&u);
    dtp_cu_library_t library;
    OK(load(&library, code));
    float y[70];
    int launches = -1, n = 70;
    const dtp_cu_ptr_t at = use_alloc(&u, sizeof y, 0), number = use_alloc(&u, sizeof launches, 0);
    float one = 1;
    OK(cu->cuLaunchKernel(get(library, "put"), 3, 1, 1, 32, 1, 1, 0, u.stream[0],
                          (void *[]){(void *)&at, &one, &n}, NULL));
    for (int which = 0; which < 2; ++which)
        OK(cu->cuLaunchKernel(get(library, "add_step"), 3, 1, 1, 32, 1, 1, 0, u.stream[0],
                              (void *[]){(void *)&at, &which, &n}, NULL)); /* which is copied by the call */
    OK(launch(get(library, "count"), 1, u.stream[0], (void *[]){(void *)&number}));
    OK(cu->cuMemcpyDtoHAsync(y, at, sizeof y, u.stream[0]));
    OK(cu->cuMemcpyDtoHAsync(&launches, number, sizeof launches, u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    for (int i = 0; i < n; ++i) assert_true(y[i] == 4);
    assert_int_equal(2, launches);
    assert_int_equal(4, fake_cuda_stats().launches);
    OK(cu->cuMemFreeAsync(at, u.stream[0]));
    OK(cu->cuMemFreeAsync(number, u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuLibraryUnload(library));
    use_end(&u);
}

static void runs(void **state) {
    (void)state;
    run_all(ptx);
}

static void runs_what_nvcc_wrote(void **state) {
    (void)state;
    if (!path) skip();
    char *fatbin = read_file(path);
    assert_non_null(fatbin);
    run_all(fatbin);
    free(fatbin);
}

/* A kernel reads and writes pinned memory through its address for the device. */
static void mapped_memory(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_library_t library;
    OK(load(&library, ptx));
    float *host;
    dtp_cu_ptr_t at;
    OK(cu->cuMemHostAlloc((void **)&host, 32 * sizeof *host, DTP_CU_HOST_MAPPED));
    OK(cu->cuMemHostGetDevicePointer(&at, host, 0));
    for (int i = 0; i < 32; ++i) host[i] = (float)i;
    OK(add_step(get(library, "add_step"), at, 1, 32, u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    for (int i = 0; i < 32; ++i) assert_true(host[i] == (float)(i + 2));
    OK(cu->cuMemFreeHost(host));
    OK(cu->cuLibraryUnload(library));
    use_end(&u);
}

static void parameters(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_library_t library;
    OK(load(&library, ptx));
    const dtp_cu_function_t f = get(library, "pack");
    double back = 0;
    struct {
        dtp_cu_ptr_t y;
        signed char a;
        double b;
        short c;
    } args = {use_alloc(&u, 8, 0), -1, 0.5, 100};
    size_t bytes = sizeof args;
    void *extra[] = {(void *)DTP_CU_LAUNCH_PARAM_BUFFER, &args, (void *)DTP_CU_LAUNCH_PARAM_BYTES, &bytes,
                     (void *)DTP_CU_LAUNCH_PARAM_END};
    void *params[] = {&args.y, &args.a, &args.b, &args.c};
    OK(cu->cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, u.stream[0], NULL, extra));
    OK(cu->cuMemcpyDtoHAsync(&back, args.y, 8, u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    assert_true(back == 99.5);
    args.c = 7;
    OK(launch(f, 1, u.stream[0], params));
    OK(cu->cuMemcpyDtoHAsync(&back, args.y, 8, u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    assert_true(back == 6.5);
    FAILS(DTP_CU_INVALID_VALUE, cu->cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, u.stream[0], params, extra));
    FAILS(DTP_CU_INVALID_VALUE, launch(f, 1, u.stream[0], NULL));
    for (bytes = 8; bytes < 26; ++bytes)
        FAILS(DTP_CU_INVALID_VALUE, cu->cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, u.stream[0], NULL, extra));
    assert_string_equal("cuLaunchKernel: pack: extra has fewer bytes than the parameters", fake_cuda_trap());
    bytes = 64;
    FAILS(DTP_CU_INVALID_VALUE, cu->cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, u.stream[0], NULL, extra));
    OK(cu->cuMemFreeAsync(args.y, u.stream[0]));
    OK(cu->cuLibraryUnload(library));
    use_end(&u);
}

static void shapes(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_library_t library;
    OK(load(&library, ptx));
    const dtp_cu_function_t f = get(library, "turn");
    static const struct {
        unsigned grid[3], block[3], shared;
        dtp_cu_result_t result;
    } rows[] = {
        {{1, 1, 1}, {64, 1, 1}, 256, DTP_CU_SUCCESS},
        {{1, 1, 1}, {65, 1, 1}, 512, DTP_CU_INVALID_VALUE}, /* __launch_bounds__ */
        {{1, 1, 1}, {64, 1, 1}, 48 << 10, DTP_CU_SUCCESS},
        {{1, 1, 1}, {64, 1, 1}, (48 << 10) + 1, DTP_CU_INVALID_VALUE},
        {{0, 1, 1}, {64, 1, 1}, 256, DTP_CU_INVALID_VALUE},
        {{1, 65536, 1}, {64, 1, 1}, 256, DTP_CU_INVALID_VALUE},
        {{1, 1, 1}, {1, 1, 65}, 256, DTP_CU_INVALID_VALUE},
        {{1, 1, 1}, {64, 0, 1}, 256, DTP_CU_INVALID_VALUE},
    };
    float y[64], back[64];
    for (int i = 0; i < 64; ++i) y[i] = (float)i;
    dtp_cu_ptr_t at = use_alloc(&u, sizeof y, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const unsigned *g = rows[i].grid, *b = rows[i].block;
        OK(cu->cuMemcpyHtoDAsync(at, y, sizeof y, u.stream[0]));
        FAILS(rows[i].result, cu->cuLaunchKernel(f, g[0], g[1], g[2], b[0], b[1], b[2], rows[i].shared,
                                                 u.stream[0], (void *[]){&at}, NULL));
        OK(cu->cuMemcpyDtoHAsync(back, at, sizeof back, u.stream[0]));
        OK(cu->cuStreamSynchronize(u.stream[0]));
        assert_true(back[0] == (rows[i].result ? 0 : 63));
    }
    const int most = 227 << 10;
    FAILS(DTP_CU_INVALID_VALUE, cu->cuFuncSetAttribute(f, DTP_CU_FUNC_MAX_DYNAMIC_SHARED, most + 1));
    OK(cu->cuFuncSetAttribute(f, DTP_CU_FUNC_MAX_DYNAMIC_SHARED, most));
    OK(cu->cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, (unsigned)most, u.stream[0], (void *[]){&at}, NULL));
    OK(cu->cuMemFreeAsync(at, u.stream[0]));
    OK(cu->cuStreamSynchronize(u.stream[0]));
    OK(cu->cuLibraryUnload(library));
    use_end(&u);
}

/* ---- What is found when kernels run ------------------------------------------------------------------ */

typedef enum {
    RIGHT,
    BEYOND,
    MISALIGNED,
    UNSET,
    FREED,
    BADLY_FREED_POINTER,
    NO_WAIT,
    RACE_READ,
    RACE_WRITE,
    RACE_OVERWRITE,
    MISTAKES
} mistake_t;

static void count_call(void *arg) { ++*(int *)arg; }

/* A program with one mistake; what its last wait answers. */
static dtp_cu_result_t make(mistake_t mistake, int seed) {
    use_t u;
    use_begin(&u);
    fake_cuda_set_seed((uint64_t)seed);
    fake_cuda_set_delay(-1);
    dtp_cu_library_t library;
    OK(load(&library, ptx));
    const dtp_cu_function_t fill = get(library, "put"), add = get(library, "add_step"),
                            follow = get(library, "follow");
    int calls = 0;
    dtp_cu_ptr_t a = use_alloc(&u, 64, 0), b = use_alloc(&u, 64, 0);
    OK(cu->cuMemcpyHtoDAsync(b, &a, sizeof a, u.stream[0]));
    if (mistake != NO_WAIT) use_order(&u, 0, 1);
    if (mistake == BADLY_FREED_POINTER) OK(cu->cuMemFreeAsync(a, u.stream[0]));
    if (mistake == FREED) OK(cu->cuMemFreeAsync(b, u.stream[0]));
    OK(launch(follow, 1, u.stream[0], (void *[]){&b}));
    if (mistake != UNSET && mistake != BADLY_FREED_POINTER)
        OK(put(fill, mistake == MISALIGNED ? a + 2 : a, 1, mistake == BEYOND ? 17 : 15, u.stream[0]));
    if (mistake < NO_WAIT) use_order(&u, 0, 1);
    if (mistake == RACE_OVERWRITE) OK(cu->cuMemsetD8Async(b, 0, 8, u.stream[1])); /* which follow reads */
    else if (mistake == RACE_WRITE) OK(put(fill, a, 2, 15, u.stream[1]));
    else if (mistake != BADLY_FREED_POINTER) OK(add_step(add, a, 1, 15, u.stream[1]));
    OK(cu->cuLaunchHostFunc(u.stream[1], count_call, &calls));
    use_order(&u, 1, 0);
    const dtp_cu_result_t result = cu->cuStreamSynchronize(u.stream[0]);
    fake_cuda_drain();
    if (mistake < NO_WAIT) assert_int_equal(result ? 0 : 1, calls); /* else it may come before the mistake */
    if (mistake != BADLY_FREED_POINTER) FAILS(result, cu->cuMemFreeAsync(a, u.stream[0]));
    if (mistake != FREED) FAILS(result, cu->cuMemFreeAsync(b, u.stream[0]));
    FAILS(result, cu->cuLibraryUnload(library));
    use_release(&u, result);
    assert_int_equal(0, fake_cuda_report(stderr));
    return result;
}

static void mistakes(void **state) {
    (void)state;
    static const dtp_cu_result_t results[MISTAKES] = {
        [RACE_OVERWRITE] = DTP_CU_LAUNCH_FAILED,
        [BEYOND] = DTP_CU_ILLEGAL_ADDRESS,
        [MISALIGNED] = DTP_CU_MISALIGNED_ADDRESS,
        [UNSET] = DTP_CU_LAUNCH_FAILED,
        [FREED] = DTP_CU_ILLEGAL_ADDRESS,
        [NO_WAIT] = DTP_CU_ILLEGAL_ADDRESS,
        [RACE_READ] = DTP_CU_LAUNCH_FAILED,
        [RACE_WRITE] = DTP_CU_LAUNCH_FAILED,
        [BADLY_FREED_POINTER] = DTP_CU_ILLEGAL_ADDRESS,
    };
    for (mistake_t mistake = RIGHT; mistake < MISTAKES; ++mistake)
        for (int seed = 0; seed < 8; ++seed) {
            FAILS(results[mistake], make(mistake, seed));
            assert_int_equal(results[mistake] == DTP_CU_SUCCESS, !*fake_cuda_trap());
        }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_the_architecture),
        cmocka_unit_test(refused_images),
        cmocka_unit_test(unloaded_early),
        cmocka_unit_test(runs),
        cmocka_unit_test(runs_what_nvcc_wrote),
        cmocka_unit_test(mapped_memory),
        cmocka_unit_test(parameters),
        cmocka_unit_test(shapes),
        cmocka_unit_test(mistakes),
    };
    path = argc > 1 ? argv[1] : NULL;
    ptx = read_file(FAKE_KERNELS_PTX);
    if (!ptx) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(ptx);
    return failed;
}
