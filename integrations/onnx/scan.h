/* Checks the bytes of a protobuf message before protobuf-c parses them, because protobuf-c recurses
 * without a limit and allocates whatever sizes the bytes give. */
#ifndef DTP_ONNX_SCAN_H
#define DTP_ONNX_SCAN_H

#include "dnnl_tp/dnnl_tp.h"

#include <protobuf-c/protobuf-c.h>

enum { DTP_ONNX_MAX_DEPTH = 64 };

/* Success if the bytes are a message of this kind with all lengths inside of them, at most
 * DTP_ONNX_MAX_DEPTH levels and no field unknown to the importer, and if protobuf-c needs at most
 * max_bytes for it. */
dnnl_tp_status_t dtp_onnx_scan(const uint8_t *data, size_t size, const ProtobufCMessageDescriptor *kind,
                               uint64_t max_bytes);

#endif
