/* A table from names to pointers: open addressing, see names.h. */
#include "onnx/names.h"

#include <string.h>

static uint64_t hash_of(const dtp_onnx_names_t *t, const void *key) {
    uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    if (t->by_address) {
        h ^= (uint64_t)(uintptr_t)key;
    } else {
        for (const unsigned char *c = key; *c; ++c) h = (h ^ *c) * UINT64_C(0x100000001b3);
    }
    h *= UINT64_C(0x9e3779b97f4a7c15); /* spreads the low bits */
    return h ^ h >> 32;
}

static dtp_onnx_name_t *slot_of(const dtp_onnx_names_t *t, const void *key) {
    for (size_t i = (size_t)hash_of(t, key);; ++i) {
        dtp_onnx_name_t *s = &t->slots[i & (t->nslots - 1)];
        if (!s->key || s->key == key || (!t->by_address && !strcmp(s->key, key))) return s;
    }
}

void dtp_onnx_names_init(dtp_onnx_names_t *names, dtp_import_memory_t *memory, int by_address) {
    *names = (dtp_onnx_names_t){.memory = memory, .by_address = by_address};
}

void *dtp_onnx_names_get(const dtp_onnx_names_t *names, const void *key) {
    return names->nslots ? slot_of(names, key)->value : NULL;
}

dnnl_tp_status_t dtp_onnx_names_set(dtp_onnx_names_t *names, const void *key, void *value) {
    enum { FIRST = 32 };
    if ((names->used + 1) * 2 > names->nslots) {
        dtp_onnx_names_t more = *names;
        more.nslots = names->nslots ? names->nslots * 2 : FIRST;
        more.slots = dtp_import_alloc(names->memory, more.nslots * sizeof *more.slots);
        if (!more.slots) return dnnl_tp_out_of_memory;
        for (size_t i = 0; i < names->nslots; ++i)
            if (names->slots[i].key) *slot_of(&more, names->slots[i].key) = names->slots[i];
        *names = more;
    }
    dtp_onnx_name_t *s = slot_of(names, key);
    names->used += !s->key;
    s->key = key;
    s->value = value;
    return dnnl_tp_success;
}
