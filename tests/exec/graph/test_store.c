/* The store that graphs of one model share: what is held once, when it goes, in which order
 * graphs and executables may end, threads that make the same at once, memory that is missing,
 * forks in the midst of making. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/graph/graph.h"
#include "exec/run/executable.h"
#include "support/check.h"
#include "support/watchdog.h"

enum { K = 192, N = 512, MOST = 24, THREADS = 8 };
enum { WEIGHTS = K * N }; /* elements; s8 as given, f32 when packed */

/* ---- An allocator that counts bytes, fails and stops ------------------------------------------------- */

static test_allocator_t counted;
static _Thread_local bool fails; /* in this thread every large allocation fails */
/* After so many more allocations of this thread the next one stops here; negative: none. */
static _Thread_local int stop_in = -1;
static _Atomic size_t stop_at; /* an allocation of so many bytes or more stops here; 0: none */
static _Atomic int stopped, go_on;

static void *stopping_alloc(void *ctx, size_t size, size_t alignment) {
    if (fails && size >= WEIGHTS) return NULL;
    size_t stop = atomic_load(&stop_at);
    const bool stops = stop_in >= 0 && stop_in-- == 0;
    if (stops || (stop && size >= stop && atomic_compare_exchange_strong(&stop_at, &stop, 0))) {
        atomic_store(&stopped, 1);
        while (!atomic_load(&go_on)) usleep(500);
    }
    return counted.iface.alloc(ctx, size, alignment);
}
static void counting_free(void *ctx, void *p) { counted.iface.free(ctx, p); }
static const dnnl_tp_allocator_t allocator = {sizeof allocator, &counted, stopping_alloc, counting_free};

/* ---- A model
 * ---------------------------------------------------------------------------------------------- */

static dnnl_tp_engine_t engine;
static int8_t weights[WEIGHTS];
static float scale[N], table[MOST * N];
static _Atomic int dropped;
static void drop(void *arg) { atomic_fetch_add((_Atomic int *)arg, 1); }

static float table_at(int64_t row, int64_t column) { return (float)((row * 7 + column) % 11) - 5.f; }

static void fill(int seed) {
    for (int i = 0; i < WEIGHTS; ++i) weights[i] = (int8_t)((i * 37 + i / 64 + seed) % 19 - 9);
    for (int i = 0; i < N; ++i) scale[i] = (float)(i % 4 + 1) * .25f;
    for (int i = 0; i < MOST * N; ++i) table[i] = table_at(i / N, i % N);
}

/* y {rows, N} = x {rows, K} (f32(w) * scale) + table[0..rows-1]: weights that all rows share,
 * converted and packed, and a part of a table that is this graph's alone. shows: f32(w) * scale
 * is an output, too, so that something reads the weights before they are packed. NULL: no
 * memory. */
