/* Operators of graphs: finding rows, reading attributes, inference as far as it is the same for all classes. */
#include "exec/graph/op.h"

#include <math.h>
#include <stdio.h>

#include "common/layout/memory_desc.h"

const dtp_op_row_t *dtp_op_row_named(const char *name, size_t size) {
    for (int i = 0; i < dtp_op_nrows; ++i)
        if (strlen(dtp_op_rows[i].name) == size && !memcmp(dtp_op_rows[i].name, name, size))
            return &dtp_op_rows[i];
    return NULL;
}

/* ---- Attributes -------------------------------------------------------------------------------------- */

static const char *attr_name(int key) {
    for (int r = 0, n; r < dtp_op_nrows; ++r) {
        const dtp_op_field_t *f = dtp_op_fields(&dtp_op_rows[r], &n);
        for (int i = 0; i < n; ++i)
            if (f[i].key == key) return f[i].name;
    }
    return "of this number";
}

bool dtp_op_given(const dtp_op_row_t *row, const void *attrs, size_t offset) {
    int n;
    const dtp_op_field_t *f = dtp_op_fields(row, &n);
    for (int i = 0; i < n; ++i)
        if (f[i].offset == offset) return ((const dtp_op_attrs_t *)attrs)->given >> i & 1;
    return false;
}

#define BAD_ATTR(cond, ...)                                                                      \
    do {                                                                                         \
        if (!(cond)) return dtp_fail(dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR, __VA_ARGS__); \
    } while (0)

