/* The two engines of a test, and no block of far memory alive at its end. */
#ifndef TESTS_FAR_TWO_ENGINES_H
#define TESTS_FAR_TWO_ENGINES_H

#include "support/check.h"
#include "support/far_engine/far_engine.h"

static dnnl_tp_engine_t cpu, far;

static int setup(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_engine_create(&far, dnnl_tp_gpu, 0));
    return 0;
}
static int teardown(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_engine_destroy(cpu));
    CHECK_OK(dnnl_tp_engine_destroy(far));
    return far_report();
}

#endif
