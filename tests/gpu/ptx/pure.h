/* A list of pure instructions gives both their functions and the table that finds them by name. A line is
 * OP(function, name, operands, lanes of the result, lanes of the sources, type, value), where value uses the sources
 * x, y, z of that type, or the rows a, b, c and the lane i. */
#ifndef DNNL_TP_TESTS_GPU_PTX_PURE_H
#define DNNL_TP_TESTS_GPU_PTX_PURE_H
#include "internal.h"

#define PTX_FUNCTION(function, name, operands, to, from, type, value)                      \
    static void function(const insn_t *in, lanes_t *restrict d, const lanes_t *const *s) { \
        const lanes_t *a = s[0], *b = s[1], *c = s[2];                                     \
        (void)in, (void)b, (void)c;                                                        \
        for (int i = 0; i < LANES; ++i) {                                                  \
            const type x = (type)a->from[i], y = (type)b->from[i], z = (type)c->from[i];   \
            (void)x, (void)y, (void)z;                                                     \
            d->to[i] = value;                                                              \
        }                                                                                  \
    }
#define PTX_ENTRY(function, name, operands, to, from, type, value) {name, operands, function},

typedef struct {
    const char *name, *operands;
    pure_fn *function;
} pure_t;

static inline pure_fn *ptx_find_pure(const pure_t *list, size_t n, const char *name, const char **operands) {
    for (size_t i = 0; i < n; ++i) {
        const char *p = list[i].name, *q = name;
        while (*p && *p == *q) ++p, ++q;
        if (*p || *q) continue;
        *operands = list[i].operands;
        return list[i].function;
    }
    return NULL;
}
#endif