static dnnl_tp_graph_t build_as(int64_t rows, const_dnnl_tp_graph_t with, bool shows) {
    const dnnl_tp_dims_t dx = {rows, K}, dw = {K, N}, ds = {N}, dt = {MOST, N}, di = {rows};
    const dnnl_tp_op_attr_t f32 = {dnnl_tp_op_attr_to, dnnl_tp_op_attr_string, 3, "f32"};
    dnnl_tp_graph_t g;
    dnnl_tp_value_t x, w, s, t, ids, part, y;
    int64_t id[MOST];
    for (int i = 0; i < rows; ++i) id[i] = i;
    if (dnnl_tp_graph_create(&g, dnnl_tp_cpu) != dnnl_tp_success) return NULL;
    dnnl_tp_value_t mul[2], mm[2], add[2], take[2];
    bool ok = (!with || dnnl_tp_graph_share(g, with) == dnnl_tp_success) &&
              dnnl_tp_graph_input(g, &x, "x", dnnl_tp_f32, 2, dx) == dnnl_tp_success &&
              dnnl_tp_graph_constant(g, &w, "w", dnnl_tp_s8, 2, dw, weights, DNNL_TP_CONSTANT_BORROW, drop,
                                     &dropped) == dnnl_tp_success &&
              dnnl_tp_graph_constant(g, &s, "s", dnnl_tp_f32, 1, ds, scale, DNNL_TP_CONSTANT_COPY, NULL,
                                     NULL) == dnnl_tp_success &&
              dnnl_tp_graph_constant(g, &t, "t", dnnl_tp_f32, 2, dt, table, DNNL_TP_CONSTANT_BORROW, NULL,
                                     NULL) == dnnl_tp_success &&
              dnnl_tp_graph_constant(g, &ids, "ids", dnnl_tp_s64, 1, di, id, DNNL_TP_CONSTANT_COPY, NULL,
                                     NULL) == dnnl_tp_success &&
              dnnl_tp_graph_op(g, dnnl_tp_op_type_cast, "cast", 1, &w, 1, &f32, 1, &w) == dnnl_tp_success;
    if (ok) mul[0] = w, mul[1] = s, take[0] = t, take[1] = ids;
    ok = ok && dnnl_tp_graph_op(g, dnnl_tp_op_multiply, "mul", 2, mul, 0, NULL, 1, &w) == dnnl_tp_success &&
         dnnl_tp_graph_op(g, dnnl_tp_op_gather, "take", 2, take, 0, NULL, 1, &part) == dnnl_tp_success;
    if (ok) mm[0] = x, mm[1] = w;
    ok = ok && dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "mm", 2, mm, 0, NULL, 1, &y) == dnnl_tp_success;
    if (ok) add[0] = y, add[1] = part;
    ok = ok && dnnl_tp_graph_op(g, dnnl_tp_op_add, "add", 2, add, 0, NULL, 1, &y) == dnnl_tp_success &&
         dnnl_tp_graph_output(g, y, "y") == dnnl_tp_success &&
         (!shows || dnnl_tp_graph_output(g, w, "w") == dnnl_tp_success);
    if (ok) return g;
    dnnl_tp_graph_destroy(g);
    return NULL;
}

static dnnl_tp_graph_t build(int64_t rows, const_dnnl_tp_graph_t with) { return build_as(rows, with, false); }

static bool is_right(dnnl_tp_executable_t e, int64_t rows) {
    static _Thread_local float x[MOST * K], y[MOST * N], w[WEIGHTS];
    dnnl_tp_stream_t stream;
    for (int i = 0; i < rows * K; ++i) x[i] = (float)(i % 5 - 2);
    if (dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags) != dnnl_tp_success) return false;
    bool ok = dnnl_tp_executable_run(e, stream, 1, (void *[]){x}, e->nout, (void *[]){y, w}, NULL) ==
              dnnl_tp_success;
    for (int i = 0; i < WEIGHTS && e->nout > 1 && ok; ++i) ok = w[i] == (float)weights[i] * scale[i % N];
    for (int64_t r = 0; r < rows && ok; ++r)
        for (int64_t c = 0; c < N && ok; ++c) { /* small integers and quarters: exact in any order */
            double sum = table_at(r, c);
            for (int64_t k = 0; k < K; ++k)
                sum += (double)x[r * K + k] * weights[k * N + c] * (double)scale[c];
            ok = (double)y[r * N + c] == sum;
        }
    return dnnl_tp_stream_destroy(stream) == dnnl_tp_success && ok;
}

static dnnl_tp_status_t compile(dnnl_tp_executable_t *e, dnnl_tp_graph_t g) {
    return dnnl_tp_executable_compile(e, g, engine, 0, NULL, NULL);
}

typedef struct {
    dnnl_tp_graph_t graph;
    dnnl_tp_executable_t exec;
    int64_t rows;
} shape_t;
static shape_t shape_as(int64_t rows, const_dnnl_tp_graph_t with, bool shows) {
    shape_t s = {build_as(rows, with, shows), NULL, rows};
    assert_non_null(s.graph);
    CHECK_OK(compile(&s.exec, s.graph));
    return s;
}
static shape_t shape(int64_t rows, const_dnnl_tp_graph_t with) { return shape_as(rows, with, false); }
static void end(shape_t *s) {
    dnnl_tp_executable_destroy(s->exec);
    dnnl_tp_graph_destroy(s->graph);
}

typedef struct {
    int sources, entries, blocks;
} counts_t;
static counts_t counts(const_dnnl_tp_graph_t g) {
    const dtp_store_t *s = g->root->store;
    counts_t n = {0, 0, 0};
    for (int b = 0; b < DTP_STORE_BUCKETS; ++b) {
        for (const dtp_source_t *c = s->sources[b]; c; c = c->next) ++n.sources;
        for (const dtp_derived_t *d = s->derived[b]; d; d = d->next) ++n.entries;
    }
    for (const dtp_block_t *b = s->blocks; b; b = b->next) ++n.blocks;
    return n;
}

