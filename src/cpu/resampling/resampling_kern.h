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
    int64_t n;      /* 1, 2 or 4 */
    int64_t copies; /* neighbouring rows of dst that are made of them */
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

/* Copies of n floats to rows of dst, ld floats apart, past the caches. */
typedef void (*dtp_resampling_stream_fn_t)(float *dst, int64_t ld, int64_t copies, const float *src,
                                           int64_t n);

/* A vector of columns of dst: lanes of `reach` vectors from src's column `base` on, 2 or 4, and their weights; hi is negative
 * where it has no weight. reach 0: columns lie further apart, and lo and hi are columns from base on. */
typedef struct {
    int32_t base, reach;
    int32_t lo[DTP_RESAMPLING_LANES], hi[DTP_RESAMPLING_LANES];
    float low[DTP_RESAMPLING_LANES], high[DTP_RESAMPLING_LANES];
} dtp_resampling_columns_t;
enum { DTP_RESAMPLING_REACH = 4 /* at most */ };

/* Rows of dst whose columns lie side by side: n times those that are made of the same rows of src. */
typedef struct {
    const dtp_resampling_rows_t *rows;
    int64_t n;
    void *dst;
    int64_t ld_dst; /* from row to row, in elements */
    v_type_t type;  /* of src and dst: f32 or bf16 */
    float *room;    /* in + DTP_RESAMPLING_REACH * DTP_RESAMPLING_LANES floats */
    const dtp_resampling_columns_t *columns;
    int64_t in, out;
    int64_t
        tail;   /* columns of src from here on are read from room: vectors would reach beyond the row's end */
    int linear; /* else hi does not count and low is 1 */
    int sparse; /* most of src's columns are not used: only those that are get summed */
} dtp_resampling_lines_t;
typedef void (*dtp_resampling_lines_fn_t)(const dtp_resampling_lines_t *a);

typedef struct {
    dtp_resampling_pixels_fn_t pixels;
    dtp_resampling_stream_fn_t stream;
    dtp_resampling_lines_fn_t lines;
    int64_t lanes; /* of a vector */
} dtp_resampling_kernels_t;
extern const dtp_resampling_kernels_t dtp_resampling_kernels__avx512_bf16, dtp_resampling_kernels__avx512,
    dtp_resampling_kernels__avx2, dtp_resampling_kernels__portable;

#endif
