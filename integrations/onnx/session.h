/* What session.c, turns.c and parts.c share. */
#ifndef DTP_ONNX_SESSION_INTERNAL_H
#define DTP_ONNX_SESSION_INTERNAL_H

#include "onnx/dnnl_tp_onnx_session.h"
#include "onnx/part.h"

#include <pthread.h>
#include <unistd.h>

/* Which shapes a graph serves: all; those for which its guards hold; one set of them. */
typedef enum { DTP_GRAPH_OPEN, DTP_GRAPH_GUARDED, DTP_GRAPH_EXACT } dtp_kind_t;

typedef struct model_graph {
    struct model_graph *next;
    int users;
    dnnl_tp_graph_t graph;
    dnnl_tp_value_t *inputs, *outputs; /* numbers in the graph, by port of the model; behind the graph */
    const uint8_t *head;               /* of the keys that it serves */
    size_t head_bytes;
    dtp_part_t part; /* of the model, if the graph is one; its memory ends with the graph */
    dtp_kind_t kind;
    dtp_sizes_t sizes; /* with guards, of a graph that has them */
} model_graph_t;

struct dnnl_tp_onnx_call {
    struct dnnl_tp_onnx_call *next;
    atomic_int users;
    dnnl_tp_onnx_session_t session;
    model_graph_t *graph;
    dnnl_tp_executable_t exe;
    uint8_t *key;
    size_t key_bytes;
};
typedef struct dnnl_tp_onnx_call call_t;

/* A stream and what one run needs beside it. */
typedef struct seat {
    struct seat *next;
    dnnl_tp_stream_t stream;
    void *in[]; /* one by input of the model */
} seat_t;

/* A thread that makes a call, or a model for a state; on its stack. */
typedef struct dtp_turn {
    struct dtp_turn *next;
    const void *list, *key; /* where it will be kept, as a name only, and its key there */
    size_t key_bytes;
    int64_t deadline_ns; /* of the run, or 0 */
    pthread_t thread;
    bool is_alone; /* it waits for nobody */
    bool is_late;  /* the deadline passed during a wait: the run ends */
} dtp_turn_t;

struct dnnl_tp_onnx_session {
    atomic_int users; /* the handle and the calls */
    dnnl_tp_onnx_model_t model;
    dnnl_tp_engine_t engine; /* kept alive by the streams */
    dnnl_tp_onnx_session_opts_t opts;
    dnnl_tp_stream_attr_t attr;
    int nin, nout;
    dnnl_tp_graph_t weights;
    pthread_mutex_t lock;
    seat_t *seats; /* that no run uses now */
    model_graph_t *graphs;
    call_t *calls;
    dtp_kind_t kind; /* of the graphs that are tried first; they become more special, never less */
    bool in_parts;
    struct dtp_grown *grown; /* of states (state.h) */
    dtp_turn_t *turns;       /* of threads of `process` */
    pid_t process;
    bool has_made; /* some turn was a success */
    uint64_t turns_ended, turns_failed;
    pthread_cond_t turn_ended;
    dnnl_tp_onnx_session_stats_t stats;
};
typedef struct dnnl_tp_onnx_session session_t;

/* What the inputs are, checked against the model. The memory ends with the request. */
typedef struct {
    dtp_import_memory_t memory;
    const dnnl_tp_onnx_arg_t *args;
    dnnl_tp_onnx_port_t *ports;
    uint8_t *key; /* the head, then the shapes of the other inputs */
    size_t head_bytes, key_bytes, room;
    bool is_part; /* the graph may end before a node that needs what only a run knows */
    int ngiven;   /* tensors that earlier parts made */
    dtp_given_t *given;
    int64_t deadline_ns; /* of the run, or 0 */
} request_t;

static inline int64_t dtp_deadline_of(const dnnl_tp_run_opts_t *o) {
    return o && o->struct_size > offsetof(dnnl_tp_run_opts_t, deadline_ns) ? o->deadline_ns : 0;
}

/* Memory of the library's allocator, zeroed. */
void *dtp_session_alloc(size_t size);
void dtp_session_free(void *p);
/* Ends a use of the session: the handle's, a call's, a state's. */
void dtp_session_unref(session_t *s);
dnnl_tp_status_t dtp_session_take_seat(session_t *s, seat_t **seat);
void dtp_session_give_seat(session_t *s, seat_t *seat);
/* The call for a request, found or made. The caller owns a use of it. */
dnnl_tp_status_t dtp_session_call(session_t *s, request_t *r, call_t **call);

/* Options of an import for the session, with room for values, fed names, and numbers of inputs and
 * outputs; without shapes. */
dnnl_tp_onnx_graph_opts_t dtp_session_graph_opts(const session_t *s, dnnl_tp_onnx_value_t *values,
                                                 const char **fed, dnnl_tp_value_t *inputs,
                                                 dnnl_tp_value_t *outputs);
/* Compiles a graph of the session for the shapes of its n inputs. */
dnnl_tp_status_t dtp_session_compile(const session_t *s, const_dnnl_tp_graph_t graph, int n,
                                     const dnnl_tp_tensor_info_t *shapes, dnnl_tp_executable_t *exe);

/* ---- turns.c ------------------------------------------------------------------------------------- */

dnnl_tp_status_t dtp_turns_init(session_t *s);
/* Called under the lock by a thread that did not find what it wants. true: it may be there now; if
 * not, the thread calls again. false: it is this thread's turn, until dtp_turn_end(), which comes
 * after the moment when others find what was made; or it is late, and has no turn. */
bool dtp_turn_wait(session_t *s, dtp_turn_t *mine);
dnnl_tp_status_t dtp_turn_late(void);
void dtp_turn_end(session_t *s, const dtp_turn_t *mine, bool failed);

/* ---- guards.c ----------------------------------------------------------------------------------------------- */

/* The shapes of a request by input; NULL: no memory. */
const dnnl_tp_tensor_info_t **dtp_session_shapes(const session_t *s, request_t *r);
/* Whether all guards hold for a request. */
bool dtp_session_holds(const session_t *s, request_t *r, const dtp_sizes_t *sizes);
/* Whether the outputs of an executable have the sizes that their expressions say. */
bool dtp_session_is_as_expected(const session_t *s, request_t *r, const call_t *c);

#endif
