/* Times a product of matrices on an asynchronous stream in four ways: wrong (without sync), with
 * dnnl_tp_sync_devices(), with events, and with a timed run. doc/sync_in_benchmarks.md reads its output. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dnnl_tp/dnnl_tp_threadpool.h"

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        dnnl_tp_status_t status_ = (call);                                                             \
        if (status_ != dnnl_tp_success) {                                                              \
            fprintf(stderr, "%s: %s: %s\n", #call, dnnl_tp_status2str(status_), dnnl_tp_last_error()); \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

enum { M = 384, N = 384, K = 384, RUNS = 50 };

int main(void) {
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    CHECK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    dnnl_tp_threadpool_t pool = NULL;
    if (dnnl_tp_version()->cpu_runtime != DNNL_TP_RUNTIME_SEQ) {
        CHECK(dnnl_tp_threadpool_create(&pool, NULL));
        CHECK(dnnl_tp_stream_attr_set_builtin_threadpool(attr, pool));
    }
    CHECK(dnnl_tp_stream_attr_set_async(attr, 1));
    CHECK(dnnl_tp_stream_create_v2(&stream, engine, dnnl_tp_stream_default_flags, attr));

    dnnl_tp_memory_desc_t a, b, c;
    dnnl_tp_dims_t dims_a = {M, K}, dims_b = {K, N}, dims_c = {M, N};
    CHECK(dnnl_tp_memory_desc_create_with_tag(&a, 2, dims_a, dnnl_tp_f32, dnnl_tp_ab));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&b, 2, dims_b, dnnl_tp_f32, dnnl_tp_ab));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&c, 2, dims_c, dnnl_tp_f32, dnnl_tp_ab));
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t matmul;
    CHECK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, a, b, NULL, c, NULL));
    CHECK(dnnl_tp_primitive_create(&matmul, pd));
    float *x = calloc(M * K, sizeof(*x)), *w = calloc(K * N, sizeof(*w)), *y = calloc(M * N, sizeof(*y));
    if (!x || !w || !y) return 1;
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_WEIGHTS, w}, {DNNL_TP_ARG_DST, y}};

    CHECK(dnnl_tp_primitive_execute_handles(matmul, stream, 3, args)); /* the first run is cold */
    CHECK(dnnl_tp_sync_devices(-1));

    /* 1. Wrong: the clock is read while the work is still queued. */
    double begin = now_us();
    for (int i = 0; i < RUNS; ++i) CHECK(dnnl_tp_primitive_execute_handles(matmul, stream, 3, args));
    double without = (now_us() - begin) / RUNS;
    CHECK(dnnl_tp_sync_devices(-1));

    /* 2. Right: everything submitted is done when the clock is read. */
    begin = now_us();
    for (int i = 0; i < RUNS; ++i) CHECK(dnnl_tp_primitive_execute_handles(matmul, stream, 3, args));
    CHECK(dnnl_tp_sync_devices(-1));
    double with = (now_us() - begin) / RUNS;

    /* 3. Each execution by itself, without waiting in between. */
    static dnnl_tp_event_t event[RUNS];
    for (int i = 0; i < RUNS; ++i) {
        CHECK(dnnl_tp_primitive_execute_handles(matmul, stream, 3, args));
        CHECK(dnnl_tp_stream_record_event(stream, &event[i]));
    }
    double each = 0;
    for (int i = 0; i < RUNS; ++i) {
        int64_t from, to;
        CHECK(dnnl_tp_event_wait(event[i], -1, NULL));
        CHECK(dnnl_tp_event_get_times(event[i], &from, &to));
        each += (double)(to - from) * 1e-3 / RUNS;
        dnnl_tp_event_destroy(event[i]);
    }

    /* 4. The same, done by the library. */
    dnnl_tp_timing_t t = {.struct_size = sizeof(t)};
    CHECK(dnnl_tp_primitive_timed_run(matmul, stream, 3, args, NULL, &t));

    printf("us per run of a %dx%dx%d product\n", M, N, K);
    printf("  without sync (wrong)   %9.2f\n", without);
    printf("  with sync_devices      %9.2f\n", with);
    printf("  mean of events         %9.2f\n", each);
    printf("  timed run: first %.2f, then of %d runs min %.2f, median %.2f, p90 %.2f, wall %.2f\n",
           (double)t.first_ns * 1e-3, t.warm_runs, (double)t.min_ns * 1e-3, (double)t.median_ns * 1e-3,
           (double)t.p90_ns * 1e-3, (double)t.wall_ns * 1e-3);

    free(x);
    free(w);
    free(y);
    dnnl_tp_primitive_destroy(matmul);
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(a);
    dnnl_tp_memory_desc_destroy(b);
    dnnl_tp_memory_desc_destroy(c);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_threadpool_destroy(pool);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
