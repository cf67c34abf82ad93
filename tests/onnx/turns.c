/* Threads that want the same of a session at one time: it is made once, whoever fails, waits or
 * forks meanwhile. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "onnx/dnnl_tp_onnx_state.h"
#include "sessions.h"

enum { THREADS = 8, K = 32, N = 256, MOST_ROWS = 16, LARGE = K * N * (int)sizeof(float) };

/* ---- An allocator that counts copies and packings of weights, and calls back while one is made  */

static struct {
    atomic_int weights, to_fail; /* of these so many fail */
    void (*_Atomic hook)(void);  /* is called by the next one */
} seen;

static void *counted(void *ctx, size_t size, size_t alignment) {
    (void)ctx;
    enum { OVERLAP_US = 3000 };
    if (size >= LARGE && size < 2 * LARGE + 65536 && alignment == 64) { /* not the memory of runs */
        atomic_fetch_add(&seen.weights, 1);
        void (*hook)(void) = atomic_exchange(&seen.hook, NULL);
        if (hook) hook();
        else usleep(OVERLAP_US);
        if (atomic_load(&seen.to_fail) > 0 && atomic_fetch_sub(&seen.to_fail, 1) > 0) return NULL;
    }
    void *p = NULL;
    return posix_memalign(&p, alignment, size) ? NULL : p;
}
static void plain_free(void *ctx, void *p) {
    (void)ctx;
    free(p);
}

static void count_again(void) {
    atomic_store(&seen.weights, 0);
    atomic_store(&seen.to_fail, 0);
    atomic_store(&seen.hook, NULL);
}
static void count(void) {
    const dnnl_tp_allocator_t a = {.struct_size = sizeof a, .alloc = counted, .free = plain_free};
    CHECK_OK(dnnl_tp_set_allocator(&a));
    count_again();
}

/* ---- Models ---------------------------------------------------------------------------------- */

static float weight(int i) { return (float)(i * 7 % 13 - 6); }

static void put_weights(bytes_t *g, const char *name, int64_t k, int64_t n) {
    static float w[K * N];
    for (int i = 0; i < k * n; ++i) w[i] = weight(i);
    put_raw(g, name, FLOAT, 2, (const int64_t[]){k, n}, w, (size_t)(k * n) * sizeof *w);
}

/* y = x w, x {n, K}, w {K, N}. */
static void product(bytes_t *m) {
    static bytes_t g;
    g.n = m->n = 0;
    put_node(&g, "MatMul", "", "x", "w", "y");
    put_weights(&g, "w", K, N);
    put_value(&g, G_INPUT, "x", FLOAT, 2, (const int64_t[]){-1, K});
    put_value(&g, G_OUTPUT, "y", FLOAT, 2, (const int64_t[]){-1, N});
    put_model(m, &g, 8, 17);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_onnx_session_t session;
    pthread_barrier_t *begin;
    int64_t rows;
    dnnl_tp_status_t status;
    bool is_right;
} user_t;

/* The product of whole numbers is exact. */
static void use(user_t *u) {
    static _Thread_local float x[MOST_ROWS * K], y[MOST_ROWS * N];
    const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {u->rows, K}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t arg = {&shape, NULL};
    dnnl_tp_onnx_call_t call = NULL;
    for (int i = 0; i < u->rows * K; ++i) x[i] = (float)(i * 5 % 11 - 5);
    u->is_right = false;
    u->status = dnnl_tp_onnx_session_get_call(&call, u->session, 1, &arg);
    if (u->status) return;
    u->status = dnnl_tp_onnx_call_run(call, (const void *[]){x}, (void *[]){y}, NULL);
    (void)dnnl_tp_onnx_call_destroy(call);
    u->is_right = !u->status;
    for (int i = 0; i < u->rows * N; ++i) {
        float want = 0;
        for (int k = 0; k < K; ++k) want += x[i / N * K + k] * weight(k * N + i % N);
        u->is_right &= y[i] == want;
    }
}

static void *user(void *arg) {
    user_t *u = arg;
    (void)pthread_barrier_wait(u->begin);
    use(u);
    return NULL;
}

