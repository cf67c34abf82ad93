/* A table from names to pointers. */
#ifndef DTP_ONNX_NAMES_H
#define DTP_ONNX_NAMES_H

#include "common/import_memory.h"

#include <stdint.h>

typedef struct {
    /* A name or an address. */
    const void *key;
    void *value;
} dtp_onnx_name_t;

typedef struct {
    dtp_import_memory_t *memory;
    /* Their number is a power of two; half of them are free. */
    dtp_onnx_name_t *slots;
    size_t nslots, used;
    /* Keys are compared as addresses, not as texts. */
    int by_address;
} dtp_onnx_names_t;

void dtp_onnx_names_init(dtp_onnx_names_t *names, dtp_import_memory_t *memory, int by_address);
/* The value of a key; NULL: the table does not have it. */
void *dtp_onnx_names_get(const dtp_onnx_names_t *names, const void *key);
/* Sets or replaces the value of a key, which must live as long as the table. */
dnnl_tp_status_t dtp_onnx_names_set(dtp_onnx_names_t *names, const void *key, void *value);

#endif
