/* Texts of format tags. */
#ifndef DTP_COMMON_LAYOUT_FORMAT_TAG_H
#define DTP_COMMON_LAYOUT_FORMAT_TAG_H

#include "common/layout/memory_desc.h"

/* "aBc16b" and the like; NULL when tag is not one. */
const char *dtp_tag_name(dnnl_tp_format_tag_t tag);
/* Checked dims and type with layout any. */
dnnl_tp_status_t dtp_md_init_any(dtp_md_t *md, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt);

#endif
