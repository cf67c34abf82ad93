/* Data of the tensors of a file, in the types in which graphs carry them. What needs no conversion stays where it is. */
#include "onnx/model.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- Types ------------------------------------------------------------------------------------------- */

enum { F32_DATA = 1, S32_DATA, S64_DATA, F64_DATA, U64_DATA };
#define TYPES(T)                                         \
    T(1, FLOAT, dnnl_tp_f32, 4, F32_DATA)                \
    T(2, UINT8, dnnl_tp_u8, 1, S32_DATA)                 \
    T(3, INT8, dnnl_tp_s8, 1, S32_DATA)                  \
    T(4, UINT16, dnnl_tp_data_type_undef, 2, S32_DATA)   \
    T(5, INT16, dnnl_tp_data_type_undef, 2, S32_DATA)    \
    T(6, INT32, dnnl_tp_s32, 4, S32_DATA)                \
    T(7, INT64, dnnl_tp_s64, 8, S64_DATA)                \
    T(8, STRING, dnnl_tp_data_type_undef, 0, 0)          \
    T(9, BOOL, dnnl_tp_boolean, 1, S32_DATA)             \
    T(10, FLOAT16, dnnl_tp_f32, 2, S32_DATA)             \
    T(11, DOUBLE, dnnl_tp_f64, 8, F64_DATA)              \
    T(12, UINT32, dnnl_tp_data_type_undef, 4, U64_DATA)  \
    T(13, UINT64, dnnl_tp_data_type_undef, 8, U64_DATA)  \
    T(14, COMPLEX64, dnnl_tp_data_type_undef, 8, 0)      \
    T(15, COMPLEX128, dnnl_tp_data_type_undef, 16, 0)    \
    T(16, BFLOAT16, dnnl_tp_f32, 2, S32_DATA)            \
    T(17, FLOAT8E4M3FN, dnnl_tp_data_type_undef, 1, 0)   \
    T(18, FLOAT8E4M3FNUZ, dnnl_tp_data_type_undef, 1, 0) \
    T(19, FLOAT8E5M2, dnnl_tp_data_type_undef, 1, 0)     \
    T(20, FLOAT8E5M2FNUZ, dnnl_tp_data_type_undef, 1, 0) \
    T(21, UINT4, dnnl_tp_data_type_undef, 0, 0)          \
    T(22, INT4, dnnl_tp_data_type_undef, 0, 0)           \
    T(23, FLOAT4E2M1, dnnl_tp_data_type_undef, 0, 0)     \
    T(24, FLOAT8E8M0, dnnl_tp_data_type_undef, 1, 0)     \
    T(25, UINT2, dnnl_tp_data_type_undef, 0, 0)          \
    T(26, INT2, dnnl_tp_data_type_undef, 0, 0)
enum { T_FLOAT16 = 10, T_BFLOAT16 = 16 };

/* Types that graphs carry in wider ones: their elements become those of a type that graphs carry. */
typedef struct {
    int onnx_type, bits;
    dnnl_tp_data_type_t as;
    bool is_signed;
    /* Of floating point: bits of the mantissa, bias of the exponent, codes of NaN and infinity (NONE: there is none). */
    int mantissa, bias;
    unsigned nan, infinity;
} stored_t;
enum { NONE = 1 << 16 };
static const stored_t stored[] = {
    {4, 16, dnnl_tp_s32, false, 0, 0, 0, 0},       {5, 16, dnnl_tp_s32, true, 0, 0, 0, 0},
    {17, 8, dnnl_tp_f32, true, 3, 7, 0x7f, NONE},  {18, 8, dnnl_tp_f32, true, 3, 8, 0x80, NONE},
    {19, 8, dnnl_tp_f32, true, 2, 15, 0x7f, 0x7c}, {20, 8, dnnl_tp_f32, true, 2, 16, 0x80, NONE},
    {21, 4, dnnl_tp_u8, false, 0, 0, 0, 0},        {22, 4, dnnl_tp_s8, true, 0, 0, 0, 0},
    {23, 4, dnnl_tp_f32, true, 1, 1, NONE, NONE},  {24, 8, dnnl_tp_f32, false, 0, 127, 0xff, NONE},
    {25, 2, dnnl_tp_u8, false, 0, 0, 0, 0},        {26, 2, dnnl_tp_s8, true, 0, 0, 0, 0},
    {12, 32, dnnl_tp_s64, false, 0, 0, 0, 0},
};

