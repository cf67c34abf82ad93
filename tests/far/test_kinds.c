/* Every kind of primitive on an engine whose memory the host cannot read, beside the CPU: the same bits, on several
 * streams at once with random delays; and no harm when any allocation, of the host's or of the engine's memory, or any
 * piece of work fails. Values: the conformance tests, which run on this engine too (far.cmake). */
#include <pthread.h>
#include <stdio.h>
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

/* Not every engine has every kind, and where weights of any layout lie otherwise, the same bytes are other weights. */
static bool is_there(int problem) {
    dnnl_tp_primitive_desc_t pd, of_cpu;
    const dnnl_tp_status_t status = problem_make(&pd, far, problem, NULL);
    if (status == dnnl_tp_unimplemented && !far_traits.has_controls) return false;
    CHECK_OK(status);
    CHECK_OK(problem_make(&of_cpu, cpu, problem, NULL));
    const bool fits = far_traits.has_controls ||
                      dtp_md_equal(dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0),
                                   dnnl_tp_primitive_desc_query_md(of_cpu, dnnl_tp_query_weights_md, 0));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(of_cpu));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return fits;
}
static bool agree(const buffers_t *want, const buffers_t *got) {
    const float tolerance = 2e-4f; /* sums of 3,001 numbers below 2 */
    for (int i = 0; i < want->n; ++i)
        if (want->output[i] &&
            !far_agrees(got->arg[i].handle, want->arg[i].handle, want->bytes[i] / sizeof(float), tolerance))
            return false;
    return true;
}

static void every_kind_gives_the_same_bits(void **state) {
    (void)state;
    enum { STREAMS = 3, ROUNDS = 4 };
    far_set_delay(500);
    int tried = 0;
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        if (!is_there(problem)) continue;
        ++tried;
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
            if (!agree(&want, &got[k])) fail_msg("%s", problem_name(problem));
            buffers_destroy(&got[k]);
            CHECK_OK(dnnl_tp_stream_destroy(stream[k]));
        }
        buffers_destroy(&want);
    }
    far_set_delay(0);
    assert_true(tried >= (far_traits.has_controls ? PROBLEMS : PROBLEMS / 3));
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
    enum { FEWER = 4 }; /* where kernels are interpreted: of the others, other problems ask */
    test_allocator_t a;
    test_allocator_init(&a);
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        if (!is_there(problem)) continue;
        buffers_t want, got;
        expected_of(cpu, problem, &want);
        dnnl_tp_primitive_t p = make(far, problem);
        buffers_create(&got, p->pd);
        for (int way = 0; way < (far_traits.skips ? WAYS : WORK); ++way)
            for (int n = far_traits.has_controls ? 0 : problem % FEWER, over = 0; !over;
                 n += far_traits.has_controls ? 1 : FEWER) {
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
                if (over || far_traits.has_controls)
                    assert_int_equal(status, over ? dnnl_tp_success : failure);
                if (status == dnnl_tp_success) /* other engines try some calls again */
                    assert_true(agree(&want, &got));
                for (int i = 0; i < got.n && !over && far_traits.skips; ++i) /* outputs untouched */
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
    char created[64], executed[64];
    snprintf(created, sizeof created, "primitive,create:pd,%s,", far_traits.name);
    snprintf(executed, sizeof executed, "primitive,exec,%s,", far_traits.name);
    l->created += strstr(line, created) != NULL;
    l->executed += strstr(line, executed) != NULL;
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
