/** @file
 * Graphs as files: a text that people read and edit, and drawings in the language of Graphviz.
 *
 * A graph that misbehaves can be written, sent, cut down by hand and run again (benchdnn --graph). The text
 * is described in doc/graph_files.md. */
#ifndef DNNL_TP_GRAPH_FILE_H
#define DNNL_TP_GRAPH_FILE_H

#include "dnnl_tp/dnnl_tp_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DNNL_TP_GRAPH_TEXT 0 /**< The text form: dnnl_tp_graph_read() reads it. */
#define DNNL_TP_GRAPH_DOT 1  /**< A drawing for Graphviz; regions are clusters. */
/** Added to DNNL_TP_GRAPH_TEXT: large floating-point constants are replaced by random numbers of the same
 * shape and range, so that the file can be passed on without the weights. */
#define DNNL_TP_GRAPH_NO_WEIGHTS 0x100

/** Writes a graph to a file. The file is complete or unchanged: it is written beside its place and then
 * renamed. Constants of up to 64 elements stand in the text; larger ones go to a second file, path.data,
 * unless all their elements are equal or NO_WEIGHTS says otherwise. Thread-safe.
 *
 * @param graph the whole graph, compiled or not; every region of it was taken by an operator
 * @param path name of the file
 * @param format DNNL_TP_GRAPH_TEXT, with or without DNNL_TP_GRAPH_NO_WEIGHTS, or DNNL_TP_GRAPH_DOT
 * @return success; invalid_arguments (a region's handle, the format, a file that cannot be created);
 *     invalid_graph (a region that no operator took); runtime_error (writing failed); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_write(const_dnnl_tp_graph_t graph, const char *path,
                                                     int format);

/** A host closure, as a resolver gives it. */
typedef struct {
    dnnl_tp_host_fn_t fn;    /**< What the operator calls. */
    void *arg;               /**< Passed to fn and drop. */
    void (*drop)(void *arg); /**< As in dnnl_tp_graph_host(); NULL allowed. */
} dnnl_tp_graph_closure_t;

/** Finds the host closure of an operator. arg: as in the options; name: of the operator; nin, nout: its
 * inputs and results; closure: to fill in. Another status than success ends the reading with it. */
typedef dnnl_tp_status_t (*dnnl_tp_graph_resolve_t)(void *arg, const char *name, int nin, int nout,
                                                    dnnl_tp_graph_closure_t *closure);

/** Options of reading; zeroed members mean defaults. */
typedef struct {
    size_t struct_size;              /**< sizeof(dnnl_tp_graph_read_opts_t) */
    dnnl_tp_graph_resolve_t resolve; /**< Host closures; NULL = a graph with one is refused. */
    void *resolve_arg;               /**< Passed to resolve. */
    size_t max_constant_bytes;       /**< Most memory for constants; 0 = 16 GiB. */
} dnnl_tp_graph_read_opts_t;

/** Reads a graph from a file in text form. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param path name of the file; files with data of constants lie beside it
 * @return success; invalid_arguments (the file cannot be opened); invalid_graph (the text is wrong: file,
 * line and column stand in the error's text; a host closure; too many constants); what the building calls
 *     return, with the place in the file; runtime_error (reading failed); out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_read(dnnl_tp_graph_t *graph, const char *path);

/** The same with options. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param path name of the file
 * @param opts read during the call only; NULL = defaults
 * @return as dnnl_tp_graph_read(); what the resolver returned; invalid_arguments (struct_size). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_read_v2(dnnl_tp_graph_t *graph, const char *path,
                                                       const dnnl_tp_graph_read_opts_t *opts);

/** Reads a graph from memory. Constants in other files are refused. Thread-safe.
 *
 * @param[out] graph owned by the caller; NULL on failure
 * @param text the file's content, of any bytes, not terminated
 * @param size of text in bytes
 * @param opts read during the call only; NULL = defaults
 * @return as dnnl_tp_graph_read_v2(). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_read_text(dnnl_tp_graph_t *graph, const char *text,
                                                         size_t size, const dnnl_tp_graph_read_opts_t *opts);

/** Tells how many inputs and outputs a graph has. Thread-safe.
 *
 * @param graph a graph
 * @param[out] num_inputs inputs; NULL = not asked
 * @param[out] num_outputs outputs; NULL = not asked
 * @return success; invalid_arguments (no graph). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_get_counts(const_dnnl_tp_graph_t graph, int *num_inputs,
                                                          int *num_outputs);

/** Gives an input of a graph. Thread-safe.
 *
 * @param graph a graph
 * @param index in order of creation
 * @param[out] value its number
 * @param[out] name lives as long as the graph, "" if it has none; NULL = not asked
 * @return success; invalid_arguments (no such input). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_get_input(const_dnnl_tp_graph_t graph, int index,
                                                         dnnl_tp_value_t *value, const char **name);

/** Gives an output of a graph. Thread-safe.
 *
 * @param graph a graph
 * @param index in order of creation
 * @param[out] value its number
 * @param[out] name lives as long as the graph, "" if it has none; NULL = not asked
 * @return success; invalid_arguments (no such output). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_graph_get_output(const_dnnl_tp_graph_t graph, int index,
                                                          dnnl_tp_value_t *value, const char **name);

#ifdef __cplusplus
}
#endif

#endif
