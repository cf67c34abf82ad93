/* Shuffle of an axis whose elements are adjacent in vectors: the interface between driver and
 * kernels. */
#ifndef DTP_CPU_SHUFFLE_KERN_H
#define DTP_CPU_SHUFFLE_KERN_H

#include <stdint.h>

/* A vector of dst of each pixel, merged from vectors of src. Offsets are bytes from the pixel. */
typedef struct {
    int64_t to;
    int64_t first, n; /* its sources; n 0: zeros */
} dtp_shuffle_vector_t;

/* For every pixel p and vector v: dst[p * ld + v.to] = merge over v's sources s of src[p * ld +
 * from[s]], with the lanes at lanes + s * width. Widths of 8 and 16 bytes: for each byte of dst the
 * number of the source's byte, 0x80 if it is not in this source (the table has 16 bytes also for a
 * width of 8). Widths of 32 and 64: for each 4 bytes the number of the source's 4 bytes, negative
 * if they are not in this source. */
typedef struct {
    const char *src;
    char *dst;
    int64_t ld, pixels, nvectors;
    const dtp_shuffle_vector_t *vectors;
    const int64_t *from;
    const char *lanes;
    int stream; /* non-temporal stores; dst's vectors are aligned */
} dtp_shuffle_args_t;
typedef void (*dtp_shuffle_fn_t)(const dtp_shuffle_args_t *a);

void dtp_shuffle8__avx2(const dtp_shuffle_args_t *a);
void dtp_shuffle16__avx2(const dtp_shuffle_args_t *a);
void dtp_shuffle32__avx2(const dtp_shuffle_args_t *a);
void dtp_shuffle64__avx512(const dtp_shuffle_args_t *a);

#endif
