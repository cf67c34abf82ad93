/* The k best of lines by keys of 32 bits, in vectors: the interface between driver and kernels.
 *
 * A key is an integer that is larger for a better element; equal elements have equal keys, NaN has a key of its
 * own. With the position below it, it is a rank of 64 bits that no other element has. Columns of a line are its
 * elements i, i + C, i + 2 C, ...: the k-th best of the best of C columns is no better than the k-th best of all,
 * so that a pass with that bound leaves few to be sorted. */
#ifndef DTP_CPU_TOP_K_SELECT_H
#define DTP_CPU_TOP_K_SELECT_H

#include <stdbool.h>
#include <stdint.h>

enum { DTP_TOP_K_WIDTH = 8 /* lines side by side that are read together */ };

typedef enum { DTP_TOP_K_F32, DTP_TOP_K_S32, DTP_TOP_K_S8, DTP_TOP_K_U8 } dtp_top_k_type_t;

typedef struct {
    dtp_top_k_type_t type;
    bool smallest, last, nan_worst;
    int64_t n, k, inner;    /* elements of a line are inner apart; n < 2^31 */
    int64_t columns, ranks; /* room for maxima, for ranks: dtp_top_k_rooms */
} dtp_top_k_line_t;

/* The room of one line: keys of `width` lines, maxima of columns, ranks twice. */
typedef struct {
    int32_t *keys, *maxima;
    int64_t *ranks, *spare;
} dtp_top_k_room_t;

/* Sets columns and ranks. */
static inline void dtp_top_k_rooms(dtp_top_k_line_t *a) {
    enum { ROUND = 64, SPARE = 1024, EACH = 3, FEWEST = 4 };
    const int64_t columns = (EACH * a->k + ROUND - 1) / ROUND * ROUND;
    a->columns = a->n >= FEWEST * columns ? columns : 0;
    a->ranks = a->k + SPARE > columns ? a->k + SPARE : columns;
}

typedef struct {
    /* The best k of each of `width` neighbouring lines: to[i * inner] by line. */
    void (*best)(const dtp_top_k_line_t *a, const void *src, int64_t width, const dtp_top_k_room_t *room,
                 int64_t *to);
    /* The best of a line whose elements are side by side. */
    int64_t (*first)(const dtp_top_k_line_t *a, const void *src);
    /* The best of each of `width` neighbouring lines of f32. */
    void (*columns)(const dtp_top_k_line_t *a, const float *src, int64_t width, int64_t *to);
} dtp_top_k_select_t;
extern const dtp_top_k_select_t dtp_top_k_select__avx512, dtp_top_k_select__avx2;

#endif
