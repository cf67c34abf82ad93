/* See gpu_world.h. */
#include "gpu/gpu_world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/gather.h"
#include "gpu/driver/cu_api.h"
#include "support/check.h"
#include "support/upload.h"

dnnl_tp_engine_t gpu;

int gpu_setup(void **state) {
    (void)state;
    fake_cuda_reset();
    dtp_cu_set_for_test(fake_cuda_table());
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    return 0;
}

int gpu_teardown(void **state) {
    (void)state;
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
    gpu = NULL;
    return fake_cuda_report(stderr);
}

dnnl_tp_stream_t gpu_stream(void) {
    dnnl_tp_stream_t s;
    CHECK_OK(dnnl_tp_stream_create(&s, gpu, 0));
    return s;
}

static dnnl_tp_memory_desc_t vector_desc(void) {
    dnnl_tp_memory_desc_t md;
    const dnnl_tp_dims_t dims = {GPU_N};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_f32, dnnl_tp_a));
    return md;
}

dnnl_tp_memory_t gpu_vector(dnnl_tp_engine_t engine, float value) {
    dnnl_tp_memory_desc_t md = vector_desc();
    dnnl_tp_memory_t m;
    CHECK_OK(dnnl_tp_memory_create(&m, md, engine, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    float x[GPU_N];
    for (int i = 0; i < GPU_N; ++i) x[i] = value;
    test_upload(m, x, sizeof x);
    return m;
}

float gpu_value(dnnl_tp_memory_t memory) {
    float x[GPU_N];
    test_download(memory, x, sizeof x);
    for (int i = 1; i < GPU_N; ++i)
        if (x[i] != x[0]) return NAN;
    return x[0];
}

dnnl_tp_primitive_t gpu_linear(dnnl_tp_engine_t engine, float a, float b) {
    dnnl_tp_memory_desc_t md = vector_desc();
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dnnl_tp_eltwise_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                           dnnl_tp_eltwise_linear, md, md, a, b, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    return p;
}

dnnl_tp_status_t gpu_step(dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream, dnnl_tp_memory_t x) {
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_DST, x}};
    return dnnl_tp_primitive_execute(primitive, stream, 2, args);
}

dnnl_tp_primitive_t gpu_product(dnnl_tp_engine_t engine) {
    dnnl_tp_memory_desc_t matrix, row;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    const dnnl_tp_dims_t dims = {GPU_SIDE, GPU_SIDE}, row_dims = {1, GPU_SIDE};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&matrix, 2, dims, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&row, 2, row_dims, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, matrix, matrix, row, matrix, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(matrix));
    CHECK_OK(dnnl_tp_memory_desc_destroy(row));
    return p;
}

dnnl_tp_status_t gpu_multiply(dnnl_tp_primitive_t product, dnnl_tp_stream_t stream, void *operands,
                              void *dst) {
    const dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, operands},
                                          {DNNL_TP_ARG_WEIGHTS, operands},
                                          {DNNL_TP_ARG_BIAS, operands},
                                          {DNNL_TP_ARG_DST, dst}};
    return dnnl_tp_primitive_execute_handles(product, stream, 4, args);
}

dnnl_tp_primitive_t gpu_runtime_product(dnnl_tp_engine_t engine) {
    dnnl_tp_memory_desc_t any;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    const dnnl_tp_dims_t dims = {DNNL_TP_RUNTIME_DIM_VAL, DNNL_TP_RUNTIME_DIM_VAL};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&any, 2, dims, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, any, any, NULL, any, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(any));
    return p;
}

dnnl_tp_memory_t gpu_matrix(dnnl_tp_engine_t engine) {
    dnnl_tp_memory_desc_t md;
    dnnl_tp_memory_t m;
    const dnnl_tp_dims_t dims = {GPU_SIDE, GPU_SIDE};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_memory_create(&m, md, engine, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    return m;
}

dnnl_tp_status_t gpu_square(dnnl_tp_primitive_t product, dnnl_tp_stream_t stream, dnnl_tp_memory_t x,
                            dnnl_tp_memory_t y) {
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_WEIGHTS, x}, {DNNL_TP_ARG_DST, y}};
    return dnnl_tp_primitive_execute(product, stream, 3, args);
}

