/** @file
 * Import of ONNX models: a file becomes a graph (dnnl_tp_graph.h), which the program compiles and
 * runs, or gives to a session.
 *
 * A program opens a model, queries its inputs and outputs, and makes any number of graphs from it:
 * with other sizes for symbolic dimensions, or with some inputs fixed. doc/onnx.md lists operators,
 * types and versions, and what is refused. Every refusal names the node and the operator. The
 * library dnnl_tp_onnx has the functions of this file; it is linked before dnnl_tp and calls its
 * public functions only. */
#ifndef DNNL_TP_ONNX_H
#define DNNL_TP_ONNX_H

#include "dnnl_tp/dnnl_tp_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dnnl_tp_onnx_model *dnnl_tp_onnx_model_t;             /**< An open model. */
typedef const struct dnnl_tp_onnx_model *const_dnnl_tp_onnx_model_t; /**< Borrowed model. */

/** Things of a model that can never run, with one cause; the texts live during the call. */
typedef struct {
    dnnl_tp_status_t status; /**< What the open returns if this is the first problem. */
    /** "node", "node of" (it has no name, so name is that of its first result), "input" or
     * "initializer". */
    const char *kind;
    const char *name; /**< Name of the first of these things. */
    const char *op;   /**< Its operator, or the name of its type; NULL = neither is known. */
    const char *why;  /**< The cause. */
    int count;        /**< Number of these things, 1 or more. */
} dnnl_tp_onnx_problem_t;

/** Options for reading a model; zeroed members mean defaults. The structs of older headers, which
 * end with max_bytes or report_ctx, are accepted. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_onnx_open_opts_t) */
    /** Folder of the files of external data. NULL: the folder of the model's path; a model in
     * memory may then have no external data. A file outside of the folder, with links resolved, is
     * refused. Exception: if this is NULL and the model's path is a link, as in caches of models, a
     * link to a file beside the model's own file is followed. */
    const char *base_folder;
    /** Limit in bytes for the memory of the parsed message, not counting the file and its external
     * data; 0 = 1.2 times the file plus 64 MiB plus 32 times the first 64 MiB of the file (lists of
     * numbers and short texts, as trees have them, take 20 times their bytes). A file that needs more
     * is refused before anything is allocated. */
    size_t max_bytes;
    /** Called during the call for each problem of a model that can never run, before the call
     * fails; NULL = none. The error text has no room for all of them. At most 32 problems. */
    void (*report)(void *ctx, const dnnl_tp_onnx_problem_t *problem);
    void *report_ctx; /**< First argument of report. */
    /** Seed of the nodes that draw random numbers and have no attribute seed; 0 is the default. Each
     * run of the model goes on in the sequence of numbers of each node; a model that is opened anew
     * begins it again. */
    uint64_t seed;
} dnnl_tp_onnx_open_opts_t;

/** Shapes depend on this input's elements: fix it (see values). */
#define DNNL_TP_ONNX_DETERMINES_SHAPES 1u
/** An initializer has this input's name: it is a constant unless it is fed. */
#define DNNL_TP_ONNX_HAS_DEFAULT 2u
/** A small number of integers that select the branch of an If. If they are fixed, shapes of the
 * other branch need not fit. */
#define DNNL_TP_ONNX_DECIDES_BRANCHES 4u

/** An input or output of a model. */
typedef struct {
    const char *name; /**< Lives as long as the model. */
    int onnx_type;    /**< TensorProto.DataType of the file; 0: not given, or not a tensor. */
    /** Graph type (f32 for FLOAT16, BFLOAT16 and FLOAT8, s8 for INT4, s32 for INT16, ...) and shape;
     * symbolic dimensions are DNNL_TP_RUNTIME_DIM_VAL. ndims -1: the file gives no shape. */
    dnnl_tp_tensor_info_t info;
    /** Names of symbolic dimensions; NULL: a known size, or no name. */
    const char *symbols[DNNL_TP_MAX_NDIMS];
    unsigned flags; /**< DNNL_TP_ONNX_*; 0 for outputs */
} dnnl_tp_onnx_port_t;

/** The description of a model in its file. */
typedef struct {
    size_t struct_size;   /**< sizeof(dnnl_tp_onnx_model_info_t), set by the caller */
    int64_t ir_version;   /**< Version of the file format. */
    int64_t opset;        /**< Version of the operators of the domain "". */
    const char *producer; /**< "" = not given; lives as long as the model, like name. */
    const char *name;     /**< Name of the graph. */
    int inputs;           /**< Number of inputs, including those with defaults. */
    int outputs;          /**< Number of outputs. */
    int nodes;            /**< Nodes of the main graph. */
} dnnl_tp_onnx_model_info_t;

