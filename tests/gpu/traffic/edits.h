/* Kernels that compute the same and ask more of memory: texts that ship are changed so, and the counts must tell. */
#ifndef TESTS_GPU_TRAFFIC_EDITS_H
#define TESTS_GPU_TRAFFIC_EDITS_H

#include <stdbool.h>

/* Each gives a copy of a kernel's text; free it. */
typedef char *edit_fn(const char *text);
edit_fn edit_narrow; /* loads of four words become four loads */
edit_fn
    edit_scatter; /* threads of a block, 256, change places, so that those of a warp read memory far apart */
edit_fn edit_unpad; /* lines of a tile in shared memory, 65 words long, become 64 words long */

#endif
