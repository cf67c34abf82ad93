/* Zeroes the padding of blocked tensors. */
#ifndef DTP_COMMON_LAYOUT_ZERO_PAD_H
#define DTP_COMMON_LAYOUT_ZERO_PAD_H

#include "common/layout/memory_desc.h"

/* Writes zeros to every element of the padded area that is outside the logical tensor. */
void dtp_zero_pad(const dtp_md_t *md, void *data);

#endif
