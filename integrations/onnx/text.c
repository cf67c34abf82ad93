/* Error texts of the importer, see text.h. */
#include "onnx/text.h"

#include <stdio.h>

enum { TEXT = 480 };

/* Names come from files: what a terminal would take for a command is shown as a question mark. */
static bool is_plain(char c) { return (unsigned char)c >= ' ' && c != 0x7f; }

static void make_plain(char *text) {
    for (char *c = text; *c; ++c)
        if (!is_plain(*c)) *c = '?';
}

const char *dtp_onnx_plain(const char *name, char room[DTP_ONNX_NAME]) {
    const char *c = name;
    while (*c && is_plain(*c)) ++c;
    if (!*c) return name;
    (void)snprintf(room, DTP_ONNX_NAME, "%s", name);
    make_plain(room);
    return room;
}

dnnl_tp_status_t dtp_onnx_fail_at(dnnl_tp_status_t status, const char *where, const char *format,
                                  va_list args) {
    char text[TEXT];
    const int n = snprintf(text, sizeof text, "onnx: %s", where);
    if (n >= 0 && n < TEXT) (void)vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    make_plain(text);
    return dnnl_tp_fail(status, text);
}

dnnl_tp_status_t dtp_onnx_fail(dnnl_tp_status_t status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    status = dtp_onnx_fail_at(status, "", format, args);
    va_end(args);
    return status;
}
