/* --profile: what ran when. The library records it; FILE.json (any other name, too) is for
 * https://ui.perfetto.dev, FILE.txt a table, FILE.folded for flame graphs. */
#ifndef SE_TRACE_H
#define SE_TRACE_H

#include "common.h"
#include "dnnl_tp/dnnl_tp.h"

/* path NULL: no trace, and success. */
int se_trace_create(dnnl_tp_trace_t *trace, const char *path, se_error_t *error);
int se_trace_write(dnnl_tp_trace_t trace, const char *path, se_error_t *error);

#endif
