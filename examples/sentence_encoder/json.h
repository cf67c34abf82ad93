/* cJSON with the limits that a file from a stranger needs, and typed look-ups with one-line errors. */
#ifndef SE_JSON_H
#define SE_JSON_H

#include <cjson/cJSON.h>

#include "common.h"

#define SE_JSON_MAX_DEPTH 32

/* Parses exactly `size` bytes: nesting above SE_JSON_MAX_DEPTH, text after the value and repeated keys in its
 * outermost object are refused. `what` names the text in errors. NULL on failure. */
cJSON *se_json_parse(const void *text, size_t size, const char *what, se_error_t *error);
/* The same for a file of at most `max_bytes`. */
cJSON *se_json_parse_file(const char *path, size_t max_bytes, se_error_t *error);

/* A number that is an integer in [min, max]. */
int se_json_integer(const cJSON *item, int64_t min, int64_t max, int64_t *value);
/* Member `key` of an object, as an integer in [min, max]. */
int se_json_get_integer(const cJSON *object, const char *what, const char *key, int64_t min, int64_t max,
                        int64_t *value, se_error_t *error);
int se_json_get_number(const cJSON *object, const char *what, const char *key, double min, double max,
                       double *value, se_error_t *error);
/* Member `key` as a string, or NULL. */
const char *se_json_get_string(const cJSON *object, const char *key);

#endif
