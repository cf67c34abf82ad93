/* What this machine can compute at most. */
#ifndef ONNX_RUN_PEAK_H
#define ONNX_RUN_PEAK_H

/* Measured in some hundredths of a second: f32 operations a nanosecond (GFLOP/s) of so many threads that do nothing but
 * fused multiply-adds on registers; 0: not known. */
double peak_gflops(int threads);

#endif
