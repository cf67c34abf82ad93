/* Runs of products by cuBLASLt on the fake one: failures, streams and threads. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "gpu/driver/cu_api.h"
#include "gpu/driver/lt_api.h"
#include "gpu/fake/fake_lt.h"
#include "gpu/lt_product.h"
#include "support/upload.h"

/* ---- Failures ------------------------------------------------------------------------------------------- */

static void finds_nothing(void **state) {
    (void)state;
    fake_lt_find_nothing(true);
    lt_check(&lt_usual, 0, "cuda:mma");
    fake_lt_find_nothing(false);
    lt_check(&lt_usual, 0, lt_impl_name);
}

/* Each call of the library fails once: others serve the problem; or there is no memory, or the execution fails, and the next one does
 * not. */
static void each_call_may_fail(void **state) {
    (void)state;
    static const dtp_lt_status_t statuses[] = {DTP_LT_NOT_SUPPORTED, DTP_LT_ALLOC_FAILED,
                                               DTP_LT_INTERNAL_ERROR};
    for (int i = 0; i < 3; ++i) {
        int described = 0, executed = 0;
        bool fails = true;
        for (int64_t k = 0; fails; ++k) {
            CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
            lt_product_t q = {.primitive = NULL};
            lt_fill_tensors(&q, &lt_usual, 0);
            (void)fake_lt_fail(k, statuses[i]);
            const bool memory = statuses[i] == DTP_LT_ALLOC_FAILED;
            dnnl_tp_status_t status = lt_describe(&q, &lt_usual);
            if (status) {
                CHECK_STATUS(memory ? status : dnnl_tp_success, dnnl_tp_out_of_memory);
                CHECK_OK(dnnl_tp_primitive_attr_destroy(q.attr));
                CHECK_OK(lt_describe(&q, &lt_usual));
            } else {
                status = dnnl_tp_primitive_create(&q.primitive, q.pd);
                if (status) CHECK_STATUS(memory ? status : dnnl_tp_success, dnnl_tp_out_of_memory);
            }
            if (!q.primitive) CHECK_OK(dnnl_tp_primitive_create(&q.primitive, q.pd));
            described += status != 0 || strcmp(q.primitive->pd->impl->name, lt_impl_name) != 0;
            lt_upload_tensors(&q);
            dnnl_tp_stream_t s = gpu_stream();
            status = lt_submit(&q, &lt_usual, s);
            if (status) {
                ++executed;
                CHECK_STATUS(status, memory ? dnnl_tp_out_of_memory : dnnl_tp_runtime_error);
                assert_non_null(strstr(dnnl_tp_last_error(), "cublasLtMatmul: CUBLAS_STATUS_"));
                CHECK_OK(lt_submit(&q, &lt_usual, s));
            }
            CHECK_OK(dnnl_tp_stream_wait(s));
            lt_check_values(&q, &lt_usual);
            CHECK_OK(dnnl_tp_stream_destroy(s));
            lt_end(&q);
            fails = !fake_lt_fail(-1, 0);
            if (k > 0) continue;
            /* What the handle failed with is kept; a device that is opened anew asks again. */
            CHECK_OK(dnnl_tp_engine_destroy(gpu));
            CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
        }
        assert_true(described > 20);
        assert_int_equal(2, executed);
    }
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(1024));
}

