/* The table of operators and their versions, made from ops.inc. */
#include "onnx/ops/table.h"
#include "onnx/ops/ops.h"

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

/* A few hundred rows, looked through once for a node: names differ in their first letters. */
const row_t *dtp_onnx_row(const char *domain, const char *op, int64_t version, int *since) {
    const row_t *best = NULL;
    *since = 0;
    if (version > dtp_onnx_last(domain)) return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (strcmp(rows[i].op, op) || strcmp(rows[i].domain, domain)) continue;
        for (const uint8_t *v = rows[i].since; *v; ++v)
            if (*v <= version && *v > *since) {
                best = &rows[i];
                *since = *v;
            }
    }
    return best;
}
