/* Moving elements in portable C, and the choice of a table. */
#include "cpu/elementwise/move.h"

#include <string.h>

#include "common/primitive/engine.h"

/* Squares of this side keep both sides of a transposition in a few lines. */
#define SQUARE 16

#define min(a, b) ((a) < (b) ? (a) : (b))

static inline __attribute__((always_inline)) void
transpose_any(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t rows, int64_t cols, size_t size) {
    for (int64_t r0 = 0; r0 < rows; r0 += SQUARE)
        for (int64_t c0 = 0; c0 < cols; c0 += SQUARE) {
            int64_t r1 = min(r0 + SQUARE, rows), c1 = min(c0 + SQUARE, cols);
            for (int64_t r = r0; r < r1; ++r)
                for (int64_t c = c0; c < c1; ++c)
                    memcpy(dst + (r * ldd + c) * (int64_t)size, src + (c * lds + r) * (int64_t)size, size);
        }
}

static void fill_rows(char *dst, int64_t ldd, int64_t rows, int64_t cols, int64_t fill, size_t size) {
    for (int64_t r = 0; fill && r < rows; ++r)
        memset(dst + (r * ldd + cols) * (int64_t)size, 0, (size_t)fill * size);
}

static void transpose1(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                       int64_t fill, int stream) {
    (void)stream;
    transpose_any(dst, ldd, src, lds, rows, cols, 1);
    fill_rows(dst, ldd, rows, cols, fill, 1);
}
static void transpose2(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                       int64_t fill, int stream) {
    (void)stream;
    transpose_any(dst, ldd, src, lds, rows, cols, 2);
    fill_rows(dst, ldd, rows, cols, fill, 2);
}
static void transpose4(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                       int64_t fill, int stream) {
    (void)stream;
    transpose_any(dst, ldd, src, lds, rows, cols, 4);
    fill_rows(dst, ldd, rows, cols, fill, 4);
}

void dtp_transpose8__any(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows, int64_t cols,
                         int64_t fill, int stream) {
    (void)stream;
    transpose_any(dst, ldd, src, lds, rows, cols, 8);
    fill_rows(dst, ldd, rows, cols, fill, 8);
}

void dtp_move_strided(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t n, int64_t size) {
    switch (size) {
    case 1:
        for (int64_t i = 0; i < n; ++i) dst[i * ldd] = src[i * lds];
        break;
    case 2:
        for (int64_t i = 0; i < n; ++i) memcpy(dst + i * ldd * 2, src + i * lds * 2, 2);
        break;
    case 4:
        for (int64_t i = 0; i < n; ++i) memcpy(dst + i * ldd * 4, src + i * lds * 4, 4);
        break;
    default:
        for (int64_t i = 0; i < n; ++i) memcpy(dst + i * ldd * 8, src + i * lds * 8, 8);
    }
}

static void interleave1(void *dst, int64_t ldz, const void *src, int64_t lds, int64_t lsz, int64_t n) {
    for (int64_t z = 0; z < n; ++z)
        transpose_any((char *)dst + z * ldz, 4, (const char *)src + z * lsz, lds, 16, 4, 1);
}
static void interleave2(void *dst, int64_t ldz, const void *src, int64_t lds, int64_t lsz, int64_t n) {
    for (int64_t z = 0; z < n; ++z)
        transpose_any((char *)dst + z * ldz * 2, 2, (const char *)src + z * lsz * 2, lds, 16, 2, 2);
}

static void rows_any(char *dst, int64_t ldd, const char *src, int64_t lds, int64_t rows, int64_t bytes,
                     int stream) {
    (void)stream;
    for (int64_t r = 0; r < rows; ++r) memcpy(dst + r * ldd, src + r * lds, (size_t)bytes);
}

const dtp_move_t dtp_moves__any = {
    {transpose1, transpose2, transpose4, dtp_transpose8__any}, {interleave1, interleave2}, rows_any};

const dtp_move_t *dtp_moves(unsigned isa) { return DTP_BY_ISA(isa, &dtp_moves, &dtp_moves__any); }
