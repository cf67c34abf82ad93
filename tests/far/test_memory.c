/* Memory of an engine that the host cannot read: creation, mapping, zero padding, reorders between engines and devices,
 * refusals, and what happens when it runs out. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/primitive/memory.h"
#include "support/check.h"
#include "support/far_engine/far_engine.h"
#include "support/tensor.h"
#include "support/upload.h"

static dnnl_tp_engine_t cpu, far, other;
static dnnl_tp_stream_t cpu_stream, far_stream;

static int setup(void **state) {
    (void)state;
    far_set_delay(300);
    CHECK_OK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_engine_create(&far, dnnl_tp_gpu, 0));
    CHECK_OK(dnnl_tp_engine_create(&other, dnnl_tp_gpu, 1));
    CHECK_OK(dnnl_tp_stream_create(&cpu_stream, cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&far_stream, far, 0));
    return 0;
}
static int teardown(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_stream_destroy(cpu_stream));
    CHECK_OK(dnnl_tp_stream_destroy(far_stream));
    CHECK_OK(dnnl_tp_engine_destroy(cpu));
    CHECK_OK(dnnl_tp_engine_destroy(far));
    CHECK_OK(dnnl_tp_engine_destroy(other));
    return far_report();
}

static dnnl_tp_memory_t memory_of(dnnl_tp_engine_t engine, const dtp_md_t *md) {
    dnnl_tp_memory_t m;
    CHECK_OK(dnnl_tp_memory_create(&m, md, engine, DNNL_TP_MEMORY_ALLOCATE));
    return m;
}
static void *handle_of(dnnl_tp_memory_t m) {
    void *handle;
    CHECK_OK(dnnl_tp_memory_get_data_handle(m, &handle));
    return handle;
}

static dnnl_tp_status_t reorder(dnnl_tp_memory_t from, dnnl_tp_memory_t to, dnnl_tp_stream_t stream) {
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    dnnl_tp_status_t s =
        dnnl_tp_reorder_primitive_desc_create(&pd, &from->md, from->engine, &to->md, to->engine, NULL);
    if (s) return s;
    dnnl_tp_engine_t e;
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_reorder_src_engine, 0, &e));
    assert_ptr_equal(e, from->engine);
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_reorder_dst_engine, 0, &e));
    assert_ptr_equal(e, to->engine);
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_FROM, from}, {DNNL_TP_ARG_TO, to}};
    s = dnnl_tp_primitive_execute(p, stream, 2, args);
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return s;
}

/* A limit that only this engine knows comes to it through its attributes. */
static void limit(void **state) {
    (void)state;
    if (!far_traits.has_controls) skip(); /* attributes of its own */
    enum { LIMIT = 8192, PART = 4096 };
    struct { /* of headers older and newer than the engine */
        far_engine_own_t known;
        size_t more;
    } own = {.known = {.struct_size = sizeof own, .memory_limit = LIMIT}};
    dnnl_tp_engine_attr_t attr;
    dnnl_tp_engine_t e;
    CHECK_OK(dnnl_tp_engine_attr_create(&attr));
    own.more = 1;
    CHECK_OK(dtp_own_set(&attr->own, dnnl_tp_gpu, &own));
    CHECK_STATUS(dnnl_tp_engine_create_v2(&e, dnnl_tp_gpu, 0, attr), dnnl_tp_invalid_arguments);
    own.known.struct_size = 1;
    CHECK_STATUS(dtp_own_set(&attr->own, dnnl_tp_gpu, &own), dnnl_tp_invalid_arguments);
    const size_t sizes[] = {sizeof own, sizeof own.known, sizeof(size_t)};
    own.more = 0;
    for (int k = 0; k < 3; ++k) {
        own.known.struct_size = sizes[k];
        CHECK_OK(dtp_own_set(&attr->own, dnnl_tp_gpu, &own));
        CHECK_STATUS(dnnl_tp_engine_create_v2(&e, dnnl_tp_cpu, 0, attr), dnnl_tp_invalid_arguments);
        CHECK_OK(dnnl_tp_engine_create_v2(&e, dnnl_tp_gpu, 0, attr));
        const int64_t bytes = PART, over = PART + 64;
        dtp_md_t part, large;
        dnnl_tp_memory_t a, b, c;
        CHECK_OK(dtp_md_init_strides(&part, 1, &bytes, dnnl_tp_u8, NULL));
        CHECK_OK(dtp_md_init_strides(&large, 1, &over, dnnl_tp_u8, NULL));
        a = memory_of(e, &part);
        if (k == 2) { /* the old struct has no limit */
            b = memory_of(e, &large);
        } else {
            CHECK_STATUS(dnnl_tp_memory_create(&b, &large, e, DNNL_TP_MEMORY_ALLOCATE),
                         dnnl_tp_out_of_memory);
            assert_non_null(
                strstr(dnnl_tp_last_error(), "4160 bytes wanted, 4096 of the engine's limit of 8192"));
            b = memory_of(e, &part);
            CHECK_OK(dnnl_tp_memory_destroy(a));
            a = memory_of(e, &part);
        }
        c = memory_of(far, &large); /* another engine of the device */
        CHECK_OK(dnnl_tp_memory_destroy(a));
        CHECK_OK(dnnl_tp_memory_destroy(b));
        CHECK_OK(dnnl_tp_memory_destroy(c));
        CHECK_OK(dnnl_tp_engine_destroy(e));
    }
    CHECK_OK(dnnl_tp_engine_attr_destroy(attr));
}

