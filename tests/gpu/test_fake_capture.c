/* The fake driver's rules of stream capture, and of calls that wait for more than they say: each is broken once, and found. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "gpu/fake_use.h"

/* Begins a capture of the first stream, and ends it with what is wanted. */
static void begin(const use_t *u, dtp_cu_capture_mode_t mode) {
    OK(fake_cuStreamBeginCapture(u->stream[0], mode));
}
static void end_with(const use_t *u, dtp_cu_result_t want) {
    fake_cu_graph_t graph;
    FAILS(want, fake_cuStreamEndCapture(u->stream[0], &graph));
    assert_true((graph != NULL) == (want == DTP_CU_SUCCESS));
    if (graph) OK(fake_cuGraphDestroy(graph));
}

/* ---- Graphs ------------------------------------------------------------------------------------------ */

static void add(void *n) { ++*(int *)n; }

/* Copies read the host's memory when the graph is launched; nothing is executed before. */
static void graphs_are_launched(void **state) {
    (void)state;
    for (int seed = 0; seed < 10; ++seed) {
        use_t u;
        use_begin(&u);
        fake_cuda_set_seed((uint64_t)seed);
        unsigned char from[4] = {1, 2, 3, 4}, to[4] = {0};
        int calls = 0;
        dtp_cu_event_t fork, join;
        dtp_cu_capture_t status;
        fake_cu_graph_t graph;
        fake_cu_exec_t exec;
        OK(cu->cuEventCreate(&fork, 0));
        OK(cu->cuEventCreate(&join, 0));
        const dtp_cu_ptr_t at = use_alloc(&u, 4, 0);
        OK(cu->cuStreamSynchronize(u.stream[0]));
        begin(&u, DTP_CU_CAPTURE_GLOBAL);
        OK(cu->cuStreamIsCapturing(u.stream[0], &status));
        assert_int_equal(FAKE_CU_CAPTURE_ACTIVE, status);
        OK(cu->cuMemcpyHtoDAsync(at, from, sizeof from, u.stream[0]));
        OK(cu->cuEventRecord(fork, u.stream[0]));
        OK(cu->cuStreamWaitEvent(u.stream[1], fork, 0));
        OK(cu->cuStreamIsCapturing(u.stream[1], &status));
        assert_int_equal(FAKE_CU_CAPTURE_ACTIVE, status);
        OK(cu->cuMemsetD8Async(at, 9, 1, u.stream[1]));
        OK(cu->cuLaunchHostFunc(u.stream[1], add, &calls));
        OK(cu->cuEventRecord(join, u.stream[1]));
        OK(cu->cuStreamWaitEvent(u.stream[0], join, 0));
        OK(cu->cuMemcpyDtoHAsync(to, at, sizeof to, u.stream[0]));
        OK(fake_cuStreamEndCapture(u.stream[0], &graph));
        assert_int_equal(4, fake_cuda_nodes(graph));
        OK(cu->cuStreamIsCapturing(u.stream[1], &status));
        assert_int_equal(0, status);
        OK(fake_cuGraphInstantiate(&exec, graph, 0));
        OK(fake_cuGraphDestroy(graph));
        OK(cu->cuStreamSynchronize(u.stream[0]));
        assert_true(calls == 0 && to[0] == 0);
        for (unsigned char i = 1; i < 4; ++i) {
            from[3] = (unsigned char)(10 * i);
            OK(fake_cuGraphLaunch(exec, u.stream[i % 2]));
            OK(cu->cuStreamSynchronize(u.stream[i % 2]));
            assert_true(calls == i && to[0] == 9 && to[1] == 2 && to[3] == 10 * i);
        }
        OK(fake_cuGraphExecDestroy(exec));
        OK(cu->cuEventDestroy(fork));
        OK(cu->cuEventDestroy(join));
        OK(cu->cuMemFreeAsync(at, u.stream[0]));
        use_end(&u);
    }
}

/* ---- What ends a capture ------------------------------------------------------------------------------ */

