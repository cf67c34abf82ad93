/* The table of operators and their versions, made from ops.inc. */
#include "onnx/ops/table.h"
#include "onnx/ops/ops.h"

#include <stdatomic.h>

/* The versions of a domain that the table knows completely. */
static const struct {
    const char *name;
    int last;
} domains[] = {{"", DTP_ONNX_LAST}, {"ai.onnx.ml", 5}, {"com.microsoft", 1}};

#define DTP_ONNX_OF(domain, op, convert, kind, fewest, most, params, ...) \
    {domain, #op, {__VA_ARGS__}, dtp_onnx_##convert, kind, fewest, most, params},
static const row_t rows[] = {
#include "onnx/ops/ops.inc"
};

const row_t *dtp_onnx_rows(int *n) {
    *n = (int)(sizeof rows / sizeof *rows);
    return rows;
}

int dtp_onnx_last(const char *domain) {
    for (size_t i = 0; i < sizeof domains / sizeof *domains; ++i)
        if (!strcmp(domains[i].name, domain)) return domains[i].last;
    return 0;
}

/* Rows by the hash of their operator: `first` by hash, `next` by row, both + 1; 0: none. Two threads that build the lists at
 * once write the same numbers. */
enum { ROWS = sizeof rows / sizeof *rows, LISTS = 512 };
static _Atomic uint16_t first[LISTS], next[ROWS];
static atomic_bool are_listed;

static unsigned list_of(const char *op) {
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *op; ++op) h = (h ^ (unsigned char)*op) * 16777619u;
    return (h ^ h >> 16) % LISTS;
}

static void list_rows(void) {
    uint16_t from[LISTS] = {0};
    for (unsigned i = ROWS; i-- > 0;) {
        uint16_t *at = &from[list_of(rows[i].op)];
        atomic_store_explicit(&next[i], *at, memory_order_relaxed);
        *at = (uint16_t)(i + 1);
    }
    for (unsigned i = 0; i < LISTS; ++i) atomic_store_explicit(&first[i], from[i], memory_order_relaxed);
    atomic_store_explicit(&are_listed, true, memory_order_release);
}

const row_t *dtp_onnx_row(const char *domain, const char *op, int64_t version, int *since) {
    const row_t *best = NULL;
    *since = 0;
    if (version > dtp_onnx_last(domain)) return NULL;
    if (!atomic_load_explicit(&are_listed, memory_order_acquire)) list_rows();
    unsigned at = atomic_load_explicit(&first[list_of(op)], memory_order_relaxed);
    for (; at; at = atomic_load_explicit(&next[at - 1], memory_order_relaxed)) {
        const row_t *row = &rows[at - 1];
        if (strcmp(row->op, op) || strcmp(row->domain, domain)) continue;
        for (const uint8_t *v = row->since; *v; ++v)
            if (*v <= version && *v > *since) {
                best = row;
                *since = *v;
            }
    }
    return best;
}
