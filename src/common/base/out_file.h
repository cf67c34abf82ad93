/* Files that are complete or unchanged: written beside their place, then renamed. Only a regular
 * file is ever replaced: a link is followed to its target, a device or a pipe is written in place.
 */
#ifndef DTP_COMMON_BASE_OUT_FILE_H
#define DTP_COMMON_BASE_OUT_FILE_H

#include <stdio.h>
#include <sys/types.h>

#include "common/base/base.h"

typedef struct {
    char *path;         /* as the user wrote it, with the suffix */
    char *target, *now; /* where it ends, where it is written */
    FILE *file;         /* NULL: not open; the owner may open `now` himself */
    mode_t mode;        /* of the file that is replaced; 0: there is none */
    bool in_place, written, published;
    dtp_reason_t reason; /* of failures */
} dtp_out_file_t;

/* Names only; drop must follow, also after a failure. suffix: follows path; reason: of every
 * failure. invalid_arguments: the file exists and may not be written. */
dnnl_tp_status_t dtp_out_init(dtp_out_file_t *out, const char *path, const char *suffix, dtp_reason_t reason);
/* Opens `now`; invalid_arguments if that fails. */
dnnl_tp_status_t dtp_out_open(dtp_out_file_t *out);
/* Puts what was written on the disk and closes; nothing to do without a file. runtime_error. */
dnnl_tp_status_t dtp_out_finish(dtp_out_file_t *out);
/* Gives a finished file its name; nothing to do without one. runtime_error. */
dnnl_tp_status_t dtp_out_publish(dtp_out_file_t *out);
/* Removes what was not published. */
void dtp_out_drop(dtp_out_file_t *out);

#endif