/* ---- Tests
 * ------------------------------------------------------------------------------------------------- */

static int begin(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    CHECK_OK(dnnl_tp_set_allocator(&allocator));
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    fill(0);
    atomic_store(&dropped, 0);
    return 0;
}
static int finish(void **state) {
    (void)state;
    dnnl_tp_engine_destroy(engine);
    CHECK_OK(dnnl_tp_set_allocator(NULL));
    assert_int_equal(dtp_object_live(), 0);
    assert_true(test_becomes(&counted.live_bytes, 0));
    return 0;
}

/* The second shape allocates neither what was converted nor what was packed; on its own it does. */
static void test_shares(void **state) {
    (void)state;
    dnnl_tp_graph_t holder;
    CHECK_OK(dnnl_tp_graph_create(&holder, dnnl_tp_cpu));
    int64_t at[5];
    shape_t s[3];
    at[0] = atomic_load(&counted.live_bytes);
    s[0] = shape(3, holder);
    at[1] = atomic_load(&counted.live_bytes);
    s[1] = shape(5, holder);
    at[2] = atomic_load(&counted.live_bytes);
    s[2] = shape(5, NULL);
    at[3] = atomic_load(&counted.live_bytes);
    const int64_t packed = WEIGHTS * (int64_t)sizeof(float);
    assert_true(at[1] - at[0] > packed && at[1] - at[0] < 2 * packed); /* what was converted is gone */
    assert_true(at[3] - at[2] > packed);
    assert_true(at[2] - at[1] < packed / 2);
    for (int i = 0; i < 3; ++i) assert_true(is_right(s[i].exec, s[i].rows));
    /* What the second shape alone has goes with it; weights go with the last. */
    const counts_t both = counts(holder);
    end(&s[1]);
    const counts_t one = counts(holder);
    assert_true(one.entries < both.entries && one.sources < both.sources && one.blocks < both.blocks);
    assert_true(is_right(s[0].exec, 3));
    end(&s[0]);
    assert_int_equal(counts(holder).sources + counts(holder).entries + counts(holder).blocks, 0);
    assert_int_equal(atomic_load(&dropped), 2);
    end(&s[2]);
    assert_int_equal(atomic_load(&dropped), 3);
    dnnl_tp_graph_destroy(holder);
}

/* Constants that fill a large page ask for large pages. */
static void test_large_pages(void **state) {
    (void)state;
    dtp_store_t *store = dtp_store_create(&allocator);
    assert_non_null(store);
    for (size_t size = DTP_LARGE_PAGE; size <= 2 * (size_t)DTP_LARGE_PAGE + 2;
         size += DTP_LARGE_PAGE / 2 + 1) {
        void *p = dtp_store_alloc(store, size);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % DTP_LARGE_PAGE, 0);
        dtp_free(&allocator, p);
    }
    dtp_object_release(store);
}

/* What was let go is made again for the shape that reads it, and then it stays; it has the same
 * identity, so that nothing is packed again. */
static void test_made_again(void **state) {
    (void)state;
    const int64_t packed = WEIGHTS * (int64_t)sizeof(float);
    for (int order = 0; order < 2; ++order) {
        int64_t at[4];
        shape_t s[3];
        at[0] = atomic_load(&counted.live_bytes);
        s[0] = shape_as(3, NULL, order == 1);
        at[1] = atomic_load(&counted.live_bytes);
        s[1] = shape_as(3, s[0].graph, order == 0);
        at[2] = atomic_load(&counted.live_bytes);
        s[2] = shape_as(5, s[0].graph, true);
        at[3] = atomic_load(&counted.live_bytes);
        const int64_t with_scaled = at[order == 1 ? 1 : 2] - at[0];
        assert_true(with_scaled > 2 * packed && with_scaled < 3 * packed);
        assert_true(at[2] - at[1] < (order == 1 ? packed / 2 : packed * 3 / 2) && at[3] - at[2] < packed / 2);
        for (int i = 0; i < 3; ++i) assert_true(is_right(s[i].exec, s[i].rows));
        for (int i = 0; i < 3; ++i) end(&s[i]);
    }
}

