/* See capturing.h. */
#include "gpu/capturing.h"

#include <string.h>

#include "support/upload.h"

const dtp_cu_t *capturing_cu;

static void enter(void) {
    dtp_cu_ctx_t ctx;
    capturing_cu = fake_cuda_table();
    CU_OK(capturing_cu->cuDevicePrimaryCtxRetain(&ctx, 0));
    CU_OK(capturing_cu->cuCtxPushCurrent(ctx));
}
void capturing_leave(void) {
    dtp_cu_ctx_t ctx;
    CU_OK(capturing_cu->cuCtxPopCurrent(&ctx));
    CU_OK(capturing_cu->cuDevicePrimaryCtxRelease(0));
}

dnnl_tp_stream_t capturing_stream_on(dtp_cu_stream_t cuda, bool profiles) {
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t s;
    CHECK_OK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    CHECK_OK(dnnl_tp_cuda_stream_attr_set_stream(attr, cuda));
    CHECK_OK(dnnl_tp_cuda_stream_attr_set_profiling(attr, profiles));
    CHECK_OK(dnnl_tp_stream_create_v2(&s, gpu, 0, attr));
    CHECK_OK(dnnl_tp_stream_attr_destroy(attr));
    return s;
}

capturing_t capturing_begin(bool profiles) {
    capturing_t t = {.is_the_librarys = false};
    enter();
    CU_OK(capturing_cu->cuStreamCreate(&t.cuda, DTP_CU_STREAM_NON_BLOCKING));
    t.stream = capturing_stream_on(t.cuda, profiles);
    return t;
}
capturing_t capturing_begin_with_the_librarys(void) {
    capturing_t t = {.is_the_librarys = true};
    enter();
    t.stream = gpu_stream();
    CHECK_OK(dnnl_tp_cuda_stream_get_stream(t.stream, &t.cuda));
    return t;
}
void capturing_end(capturing_t *t) {
    CHECK_OK(dnnl_tp_stream_destroy(t->stream));
    if (!t->is_the_librarys) CU_OK(capturing_cu->cuStreamDestroy(t->cuda));
    capturing_leave();
}

void capturing_begin_graph(const capturing_t *t) {
    CU_OK(fake_cuStreamBeginCapture(t->cuda, DTP_CU_CAPTURE_GLOBAL));
}

fake_cu_exec_t capturing_end_graph(const capturing_t *t, int nodes) {
    fake_cu_graph_t graph;
    fake_cu_exec_t exec;
    CU_OK(fake_cuStreamEndCapture(t->cuda, &graph));
    assert_int_equal(fake_cuda_nodes(graph), nodes);
    CU_OK(fake_cuGraphInstantiate(&exec, graph, 0));
    CU_OK(fake_cuGraphDestroy(graph));
    assert_int_equal(fake_cuda_spoiled(), 0);
    return exec;
}

void capturing_launch(const capturing_t *t, fake_cu_exec_t exec) {
    CU_OK(fake_cuGraphLaunch(exec, t->cuda));
    CU_OK(capturing_cu->cuStreamSynchronize(t->cuda));
}

static float rows[4 * CAPTURING_MOST_K];

static dnnl_tp_memory_t matrix(int64_t m, int64_t k, dnnl_tp_format_tag_t tag, dnnl_tp_memory_desc_t *md,
                               bool allocates) {
    dnnl_tp_memory_t memory = NULL;
    const dnnl_tp_dims_t dims = {m, k};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(md, 2, dims, dnnl_tp_f32, tag));
    if (allocates) CHECK_OK(dnnl_tp_memory_create(&memory, *md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    return memory;
}

capturing_product_t capturing_product(int m, int k) {
    capturing_product_t p = {.m = m, .k = k};
    dnnl_tp_memory_desc_t src, wei, dst;
    dnnl_tp_primitive_desc_t pd;
    p.src = matrix(m, k, dnnl_tp_ab, &src, true);
    (void)matrix(k, m, dnnl_tp_ba, &wei, false);
    p.dst = matrix(m, m, dnnl_tp_ab, &dst, true);
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, gpu, src, wei, NULL, dst, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p.p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(wei));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    for (int i = 0; i < m * k; ++i) rows[i] = 1;
    test_upload(p.src, rows, (size_t)(m * k) * sizeof *rows);
    return p;
}
dnnl_tp_status_t capturing_multiply(capturing_product_t *p, dnnl_tp_stream_t s) {
    void *src, *dst;
    CHECK_OK(dnnl_tp_memory_get_data_handle(p->src, &src));
    CHECK_OK(dnnl_tp_memory_get_data_handle(p->dst, &dst));
    const dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, src}, {DNNL_TP_ARG_WEIGHTS, src}, {DNNL_TP_ARG_DST, dst}};
    return dnnl_tp_primitive_execute_handles(p->p, s, 3, args);
}
bool capturing_is_multiplied(capturing_product_t *p) {
    float got[16];
    const size_t n = (size_t)(p->m * p->m);
    bool right = true;
    test_download(p->dst, got, n * sizeof *got);
    for (size_t i = 0; i < n; ++i) right &= got[i] == (float)p->k;
    memset(got, 0, sizeof got);
    test_upload(p->dst, got, n * sizeof *got);
    return right;
}
void capturing_product_end(capturing_product_t *p) {
    CHECK_OK(dnnl_tp_primitive_destroy(p->p));
    CHECK_OK(dnnl_tp_memory_destroy(p->src));
    CHECK_OK(dnnl_tp_memory_destroy(p->dst));
}
