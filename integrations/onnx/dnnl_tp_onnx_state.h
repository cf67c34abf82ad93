/** @file
 * States of ONNX models: what a model hands from one run to the next, above all the keys and values
 * of a decoder.
 *
 * A model of this kind has inputs for the past ("past_key_values.0.key") and outputs with what they
 * become ("present.0.key"). A state holds these tensors between runs. Where the model's attention is
 * one of those that doc/howto/generate_text.md names, it keeps them in place, with a capacity of 64,
 * 128, 256, ... rows: a run appends its rows, copies nothing of the past, and compiles again only
 * when the capacity grows. Other models run as they do without a state: the state gives the past and
 * takes the present. Results are the same within rounding. The tensors of all pairs are {..., rows,
 * elements}, or {..., elements, rows} where the model leaves only the last of these two sizes open,
 * with the same number of rows; a run whose outputs have another shape fails
 * (invalid_shape). One state per sequence, or batch of sequences of one length; states of one
 * session may run at the same time and share all that is compiled. */
#ifndef DNNL_TP_ONNX_STATE_H
#define DNNL_TP_ONNX_STATE_H

#include "onnx/dnnl_tp_onnx_session.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dnnl_tp_onnx_state *dnnl_tp_onnx_state_t; /**< What a sequence of runs has behind it. */

/** An input of the model and the output whose tensor it gets in the next run. */
typedef struct {
    const char *past;    /**< name of the input */
    const char *present; /**< name of the output */
} dnnl_tp_onnx_pair_t;

/** Options of a state; zeroed members mean defaults. They are read during creation only. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_onnx_state_opts_t) */
    int64_t capacity;   /**< Rows to make room for at first; 0 = 64. */
    int npairs;         /**< Number of entries of pairs. */
    /** NULL: each input with "past" in its name, and the output of the same name with "present" in
     * place of "past" or of "past_key_values". */
    const dnnl_tp_onnx_pair_t *pairs;
    int by_joins; /**< 1: the past is never left in its place (to compare, or to save memory). */
} dnnl_tp_onnx_state_opts_t;

/** Creates an empty state. Thread-safe.
 *
 * @param[out] state owned by the caller; NULL on failure
 * @param session kept alive by the state
 * @param opts NULL = defaults
 * @return success; invalid_arguments (struct_size, a negative number, a name that is not there, an
 *     input or output in two pairs, or of fewer than two dimensions; a model without pairs);
 *     out_of_memory. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_state_create(dnnl_tp_onnx_state_t *state,
                                                           dnnl_tp_onnx_session_t session,
                                                           const dnnl_tp_onnx_state_opts_t *opts);

/** Runs the model on new rows behind those that the state has, and appends what they give to it. In
 * steady state nothing is allocated where the past stays in place. One thread at a time for each
 * state.
 *
 * @param state a state
 * @param nargs number of the model's inputs
 * @param args in the order of the model's inputs, with the data of all inputs that are given; those
 *     of the pairs are not given (info NULL). Masks are as long as the keys with the new rows
 * @param room gives room for the outputs, as for dnnl_tp_onnx_session_run(); not asked for those of
 *     the pairs
 * @param ctx first argument of room; may be NULL
 * @param opts NULL = defaults
 * @return what dnnl_tp_onnx_session_run() returns. After a failure the state is what it was before. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_state_run(dnnl_tp_onnx_state_t state, int nargs,
                                                        const dnnl_tp_onnx_arg_t *args,
                                                        dnnl_tp_onnx_room_fn_t *room, void *ctx,
                                                        const dnnl_tp_run_opts_t *opts);

/** Forgets all rows but the first ones. Thread-compatible.
 *
 * @param state a state
 * @param length 0..the number of rows that it has
 * @return success; invalid_arguments (more rows than there are). */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_state_truncate(dnnl_tp_onnx_state_t state, int64_t length);

/** Makes each sequence of a batch a copy of one that there is, as beam search does. Thread-compatible.
 *
 * @param state a state that has run
 * @param n size of the new batch
 * @param sequences for each of the new batch, the one of the old batch that it continues
 * @return success; invalid_arguments (a number outside of the batch, no run yet); unimplemented (a
 *     tensor whose first dimension is not the batch); out_of_memory. After a failure the state is
 *     what it was before. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_state_reorder(dnnl_tp_onnx_state_t state, int n,
                                                            const int64_t *sequences);

/** Numbers of a state. */
typedef struct {
    size_t struct_size; /**< sizeof(dnnl_tp_onnx_state_info_t), set by the caller */
    int64_t length;     /**< rows that it has */
    int64_t capacity;   /**< rows that it has room for */
    int64_t batch;      /**< sequences; 0: there was no run yet */
    size_t bytes;       /**< memory of the tensors */
    uint64_t runs;      /**< number of runs */
    uint64_t in_place;  /**< number of runs that left the past in its place */
} dnnl_tp_onnx_state_info_t;

/** Reads the numbers. Thread-compatible.
 *
 * @param state a state
 * @param[in,out] info struct_size set by the caller
 * @return success; invalid_arguments. */
DNNL_TP_CHECKED dnnl_tp_status_t dnnl_tp_onnx_state_query(dnnl_tp_onnx_state_t state,
                                                          dnnl_tp_onnx_state_info_t *info);

/** Frees a state. Thread-safe.
 *
 * @param state NULL or a state that no other thread uses
 * @return success; NULL is accepted. */
DNNL_TP_API dnnl_tp_status_t dnnl_tp_onnx_state_destroy(dnnl_tp_onnx_state_t state);

#ifdef __cplusplus
}
#endif

#endif
