/* What must hold for every kind of primitive alike: the same bits on every pool, planned for any number of
 * threads, executed on pools of any size, on two pools at once; and no harm when any allocation fails. Values
 * are checked by the kinds' own tests. */
#include "support/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/object.h"
#include "common/primitive_desc.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "support/hostile_pools.h"

/* ---- One problem per kind, large enough to be split
 * -------------------------------------------------------- */

typedef dnnl_tp_status_t (*make_fn_t)(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t engine,
                                      const_dnnl_tp_primitive_attr_t attr);

static dnnl_tp_status_t md_of(dnnl_tp_memory_desc_t *md, int64_t a, int64_t b, int64_t c,
                              dnnl_tp_format_tag_t tag) {
    dnnl_tp_dims_t dims = {a, b, c};
    return dnnl_tp_memory_desc_create_with_tag(md, c ? 3 : 2, dims, dnnl_tp_f32, tag);
}

/* Calls create with up to four descriptors that are released afterwards. */
#define WITH_MDS(count, init, create)                                         \
    dnnl_tp_memory_desc_t md[4] = {NULL};                                     \
    dnnl_tp_status_t status = dnnl_tp_success;                                \
    *pd = NULL;                                                               \
    init;                                                                     \
    if (!status) status = create;                                             \
    for (int i_ = 0; i_ < 4; ++i_) (void)dnnl_tp_memory_desc_destroy(md[i_]); \
    return status
#define MD(i, ...) \
    if (!status) status = md_of(&md[i], __VA_ARGS__)

static dnnl_tp_status_t make_matmul(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                    const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(3, MD(0, 97, 131, 0, dnnl_tp_ab); MD(1, 131, 203, 0, dnnl_tp_ab);
             MD(2, 97, 203, 0, dnnl_tp_ab),
             dnnl_tp_matmul_primitive_desc_create(pd, e, md[0], md[1], NULL, md[2], a));
}
static dnnl_tp_status_t make_matmul_transposed(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                               const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(3, MD(0, 5, 67, 90, dnnl_tp_acb); MD(1, 5, 90, 71, dnnl_tp_acb);
             MD(2, 5, 67, 71, dnnl_tp_abc),
             dnnl_tp_matmul_primitive_desc_create(pd, e, md[0], md[1], NULL, md[2], a));
}
static dnnl_tp_status_t make_inner_product(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                           const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(3, MD(0, 33, 200, 0, dnnl_tp_ab); MD(1, 150, 200, 0, dnnl_tp_ab);
             MD(2, 33, 150, 0, dnnl_tp_ab),
             dnnl_tp_inner_product_forward_primitive_desc_create(pd, e, dnnl_tp_forward_inference, md[0],
                                                                 md[1], NULL, md[2], a));
}
static dnnl_tp_status_t make_softmax(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                     const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 301, 131, 0, dnnl_tp_ab),
             dnnl_tp_softmax_forward_primitive_desc_create(pd, e, dnnl_tp_forward_inference,
                                                           dnnl_tp_softmax_accurate, md[0], md[0], 1, a));
}
static dnnl_tp_status_t make_layer_norm(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                        const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 301, 131, 0, dnnl_tp_ab),
             dnnl_tp_layer_normalization_forward_primitive_desc_create(
                 pd, e, dnnl_tp_forward_training, md[0], md[0], NULL, 1e-5f,
                 dnnl_tp_use_scale | dnnl_tp_use_shift, a));
}
static dnnl_tp_status_t make_eltwise(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                     const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(1, MD(0, 301, 331, 0, dnnl_tp_ab),
             dnnl_tp_eltwise_forward_primitive_desc_create(
                 pd, e, dnnl_tp_forward_inference, dnnl_tp_eltwise_gelu_erf, md[0], md[0], 0.f, 0.f, a));
}
static dnnl_tp_status_t make_binary(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                    const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(3, MD(0, 301, 331, 0, dnnl_tp_ab); MD(1, 301, 1, 0, dnnl_tp_ab);
             MD(2, 301, 331, 0, dnnl_tp_ab),
             dnnl_tp_binary_primitive_desc_create(pd, e, dnnl_tp_binary_mul, md[0], md[1], md[2], a));
}
static dnnl_tp_status_t make_reduction(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                       const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(2, MD(0, 7, 3001, 17, dnnl_tp_abc);
             MD(1, 7, 1, 17, dnnl_tp_abc), dnnl_tp_reduction_primitive_desc_create(
                                               pd, e, dnnl_tp_reduction_sum, md[0], md[1], 0.f, 0.f, a));
}
static dnnl_tp_status_t make_reduction_of_all(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                              const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(2, MD(0, 7, 30001, 0, dnnl_tp_ab);
             MD(1, 1, 1, 0, dnnl_tp_ab), dnnl_tp_reduction_primitive_desc_create(
                                             pd, e, dnnl_tp_reduction_mean, md[0], md[1], 0.f, 0.f, a));
}
static dnnl_tp_status_t make_reorder(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                     const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(2, MD(0, 3, 133, 401, dnnl_tp_abc);
             MD(1, 3, 133, 401, dnnl_tp_aBc16b),
             dnnl_tp_reorder_primitive_desc_create(pd, md[0], e, md[1], e, a));
}
static dnnl_tp_status_t make_concat(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                    const_dnnl_tp_primitive_attr_t a) {
    WITH_MDS(
        2, MD(0, 101, 333, 0, dnnl_tp_ab);
        MD(1, 101, 77, 0, dnnl_tp_ba),
        dnnl_tp_concat_primitive_desc_create(pd, e, NULL, 2, 1, (const_dnnl_tp_memory_desc_t const *)md, a));
}
static dnnl_tp_status_t make_sum(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t e,
                                 const_dnnl_tp_primitive_attr_t a) {
    static const float scales[3] = {0.5f, 2.f, -1.f};
    WITH_MDS(3, MD(0, 301, 331, 0, dnnl_tp_ab); MD(1, 301, 331, 0, dnnl_tp_ab);
             MD(2, 301, 331, 0, dnnl_tp_ab),
             dnnl_tp_sum_primitive_desc_create(pd, e, NULL, 3, scales,
                                               (const_dnnl_tp_memory_desc_t const *)md, a));
}