typedef struct {
    const char *name;
    dnnl_tp_data_type_t carried;
    int size, field; /* bytes of an element in raw_data; the other field that may hold it */
} type_t;
static const type_t types[] = {
#define ROW(number, name, carried, size, field) [number] = {#name, carried, size, field},
    TYPES(ROW)
#undef ROW
};

static const type_t *type_of(int t) {
    return t > 0 && t < (int)(sizeof types / sizeof *types) ? &types[t] : NULL;
}
dnnl_tp_data_type_t dtp_onnx_carried(int t) {
    return type_of(t) ? type_of(t)->carried : dnnl_tp_data_type_undef;
}
static const stored_t *stored_of(int t) {
    for (size_t i = 0; i < sizeof stored / sizeof *stored; ++i)
        if (stored[i].onnx_type == t) return &stored[i];
    return NULL;
}
const dtp_narrow_t *dtp_onnx_narrow(const char *name) {
    static const dtp_narrow_t all[] = {{"UINT16", 16, false, dnnl_tp_s32}, {"INT16", 16, true, dnnl_tp_s32},
                                       {"UINT32", 32, false, dnnl_tp_s64}, {"UINT4", 4, false, dnnl_tp_u8},
                                       {"INT4", 4, true, dnnl_tp_s8},      {"UINT2", 2, false, dnnl_tp_u8},
                                       {"INT2", 2, true, dnnl_tp_s8}};
    for (size_t i = 0; name && i < sizeof all / sizeof *all; ++i)
        if (!strcmp(all[i].name, name)) return &all[i];
    return NULL;
}
const dtp_float8_t *dtp_onnx_float8(const char *name) {
    static const dtp_float8_t all[] = {{"FLOAT8E4M3FN", 3, -6, 448, false, true},
                                       {"FLOAT8E4M3FNUZ", 3, -7, 240, false, false},
                                       {"FLOAT8E5M2", 2, -14, 57344, true, true},
                                       {"FLOAT8E5M2FNUZ", 2, -15, 57344, false, false}};
    for (size_t i = 0; name && i < sizeof all / sizeof *all; ++i)
        if (!strcmp(all[i].name, name)) return &all[i];
    return NULL;
}
const char *dtp_onnx_stored(int t) { return stored_of(t) ? type_of(t)->name : NULL; }
dnnl_tp_data_type_t dtp_onnx_read_as(int t) { return stored_of(t) ? stored_of(t)->as : dtp_onnx_carried(t); }

const char *dtp_onnx_type_name(int t) { return type_of(t) ? type_of(t)->name : "of no type that ONNX has"; }

size_t dtp_onnx_type_size(dnnl_tp_data_type_t type) {
    switch (type) {
    case dnnl_tp_s64:
    case dnnl_tp_f64: return sizeof(int64_t);
    case dnnl_tp_f32:
    case dnnl_tp_s32: return sizeof(int32_t);
    case dnnl_tp_bf16: return sizeof(int16_t);
    default: return 1;
    }
}

int64_t dtp_onnx_elems(const dnnl_tp_tensor_info_t *info) {
    int64_t n = 1;
    bool zero = false;
    if (info->ndims < 0 || info->ndims > DNNL_TP_MAX_NDIMS) return -1;
    for (int d = 0; d < info->ndims; ++d) {
        if (info->dims[d] < 0) return -1; /* DNNL_TP_RUNTIME_DIM_VAL, too */
        if (info->dims[d] == 0) zero = true;
        else if (__builtin_mul_overflow(n, info->dims[d], &n)) return -1;
    }
    return zero ? 0 : n > INT64_MAX / (int64_t)sizeof(double) ? -1 : n;
}

/* ---- Conversions ------------------------------------------------------------------------------------- */

