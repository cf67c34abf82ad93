/** @file
 * Graphs as files: text that people read and edit, and drawings for Graphviz.
 *
 * A program can write a graph that misbehaves; its author can send the file, shorten it by hand and
 * run it again (benchdnn --graph). doc/graph_files.md describes the text. */
#ifndef DNNL_TP_GRAPH_FILE_H
#define DNNL_TP_GRAPH_FILE_H

#include "dnnl_tp/dnnl_tp_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DNNL_TP_GRAPH_TEXT 0 /**< The text form: dnnl_tp_graph_read() reads it. */
#define DNNL_TP_GRAPH_DOT 1  /**< A drawing for Graphviz; regions are clusters. */
/** Added to DNNL_TP_GRAPH_TEXT: random numbers of the same shape and range replace large
 * floating-point constants, so that the file does not disclose the weights. */
#define DNNL_TP_GRAPH_NO_WEIGHTS 0x100

/** Writes a graph to a file. The file is complete or unchanged: the call writes a temporary file in
 * the same folder and then renames it. The text contains constants of up to 64 elements, and larger
 * ones whose elements are all equal or that DNNL_TP_GRAPH_NO_WEIGHTS replaces; a second file,
 * path.data, contains all others. Thread-safe.
 *
 * @param graph the whole graph, compiled or not; operators have taken all its regions
 * @param path name of the file
 * @param format DNNL_TP_GRAPH_TEXT, with or without DNNL_TP_GRAPH_NO_WEIGHTS, or DNNL_TP_GRAPH_DOT
 * @return success; invalid_arguments (a region's handle, the format, a file that cannot be
 *     created); invalid_graph (a region that no operator took); runtime_error (writing failed);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_write(const_dnnl_tp_graph_t graph, const char *path,
                                                     int format);

/** A host closure that a resolver returns. */
typedef struct {
    /** The function that the operator calls. */
    dnnl_tp_host_fn_t fn;
    /** Passed to fn and drop. */
    void *arg;
    /** As in dnnl_tp_graph_host(); NULL allowed. */
    void (*drop)(void *arg);
} dnnl_tp_graph_closure_t;

/** Finds the host closure of an operator. arg: resolve_arg of the options; name: name of the
 * operator; nin, nout: numbers of its inputs and results; closure: written by the function. If the
 * function returns a status other than success, reading the graph ends with that status. */
typedef dnnl_tp_status_t (*dnnl_tp_graph_resolve_t)(void *arg, const char *name, int nin, int nout,
                                                    dnnl_tp_graph_closure_t *closure);

/** Options of reading; zeroed members mean defaults. */
typedef struct {
    /** sizeof(dnnl_tp_graph_read_opts_t) */
    size_t struct_size;
    /** Finds host closures; NULL = graphs with host closures are refused. */
    dnnl_tp_graph_resolve_t resolve;
    /** Passed to resolve. */
    void *resolve_arg;
    /** Limit of the memory for constants in bytes; 0 = 16 GiB. */
    size_t max_constant_bytes;
} dnnl_tp_graph_read_opts_t;

/** Reads a graph from a file in text form. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param path name of the file; files with data of constants are in the same folder
 * @return success; invalid_arguments (the file cannot be opened); invalid_graph (the text is wrong:
 *     the error text gives file, line and column; a host closure; too much memory for constants);
 *     the errors of the building calls, with the place in the file; runtime_error (reading failed);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_read(dnnl_tp_graph_t *graph, const char *path);

/** Like dnnl_tp_graph_read(), with options. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param path name of the file
 * @param opts read during the call only; NULL = defaults
 * @return as dnnl_tp_graph_read(); the status that the resolver returned; invalid_arguments
 *     (struct_size). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_read_v2(dnnl_tp_graph_t *graph, const char *path,
                                                       const dnnl_tp_graph_read_opts_t *opts);

/** Reads a graph from memory. Constants in other files are refused. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param text content of the file: any bytes, without a terminator
 * @param size of text in bytes
 * @param opts read during the call only; NULL = defaults
 * @return as dnnl_tp_graph_read_v2(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_read_text(dnnl_tp_graph_t *graph, const char *text,
                                                         size_t size,
                                                         const dnnl_tp_graph_read_opts_t *opts);

/** Gives the numbers of inputs and outputs of a graph. Thread-safe.
 *
 * @param graph a graph
 * @param[out] num_inputs number of inputs; may be NULL
 * @param[out] num_outputs number of outputs; may be NULL
 * @return success; invalid_arguments (not a graph). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_get_counts(const_dnnl_tp_graph_t graph,
                                                          int *num_inputs, int *num_outputs);

/** Gives an input of a graph. Thread-safe.
 *
 * @param graph a graph
 * @param index its position in order of creation
 * @param[out] value its number
 * @param[out] name valid as long as the graph, "" if it has no name; may be NULL
 * @return success; invalid_arguments (no such input). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_get_input(const_dnnl_tp_graph_t graph, int index,
                                                         dnnl_tp_value_t *value, const char **name);

/** Gives an output of a graph. Thread-safe.
 *
 * @param graph a graph
 * @param index its position in order of creation
 * @param[out] value its number
 * @param[out] name valid as long as the graph, "" if it has no name; may be NULL
 * @return success; invalid_arguments (no such output). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_get_output(const_dnnl_tp_graph_t graph, int index,
                                                          dnnl_tp_value_t *value,
                                                          const char **name);

#ifdef __cplusplus
}
#endif

#endif
