/* One problem made concrete on one library: descriptors, primitive, memories with guarded buffers. */
#ifndef BD_SIDE_H
#define BD_SIDE_H

#include "common/exec.h"
#include "common/layout.h"

#define BD_FILL_BYTE 0xff /* what every buffer holds before it is used: NaN in every float type */

typedef struct {
    const bd_api_t *api;
    const bd_prb_t *prb;
    int threads; /* 0 = default: both for the descriptor and for the stream */
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_primitive_desc_t pd;
    dnnl_tp_primitive_t prim;
    char impl[128];
    dnnl_tp_memory_desc_t md[BD_MAX_TENSORS];  /* as asked for */
    dnnl_tp_memory_desc_t own[BD_MAX_TENSORS]; /* concrete ones, where dimensions are run-time; else NULL */
    bd_layout_t lay[BD_MAX_TENSORS];
    char *raw[BD_MAX_TENSORS];
    void *data[BD_MAX_TENSORS];
    dnnl_tp_memory_t mem[BD_MAX_TENSORS];
    size_t scratch_bytes;
    char *scratch_raw;
    dnnl_tp_memory_t scratch;
    int nargs;
    dnnl_tp_exec_arg_t args[BD_MAX_TENSORS + 1];
    double pd_s, prim_s;
    const char *skip; /* set when no implementation is left by --impl / --skip-impl */
    const char *what; /* the call that failed */
} bd_side_t;

/* Descriptor and primitive. init_threads: thread count of the descriptor. */
dnnl_tp_status_t bd_side_create(bd_side_t *, const bd_prb_t *, const bd_api_t *, int init_threads);
/* A memory of the examined engine with these bytes: in this very buffer, or a copy of it. */
dnnl_tp_status_t bd_memory_create(const bd_api_t *, dnnl_tp_memory_t *, const_dnnl_tp_memory_desc_t,
                                  void *data, size_t bytes);
/* Of engines with a memory of their own: data to the memories, for executions; and back. */
dnnl_tp_status_t bd_side_upload(bd_side_t *);
dnnl_tp_status_t bd_side_download(bd_side_t *);
/* Memories, prefilled with BD_FILL_BYTE. */
dnnl_tp_status_t bd_side_alloc(bd_side_t *);
double bd_side_bytes(const bd_side_t *);
dnnl_tp_status_t bd_side_store(bd_side_t *, int i, const double *v);
dnnl_tp_status_t bd_side_load(bd_side_t *, int i, double *v);
dnnl_tp_status_t bd_side_execute(bd_side_t *, int threads);
/* Guards around the buffer, gaps of strided outputs, padding; a text about the first violation or NULL. */
const char *bd_side_violation(const bd_side_t *, int i);
void bd_side_destroy(bd_side_t *);
const_dnnl_tp_memory_desc_t bd_side_md(const bd_side_t *, int i);

/* Creates and destroys once more; both statuses must agree. For the creation rows and the parallel modifier.
 */
dnnl_tp_status_t bd_create_once(const bd_prb_t *, const bd_api_t *, dnnl_tp_memory_desc_t *md,
                                dnnl_tp_primitive_attr_t);

#endif
