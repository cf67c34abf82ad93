/* An open model: its message, the data of its tensors and the files with these data. Immutable
 * after it was opened, but for the counters of random numbers. */
#ifndef DTP_ONNX_MODEL_H
#define DTP_ONNX_MODEL_H

#include "onnx/dnnl_tp_onnx.h"
#include "onnx/names.h"
#include "onnx/text.h"
#include "common/import_memory.h"

#include "dtp_onnx.pb-c.h"

#include <stdatomic.h>

/* Short forms of protobuf-c's names. */
typedef DtpOnnx__ModelProto model_proto_t;
typedef DtpOnnx__GraphProto graph_proto_t;
typedef DtpOnnx__NodeProto node_proto_t;
typedef DtpOnnx__AttributeProto attr_proto_t;
typedef DtpOnnx__TensorProto tensor_proto_t;
typedef DtpOnnx__FunctionProto function_proto_t;
typedef DtpOnnx__ValueInfoProto value_proto_t;
typedef DtpOnnx__OperatorSetIdProto opset_proto_t;

/* A tensor of the file, in its graph type. */
typedef struct {
    dnnl_tp_tensor_info_t info;
    int onnx_type;
    /* In the message, in a mapped file or in the model's memory; NULL: status and why tell the
     * cause. */
    const void *data;
    dnnl_tp_status_t status;
    const char *why;
} dtp_onnx_tensor_t;

/* A file of external data. */
typedef struct dtp_onnx_file {
    struct dtp_onnx_file *next;
    /* location: as the model gives it; path: below the base folder. */
    const char *location, *path;
    const uint8_t *data;
    size_t size;
} dtp_onnx_file_t;

/* How often a node that draws random numbers ran, in all graphs of the model. */
typedef struct dtp_onnx_counter {
    struct dtp_onnx_counter *next;
    uint64_t place;
    atomic_uint_fast64_t runs;
} dtp_onnx_counter_t;

struct dnnl_tp_onnx_model {
    atomic_int refs;
    dtp_import_memory_t memory;
    model_proto_t *proto;
    ProtobufCAllocator allocator;
    /* Address of a tensor_proto_t -> dtp_onnx_tensor_t. */
    dtp_onnx_names_t tensors;
    dtp_onnx_file_t *files;
    /* Folder of the external data, links resolved; NULL: external data are refused. */
    const char *base_folder;
    /* Folder of the model's own file, links resolved; NULL: unknown. */
    const char *store;
    /* For each input of the main graph: whether its elements determine shapes. */
    bool *determines;
    /* For each input of the main graph: whether its elements select the branch of an If. */
    bool *decides;
    /* Of nodes that have none. */
    uint64_t seed;
    /* Only grows. */
    _Atomic(dtp_onnx_counter_t *) counters;
    /* Words by number (words.h), and the table that finds them: numbers or DTP_NO_WORD. */
    int64_t nwords;
    const ProtobufCBinaryData **words;
    size_t nplaces;
    int64_t *word_places;
};

/* Allocates messages and models. */
extern const ProtobufCAllocator dtp_onnx_allocator;

void dtp_onnx_model_ref(dnnl_tp_onnx_model_t model);
void dtp_onnx_model_unref(void *model);
/* The counter of the node at a place (random.c), which lives as long as the model; NULL: out of
 * memory. Thread-safe. */
dtp_onnx_counter_t *dtp_onnx_counter(dnnl_tp_onnx_model_t model, uint64_t place);
/* The version of the operators of a domain in a list of imports; 0: the domain is not imported.
 * com.microsoft is always there, in its only version. */
int64_t dtp_onnx_opset(size_t n, opset_proto_t *const *imports, const char *domain);
/* The canonical name of a domain: "" and "ai.onnx" are one domain. */
const char *dtp_onnx_domain(const char *domain);
/* Shape and type of a declared value. */
dnnl_tp_status_t dtp_onnx_port(const value_proto_t *value, dnnl_tp_onnx_port_t *port);

/* ---- tensor.c ---------------------------------------------------------------------------------------- */

/* The graph type of an ONNX type; undef: there is none. */
dnnl_tp_data_type_t dtp_onnx_carried(int onnx_type);
/* The same; for types that files store and only conversions read: the type of the converted
 * elements. */
dnnl_tp_data_type_t dtp_onnx_read_as(int onnx_type);
/* The name of a type that graphs carry in a wider one; NULL for other types. */
const char *dtp_onnx_stored(int onnx_type);
/* Such an integer. */
typedef struct {
    const char *name;
    int bits;
    bool is_signed;
    dnnl_tp_data_type_t as;
} dtp_narrow_t;
/* The integer of this name; NULL: there is none. */
const dtp_narrow_t *dtp_onnx_narrow(const char *stored);
/* A type of floating point of 8 bits. */
typedef struct {
    const char *name;
    /* Bits of the mantissa; exponent of the least normal number. */
    int mantissa, least;
    float most;
    bool has_infinity, has_minus_zero;
} dtp_float8_t;
/* The type of this name; NULL: there is none. */
const dtp_float8_t *dtp_onnx_float8(const char *stored);
const char *dtp_onnx_type_name(int onnx_type);
size_t dtp_onnx_type_size(dnnl_tp_data_type_t type);
/* Product of the dimensions; -1: there are too many dimensions, one is unknown or negative, or the
 * product is too large for the bytes of a tensor. */
int64_t dtp_onnx_elems(const dnnl_tp_tensor_info_t *info);
/* Finds or makes the data of all tensors of a graph or function, including those of attributes and
 * inner graphs. */
dnnl_tp_status_t dtp_onnx_read_graph(dnnl_tp_onnx_model_t m, graph_proto_t *graph);
dnnl_tp_status_t dtp_onnx_read_nodes(dnnl_tp_onnx_model_t m, size_t n, node_proto_t **nodes);
dnnl_tp_status_t dtp_onnx_read(dnnl_tp_onnx_model_t m, tensor_proto_t *tensor);
const dtp_onnx_tensor_t *dtp_onnx_tensor(const_dnnl_tp_onnx_model_t m, const tensor_proto_t *tensor);

/* ---- function.c -------------------------------------------------------------------------------------- */

/* The function of the model that a node calls; NULL: it calls none. memory: for texts to compare.
 */
const function_proto_t *dtp_onnx_function(const_dnnl_tp_onnx_model_t m, dtp_import_memory_t *memory,
                                          const node_proto_t *node);
/* Whether the function has default values of attributes, which are refused. */
bool dtp_onnx_has_defaults(const function_proto_t *function);

/* ---- external.c -------------------------------------------------------------------------------------- */

/* Finds a part of a file in the base folder; on failure *why is a text that lives as long as the
 * model. */
dnnl_tp_status_t dtp_onnx_external(dnnl_tp_onnx_model_t m, const tensor_proto_t *tensor, const uint8_t **data,
                                   size_t *size, const char **why);
dnnl_tp_status_t dtp_onnx_map(const char *path, int fd, const uint8_t **data, size_t *size);

#endif