static float bits_as_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float half(uint16_t h) {
    enum { MANTISSA = 0x3ff, EXPONENT = 0x1f, TO_F32 = 13, BIAS = 127 - 15, SIGN = 0x8000 };
    const uint32_t sign = (uint32_t)(h & SIGN) << 16, m = h & MANTISSA, e = h >> 10 & EXPONENT;
    if (e == EXPONENT) return bits_as_float(sign | 0x7f800000u | m << TO_F32);
    if (e) return bits_as_float(sign | (e + BIAS) << 23 | m << TO_F32);
    const float f = (float)m * 0x1p-24f; /* a subnormal number */
    return sign ? -f : f;
}

static float narrow(int onnx_type, uint16_t bits) {
    return onnx_type == T_FLOAT16 ? half(bits) : bits_as_float((uint32_t)bits << 16);
}

/* A number of a stored type of floating point. */
static float number_of(const stored_t *s, unsigned code) {
    const unsigned magnitude = code & ((1u << (s->bits - s->is_signed)) - 1);
    const unsigned e = magnitude >> s->mantissa, m = magnitude & ((1u << s->mantissa) - 1);
    const bool is_normal = e || !s->is_signed; /* without a sign, there is no zero */
    if (code == s->nan || magnitude == s->nan || magnitude > s->infinity) return NAN;
    const float f = magnitude == s->infinity ? INFINITY
                                             : ldexpf((float)(m + (is_normal ? 1u << s->mantissa : 0)),
                                                      (int)(is_normal ? e : 1) - s->bias - s->mantissa);
    return magnitude == code ? f : -f;
}

/* Bytes of n elements; several share a byte, the first of them in its low bits. */
static size_t bytes_of(const stored_t *s, int64_t n) {
    const int64_t per = CHAR_BIT / s->bits;
    return (size_t)(per ? n / per + (n % per != 0) : n * (s->bits / CHAR_BIT));
}

/* ---- One tensor -------------------------------------------------------------------------------------- */

static dnnl_tp_status_t bad(dtp_onnx_tensor_t *t, dnnl_tp_status_t status, const char *why) {
    t->status = status;
    t->why = why;
    t->data = NULL;
    return dnnl_tp_success;
}

/* Elements of a stored type. */
static dnnl_tp_status_t from_stored(dnnl_tp_onnx_model_t m, const stored_t *s, const uint8_t *p, int64_t n,
                                    dtp_onnx_tensor_t *t) {
    const int64_t per = s->bits < CHAR_BIT ? CHAR_BIT / s->bits : 1;
    void *to = dtp_import_alloc(&m->memory, (size_t)n * dtp_onnx_type_size(s->as));
    if (!to) return dnnl_tp_out_of_memory;
    for (int64_t i = 0; i < n; ++i) {
        if (s->as == dnnl_tp_s64) {
            uint32_t v;
            memcpy(&v, p + i * (int64_t)sizeof v, sizeof v);
            ((int64_t *)to)[i] = v;
            continue;
        }
        const unsigned code = s->bits > CHAR_BIT ? p[2 * i] | (unsigned)p[2 * i + 1] << CHAR_BIT
                                                 : p[i / per] >> (i % per * s->bits) & ((1u << s->bits) - 1);
        const int v = s->is_signed && code >> (s->bits - 1) ? (int)code - (1 << s->bits) : (int)code;
        if (s->as == dnnl_tp_f32) ((float *)to)[i] = number_of(s, code);
        else if (s->as == dnnl_tp_s32) ((int32_t *)to)[i] = v;
        else ((uint8_t *)to)[i] = (uint8_t)v;
    }
    t->data = to;
    return dnnl_tp_success;
}

