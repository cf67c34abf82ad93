/* An engine on the fake driver, a stream, vectors: what tests of the CUDA engine begin with. */
#ifndef TESTS_GPU_GPU_WORLD_H
#define TESTS_GPU_GPU_WORLD_H

#include "gpu/fake/fake_cuda.h"

#include "dnnl_tp/dnnl_tp_cuda.h"
#include "dnnl_tp/dnnl_tp_event.h"

enum { GPU_N = 1008 }; /* whole cache lines */

/* Fixtures of each test: a fresh driver with one device and delays; at the end everything was given back, and nothing was used
 * wrongly. */
int gpu_setup(void **state);
int gpu_teardown(void **state);
extern dnnl_tp_engine_t gpu; /* made by gpu_setup */

/* GPU_N floats. */
dnnl_tp_memory_t gpu_vector(dnnl_tp_engine_t engine, float value);
float gpu_value(dnnl_tp_memory_t memory); /* of all; not a number: they differ */
/* x = a x + b on GPU_N elements. */
dnnl_tp_primitive_t gpu_linear(dnnl_tp_engine_t engine, float a, float b);
dnnl_tp_status_t gpu_step(dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream, dnnl_tp_memory_t x);
dnnl_tp_stream_t gpu_stream(void);
/* dst = src weights + bias, of vectors that begin with matrices of GPU_SIDE rows and columns; its handles are those of one vector
 * but dst, which is the other one. */
enum { GPU_SIDE = 16 };
dnnl_tp_primitive_t gpu_product(dnnl_tp_engine_t engine);
dnnl_tp_status_t gpu_multiply(dnnl_tp_primitive_t product, dnnl_tp_stream_t stream, void *operands,
                              void *dst);
/* The same of any sizes (run-time dims), without a bias; y = x x of matrices. */
dnnl_tp_primitive_t gpu_runtime_product(dnnl_tp_engine_t engine);
dnnl_tp_memory_t gpu_matrix(dnnl_tp_engine_t engine);
dnnl_tp_status_t gpu_square(dnnl_tp_primitive_t product, dnnl_tp_stream_t stream, dnnl_tp_memory_t x,
                            dnnl_tp_memory_t y);

/* One row of a table of GPU_ROWS for each of four ids; the last one is set, and is found on the device where it is bad. The stream is
 * destroyed at the end. */
enum { GPU_ROWS = 8 };
typedef struct {
    dnnl_tp_stream_t stream;
    dnnl_tp_primitive_t p;
    dnnl_tp_memory_t table, ids, dst; /* of GPU_N numbers */
} gpu_look_up_t;
gpu_look_up_t gpu_look_up_begin(dnnl_tp_stream_t stream);
void gpu_look_up_end(gpu_look_up_t *l);
void gpu_look_up_set(gpu_look_up_t *l, int32_t last);
dnnl_tp_status_t gpu_look_up(gpu_look_up_t *l);
/* dst = src src^T, of m rows of k f32: long sums of one tile are shared, and parts of them go to the scratch. */
dnnl_tp_primitive_t gpu_shared_product(int m, int k);
dnnl_tp_status_t gpu_multiply_shared(dnnl_tp_primitive_t product, dnnl_tp_stream_t stream,
                                     dnnl_tp_memory_t src, dnnl_tp_memory_t dst);

enum { GPU_LONGEST_MS = 10000 };
/* Until the flag is up; false: it is not, after GPU_LONGEST_MS. */
bool gpu_comes(const _Atomic int *flag);

#endif