/* Each on the first stream's capture; answers what the call said. */
static dtp_cu_result_t synchronizes(const use_t *u, dtp_cu_event_t outside, dtp_cu_event_t inside) {
    (void)outside, (void)inside;
    return cu->cuStreamSynchronize(u->stream[0]);
}
static dtp_cu_result_t queries(const use_t *u, dtp_cu_event_t outside, dtp_cu_event_t inside) {
    (void)outside, (void)inside;
    return cu->cuStreamQuery(u->stream[0]);
}
static dtp_cu_result_t asks_event(const use_t *u, dtp_cu_event_t outside, dtp_cu_event_t inside) {
    (void)u, (void)outside;
    return cu->cuEventQuery(inside);
}
static dtp_cu_result_t waits_for_event(const use_t *u, dtp_cu_event_t outside, dtp_cu_event_t inside) {
    (void)u, (void)outside;
    return cu->cuEventSynchronize(inside);
}
static dtp_cu_result_t looks_outside(const use_t *u, dtp_cu_event_t outside, dtp_cu_event_t inside) {
    (void)inside;
    return cu->cuStreamWaitEvent(u->stream[0], outside, 0);
}
static dtp_cu_result_t asks_any_event(const use_t *u, dtp_cu_event_t outside, dtp_cu_event_t inside) {
    (void)u, (void)inside;
    return cu->cuEventQuery(outside);
}
static dtp_cu_result_t allocates(const use_t *u, dtp_cu_event_t outside, dtp_cu_event_t inside) {
    void *host;
    (void)u, (void)outside, (void)inside;
    return cu->cuMemHostAlloc(&host, 8, 0);
}

static const struct {
    dtp_cu_result_t (*call)(const use_t *u, dtp_cu_event_t outside, dtp_cu_event_t inside);
    dtp_cu_capture_mode_t mode;
    dtp_cu_result_t result;
} spoilers[] = {
    {synchronizes, DTP_CU_CAPTURE_RELAXED, DTP_CU_STREAM_CAPTURE_UNSUPPORTED},
    {queries, DTP_CU_CAPTURE_RELAXED, DTP_CU_STREAM_CAPTURE_UNSUPPORTED},
    {asks_event, DTP_CU_CAPTURE_RELAXED, DTP_CU_CAPTURED_EVENT},
    {waits_for_event, DTP_CU_CAPTURE_RELAXED, DTP_CU_CAPTURED_EVENT},
    {looks_outside, DTP_CU_CAPTURE_RELAXED, FAKE_CU_CAPTURE_ISOLATION},
    {asks_any_event, DTP_CU_CAPTURE_GLOBAL, DTP_CU_STREAM_CAPTURE_UNSUPPORTED},
    {asks_any_event, DTP_CU_CAPTURE_THREAD_LOCAL, DTP_CU_STREAM_CAPTURE_UNSUPPORTED},
    {allocates, DTP_CU_CAPTURE_GLOBAL, DTP_CU_STREAM_CAPTURE_UNSUPPORTED},
};

static void captures_are_spoiled(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof spoilers / sizeof *spoilers; ++i) {
        use_t u;
        use_begin(&u);
        dtp_cu_event_t outside, inside;
        dtp_cu_capture_t status;
        OK(cu->cuEventCreate(&outside, 0));
        OK(cu->cuEventCreate(&inside, 0));
        OK(cu->cuEventRecord(outside, u.stream[1]));
        OK(cu->cuStreamSynchronize(u.stream[1]));
        begin(&u, spoilers[i].mode);
        OK(cu->cuEventRecord(inside, u.stream[0]));
        FAILS(spoilers[i].result, spoilers[i].call(&u, outside, inside));
        assert_int_equal(1, fake_cuda_spoiled());
        OK(cu->cuStreamIsCapturing(u.stream[0], &status));
        assert_int_equal(FAKE_CU_CAPTURE_INVALID, status);
        FAILS(DTP_CU_STREAM_CAPTURE_INVALIDATED, cu->cuEventRecord(inside, u.stream[0]));
        end_with(&u, DTP_CU_STREAM_CAPTURE_INVALIDATED);
        OK(cu->cuEventRecord(inside, u.stream[0]));
        OK(cu->cuEventSynchronize(inside));
        OK(cu->cuEventDestroy(outside));
        OK(cu->cuEventDestroy(inside));
        use_end(&u);
    }
}

