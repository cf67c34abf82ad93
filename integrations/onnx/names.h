/* A table from names to pointers. */
#ifndef DTP_ONNX_NAMES_H
#define DTP_ONNX_NAMES_H

#include "common/import_memory.h"

#include <stdint.h>

typedef struct {
    const void *key; /* a name, or an address */
    void *value;
} dtp_onnx_name_t;

typedef struct {
    dtp_import_memory_t *memory;
    dtp_onnx_name_t *slots; /* a power of two, half of them free */
    size_t nslots, used;
    int by_address; /* keys are compared as addresses, not as texts */
} dtp_onnx_names_t;

void dtp_onnx_names_init(dtp_onnx_names_t *names, dtp_import_memory_t *memory, int by_address);
/* NULL: it is not there. */
void *dtp_onnx_names_get(const dtp_onnx_names_t *names, const void *key);
/* Replaces what is there; the key lives as long as the table. */
dnnl_tp_status_t dtp_onnx_names_set(dtp_onnx_names_t *names, const void *key, void *value);

#endif
