/* Timed runs of one shape, for a person or for benchdnn/models/compare. */
#ifndef SE_BENCH_H
#define SE_BENCH_H

#include "options.h"

int se_bench(const se_model_t *model, const se_options_t *options, se_error_t *error);

#endif