/* Values go there and back through mappings; a fresh memory is zero, also where it is padding. */
static void maps(void **state) {
    (void)state;
    tensor_t t, back;
    const int64_t dims[] = {3, 17, 5};
    tensor_layout(&t, 3, dims, dnnl_tp_f32, "aBc16b");
    tensor_layout(&back, 3, dims, dnnl_tp_f32, "aBc16b");
    dnnl_tp_memory_t m = memory_of(far, &t.md);
    test_download(m, back.data, back.bytes);
    for (size_t i = 0; i < back.bytes; ++i) assert_int_equal(back.data[i], 0);
    test_rng_t r = test_rng(1);
    tensor_fill(&t, &r, -1, 1, false);
    test_upload(m, t.data, t.bytes);
    test_download(m, back.data, back.bytes);
    assert_memory_equal(t.data, back.data, t.bytes);
    void *mapped;
    CHECK_OK(dnnl_tp_memory_map_data(m, &mapped));
    assert_ptr_not_equal(mapped, handle_of(m));
    CHECK_STATUS(dnnl_tp_memory_unmap_data(m, NULL), dnnl_tp_invalid_arguments);
    CHECK_STATUS(dnnl_tp_memory_unmap_data(m, handle_of(m)), dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_memory_unmap_data(m, mapped));
    CHECK_OK(dnnl_tp_memory_destroy(m));
    /* A window of a larger buffer, its offset included. */
    dnnl_tp_memory_desc_t sub;
    const dnnl_tp_dims_t size = {2, 3}, at = {1, 2}, whole = {4, 8};
    dnnl_tp_memory_desc_t parent;
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&parent, 2, whole, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_memory_desc_create_submemory(&sub, parent, size, at));
    m = memory_of(far, sub);
    CHECK_OK(dnnl_tp_memory_map_data(m, &mapped));
    ((float *)mapped)[1 * 8 + 2] = 7;
    CHECK_OK(dnnl_tp_memory_unmap_data(m, mapped));
    CHECK_OK(dnnl_tp_memory_destroy(m));
    CHECK_OK(dnnl_tp_memory_desc_destroy(sub));
    CHECK_OK(dnnl_tp_memory_desc_destroy(parent));
    tensor_free(&t), tensor_free(&back);
}

