/** @file
 * Import of ONNX models: a file becomes a graph (dnnl_tp_graph.h), which the program compiles and runs, or gives to a
 * session.
 *
 * A model is opened, asked for its inputs and outputs, and turned into as many graphs as wanted: with other sizes for its
 * symbolic dimensions, or with some of its inputs fixed. doc/onnx.md says which operators, types and versions there are
 * and what is refused. Every refusal names the node and the operator. The library dnnl_tp_onnx holds this file's
 * functions; it is linked before dnnl_tp and calls its public functions only. */
#ifndef DNNL_TP_ONNX_H
#define DNNL_TP_ONNX_H

#include "dnnl_tp/dnnl_tp_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dnnl_tp_onnx_model *dnnl_tp_onnx_model_t;             /**< A model that was read. */
typedef const struct dnnl_tp_onnx_model *const_dnnl_tp_onnx_model_t; /**< Borrowed model. */

/** How a model is read; zeroed members mean defaults. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_onnx_open_opts_t) */
    /** Folder that holds the files of external data. NULL: the folder of the model's path; of a model in memory:
     * external data is refused. A file outside of the folder, links resolved, is refused; but where this is NULL and
     * the model's path is a link, as in caches of models, a link to a file beside the model's own is followed. */
    const char *base_folder;
    /** Largest memory of the parsed message in bytes, beside the file and what it refers to; 0 = 1.2 times the file and
     * 64 MiB. A file that would need more is refused before anything is allocated. */
    size_t max_bytes;
} dnnl_tp_onnx_open_opts_t;

#define DNNL_TP_ONNX_DETERMINES_SHAPES 1u /**< Shapes come from this input's elements: fix it, see values. */
#define DNNL_TP_ONNX_HAS_DEFAULT 2u       /**< An initializer has its name: a constant, unless it is fed. */
/** Few integers that decide which branch of an If runs: where they are fixed, the other branch need not fit. */
#define DNNL_TP_ONNX_DECIDES_BRANCHES 4u

/** An input or output of a model. */
typedef struct {
    const char *name; /**< Lives as long as the model. */
    int onnx_type;    /**< TensorProto.DataType of the file; 0: the file does not say, or it is no tensor. */
    /** Type as graphs carry it (FLOAT16, BFLOAT16, FLOAT8 as f32, INT4 as s8, ...) and shape; symbolic dimensions are
     * DNNL_TP_RUNTIME_DIM_VAL. ndims -1: the file gives no shape. */
    dnnl_tp_tensor_info_t info;
    const char *symbols[DNNL_TP_MAX_NDIMS]; /**< Names of symbolic dimensions; NULL: a number, or no name. */
    unsigned flags;                         /**< DNNL_TP_ONNX_*; 0 for outputs */
} dnnl_tp_onnx_port_t;

/** What a model says of itself. */
typedef struct {
    size_t struct_size;   /**< sizeof(dnnl_tp_onnx_model_info_t), set by the caller */
    int64_t ir_version;   /**< Version of the file format. */
    int64_t opset;        /**< Version of the operators of the domain "". */
    const char *producer; /**< "" if it does not say; lives as long as the model, as the next one. */
    const char *name;     /**< Name of the graph. */
    int inputs;           /**< Number of inputs, those with defaults included. */
    int outputs;          /**< Number of outputs. */
    int nodes;            /**< Nodes of the main graph. */
} dnnl_tp_onnx_model_info_t;

/** Size of a symbolic dimension. */
typedef struct {
    const char *name; /**< Its name in the file. */
    int64_t size;     /**< 0 or more */
} dnnl_tp_onnx_dim_t;

/** An input that is fixed to a value: the graph has no such input, and its shapes may come from the value. */
typedef struct {
    const char *name;           /**< An input of the model. */
    dnnl_tp_tensor_info_t info; /**< Shape and type as graphs carry it. */
    const void *data;           /**< Dense row-major; copied. */
} dnnl_tp_onnx_value_t;

/** How a graph is made; zeroed members mean defaults. */
typedef struct {
    size_t struct_size;             /**< sizeof(dnnl_tp_onnx_graph_opts_t) */
    dnnl_tp_engine_kind_t kind;     /**< Of the engines that will run it; 0 = dnnl_tp_cpu. */
    int ndims;                      /**< Entries of dims. */
    const dnnl_tp_onnx_dim_t *dims; /**< Sizes of symbolic dimensions; others stay open until compilation. */
    int64_t batch;                  /**< First dimension of every input that has one; 0 = as in the file. */
    int nvalues;                    /**< Entries of values. */
    const dnnl_tp_onnx_value_t *values; /**< Inputs that are fixed. */
    int nfed;                           /**< Entries of fed. */
    const char *const *fed;             /**< Inputs with defaults that shall be inputs of the graph. */
    int64_t max_nodes;                  /**< Nodes after functions were inlined; 0 = 100,000. */
    size_t max_bytes;                   /**< Constants that operators of the file make; 0 = 1 GiB. */
    dnnl_tp_value_t
        *inputs; /**< Out, if not NULL: number in the graph of each input of the model; -1: it is none. */
    dnnl_tp_value_t *outputs; /**< Out, if not NULL: number in the graph of each output of the model. */
    const dnnl_tp_tensor_info_t *const
        *shapes; /**< By input of the model, NULL = none: sizes for the dimensions that are still open. */
    const_dnnl_tp_graph_t share; /**< A graph to share constants with (dnnl_tp_graph_share()); NULL = none. */
} dnnl_tp_onnx_graph_opts_t;

