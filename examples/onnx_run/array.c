/* See array.h. */
#include "array.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "onnx/dnnl_tp_onnx.h"
#include "sentence_encoder/output.h"

int array_alloc(array_t *a, se_error_t *error) {
    a->data = calloc(bytes_of(&a->info) + 1, 1);
    return a->data ? 0 : se_fail_memory(error);
}

void array_free(array_t *a) {
    free(a->data);
    a->data = NULL;
}

static int parse(array_t *a, const se_file_t *file, const char *path, se_error_t *error) {
    if (npy_is(file->data, file->size)) {
        size_t at;
        const char *why = npy_parse(file->data, file->size, &a->info, &at);
        if (why) return se_fail(error, "%s: %s", path, why);
        if (array_alloc(a, error)) return -1;
        memcpy(a->data, file->data + at, bytes_of(&a->info));
        return 0;
    }
    if (file->size == 0) return se_fail(error, "%s: it is empty", path);
    if (dnnl_tp_onnx_read_tensor(&a->info, a->name, NULL, 0, file->data, file->size))
        return se_fail(error, "%s: neither .npy nor a TensorProto: %s", path, dnnl_tp_last_error());
    if (array_alloc(a, error)) return -1;
    if (dnnl_tp_onnx_read_tensor(&a->info, a->name, a->data, bytes_of(&a->info), file->data, file->size))
        return se_fail(error, "%s: %s", path, dnnl_tp_last_error());
    return 0;
}

enum { MOST_OF_A_STREAM = 1 << 28 };

int array_read(array_t *a, const char *path, se_error_t *error) {
    se_file_t file;
    *a = (array_t){.data = NULL};
    struct stat st; /* a device may never end */
    const size_t most = !stat(path, &st) && S_ISREG(st.st_mode) ? SIZE_MAX / 2 : MOST_OF_A_STREAM;
    if (se_file_open(&file, path, most, error)) return -1;
    const int status = parse(a, &file, path, error);
    se_file_close(&file);
    if (status) array_free(a);
    return status;
}

int array_write(const array_t *a, const char *path, se_error_t *error) {
    char header[NPY_HEADER];
    se_output_t out;
    if (se_output_open(&out, path, error)) return -1;
    const size_t n = npy_header(&a->info, header), bytes = bytes_of(&a->info);
    if (fwrite(header, 1, n, out.file) == n && fwrite(a->data, 1, bytes, out.file) == bytes)
        return se_output_commit(&out, error);
    (void)se_fail(error, "%s: cannot write: %s", path, strerror(errno));
    se_output_abandon(&out);
    return -1;
}

int array_generate(array_t *a, uint64_t *state, se_error_t *error) {
    if (array_alloc(a, error)) return -1;
    const size_t n = count_of(&a->info), size = dnnl_tp_data_type_size(a->info.data_type);
    for (size_t i = 0; i < n; ++i) { /* xorshift64* */
        *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
        const uint32_t bits = (uint32_t)(*state * UINT64_C(0x2545f4914f6cdd1d) >> 40);
        if (a->info.data_type == dnnl_tp_f32) ((float *)a->data)[i] = (float)bits * 0x1p-23f - 1.f;
        else if (a->info.data_type == dnnl_tp_f64) ((double *)a->data)[i] = (double)bits * 0x1p-23 - 1.;
        else ((char *)a->data)[i * size] = (char)(bits & 1);
    }
    return 0;
}

const char *array_text(const dnnl_tp_tensor_info_t *info, char text[ARRAY_TEXT]) {
    const char *type = info->data_type == dnnl_tp_data_type_undef ? "?" : dnnl_tp_dt2str(info->data_type);
    int n = snprintf(text, ARRAY_TEXT, "%s[%s", type, info->ndims < 0 ? "..." : "");
    for (int d = 0; d < info->ndims && n < ARRAY_TEXT - 32; ++d) {
        n += snprintf(text + n, ARRAY_TEXT - (size_t)n, "%s", d ? ", " : "");
        if (info->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) n += snprintf(text + n, ARRAY_TEXT - (size_t)n, "?");
        else n += snprintf(text + n, ARRAY_TEXT - (size_t)n, "%lld", (long long)info->dims[d]);
    }
    (void)snprintf(text + n, ARRAY_TEXT - (size_t)n, "]");
    return text;
}

const char *array_place(const dnnl_tp_tensor_info_t *info, size_t i, char text[ARRAY_TEXT]) {
    dnnl_tp_tensor_info_t place = *info;
    for (int d = info->ndims - 1; d >= 0; --d) {
        place.dims[d] = (int64_t)(i % (size_t)info->dims[d]);
        i /= (size_t)info->dims[d];
    }
    return strchr(array_text(&place, text), '[');
}

difference_t array_compare(const array_t *got, const array_t *want, double rtol, double atol) {
    difference_t d = {.bad = 0};
    const dnnl_tp_data_type_t type = want->info.data_type;
    const int exact = type != dnnl_tp_f32 && type != dnnl_tp_f64;
    const int is_large = type == dnnl_tp_s64; /* doubles do not tell all of its values apart */
    for (size_t i = 0; i < count_of(&want->info); ++i) {
        const double a = element(got->data, type, i), b = element(want->data, type, i);
        if (is_large ? ((const int64_t *)got->data)[i] == ((const int64_t *)want->data)[i]
                     : a == b || (isnan(a) && isnan(b)))
            continue;
        const double far = is_large       ? fmax(fabs(a - b), 1)
                           : isnan(a - b) ? INFINITY
                                          : fabs(a - b),
                     room = exact ? 0. : atol + rtol * fabs(b);
        if (far > d.largest) d.largest = far;
        const double part = isfinite(far) && room > 0 ? far / room : INFINITY;
        if (part > d.part) {
            d.part = part;
            d.first = i;
        }
        d.bad += !(part <= 1);
    }
    return d;
}