static const struct {
    const char *name;
    make_fn_t make;
} problems[] = {{"matmul", make_matmul},
                {"matmul transposed", make_matmul_transposed},
                {"inner product", make_inner_product},
                {"softmax", make_softmax},
                {"layer norm", make_layer_norm},
                {"eltwise", make_eltwise},
                {"binary", make_binary},
                {"reduction", make_reduction},
                {"reduction of all", make_reduction_of_all},
                {"reorder", make_reorder},
                {"concat", make_concat},
                {"sum", make_sum}};
enum { PROBLEMS = sizeof problems / sizeof *problems, MAX_ARGS = 8 };

/* ---- Buffers
 * ------------------------------------------------------------------------------------------------ */

typedef struct {
    int n;
    dnnl_tp_exec_handle_t arg[MAX_ARGS];
    size_t bytes[MAX_ARGS];
    bool output[MAX_ARGS];
} buffers_t;

static void buffers_create(buffers_t *b, const_dnnl_tp_primitive_desc_t pd) {
    memset(b, 0, sizeof *b);
    for (int i = 0; i < pd->nargs; ++i) {
        if (!pd->arg_bytes[i]) continue;
        assert_true(b->n < MAX_ARGS);
        test_rng_t rng = test_rng((uint64_t)i);
        size_t bytes = (pd->arg_bytes[i] + 63) / 64 * 64;
        float *data = aligned_alloc(64, bytes);
        for (size_t k = 0; k < bytes / sizeof *data; ++k) data[k] = test_uniform(&rng, -2.f, 2.f);
        b->arg[b->n] = (dnnl_tp_exec_handle_t){pd->args[i].arg, data};
        b->bytes[b->n] = pd->arg_bytes[i];
        b->output[b->n++] = (pd->args[i].flags & DTP_ARG_OUTPUT) != 0;
    }
}

static void buffers_destroy(buffers_t *b) {
    for (int i = 0; i < b->n; ++i) free(b->arg[i].handle);
}

