/* Error texts of the importer, see text.h. */
#include "onnx/text.h"

#include <stdio.h>

enum { TEXT = 480 };

dnnl_tp_status_t dtp_onnx_fail_at(dnnl_tp_status_t status, const char *where, const char *format,
                                  va_list args) {
    char text[TEXT];
    const int n = snprintf(text, sizeof text, "onnx: %s", where);
    if (n >= 0 && n < TEXT) (void)vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    /* Names come from files: what a terminal would take for a command is shown as a question mark. */
    for (char *c = text; *c; ++c)
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = '?';
    return dnnl_tp_fail(status, text);
}

dnnl_tp_status_t dtp_onnx_fail(dnnl_tp_status_t status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    status = dtp_onnx_fail_at(status, "", format, args);
    va_end(args);
    return status;
}
