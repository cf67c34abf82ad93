/* Table of operators and reading of their attributes. Shape inference: infer.c. */
#include "exec/graph/op.h"

#include <math.h>
#include <stdio.h>

#include "common/layout/memory_desc.h"

static const dtp_op_row_t rows[] = {
#define DTP_OP(name, cls, min_in, max_in, allowed, required) \
    {dnnl_tp_op_##name, #name, DTP_CLASS_##cls, min_in, max_in, allowed, required},
#include "exec/graph/ops.inc"
#undef DTP_OP
};

const dtp_op_row_t *dtp_op_row(int kind) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        if (rows[i].kind == kind) return &rows[i];
    return NULL;
}

const dtp_op_row_t *dtp_op_row_named(const char *name, size_t size) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
        if (strlen(rows[i].name) == size && !memcmp(rows[i].name, name, size)) return &rows[i];
    return NULL;
}

#define AT(field) offsetof(dtp_op_attrs_t, field)
static const dtp_op_key_t keys[] = {
    {dnnl_tp_op_attr_alpha, DTP_A_ALPHA, "alpha", dnnl_tp_op_attr_f32, AT(alpha), false},
    {dnnl_tp_op_attr_beta, DTP_A_BETA, "beta", dnnl_tp_op_attr_f32, AT(beta), false},
    {dnnl_tp_op_attr_epsilon, DTP_A_EPSILON, "epsilon", dnnl_tp_op_attr_f32, AT(epsilon), false},
    {dnnl_tp_op_attr_max, DTP_A_MAX, "max", dnnl_tp_op_attr_f32, AT(max), false},
    {dnnl_tp_op_attr_min, DTP_A_MIN, "min", dnnl_tp_op_attr_f32, AT(min), false},
    {dnnl_tp_op_attr_axis, DTP_A_AXIS, "axis", dnnl_tp_op_attr_s64, AT(axis), false},
    {dnnl_tp_op_attr_begin_norm_axis, DTP_A_BEGIN_NORM_AXIS, "begin_norm_axis", dnnl_tp_op_attr_s64,
     AT(begin_norm_axis), false},
    {dnnl_tp_op_attr_axes, DTP_A_AXES, "axes", dnnl_tp_op_attr_s64, AT(list), true},
    {dnnl_tp_op_attr_order, DTP_A_ORDER, "order", dnnl_tp_op_attr_s64, AT(list), true},
    {dnnl_tp_op_attr_shape, DTP_A_SHAPE, "shape", dnnl_tp_op_attr_s64, AT(list), true},
    {dnnl_tp_op_attr_keep_dims, DTP_A_KEEP_DIMS, "keep_dims", dnnl_tp_op_attr_bool, AT(keep_dims), false},
    {dnnl_tp_op_attr_special_zero, DTP_A_SPECIAL_ZERO, "special_zero", dnnl_tp_op_attr_bool, AT(special_zero),
     false},
    {dnnl_tp_op_attr_transpose_a, DTP_A_TRANSPOSE_A, "transpose_a", dnnl_tp_op_attr_bool, AT(transpose_a),
     false},
    {dnnl_tp_op_attr_transpose_b, DTP_A_TRANSPOSE_B, "transpose_b", dnnl_tp_op_attr_bool, AT(transpose_b),
     false},
    {dnnl_tp_op_attr_use_affine, DTP_A_USE_AFFINE, "use_affine", dnnl_tp_op_attr_bool, AT(use_affine), false},
    {dnnl_tp_op_attr_mode, DTP_A_MODE, "mode", dnnl_tp_op_attr_string, AT(gelu_tanh), false},
    {dnnl_tp_op_attr_heads, DTP_A_HEADS, "heads", dnnl_tp_op_attr_s64, AT(heads), false},
    {dnnl_tp_op_attr_scale, DTP_A_SCALE, "scale", dnnl_tp_op_attr_f32, AT(scale), false},
};
#undef AT

const dtp_op_key_t *dtp_op_keys(int *count) {
    *count = (int)(sizeof keys / sizeof *keys);
    return keys;
}