static void clear_outputs(buffers_t *b) {
    for (int i = 0; i < b->n; ++i)
        if (b->output[i]) memset(b->arg[i].handle, 0xff, b->bytes[i]);
}

static bool same_outputs(const buffers_t *a, const buffers_t *b) {
    for (int i = 0; i < a->n; ++i)
        if (a->output[i] && memcmp(a->arg[i].handle, b->arg[i].handle, a->bytes[i])) return false;
    return true;
}

static dnnl_tp_primitive_t primitive_for(dnnl_tp_engine_t engine, int problem, int threads) {
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_primitive_attr_set_num_threads(attr, threads));
    CHECK_OK(problems[problem].make(&pd, engine, attr));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(attr));
    return p;
}

static dnnl_tp_stream_t stream_on(dnnl_tp_engine_t engine, const dnnl_tp_threadpool_iface_t *pool) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    CHECK_OK(dnnl_tp_stream_attr_set_threadpool(attr, pool));
    CHECK_OK(dnnl_tp_stream_create_v2(&stream, engine, 0, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return stream;
}

/* Expected outputs: planned for one thread, run on the caller. */
static void expected_of(dnnl_tp_engine_t engine, int problem, buffers_t *want) {
    dnnl_tp_primitive_t p = primitive_for(engine, problem, 1);
    dnnl_tp_stream_t stream = stream_on(engine, NULL);
    buffers_create(want, p->pd);
    clear_outputs(want);
    CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, want->n, want->arg));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
}

/* ---- Tests
 * -------------------------------------------------------------------------------------------------- */

#if DNNL_TP_WITH_THREADPOOL
static void every_pool_gives_the_same_bits(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        buffers_t want, got;
        expected_of(engine, problem, &want);
        dnnl_tp_primitive_t p = primitive_for(engine, problem, 3);
        buffers_create(&got, p->pd);
        for (int kind = 0; kind < POOL_KINDS; ++kind) {
            hostile_pool_t *pool = hostile_pool_create((hostile_kind_t)kind, 2);
            dnnl_tp_stream_t stream = stream_on(engine, hostile_pool_iface(pool));
            clear_outputs(&got);
            for (int twice = 0; twice < 2; ++twice)
                CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, got.n, got.arg));
            hostile_pool_unstall(pool);
            CHECK_OK(dnnl_tp_stream_wait(stream));
            if (!same_outputs(&want, &got))
                fail_msg("%s on %s", problems[problem].name, hostile_pool_name((hostile_kind_t)kind));
            CHECK_OK(dnnl_tp_stream_destroy(stream));
            hostile_pool_destroy(pool);
        }
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        buffers_destroy(&want);
        buffers_destroy(&got);
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

static void plans_run_on_pools_of_any_size(void **state) {
    (void)state;
    static const int counts[] = {1, 2, 3, 7};
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int m = 0; m < 4; ++m) {
        dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = counts[m]};
        dnnl_tp_threadpool_t pool;
        const dnnl_tp_threadpool_iface_t *iface;
        CHECK_OK(dnnl_tp_threadpool_create(&pool, &opts));
        CHECK_OK(dnnl_tp_threadpool_get_iface(pool, &iface));
        dnnl_tp_stream_t stream = stream_on(engine, iface);
        for (int problem = 0; problem < PROBLEMS; ++problem) {
            buffers_t want, got;
            expected_of(engine, problem, &want);
            for (int n = 0; n < 4; ++n) {
                dnnl_tp_primitive_t p = primitive_for(engine, problem, counts[n]);
                buffers_create(&got, p->pd);
                clear_outputs(&got);
                CHECK_OK(dnnl_tp_primitive_execute_handles(p, stream, got.n, got.arg));
                if (!same_outputs(&want, &got))
                    fail_msg("%s for %d threads on %d", problems[problem].name, counts[n], counts[m]);
                buffers_destroy(&got);
                CHECK_OK(dnnl_tp_primitive_destroy(p));
            }
            buffers_destroy(&want);
        }
        CHECK_OK(dnnl_tp_stream_destroy(stream));
        CHECK_OK(dnnl_tp_threadpool_destroy(pool));
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

