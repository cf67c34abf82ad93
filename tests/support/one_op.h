/* A graph of one operator, whose inputs are inputs: run fused and alone, the second time over other memory. */
#ifndef DTP_TESTS_SUPPORT_ONE_OP_H
#define DTP_TESTS_SUPPORT_ONE_OP_H

#include <stddef.h>

#include "dnnl_tp/dnnl_tp_graph.h"

typedef struct {
    dnnl_tp_data_type_t type;
    int ndims;
    int64_t dims[6];
    const void *data;
} test_tensor_t;

/* On the engine that the program tests (upload.h). out: room for bytes, at least those of the result, which are filled before;
 * threads: of a pool. The status is that of the first run that fails; what comes before a run has to succeed, but that an engine
 * with a memory of its own may lack an implementation: unimplemented. */
dnnl_tp_status_t test_one_op(dnnl_tp_op_kind_t kind, int nattr, const dnnl_tp_op_attr_t *attr, int nin,
                             const test_tensor_t *in, void *out, size_t bytes, int threads);

#endif
