/* Functions of graphs, element by element: tables. The problem is made and checked by exec/ops/elements/pointwise.c. */
#include "common/problems/graph/pointwise.h"

static const dtp_field_t pointwise_fields[] = {DTP_FIELD(dtp_pointwise_desc_t, fn, S32),
                                               DTP_INPUT(dtp_pointwise_desc_t, src0, DNNL_TP_ARG_SRC_0),
                                               DTP_INPUT(dtp_pointwise_desc_t, src1, DNNL_TP_ARG_SRC_1),
                                               DTP_INPUT(dtp_pointwise_desc_t, src2, DNNL_TP_ARG_SRC_2),
                                               DTP_OUTPUT(dtp_pointwise_desc_t, dst, DNNL_TP_ARG_DST)};

static void pointwise_work(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work) {
    (void)op;
    work->flops = (double)dtp_md_nelems(arg[DTP_POINTWISE_DST].md);
}
DTP_KIND_INFO(pointwise, -1, NULL, pointwise_work);

#define BIT(type) (1u << dnnl_tp_##type)
enum {
    SET_FLOATS = BIT(f32) | BIT(f64),
    SET_INTEGERS = BIT(s64) | BIT(s32) | BIT(s8) | BIT(u8),
    SET_NUMBERS = SET_FLOATS | SET_INTEGERS,
    SET_ALL = SET_NUMBERS | BIT(boolean)
};
typedef enum { SAME, TRUTH } result_t;
static const struct {
    unsigned types;
    result_t result;
} functions[DTP_PW_COUNT] = {
#define DTP_PW(name, nsrc, types, result, expression) [DTP_PW_##name] = {SET_##types, result},
#include "common/problems/graph/pointwise.inc"
};

bool dtp_pointwise_takes(int fn, dnnl_tp_data_type_t type) {
    return functions[fn].types >> (unsigned)type & 1u;
}

bool dtp_pointwise_is_truth(int fn) { return functions[fn].result == TRUTH; }
