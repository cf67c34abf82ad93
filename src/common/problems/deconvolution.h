/* Deconvolutions: a convolution's members, with the window that slides over dst, and the same arguments. */
#ifndef DTP_COMMON_PROBLEMS_DECONVOLUTION_H
#define DTP_COMMON_PROBLEMS_DECONVOLUTION_H

#include "common/problems/convolution.h"

typedef dtp_convolution_desc_t dtp_deconvolution_desc_t;

/* As dtp_conv_window: outputs of the window are src. */
static inline dtp_window_t dtp_deconv_window(const dtp_deconvolution_desc_t *d, int i) {
    dtp_window_t w = dtp_conv_window(d, i);
    const int64_t src = w.in;
    w.in = w.out;
    w.out = src;
    return w;
}

#endif
