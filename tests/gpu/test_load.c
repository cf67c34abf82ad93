/* How the driver and cuBLASLt are found (src/gpu/driver). The process is told by `--child WHAT` what to expect, in an environment
 * that its parent made: with the fake libcuda.so.1 on the path, or without, too old, or lacking a call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "gpu/driver/cu_api.h"
#include "gpu/driver/lt_api.h"

static const char *program;

/* Runs this program as `<child> expected`, with these variables (name, value, ..., NULL; a NULL value unsets). */
static int run(const char *child, const char *expected, const char *const *variables) {
    const pid_t pid = fork();
    if (pid == 0) {
        unsetenv("LD_LIBRARY_PATH");
        for (; *variables; variables += 2)
            if (variables[1]) setenv(variables[0], variables[1], 1);
            else unsetenv(variables[0]);
        execl(program, program, child, expected, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_true(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int run_child(const char *expected, const char *const *variables) {
    return run("--child", expected, variables);
}

/* Does the child of a fork get nothing, and a reason? */
static int fork_is_refused(void) {
    const pid_t pid = fork();
    if (pid == 0) _exit(dtp_cu() == NULL && strstr(dtp_cu_reason(), "fork") ? 0 : 1);
    int status = 1;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* "works", or a part of the reason why there is no driver. */
static int be_child(const char *expected) {
    const dtp_cu_t *cu = dtp_cu();
    printf("%s: %s\n", expected, cu ? "works" : dtp_cu_reason());
    if (strcmp(expected, "works") != 0) return cu || !strstr(dtp_cu_reason(), expected);
    int count = 0;
    char text[128];
    if (!cu || *dtp_cu_reason() || cu->cuDeviceGetCount(&count) || count != 1) return 1;
    if (strcmp(dtp_cu_text(DTP_CU_ILLEGAL_ADDRESS, text, sizeof text),
               "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered") != 0)
        return 2;
    return fork_is_refused() ? 0 : 3;
}

/* The same of cuBLASLt. */
static int be_lt_child(const char *expected) {
    const dtp_lt_t *lt = dtp_cu() ? dtp_lt() : NULL;
    printf("cuBLASLt, %s: %s\n", expected, lt ? "works" : dtp_lt_reason());
    if (strcmp(expected, "works") != 0) return lt || !strstr(dtp_lt_reason(), expected);
    return !lt || *dtp_lt_reason() || lt->cublasLtGetVersion() / DTP_LT_VERSION_OF_MAJOR != DTP_LT_MAJOR;
}

static void finds(void **state) {
    (void)state;
    assert_int_equal(0, run_child("works", (const char *[]){"LD_LIBRARY_PATH", FAKE_LIBCUDA, NULL}));
    assert_int_equal(0, run_child("works", (const char *[]){"DNNL_TP_CUDA_PATH", FAKE_LIBCUDA, NULL}));
    /* A folder without it does no harm. */
    assert_int_equal(0, run_child("works", (const char *[]){"DNNL_TP_CUDA_PATH", "/nowhere",
                                                            "LD_LIBRARY_PATH", FAKE_LIBCUDA, NULL}));
}

static void tells_why_not(void **state) {
    (void)state;
    static const struct {
        const char *variable, *value, *reason;
    } rows[] = {
        {"FAKE_CUDA_DRIVER", "12020", "the driver is of CUDA 12.2, needed is 13.0"},
        {"FAKE_CUDA_DEVICES", "0",
         "cuInit fails with CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"},
        {"FAKE_CUDA_LACKS", "cuLaunchHostFunc", "the driver lacks cuLaunchHostFunc"},
        {"FAKE_CUDA_LACKS", "cuInit", "the driver lacks cuInit"},
        {"FAKE_CUDA_LACKS", "cuDriverGetVersion", "the driver lacks cuDriverGetVersion"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        assert_int_equal(0,
                         run_child(rows[i].reason, (const char *[]){"LD_LIBRARY_PATH", FAKE_LIBCUDA,
                                                                    rows[i].variable, rows[i].value, NULL}));
}

static int has_driver(void) {
    return run_child("works", (const char *[]){"DNNL_TP_CUDA_PATH", NULL, NULL}) != 1;
}

/* A machine that has a driver finds it. */
static void none(void **state) {
    (void)state;
    if (has_driver()) skip();
    assert_int_equal(
        0, run_child("libcuda.so.1 is not installed", (const char *[]){"DNNL_TP_CUDA_PATH", NULL, NULL}));
}

/* A file that is no library is told, where there is nothing else; where there is, it is passed over. */
static void broken_library(void **state) {
    (void)state;
    char folder[] = "/tmp/test_load_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < 100; ++i) fputs("no library\n", f);
    fclose(f);
    const int works = run_child(
        "works", (const char *[]){"DNNL_TP_CUDA_PATH", folder, "LD_LIBRARY_PATH", FAKE_LIBCUDA, NULL});
    const int tells =
        run_child("libcuda.so.1 cannot be loaded: ", (const char *[]){"DNNL_TP_CUDA_PATH", folder, NULL});
    unlink(path);
    rmdir(folder);
    assert_int_equal(0, works);
    assert_int_equal(0, has_driver() ? 0 : tells);
}

static void finds_cublaslt(void **state) {
    (void)state;
    static const char both[] = FAKE_LIBCUDA ":" FAKE_LIBCUBLASLT,
                      old[] = FAKE_LIBCUDA ":" FAKE_LIBCUBLASLT "_old",
                      lacking[] = FAKE_LIBCUDA ":" FAKE_LIBCUBLASLT "_lacking";
    static const struct {
        const char *expected, *path, *variable, *value;
    } rows[] = {
        {"works", both, NULL, NULL},
        {"works", FAKE_LIBCUDA, "DNNL_TP_CUDA_PATH", FAKE_LIBCUBLASLT},
        {"works", both, "DNNL_TP_CUBLASLT", "1"},
        {"it is switched off by DNNL_TP_CUBLASLT=0", both, "DNNL_TP_CUBLASLT", "0"},
        {"cuBLASLt is of version 120900, needed is 13.x", old, NULL, NULL},
        {"libcublasLt.so.13 lacks cublasLtGetStatusName, cublasLtGetStatusString, cublasLtCreate,", lacking,
         NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        assert_int_equal(
            0, run("--child-lt", rows[i].expected,
                   (const char *[]){"LD_LIBRARY_PATH", rows[i].path, rows[i].variable, rows[i].value, NULL}));
}

/* A machine that has cuBLASLt finds it. */
static void no_cublaslt(void **state) {
    (void)state;
    if (access("/usr/local/cuda/lib64/libcublasLt.so.13", F_OK) == 0) skip();
    assert_int_equal(0, run("--child-lt", "libcublasLt.so.13 is not installed",
                            (const char *[]){"LD_LIBRARY_PATH", FAKE_LIBCUDA, NULL}));
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "--child-lt")) return be_lt_child(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "--child")) return be_child(argv[2]);
    program = argv[0];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds),          cmocka_unit_test(tells_why_not),  cmocka_unit_test(none),
        cmocka_unit_test(broken_library), cmocka_unit_test(finds_cublaslt), cmocka_unit_test(no_cublaslt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