/** Size of a symbolic dimension. */
typedef struct {
    const char *name; /**< Its name in the file. */
    int64_t size;     /**< 0 or more */
} dnnl_tp_onnx_dim_t;

/** A fixed value for an input: the graph does not have this input, and its shapes may depend on the
 * value. */
typedef struct {
    const char *name;           /**< An input of the model. */
    dnnl_tp_tensor_info_t info; /**< Shape and graph type. */
    const void *data;           /**< Dense row-major; copied. */
} dnnl_tp_onnx_value_t;

/** Options for making a graph; zeroed members mean defaults. */
typedef struct {
    size_t struct_size;         /**< sizeof(dnnl_tp_onnx_graph_opts_t) */
    dnnl_tp_engine_kind_t kind; /**< Kind of the engines that will run it; 0 = dnnl_tp_cpu. */
    int ndims;                  /**< Number of entries of dims. */
    /** Sizes of symbolic dimensions; all others stay open until compilation. */
    const dnnl_tp_onnx_dim_t *dims;
    /** First dimension of every input that has one; 0 = as in the file. */
    int64_t batch;
    int nvalues;                        /**< Number of entries of values. */
    const dnnl_tp_onnx_value_t *values; /**< Inputs that are fixed. */
    int nfed;                           /**< Number of entries of fed. */
    const char *const *fed;             /**< Inputs with defaults that the graph keeps. */
    int64_t max_nodes;                  /**< Limit of nodes, functions inlined; 0 = 100,000. */
    /** Limit in bytes of the constants that operators of the file make; 0 = 1 GiB. */
    size_t max_bytes;
    /** Out, if not NULL: number in the graph of each input of the model; -1: it is not in the
     * graph. */
    dnnl_tp_value_t *inputs;
    /** Out, if not NULL: number in the graph of each output of the model. */
    dnnl_tp_value_t *outputs;
    /** For each input of the model, NULL = none: sizes of the dimensions that are still open. */
    const dnnl_tp_tensor_info_t *const *shapes;
    /** A graph to share constants with (dnnl_tp_graph_share()); NULL = none. */
    const_dnnl_tp_graph_t share;
} dnnl_tp_onnx_graph_opts_t;

/** Opens a model file. A model that can never run is refused here, not when a graph of it is made.
 * The text names all operators, types and files of external data that prevent it, as far as there
 * is room. Thread-safe.
 *
 * @param[out] model owned by the caller; NULL on failure
 * @param path of a file with a ModelProto
 * @param opts read during the call only; NULL = defaults
 * @return success; invalid_graph (not a model, truncated, nested more than 64 deep, more memory
 *     than max_bytes, a field that is not known, an initializer whose data do not fit its shape or
 *     lie outside of the base folder); unimplemented (IR version above 14 or below 3; an operator,
 *     a version of it, a domain or a type that this build does not serve); runtime_error (the file,
 *     or one of external data, cannot be read); invalid_arguments; out_of_memory. */
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

/** Drops the caller's handle; graphs that borrow the model's weights keep what they need.
 * Thread-safe.
 *
 * @param model NULL or a model
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_onnx_close(dnnl_tp_onnx_model_t model);

/** Gives the description of a model. Thread-safe.
 *
 * @param model a model
 * @param[in,out] info struct_size set by the caller
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_query(const_dnnl_tp_onnx_model_t model,
                                                    dnnl_tp_onnx_model_info_t *info);

/** What a file says about its model beside the graph. Texts live as long as the model; "" = not
 * given. */
typedef struct {
    size_t struct_size;            /**< sizeof(dnnl_tp_onnx_metadata_t), set by the caller */
    const char *domain;            /**< Domain of the model, as "org.example". */
    const char *description;       /**< Text about the model. */
    const char *graph_description; /**< Text about its graph. */
    int has_version;               /**< 1: the file gives the version; 0: version is 0. */
    int64_t version;               /**< Version of the model. */
    int properties;                /**< Number of entries for dnnl_tp_onnx_property(). */
} dnnl_tp_onnx_metadata_t;

