/* com.microsoft: products with weights of few bits, which become numbers when the graph is made. */
#include "onnx/ops/ops.h"

/* Weights {rows, cols} of a few bits, with a scale for each block of a row's columns. */
typedef struct {
    int64_t rows, cols, block, bits;
} blocks_t;

/* Number i of a list that begins at a byte, those of lower bits first. */
static unsigned packed(const uint8_t *at, int64_t i, int64_t bits) {
    const int64_t each = 8 / bits;
    return (unsigned)at[i / each] >> (i % each * bits) & ((1U << bits) - 1);
}

/* The elements of an input that must be known: so many of a type. */
static const void *known(cv_t *cv, int input, dnnl_tp_data_type_t type, int64_t elems) {
    const val_t *x = cv->in[input];
    int64_t n;
    if (cv->status) return NULL;
    if (!x->data) {
        (void)dtp_cv_numbers(cv, input, &n); /* says that it must be */
    } else if (x->info.data_type != type || dtp_val_elems(x) != elems) {
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its input %d has %lld elements of %s, needed are %lld of %s",
                    input, (long long)dtp_val_elems(x), dnnl_tp_dt2str(x->info.data_type), (long long)elems,
                    dnnl_tp_dt2str(type));
    }
    return cv->status ? NULL : x->data;
}

void dtp_onnx_ms_matmul_bits(cv_t *cv) {
    enum { X, WEIGHTS, SCALES, ZEROS, GROUPS, BIAS, LEAST_BLOCK = 16, BYTE = 8 };
    const blocks_t b = {.rows = dtp_cv_int(cv, "N", 0),
                        .cols = dtp_cv_int(cv, "K", 0),
                        .block = dtp_cv_int(cv, "block_size", 0),
                        .bits = dtp_cv_int(cv, "bits", 4)};
    const int64_t layout = dtp_cv_int(cv, "weight_prepacked", 0);
    (void)dtp_cv_int(cv, "accuracy_level", 0); /* the least one; here it is f32 */
    if (b.rows < 1 || b.cols < 1 || b.rows > INT32_MAX || b.cols > INT32_MAX || b.block < LEAST_BLOCK ||
        b.block > INT32_MAX || b.block & (b.block - 1))
        dtp_cv_fail(cv, dnnl_tp_invalid_graph_op, "its weights are %lld x %lld in blocks of %lld",
                    (long long)b.rows, (long long)b.cols, (long long)b.block);
    if (!cv->status && ((b.bits != 2 && b.bits != 4 && b.bits != BYTE) || layout))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its attribute '%s' is %lld",
                    layout ? "weight_prepacked" : "bits", (long long)(layout ? layout : b.bits));
    if (!cv->status && dtp_cv_given(cv, GROUPS))
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its input 'g_idx' is not implemented");
    if (!cv->status && cv->in[X]->info.data_type != dnnl_tp_f32)
        dtp_cv_fail(cv, dnnl_tp_unimplemented, "its type is %s", dnnl_tp_dt2str(cv->in[X]->info.data_type));
    if (cv->status) return;
    const int64_t blocks = (b.cols + b.block - 1) / b.block, blob = b.block * b.bits / BYTE,
                  zero_row = (blocks * b.bits + BYTE - 1) / BYTE;
    const bool has_zeros = dtp_cv_given(cv, ZEROS),
               has_numbers = has_zeros && cv->in[ZEROS]->info.data_type == dnnl_tp_f32;
    const uint8_t *w = known(cv, WEIGHTS, dnnl_tp_u8, b.rows * blocks * blob);
    const float *scale = known(cv, SCALES, dnnl_tp_f32, b.rows * blocks);
    const void *zeros = !has_zeros    ? NULL
                        : has_numbers ? known(cv, ZEROS, dnnl_tp_f32, b.rows * blocks)
                                      : known(cv, ZEROS, dnnl_tp_u8, b.rows * zero_row);
    void *p;
    val_t *weights =
        cv->status ? NULL : dtp_cv_room(cv, dnnl_tp_f32, 2, (const int64_t[2]){b.rows, b.cols}, &p);
    if (cv->status) return;
    for (int64_t r = 0; r < b.rows; ++r)
        for (int64_t k = 0; k < blocks; ++k) {
            const int64_t at = r * blocks + k, begin = k * b.block,
                          end = begin + b.block < b.cols ? begin + b.block : b.cols;
            const float zero = has_numbers ? ((const float *)zeros)[at]
                               : zeros     ? (float)packed((const uint8_t *)zeros + r * zero_row, k, b.bits)
                                           : (float)(1 << (b.bits - 1));
            float *to = (float *)p + r * b.cols;
            for (int64_t c = begin; c < end; ++c)
                to[c] = ((float)packed(w + at * blob, c - begin, b.bits) - zero) * scale[at];
        }
    val_t *bias = dtp_cv_given(cv, BIAS) ? cv->in[BIAS] : NULL;
    val_t *y = dtp_cv_matmul(bias ? cv : dtp_cv_last(cv), cv->in[X], weights, true);
    dtp_cv_set(cv, 0, bias && y ? dtp_cv_binary(dtp_cv_last(cv), dnnl_tp_op_add, y, bias) : y);
}
