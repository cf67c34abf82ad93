/* Error texts of the importer. */
#ifndef DTP_ONNX_TEXT_H
#define DTP_ONNX_TEXT_H

#include "dnnl_tp/dnnl_tp.h"

#include <stdarg.h>
#include <stdbool.h>

/* dnnl_tp_fail() with a format; the text begins with "onnx: ". Returns status. */
__attribute__((format(printf, 2, 3))) dnnl_tp_status_t dtp_onnx_fail(dnnl_tp_status_t status,
                                                                     const char *format, ...);
__attribute__((format(printf, 3, 0))) dnnl_tp_status_t
dtp_onnx_fail_at(dnnl_tp_status_t status, const char *where, const char *format, va_list args);

/* A name for the texts of the graph: the name itself, or a copy in room without control characters.
 */
enum { DTP_ONNX_NAME = 256 };
const char *dtp_onnx_plain(const char *name, char room[DTP_ONNX_NAME]);

#define DTP_ONNX_TRY(expr)                             \
    do {                                               \
        const dnnl_tp_status_t status_of_try = (expr); \
        if (status_of_try) return status_of_try;       \
    } while (0)

#endif
