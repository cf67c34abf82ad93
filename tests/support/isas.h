/* The instruction sets that this processor has, for tests of what stands below engines. */
#ifndef TESTS_SUPPORT_ISAS_H
#define TESTS_SUPPORT_ISAS_H

#include "common/primitive/engine.h"

enum { TEST_ISAS = 3 };
/* DTP_ISA_* bits, 0 = portable code first; returns their number. */
static inline int test_isas(unsigned isa[TEST_ISAS]) {
    int n = 0;
    isa[n++] = 0;
#if DTP_X64
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) isa[n++] = DTP_ISA_AVX2;
    if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) isa[n++] = DTP_ISA_AVX512;
#endif
    return n;
}

#endif
