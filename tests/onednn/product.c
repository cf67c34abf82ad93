/* A program for oneDNN in C: a product with a bias and an activation, and a softmax of its rows. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "oneapi/dnnl/dnnl.h"

#define CHECK(call)                                                                     \
    do {                                                                                \
        dnnl_status_t status_ = (call);                                                 \
        if (status_ != dnnl_success) {                                                  \
            fprintf(stderr, "line %d: %s: status %d\n", __LINE__, #call, (int)status_); \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)

enum { M = 3, K = 17, N = 8 };

static dnnl_memory_t tensor(dnnl_engine_t engine, int rows, int columns, void *data) {
    dnnl_dims_t dims = {rows, columns};
    dnnl_memory_desc_t md;
    dnnl_memory_t memory;
    CHECK(dnnl_memory_desc_create_with_tag(&md, 2, dims, dnnl_f32, dnnl_ab));
    CHECK(dnnl_memory_create(&memory, md, engine, data));
    CHECK(dnnl_memory_desc_destroy(md));
    return memory;
}

static const_dnnl_memory_desc_t desc_of(dnnl_memory_t memory) {
    const_dnnl_memory_desc_t md;
    CHECK(dnnl_memory_get_memory_desc(memory, &md));
    return md;
}

int main(void) {
    float a[M * K], b[K * N], bias[N], c[M * N], want[M * N];
    int i, j, k, wrong = 0;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_t ma, mb, mbias, mc, old;
    dnnl_post_ops_t ops;
    dnnl_primitive_attr_t attr;
    dnnl_primitive_desc_t product_pd, softmax_pd;
    dnnl_primitive_t product, softmax;
    dnnl_exec_arg_t product_args[4], softmax_args[2];
    const char *name;
    int64_t scratch;

    for (i = 0; i < M * K; ++i) a[i] = (float)((i * 7) % 13) / 13.0f - 0.4f;
    for (i = 0; i < K * N; ++i) b[i] = (float)((i * 5) % 11) / 11.0f - 0.6f;
    for (i = 0; i < N; ++i) bias[i] = 0.1f * (float)i;

    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    ma = tensor(engine, M, K, a);
    mb = tensor(engine, K, N, b);
    mbias = tensor(engine, 1, N, bias);
    mc = tensor(engine, M, N, DNNL_MEMORY_ALLOCATE);

    CHECK(dnnl_post_ops_create(&ops));
    CHECK(dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0.0f, 0.0f));
    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, ops));
    CHECK(dnnl_post_ops_destroy(ops));
    CHECK(dnnl_matmul_primitive_desc_create(&product_pd, engine, desc_of(ma), desc_of(mb), desc_of(mbias),
                                            desc_of(mc), attr));
    CHECK(dnnl_primitive_attr_destroy(attr));
    CHECK(dnnl_primitive_desc_query(product_pd, dnnl_query_impl_info_str, 0, &name));
    CHECK(dnnl_primitive_desc_query(product_pd, dnnl_query_memory_consumption_s64, 0, &scratch));
    if (name[0] == '\0' || scratch < 0 ||
        !dnnl_memory_desc_equal(dnnl_primitive_desc_query_md(product_pd, dnnl_query_dst_md, 0),
                                desc_of(mc)) ||
        dnnl_primitive_desc_query_s32(product_pd, dnnl_query_num_of_outputs_s32, 0) != 1)
        return 2;
    CHECK(dnnl_primitive_create(&product, product_pd));
    CHECK(dnnl_softmax_forward_primitive_desc_create(&softmax_pd, engine, dnnl_forward_inference,
                                                     dnnl_softmax_accurate, desc_of(mc), desc_of(mc), 1,
                                                     NULL));
    CHECK(dnnl_primitive_create(&softmax, softmax_pd));
    CHECK(dnnl_primitive_desc_destroy(product_pd));
    CHECK(dnnl_primitive_desc_destroy(softmax_pd));

    product_args[0].arg = DNNL_ARG_SRC, product_args[0].memory = ma;
    product_args[1].arg = DNNL_ARG_WEIGHTS, product_args[1].memory = mb;
    product_args[2].arg = DNNL_ARG_BIAS, product_args[2].memory = mbias;
    product_args[3].arg = DNNL_ARG_DST, product_args[3].memory = mc;
    softmax_args[0].arg = DNNL_ARG_SRC, softmax_args[0].memory = mc;
    softmax_args[1].arg = DNNL_ARG_DST, softmax_args[1].memory = mc;
    CHECK(dnnl_primitive_execute(product, stream, 4, product_args));
    CHECK(dnnl_primitive_execute(softmax, stream, 2, softmax_args));
    CHECK(dnnl_stream_wait(stream));
    {
        void *data;
        CHECK(dnnl_memory_get_data_handle(mc, &data));
        for (i = 0; i < M * N; ++i) c[i] = ((const float *)data)[i];
    }

    for (i = 0; i < M; ++i) {
        float largest = 0.0f, sum = 0.0f;
        for (j = 0; j < N; ++j) {
            float x = bias[j];
            for (k = 0; k < K; ++k) x += a[i * K + k] * b[k * N + j];
            want[i * N + j] = x > 0.0f ? x : 0.0f;
            if (want[i * N + j] > largest) largest = want[i * N + j];
        }
        for (j = 0; j < N; ++j) sum += want[i * N + j] = expf(want[i * N + j] - largest);
        for (j = 0; j < N; ++j) {
            wrong += !(fabsf(c[i * N + j] - want[i * N + j] / sum) <= 1e-5f);
            printf("%.5f%c", (double)c[i * N + j], j + 1 < N ? ' ' : '\n');
        }
    }
    /* What is wrong is refused. */
    old = mc;
    if (dnnl_memory_create(&mc, NULL, NULL, NULL) == dnnl_success) return 3;
    CHECK(dnnl_memory_destroy(old));
    CHECK(dnnl_memory_destroy(ma));
    CHECK(dnnl_memory_destroy(mb));
    CHECK(dnnl_memory_destroy(mbias));
    CHECK(dnnl_primitive_destroy(product));
    CHECK(dnnl_primitive_destroy(softmax));
    CHECK(dnnl_stream_destroy(stream));
    CHECK(dnnl_engine_destroy(engine));
    return wrong == 0 ? 0 : 1;
}
