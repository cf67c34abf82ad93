/* Streams and events under preemption at every delicate step (DTP_PREEMPT_POINT), and with one rule broken at a time
 * (DTP_BREAK_QUEUE_*). Loops, runs, tasks and events on their own: pool_stress.c. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/hostile_pools.h"
#include "support/streams.h"
#include "support/stress.h"

#define MUST STRESS_MUST
#define OK STRESS_OK

enum { N = 64 };

static dnnl_tp_engine_t engine;
static dnnl_tp_primitive_t add;

static dnnl_tp_event_t host_event(void) {
    dnnl_tp_event_t event = NULL;
    OK(dnnl_tp_event_create_host(&event, engine));
    return event;
}

/* Fails, is reset, goes on; an event that was skipped comes late, while its block serves other items. */
static void poison_round(dnnl_tp_stream_t stream) {
    float x[N] = {0};
    dnnl_tp_event_t bad = host_event(), late = host_event(), gate[4];
    OK(dnnl_tp_stream_wait_event(stream, bad));
    OK(dnnl_tp_stream_wait_event(stream, late));
    OK(test_step(add, stream, x));
    OK(dnnl_tp_event_signal(bad, dnnl_tp_runtime_error));
    MUST(dnnl_tp_stream_wait(stream) == dnnl_tp_runtime_error && x[0] == 0);
    OK(dnnl_tp_stream_reset(stream));
    for (int i = 0; i < 4; ++i) {
        gate[i] = host_event();
        OK(dnnl_tp_stream_wait_event(stream, gate[i]));
        OK(test_step(add, stream, x));
    }
    OK(dnnl_tp_event_signal(late, dnnl_tp_success));
    for (int i = 3; i > 0; --i) OK(dnnl_tp_event_signal(gate[i], dnnl_tp_success));
    MUST(dnnl_tp_stream_wait_for(stream, 50000) == dnnl_tp_timed_out && x[0] == 0);
    OK(dnnl_tp_event_signal(gate[0], dnnl_tp_success));
    OK(dnnl_tp_stream_wait(stream));
    MUST(x[0] == 4);
    for (int i = 0; i < 4; ++i) dnnl_tp_event_destroy(gate[i]);
    dnnl_tp_event_destroy(bad);
    dnnl_tp_event_destroy(late);
}

/* Submits while items run; threads wait for different events of the stream. */
typedef struct {
    dnnl_tp_event_t event[3];
    pthread_barrier_t barrier;
    _Atomic bool stop;
} waits_t;
static waits_t waits;
static void *waiter(void *arg) {
    int index = (int)(intptr_t)arg;
    for (;;) {
        pthread_barrier_wait(&waits.barrier);
        if (atomic_load(&waits.stop)) return NULL;
        OK(dnnl_tp_event_wait(waits.event[index], -1, NULL));
        pthread_barrier_wait(&waits.barrier);
    }
}
static void wait_round(dnnl_tp_stream_t stream) {
    enum { ITEMS = 12 };
    float x[N] = {0};
    dnnl_tp_event_t gate = host_event();
    OK(dnnl_tp_stream_wait_event(stream, gate));
    for (int i = 0; i < ITEMS; ++i) {
        OK(test_step(add, stream, x));
        if (i % 4 == 3) OK(dnnl_tp_stream_record_event(stream, &waits.event[i / 4]));
    }
    pthread_barrier_wait(&waits.barrier);
    stress_preempt();
    OK(dnnl_tp_event_signal(gate, dnnl_tp_success));
    pthread_barrier_wait(&waits.barrier);
    OK(dnnl_tp_stream_wait(stream));
    MUST(x[0] == ITEMS && x[N - 1] == ITEMS);
    for (int i = 0; i < 3; ++i) dnnl_tp_event_destroy(waits.event[i]);
    dnnl_tp_event_destroy(gate);
    for (int i = 0; i < 40; ++i) OK(test_step(add, stream, x));
    OK(dnnl_tp_stream_wait(stream));
    MUST(x[0] == ITEMS + 40);
}

int main(int argc, char **argv) {
    stress_begin(argc, argv);
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    add = test_linear(engine, N, 1, 1);
    pthread_barrier_init(&waits.barrier, NULL, 4);
    pthread_t thread[3];
    for (int i = 0; i < 3; ++i)
        if (pthread_create(&thread[i], NULL, waiter, (void *)(intptr_t)i)) abort();
    hostile_pool_t *host = hostile_pool_create(POOL_FIFO, 2);
    dnnl_tp_threadpool_t pool = test_pool(2);
    dnnl_tp_stream_t stream[2] = {test_stream(engine, test_pool_iface(pool), 1, 0),
                                  test_stream(engine, hostile_pool_iface(host), 1, 0)};
    for (int k = 0; stress_round(k); ++k) {
        poison_round(stream[k % 2]);
        wait_round(stream[k % 2]);
    }
    atomic_store(&waits.stop, true);
    pthread_barrier_wait(&waits.barrier);
    for (int i = 0; i < 3; ++i) pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; ++i) OK(dnnl_tp_stream_destroy(stream[i]));
    dnnl_tp_threadpool_destroy(pool);
    hostile_pool_destroy(host);
    dnnl_tp_primitive_destroy(add);
    dnnl_tp_engine_destroy(engine);
    return 0;
}
