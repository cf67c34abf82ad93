/* Looks through the bytes of a protobuf message before protobuf-c does: protobuf-c recurses without a limit and allocates
 * what the bytes ask for. */
#ifndef DTP_ONNX_SCAN_H
#define DTP_ONNX_SCAN_H

#include "dnnl_tp/dnnl_tp.h"

#include <protobuf-c/protobuf-c.h>

enum { DTP_ONNX_MAX_DEPTH = 64 };

/* Are these bytes a message of this kind, all lengths inside of them, at most DTP_ONNX_MAX_DEPTH deep, without fields that
 * the importer does not know, and does protobuf-c need at most max_bytes for it? */
dnnl_tp_status_t dtp_onnx_scan(const uint8_t *data, size_t size, const ProtobufCMessageDescriptor *kind,
                               uint64_t max_bytes);

#endif
