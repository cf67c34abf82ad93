/* The table of operators and their versions, made from ops.inc. */
#include "onnx/ops/table.h"
#include "onnx/ops/ops.h"

#define DTP_ONNX(op, convert, kind, fewest, most, params, ...) \
    {#op, {__VA_ARGS__}, dtp_onnx_##convert, kind, fewest, most, params},
static const row_t rows[] = {
#include "onnx/ops/ops.inc"
};

const row_t *dtp_onnx_rows(int *n) {
    *n = (int)(sizeof rows / sizeof *rows);
    return rows;
}

/* A few hundred rows, looked through once for a node: names differ in their first letters. */
const row_t *dtp_onnx_row(const char *op, int64_t version, int *since) {
    const row_t *best = NULL;
    *since = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (strcmp(rows[i].op, op)) continue;
        for (const uint8_t *v = rows[i].since; *v; ++v)
            if (*v <= version && *v > *since) {
                best = &rows[i];
                *since = *v;
            }
    }
    return best;
}
