/* Functions that drivers share whose problems are images without a window:
 * "g4mb2ic64_ih56_eps0.01_n"label"". The descriptor is in vd: row 0 has the counts, row
 * BD_IMG_SPACE the sizes of vd_nd[0] spatial dimensions, the outermost first. */
#ifndef BD_IMAGE_H
#define BD_IMAGE_H

#include "drivers/drivers.h"

enum { BD_IMG_MB, BD_IMG_IC, BD_IMG_MORE, BD_IMG_SPACE = 1 };

/* A number after the sizes. */
typedef struct {
    const char *name;
    size_t offset; /* of a float in bd_prb_t */
    float usual;
} bd_img_number_t;

/* counts: names of the counts, NULL-ended, "mb" and "ic" first. If not given, mb is 2 and other
 * ones are -1. numbers end with a name that is NULL. 0 = good. A missing size is the size of the
 * outer dimension. */
int bd_parse_image(bd_prb_t *, const char *, const char *const *counts, const bd_img_number_t *numbers);
void bd_desc_image(const bd_prb_t *, char *, size_t, const char *const *counts,
                   const bd_img_number_t *numbers);
/* {mb, ic, sizes}; returns how many. */
int bd_image_dims(const bd_prb_t *, int64_t d[BD_MAX_NDIMS]);

#endif
