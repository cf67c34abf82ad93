/* The importer of ONNX models, installed: bytes that are no model are refused with a text. */
#include "onnx/dnnl_tp_onnx.h"

#include <string.h>

int main(void) {
    static const char bytes[] = "no model";
    dnnl_tp_onnx_model_t model;
    return dnnl_tp_onnx_open_memory(&model, bytes, sizeof bytes, NULL) != dnnl_tp_invalid_graph || model ||
           strncmp(dnnl_tp_last_error(), "onnx: ", strlen("onnx: ")) != 0;
}