/* Bytes of a tensor: raw_data, or a file. */
static dnnl_tp_status_t from_bytes(dnnl_tp_onnx_model_t m, const type_t *type, const uint8_t *p, size_t size,
                                   int64_t n, dtp_onnx_tensor_t *t) {
    const stored_t *s = stored_of(t->onnx_type);
    if (size != (s ? bytes_of(s, n) : (size_t)n * (size_t)type->size))
        return bad(t, dnnl_tp_invalid_graph, "the data have not as many bytes as the shape needs");
    if (s) return from_stored(m, s, p, n, t);
    if (t->onnx_type == T_FLOAT16 || t->onnx_type == T_BFLOAT16) {
        float *to = dtp_import_alloc(&m->memory, (size_t)n * sizeof *to);
        if (!to) return dnnl_tp_out_of_memory;
        for (int64_t i = 0; i < n; ++i) {
            uint16_t bits;
            memcpy(&bits, p + i * (int64_t)sizeof bits, sizeof bits);
            to[i] = narrow(t->onnx_type, bits);
        }
        t->data = to;
    } else if ((uintptr_t)p % dtp_onnx_type_size(type->carried)) {
        void *to = dtp_import_alloc(&m->memory, size);
        if (!to) return dnnl_tp_out_of_memory;
        if (size) memcpy(to, p, size);
        t->data = to;
    } else {
        t->data = p;
    }
    return dnnl_tp_success;
}

/* The lists for elements of a type. */
static dnnl_tp_status_t from_list(dnnl_tp_onnx_model_t m, const type_t *type, const tensor_proto_t *x,
                                  int64_t n, dtp_onnx_tensor_t *t) {
    static const char *const why = "the list of elements has another length than the shape";
    if (type->field == F32_DATA || type->field == F64_DATA || type->field == S64_DATA) {
        const size_t have = type->field == F32_DATA   ? x->n_float_data
                            : type->field == F64_DATA ? x->n_double_data
                                                      : x->n_int64_data;
        if (have != (size_t)n) return bad(t, dnnl_tp_invalid_graph, why);
        t->data = type->field == F32_DATA   ? (const void *)x->float_data
                  : type->field == F64_DATA ? (const void *)x->double_data
                                            : (const void *)x->int64_data;
        return dnnl_tp_success;
    }
    const stored_t *s = stored_of(t->onnx_type);
    if (type->field == U64_DATA) { /* of 32 bits */
        if (x->n_uint64_data != (size_t)n) return bad(t, dnnl_tp_invalid_graph, why);
        t->data = x->uint64_data;
        for (int64_t i = 0; i < n; ++i)
            if (x->uint64_data[i] > UINT32_MAX) return bad(t, dnnl_tp_invalid_graph, "a number is too large");
        return dnnl_tp_success;
    }
    if (s) { /* an entry for each element of 16 bits, else for each byte */
        const size_t each = s->bits > CHAR_BIT ? sizeof(uint16_t) : 1;
        if (x->n_int32_data != bytes_of(s, n) / each) return bad(t, dnnl_tp_invalid_graph, why);
        uint8_t *bytes = dtp_import_alloc(&m->memory, x->n_int32_data * each);
        if (!bytes) return dnnl_tp_out_of_memory;
        for (size_t i = 0; i < x->n_int32_data * each; ++i)
            bytes[i] = (uint8_t)((uint32_t)x->int32_data[i / each] >> (i % each * CHAR_BIT));
        return from_stored(m, s, bytes, n, t);
    }
    if (x->n_int32_data != (size_t)n) return bad(t, dnnl_tp_invalid_graph, why);
    if (type->carried == dnnl_tp_s32) {
        t->data = x->int32_data;
        return dnnl_tp_success;
    }
    void *to = dtp_import_alloc(&m->memory, (size_t)n * dtp_onnx_type_size(type->carried));
    if (!to) return dnnl_tp_out_of_memory;
    for (int64_t i = 0; i < n; ++i) {
        const int32_t v = x->int32_data[i];
        if (type->carried == dnnl_tp_f32) ((float *)to)[i] = narrow(t->onnx_type, (uint16_t)v);
        else ((uint8_t *)to)[i] = type->carried == dnnl_tp_boolean ? v != 0 : (uint8_t)v;
    }
    t->data = to;
    return dnnl_tp_success;
}

