/* Checks without loops: what runs need of them. Included once per check, after its source. */
#ifndef DTP_MODEL_NO_SHARED_LOOPS_H
#define DTP_MODEL_NO_SHARED_LOOPS_H

#include "threading/base/parallel.h"

bool dtp_share_over(const dtp_share_t *share) {
    return atomic_load_explicit(share->stop, memory_order_relaxed) != 0;
}

#endif