static bool text_is(const dnnl_tp_op_attr_t *a, const char *text) {
    return (size_t)a->count == strlen(text) && !memcmp(a->data, text, strlen(text));
}

#define BAD_ATTR(cond, ...)                                                                      \
    do {                                                                                         \
        if (!(cond)) return dtp_fail(dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR, __VA_ARGS__); \
    } while (0)

static const char *attr_type_name(int type) {
    static const char *const names[] = {"s64", "f32", "bool", "string"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "of no type";
}

static dnnl_tp_status_t read_one(dtp_op_attrs_t *attrs, const dtp_op_key_t *k, dtp_op_id_t id,
                                 const dnnl_tp_op_attr_t *a) {
    char *at = (char *)attrs + k->offset;
    BAD_ATTR(a->type == k->type, "operator '%s' (%s): attribute %s is %s (%d), needed is %s", id.name,
             id.kind, k->name, attr_type_name(a->type), a->type, attr_type_name(k->type));
    BAD_ATTR(a->data || a->count == 0, "operator '%s' (%s): attribute %s has no data", id.name, id.kind,
             k->name);
    if (k->is_list) {
        BAD_ATTR(a->count >= 0 && a->count <= DNNL_TP_MAX_NDIMS,
                 "operator '%s' (%s): attribute %s has %d elements, at most %d are allowed", id.name, id.kind,
                 k->name, a->count, DNNL_TP_MAX_NDIMS);
        if (a->count) memcpy(at, a->data, (size_t)a->count * sizeof(int64_t));
        attrs->nlist = a->count;
        return dnnl_tp_success;
    }
    if (k->type == dnnl_tp_op_attr_string) {
        bool tanh = text_is(a, "gelu_tanh");
        BAD_ATTR(tanh || text_is(a, "gelu_erf"), "operator '%s' (%s): mode is neither gelu_erf nor gelu_tanh",
                 id.name, id.kind);
        attrs->gelu_tanh = tanh;
        return dnnl_tp_success;
    }
    BAD_ATTR(a->count == 1, "operator '%s' (%s): attribute %s has %d elements, needs 1", id.name, id.kind,
             k->name, a->count);
    if (k->type == dnnl_tp_op_attr_s64) {
        memcpy(at, a->data, sizeof(int64_t));
    } else if (k->type == dnnl_tp_op_attr_f32) {
        float v;
        memcpy(&v, a->data, sizeof v);
        BAD_ATTR(!isnan(v), "operator '%s' (%s): attribute %s is not a number", id.name, id.kind, k->name);
        memcpy(at, &v, sizeof v);
    } else {
        *(uint8_t *)at = *(const uint8_t *)a->data != 0;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_op_attrs_read(dtp_op_attrs_t *attrs, const dtp_op_row_t *row, dtp_op_id_t id, int nattr,
                                   const dnnl_tp_op_attr_t *attr) {
    memset(attrs, 0, sizeof *attrs);
    attrs->axis = -1;
    attrs->begin_norm_axis = -1;
    attrs->epsilon = row->cls == DTP_CLASS_POOL ? 1e-12f : 1e-5f;
    if (row->kind == dnnl_tp_op_softplus) attrs->beta = 1.f;
    BAD_ATTR(nattr >= 0 && (nattr == 0 || attr), "operator '%s' (%s): %d attributes at NULL", id.name,
             id.kind, nattr);
    for (int i = 0; i < nattr; ++i) {
        const dtp_op_key_t *k = NULL;
        for (size_t j = 0; j < sizeof keys / sizeof *keys && !k; ++j)
            if (keys[j].key == attr[i].key) k = &keys[j];
        BAD_ATTR(k && (row->allowed & k->bit), "operator '%s' (%s) has no attribute %s (%d)", id.name,
                 id.kind, k ? k->name : "of this number", attr[i].key);
        BAD_ATTR(!(attrs->set & k->bit), "operator '%s' (%s): attribute %s is given twice", id.name, id.kind,
                 k->name);
        DTP_TRY(read_one(attrs, k, id, &attr[i]));
        attrs->set |= k->bit;
    }
    unsigned missing = row->required & ~attrs->set;
    for (size_t j = 0; missing && j < sizeof keys / sizeof *keys; ++j)
        BAD_ATTR(!(missing & keys[j].bit), "operator '%s' (%s) needs the attribute %s", id.name, id.kind,
                 keys[j].name);
    if (row->kind == dnnl_tp_op_clamp)
        BAD_ATTR(attrs->min <= attrs->max, "operator '%s' (clamp): min %g is above max %g", id.name,
                 (double)attrs->min, (double)attrs->max);
    if (row->kind == dnnl_tp_op_softplus)
        BAD_ATTR(attrs->beta != 0.f, "operator '%s' (softplus): beta is 0", id.name);
    BAD_ATTR(!(attrs->set & DTP_A_EPSILON) || attrs->epsilon >= 0.f,
             "operator '%s' (%s): epsilon %g is negative", id.name, id.kind, (double)attrs->epsilon);
    return dnnl_tp_success;
}

int64_t dtp_info_product(const dnnl_tp_tensor_info_t *info, int from, int to) {
    int64_t n = 1;
    for (int d = from; d < to; ++d) {
        if (info->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) return -1;
        n *= info->dims[d];
    }
    return n;
}

int64_t dtp_info_nelems(const dnnl_tp_tensor_info_t *info) { return dtp_info_product(info, 0, info->ndims); }

bool dtp_info_equal(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b) {
    return a->ndims == b->ndims && a->data_type == b->data_type &&
           !memcmp(a->dims, b->dims, (size_t)a->ndims * sizeof *a->dims);
}

const char *dtp_info_text(const dnnl_tp_tensor_info_t *info, char text[DTP_SHAPE_TEXT]) {
    int n = snprintf(text, DTP_SHAPE_TEXT, "{");
    for (int d = 0; d < info->ndims && n < DTP_SHAPE_TEXT - 24; ++d) {
        const char *sep = d ? ", " : "";
        if (info->dims[d] == DNNL_TP_RUNTIME_DIM_VAL)
            n += snprintf(text + n, (size_t)(DTP_SHAPE_TEXT - n), "%s?", sep);
        else n += snprintf(text + n, (size_t)(DTP_SHAPE_TEXT - n), "%s%lld", sep, (long long)info->dims[d]);
    }
    snprintf(text + n, (size_t)(DTP_SHAPE_TEXT - n), "}");
    return text;
}

dnnl_tp_status_t dtp_info_check(const dnnl_tp_tensor_info_t *info, bool runtime_allowed, const char *what,
                                const char *name) {
    DTP_REQUIRE(info->ndims >= 0 && info->ndims <= DNNL_TP_MAX_NDIMS, BAD_NDIMS,
                "%s '%s' has %d dimensions, not 0..%d", what, name, info->ndims, DNNL_TP_MAX_NDIMS);
    size_t size = dtp_type_size(info->data_type);
    DTP_REQUIRE(size > 0, BAD_DATA_TYPE, "%s '%s' has type %s (%d)", what, name,
                dnnl_tp_dt2str(info->data_type), (int)info->data_type);
    int64_t left = INT64_MAX / 2 / (int64_t)size;
    for (int d = 0; d < info->ndims; ++d) {
        int64_t v = info->dims[d];
        if (v == DNNL_TP_RUNTIME_DIM_VAL) {
            if (!runtime_allowed)
                return dtp_fail(dnnl_tp_invalid_shape, DTP_GRAPH_RUNTIME_SHAPE,
                                "dimension %d of %s '%s' is not known", d, what, name);
            continue;
        }
        DTP_REQUIRE(v >= 0, BAD_DIMS, "dimension %d of %s '%s' is %lld%s", d, what, name, (long long)v,
                    runtime_allowed ? " (one that is not known yet is DNNL_TP_RUNTIME_DIM_VAL)" : "");
        if (v > 1) {
            DTP_REQUIRE(v <= left, OVERFLOW, "the size of %s '%s' overflows", what, name);
            left /= v;
        }
    }
    return dnnl_tp_success;
}