/* A buffer of the caller's: its padding is zeroed on the stream, behind earlier work. */
static void pads_what_it_is_given(void **state) {
    (void)state;
    if (!far_traits.blocked) skip();
    tensor_t t;
    const int64_t dims[] = {2, 5, 3};
    tensor_layout(&t, 3, dims, dnnl_tp_f32, "aBc16b"); /* all NaN */
    const int64_t bytes = (int64_t)t.bytes;
    dtp_md_t raw;
    CHECK_OK(dtp_md_init_strides(&raw, 1, &bytes, dnnl_tp_u8, NULL));
    dnnl_tp_memory_t buffer = memory_of(far, &raw), m;
    test_upload(buffer, t.data, t.bytes);
    CHECK_OK(dnnl_tp_memory_create_on_stream(&m, &t.md, far, handle_of(buffer), far_stream));
    CHECK_OK(dnnl_tp_stream_wait(far_stream));
    test_download(m, t.data, t.bytes);
    tensor_check(&t, "given");
    const int64_t first[3] = {0, 0, 0};
    assert_true(tensor_get(&t, first) != tensor_get(&t, first)); /* its elements are as they were */
    CHECK_STATUS(dnnl_tp_memory_set_data_handle_on_stream(m, handle_of(buffer), cpu_stream),
                 dnnl_tp_invalid_arguments);
    CHECK_OK(dnnl_tp_memory_destroy(m));
    CHECK_OK(dnnl_tp_memory_destroy(buffer));
    tensor_free(&t);
}

/* To the engine, within it, to the host: other layouts and types on the way. */
static void reorders_between_engines(void **state) {
    (void)state;
    for (int round = 0; round < 20; ++round) {
        tensor_t src, dst;
        const int64_t dims[] = {4, 19, 6};
        tensor_layout(&src, 3, dims, dnnl_tp_f32, "abc");
        tensor_layout(&dst, 3, dims, dnnl_tp_s8, "acb");
        dtp_md_t blocked, plain;
        const char *layout = far_traits.blocked ? "aBc16b" : "bac";
        CHECK_OK(dtp_md_init_layout(&blocked, 3, dims, dnnl_tp_bf16, layout));
        CHECK_OK(dtp_md_init_layout(&plain, 3, dims, dnnl_tp_f32, "cba"));
        test_rng_t r = test_rng((uint64_t)round);
        tensor_fill(&src, &r, -100, 100, true);
        dnnl_tp_memory_t from, to, a = memory_of(far, &blocked), b = memory_of(far, &plain);
        CHECK_OK(dnnl_tp_memory_create(&from, &src.md, cpu, src.data));
        CHECK_OK(dnnl_tp_memory_create(&to, &dst.md, cpu, dst.data));
        CHECK_OK(reorder(from, a, far_stream));
        CHECK_OK(reorder(a, b, far_stream));
        CHECK_OK(reorder(b, to, far_stream));
        CHECK_STATUS(reorder(b, to, cpu_stream), dnnl_tp_invalid_arguments); /* the far engine runs it */
        CHECK_OK(dnnl_tp_stream_wait(far_stream));
        int64_t pos[3] = {0};
        do assert_true(tensor_get(&src, pos) == tensor_get(&dst, pos));
        while (tensor_next(&src.md, pos));
        CHECK_OK(dnnl_tp_memory_destroy(from));
        CHECK_OK(dnnl_tp_memory_destroy(to));
        CHECK_OK(dnnl_tp_memory_destroy(a));
        CHECK_OK(dnnl_tp_memory_destroy(b));
        tensor_free(&src), tensor_free(&dst);
    }
    far_check();
}

static void refuses_memory_of_others(void **state) {
    (void)state;
    dtp_md_t md;
    const int64_t n = 64;
    CHECK_OK(dtp_md_init_strides(&md, 1, &n, dnnl_tp_f32, NULL));
    dnnl_tp_memory_t here = memory_of(cpu, &md), there = memory_of(far, &md),
                     elsewhere = memory_of(other, &md);
    CHECK_STATUS(reorder(there, elsewhere, far_stream), dnnl_tp_unimplemented);
    char name[32], text[64];
    snprintf(name, sizeof name, "%s 0", far_traits.name);
    assert_non_null(strstr(dnnl_tp_last_error(), name));
    dnnl_tp_engine_t engines[] = {cpu, far};
    dnnl_tp_stream_t streams[] = {cpu_stream, far_stream};
    dnnl_tp_memory_t own[] = {here, there};
    for (int e = 0; e < 2; ++e) {
        dnnl_tp_primitive_desc_t pd;
        dnnl_tp_primitive_t p;
        CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, engines[e], dnnl_tp_forward_inference,
                                                               dnnl_tp_eltwise_relu, &md, &md, 0, 0, NULL));
        CHECK_OK(dnnl_tp_primitive_create(&p, pd));
        dnnl_tp_memory_t wrong[] = {own[!e], elsewhere};
        for (int k = 0; k < 2; ++k) {
            const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, own[e]}, {DNNL_TP_ARG_DST, wrong[k]}};
            CHECK_STATUS(dnnl_tp_primitive_execute(p, streams[e], 2, args), dnnl_tp_invalid_arguments);
            snprintf(text, sizeof text, "lies in memory of %s %d", !k && e ? "cpu" : far_traits.name, k);
            assert_non_null(strstr(dnnl_tp_last_error(), text));
        }
        CHECK_OK(dnnl_tp_primitive_destroy(p));
        CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    }
    CHECK_OK(dnnl_tp_memory_destroy(here));
    CHECK_OK(dnnl_tp_memory_destroy(there));
    CHECK_OK(dnnl_tp_memory_destroy(elsewhere));
}