/* Data of x in t; status and why of t tell what is wrong with it. Fails only without memory. */
static dnnl_tp_status_t read(dnnl_tp_onnx_model_t m, const tensor_proto_t *x, dtp_onnx_tensor_t *t) {
    static const int64_t nothing[1]; /* where the data of empty tensors are */
    t->onnx_type = x->data_type;
    const type_t *type = type_of(x->data_type);
    if (!type) return bad(t, dnnl_tp_unimplemented, "its type is not known");
    t->info.data_type = dtp_onnx_read_as(x->data_type);
    if (t->info.data_type == dnnl_tp_data_type_undef)
        return bad(t, dnnl_tp_unimplemented, "graphs do not carry its type");
    if (x->n_dims > DNNL_TP_MAX_NDIMS) return bad(t, dnnl_tp_unimplemented, "it has more than 12 dimensions");
    if (x->segment) return bad(t, dnnl_tp_unimplemented, "it is a segment of a larger one");
    t->info.ndims = (int)x->n_dims;
    for (int d = 0; d < t->info.ndims; ++d) {
        t->info.dims[d] = x->dims[d];
        if (x->dims[d] < 0) return bad(t, dnnl_tp_invalid_graph, "a dimension is negative");
    }
    const int64_t n = dtp_onnx_elems(&t->info);
    if (n < 0) return bad(t, dnnl_tp_invalid_graph, "its dimensions are too large");
    if (x->has_data_location && x->data_location == DTP_ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        const uint8_t *p;
        size_t size;
        const dnnl_tp_status_t status = dtp_onnx_external(m, x, &p, &size, &t->why);
        if (status == dnnl_tp_out_of_memory) return status;
        if (status) return bad(t, status, t->why);
        DTP_ONNX_TRY(from_bytes(m, type, p, size, n, t));
    } else if (x->has_raw_data) {
        DTP_ONNX_TRY(from_bytes(m, type, x->raw_data.data, x->raw_data.len, n, t));
    } else {
        DTP_ONNX_TRY(from_list(m, type, x, n, t));
    }
    if (n == 0 && !t->status) t->data = nothing;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_onnx_read(dnnl_tp_onnx_model_t m, tensor_proto_t *x) {
    dtp_onnx_tensor_t *t = dtp_import_alloc(&m->memory, sizeof *t);
    if (!t) return dnnl_tp_out_of_memory;
    DTP_ONNX_TRY(read(m, x, t));
    /* What was converted is not needed twice. */
    if (t->data && x->has_raw_data && t->data != x->raw_data.data) {
        m->allocator.free(m->allocator.allocator_data, x->raw_data.data);
        x->raw_data = (ProtobufCBinaryData){0};
    }
    if (t->data && x->int32_data && t->data != x->int32_data) {
        m->allocator.free(m->allocator.allocator_data, x->int32_data);
        x->int32_data = NULL;
        x->n_int32_data = 0;
    }
    return dtp_onnx_names_set(&m->tensors, x, t);
}

const dtp_onnx_tensor_t *dtp_onnx_tensor(const_dnnl_tp_onnx_model_t m, const tensor_proto_t *x) {
    return dtp_onnx_names_get(&m->tensors, x);
}

/* ---- All of a model ---------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_onnx_read_nodes(dnnl_tp_onnx_model_t m, size_t n, node_proto_t **nodes) {
    for (size_t i = 0; i < n; ++i) {
        for (size_t k = 0; k < nodes[i]->n_attribute; ++k) {
            attr_proto_t *a = nodes[i]->attribute[k];
            if (a->t) DTP_ONNX_TRY(dtp_onnx_read(m, a->t));
            for (size_t j = 0; j < a->n_tensors; ++j) DTP_ONNX_TRY(dtp_onnx_read(m, a->tensors[j]));
            if (a->g) DTP_ONNX_TRY(dtp_onnx_read_graph(m, a->g));
            for (size_t j = 0; j < a->n_graphs; ++j) DTP_ONNX_TRY(dtp_onnx_read_graph(m, a->graphs[j]));
        }
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_onnx_read_graph(dnnl_tp_onnx_model_t m, graph_proto_t *g) {
    for (size_t i = 0; i < g->n_initializer; ++i) DTP_ONNX_TRY(dtp_onnx_read(m, g->initializer[i]));
    return dtp_onnx_read_nodes(m, g->n_node, g->node);
}
