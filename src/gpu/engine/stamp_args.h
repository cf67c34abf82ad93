/* Arguments of the kernel of stamps; included by both halves. */
#ifndef DTP_GPU_ENGINE_STAMP_ARGS_H
#define DTP_GPU_ENGINE_STAMP_ARGS_H

#include <stdint.h>

typedef struct {
    int64_t *word; /* of pinned memory */
} dtp_stamp_args_t;

#endif
