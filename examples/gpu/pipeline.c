/* A layer of a network on an NVIDIA GPU: data go there, a product with bias and GELU and a softmax follow, the result comes back.
 * All of it is submitted to one stream at once, and the program waits once. The same on the CPU tells what is right. doc/gpu.md
 * explains the calls. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dnnl_tp/dnnl_tp.h"

#if DNNL_TP_GPU_RUNTIME != DNNL_TP_RUNTIME_CUDA
int main(void) {
    puts("skipped: this build of dnnl_tp has no GPU engine (DNNL_GPU_RUNTIME=CUDA)");
    return 0;
}
#else
#include "dnnl_tp/dnnl_tp_cuda.h"
#include "dnnl_tp/dnnl_tp_event.h"

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        dnnl_tp_status_t status_ = (call);                                                             \
        if (status_ != dnnl_tp_success) {                                                              \
            fprintf(stderr, "%s: %s: %s\n", #call, dnnl_tp_status2str(status_), dnnl_tp_last_error()); \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

enum { ROWS = 48, FROM = 96, TO = 64 };

/* The layer on an engine of either kind. */
typedef struct {
    dnnl_tp_memory_desc_t x, w, b, y;
    dnnl_tp_primitive_t product, softmax;
} layer_t;

static void layer_create(layer_t *l, dnnl_tp_engine_t engine) {
    CHECK(
        dnnl_tp_memory_desc_create_with_tag(&l->x, 2, (dnnl_tp_dims_t){ROWS, FROM}, dnnl_tp_f32, dnnl_tp_ab));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&l->w, 2, (dnnl_tp_dims_t){FROM, TO}, dnnl_tp_f32, dnnl_tp_ab));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&l->b, 2, (dnnl_tp_dims_t){1, TO}, dnnl_tp_f32, dnnl_tp_ab));
    CHECK(dnnl_tp_memory_desc_create_with_tag(&l->y, 2, (dnnl_tp_dims_t){ROWS, TO}, dnnl_tp_f32, dnnl_tp_ab));
    dnnl_tp_post_ops_t gelu;
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    CHECK(dnnl_tp_post_ops_create(&gelu));
    CHECK(dnnl_tp_post_ops_append_eltwise(gelu, dnnl_tp_eltwise_gelu_erf, 0, 0));
    CHECK(dnnl_tp_primitive_attr_create(&attr));
    CHECK(dnnl_tp_primitive_attr_set_post_ops(attr, gelu));
    CHECK(dnnl_tp_matmul_primitive_desc_create(&pd, engine, l->x, l->w, l->b, l->y, attr));
    CHECK(dnnl_tp_primitive_create(&l->product, pd));
    dnnl_tp_primitive_desc_destroy(pd);
    CHECK(dnnl_tp_softmax_forward_primitive_desc_create(&pd, engine, dnnl_tp_forward_inference,
                                                        dnnl_tp_softmax_accurate, l->y, l->y, 1, NULL));
    CHECK(dnnl_tp_primitive_create(&l->softmax, pd));
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_primitive_attr_destroy(attr);
    dnnl_tp_post_ops_destroy(gelu);
}
static void layer_submit(const layer_t *l, dnnl_tp_stream_t stream, void *x, void *w, void *b, void *y) {
    const dnnl_tp_exec_handle_t product[] = {
        {DNNL_TP_ARG_SRC, x}, {DNNL_TP_ARG_WEIGHTS, w}, {DNNL_TP_ARG_BIAS, b}, {DNNL_TP_ARG_DST, y}};
    const dnnl_tp_exec_handle_t softmax[] = {{DNNL_TP_ARG_SRC, y}, {DNNL_TP_ARG_DST, y}};
    CHECK(dnnl_tp_primitive_execute_handles(l->product, stream, 4, product));
    CHECK(dnnl_tp_primitive_execute_handles(l->softmax, stream, 2, softmax));
}
static void layer_destroy(layer_t *l) {
    dnnl_tp_primitive_destroy(l->product);
    dnnl_tp_primitive_destroy(l->softmax);
    dnnl_tp_memory_desc_destroy(l->x);
    dnnl_tp_memory_desc_destroy(l->w);
    dnnl_tp_memory_desc_destroy(l->b);
    dnnl_tp_memory_desc_destroy(l->y);
}

/* Memory of the device, and of the program's array as the CPU engine sees it; a copy between them is a reorder. */
typedef struct {
    dnnl_tp_memory_t there, here;
    void *handle; /* of there */
} tensor_t;