static const char *attr_type_name(int type) {
    static const char *const names[] = {"s64", "f32", "bool", "string"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "of no type";
}

static void set_standard(void *attrs, const dtp_op_field_t *f) {
    char *at = (char *)attrs + f->offset;
    const float single = (float)f->standard;
    const int64_t whole = f->type == dnnl_tp_op_attr_s64 ? (int64_t)f->standard : 0;
    if (f->most) return; /* no elements */
    if (f->type == dnnl_tp_op_attr_f32) memcpy(at, &single, sizeof single);
    else if (f->type == dnnl_tp_op_attr_s64) memcpy(at, &whole, sizeof whole);
    else *(uint8_t *)at = f->standard != 0.;
}

static dnnl_tp_status_t read_word(uint8_t *at, const dtp_op_field_t *f, dtp_op_id_t id,
                                  const dnnl_tp_op_attr_t *a) {
    char all[64] = "";
    for (int i = 0; f->words[i]; ++i) {
        if ((size_t)a->count == strlen(f->words[i]) && !memcmp(a->data, f->words[i], (size_t)a->count)) {
            *at = (uint8_t)i;
            return dnnl_tp_success;
        }
        const size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", f->words[i]);
    }
    return dtp_fail(dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ATTR, "operator '%s' (%s): %s is none of %s",
                    id.name, id.kind, f->name, all);
}

static dnnl_tp_status_t read_one(void *attrs, const dtp_op_field_t *f, dtp_op_id_t id,
                                 const dnnl_tp_op_attr_t *a) {
    char *at = (char *)attrs + f->offset;
    BAD_ATTR(a->type == f->type, "operator '%s' (%s): attribute %s is %s (%d), needed is %s", id.name,
             id.kind, f->name, attr_type_name(a->type), a->type, attr_type_name(f->type));
    BAD_ATTR(a->data || a->count == 0, "operator '%s' (%s): attribute %s has no data", id.name, id.kind,
             f->name);
    if (f->most) {
        BAD_ATTR(a->count >= 0 && a->count <= f->most,
                 "operator '%s' (%s): attribute %s has %d elements, at most %d are allowed", id.name, id.kind,
                 f->name, a->count, f->most);
        const int64_t n = a->count;
        memcpy(at, &n, sizeof n); /* dtp_list_t, dtp_lengths_t */
        if (n) memcpy(at + sizeof n, a->data, (size_t)n * sizeof(int64_t));
        return dnnl_tp_success;
    }
    if (f->type == dnnl_tp_op_attr_string) return read_word((uint8_t *)at, f, id, a);
    BAD_ATTR(a->count == 1, "operator '%s' (%s): attribute %s has %d elements, needs 1", id.name, id.kind,
             f->name, a->count);
    if (f->type == dnnl_tp_op_attr_s64) {
        memcpy(at, a->data, sizeof(int64_t));
    } else if (f->type == dnnl_tp_op_attr_f32) {
        float v;
        memcpy(&v, a->data, sizeof v);
        BAD_ATTR(!isnan(v), "operator '%s' (%s): attribute %s is not a number", id.name, id.kind, f->name);
        memcpy(at, &v, sizeof v);
    } else {
        *(uint8_t *)at = *(const uint8_t *)a->data != 0;
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_op_attrs_read(void *attrs, const dtp_op_row_t *row, dtp_op_id_t id, int nattr,
                                   const dnnl_tp_op_attr_t *attr) {
    int n;
    const dtp_op_field_t *f = dtp_op_fields(row, &n);
    uint32_t given = 0;
    memset(attrs, 0, row->cls->attrs_size);
    for (int i = 0; i < n; ++i) set_standard(attrs, &f[i]);
    BAD_ATTR(nattr >= 0 && (nattr == 0 || attr), "operator '%s' (%s): %d attributes at NULL", id.name,
             id.kind, nattr);
    for (int i = 0; i < nattr; ++i) {
        int k = 0;
        while (k < n && (f[k].key == DTP_ATTR_FIXED || f[k].key != attr[i].key)) ++k;
        BAD_ATTR(k < n, "operator '%s' (%s) has no attribute %s (%d)", id.name, id.kind,
                 attr_name(attr[i].key), attr[i].key);
        BAD_ATTR(!(given >> k & 1), "operator '%s' (%s): attribute %s is given twice", id.name, id.kind,
                 f[k].name);
        DTP_TRY(read_one(attrs, &f[k], id, &attr[i]));
        given |= 1u << k;
    }
    for (int k = 0; k < n; ++k)
        BAD_ATTR(!f[k].needed || (given >> k & 1), "operator '%s' (%s) needs the attribute %s", id.name,
                 id.kind, f[k].name);
    ((dtp_op_attrs_t *)attrs)->given = given;
    return dnnl_tp_success;
}

/* ---- Inference --------------------------------------------------------------------------------------- */

#define BAD_ARITY(cond, ...)                                                                      \
    do {                                                                                          \
        if (!(cond)) return dtp_fail(dnnl_tp_invalid_graph_op, DTP_GRAPH_BAD_ARITY, __VA_ARGS__); \
    } while (0)

dnnl_tp_status_t dtp_op_infer(const dtp_infer_t *c) {
    const dtp_op_row_t *row = c->row;
    const dtp_op_class_t *cls = row->cls;
    BAD_ARITY(c->nin >= row->min_in && (row->max_in < 0 || c->nin <= row->max_in),
              "operator '%s' (%s): got %d inputs, needs %d..%d", c->id.name, c->id.kind, c->nin, row->min_in,
              row->max_in);
    for (int i = 0; i < c->nin; ++i)
        BAD_ARITY(c->in[i] || ((cls->flags & DTP_OP_MAY_LACK) && i >= row->min_in),
                  "operator '%s' (%s): input %d is absent", c->id.name, c->id.kind, i);
    const int results = cls->results(c->attrs, c->nout);
    BAD_ARITY(c->nout == results, "operator '%s' (%s) has %d output%s, not %d", c->id.name, c->id.kind,
              results, results == 1 ? "" : "s", c->nout);
    memset(c->out, 0, sizeof *c->out * (size_t)c->nout);
    DTP_TRY(cls->infer(c));
    for (int i = 0; i < c->nout; ++i) {
        for (int d = c->out[i].ndims; d < DNNL_TP_MAX_NDIMS; ++d) c->out[i].dims[d] = 0;
        DTP_TRY(dtp_info_check(&c->out[i], true, "the result of operator", c->id.name));
    }
    return dnnl_tp_success;
}

/* ---- Values that shapes are made of ------------------------------------------------------------------ */

bool dtp_may_be_known(const dnnl_tp_tensor_info_t *info) {
    const int64_t n = dtp_info_nelems(info);
    switch (info->data_type) {
    case dnnl_tp_s64:
    case dnnl_tp_s32:
    case dnnl_tp_s8:
    case dnnl_tp_u8:
    case dnnl_tp_boolean: return n >= 0 && n <= DTP_KNOWN_MAX;
    default: return false;
    }
}

void dtp_known_of(const dnnl_tp_tensor_info_t *info, const void *data, int64_t *values) {
    const int64_t n = dtp_info_nelems(info);
    for (int64_t i = 0; i < n; ++i) switch (info->data_type) {
        case dnnl_tp_s64: memcpy(&values[i], (const char *)data + i * 8, 8); break;
        case dnnl_tp_s32: {
            int32_t v;
            memcpy(&v, (const char *)data + i * 4, sizeof v);
            values[i] = v;
            break;
        }
        case dnnl_tp_s8: values[i] = ((const int8_t *)data)[i]; break;
        default: values[i] = ((const uint8_t *)data)[i]; break;
        }
}

void dtp_known_to(const dnnl_tp_tensor_info_t *info, const int64_t *values, void *data) {
    const int64_t n = dtp_info_nelems(info);
    for (int64_t i = 0; i < n; ++i) switch (info->data_type) {
        case dnnl_tp_s64: memcpy((char *)data + i * 8, &values[i], 8); break;
        case dnnl_tp_s32: {
            const int32_t v = (int32_t)values[i];
            memcpy((char *)data + i * 4, &v, sizeof v);
            break;
        }
        case dnnl_tp_boolean: ((uint8_t *)data)[i] = values[i] != 0; break;
        default: ((uint8_t *)data)[i] = (uint8_t)values[i]; break;
        }
}

bool dtp_op_values(const dtp_infer_t *c, int64_t values[DTP_KNOWN_MAX]) {
    return c->row->cls->values && c->nout == 1 && dtp_may_be_known(c->out) && c->row->cls->values(c, values);
}

/* ---- Shapes ------------------------------------------------------------------------------------------ */

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

dnnl_tp_status_t dtp_info_differ(dtp_op_id_t id, const char *what, int i, const dnnl_tp_tensor_info_t *a,
                                 const dnnl_tp_tensor_info_t *b) {
    char ta[DTP_SHAPE_TEXT], tb[DTP_SHAPE_TEXT];
    return dtp_fail(dtp_info_mismatch(a, b), dtp_info_mismatch_reason(a, b),
                    "operator '%s' (%s): %s %d: %s %s and %s %s differ", id.name, id.kind, what, i,
                    dnnl_tp_dt2str(a->data_type), dtp_info_text(a, ta), dnnl_tp_dt2str(b->data_type),
                    dtp_info_text(b, tb));
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
