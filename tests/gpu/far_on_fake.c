/* The CUDA engine on the fake driver where tests of a far engine (support/far_engine/far_engine.h) expect one: two devices, the
 * default delays; what is left at the end of the program fails it. With FAKE_CUBLASLT in the environment there is a cuBLASLt. */
#include "support/far_engine/far_engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu/driver/cu_api.h"
#include "gpu/driver/lt_api.h"
#include "gpu/fake/fake_lt.h"

static void end_of_program(void) {
    if (fake_cuda_report(stderr)) _exit(1);
}

__attribute__((constructor)) static void install(void) {
    if (getenv("DNNL_TP_TEST_REAL_GPU")) return;
    fake_cuda_set_devices(FAR_DEVICES, 9, 0);
    const char *seed = getenv("DNNL_TP_TEST_SEED");
    if (seed) fake_cuda_set_seed(strtoull(seed, NULL, 0));
    dtp_cu_set_for_test(fake_cuda_table());
    if (getenv("FAKE_CUBLASLT")) dtp_lt_set_for_test(fake_lt_table());
    atexit(end_of_program);
}

const far_traits_t far_traits = {.name = "cuda"};
bool far_agrees(const float *x, const float *want, size_t n, float tolerance) {
    for (size_t i = 0; i < n; ++i)
        if (!(fabsf(x[i] - want[i]) <= tolerance * (1 + fabsf(want[i])))) return false;
    return true;
}

void far_set_delay(int max_us) { fake_cuda_set_delay(max_us); }
bool far_fail_alloc(int64_t n) { return fake_cuda_fail(n, DTP_CU_OUT_OF_MEMORY); }
bool far_fail_item(int64_t n) { return fake_cuda_fail_item(n, DTP_CU_ILLEGAL_ADDRESS); }
void far_fuse(bool can) { (void)can; } /* it can */
far_stats_t far_stats(void) {
    const fake_cuda_stats_t s = fake_cuda_stats();
    return (far_stats_t){s.blocks, (int64_t)s.bytes, s.launches, s.copies};
}
int far_report(void) { return fake_cuda_report(stderr); }
void far_check(void) {} /* the driver looks at every access */
