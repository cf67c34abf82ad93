/* Fuzzer of the safetensors reader: any bytes are either refused or give tensors inside them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    se_safetensors_t st;
    se_error_t error;
    uint8_t *copy = malloc(size ? size : 1); /* exactly as large, so that a sanitizer sees a read beyond it */
    if (!copy) return 0;
    memcpy(copy, data, size);
    error.text[0] = 0;
    if (se_safetensors_parse(&st, copy, size, "fuzz", &error)) {
        if (!error.text[0] || strlen(error.text) >= sizeof error.text) abort();
    } else {
        for (size_t i = 0; i < st.count; ++i) {
            const se_tensor_t *t = &st.tensors[i];
            const uint8_t *begin = t->data;
            if (begin < copy || begin > copy + size || t->bytes > (size_t)(copy + size - begin)) abort();
            if (se_safetensors_find(&st, t->name) == NULL) abort();
        }
        se_safetensors_close(&st);
    }
    free(copy);
    return 0;
}