/* Each call of the driver fails once. */
static dnnl_tp_status_t program(void) {
    lt_product_t q = {.primitive = NULL};
    dnnl_tp_stream_t s = NULL;
    lt_fill_tensors(&q, &lt_usual, 0);
    dnnl_tp_status_t status = dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0);
    if (!status) status = lt_describe(&q, &lt_usual);
    if (!status) status = dnnl_tp_primitive_create(&q.primitive, q.pd);
    if (!status) status = dnnl_tp_stream_create(&s, gpu, 0);
    for (int i = 0; i < TENSORS && !status; ++i) {
        void *mapped;
        status = dnnl_tp_memory_create(&q.memory[i], &q.tensor[i].md, gpu, DNNL_TP_MEMORY_ALLOCATE);
        if (!status) status = dnnl_tp_memory_map_data(q.memory[i], &mapped);
        if (status) break;
        memcpy(mapped, q.tensor[i].data, dtp_md_size(&q.tensor[i].md));
        status = dnnl_tp_memory_unmap_data(q.memory[i], mapped);
        if (status && dnnl_tp_memory_unmap_data(q.memory[i], mapped)) break;
    }
    if (!status) status = lt_submit(&q, &lt_usual, s);
    if (!status) status = dnnl_tp_stream_wait(s);
    dnnl_tp_stream_destroy(s);
    for (int i = 0; i < TENSORS; ++i) {
        dnnl_tp_memory_destroy(q.memory[i]);
        tensor_free(&q.tensor[i]);
    }
    dnnl_tp_primitive_destroy(q.primitive);
    dnnl_tp_primitive_desc_destroy(q.pd);
    dnnl_tp_primitive_attr_destroy(q.attr);
    dnnl_tp_engine_destroy(gpu);
    gpu = NULL;
    return status;
}

static void each_call_of_the_driver_may_fail(void **state) {
    (void)state;
    static const dtp_cu_result_t results[] = {DTP_CU_OUT_OF_MEMORY, DTP_CU_ILLEGAL_ADDRESS};
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    for (int r = 0; r < 2; ++r)
        for (int64_t k = 0;; ++k) {
            fake_cuda_reset();
            dtp_cu_set_for_test(fake_cuda_table());
            (void)fake_cuda_fail(k, results[r]);
            (void)program();
            const bool all = fake_cuda_fail(-1, 0);
            if (fake_cuda_report(stderr))
                fail_msg("call %d failing with %d: something is left", (int)k, results[r]);
            if (all) break;
        }
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(1024));
    (void)lt_setup(state);
}

