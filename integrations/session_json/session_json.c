/* See dnnl_tp_session_json.h. */
#include "session_json/dnnl_tp_session_json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *error;
    size_t size;
} report_t;

static __attribute__((format(printf, 2, 3))) dnnl_tp_status_t refuse(report_t *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (r->error && r->size) vsnprintf(r->error, r->size, format, args);
    va_end(args);
    return dnnl_tp_invalid_arguments;
}

/* A whole number within low..high; doubles are exact that far. */
static dnnl_tp_status_t read_int(report_t *r, const cJSON *item, double low, double high, double *to) {
    if (!cJSON_IsNumber(item)) return refuse(r, "'%s' is not a number", item->string);
    if (item->valuedouble != floor(item->valuedouble) || item->valuedouble < low || item->valuedouble > high)
        return refuse(r, "'%s' is %g, not a whole number from %g to %g", item->string, item->valuedouble, low,
                      high);
    *to = item->valuedouble;
    return dnnl_tp_success;
}

static dnnl_tp_status_t read_bool(report_t *r, const cJSON *item, int *to) {
    if (!cJSON_IsBool(item)) return refuse(r, "'%s' is neither true nor false", item->string);
    *to = cJSON_IsTrue(item) != 0;
    return dnnl_tp_success;
}

static dnnl_tp_status_t check_members(report_t *r, const cJSON *object, const char *where,
                                      const char *const *known) {
    for (const cJSON *item = object->child; item; item = item->next) {
        const char *const *k = known;
        while (*k && strcmp(*k, item->string)) ++k;
        if (!*k) return refuse(r, "'%s' is not an option of %s", item->string, where);
        for (const cJSON *other = object->child; other != item; other = other->next)
            if (!strcmp(other->string, item->string)) return refuse(r, "'%s' comes twice", item->string);
    }
    return dnnl_tp_success;
}

enum { MAX_THREADS = 256, MAX_POOLS = 1024 };
static const double most_ms = 1e12, most_bytes = 1e15;

static dnnl_tp_status_t read_pool(report_t *r, const cJSON *item, dnnl_tp_session_pool_t *pool) {
    static const char *const known[] = {"num_threads", "global_name", NULL};
    if (!cJSON_IsObject(item)) return refuse(r, "an entry of 'pools' is not an object");
    dnnl_tp_status_t status = check_members(r, item, "a pool", known);
    const cJSON *count = cJSON_GetObjectItemCaseSensitive(item, "num_threads");
    double threads = 0;
    if (status == dnnl_tp_success && count) status = read_int(r, count, 0, MAX_THREADS, &threads);
    if (status != dnnl_tp_success) return status;
    pool->num_threads = (int)threads;
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "global_name");
    if (!name) return dnnl_tp_success;
    if (!cJSON_IsString(name)) return refuse(r, "'global_name' is not a string");
    pool->global_name = strdup(name->valuestring);
    return pool->global_name ? dnnl_tp_success : dnnl_tp_out_of_memory;
}

static dnnl_tp_status_t read_pools(report_t *r, const cJSON *list, dnnl_tp_session_opts_t *o) {
    if (!cJSON_IsArray(list)) return refuse(r, "'pools' is not a list");
    int n = cJSON_GetArraySize(list);
    if (n > MAX_POOLS) return refuse(r, "'pools' has %d entries, allowed are %d", n, MAX_POOLS);
    dnnl_tp_session_pool_t *pools = calloc((size_t)n + 1, sizeof *pools);
    if (!pools) return dnnl_tp_out_of_memory;
    o->pools = pools;
    o->npools = n;
    int i = 0;
    for (const cJSON *item = list->child; item; item = item->next) {
        dnnl_tp_status_t status = read_pool(r, item, &pools[i++]);
        if (status != dnnl_tp_success) return status;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t read_member(report_t *r, const cJSON *item, dnnl_tp_session_opts_t *o) {
    double number = 0;
    dnnl_tp_status_t status = dnnl_tp_success;
    if (!strcmp(item->string, "pools")) return read_pools(r, item, o);
    if (!strcmp(item->string, "use_per_session_threads")) return read_bool(r, item, &o->per_session_threads);
    if (!strcmp(item->string, "deterministic")) return read_bool(r, item, &o->deterministic);
    if (!strcmp(item->string, "num_threads")) {
        status = read_int(r, item, 0, MAX_THREADS, &number);
        o->num_threads = (int)number;
    } else if (!strcmp(item->string, "blocking_threads")) {
        status = read_int(r, item, 0, MAX_THREADS, &number);
        o->blocking_threads = (int)number;
    } else if (!strcmp(item->string, "max_executables")) {
        status = read_int(r, item, 0, 1 << 20, &number);
        o->max_executables = (int)number;
    } else if (!strcmp(item->string, "memory_budget")) {
        status = read_int(r, item, 0, most_bytes, &number);
        o->memory_budget = (size_t)number;
    } else { /* timeout_ms */
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= most_ms))
            return refuse(r, "'timeout_ms' is not a number from 0 to %g", most_ms);
        o->timeout_ns = (int64_t)(item->valuedouble * 1e6);
    }
    return status;
}

static dnnl_tp_status_t read_opts(report_t *r, const cJSON *root, dnnl_tp_session_opts_t *o) {
    static const char *const known[] = {"pools",         "use_per_session_threads", "num_threads",
                                        "timeout_ms",    "max_executables",         "deterministic",
                                        "memory_budget", "blocking_threads",        NULL};
    if (!cJSON_IsObject(root)) return refuse(r, "the text is not an object");
    dnnl_tp_status_t status = check_members(r, root, "a session", known);
    for (const cJSON *item = root->child; item && status == dnnl_tp_success; item = item->next)
        status = read_member(r, item, o);
    return status;
}

dnnl_tp_status_t dnnl_tp_session_opts_from_json(dnnl_tp_session_opts_t **opts, const char *text, size_t size,
                                                char *error, size_t error_size) {
    report_t r = {error, error_size};
    if (error && error_size) error[0] = 0;
    if (!opts || !text) return refuse(&r, "%s is NULL", opts ? "text" : "opts");
    *opts = NULL;
    /* cJSON wants a terminator to tell that nothing follows. */
    char *copy = malloc(size + 1);
    if (!copy) return dnnl_tp_out_of_memory;
    memcpy(copy, text, size);
    copy[size] = 0;
    const char *end = NULL;
    cJSON *root = strlen(copy) == size ? cJSON_ParseWithOpts(copy, &end, 1) : NULL;
    dnnl_tp_status_t status;
    dnnl_tp_session_opts_t *o = calloc(1, sizeof *o);
    if (!root) {
        status = refuse(&r, "the text is not JSON at byte %zu", end ? (size_t)(end - copy) : strlen(copy));
    } else if (!o) {
        status = dnnl_tp_out_of_memory;
    } else {
        o->struct_size = sizeof *o;
        status = read_opts(&r, root, o);
    }
    cJSON_Delete(root);
    free(copy);
    if (status == dnnl_tp_success) *opts = o;
    else dnnl_tp_session_opts_free(o);
    return status;
}

void dnnl_tp_session_opts_free(dnnl_tp_session_opts_t *opts) {
    if (!opts) return;
    for (int i = 0; i < opts->npools; ++i) free((char *)(uintptr_t)opts->pools[i].global_name);
    free((void *)(uintptr_t)opts->pools);
    free(opts);
}
