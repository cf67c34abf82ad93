/* See json.h. cJSON reads recursively and keeps repeated keys, hence the checks around it. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

/* Depth of brackets outside strings; malformed text is left to the parser. */
static int too_deep(const char *text, size_t size) {
    int depth = 0, in_string = 0;
    for (size_t i = 0; i < size; ++i) {
        char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            else if (c == '"') in_string = 0;
        } else if (c == '"') {
            in_string = 1;
        } else if (c == '{' || c == '[') {
            if (++depth > SE_JSON_MAX_DEPTH) return 1;
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return 0;
}

static int compare_keys(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_keys(const cJSON *object, const char *what, se_error_t *error) {
    size_t n = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, object)++ n;
    const char **keys = se_alloc_array(n, sizeof *keys);
    int status = 0;
    if (!keys) return se_fail_memory(error);
    n = 0;
    cJSON_ArrayForEach(item, object) keys[n++] = item->string;
    qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 1; i < n && !status; ++i)
        if (!strcmp(keys[i - 1], keys[i])) status = se_fail(error, "%s: key \"%s\" twice", what, keys[i]);
    se_free(keys);
    return status;
}

cJSON *se_json_parse(const void *text, size_t size, const char *what, se_error_t *error) {
    cJSON_Hooks hooks = {se_alloc, se_free};
    cJSON_InitHooks(&hooks);
    if (too_deep(text, size)) {
        se_fail(error, "%s: JSON nested deeper than %d", what, SE_JSON_MAX_DEPTH);
        return NULL;
    }
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithLengthOpts(text, size, &end, 0);
    if (!json) {
        se_fail(error, "%s: not valid JSON near byte %zu (or out of memory)", what,
                end ? (size_t)(end - (const char *)text) : 0);
        return NULL;
    }
    for (; end < (const char *)text + size; ++end)
        if (*end != ' ' && *end != '\n' && *end != '\r' && *end != '\t') {
            se_fail(error, "%s: text after the JSON value", what);
            goto fail;
        }
    if (cJSON_IsObject(json) && check_keys(json, what, error)) goto fail;
    return json;
fail:
    cJSON_Delete(json);
    return NULL;
}

cJSON *se_json_parse_file(const char *path, size_t max_bytes, se_error_t *error) {
    se_file_t file;
    if (se_file_open(&file, path, max_bytes, error)) return NULL;
    cJSON *json = se_json_parse(file.data, file.size, path, error);
    if (json && !cJSON_IsObject(json)) {
        se_fail(error, "%s: a JSON object is needed", path);
        cJSON_Delete(json);
        json = NULL;
    }
    se_file_close(&file);
    return json;
}

int se_json_integer(const cJSON *item, int64_t min, int64_t max, int64_t *value) {
    if (!cJSON_IsNumber(item)) return -1;
    double v = item->valuedouble;
    /* Compared as doubles first: a cast of 1e300 would be undefined. */
    if (!(v >= (double)min && v <= (double)max) || v != (double)(int64_t)v) return -1;
    *value = (int64_t)v;
    return 0;
}

int se_json_get_integer(const cJSON *object, const char *what, const char *key, int64_t min, int64_t max,
                        int64_t *value, se_error_t *error) {
    if (se_json_integer(cJSON_GetObjectItemCaseSensitive(object, key), min, max, value))
        return se_fail(error, "%s: \"%s\" must be an integer in %lld..%lld", what, key, (long long)min,
                       (long long)max);
    return 0;
}

int se_json_get_number(const cJSON *object, const char *what, const char *key, double min, double max,
                       double *value, se_error_t *error) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= min && item->valuedouble <= max))
        return se_fail(error, "%s: \"%s\" must be a number in %g..%g", what, key, min, max);
    *value = item->valuedouble;
    return 0;
}

const char *se_json_get_string(const cJSON *object, const char *key) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}