/* Ever new shapes, two of them at a time, let nothing grow; one graph that is compiled again
 * makes nothing again. */
static void test_does_not_grow(void **state) {
    (void)state;
    dnnl_tp_graph_t holder;
    CHECK_OK(dnnl_tp_graph_create(&holder, dnnl_tp_cpu));
    shape_t last = shape(MOST, holder);
    counts_t first = counts(holder);
    for (int i = 0; i < 200; ++i) {
        shape_t next = shape(1 + i % (MOST - 1), holder);
        end(&last);
        last = next;
        const counts_t now = counts(holder);
        assert_true(now.entries <= first.entries + 1 && now.sources == first.sources &&
                    now.blocks <= first.blocks + 1);
    }
    const int64_t id = atomic_load(&holder->root->store->next_id);
    for (int i = 0; i < 3; ++i) {
        dnnl_tp_executable_destroy(last.exec);
        CHECK_OK(compile(&last.exec, last.graph));
        assert_true(is_right(last.exec, last.rows));
    }
    assert_int_equal(atomic_load(&holder->root->store->next_id), id);
    end(&last);
    dnnl_tp_graph_destroy(holder);
}

/* Graphs and executables end in any order; who is left computes the right values. */
static void test_orders(void **state) {
    (void)state;
    for (int order = 0; order < 24; ++order) {
        shape_t s[2];
        s[0] = shape(4, NULL);
        s[1] = shape(7, s[0].graph);
        int left[4] = {0, 1, 2, 3}, code = order; /* graph 0, executable 0, graph 1, executable 1 */
        for (int n = 4; n > 0; --n) {
            const int k = code % n, what = left[k];
            code /= n;
            left[k] = left[n - 1];
            if (what % 2) {
                dnnl_tp_executable_destroy(s[what / 2].exec);
                s[what / 2].exec = NULL;
            } else dnnl_tp_graph_destroy(s[what / 2].graph);
            for (int i = 0; i < 2; ++i)
                if (s[i].exec) assert_true(is_right(s[i].exec, s[i].rows));
        }
        assert_int_equal(atomic_load(&dropped), 2 * order + 2);
    }
}

