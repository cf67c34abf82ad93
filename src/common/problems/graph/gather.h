/* Rows of a table by number (graphs only): the problem and its arguments. */
#ifndef DTP_COMMON_PROBLEMS_GATHER_H
#define DTP_COMMON_PROBLEMS_GATHER_H

#include "common/primitive/op_desc.h"

/* dst[i, :] = table[ids[i], :] (post-op sum adds to the old dst instead). An id outside the table:
 * runtime_error, reason GRAPH_INDEX. */
typedef struct {
    dtp_op_desc_t base;
    dtp_md_t table, ids, dst; /* {V, H}; {n} s32 or s64; {n, H} */
} dtp_gather_desc_t;
enum { DTP_GATHER_TABLE, DTP_GATHER_IDS, DTP_GATHER_DST, DTP_GATHER_NARGS };

#endif
