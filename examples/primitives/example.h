/* What the examples share: ending with a message when a call fails or a result is wrong. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "dnnl_tp/dnnl_tp.h"

#define CHECK(call)                                                                             \
    do {                                                                                        \
        dnnl_tp_status_t status_ = (call);                                                      \
        if (status_ != dnnl_tp_success) {                                                       \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, dnnl_tp_status2str(status_), \
                    dnnl_tp_last_error());                                                      \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

/* A dense row-major f32 tensor. */
#define F32(md, ...)                                                                  \
    CHECK(dnnl_tp_memory_desc_create_with_strides(                                    \
        &(md), (int)(sizeof((dnnl_tp_dim_t[]){__VA_ARGS__}) / sizeof(dnnl_tp_dim_t)), \
        (dnnl_tp_dims_t){__VA_ARGS__}, dnnl_tp_f32, NULL))

static inline void expect(const char *what, const float *got, const float *want, int n) {
    for (int i = 0; i < n; ++i)
        if (!(fabsf(got[i] - want[i]) <= 1e-5f * (1.0f + fabsf(want[i])))) {
            fprintf(stderr, "%s[%d] is %g, expected %g\n", what, i, (double)got[i], (double)want[i]);
            exit(1);
        }
    printf("%s: ok\n", what);
}

/* Runs a primitive once with plain pointers and waits for it. */
static inline void run_once(dnnl_tp_primitive_desc_t pd, dnnl_tp_stream_t stream, int nargs,
                            const dnnl_tp_exec_handle_t *args) {
    const char *name = NULL;
    dnnl_tp_primitive_t primitive;
    CHECK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_impl_info_str, 0, &name));
    printf("implementation: %s\n", name);
    CHECK(dnnl_tp_primitive_create(&primitive, pd));
    CHECK(dnnl_tp_primitive_execute_handles(primitive, stream, nargs, args));
    CHECK(dnnl_tp_stream_wait(stream));
    dnnl_tp_primitive_destroy(primitive);
}

#endif