static void forks_must_be_joined(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_event_t fork;
    OK(cu->cuEventCreate(&fork, 0));
    const dtp_cu_ptr_t at = use_alloc(&u, 4, 0);
    OK(cu->cuStreamSynchronize(u.stream[0]));
    begin(&u, DTP_CU_CAPTURE_RELAXED);
    OK(cu->cuEventRecord(fork, u.stream[0]));
    OK(cu->cuStreamWaitEvent(u.stream[1], fork, 0));
    OK(cu->cuMemsetD8Async(at, 1, 4, u.stream[1]));
    fake_cu_graph_t graph;
    FAILS(FAKE_CU_CAPTURE_UNMATCHED, fake_cuStreamEndCapture(u.stream[1], &graph));
    end_with(&u, DTP_CU_STREAM_CAPTURE_UNJOINED);
    FAILS(FAKE_CU_ILLEGAL_STATE, fake_cuStreamEndCapture(u.stream[0], &graph));
    FAILS(DTP_CU_INVALID_VALUE, cu->cuStreamWaitEvent(u.stream[1], fork, 0)); /* of a capture that is over */
    /* Two captures do not meet. */
    begin(&u, DTP_CU_CAPTURE_RELAXED);
    OK(fake_cuStreamBeginCapture(u.stream[1], DTP_CU_CAPTURE_RELAXED));
    OK(cu->cuEventRecord(fork, u.stream[0]));
    FAILS(FAKE_CU_CAPTURE_MERGE, cu->cuStreamWaitEvent(u.stream[1], fork, 0));
    FAILS(DTP_CU_STREAM_CAPTURE_INVALIDATED, fake_cuStreamEndCapture(u.stream[1], &graph));
    end_with(&u, DTP_CU_STREAM_CAPTURE_INVALIDATED);
    OK(cu->cuMemFreeAsync(at, u.stream[0]));
    OK(cu->cuEventDestroy(fork));
    use_end(&u);
}

static void the_legacy_stream_is_barred(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_stream_t blocking;
    dtp_cu_capture_t status;
    fake_cu_graph_t graph;
    OK(cu->cuStreamCreate(&blocking, 0));
    FAILS(DTP_CU_STREAM_CAPTURE_UNSUPPORTED, fake_cuStreamBeginCapture(NULL, DTP_CU_CAPTURE_RELAXED));
    OK(fake_cuStreamBeginCapture(blocking, DTP_CU_CAPTURE_RELAXED));
    FAILS(DTP_CU_STREAM_CAPTURE_IMPLICIT, cu->cuStreamIsCapturing(NULL, &status));
    assert_int_equal(0, fake_cuda_spoiled());
    FAILS(DTP_CU_STREAM_CAPTURE_IMPLICIT, cu->cuStreamSynchronize(NULL));
    FAILS(DTP_CU_STREAM_CAPTURE_INVALIDATED, fake_cuStreamEndCapture(blocking, &graph));
    OK(cu->cuStreamSynchronize(NULL));
    OK(cu->cuStreamDestroy(blocking));
    use_end(&u);
}

/* ---- Modes of threads --------------------------------------------------------------------------------- */

static dtp_cu_event_t asked;
static void *asks(void *mode_of_thread) {
    dtp_cu_capture_mode_t mode = *(dtp_cu_capture_mode_t *)mode_of_thread;
    static dtp_cu_result_t result;
    (void)cu->cuThreadExchangeStreamCaptureMode(&mode);
    result = cu->cuEventQuery(asked);
    (void)cu->cuThreadExchangeStreamCaptureMode(&mode);
    return &result;
}