/* What the device finds is told by later calls, as it is of kernels. */
static void tells_what_the_device_found(void **state) {
    (void)state;
    lt_product_t q = lt_begin(&lt_usual, 0);
    dnnl_tp_stream_t s = gpu_stream();
    fake_cuda_drain();
    fake_cuda_hold(true);
    (void)fake_cuda_fail_item(0, DTP_CU_ILLEGAL_ADDRESS);
    CHECK_OK(lt_submit(&q, &lt_usual, s));
    fake_cuda_hold(false);
    CHECK_STATUS(dnnl_tp_stream_wait(s), dnnl_tp_runtime_error);
    assert_non_null(strstr(dnnl_tp_last_error(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    CHECK_STATUS(lt_submit(&q, &lt_usual, s), dnnl_tp_runtime_error);
    assert_non_null(strstr(dnnl_tp_last_error(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    (void)dnnl_tp_stream_destroy(s);
    lt_end(&q);
}

/* ---- Streams and threads -------------------------------------------------------------------------------- */

/* A product that another stream does not wait for is found, as kernels are. */
static void streams_are_ordered(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
        fake_cuda_set_seed(seed);
        lt_product_t q = lt_begin(&lt_usual, 0);
        dnnl_tp_stream_t s = gpu_stream(), t = gpu_stream();
        dnnl_tp_event_t event;
        CHECK_OK(lt_submit(&q, &lt_usual, s));
        CHECK_OK(dnnl_tp_stream_record_event(s, &event));
        CHECK_OK(dnnl_tp_stream_wait_event(t, event));
        CHECK_OK(lt_submit(&q, &lt_usual, t));
        CHECK_OK(dnnl_tp_stream_wait(t));
        CHECK_OK(dnnl_tp_event_destroy(event));
        lt_check_values(&q, &lt_usual);
        CHECK_OK(dnnl_tp_stream_destroy(s));
        CHECK_OK(dnnl_tp_stream_destroy(t));
        lt_end(&q);
    }
}

static void missing_waits_are_found(void **state) {
    (void)state;
    lt_product_t q = lt_begin(&lt_usual, 0);
    dnnl_tp_stream_t s = gpu_stream(), t = gpu_stream();
    fake_cuda_hold(true);
    CHECK_OK(lt_submit(&q, &lt_usual, s));
    CHECK_OK(lt_submit(&q, &lt_usual, t));
    fake_cuda_hold(false);
    const dnnl_tp_status_t one = dnnl_tp_stream_wait(s), other = dnnl_tp_stream_wait(t);
    assert_true(one || other);
    assert_non_null(strstr(fake_cuda_trap(), "a product overwrites what another stream"));
    (void)dnnl_tp_stream_destroy(s);
    (void)dnnl_tp_stream_destroy(t);
    lt_end(&q);
}

/* One execution of the usual problem; bias: its value, 0 = as it was filled. */
static void run_usual(dnnl_tp_stream_t s, int bias) {
    lt_product_t q = lt_begin(&lt_usual, 0);
    tensor_t *t = &q.tensor[BIA];
    for (int64_t pos[2] = {0, 0}; bias && pos[1] < lt_usual.n; ++pos[1]) tensor_set(t, pos, bias);
    if (bias) test_upload(q.memory[BIA], t->data, dtp_md_size(&t->md));
    CHECK_OK(lt_submit(&q, &lt_usual, s));
    CHECK_OK(dnnl_tp_stream_wait(s));
    lt_check_values(&q, &lt_usual);
    lt_end(&q);
}

enum { THREADS = 4, ROUNDS = 20 };
static void *create_and_run(void *arg) {
    (void)arg;
    dnnl_tp_stream_t s = gpu_stream();
    for (int i = 0; i < ROUNDS; ++i) run_usual(s, 0);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    return NULL;
}

/* One primitive of the cache, with a bias of its own for each thread. */
static void threads_share_a_primitive(void **state) {
    (void)state;
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(0, pthread_create(&thread[i], NULL, create_and_run, NULL));
    for (int i = 0; i < THREADS; ++i) assert_int_equal(0, pthread_join(thread[i], NULL));
    assert_int_equal(1, fake_cuda_stats().lt_handles);
}

/* Two executions of one primitive, each with a bias of its own, stand in the library's call at the same time. */
static pthread_barrier_t both_are_there;
static const dtp_lt_t *real;
static dtp_lt_status_t meets(dtp_lt_handle_t lt, dtp_lt_product_t *product, const void *alpha, const void *a,
                             dtp_lt_layout_t *a_layout, const void *b, dtp_lt_layout_t *b_layout,
                             const void *beta, const void *c, dtp_lt_layout_t *c_layout, void *d,
                             dtp_lt_layout_t *d_layout, const dtp_lt_algo_t *algo, void *workspace,
                             size_t workspace_bytes, dtp_cu_stream_t stream) {
    (void)pthread_barrier_wait(&both_are_there);
    return real->cublasLtMatmul(lt, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
                                algo, workspace, workspace_bytes, stream);
}
static void *run_with_own_bias(void *number) {
    dnnl_tp_stream_t s = gpu_stream();
    run_usual(s, 8 * *(const int *)number);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    return NULL;
}
static void threads_have_their_own_bias(void **state) {
    (void)state;
    enum { PAIR = 2 };
    static dtp_lt_t table; /* until the engine goes */
    pthread_t thread[PAIR];
    int number[PAIR];
    table = *fake_lt_table();
    real = fake_lt_table();
    table.cublasLtMatmul = meets;
    dtp_lt_set_for_test(&table);
    assert_int_equal(0, pthread_barrier_init(&both_are_there, NULL, PAIR));
    for (int i = 0; i < PAIR; ++i) {
        number[i] = i + 1;
        assert_int_equal(0, pthread_create(&thread[i], NULL, run_with_own_bias, &number[i]));
    }
    for (int i = 0; i < PAIR; ++i) assert_int_equal(0, pthread_join(thread[i], NULL));
    (void)pthread_barrier_destroy(&both_are_there);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_nothing, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(each_call_may_fail, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(each_call_of_the_driver_may_fail, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(tells_what_the_device_found, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(streams_are_ordered, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(missing_waits_are_found, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(threads_share_a_primitive, lt_setup, gpu_teardown),
        cmocka_unit_test_setup_teardown(threads_have_their_own_bias, lt_setup, gpu_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
