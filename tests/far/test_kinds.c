/* Every kind of primitive on an engine whose memory the host cannot read, beside the CPU: the same bits, on several
 * streams at once with random delays; and no harm when any allocation, of the host's or of the engine's memory, or any
 * piece of work fails. Values: the conformance tests, which run on this engine too (far.cmake). */
#include <pthread.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "far/two_engines.h"
#include "support/problems.h"
#include "support/upload.h"

static dnnl_tp_primitive_t make(dnnl_tp_engine_t engine, int problem) {
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(problem_make(&pd, engine, problem, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return p;
}

static void every_kind_gives_the_same_bits(void **state) {
    (void)state;
    enum { STREAMS = 3, ROUNDS = 4 };
    far_set_delay(500);
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        buffers_t want, got[STREAMS];
        upload_t up[STREAMS];
        dnnl_tp_exec_handle_t there[STREAMS][PROBLEM_MAX_ARGS];
        dnnl_tp_stream_t stream[STREAMS];
        expected_of(cpu, problem, &want);
        dnnl_tp_primitive_t p = make(far, problem);
        for (int k = 0; k < STREAMS; ++k) {
            CHECK_OK(dnnl_tp_stream_create(&stream[k], far, 0));
            buffers_create(&got[k], p->pd);
            clear_outputs(&got[k]);
            upload_args(&up[k], p->pd, got[k].n, got[k].arg, there[k]);
        }
        for (int i = 0; i < ROUNDS; ++i)
            for (int k = 0; k < STREAMS; ++k)
                CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream[k], got[k].n, there[k]));
        CHECK_OK(dnnl_tp_primitive_destroy(p)); /* what was submitted keeps it */
        CHECK_OK(dnnl_tp_sync_engine(far, -1));
        for (int k = 0; k < STREAMS; ++k) {
            upload_end(&up[k]);
            if (!same_outputs(&want, &got[k])) fail_msg("%s", problem_name(problem));
            buffers_destroy(&got[k]);
            CHECK_OK(dnnl_tp_stream_destroy(stream[k]));
        }
        buffers_destroy(&want);
    }
    far_set_delay(0);
}

/* On an engine of its own whose allocations may fail; memory is another engine object's of the same device. */
static dnnl_tp_status_t whole_life(int problem, const dnnl_tp_allocator_t *allocator, int n,
                                   const dnnl_tp_exec_handle_t *args) {
    dnnl_tp_engine_attr_t attr;
    dnnl_tp_engine_t engine = NULL;
    dnnl_tp_stream_t stream = NULL;
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_t p = NULL;
    CHECK_OK(dnnl_tp_engine_attr_create(&attr));
    CHECK_OK(dnnl_tp_engine_attr_set_allocator(attr, allocator));
    dnnl_tp_status_t s = dnnl_tp_engine_create_v2(&engine, dnnl_tp_gpu, 0, attr);
    CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
    if (!s) s = dnnl_tp_stream_create(&stream, engine, 0);
    if (!s) s = problem_make(&pd, engine, problem, NULL);
    if (!s) s = dnnl_tp_primitive_create(&p, pd);
    if (!s) s = dnnl_tp_primitive_execute_handles(p, stream, n, args);
    if (!s) s = dnnl_tp_stream_wait(stream);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    return s;
}

typedef enum { HOST_MEMORY, FAR_MEMORY, WORK, WAYS } way_t;
static bool order_failure(way_t way, test_allocator_t *a,
                          int64_t n) { /* and whether the last order is left */
    if (way == HOST_MEMORY) return atomic_exchange(&a->fail_at, n) >= 0;
    return way == FAR_MEMORY ? far_fail_alloc(n) : far_fail_item(n);
}

static void every_failure_is_survived(void **state) {
    (void)state;
    test_allocator_t a;
    test_allocator_init(&a);
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        buffers_t want, got;
        expected_of(cpu, problem, &want);
        dnnl_tp_primitive_t p = make(far, problem);
        buffers_create(&got, p->pd);
        for (int way = 0; way < WAYS; ++way)
            for (int n = 0, over = 0; !over; ++n) {
                assert_true(n < 1000);
                clear_outputs(&got);
                upload_t up;
                dnnl_tp_exec_handle_t there[PROBLEM_MAX_ARGS];
                upload_args(&up, p->pd, got.n, got.arg, there);
                const far_stats_t before = far_stats();
                (void)order_failure((way_t)way, &a, n);
                dnnl_tp_status_t status = whole_life(problem, &a.iface, got.n, there);
                over = order_failure((way_t)way, &a, -1);
                assert_true(test_becomes(&a.live, 0));
                assert_int_equal(far_stats().blocks, before.blocks);
                upload_end(&up);
                const dnnl_tp_status_t failure = way == WORK ? dnnl_tp_runtime_error : dnnl_tp_out_of_memory;
                assert_int_equal(status, over ? dnnl_tp_success : failure);
                if (over) assert_true(same_outputs(&want, &got));
                for (int i = 0; i < got.n && !over; ++i) /* outputs untouched */
                    for (size_t k = 0; got.output[i] && k < got.bytes[i]; ++k)
                        assert_int_equal(((unsigned char *)got.arg[i].handle)[k], 0xff);
            }
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        buffers_destroy(&want);
        buffers_destroy(&got);
    }
    far_check();
}

/* Verbose lines name the engine; an execution's is written when it has been done. */
typedef struct {
    pthread_mutex_t lock;
    int created, executed, other;
} lines_t;
static void count_line(void *arg, const char *line) {
    lines_t *l = arg;
    pthread_mutex_lock(&l->lock);
    l->created += strstr(line, "primitive,create:pd,far,") != NULL;
    l->executed += strstr(line, "primitive,exec,far,") != NULL;
    l->other += strstr(line, ",cpu,") != NULL;
    pthread_mutex_unlock(&l->lock);
}
static void verbose_lines_name_the_engine(void **state) {
    (void)state;
    lines_t lines = {.lock = PTHREAD_MUTEX_INITIALIZER};
    buffers_t got;
    upload_t up;
    dnnl_tp_exec_handle_t there[PROBLEM_MAX_ARGS];
    dnnl_tp_stream_t stream;
    dnnl_tp_primitive_t p = make(far, 0);
    buffers_create(&got, p->pd);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_stream_create(&stream, far, 0));
    CHECK_OK(dnnl_tp_set_verbose_callback(count_line, &lines));
    CHECK_OK(dnnl_tp_set_verbose(2));
    p = make(far, 0);
    upload_args(&up, p->pd, got.n, got.arg, there);
    CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, got.n, there));
    CHECK_OK(dnnl_tp_stream_wait(stream));
    CHECK_OK(dnnl_tp_set_verbose(0));
    CHECK_OK(dnnl_tp_set_verbose_callback(NULL, NULL));
    assert_true(lines.created == 1 && lines.executed == 1 && lines.other == 0);
    upload_end(&up);
    buffers_destroy(&got);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind_gives_the_same_bits),
                                       cmocka_unit_test(every_failure_is_survived),
                                       cmocka_unit_test(verbose_lines_name_the_engine)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
