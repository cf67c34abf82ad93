/* A model that was read: its message, the data of its tensors, the files that they lie in. Immutable once it is open. */
#ifndef DTP_ONNX_MODEL_H
#define DTP_ONNX_MODEL_H

#include "onnx/dnnl_tp_onnx.h"
#include "onnx/names.h"
#include "onnx/text.h"
#include "common/import_memory.h"

#include "dtp_onnx.pb-c.h"

#include <stdatomic.h>

/* protobuf-c's names, shorter. */
typedef DtpOnnx__ModelProto model_proto_t;
typedef DtpOnnx__GraphProto graph_proto_t;
typedef DtpOnnx__NodeProto node_proto_t;
typedef DtpOnnx__AttributeProto attr_proto_t;
typedef DtpOnnx__TensorProto tensor_proto_t;
typedef DtpOnnx__FunctionProto function_proto_t;
typedef DtpOnnx__ValueInfoProto value_proto_t;
typedef DtpOnnx__OperatorSetIdProto opset_proto_t;

/* A tensor of the file, in the type in which graphs carry it. */
typedef struct {
    dnnl_tp_tensor_info_t info;
    int onnx_type;
    const void *data; /* of the message, of a mapped file, or of the model's memory; NULL: see status */
    dnnl_tp_status_t status;
    const char *why; /* why there are no data */
} dtp_onnx_tensor_t;

/* A file of external data. */
typedef struct dtp_onnx_file {
    struct dtp_onnx_file *next;
    const char *location, *path; /* as the model has it; below the base folder */
    const uint8_t *data;
    size_t size;
} dtp_onnx_file_t;

struct dnnl_tp_onnx_model {
    atomic_int refs;
    dtp_import_memory_t memory;
    model_proto_t *proto;
    ProtobufCAllocator allocator;
    dtp_onnx_names_t tensors; /* address of a tensor_proto_t -> dtp_onnx_tensor_t */
    dtp_onnx_file_t *files;
    const char *base_folder; /* resolved; NULL: there are no external data */
    const char *store;       /* the folder of the model's own file, links resolved; NULL: not known */
    bool *determines;        /* of each input of the main graph: shapes */
    bool *decides;           /* the same: which branch of an If runs */
};

/* Of messages and models. */
extern const ProtobufCAllocator dtp_onnx_allocator;

void dtp_onnx_model_ref(dnnl_tp_onnx_model_t model);
void dtp_onnx_model_unref(void *model);
/* The version of the operators of a domain in a list of imports; 0: it is not imported. */
int64_t dtp_onnx_opset(size_t n, opset_proto_t *const *imports, const char *domain);
/* "" and "ai.onnx" are one domain. */
const char *dtp_onnx_domain(const char *domain);
/* Shape and type of a declared value. */
dnnl_tp_status_t dtp_onnx_port(const value_proto_t *value, dnnl_tp_onnx_port_t *port);

/* ---- tensor.c ---------------------------------------------------------------------------------------- */

/* Type in which graphs carry an ONNX type; undef: none. */
dnnl_tp_data_type_t dtp_onnx_carried(int onnx_type);
/* The same, and for types that files store and only conversions read that of their elements. */
dnnl_tp_data_type_t dtp_onnx_read_as(int onnx_type);
/* The name of such a type; NULL: it is none. */
const char *dtp_onnx_stored(int onnx_type);
const char *dtp_onnx_type_name(int onnx_type);
size_t dtp_onnx_type_size(dnnl_tp_data_type_t type);
/* Product of the dimensions; -1: there are more than a tensor may have, one is not known, negative, or the product too large for the bytes of a tensor. */
int64_t dtp_onnx_elems(const dnnl_tp_tensor_info_t *info);
/* Finds or makes the data of all tensors of a graph or function, those of attributes and inner graphs included. */
dnnl_tp_status_t dtp_onnx_read_graph(dnnl_tp_onnx_model_t m, graph_proto_t *graph);
dnnl_tp_status_t dtp_onnx_read_nodes(dnnl_tp_onnx_model_t m, size_t n, node_proto_t **nodes);
dnnl_tp_status_t dtp_onnx_read(dnnl_tp_onnx_model_t m, tensor_proto_t *tensor);
const dtp_onnx_tensor_t *dtp_onnx_tensor(const_dnnl_tp_onnx_model_t m, const tensor_proto_t *tensor);

/* ---- function.c -------------------------------------------------------------------------------------- */

/* The function of the model that a node calls; NULL: none. memory holds texts that it compares. */
const function_proto_t *dtp_onnx_function(const_dnnl_tp_onnx_model_t m, dtp_import_memory_t *memory,
                                          const node_proto_t *node);
/* Has the function default values of attributes, which are refused? */
bool dtp_onnx_has_defaults(const function_proto_t *function);

/* ---- external.c -------------------------------------------------------------------------------------- */

/* A part of a file of the base folder; on failure *why is a text that lives as long as the model. */
dnnl_tp_status_t dtp_onnx_external(dnnl_tp_onnx_model_t m, const tensor_proto_t *tensor, const uint8_t **data,
                                   size_t *size, const char **why);
dnnl_tp_status_t dtp_onnx_map(const char *path, int fd, const uint8_t **data, size_t *size);

#endif
