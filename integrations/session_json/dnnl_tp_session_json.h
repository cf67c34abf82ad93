/* Options of a session from JSON text:
 *
 *   { "pools": [ {"num_threads": 4}, {"num_threads": 2, "global_name": "shared"} ],
 *     "use_per_session_threads": false, "num_threads": 0, "timeout_ms": 250.0,
 *     "max_executables": 64, "deterministic": false, "memory_budget": 0, "blocking_threads": 0 }
 *
 * All members are optional. Unknown and repeated members, wrong types and values out of range are
 * refused by name. This is a separate target (dnnl_tp::session_json, with cJSON), because the core
 * needs nothing but libc. */
#ifndef DNNL_TP_SESSION_JSON_H
#define DNNL_TP_SESSION_JSON_H

#include "dnnl_tp/dnnl_tp_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads text of size bytes (needs no terminator). *opts, with everything that it points to, belongs
 * to the caller and is freed by dnnl_tp_session_opts_free. error, if not NULL: room for a message
 * of error_size bytes. Errors: invalid_arguments (the message tells the mistake and its position),
 * out_of_memory; *opts is NULL then. */
dnnl_tp_status_t dnnl_tp_session_opts_from_json(dnnl_tp_session_opts_t **opts, const char *text, size_t size,
                                                char *error, size_t error_size);
void dnnl_tp_session_opts_free(dnnl_tp_session_opts_t *opts); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
