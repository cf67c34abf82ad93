/* Declarations that the implementations of deconvolution share: phases. Along a dimension of stride
 * s, the elements r, r + s, r + 2 s ... of dst are phase r. They depend on the same elements of the
 * kernel, every (s / gcd(s, dilation + 1))-th: the phase is a convolution of src with stride 1
 * whose kernel is these elements in reverse. */
#ifndef DTP_CPU_DECONVOLUTION_DECONVOLUTION_H
#define DTP_CPU_DECONVOLUTION_DECONVOLUTION_H

#include "common/problems/deconvolution.h"

enum { DTP_DECONV_DIMS = 3, DTP_DECONV_PHASES = 256 /* at most */ };

typedef struct {
    dtp_window_t win; /* over src; win.out may be 0 or less: nothing is left of dst */
    /* elements of the kernel; 0: none, and the window, of one element, is beside src */
    int64_t n;
    /* element k of the phase's kernel is element first + (n - 1 - k) * every */
    int64_t first, every;
} dtp_deconv_phase_t;
dtp_deconv_phase_t dtp_deconv_phase(const dtp_deconvolution_desc_t *d, int i, int64_t r);
/* Phases by dimension, and their number; 0: more than DTP_DECONV_PHASES. */
int64_t dtp_deconv_phases(const dtp_deconvolution_desc_t *d, int64_t phase[DTP_DECONV_DIMS]);

#endif