/* y {1, N} = x first + x second, x all ones; first and second are borrowed. */
static shape_t two_products(const float *first, const float *second, const_dnnl_tp_graph_t with) {
    const dnnl_tp_dims_t dx = {1, K}, dw = {K, N};
    const float *data[2] = {first, second};
    shape_t s = {.rows = 1};
    dnnl_tp_value_t x, y[2];
    CHECK_OK(dnnl_tp_graph_create(&s.graph, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_share(s.graph, with));
    CHECK_OK(dnnl_tp_graph_input(s.graph, &x, "x", dnnl_tp_f32, 2, dx));
    for (int i = 0; i < 2; ++i) {
        dnnl_tp_value_t in[2] = {x};
        CHECK_OK(dnnl_tp_graph_constant(s.graph, &in[1], "w", dnnl_tp_f32, 2, dw, data[i],
                                        DNNL_TP_CONSTANT_BORROW, NULL, NULL));
        CHECK_OK(dnnl_tp_graph_op(s.graph, dnnl_tp_op_matmul, "mm", 2, in, 0, NULL, 1, &y[i]));
    }
    CHECK_OK(dnnl_tp_graph_op(s.graph, dnnl_tp_op_add, "add", 2, y, 0, NULL, 1, y));
    CHECK_OK(dnnl_tp_graph_output(s.graph, y[0], "y"));
    CHECK_OK(compile(&s.exec, s.graph));
    return s;
}
static void products_are(const shape_t *s, float want) {
    float x[K], y[N];
    dnnl_tp_stream_t stream;
    for (int i = 0; i < K; ++i) x[i] = 1.f;
    CHECK_OK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    CHECK_OK(dnnl_tp_executable_run(s->exec, stream, 1, (void *[]){x}, 1, (void *[]){y}, NULL));
    for (int i = 0; i < N; ++i) assert_true(y[i] == (float)K * want);
    CHECK_OK(dnnl_tp_stream_destroy(stream));
}

/* An address that was borrowed before, with other bytes: nothing that was made from the old ones is
 * found, though they stand in a block that another graph uses. */
static void test_old_addresses(void **state) {
    (void)state;
    static float w[3][WEIGHTS];
    dnnl_tp_graph_t holder;
    CHECK_OK(dnnl_tp_graph_create(&holder, dnnl_tp_cpu));
    for (int k = 0; k < 3; ++k)
        for (int i = 0; i < WEIGHTS; ++i) w[k][i] = (float)(1 << k);
    shape_t a = two_products(w[0], w[1], holder), b = two_products(w[2], w[1], holder);
    products_are(&a, 1 + 2);
    end(&a);
    for (int i = 0; i < WEIGHTS; ++i) w[0][i] = 16.f;
    a = two_products(w[0], w[1], holder);
    products_are(&a, 16 + 2);
    products_are(&b, 4 + 2);
    end(&a);
    end(&b);
    dnnl_tp_graph_destroy(holder);
}

/* Copies of the same bytes are one, of other bytes, lengths or addresses others; empty ones are
 * allowed. */
static void test_identities(void **state) {
    (void)state;
    dnnl_tp_graph_t g, h, empty;
    static const float a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 3, 4}, c[4] = {1, 2, 3, 5};
    static const struct {
        const float *data;
        int n;
        unsigned mode;
        int same_as;
    } rows[] = {{a, 4, DNNL_TP_CONSTANT_COPY, 0},   {b, 4, DNNL_TP_CONSTANT_COPY, 0},
                {c, 4, DNNL_TP_CONSTANT_COPY, 2},   {a, 3, DNNL_TP_CONSTANT_COPY, 3},
                {c, 3, DNNL_TP_CONSTANT_COPY, 3},   {a, 4, DNNL_TP_CONSTANT_BORROW, 5},
                {b, 4, DNNL_TP_CONSTANT_BORROW, 6}, {a, 4, DNNL_TP_CONSTANT_BORROW, 5},
                {a, 2, DNNL_TP_CONSTANT_BORROW, 8}, {NULL, 0, DNNL_TP_CONSTANT_COPY, 9},
                {a, 0, DNNL_TP_CONSTANT_BORROW, 9}};
    enum { ROWS = sizeof rows / sizeof *rows };
    int64_t id[2 * ROWS];
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_create(&h, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_graph_share(h, g));
    for (int i = 0; i < 2 * ROWS; ++i) {
        dnnl_tp_graph_t to = i < ROWS ? g : h;
        const dnnl_tp_dims_t dims = {rows[i % ROWS].n};
        dnnl_tp_value_t v;
        CHECK_OK(dnnl_tp_graph_constant(to, &v, "", dnnl_tp_f32, 1, dims, rows[i % ROWS].data,
                                        rows[i % ROWS].mode, NULL, NULL));
        const dtp_source_t *source = to->root->values[v].constant->source;
        id[i] = source->id;
        assert_true(rows[i % ROWS].n == 0 || !memcmp(source->data, rows[i % ROWS].data, source->bytes));
        for (int k = 0; k < i; ++k)
            assert_int_equal(id[k] == id[i], rows[k % ROWS].same_as == rows[i % ROWS].same_as);
    }
    CHECK_STATUS(dnnl_tp_graph_share(h, g), dnnl_tp_invalid_arguments); /* it has values */
    CHECK_OK(dnnl_tp_graph_create(&empty, dnnl_tp_cpu));
    CHECK_STATUS(dnnl_tp_graph_share(empty, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_graph_share(NULL, g), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_graph_share(empty, empty));
    CHECK_OK(dnnl_tp_graph_share(empty, g));
    dnnl_tp_graph_destroy(empty);
    dnnl_tp_graph_destroy(g);
    dnnl_tp_graph_destroy(h);
}

/* The n-th allocation fails, for every n, in a store that has nothing and in one that has the
 * weights, but not what they were packed from, where the new graph reads that or not: nothing is
 * left of the attempt, and the next one goes well. */
static void test_no_memory(void **state) {
    (void)state;
    for (int k = 0; k < 4; ++k) {
        const bool warm = k & 1, shows = k & 2;
        bool done = false;
        int n = 0;
        for (; !done; ++n) {
            const int64_t bytes = atomic_load(&counted.live_bytes), objects = dtp_object_live();
            dnnl_tp_graph_t holder;
            shape_t other = {NULL, NULL, 9};
            CHECK_OK(dnnl_tp_graph_create(&holder, dnnl_tp_cpu));
            if (warm) other = shape(9, holder);
            const counts_t before = counts(holder);
            dnnl_tp_executable_t e = NULL;
            atomic_store(&counted.fail_at, n);
            dnnl_tp_graph_t g = build_as(11, holder, shows);
            dnnl_tp_status_t status = g ? compile(&e, g) : dnnl_tp_out_of_memory;
            done = atomic_exchange(&counted.fail_at, -1) >= 0;
            if (status != dnnl_tp_success) {
                assert_int_equal(status, dnnl_tp_out_of_memory);
                assert_false(done);
                if (g) CHECK_OK(compile(&e, g)); /* the same graph, once more */
            }
            if (e) assert_true(is_right(e, 11));
            dnnl_tp_executable_destroy(e);
            dnnl_tp_graph_destroy(g);
            const counts_t after = counts(holder);
            assert_true(!memcmp(&before, &after, sizeof after));
            if (warm) assert_true(is_right(other.exec, 9));
            end(&other);
            dnnl_tp_graph_destroy(holder);
            assert_int_equal(atomic_load(&counted.live_bytes), bytes);
            assert_int_equal(dtp_object_live(), objects);
        }
        print_message("%d allocations\n", n);
    }
}

/* Threads that want the same at once: the store has it once in the end, whoever had no memory. */
typedef struct {
    pthread_t thread;
    pthread_barrier_t *barrier;
    const_dnnl_tp_graph_t holder;
    int index, failures;
    bool fails, ok;
} worker_t;
static void *work(void *arg) {
    worker_t *w = arg;
    const int64_t rows = 2 + w->index;
    w->ok = true;
    for (int round = 0; round < 6; ++round) {
        pthread_barrier_wait(w->barrier);
        dnnl_tp_graph_t g = build_as(rows, w->holder, (w->index + round) % 3 == 0);
        dnnl_tp_executable_t e = NULL;
        fails = w->fails;
        const dnnl_tp_status_t status = g ? compile(&e, g) : dnnl_tp_runtime_error;
        fails = false;
        w->ok &= status == dnnl_tp_success ? is_right(e, rows) : w->fails && status == dnnl_tp_out_of_memory;
        w->failures += status != dnnl_tp_success;
        pthread_barrier_wait(w->barrier);
        if (w->index ==
            0) { /* all but those that failed have the weights: cast, scaled, packed; parts of tables are their own */
            const counts_t n = counts(w->holder);
            w->ok &= n.entries >= 3 && n.entries <= 3 + 2 * THREADS;
        }
        pthread_barrier_wait(w->barrier);
        w->ok &= dnnl_tp_executable_destroy(e) == dnnl_tp_success;
        w->ok &= !g || dnnl_tp_graph_destroy(g) == dnnl_tp_success;
    }
    return NULL;
}
static void test_threads(void **state) {
    (void)state;
    for (int failing = 0; failing <= THREADS - 1; failing += THREADS - 1) {
        dnnl_tp_graph_t holder;
        pthread_barrier_t barrier;
        worker_t w[THREADS];
        CHECK_OK(dnnl_tp_graph_create(&holder, dnnl_tp_cpu));
        assert_int_equal(pthread_barrier_init(&barrier, NULL, THREADS), 0);
        watchdog(60, NULL);
        for (int i = 0; i < THREADS; ++i) {
            w[i] = (worker_t){.barrier = &barrier, .holder = holder, .index = i, .fails = i < failing};
            assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
        }
        for (int i = 0; i < THREADS; ++i) {
            assert_int_equal(pthread_join(w[i].thread, NULL), 0);
            assert_true(w[i].ok && (w[i].fails || w[i].failures == 0));
        }
        assert_int_equal(counts(holder).entries + counts(holder).sources, 0);
        pthread_barrier_destroy(&barrier);
        dnnl_tp_graph_destroy(holder);
    }
}

/* A program's allocator waits for a thread that compiles the same: at whichever allocation, nothing
 * that the other one needs is held, and the store has everything once in the end. */
typedef struct {
    shape_t *shape;
    int stop_in;
    dnnl_tp_status_t status;
    _Atomic int ended;
} stopping_t;
static void *compile_stopping(void *arg) {
    stopping_t *s = arg;
    stop_in = s->stop_in;
    s->status = compile(&s->shape->exec, s->shape->graph);
    s->stop_in = stop_in;
    stop_in = -1;
    atomic_store(&s->ended, 1);
    return NULL;
}
static void test_waits_in_allocator(void **state) {
    (void)state;
    counts_t alone = {0, 0, 0};
    int stops = 0;
    for (int n = -1, was_stopped = 1; was_stopped; ++n) { /* -1: nothing stops */
        dnnl_tp_graph_t holder;
        CHECK_OK(dnnl_tp_graph_create(&holder, dnnl_tp_cpu));
        shape_t stopped_one = {build(5, holder), NULL, 5}, other = {build(5, holder), NULL, 5};
        assert_true(stopped_one.graph && other.graph);
        stopping_t s = {.shape = &stopped_one, .stop_in = n};
        pthread_t thread;
        atomic_store(&go_on, 0);
        atomic_store(&stopped, 0);
        watchdog(60, NULL);
        assert_int_equal(pthread_create(&thread, NULL, compile_stopping, &s), 0);
        while (!atomic_load(&stopped) && !atomic_load(&s.ended)) usleep(100);
        CHECK_OK(compile(&other.exec, other.graph)); /* hangs where the thread that stopped has a lock */
        atomic_store(&go_on, 1);
        assert_int_equal(pthread_join(thread, NULL), 0);
        CHECK_OK(s.status);
        was_stopped = n < 0 || atomic_load(&stopped);
        stops += n >= 0 && was_stopped;
        const counts_t now = counts(holder);
        if (n < 0) alone = now;
        assert_true(now.entries == alone.entries && now.blocks == alone.blocks &&
                    now.sources == alone.sources);
        if (n % 8 < 1) assert_true(is_right(other.exec, 5) && is_right(stopped_one.exec, 5));
        end(&other);
        end(&stopped_one);
        assert_int_equal(counts(holder).entries, 0);
        dnnl_tp_graph_destroy(holder);
    }
    assert_true(stops > 20);
}

/* A fork while another thread makes something in the store: the child makes it itself. */
static void *compile_one(void *arg) {
    shape_t *s = arg;
    return (void *)(intptr_t)compile(&s->exec, s->graph);
}
static void test_fork(void **state) {
    (void)state;
    dnnl_tp_graph_t holder;
    CHECK_OK(dnnl_tp_graph_create(&holder, dnnl_tp_cpu));
    shape_t mine = {build(5, holder), NULL, 5}, theirs = {build(8, holder), NULL, 8};
    assert_true(mine.graph && theirs.graph);
    pthread_t thread;
    void *result;
    atomic_store(&go_on, 0);
    atomic_store(&stopped, 0);
    atomic_store(&stop_at, WEIGHTS * sizeof(float)); /* the first conversion of weights, or their packing */
    assert_int_equal(pthread_create(&thread, NULL, compile_one, &theirs), 0);
    while (!atomic_load(&stopped)) usleep(500);
    watchdog(100, NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        bool ok = compile(&mine.exec, mine.graph) == dnnl_tp_success && is_right(mine.exec, 5);
        end(&mine);
        ok &= dnnl_tp_graph_destroy(holder) == dnnl_tp_success;
        syscall(SYS_exit_group, ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    atomic_store(&go_on, 1);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_int_equal((intptr_t)result, dnnl_tp_success);
    CHECK_OK(compile(&mine.exec, mine.graph));
    assert_true(is_right(mine.exec, 5) && is_right(theirs.exec, 8));
    end(&mine);
    end(&theirs);
    dnnl_tp_graph_destroy(holder);
}

int main(void) {
    if (DNNL_TP_CPU_RUNTIME == DNNL_TP_RUNTIME_TBB) { /* its threads allocate when they like */
        puts("SKIPPED: bytes cannot be counted beside oneTBB's threads");
        return 0;
    }
    test_allocator_init(&counted);
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, finish)
    const struct CMUnitTest tests[] = {
        TEST(test_shares),    TEST(test_made_again),    TEST(test_does_not_grow),
        TEST(test_orders),    TEST(test_old_addresses), TEST(test_identities),
        TEST(test_no_memory), TEST(test_threads),       TEST(test_waits_in_allocator),
        TEST(test_fork),      TEST(test_large_pages)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
