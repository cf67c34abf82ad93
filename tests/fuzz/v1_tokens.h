/* Programs of the first TensorFlow kind, small and on whole numbers, and a sequential interpreter of their live
 * and dead tokens that knows nothing of structure: what fuzz_import_v1.c compares imported graphs with. */
#ifndef TESTS_FUZZ_V1_TOKENS_H
#define TESTS_FUZZ_V1_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

#include "switch_merge/dnnl_tp_switch_merge.h"

enum { V1_NODES = 100, V1_IN = 5, V1_NAME = 16, V1_OUT = 3, V1_INPUTS = 3, V1_FRAMES = 3, V1_DEPTH = 4 };

typedef enum { V1_MIX, V1_BIT, V1_LESS, V1_INC, V1_FNS } v1_fn_t;
typedef struct {
    int node, out; /* node < 0: a name that is not there */
} v1_ref_t;
typedef struct {
    dnnl_tp_v1_kind_t kind;
    v1_fn_t fn;
    int32_t number; /* constant; what V1_LESS compares with; which input */
    int ndata, ncontrol, frame, is_constant, window;
    v1_ref_t in[V1_IN]; /* data, then control */
    char name[V1_NAME];
} v1_item_t;
typedef struct {
    int n, nout;
    v1_item_t item[V1_NODES];
    v1_ref_t out[V1_OUT];
} v1_program_t;

/* What a run must do. */
typedef struct {
    bool unsure; /* too long, or not a program that has a meaning: anything may happen */
    bool crowd;  /* two inputs of a Merge are alive */
    bool dead[V1_OUT];
    int32_t out[V1_OUT];
    uint64_t trace; /* sum over all calls of closures */
} v1_result_t;

int32_t v1_compute(const v1_item_t *item, int number, int nin, const int32_t *in);
uint64_t v1_trace(int number, int32_t result);
void v1_interpret(const v1_program_t *program, const int32_t *inputs, v1_result_t *result);

#endif
