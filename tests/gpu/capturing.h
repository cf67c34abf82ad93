/* A program that captures CUDA streams on the fake driver, with the library's streams on them (test_capture*.c). */
#ifndef TESTS_GPU_CAPTURING_H
#define TESTS_GPU_CAPTURING_H

#include <stdbool.h>

#include "gpu/driver/cu_api.h"
#include "gpu/gpu_world.h"
#include "support/check.h"

#define CU_OK(call) assert_int_equal(call, DTP_CU_SUCCESS)

extern const dtp_cu_t *capturing_cu;

/* A program's CUDA stream, with the library's on it; its context is current. */
typedef struct {
    dtp_cu_stream_t cuda;
    dnnl_tp_stream_t stream;
    /* The library made the CUDA stream, and the program has asked for it. */
    bool is_the_librarys;
} capturing_t;

capturing_t capturing_begin(bool profiles);
capturing_t capturing_begin_with_the_librarys(void);
void capturing_end(capturing_t *t);
/* The second part of capturing_end, after both streams are destroyed. */
void capturing_leave(void);
/* A stream of the library on a CUDA stream of the program. */
dnnl_tp_stream_t capturing_stream_on(dtp_cu_stream_t cuda, bool profiles);

void capturing_begin_graph(const capturing_t *t);
/* The capture is valid: its graph, ready to be launched. */
fake_cu_exec_t capturing_end_graph(const capturing_t *t, int nodes);
/* Launches a graph and waits for it. */
void capturing_launch(const capturing_t *t, fake_cu_exec_t exec);

/* dst = src src^T, of m rows of k ones: long sums of one tile are shared, and parts of them go to the scratch. */
enum { CAPTURING_MOST_K = 4096 };
typedef struct {
    int m, k;
    dnnl_tp_memory_t src, dst;
    dnnl_tp_primitive_t p;
} capturing_product_t;

capturing_product_t capturing_product(int m, int k);
dnnl_tp_status_t capturing_multiply(capturing_product_t *p, dnnl_tp_stream_t s);
/* True if the result is there; clears it. */
bool capturing_is_multiplied(capturing_product_t *p);
void capturing_product_end(capturing_product_t *p);

#endif