static void runs_out(void **state) {
    (void)state;
    dtp_md_t md;
    const int64_t n = 1000;
    CHECK_OK(dtp_md_init_strides(&md, 1, &n, dnnl_tp_f32, NULL));
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(0));
    const far_stats_t before = far_stats();
    (void)far_fail_alloc(0);
    dnnl_tp_memory_t m;
    CHECK_STATUS(dnnl_tp_memory_create(&m, &md, far, DNNL_TP_MEMORY_ALLOCATE), dnnl_tp_out_of_memory);
    assert_null(m);
    assert_false(far_fail_alloc(-1));
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
#define CREATE_PD()                                                                                         \
    dnnl_tp_eltwise_forward_primitive_desc_create(&pd, far, dnnl_tp_forward_inference, dnnl_tp_eltwise_abs, \
                                                  &md, &md, 0, 0, NULL)
    if (!far_traits.has_controls) { /* the descriptor's kernel */
        (void)far_fail_alloc(0);
        CHECK_STATUS(CREATE_PD(), dnnl_tp_out_of_memory);
    }
    CHECK_OK(CREATE_PD());
#undef CREATE_PD
    if (far_traits.has_controls) { /* the primitive's constant */
        (void)far_fail_alloc(0);
        CHECK_STATUS(dnnl_tp_primitive_create(&p, pd), dnnl_tp_out_of_memory);
    }
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_destroy(p));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    assert_int_equal(far_stats().blocks, before.blocks); /* unprepare gave it back */
    assert_int_equal(far_stats().bytes, before.bytes);
    CHECK_OK(dnnl_tp_set_primitive_cache_capacity(1024));
}

/* The control of every test here: a read of the host ends the process, 10 times of 10; and so does what a kernel writes
 * behind its memory, once somebody looks. */
static void dies(void (*what)(dnnl_tp_memory_t m), dnnl_tp_memory_t m, int signal) {
    for (int k = 0; k < 10; ++k) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            struct sigaction usual = {.sa_handler = SIG_DFL};
            sigaction(SIGSEGV, &usual, NULL);
            sigaction(SIGABRT, &usual, NULL);
            (void)!freopen("/dev/null", "w", stderr);
            what(m);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    }
}
static void read_it(dnnl_tp_memory_t m) { (void)*(volatile char *)handle_of(m); }
static void write_it(dnnl_tp_memory_t m) { *(volatile char *)handle_of(m) = 1; }
static void free_twice(dnnl_tp_memory_t m) {
    void *handle = handle_of(m);
    far->v->free(far, handle);
    far->v->free(far, handle);
}
static void host_access_is_caught(void **state) {
    (void)state;
    dtp_md_t md;
    const int64_t n = 100;
    CHECK_OK(dtp_md_init_strides(&md, 1, &n, dnnl_tp_f32, NULL));
    dnnl_tp_memory_t m = memory_of(far, &md);
    dies(read_it, m, SIGSEGV);
    dies(write_it, m, SIGSEGV);
    if (far_traits.has_controls) dies(free_twice, m, SIGABRT);
    CHECK_OK(dnnl_tp_memory_destroy(m));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(limit),
                                       cmocka_unit_test(maps),
                                       cmocka_unit_test(pads_what_it_is_given),
                                       cmocka_unit_test(reorders_between_engines),
                                       cmocka_unit_test(refuses_memory_of_others),
                                       cmocka_unit_test(runs_out),
                                       cmocka_unit_test(host_access_is_caught)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
