/* Runs of logical elements of a tensor of any type and layout, as f32 or f64. The slow but general edge of
 * kernels whose fast paths take dense rows only, and what references read and write. */
#ifndef DTP_CPU_ACCESS_ROWS_H
#define DTP_CPU_ACCESS_ROWS_H

#include "common/layout/memory_desc.h"
#include "cpu/simd/vops.h"

/* x[i] = element with row-major logical index index + i, i < n. base is the buffer as passed. */
void dtp_rows_load(const dtp_vops_t *v, const dtp_md_t *md, const void *base, int64_t index, int64_t n,
                   float *x);
/* The other way; rounds and saturates. */
void dtp_rows_store(const dtp_vops_t *v, const dtp_md_t *md, void *base, int64_t index, int64_t n,
                    const float *x);
/* The same in double, for any type: exact for s32, too. */
void dtp_rows_load_f64(const dtp_vops_t *v, const dtp_md_t *md, const void *base, int64_t index, int64_t n,
                       double *x);
void dtp_rows_store_f64(const dtp_md_t *md, void *base, int64_t index, int64_t n, const double *x);

#endif