/** Gives what a file says about its model. Thread-safe.
 *
 * @param model a model
 * @param[in,out] metadata struct_size set by the caller
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_metadata(const_dnnl_tp_onnx_model_t model,
                                                       dnnl_tp_onnx_metadata_t *metadata);

/** Gives a property that the file gives its model, as class names. Thread-safe.
 *
 * @param model a model
 * @param index 0..properties-1
 * @param[out] key name of the property; lives as long as the model
 * @param[out] value text; lives as long as the model
 * @return success; invalid_arguments (no such property). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_property(const_dnnl_tp_onnx_model_t model, int index,
                                                       const char **key, const char **value);

/** Gives the path of a file of external data that has weights of the model. Thread-safe.
 *
 * The weights stay in these files, which must not change while the model or a graph of it exists.
 *
 * @param model a model
 * @param index 0, 1, ... in any order
 * @param[out] path lives as long as the model; NULL: there is no such file
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_external_file(const_dnnl_tp_onnx_model_t model, int index,
                                                            const char **path);

/** Describes an input. Thread-safe.
 *
 * @param model a model
 * @param index 0..inputs-1
 * @param[out] port the description
 * @return success; invalid_arguments (no such input). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_input(const_dnnl_tp_onnx_model_t model, int index,
                                                    dnnl_tp_onnx_port_t *port);

/** Describes an output. Thread-safe.
 *
 * @param model a model
 * @param index 0..outputs-1
 * @param[out] port the description
 * @return success; invalid_arguments (no such output). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_output(const_dnnl_tp_onnx_model_t model, int index,
                                                     dnnl_tp_onnx_port_t *port);

/** Gives a key of the maps that an output consists of, or a text of labels. In the file, ZipMap
 * makes a sequence of maps of an output, one map for each row; the graph gives their values as a
 * tensor {rows, keys}. Labels of a classifier may be texts; the graph gives their numbers, s64
 * {rows}, which are those of the keys here; for an output of texts that an encoder makes these are
 * the words (dnnl_tp_onnx_word()). Thread-safe.
 *
 * @param model a model
 * @param output 0..outputs-1
 * @param index 0, 1, ...
 * @param[out] number the key, if text is NULL
 * @param[out] text the key, not terminated; lives as long as the model; NULL: the keys are numbers
 * @param[out] bytes length of the text
 * @return success; invalid_arguments (no such key; the output is no sequence of maps and no label that is a
 * text). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_map_key(const_dnnl_tp_onnx_model_t model, int output, int index,
                                                      int64_t *number, const char **text, size_t *bytes);

/** Gives a word of the model. Graphs carry no texts: an input or output of the type STRING has s64
 * elements, the numbers of words. Words are the texts that encoders of the model have (LabelEncoder,
 * OneHotEncoder and CategoryMapper of ai.onnx.ml); for every other text of an input give -1.
 * To translate texts, ask for the words from 0 on until there are no more. Thread-safe.
 *
 * @param model a model
 * @param number 0, 1, ...
 * @param[out] word its text, not terminated; lives as long as the model
 * @param[out] bytes length of the text
 * @return success; invalid_arguments (a NULL argument, or the model has fewer words). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_word(const_dnnl_tp_onnx_model_t model, int64_t number,
                                                   const char **word, size_t *bytes);

/** Makes a graph of a model. Its inputs are those of the model in their order, except fixed inputs
 * and inputs with a default that are not fed. Its outputs are those of the model. Operators whose
 * results sessions may fetch have the names of the tensors in the file. Weights are borrowed from
 * the model. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param model a model
 * @param opts read during the call only; NULL = defaults
 * @return success; unimplemented (an operator or a use of an operator that this build does not
 *     serve); invalid_graph (a cycle, a name that is defined twice or not at all, too many nodes or
 *     constants); invalid_graph_op, invalid_shape, invalid_data_type (a node is wrong);
 *     invalid_arguments (opts: an unknown name, a shape that does not fit); out_of_memory. The text
 *     names the node and its operator. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_graph_create(dnnl_tp_graph_t *graph, dnnl_tp_onnx_model_t model,
                                                           const dnnl_tp_onnx_graph_opts_t *opts);

/** Reads a TensorProto (the .pb files that come with ONNX models) in its graph type. Thread-safe.
 *
 * @param[out] info shape and type
 * @param[out] name of the tensor; room for 256 bytes, or NULL
 * @param[out] buffer room for the elements; NULL: only info is returned
 * @param room size of buffer in bytes
 * @param data bytes of a TensorProto
 * @param size number of bytes
 * @return success; invalid_graph (not a tensor, data that do not fit the shape); unimplemented (a
 *     type that graphs do not carry); invalid_arguments (the buffer is too small); out_of_memory.
 */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_read_tensor(dnnl_tp_tensor_info_t *info, char *name,
                                                          void *buffer, size_t room, const void *data,
                                                          size_t size);

#ifdef __cplusplus
}
#endif

#endif
