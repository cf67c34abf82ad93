/* The harness's own description of memory layouts: positions of elements, and padding. Values:
 * values.h. It is independent of the library's reorder, so that a wrong reorder is noticed. */
#ifndef BD_LAYOUT_H
#define BD_LAYOUT_H

#include "common/prb.h"
#include "common/values.h"

/* Whether the library has an enumerator for this layout, for any number of dimensions (any, undef:
 * true). */
bool bd_tag_enumerator(const char *tag);

typedef struct {
    int nd, dt;
    int64_t d[BD_MAX_NDIMS], padded[BD_MAX_NDIMS], stride[BD_MAX_NDIMS];
    int nblk;
    int64_t blk[BD_MAX_NDIMS], idx[BD_MAX_NDIMS];
    int64_t offset0;
    size_t bytes;   /* size that the library gives */
    bool plain;     /* no inner blocks */
    bool described; /* false: the public description does not explain the bytes (opaque, or extra data) */
} bd_layout_t;

dnnl_tp_status_t bd_layout(const bd_api_t *, const_dnnl_tp_memory_desc_t, bd_layout_t *);

/* f64 row-major <-> memory. Storing rounds and saturates as the library must. */
void bd_store(const bd_layout_t *, void *mem, const double *v);
void bd_load(const bd_layout_t *, const void *mem, double *v);
/* Whether bd_load would give other values than v. NaN equals NaN. */
bool bd_differs(const bd_layout_t *, const void *mem, const double *v);
/* Whether several positions share an element (stride 0). */
bool bd_overlaps(const bd_layout_t *);
/* Number of elements in the padding that are not zero. */
int64_t bd_bad_padding(const bd_layout_t *, const void *mem);
/* Number of bytes inside the described extent that belong to no element and differ from `fill`. */
int64_t bd_touched_gaps(const bd_layout_t *, const void *mem, unsigned char fill);

#endif
