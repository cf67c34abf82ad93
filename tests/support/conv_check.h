/* Convolutions and deconvolutions of conformance tests: a case, its tensors and post-operations, and its run on every
 * instruction set and thread count against sums in double precision, bit-equal over threads. Values are small whole
 * numbers, so that sums are exact. */
#ifndef DTP_TESTS_CONV_CHECK_H
#define DTP_TESTS_CONV_CHECK_H

#include "support/tensor.h"

/* Post-operations. */
typedef enum {
    END,
    RELU,
    LEAKY,
    CLIP,
    TANH,
    SUM,
    SUM_HALF,
    ADD,
    ADD_CHANNEL,
    ADD_PIXEL,
    MUL_CHANNEL,
    PRELU
} step_t;
enum { MAX_STEPS = 5 };

/* Spatial dimensions from the outermost one; groups 0: weights without that dimension, channels are of a group. */
typedef struct {
    int ns;
    int64_t n, groups, ic, oc, in[3], ker[3];
    dnnl_tp_dims_t stride, dil, left, right;
    bool bias;
    step_t chain[MAX_STEPS];
    const char *src, *wei, *dst;            /* layouts; NULL: any */
    dnnl_tp_data_type_t sdt, wdt, bdt, ddt; /* 0: conv_type, of bias f32 */
    const char *impl;                       /* NULL: what the kind's rule says */
} conv_case_t;

typedef struct {
    tensor_t src, wei, bia, dst, old, step[MAX_STEPS];
    int nsteps;
    dnnl_tp_primitive_attr_t attr;
} conv_data_t;

/* What a kind of primitive is to these tests. */
typedef struct {
    const char *name;
    dnnl_tp_alg_kind_t alg;
    dnnl_tp_status_t (*create)(dnnl_tp_primitive_desc_t *, dnnl_tp_engine_t, dnnl_tp_prop_kind_t,
                               dnnl_tp_alg_kind_t, const_dnnl_tp_memory_desc_t, const_dnnl_tp_memory_desc_t,
                               const_dnnl_tp_memory_desc_t, const_dnnl_tp_memory_desc_t, const dnnl_tp_dims_t,
                               const dnnl_tp_dims_t, const dnnl_tp_dims_t, const dnnl_tp_dims_t,
                               const_dnnl_tp_primitive_attr_t);
    /* Size of dst along spatial dimension s. */
    int64_t (*dst_size)(const conv_case_t *c, int s);
    /* Sums with the bias, without post-operations; one for each element of dst in row-major order, all zero at first. */
    void (*sums)(const conv_case_t *c, const conv_data_t *d, double *sum);
    /* Beginning of the implementation's name. */
    const char *(*impl)(const conv_case_t *c);
} conv_kind_t;

/* Type of src, weights, dst and full addends where a case does not say. */
extern dnnl_tp_data_type_t conv_type;
/* Runs a case everywhere; `stream` chooses the values. */
void conv_run(const conv_kind_t *kind, conv_case_t c, uint64_t stream);
/* What dst should hold, in row-major order; free() it. */
double *conv_expected(const conv_kind_t *kind, const conv_case_t *c, const conv_data_t *d);
/* Compares dst with it. */
void conv_compare(const conv_case_t *c, const conv_data_t *d, const double *want, const char *place);

#endif