typedef struct {
    dnnl_tp_engine_t engine;
    dnnl_tp_primitive_t primitive;
    const buffers_t *want;
    int bad;
} caller_t;

static void *execute_often(void *arg) {
    caller_t *c = arg;
    buffers_t got;
    buffers_create(&got, c->primitive->pd);
    hostile_pool_t *pool = hostile_pool_create(POOL_FIFO, 2);
    dnnl_tp_stream_t stream = stream_on(c->engine, hostile_pool_iface(pool));
    for (int i = 0; i < 20; ++i) {
        clear_outputs(&got);
        if (dnnl_tp_primitive_execute_handles(c->primitive, stream, got.n, got.arg)) ++c->bad;
        if (!same_outputs(c->want, &got)) ++c->bad;
    }
    if (dnnl_tp_stream_destroy(stream)) ++c->bad;
    hostile_pool_destroy(pool);
    buffers_destroy(&got);
    return NULL;
}

static void one_primitive_runs_on_two_pools_at_once(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        buffers_t want;
        expected_of(engine, problem, &want);
        dnnl_tp_primitive_t p = primitive_for(engine, problem, 2);
        pthread_t thread[2];
        caller_t caller[2] = {{engine, p, &want, 0}, {engine, p, &want, 0}};
        for (int i = 0; i < 2; ++i)
            assert_int_equal(pthread_create(&thread[i], NULL, execute_often, &caller[i]), 0);
        for (int i = 0; i < 2; ++i) pthread_join(thread[i], NULL);
        assert_int_equal(caller[0].bad + caller[1].bad, 0);
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        buffers_destroy(&want);
    }
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}
#endif

static dnnl_tp_status_t whole_life(int problem, buffers_t *b) {
    dnnl_tp_engine_t engine = NULL;
    dnnl_tp_stream_t stream = NULL;
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_t p = NULL;
    dnnl_tp_status_t s = dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0);
    if (!s) s = dnnl_tp_stream_create(&stream, engine, 0);
    if (!s) s = problems[problem].make(&pd, engine, NULL);
    if (!s) s = dnnl_tp_primitive_create(&p, pd);
    if (!s) s = dnnl_tp_primitive_execute_handles(p, stream, b->n, b->arg);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
    return s;
}

static void every_failing_allocation_is_survived(void **state) {
    (void)state;
    test_allocator_t a;
    test_allocator_init(&a);
    for (int problem = 0; problem < PROBLEMS; ++problem) {
        dnnl_tp_engine_t engine;
        buffers_t want, got;
        CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
        expected_of(engine, problem, &want);
        dnnl_tp_primitive_t p = primitive_for(engine, problem, 1);
        buffers_create(&got, p->pd);
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_engine_destroy(engine));
        CHECK_OK(dnnl_tp_set_allocator(&a.iface));
        for (int n = 0;; ++n) {
            assert_true(n < 1000);
            clear_outputs(&got);
            atomic_store(&a.fail_at, n);
            dnnl_tp_status_t status = whole_life(problem, &got);
            bool failed = atomic_exchange(&a.fail_at, -1) < 0;
            assert_int_equal(dtp_object_live(), 0);
            assert_int_equal(atomic_load(&a.live), 0);
            if (!failed) {
                assert_int_equal(status, dnnl_tp_success);
                assert_true(same_outputs(&want, &got));
                break;
            }
            assert_int_equal(status, dnnl_tp_out_of_memory);
            for (int i = 0; i < got.n; ++i) /* outputs untouched */
                for (size_t k = 0; got.output[i] && k < got.bytes[i]; ++k)
                    assert_int_equal(((unsigned char *)got.arg[i].handle)[k], 0xff);
        }
        CHECK_OK(dnnl_tp_set_allocator(NULL));
        buffers_destroy(&want);
        buffers_destroy(&got);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
#if DNNL_TP_WITH_THREADPOOL
        cmocka_unit_test(every_pool_gives_the_same_bits),
        cmocka_unit_test(plans_run_on_pools_of_any_size),
        cmocka_unit_test(one_primitive_runs_on_two_pools_at_once),
#endif
        cmocka_unit_test(every_failing_allocation_is_survived)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
