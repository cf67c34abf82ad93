/* Functions that the drivers share: descriptors from lists of dimensions, walks over positions,
 * rules for in-place problems. */
#ifndef BD_DRIVERS_H
#define BD_DRIVERS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/fill.h"
#include "common/layout.h"
#include "common/opts.h"

#define BD_PERF_TAIL ",%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,%0Gflops%"
#define BD_EPS_F32 0x1p-23

/* "AxB:CxD...[_]n"label"": lists of dimensions, between lo and hi of them. */
int bd_parse_vdims(bd_prb_t *, const char *, int lo, int hi);
void bd_desc_vdims(const bd_prb_t *, char *, size_t);
/* Cuts the label off a descriptor: copies the text before it into buf. 1 = too long or not
 * terminated. */
int bd_cut_label(bd_prb_t *, const char *, char *buf, size_t size);
void bd_desc_label(const bd_prb_t *, char *, size_t, const char *sep);

/* Next position in row-major order; false after the last. */
bool bd_next(int nd, const int64_t *d, int64_t *pos);
/* Row-major index of pos in a tensor whose dimensions of size 1 are broadcast. */
int64_t bd_at(const bd_tensor_t *, const int64_t *pos);

/* Makes dst share the buffer of src. Returns a skip reason if their types or layouts differ, else
 * NULL. */
const char *bd_make_inplace(bd_prb_t *, int src, int dst);
/* Old value of dst at index i (sum post-op, in place). */
double bd_old_dst(const bd_prb_t *, double *const *v, int dst, int64_t i);
/* 2^-(digits - 1) of a type. */
double bd_eps(int dt);
/* Integers in the ranges of the mode. */
void bd_fill_default(const bd_prb_t *, int i, double *v, bool perf, int64_t range);
/* `fill` of drivers with special values for input 0 only: calls the driver's fill_src for it; other
 * inputs are small integers. */
void bd_fill_src(const bd_prb_t *, int i, double *v, bool perf);
bool bd_has_eltwise_po(const bd_prb_t *);
/* Whether the library has the type. */
bool bd_type_ok(int dt);

#define BD_DRIVER(name) extern const bd_driver_t bd_driver_##name;
#include "drivers/drivers.inc"

#endif
