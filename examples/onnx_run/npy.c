/* See npy.h. The format of .npy: a magic word, a version, the length of a header, a header in Python's notation, the
 * elements. */
#include "npy.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *descr;
    dnnl_tp_data_type_t type;
} types[] = {{"<f4", dnnl_tp_f32}, {"<f8", dnnl_tp_f64}, {"<i8", dnnl_tp_s64},    {"<i4", dnnl_tp_s32},
             {"|i1", dnnl_tp_s8},  {"|u1", dnnl_tp_u8},  {"|b1", dnnl_tp_boolean}};
enum { NTYPES = sizeof types / sizeof *types, MAGIC = 6, HEAD_1 = 10, HEAD_2 = 12, MAX_HEADER = 1 << 16 };
static const char magic[] = "\x93NUMPY";

size_t count_of(const dnnl_tp_tensor_info_t *info) {
    size_t n = 1;
    for (int d = 0; d < info->ndims; ++d)
        if (info->dims[d] < 0 || __builtin_mul_overflow(n, (size_t)info->dims[d], &n) ||
            n > SIZE_MAX / sizeof(double))
            return 0;
    return n;
}

size_t bytes_of(const dnnl_tp_tensor_info_t *info) {
    return count_of(info) * dnnl_tp_data_type_size(info->data_type);
}

double element(const void *data, dnnl_tp_data_type_t type, size_t i) {
    switch (type) {
    case dnnl_tp_f32: return (double)((const float *)data)[i];
    case dnnl_tp_f64: return ((const double *)data)[i];
    case dnnl_tp_s64: return (double)((const int64_t *)data)[i];
    case dnnl_tp_s32: return ((const int32_t *)data)[i];
    case dnnl_tp_s8: return ((const int8_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}

/* The value behind a key of the header; NULL: it is not there. */
static const char *value_of(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    return at + strspn(at, "' :");
}

static const char *parse(const char *header, dnnl_tp_tensor_info_t *info) {
    const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'"),
               *shape = value_of(header, "'shape'");
    if (!descr || !order || !shape || *shape != '(') return "its header is not that of an array";
    if (strncmp(order, "False", strlen("False"))) return "it is in Fortran's order";
    info->data_type = dnnl_tp_data_type_undef;
    for (int i = 0; i < NTYPES; ++i)
        if (!strncmp(descr, types[i].descr, strlen(types[i].descr))) info->data_type = types[i].type;
    if (info->data_type == dnnl_tp_data_type_undef) return "its type is none of f4, f8, i8, i4, i1, u1, b1";
    info->ndims = 0;
    for (const char *c = shape + 1; *c && *c != ')';) {
        char *end;
        errno = 0;
        const long long v = strtoll(c, &end, 10);
        if (end == c || errno || v < 0 || info->ndims == DNNL_TP_MAX_NDIMS) return "its shape is wrong";
        info->dims[info->ndims++] = v;
        c = end + strspn(end, ", ");
    }
    return NULL;
}

int npy_is(const unsigned char *file, size_t size) { return size >= MAGIC && !memcmp(file, magic, MAGIC); }

const char *npy_parse(const unsigned char *file, size_t size, dnnl_tp_tensor_info_t *info, size_t *at) {
    static const char none[] = "it is no .npy file";
    if (!npy_is(file, size) || size < HEAD_2) return none;
    size_t begin = HEAD_1, length = file[8] | (size_t)file[9] << 8;
    if (file[MAGIC] > 1) {
        begin = HEAD_2;
        length |= (size_t)file[10] << 16 | (size_t)file[11] << 24;
    }
    if (length > MAX_HEADER || length > size - begin) return none;
    char *header = malloc(length + 1);
    if (!header) return "there is not enough memory";
    memcpy(header, file + begin, length);
    header[length] = 0;
    const char *why = parse(header, info);
    free(header);
    *at = begin + length;
    if (why || bytes_of(info) == size - *at) return why;
    return "it has not as many elements as its shape";
}

size_t npy_header(const dnnl_tp_tensor_info_t *info, char header[NPY_HEADER]) {
    const char *descr = "|u1";
    for (int i = 0; i < NTYPES; ++i)
        if (types[i].type == info->data_type) descr = types[i].descr;
    memcpy(header, magic, MAGIC);
    header[MAGIC] = 1;
    header[MAGIC + 1] = 0;
    int n = HEAD_1 + snprintf(header + HEAD_1, NPY_HEADER - HEAD_1,
                              "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int d = 0; d < info->ndims; ++d)
        n += snprintf(header + n, NPY_HEADER - (size_t)n, "%lld, ", (long long)info->dims[d]);
    n += snprintf(header + n, NPY_HEADER - (size_t)n, "), }");
    while ((n + 1) % 64) header[n++] = ' '; /* elements begin at a multiple of 64 bytes */
    header[n++] = '\n';
    header[8] = (char)((n - HEAD_1) & 0xff);
    header[9] = (char)((n - HEAD_1) >> 8);
    return (size_t)n;
}
