/* Resampling of f32 and bf16, in f32 arithmetic: the interface between driver and kernels. */
#ifndef DTP_CPU_RESAMPLING_KERN_H
#define DTP_CPU_RESAMPLING_KERN_H

#include "common/problems/resampling.h"
#include "cpu/simd/vec_types.h"

enum {
    DTP_RESAMPLING_LANES = 16, /* of the widest vector */
    DTP_RESAMPLING_ROWS = 4    /* of src that meet in a row of dst */
};

/* Rows of src along depth and height, and their weights; a row alone has the weight 1. */
typedef struct {
    const void *row[DTP_RESAMPLING_ROWS];
    float weight[DTP_RESAMPLING_ROWS];
    int64_t n; /* 1, 2 or 4 */
} dtp_resampling_rows_t;

/* One row of dst whose channels lie side by side: for all columns x and channels c dst[x * ld_dst + c] = sum over rows r of
 * weight[r] * (row[r][places[x].lo * ld_src + c] * (1 - part) + row[r][places[x].hi * ld_src + c] * part); what has no weight
 * is not read (places with part 0 have no hi). */
typedef struct {
    dtp_resampling_rows_t rows;
    void *dst;
    v_type_t type; /* of src and dst: f32 or bf16 */
    int linear;    /* else no place has a part */
    int stream;    /* dst is large: f32 past the caches where it is aligned; pixels are whole vectors */
    float sum;     /* f32: dst also gets so much of what it was */
    const dtp_resampling_place_t *places;
    int64_t ld_src, ld_dst, channels, out;
} dtp_resampling_pixels_t;
typedef void (*dtp_resampling_pixels_fn_t)(const dtp_resampling_pixels_t *a);

/* A vector of columns of dst: lanes of the two vectors at src's column `base`, and their weights; hi is negative where it has no
 * weight. wide: columns lie further apart, and lo and hi are columns from base on. */
typedef struct {
    int32_t base, wide;
    int32_t lo[DTP_RESAMPLING_LANES], hi[DTP_RESAMPLING_LANES];
    float low[DTP_RESAMPLING_LANES], high[DTP_RESAMPLING_LANES];
} dtp_resampling_columns_t;

/* One row of dst whose columns lie side by side. */
typedef struct {
    dtp_resampling_rows_t rows;
    void *dst;
    v_type_t type; /* of src and dst: f32 or bf16 */
    float *room;   /* in + 2 * DTP_RESAMPLING_LANES floats */
    const dtp_resampling_columns_t *columns;
    int64_t in, out;
    int linear; /* else hi does not count and low is 1 */
    int sparse; /* most of src's columns are not used: only those that are get summed */
} dtp_resampling_line_t;
typedef void (*dtp_resampling_line_fn_t)(const dtp_resampling_line_t *a);

typedef struct {
    dtp_resampling_pixels_fn_t pixels;
    dtp_resampling_line_fn_t line;
    int64_t lanes; /* of a vector */
} dtp_resampling_kernels_t;
extern const dtp_resampling_kernels_t dtp_resampling_kernels__avx512_bf16, dtp_resampling_kernels__avx512,
    dtp_resampling_kernels__avx2, dtp_resampling_kernels__portable;

#endif
