/* Gathers of words of 4 bytes by vectors: the interface between driver and kernels. */
#ifndef DTP_CPU_INDEXED_KERN_H
#define DTP_CPU_INDEXED_KERN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    DTP_INDEXED_LANES = 16,  /* of the widest vector */
    DTP_INDEXED_TILE = 1024, /* words of a row of dst that are told at once */
    DTP_INDEXED_BLOCKS = DTP_INDEXED_TILE / 8
};

/* Where the words of a vector of dst lie in a row of src: in `reach` vectors (1 or 2) from word base on, of
 * which lo and hi words may be read; their positions count from base. reach 0: somewhere, positions count
 * from the row's begin. */
typedef struct {
    int32_t base, reach, lo, hi;
} dtp_indexed_block_t;

/* For all rows r and words w < n: dst[r * ldd + w] = src[r * lds + the position of w]. */
typedef struct {
    const float *src;
    float *dst;
    int64_t lds, ldd, rows, n;
    const int32_t *at;
    const dtp_indexed_block_t *block; /* by vector of dst */
} dtp_indexed_columns_t;

/* dst[i] = src[i * step + id * id_step], id = ids[i], counted from the end of `limit` elements where it is
 * below 0. All ids are inside, and all positions less than 2^31. */
typedef struct {
    const char *src;
    char *dst;
    const void *ids;
    bool wide_ids;      /* s64, else s32 */
    bool wide_elements; /* of 8 bytes, else 4 */
    int64_t n, step, id_step, limit;
} dtp_indexed_elements_t;

/* dst[r * width + c] = sum over t < taps of weight[t * step + r] * src[id * width + c], id = ids[t * step + r], for
 * r < rows and c < width. */
typedef struct {
    const float *src, *weight;
    float *dst;
    const void *ids;
    bool wide_ids;
    int64_t rows, width, taps, step, limit;
} dtp_indexed_sums_t;

typedef struct {
    int lanes;
    void (*columns)(const dtp_indexed_columns_t *a);
    void (*elements)(const dtp_indexed_elements_t *a);
    void (*sums)(const dtp_indexed_sums_t *a);
    /* Are all of n ids in -limit..limit-1? */
    bool (*inside)(const void *ids, bool wide_ids, int64_t n, int64_t limit);
} dtp_indexed_kernels_t;
extern const dtp_indexed_kernels_t dtp_indexed_kernels__avx512, dtp_indexed_kernels__avx2;

#endif
