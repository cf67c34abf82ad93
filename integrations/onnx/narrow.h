/* Types that files have and graphs carry in wider ones (val_t.stored). Integers of 16 and 32 bits and
 * of 2 and 4 bits go through some operators: what arithmetic makes of them is cut to their bits. All
 * others are read by conversions only; those to floating point of 8 bits round in f32 or f64. */
#ifndef DTP_ONNX_NARROW_H
#define DTP_ONNX_NARROW_H

#include "onnx/build.h"

/* Before a node is converted: refuses stored inputs that its operator does not read, and takes the
 * mark off the others. */
void dtp_onnx_read_stored(cv_t *cv);
/* After it: marks the results that have the type of such inputs. */
void dtp_onnx_narrow_results(cv_t *cv);
/* x in a narrow type: its lowest bits, with its mark. */
val_t *dtp_cv_narrowed(cv_t *cv, val_t *x, const dtp_narrow_t *type);
/* x rounded to the nearest number of a type of 8 bits, to the even one of two, with its mark. What is
 * too large becomes the largest number if it saturates, otherwise infinity, or NaN where there is none. */
val_t *dtp_cv_float8(cv_t *cv, val_t *x, const dtp_float8_t *type, bool saturates);
/* x with the bits of another type of the same size. */
val_t *dtp_cv_bits(cv_t *cv, val_t *x, dnnl_tp_data_type_t to);

#endif
