/* Moving elements of 1, 2, 4 or 8 bytes in two loops, as one table per instruction set. */
#ifndef DTP_CPU_ELEMENTWISE_MOVE_H
#define DTP_CPU_ELEMENTWISE_MOVE_H

#include <stddef.h>
#include <stdint.h>

/* dst[r * ldd + c] = src[c * lds + r], in elements of the function's size; r < rows, c < cols; then fill
 * zeros behind each row of dst. stream: non-temporal stores where whole lines of dst are written. */
typedef void (*dtp_transpose_fn_t)(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows,
                                   int64_t cols, int64_t fill, int stream);

typedef struct dtp_move {
    /* By log2 of the element's size. */
    dtp_transpose_fn_t transpose[4];
    /* Groups of lanes as dot products want them, by log2 of the size (1 and 2 bytes): for n tiles, ldz and
     * lsz elements apart, dst[r * g + c] = src[c * lds + r], r < 16, c < g = 4 / size. */
    void (*interleave[2])(void *dst, int64_t ldz, const void *src, int64_t lds, int64_t lsz, int64_t n);
    /* rows runs of bytes each; strides in bytes. stream: non-temporal stores. */
    void (*rows)(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t rows, int64_t bytes,
                 int stream);
} dtp_move_t;

/* How a tile travels: both sides contiguous; source contiguous across rows; neither; tiles of interleave. */
enum { DTP_MOVE_ROWS, DTP_MOVE_TRANSPOSE, DTP_MOVE_STRIDED, DTP_MOVE_INTERLEAVE };

/* The fastest table that the bits (DTP_ISA_*) allow. */
const dtp_move_t *dtp_moves(unsigned isa);

static inline dtp_transpose_fn_t dtp_move_transpose(const dtp_move_t *m, size_t size) {
    return m->transpose[size == 8 ? 3 : size >> 1];
}

/* dst[i * ldd] = src[i * lds], i < n, in elements of 1, 2, 4 or 8 bytes. */
void dtp_move_strided(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t n, int64_t size);

/* Serves all tables. */
void dtp_transpose8__any(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                         int64_t fill, int stream);
/* Serve both vector tables. */
void dtp_transpose1__avx2(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                          int64_t fill, int stream);
void dtp_transpose2__avx2(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                          int64_t fill, int stream);
void dtp_pairs4__avx2(float *dst, const float *src, int64_t lds, int64_t rows);
void dtp_interleave1__avx2(void *dst, int64_t ldz, const void *src, int64_t lds, int64_t lsz, int64_t n);
void dtp_interleave2__avx2(void *dst, int64_t ldz, const void *src, int64_t lds, int64_t lsz, int64_t n);

extern const dtp_move_t dtp_moves__any, dtp_moves__avx2, dtp_moves__avx512;

#endif
