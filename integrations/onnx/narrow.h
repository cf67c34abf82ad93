/* Types that files have and graphs carry in wider ones (val_t.stored). Integers of 16 and 32 bits and
 * of 2 and 4 bits go through some operators: what arithmetic makes of them is cut to their bits. All
 * others are read by conversions only. */
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

#endif
