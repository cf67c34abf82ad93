/* Functions that kernels in portable C share. */
#ifndef DTP_CPU_UKR_REF_H
#define DTP_CPU_UKR_REF_H

#include "cpu/ukr/ukr_body.h"

#include <stdint.h>

/* Where row i of a matrix begins, in bytes: as a list of rows says, or ld bytes behind the row
 * before. */
INLINE int64_t row_at(const int64_t *rows, int64_t i, int64_t ld) { return rows ? rows[i] : i * ld; }

#endif