/* Users that begin together; step: how much more rows each one has. */
static void use_together(dnnl_tp_onnx_session_t s, user_t *users, int step) {
    pthread_barrier_t begin;
    pthread_t thread[THREADS];
    assert_int_equal(pthread_barrier_init(&begin, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; ++i) {
        users[i] = (user_t){.session = s, .begin = &begin, .rows = 3 + i * step};
        assert_int_equal(pthread_create(&thread[i], NULL, user, &users[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&begin);
}

static bytes_t model;

static void use_all(int step, uint64_t calls) {
    user_t users[THREADS], one = {.session = NULL, .rows = 3};
    count();
    product(&model);
    one.session = open_session(&model, NULL);
    use(&one);
    dnnl_tp_onnx_session_destroy(one.session);
    const int weights = atomic_load(&seen.weights);
    assert_true(weights > 0);
    count_again();
    dnnl_tp_onnx_session_t s = open_session(&model, NULL);
    use_together(s, users, step);
    for (int i = 0; i < THREADS; ++i) assert_true(users[i].is_right);
    const dnnl_tp_onnx_session_stats_t stats = stats_of(s);
    assert_int_equal(atomic_load(&seen.weights), weights);
    assert_int_equal(stats.imports, 1);
    assert_int_equal(stats.compilations, calls);
    dnnl_tp_onnx_session_destroy(s);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
}

static void test_same(void **state) {
    (void)state;
    use_all(0, 1);
}

/* The first one packs for all lengths. */
static void test_lengths(void **state) {
    (void)state;
    use_all(1, THREADS);
}

/* Who fails, fails alone; the others, which waited for it, make it themselves. */
static void test_failure(void **state) {
    (void)state;
    user_t users[THREADS];
    int failed = 0;
    count();
    product(&model);
    dnnl_tp_onnx_session_t s = open_session(&model, NULL);
    atomic_store(&seen.to_fail, 1);
    use_together(s, users, 0);
    for (int i = 0; i < THREADS; ++i) {
        failed += users[i].status == dnnl_tp_out_of_memory;
        assert_true(users[i].is_right || users[i].status == dnnl_tp_out_of_memory);
    }
    assert_int_equal(failed, 1);
    assert_int_equal(stats_of(s).compilations, 1);
    dnnl_tp_onnx_session_destroy(s);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
}

/* ---- Where nobody may wait ------------------------------------------------------------------- */

static user_t inner;
static void use_inner(void) { use(&inner); }

/* The call is made, and the hook called meanwhile, which uses or awaits `inner`. The session. */
static dnnl_tp_onnx_session_t use_with(void (*hook)(void)) {
    count();
    product(&model);
    dnnl_tp_onnx_session_t s = open_session(&model, NULL);
    user_t outer = {.session = s, .rows = 3};
    inner = outer;
    atomic_store(&seen.hook, hook);
    use(&outer);
    assert_true(outer.is_right);
    return s;
}
static void end_with(dnnl_tp_onnx_session_t s) {
    dnnl_tp_onnx_session_destroy(s);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
}

/* The allocator runs what is being made. */
static void test_inside(void **state) {
    (void)state;
    dnnl_tp_onnx_session_t s = use_with(use_inner);
    assert_true(inner.is_right);
    end_with(s);
}

static void *use_in_thread(void *arg) {
    use(arg);
    return NULL;
}
static void await_inner(void) {
    pthread_t thread;
    if (!pthread_create(&thread, NULL, use_in_thread, &inner)) pthread_join(thread, NULL);
}

/* The allocator waits for a thread that wants what is being made. */
static void test_standing(void **state) {
    (void)state;
    dnnl_tp_onnx_session_t s = use_with(await_inner);
    assert_true(inner.is_right);
    end_with(s);
}

static void *room_of(void *y, int index, const dnnl_tp_tensor_info_t *info) {
    (void)index;
    (void)info;
    return y;
}

static int64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

static int64_t over_ns; /* after the deadline of the run */
static void *run_until(void *arg) {
    enum { SOON_NS = 50000000 };
    static float x[3 * K], y[3 * N];
    user_t *u = arg;
    const dnnl_tp_tensor_info_t shape = {.ndims = 2, .dims = {3, K}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_arg_t input = {&shape, x};
    const dnnl_tp_run_opts_t opts = {.struct_size = sizeof opts, .deadline_ns = now_ns() + SOON_NS};
    u->status = dnnl_tp_onnx_session_run(u->session, 1, &input, room_of, y, &opts);
    over_ns = now_ns() - opts.deadline_ns;
    return NULL;
}
static void await_deadline(void) {
    pthread_t thread;
    if (!pthread_create(&thread, NULL, run_until, &inner)) pthread_join(thread, NULL);
}

/* A run whose deadline passes while it waits ends then, and compiles nothing. */
static void test_deadline(void **state) {
    enum { MOST_NS = 800000000 };
    (void)state;
    over_ns = -1;
    dnnl_tp_onnx_session_t s = use_with(await_deadline);
    assert_int_equal(inner.status, dnnl_tp_deadline_exceeded);
    assert_true(over_ns >= 0 && over_ns < MOST_NS);
    assert_int_equal(stats_of(s).imports, 1);
    end_with(s);
}

static int child_status = -1;
static pthread_t sleeper;
/* The parent has a turn and a sleeper; the child has neither, and ends turns of its own. */
static void fork_inner(void) {
    enum { ASLEEP_US = 50000, ROUNDS = 4 };
    static user_t waiting;
    waiting = inner;
    if (pthread_create(&sleeper, NULL, use_in_thread, &waiting)) return;
    usleep(ASLEEP_US);
    const pid_t child = fork();
    if (child == 0) {
        bool is_right = true;
        alarm(20);
        for (int i = 0; i < ROUNDS; ++i) {
            pthread_t thread;
            inner.rows = 3 + i;
            if (pthread_create(&thread, NULL, use_in_thread, &inner)) _exit(1);
            pthread_join(thread, NULL);
            is_right &= inner.is_right;
        }
        _exit(!is_right);
    }
    (void)waitpid(child, &child_status, 0);
}

/* A child that is forked while somebody has a turn waits for nobody. */
static void test_fork(void **state) {
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip();
#endif
    dnnl_tp_onnx_session_t s = use_with(fork_inner);
    pthread_join(sleeper, NULL);
    assert_int_equal(child_status, 0);
    end_with(s);
}

/* ---- States ---------------------------------------------------------------------------------- */

enum { HEADS = 4, D = 8, WIDTH = HEADS * D, PROMPT = 3, TOKENS = 3 };

static void put_attention(bytes_t *g) {
    enum { INT = 2, A_INT = 3 };
    static const char *const in[] = {"q", "k", "v", "", "past.key", "past.value"},
                             *const out[] = {"a", "present.key", "present.value"},
                             *const attr[] = {"q_num_heads", "kv_num_heads", "is_causal"};
    static const uint64_t value[] = {HEADS, HEADS, 1};
    static bytes_t n, a;
    n.n = 0;
    for (int i = 0; i < 6; ++i) put_text(&n, N_INPUT, in[i]);
    for (int i = 0; i < 3; ++i) put_text(&n, N_OUTPUT, out[i]);
    put_text(&n, N_OP, "Attention");
    for (int i = 0; i < 3; ++i) {
        a.n = 0;
        put_text(&a, A_NAME, attr[i]);
        put_int(&a, A_INT, value[i]);
        put_int(&a, A_TYPE, INT);
        put_message(&n, N_ATTR, &a);
    }
    put_message(g, G_NODE, &n);
}

/* x {1, n, K}, a cache of p rows, y {1, n, N}. */
static void decoder(bytes_t *m) {
    static const int64_t x[] = {1, -1, K}, past[] = {1, HEADS, -2, D}, y[] = {1, -1, N};
    static const char *const name[] = {"q", "k", "v"}, *const w[] = {"wq", "wk", "wv"};
    static bytes_t g;
    g.n = m->n = 0;
    for (int i = 0; i < 3; ++i) {
        put_node(&g, "MatMul", "", "x", w[i], name[i]);
        put_weights(&g, w[i], K, WIDTH);
    }
    put_attention(&g);
    put_node(&g, "MatMul", "", "a", "wo", "y");
    put_weights(&g, "wo", WIDTH, N);
    put_value(&g, G_INPUT, "x", FLOAT, 3, x);
    put_value(&g, G_INPUT, "past.key", FLOAT, 4, past);
    put_value(&g, G_INPUT, "past.value", FLOAT, 4, past);
    put_value(&g, G_OUTPUT, "y", FLOAT, 3, y);
    put_value(&g, G_OUTPUT, "present.key", FLOAT, 4, past);
    put_value(&g, G_OUTPUT, "present.value", FLOAT, 4, past);
    put_model(m, &g, 11, 23);
}

typedef struct {
    dnnl_tp_onnx_session_t session;
    pthread_barrier_t *begin;
    dnnl_tp_status_t status;
    uint64_t in_place;
    float y[TOKENS + 1][PROMPT * N];
    float *to;
} writer_t;

static void *room(void *ctx, int index, const dnnl_tp_tensor_info_t *info) {
    (void)index;
    (void)info;
    return ((writer_t *)ctx)->to;
}

static void *write_tokens(void *arg) {
    writer_t *w = arg;
    dnnl_tp_onnx_state_t state = NULL;
    dnnl_tp_onnx_state_info_t info = {.struct_size = sizeof info};
    float x[PROMPT * K];
    if (w->begin) (void)pthread_barrier_wait(w->begin);
    w->status = dnnl_tp_onnx_state_create(&state, w->session, NULL);
    for (int i = 0; i <= TOKENS && !w->status; ++i) {
        const int64_t rows = i ? 1 : PROMPT;
        const dnnl_tp_tensor_info_t shape = {.ndims = 3, .dims = {1, rows, K}, .data_type = dnnl_tp_f32};
        const dnnl_tp_onnx_arg_t args[] = {{&shape, x}, {NULL, NULL}, {NULL, NULL}};
        for (int k = 0; k < rows * K; ++k) x[k] = (float)((k + 3 * i) % 7 - 3) / 8;
        w->to = w->y[i];
        w->status = dnnl_tp_onnx_state_run(state, 3, args, room, w, NULL);
    }
    if (!w->status) w->status = dnnl_tp_onnx_state_query(state, &info);
    w->in_place = info.in_place;
    (void)dnnl_tp_onnx_state_destroy(state);
    return NULL;
}

/* As many copies of weights for eight states that begin together as for one, and the same bits. */
static void test_states(void **state) {
    (void)state;
    static writer_t alone, together[THREADS];
    pthread_barrier_t begin;
    pthread_t thread[THREADS];
    decoder(&model);
    count();
    alone.session = open_session(&model, NULL);
    write_tokens(&alone);
    CHECK_OK(alone.status);
    assert_int_equal(alone.in_place, TOKENS);
    const dnnl_tp_onnx_session_stats_t want = stats_of(alone.session);
    dnnl_tp_onnx_session_destroy(alone.session);
    const int weights = atomic_load(&seen.weights);
    assert_true(weights > 0);
    count_again();
    dnnl_tp_onnx_session_t s = open_session(&model, NULL);
    assert_int_equal(pthread_barrier_init(&begin, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; ++i) {
        together[i].session = s;
        together[i].begin = &begin;
        assert_int_equal(pthread_create(&thread[i], NULL, write_tokens, &together[i]), 0);
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&begin);
    for (int i = 0; i < THREADS; ++i) {
        CHECK_OK(together[i].status);
        assert_int_equal(together[i].in_place, TOKENS);
        assert_memory_equal(together[i].y, alone.y, sizeof alone.y);
    }
    const dnnl_tp_onnx_session_stats_t got = stats_of(s);
    assert_int_equal(got.imports, want.imports);
    assert_int_equal(got.compilations, want.compilations);
    assert_int_equal(atomic_load(&seen.weights), weights);
    dnnl_tp_onnx_session_destroy(s);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same),     cmocka_unit_test(test_lengths),
                                       cmocka_unit_test(test_failure),  cmocka_unit_test(test_inside),
                                       cmocka_unit_test(test_standing), cmocka_unit_test(test_fork),
                                       cmocka_unit_test(test_states),   cmocka_unit_test(test_deadline)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
