/* Options of a session from JSON text:
 *
 *   { "pools": [ {"num_threads": 4}, {"num_threads": 2, "global_name": "shared"} ],
 *     "use_per_session_threads": false, "num_threads": 0, "timeout_ms": 250.0,
 *     "max_executables": 64, "deterministic": false, "memory_budget": 0, "blocking_threads": 0 }
 *
 * All members are optional; an unknown or repeated one, a wrong type and a value out of range are refused
 * with their name. A target of its own (dnnl_tp::session_json, on cJSON), because the core needs nothing but
 * libc. */
#ifndef DNNL_TP_SESSION_JSON_H
#define DNNL_TP_SESSION_JSON_H

#include "dnnl_tp/dnnl_tp_session.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads text of size bytes (needs no terminator). *opts belongs to the caller, with all it points to: end it
 * with dnnl_tp_session_opts_free. error, if not NULL: room for a message of error_size bytes.
 * Errors: invalid_arguments (the message says what and where), out_of_memory; *opts is NULL then. */
dnnl_tp_status_t dnnl_tp_session_opts_from_json(dnnl_tp_session_opts_t **opts, const char *text, size_t size,
                                                char *error, size_t error_size);
void dnnl_tp_session_opts_free(dnnl_tp_session_opts_t *opts); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