/* ---- Rows of a table ---------------------------------------------------------------------------------- */

enum { COLS = 16, IDS = 4 };

static dnnl_tp_primitive_t gather(void) {
    dtp_gather_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_GATHER;
    const int64_t t[] = {GPU_ROWS, COLS}, n[] = {IDS}, d[] = {IDS, COLS};
    CHECK_OK(dtp_md_init_strides(&op.table, 2, t, dnnl_tp_f32, NULL));
    CHECK_OK(dtp_md_init_strides(&op.ids, 1, n, dnnl_tp_s32, NULL));
    CHECK_OK(dtp_md_init_strides(&op.dst, 2, d, dnnl_tp_f32, NULL));
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    CHECK_OK(dtp_pd_create(&pd, gpu, &op.base, sizeof op, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return p;
}

gpu_look_up_t gpu_look_up_begin(dnnl_tp_stream_t stream) {
    return (gpu_look_up_t){stream, gather(), gpu_vector(gpu, 1), gpu_vector(gpu, 0), gpu_vector(gpu, 0)};
}
void gpu_look_up_end(gpu_look_up_t *l) {
    CHECK_OK(dnnl_tp_stream_destroy(l->stream));
    CHECK_OK(dnnl_tp_primitive_destroy(l->p));
    CHECK_OK(dnnl_tp_memory_destroy(l->table));
    CHECK_OK(dnnl_tp_memory_destroy(l->ids));
    CHECK_OK(dnnl_tp_memory_destroy(l->dst));
}
void gpu_look_up_set(gpu_look_up_t *l, int32_t last) {
    int32_t ids[GPU_N] = {0};
    ids[IDS - 1] = last;
    test_upload(l->ids, ids, sizeof ids);
}
dnnl_tp_status_t gpu_look_up(gpu_look_up_t *l) {
    void *table, *ids, *dst;
    CHECK_OK(dnnl_tp_memory_get_data_handle(l->table, &table));
    CHECK_OK(dnnl_tp_memory_get_data_handle(l->ids, &ids));
    CHECK_OK(dnnl_tp_memory_get_data_handle(l->dst, &dst));
    const dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_WEIGHTS, table}, {DNNL_TP_ARG_SRC, ids}, {DNNL_TP_ARG_DST, dst}};
    return dnnl_tp_primitive_execute_handles(l->p, l->stream, 3, args);
}

dnnl_tp_primitive_t gpu_shared_product(int m, int k) {
    dnnl_tp_memory_desc_t src, wei, dst;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t p;
    const dnnl_tp_dims_t src_dims = {m, k}, wei_dims = {k, m}, dst_dims = {m, m};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&src, 2, src_dims, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&wei, 2, wei_dims, dnnl_tp_f32, dnnl_tp_ba));
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&dst, 2, dst_dims, dnnl_tp_f32, dnnl_tp_ab));
    CHECK_OK(dnnl_tp_matmul_primitive_desc_create(&pd, gpu, src, wei, NULL, dst, NULL));
    CHECK_OK(dnnl_tp_primitive_create(&p, pd));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    CHECK_OK(dnnl_tp_memory_desc_destroy(src));
    CHECK_OK(dnnl_tp_memory_desc_destroy(wei));
    CHECK_OK(dnnl_tp_memory_desc_destroy(dst));
    return p;
}
dnnl_tp_status_t gpu_multiply_shared(dnnl_tp_primitive_t p, dnnl_tp_stream_t s, dnnl_tp_memory_t src,
                                     dnnl_tp_memory_t dst) {
    void *from, *to;
    CHECK_OK(dnnl_tp_memory_get_data_handle(src, &from));
    CHECK_OK(dnnl_tp_memory_get_data_handle(dst, &to));
    const dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, from}, {DNNL_TP_ARG_WEIGHTS, from}, {DNNL_TP_ARG_DST, to}};
    return dnnl_tp_primitive_execute_handles(p, s, 3, args);
}

bool gpu_comes(const _Atomic int *flag) {
    for (int i = 0; i < GPU_LONGEST_MS && !atomic_load(flag); ++i) usleep(1000);
    return atomic_load(flag);
}
