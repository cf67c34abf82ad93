/* See trace.h. */
#include "trace.h"

#include <string.h>

int se_trace_create(dnnl_tp_trace_t *trace, const char *path, se_error_t *error) {
    *trace = NULL;
    if (!path || dnnl_tp_trace_create(trace, NULL) == dnnl_tp_success) return 0;
    return se_fail(error, "cannot make a profile: %s", dnnl_tp_last_error());
}

int se_trace_write(dnnl_tp_trace_t trace, const char *path, se_error_t *error) {
    if (path && !strcmp(path, "-")) path = "/dev/stdout";
    if (!trace || dnnl_tp_trace_write(trace, path, DNNL_TP_TRACE_BY_NAME) == dnnl_tp_success) return 0;
    return se_fail(error, "cannot create the profile: %s", dnnl_tp_last_error());
}