static void modes_of_threads_count(void **state) {
    (void)state;
    enum { MODES = 3 };
    for (int of_capture = 0; of_capture < MODES; ++of_capture)
        for (int of_thread = 0; of_thread < MODES; ++of_thread) {
            use_t u;
            pthread_t t;
            void *result;
            dtp_cu_capture_mode_t mode = of_thread;
            use_begin(&u);
            OK(cu->cuEventCreate(&asked, 0));
            begin(&u, of_capture);
            assert_int_equal(0, pthread_create(&t, NULL, asks, &mode));
            assert_int_equal(0, pthread_join(t, &result));
            const bool spoils = of_capture == DTP_CU_CAPTURE_GLOBAL && of_thread == DTP_CU_CAPTURE_GLOBAL;
            assert_int_equal(spoils ? DTP_CU_STREAM_CAPTURE_UNSUPPORTED : DTP_CU_SUCCESS,
                             *(dtp_cu_result_t *)result);
            end_with(&u, spoils ? DTP_CU_STREAM_CAPTURE_INVALIDATED : DTP_CU_SUCCESS);
            OK(cu->cuEventDestroy(asked));
            use_end(&u);
        }
}

static void modes_must_be_restored(void **state) {
    (void)state;
    use_t u;
    use_begin(&u);
    dtp_cu_capture_mode_t mode = DTP_CU_CAPTURE_RELAXED;
    OK(cu->cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(DTP_CU_CAPTURE_GLOBAL, mode);
    assert_int_not_equal(0, fake_cuda_report(NULL));
    OK(cu->cuThreadExchangeStreamCaptureMode(&mode));
    use_end(&u);
}

/* ---- Memory ------------------------------------------------------------------------------------------- */

static void memory_of_graphs_is_theirs(void **state) {
    (void)state;
    for (int wrong = 0; wrong < 2; ++wrong) {
        use_t u;
        use_begin(&u);
        dtp_cu_ptr_t at;
        fake_cu_graph_t graph;
        fake_cu_exec_t exec;
        const dtp_cu_ptr_t other = use_alloc(&u, 8, 0);
        OK(cu->cuMemsetD8Async(other, 0, 8, u.stream[0]));
        OK(cu->cuStreamSynchronize(u.stream[0]));
        begin(&u, DTP_CU_CAPTURE_GLOBAL);
        OK(cu->cuMemAllocFromPoolAsync(&at, 8, u.pool, u.stream[0]));
        FAILS(DTP_CU_INVALID_VALUE, cu->cuMemFreeAsync(other, u.stream[0]));
        OK(cu->cuMemsetD8Async(at, 7, 8, u.stream[0]));
        OK(cu->cuMemcpyDtoDAsync(other, at, 8, u.stream[0]));
        OK(cu->cuMemFreeAsync(at, u.stream[0]));
        OK(fake_cuStreamEndCapture(u.stream[0], &graph));
        OK(fake_cuGraphInstantiate(&exec, graph, 0));
        for (int i = 0; i < 2; ++i) OK(fake_cuGraphLaunch(exec, u.stream[0]));
        OK(cu->cuStreamSynchronize(u.stream[0]));
        assert_int_equal(7, ((const unsigned char *)fake_cuda_peek(other, 8))[7]);
        dtp_cu_result_t result = DTP_CU_SUCCESS;
        if (wrong) {
            OK(cu->cuMemsetD8Async(at, 7, 8, u.stream[0]));
            FAILS(DTP_CU_ILLEGAL_ADDRESS, cu->cuStreamSynchronize(u.stream[0]));
            result = DTP_CU_ILLEGAL_ADDRESS;
        }
        OK(fake_cuGraphExecDestroy(exec));
        OK(fake_cuGraphDestroy(graph));
        FAILS(result, cu->cuMemFreeAsync(other, u.stream[0]));
        use_release(&u, result);
        assert_int_equal(0, fake_cuda_report(stderr));
    }
}

/* A pool that may makes an allocation wait for the stream that frees, for some seeds. */
static int waits_of_reuse(bool allowed) {
    int waits = 0;
    for (int seed = 0; seed < 20; ++seed) {
        use_t u;
        use_begin(&u);
        fake_cuda_set_seed((uint64_t)seed);
        int allows = allowed;
        void *word;
        dtp_cu_ptr_t flag;
        OK(cu->cuMemPoolSetAttribute(u.pool, DTP_CU_POOL_REUSE_INTERNAL_DEPENDENCIES, &allows));
        OK(cu->cuMemHostAlloc(&word, sizeof(uint32_t), DTP_CU_HOST_MAPPED));
        OK(cu->cuMemHostGetDevicePointer(&flag, word, 0));
        memset(word, 0, sizeof(uint32_t));
        const dtp_cu_ptr_t first = use_alloc(&u, 8, 0);
        OK(cu->cuStreamWaitValue32(u.stream[0], flag, 1, DTP_CU_WAIT_GEQ));
        OK(cu->cuMemFreeAsync(first, u.stream[0]));
        const dtp_cu_ptr_t second = use_alloc(&u, 8, 1);
        fake_cuda_set_delay(0);
        for (int i = 0; i < 30 && cu->cuStreamQuery(u.stream[1]) == DTP_CU_NOT_READY; ++i) usleep(1000);
        waits += cu->cuStreamQuery(u.stream[1]) == DTP_CU_NOT_READY;
        __atomic_store_n((uint32_t *)word, 1, __ATOMIC_RELEASE);
        OK(cu->cuStreamSynchronize(u.stream[1]));
        OK(cu->cuStreamSynchronize(u.stream[0]));
        OK(cu->cuMemFreeAsync(second, u.stream[1]));
        OK(cu->cuMemFreeHost(word));
        use_end(&u);
    }
    return waits;
}

static void reuse_may_wait(void **state) {
    (void)state;
    assert_in_range(waits_of_reuse(true), 3, 17);
    assert_int_equal(0, waits_of_reuse(false));
}

/* Pinned memory and libraries are given back behind all work of the context, for some seeds: which may never end. */
static void frees_may_wait_for_the_device(void **state) {
    (void)state;
    int found = 0;
    for (int seed = 0; seed < 8; ++seed) {
        use_t u;
        use_begin(&u);
        fake_cuda_set_seed((uint64_t)seed);
        void *word, *host;
        dtp_cu_ptr_t flag;
        OK(cu->cuMemHostAlloc(&word, sizeof(uint32_t), DTP_CU_HOST_MAPPED));
        OK(cu->cuMemHostAlloc(&host, 8, 0));
        OK(cu->cuMemHostGetDevicePointer(&flag, word, 0));
        memset(word, 0, sizeof(uint32_t));
        OK(cu->cuStreamWaitValue32(u.stream[0], flag, 1, DTP_CU_WAIT_GEQ));
        OK(cu->cuMemFreeHost(host));
        const bool wrong = fake_cuda_wrongs();
        if (wrong) assert_non_null(strstr(fake_cuda_trap(), "waits for the device"));
        found += wrong;
        __atomic_store_n((uint32_t *)word, 1, __ATOMIC_RELEASE);
        OK(cu->cuStreamSynchronize(u.stream[0]));
        OK(cu->cuMemFreeHost(word));
        use_release(&u, DTP_CU_SUCCESS);
        assert_int_equal(wrong, fake_cuda_report(NULL));
    }
    assert_in_range(found, 1, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_are_launched),          cmocka_unit_test(captures_are_spoiled),
        cmocka_unit_test(forks_must_be_joined),         cmocka_unit_test(the_legacy_stream_is_barred),
        cmocka_unit_test(modes_of_threads_count),       cmocka_unit_test(modes_must_be_restored),
        cmocka_unit_test(memory_of_graphs_is_theirs),   cmocka_unit_test(reuse_may_wait),
        cmocka_unit_test(frees_may_wait_for_the_device)};
    return cmocka_run_group_tests_name("fake_capture", tests, NULL, NULL);
}
