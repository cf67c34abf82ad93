/* Tables of what was run: layers, memory. */
#ifndef ONNX_RUN_PROFILE_H
#define ONNX_RUN_PROFILE_H

#include "model.h"

/* The table of --profile, from the model's trace. */
int profile_write(const job_t *j, se_error_t *error);
/* One line: what a run takes. */
int profile_memory(const job_t *j, se_error_t *error);

#endif
