/* Resampling of f32 and bf16, in f32 arithmetic: the interface between driver and kernels. */
#ifndef DTP_CPU_RESAMPLING_KERN_H
#define DTP_CPU_RESAMPLING_KERN_H

#include "common/problems/resampling.h"
#include "cpu/simd/vec_types.h"

enum {
    DTP_RESAMPLING_LANES = 16, /* of the widest vector */
    DTP_RESAMPLING_ROWS = 4    /* limit of rows of src that contribute to a row of dst */
};

/* Rows of src along depth and height, and their weights; a row alone has the weight 1. */
typedef struct {
    const void *row[DTP_RESAMPLING_ROWS];
    float weight[DTP_RESAMPLING_ROWS];
    int64_t n;      /* 1, 2 or 4 */
    int64_t copies; /* number of neighbouring rows of dst that are made from them */
} dtp_resampling_rows_t;

/* One row of dst with adjacent channels: for all columns x and channels c dst[x * ld_dst + c] = sum
 * over rows r of weight[r] * (row[r][places[x].lo * ld_src + c] * (1 - part) + row[r][places[x].hi
 * * ld_src + c] * part); elements without weight are not read (places with part 0 have no hi). */
typedef struct {
    dtp_resampling_rows_t rows;
    void *dst;
    v_type_t type; /* of src and dst: f32 or bf16 */
    int linear;    /* else no place has a part */
    int stream;    /* dst is large: aligned f32 go past the caches; pixels are whole vectors */
    float sum;     /* f32: the old dst is added with this factor */
    const dtp_resampling_place_t *places;
    int64_t ld_src, ld_dst, channels, out;
} dtp_resampling_pixels_t;
typedef void (*dtp_resampling_pixels_fn_t)(const dtp_resampling_pixels_t *a);

/* Copies n floats to `copies` rows of dst, ld floats apart, past the caches. */
typedef void (*dtp_resampling_stream_fn_t)(float *dst, int64_t ld, int64_t copies, const float *src,
                                           int64_t n);

/* A vector of columns of dst: lanes of `reach` vectors from src's column `base` on, 2 or 4, and
 * their weights; hi is negative if it has no weight. reach 0: columns are further apart, and lo and
 * hi are columns from base on. */
typedef struct {
    int32_t base, reach;
    int32_t lo[DTP_RESAMPLING_LANES], hi[DTP_RESAMPLING_LANES];
    float low[DTP_RESAMPLING_LANES], high[DTP_RESAMPLING_LANES];
} dtp_resampling_columns_t;
enum { DTP_RESAMPLING_REACH = 4 /* at most */ };

/* Rows of dst with adjacent columns: n groups of rows, each of which is made from the same rows of
 * src. */
typedef struct {
    const dtp_resampling_rows_t *rows;
    int64_t n;
    void *dst;
    int64_t ld_dst; /* from row to row, in elements */
    v_type_t type;  /* of src and dst: f32 or bf16 */
    float *room;    /* in + DTP_RESAMPLING_REACH * DTP_RESAMPLING_LANES floats */
    const dtp_resampling_columns_t *columns;
    int64_t in, out;
    /* columns of src from here on are read from room, because vectors would pass the row's end */
    int64_t tail;
    int linear; /* else hi does not count and low is 1 */
    int sparse; /* most of src's columns are not used: only the others are summed */
} dtp_resampling_lines_t;
typedef void (*dtp_resampling_lines_fn_t)(const dtp_resampling_lines_t *a);

/* Rows with adjacent columns, each element twice, each row `copies` times; ld: from row to row, in floats. */
typedef void (*dtp_resampling_twice_fn_t)(float *dst, int64_t ld_dst, const float *src, int64_t ld_src,
                                          int64_t rows, int64_t in, int64_t copies);

typedef struct {
    dtp_resampling_pixels_fn_t pixels;
    dtp_resampling_stream_fn_t stream;
    dtp_resampling_lines_fn_t lines;
    dtp_resampling_twice_fn_t twice;
    int64_t lanes; /* of a vector */
} dtp_resampling_kernels_t;
extern const dtp_resampling_kernels_t dtp_resampling_kernels__avx512_bf16, dtp_resampling_kernels__avx512,
    dtp_resampling_kernels__avx2, dtp_resampling_kernels__portable;

#endif
