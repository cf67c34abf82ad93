/* A buffer of the host and one of the same size on a GPU, copied in one direction in the order of a stream. */
#ifndef SE_MIRROR_H
#define SE_MIRROR_H

#include "common.h"
#include "dnnl_tp/dnnl_tp.h"

typedef enum { SE_TO_DEVICE, SE_TO_HOST } se_direction_t;

typedef struct {
    dnnl_tp_memory_t host, device;
    dnnl_tp_primitive_t copy;
    se_direction_t direction;
    void *at; /* on the device */
} se_mirror_t;

/* `buffer`: n elements of the caller's, which outlive the mirror. A mirror that failed is destroyed, too. */
int se_mirror_init(se_mirror_t *mirror, dnnl_tp_engine_t host, dnnl_tp_engine_t device,
                   se_direction_t direction, dnnl_tp_data_type_t type, void *buffer, size_t n,
                   se_error_t *error);
/* Submits the copy to a stream of the device. */
int se_mirror_copy(const se_mirror_t *mirror, dnnl_tp_stream_t stream, se_error_t *error);
void se_mirror_destroy(se_mirror_t *mirror);

#endif
