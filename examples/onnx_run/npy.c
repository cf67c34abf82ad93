/* Files of numpy arrays, see npy.h. The format: a magic word, a version, the length of a header, a header in Python's
 * notation, the elements. */
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

static void *read_from(FILE *f, dnnl_tp_tensor_info_t *info, const char **why) {
    unsigned char head[HEAD_2];
    *why = "it is no .npy file";
    if (fread(head, 1, HEAD_1, f) != HEAD_1 || memcmp(head, magic, MAGIC)) return NULL;
    size_t length = head[8] | (size_t)head[9] << 8;
    if (head[MAGIC] > 1) {
        if (fread(head + HEAD_1, 1, HEAD_2 - HEAD_1, f) != HEAD_2 - HEAD_1) return NULL;
        length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    }
    if (length > MAX_HEADER) return NULL;
    char *header = malloc(length + 1);
    if (!header || fread(header, 1, length, f) != length) {
        free(header);
        return NULL;
    }
    header[length] = 0;
    *why = parse(header, info);
    free(header);
    if (*why) return NULL;
    const size_t bytes = count_of(info) * dnnl_tp_data_type_size(info->data_type);
    void *data = malloc(bytes + 1);
    *why = "there is not enough memory";
    if (!data) return NULL;
    if (fread(data, 1, bytes, f) == bytes && fgetc(f) == EOF) return data;
    *why = "it has not as many elements as its shape";
    free(data);
    return NULL;
}

void *npy_read(const char *path, dnnl_tp_tensor_info_t *info, const char **why) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        *why = strerror(errno);
        return NULL;
    }
    void *data = read_from(f, info, why);
    (void)fclose(f);
    return data;
}

int npy_write(const char *path, const dnnl_tp_tensor_info_t *info, const void *data) {
    char header[1024];
    const char *descr = "|u1";
    for (int i = 0; i < NTYPES; ++i)
        if (types[i].type == info->data_type) descr = types[i].descr;
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int d = 0; d < info->ndims; ++d)
        n += snprintf(header + n, sizeof header - (size_t)n, "%lld, ", (long long)info->dims[d]);
    n += snprintf(header + n, sizeof header - (size_t)n, "), }");
    while ((HEAD_1 + n + 1) % 64) header[n++] = ' '; /* elements begin at a multiple of 64 bytes */
    header[n++] = '\n';
    const unsigned char rest[] = {1, 0, (unsigned char)(n & 0xff), (unsigned char)(n >> 8)};
    const size_t bytes = count_of(info) * dnnl_tp_data_type_size(info->data_type);
    FILE *f = fopen(path, "wb");
    if (!f) return -1;
    const int ok = fwrite(magic, 1, MAGIC, f) == MAGIC && fwrite(rest, 1, sizeof rest, f) == sizeof rest &&
                   fwrite(header, 1, (size_t)n, f) == (size_t)n && fwrite(data, 1, bytes, f) == bytes;
    return fclose(f) || !ok ? -1 : 0;
}
