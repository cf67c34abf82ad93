/* Attributes of a problem: grammar, printing, and the API calls and tensors made from them. */
#ifndef BD_ATTR_H
#define BD_ATTR_H

#include "common/api.h"
#include "common/parse.h"

#define BD_MAX_POST_OPS 32
#define BD_MAX_QUANT 16

typedef enum {
    BD_POLICY_COMMON,
    BD_POLICY_HOST_SCALAR,
    BD_POLICY_PER_DIM_0,
    BD_POLICY_PER_OC,
    BD_POLICY_PER_DIM_1,
    BD_POLICY_PER_DIM_01,
    BD_POLICY_PER_OCIC,
    BD_POLICY_PER_DIM_2,
    BD_POLICY_PER_DIM_3,
    BD_POLICY_PER_TENSOR,
    BD_POLICY_MX,
    BD_POLICY_DYNAMIC_FP,
    BD_POLICY_MASK,
    BD_POLICY_FULL, /* all of dst: a condition without mask */
    BD_POLICY_NONE
} bd_policy_t;

typedef struct {
    bd_policy_t policy;
    int mask; /* if policy is BD_POLICY_MASK */
} bd_mask_t;

typedef struct {
    int arg;
    bd_mask_t mask;
    bool has_value;
    float value;
    int dt;
    int64_t group[2]; /* 0 = none */
} bd_quant_t;

typedef enum { BD_PO_SUM, BD_PO_ELTWISE, BD_PO_BINARY, BD_PO_PRELU, BD_PO_DW } bd_po_kind_t;

typedef struct {
    bd_po_kind_t kind;
    int alg;
    float alpha, beta; /* eltwise */
    float scale;       /* sum; eltwise: 1 (see bd_attr_parse_post_ops) */
    int zero_point;    /* sum */
    int dt;            /* sum: undef = dst's; binary: src1's */
    bd_mask_t mask, mask2;
    char tag[BD_TAG], tag2[BD_TAG]; /* binary: of src1, and of the condition of select */
    char text[128];                 /* binary: strides; depthwise convolution: its parameters */
} bd_post_op_t;

typedef struct {
    int n_scales, n_zps, n_po;
    bd_quant_t scales[BD_MAX_QUANT], zps[BD_MAX_QUANT];
    bd_post_op_t po[BD_MAX_POST_OPS];
    bool scratchpad_user, deterministic, fpmath_int;
    int fpmath, acc;
    char dropout[64], rounding[64], precomputed[64]; /* parsed but not served */
} bd_attr_t;

struct bd_prb;

int bd_attr_parse_scales(bd_attr_t *, const char *);
int bd_attr_parse_zps(bd_attr_t *, const char *);
int bd_attr_parse_post_ops(bd_attr_t *, const char *);
void bd_attr_print_scales(const bd_attr_t *, char *, size_t);
void bd_attr_print_zps(const bd_attr_t *, char *, size_t);
void bd_attr_print_post_ops(const bd_attr_t *, char *, size_t);

bool bd_attr_is_default(const bd_attr_t *);
/* The mask of a policy for an argument of this problem. */
int bd_attr_mask(const struct bd_prb *, const bd_mask_t *, int arg, int ndims);
/* Adds the tensors of attributes (scales, zero points, post-op sources). Returns a skip reason or
 * NULL. */
const char *bd_attr_tensors(struct bd_prb *);
/* Makes the API object. Calls that an old peer lacks give unimplemented. num_threads 0 = leave
 * unset. */
dnnl_tp_status_t bd_attr_create(const struct bd_prb *, const bd_api_t *, int num_threads,
                                dnnl_tp_primitive_attr_t *);

/* ---- attr_ref.c: the arithmetic of attributes, in f64 ------------------------------------------------ */
double bd_eltwise(int alg, double s, double alpha, double beta);
double bd_binary(int alg, double a, double b);
/* Fills scales, zero points and post-op sources. */
void bd_attr_fill(const struct bd_prb *, int tensor, double *v);
/* Value of a scale or zero point of argument arg at a logical position of that argument. */
double bd_attr_scale(const struct bd_prb *, double *const *v, int arg, int ndims, const int64_t *pos);
double bd_attr_zp(const struct bd_prb *, double *const *v, int arg, int ndims, const int64_t *pos);
/* Whether argument arg has scales or zero points. */
bool bd_attr_quantized(const struct bd_prb *, int arg);
/* Subtracts zero points from x and multiplies it by scales. x: values of rows of the last dimension
 * of tensor i. */
void bd_attr_dequantize(const struct bd_prb *, double *const *v, int i, int64_t first_row, int64_t rows,
                        double *x);
/* acc -> dst: post-ops, dst scale, dst zero point. old_dst: former value of dst at this position.
 */
double bd_attr_finish(const struct bd_prb *, double *const *v, double acc, double old_dst,
                      const int64_t *pos);
/* The largest factor of scales between the arithmetic and dst. */
double bd_attr_growth(const struct bd_prb *);
bool bd_attr_has_sum(const bd_attr_t *);
/* The type in which dst is filled: the type as which the first sum reads it. */
int bd_old_dst_dt(const struct bd_prb *);

#endif
