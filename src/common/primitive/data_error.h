/* Errors in data that kernels find when they run: ids outside their table, offsets of sequences
 * that do not fit.
 *
 * On threads of the host a kernel fails at once, before it writes anything. A kernel that was
 * submitted has no status to return: it writes the finding to the error word of its run, which is
 * in memory of the engine, and continues with harmless data (an id is clamped, a result is zeros).
 * The first finding stays. The host clears the word before a run, and reads it when it waits:
 * before a predicate decides, and when the run is over (exec/run/by_stream.c). */
#ifndef DTP_COMMON_PRIMITIVE_DATA_ERROR_H
#define DTP_COMMON_PRIMITIVE_DATA_ERROR_H

#include <stdint.h>

#include "common/base/base.h"

typedef enum { DTP_DATA_FINE, DTP_DATA_ID, DTP_DATA_OFFSET } dtp_data_finding_t;

/* The error word. All zeros: clean. */
typedef struct dtp_data_error {
    uint32_t what; /* dtp_data_finding_t */
    uint32_t step; /* of the run */
    int64_t at, value, limit;
} dtp_data_error_t;

/* An execution that is a step of a run which the host submits. */
typedef struct dtp_run_part {
    dtp_data_error_t *error; /* the run's word, in the engine's memory; NULL: its kernels check no data */
    uint32_t step;
} dtp_run_part_t;

enum { DTP_DATA_TEXT = 160 };
/* "id 7 at position 2, the table has 5 rows"; returns to. */
const char *dtp_data_error_text(const dtp_data_error_t *error, char to[DTP_DATA_TEXT]);

struct dtp_exec_ctx;
/* A finding of a kernel: its failure, or, where there is a word to note it in, success. */
dnnl_tp_status_t dtp_data_wrong(const struct dtp_exec_ctx *ctx, dtp_data_finding_t what, int64_t at,
                                int64_t value, int64_t limit) __attribute__((cold));

/* The first of n + 1 offsets that decreases, or is negative or more than `rows`; -1: none. whole:
 * the first is 0. */
static inline int64_t dtp_bad_offset(const int32_t *offsets, int64_t n, int64_t rows, bool whole) {
    if (whole ? offsets[0] != 0 : offsets[0] < 0 || offsets[0] > rows) return 0;
    for (int64_t i = 1; i <= n; ++i)
        if (offsets[i] < offsets[i - 1] || offsets[i] > rows) return i;
    return -1;
}

#endif