/** Opens a model file. A model that can never run is refused here, not when a graph of it is made: the text names all
 * operators, types and files of external data that stand in the way, as far as a text holds them. Thread-safe.
 *
 * @param[out] model owned by the caller; NULL on failure
 * @param path of a file with a ModelProto
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_graph (not a model, truncated, nested more than 64 deep, more memory than max_bytes, a field
 *     that is not known, an initializer whose data do not fit its shape or lie outside of the base folder);
 *     unimplemented (IR version above 14 or below 3; an operator, a version of it, a domain or a type that this build does
 *     not serve); runtime_error (the file, or one of external data, cannot be read); invalid_arguments; out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_open(dnnl_tp_onnx_model_t *model, const char *path,
                                                   const dnnl_tp_onnx_open_opts_t *opts);

/** Opens a model in memory. Thread-safe.
 *
 * @param[out] model owned by the caller; NULL on failure
 * @param data bytes of a ModelProto; not needed afterwards
 * @param size number of bytes
 * @param opts read during the call only; NULL = defaults
 * @return as dnnl_tp_onnx_open(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_open_memory(dnnl_tp_onnx_model_t *model, const void *data,
                                                          size_t size, const dnnl_tp_onnx_open_opts_t *opts);

/** Drops the caller's handle; graphs that borrow the model's weights keep what they need. Thread-safe.
 *
 * @param model NULL or a model
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_onnx_close(dnnl_tp_onnx_model_t model);

/** What the model says of itself. Thread-safe.
 *
 * @param model a model
 * @param[in,out] info struct_size set by the caller
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_query(const_dnnl_tp_onnx_model_t model,
                                                    dnnl_tp_onnx_model_info_t *info);

/** Names a file of external data that the model's weights lie in. Thread-safe.
 *
 * Weights stay in these files while the model or a graph of it lives: they must not change meanwhile.
 *
 * @param model a model
 * @param index 0, 1, ... in any order
 * @param[out] path lives as long as the model; NULL: there are no more
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_external_file(const_dnnl_tp_onnx_model_t model, int index,
                                                            const char **path);

/** Describes an input. Thread-safe.
 *
 * @param model a model
 * @param index 0..inputs-1
 * @param[out] port what it is
 * @return success; invalid_arguments (no such input). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_input(const_dnnl_tp_onnx_model_t model, int index,
                                                    dnnl_tp_onnx_port_t *port);

/** Describes an output. Thread-safe.
 *
 * @param model a model
 * @param index 0..outputs-1
 * @param[out] port what it is
 * @return success; invalid_arguments (no such output). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_output(const_dnnl_tp_onnx_model_t model, int index,
                                                     dnnl_tp_onnx_port_t *port);

/** Makes a graph of a model. Its inputs are those of the model in their order, without those that are fixed and those
 * that have a default and are not fed; its outputs are those of the model. Operators that sessions may fetch are named
 * as the tensors of the file. Weights are borrowed from the model. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param model a model
 * @param opts read during the call only; NULL = defaults
 * @return success; unimplemented (an operator or a use of an operator that this build does not serve); invalid_graph (a
 *     cycle, a name that is defined twice or not at all, too many nodes or constants); invalid_graph_op,
 *     invalid_shape, invalid_data_type (a node is wrong); invalid_arguments (opts: an unknown name, a shape that does
 *     not fit); out_of_memory. The text names the node and its operator. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_graph_create(dnnl_tp_graph_t *graph, dnnl_tp_onnx_model_t model,
                                                           const dnnl_tp_onnx_graph_opts_t *opts);

/** Data of a TensorProto (the .pb files that come with ONNX models) as graphs carry it. Thread-safe.
 *
 * @param[out] info shape and type
 * @param[out] name of the tensor; room for 256 bytes, or NULL
 * @param[out] buffer room for the elements; NULL: only info is asked for
 * @param room size of buffer in bytes
 * @param data bytes of a TensorProto
 * @param size number of bytes
 * @return success; invalid_graph (not a tensor, data that do not fit the shape); unimplemented (a type that graphs do not
 *     carry); invalid_arguments (the buffer is too small); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_read_tensor(dnnl_tp_tensor_info_t *info, char *name,
                                                          void *buffer, size_t room, const void *data,
                                                          size_t size);

#ifdef __cplusplus
}
#endif

#endif
