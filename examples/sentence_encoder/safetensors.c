/* See safetensors.h. Every number of the header is checked against the size of the file before it is used,
 * and the tensors must cover the data exactly, as the format demands: a truncated file never gets past here.
 */
#include "safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

#define LENGTH_BYTES 8
#define MAX_HEADER_BYTES ((uint64_t)32 << 20)
#define MAX_EXACT_DOUBLE ((int64_t)1 << 53)

static size_t dtype_bytes(const char *dtype) {
    static const struct {
        const char *name;
        size_t bytes;
    } table[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4}, {"I16", 2},
                 {"I8", 1},  {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"BOOL", 1}};
    for (size_t i = 0; i < sizeof table / sizeof *table; ++i)
        if (!strcmp(table[i].name, dtype)) return table[i].bytes;
    return 0;
}

/* One entry of the header. `data` has `data_bytes` bytes. */
static int parse_tensor(se_tensor_t *tensor, const cJSON *item, const unsigned char *data, size_t data_bytes,
                        const char *what, se_error_t *error) {
    const char *name = item->string;
    if (!cJSON_IsObject(item)) return se_fail(error, "%s: tensor \"%s\": not an object", what, name);
    const char *dtype = se_json_get_string(item, "dtype");
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(item, "shape"), *dim;
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    size_t bytes = dtype ? dtype_bytes(dtype) : 0;
    if (!bytes)
        return se_fail(error, "%s: tensor \"%s\": data type \"%s\" is unknown", what, name,
                       dtype ? dtype : "");
    strcpy(tensor->dtype, dtype);
    if (!cJSON_IsArray(shape)) return se_fail(error, "%s: tensor \"%s\": no shape", what, name);
    cJSON_ArrayForEach(dim, shape) {
        if (tensor->ndims == SE_TENSOR_MAX_DIMS)
            return se_fail(error, "%s: tensor \"%s\": more than %d dimensions", what, name,
                           SE_TENSOR_MAX_DIMS);
        int64_t *d = &tensor->dims[tensor->ndims++];
        if (se_json_integer(dim, 0, MAX_EXACT_DOUBLE, d) || __builtin_mul_overflow(bytes, (size_t)*d, &bytes))
            return se_fail(error, "%s: tensor \"%s\": bad shape", what, name);
    }
    int64_t begin, end;
    if (cJSON_GetArraySize(offsets) != 2 || !cJSON_IsArray(offsets) ||
        se_json_integer(cJSON_GetArrayItem(offsets, 0), 0, MAX_EXACT_DOUBLE, &begin) ||
        se_json_integer(cJSON_GetArrayItem(offsets, 1), 0, MAX_EXACT_DOUBLE, &end))
        return se_fail(error, "%s: tensor \"%s\": bad data_offsets", what, name);
    if (begin > end || (uint64_t)end > data_bytes)
        return se_fail(error, "%s: tensor \"%s\": bytes %lld..%lld are outside the %zu of the file", what,
                       name, (long long)begin, (long long)end, data_bytes);
    if ((uint64_t)(end - begin) != bytes)
        return se_fail(error, "%s: tensor \"%s\": %lld bytes, its shape needs %zu", what, name,
                       (long long)(end - begin), bytes);
    tensor->data = data + begin;
    tensor->bytes = bytes;
    tensor->name = se_strdup(name);
    return tensor->name ? 0 : se_fail_memory(error);
}

static int by_data(const void *a, const void *b) {
    const se_tensor_t *x = a, *y = b;
    if (x->data != y->data) return (const char *)x->data < (const char *)y->data ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const se_tensor_t *)a)->name, ((const se_tensor_t *)b)->name);
}

/* No holes, no overlap, nothing behind the last tensor. */
static int check_cover(se_safetensors_t *st, const unsigned char *data, size_t data_bytes, const char *what,
                       se_error_t *error) {
    const unsigned char *at = data;
    qsort(st->tensors, st->count, sizeof *st->tensors, by_data);
    for (size_t i = 0; i < st->count; ++i) {
        const se_tensor_t *t = &st->tensors[i];
        if (t->data != at)
            return se_fail(error, "%s: tensor \"%s\" starts at byte %zu of the data, expected %zu", what,
                           t->name, (size_t)((const unsigned char *)t->data - data), (size_t)(at - data));
        at += t->bytes;
    }
    if (at != data + data_bytes)
        return se_fail(error, "%s: %zu bytes of data belong to no tensor", what,
                       (size_t)(data + data_bytes - at));
    return 0;
}

int se_safetensors_parse(se_safetensors_t *st, const void *bytes, size_t size, const char *what,
                         se_error_t *error) {
    const unsigned char *p = bytes;
    uint64_t header = 0;
    cJSON *json = NULL;
    *st = (se_safetensors_t){0};
    if (size < LENGTH_BYTES) return se_fail(error, "%s: %zu bytes are too few for safetensors", what, size);
    for (int i = 0; i < LENGTH_BYTES; ++i) header |= (uint64_t)p[i] << (8 * i);
    if (header > MAX_HEADER_BYTES)
        return se_fail(error, "%s: a header of %llu bytes, at most %llu are accepted", what,
                       (unsigned long long)header, (unsigned long long)MAX_HEADER_BYTES);
    if (header > size - LENGTH_BYTES)
        return se_fail(error, "%s: a header of %llu bytes in a file of %zu", what, (unsigned long long)header,
                       size);
    const unsigned char *data = p + LENGTH_BYTES + header;
    size_t data_bytes = size - LENGTH_BYTES - (size_t)header, n = 0;
    json = se_json_parse(p + LENGTH_BYTES, (size_t)header, what, error);
    if (!json) return -1;
    if (!cJSON_IsObject(json)) {
        se_fail(error, "%s: the header is not a JSON object", what);
        goto fail;
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, json)++ n;
    st->tensors = se_alloc_array(n, sizeof *st->tensors);
    if (!st->tensors) {
        se_fail_memory(error);
        goto fail;
    }
    cJSON_ArrayForEach(item, json) {
        if (!strcmp(item->string, "__metadata__")) continue;
        se_tensor_t *tensor = &st->tensors[st->count];
        *tensor = (se_tensor_t){0};
        if (parse_tensor(tensor, item, data, data_bytes, what, error)) goto fail;
        ++st->count;
    }
    if (check_cover(st, data, data_bytes, what, error)) goto fail;
    qsort(st->tensors, st->count, sizeof *st->tensors, by_name);
    cJSON_Delete(json);
    return 0;
fail:
    cJSON_Delete(json);
    se_safetensors_close(st);
    return -1;
}

int se_safetensors_open(se_safetensors_t *st, const char *path, se_error_t *error) {
    se_file_t file;
    *st = (se_safetensors_t){0};
    if (se_file_open(&file, path, SIZE_MAX / 2, error)) return -1;
    if (se_safetensors_parse(st, file.data, file.size, path, error)) {
        se_file_close(&file);
        return -1;
    }
    st->file = file;
    return 0;
}

void se_safetensors_close(se_safetensors_t *st) {
    for (size_t i = 0; i < st->count; ++i) se_free(st->tensors[i].name);
    se_free(st->tensors);
    se_file_close(&st->file);
    *st = (se_safetensors_t){0};
}

const se_tensor_t *se_safetensors_find(const se_safetensors_t *st, const char *name) {
    se_tensor_t key = {.name = (char *)(uintptr_t)name};
    if (!st->count) return NULL;
    return bsearch(&key, st->tensors, st->count, sizeof *st->tensors, by_name);
}