static tensor_t tensor_create(dnnl_tp_engine_t gpu, dnnl_tp_engine_t cpu, dnnl_tp_memory_desc_t md,
                              float *data) {
    tensor_t t;
    CHECK(dnnl_tp_memory_create(&t.there, md, gpu, DNNL_TP_MEMORY_ALLOCATE));
    CHECK(dnnl_tp_memory_create(&t.here, md, cpu, data));
    CHECK(dnnl_tp_memory_get_data_handle(t.there, &t.handle));
    return t;
}
static void copy(dnnl_tp_memory_t from, dnnl_tp_memory_t to, dnnl_tp_stream_t stream) {
    const_dnnl_tp_memory_desc_t from_md, to_md;
    dnnl_tp_engine_t from_engine, to_engine;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t reorder;
    CHECK(dnnl_tp_memory_get_memory_desc(from, &from_md));
    CHECK(dnnl_tp_memory_get_memory_desc(to, &to_md));
    CHECK(dnnl_tp_memory_get_engine(from, &from_engine));
    CHECK(dnnl_tp_memory_get_engine(to, &to_engine));
    CHECK(dnnl_tp_reorder_primitive_desc_create(&pd, from_md, from_engine, to_md, to_engine, NULL));
    CHECK(dnnl_tp_primitive_create(&reorder, pd)); /* one for many copies, in a program that has many */
    CHECK(dnnl_tp_primitive_execute(reorder, stream, 2,
                                    (dnnl_tp_exec_arg_t[]){{DNNL_TP_ARG_FROM, from}, {DNNL_TP_ARG_TO, to}}));
    dnnl_tp_primitive_destroy(reorder);
    dnnl_tp_primitive_desc_destroy(pd);
}
static void tensor_destroy(tensor_t *t) {
    dnnl_tp_memory_destroy(t->there);
    dnnl_tp_memory_destroy(t->here);
}

static void fill(float *x, int n, unsigned seed) {
    for (int i = 0; i < n; ++i) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) * 0x1p-23f - 1.f;
    }
}

int main(void) {
    if (!dnnl_tp_engine_get_count(dnnl_tp_gpu)) {
        printf("skipped: no GPU: %s\n", dnnl_tp_cuda_reason());
        return 0;
    }
    dnnl_tp_cuda_device_t device = {.struct_size = sizeof device};
    CHECK(dnnl_tp_cuda_get_device(0, &device));
    printf("%s, compute capability %d.%d, %d multiprocessors\n", device.name, device.capability / 10,
           device.capability % 10, device.multiprocessors);

    static float x[ROWS * FROM], w[FROM * TO], b[TO], y[ROWS * TO], want[ROWS * TO];
    fill(x, ROWS * FROM, 1), fill(w, FROM * TO, 2), fill(b, TO, 3);
    dnnl_tp_engine_t gpu, cpu;
    dnnl_tp_stream_attr_t attr;
    dnnl_tp_stream_t stream, on_cpu;
    CHECK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    CHECK(dnnl_tp_engine_create(&cpu, dnnl_tp_cpu, 0));
    CHECK(dnnl_tp_stream_attr_create(&attr, dnnl_tp_gpu));
    CHECK(dnnl_tp_cuda_stream_attr_set_profiling(attr, 1)); /* a program with a stream sets it here, too */
    CHECK(dnnl_tp_stream_create_v2(&stream, gpu, dnnl_tp_stream_default_flags, attr));
    CHECK(dnnl_tp_stream_create(&on_cpu, cpu, dnnl_tp_stream_default_flags));

    layer_t layer;
    dnnl_tp_event_t done;
    layer_create(&layer, gpu);
    tensor_t tx = tensor_create(gpu, cpu, layer.x, x), tw = tensor_create(gpu, cpu, layer.w, w);
    tensor_t tb = tensor_create(gpu, cpu, layer.b, b), ty = tensor_create(gpu, cpu, layer.y, y);
    copy(tx.here, tx.there, stream);
    copy(tw.here, tw.there, stream);
    copy(tb.here, tb.there, stream);
    layer_submit(&layer, stream, tx.handle, tw.handle, tb.handle, ty.handle);
    CHECK(dnnl_tp_stream_record_event(stream, &done)); /* behind the softmax, whose times it tells */
    copy(ty.there, ty.here, stream);
    CHECK(dnnl_tp_stream_wait(stream)); /* the only wait */
    int64_t from_ns, to_ns;
    CHECK(dnnl_tp_event_get_times(done, &from_ns, &to_ns));
    dnnl_tp_event_destroy(done);
    layer_destroy(&layer);

    layer_create(&layer, cpu);
    layer_submit(&layer, on_cpu, x, w, b, want);
    CHECK(dnnl_tp_stream_wait(on_cpu));
    layer_destroy(&layer);
    float worst = 0;
    for (int i = 0; i < ROWS * TO; ++i) worst = fmaxf(worst, fabsf(y[i] - want[i]) / (want[i] + 1e-6f));
    printf("softmax: %.1f us on the device; largest difference to the CPU: %.1e\n",
           (double)(to_ns - from_ns) * 1e-3, (double)worst);

    tensor_destroy(&tx), tensor_destroy(&tw), tensor_destroy(&tb), tensor_destroy(&ty);
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_stream_destroy(on_cpu);
    dnnl_tp_stream_attr_destroy(attr);
    dnnl_tp_engine_destroy(gpu);
    dnnl_tp_engine_destroy(cpu);
    return worst < 1e-4f ? 0 : 1;
}
#endif
