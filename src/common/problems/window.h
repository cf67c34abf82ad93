/* A window that slides along one dimension: tap k of output o is input o * stride - pad + k * step,
 * which may be outside 0..in-1. */
#ifndef DTP_COMMON_PROBLEMS_WINDOW_H
#define DTP_COMMON_PROBLEMS_WINDOW_H

#include <stdint.h>

typedef struct {
    int64_t in, out, kernel, stride, step, pad; /* step: dilation + 1; pad: on the left */
} dtp_window_t;

/* The dimension that is not there. */
#define DTP_WINDOW_NONE ((dtp_window_t){1, 1, 1, 1, 1, 0})

/* The input of tap 0 of output o. */
static inline int64_t dtp_window_begin(const dtp_window_t *w, int64_t o) { return o * w->stride - w->pad; }
/* begin..end-1: the taps of output o that are inside; begin == end: none. */
static inline void dtp_window_taps(const dtp_window_t *w, int64_t o, int64_t *begin, int64_t *end) {
    const int64_t at = dtp_window_begin(w, o), left = w->in - at;
    /* Divides only at the borders of dilated windows. */
    const int64_t first = at >= 0 ? 0 : w->step == 1 ? -at : (-at - 1) / w->step + 1;
    *end = w->kernel;
    if (left <= 0) *end = 0;
    else if ((w->kernel - 1) * w->step >= left) *end = w->step == 1 ? left : (left - 1) / w->step + 1;
    *begin = first < *end ? first : *end;
}
/* begin..end-1: the outputs whose tap k is inside; begin >= end: none. */
static inline void dtp_window_outputs(const dtp_window_t *w, int64_t k, int64_t *begin, int64_t *end) {
    const int64_t before = w->pad - k * w->step, last = w->in - 1 + before;
    const int64_t to = last < 0 ? 0 : last / w->stride + 1;
    *begin = before > 0 ? (before - 1) / w->stride + 1 : 0;
    *end = to < w->out ? to : w->out;
}
/* Number of taps that are inside, of all outputs. */
static inline int64_t dtp_window_all_taps(const dtp_window_t *w) {
    int64_t all = 0, from, end;
    for (int64_t k = 0; k < w->kernel; ++k) {
        dtp_window_outputs(w, k, &from, &end);
        if (from < end) all += end - from;
    }
    return all;
}

#endif
