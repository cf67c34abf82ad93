/* What state.c and grown.c share: models that are compiled for a capacity of the past. */
#ifndef DTP_ONNX_STATE_INTERNAL_H
#define DTP_ONNX_STATE_INTERNAL_H

#include "onnx/dnnl_tp_onnx_state.h"
#include "onnx/growing.h"
#include "onnx/session.h"

/* Rows of the past in the import that the real one is compared with: the least number that a run in place has. So a
 * condition on the number that holds at both ends holds between them, unless it is one that comes and goes. */
enum { DTP_LEAST_PAST = 1 };

/* What an input is in a run that leaves the past in its place. */
typedef enum {
    DTP_ROLE_ABSENT,
    DTP_ROLE_PLAIN,
    DTP_ROLE_VALUE, /* its elements determine shapes or branches */
    DTP_ROLE_ONES,  /* a mask that shows all keys: the capacity and the new rows long */
    DTP_ROLE_TOTAL, /* the number of keys */
    DTP_ROLE_PAST
} dtp_role_t;

typedef struct {
    uint8_t role; /* dtp_role_t */
    dnnl_tp_tensor_info_t info;
    int axis; /* of a PAST: that of the rows */
    /* Dimensions, as bits, that are the number of keys. */
    unsigned totals;
    const void *data; /* of a VALUE */
} dtp_grown_input_t;

enum { DTP_WHY = 256 };
/* A model compiled for a capacity, for inputs of given shapes; kept by the session. */
typedef struct dtp_grown {
    struct dtp_grown *next;
    int users; /* runs, and the list; under the lock of the session */
    uint8_t *key;
    size_t key_bytes;
    dnnl_tp_graph_t graph;
    dnnl_tp_executable_t exe; /* NULL: the model does not fit */
    char why[DTP_WHY];        /* it does not */
    int64_t capacity, rows;
    int64_t most; /* keys that a run may have; 0: any number */
    /* Numbers in the graph by port of the model, and results by output. */
    dnnl_tp_value_t *inputs, *outputs;
    dnnl_tp_tensor_info_t *results;
} dtp_grown_t;

/* What a run asks for. */
typedef struct {
    int npairs;
    const dtp_pair_t *pairs;
    int64_t capacity, rows;
    dtp_grown_input_t *inputs; /* of the model */
    uint8_t *key;
    size_t key_bytes;
    int64_t deadline_ns; /* of the run, or 0 */
} dtp_grown_request_t;

/* The tensor of a pair. */
typedef struct {
    dnnl_tp_tensor_info_t info; /* of the model, with the number of rows; no type: there was no run yet */
    int axis;                   /* of the rows */
    int64_t outer;
    size_t row;    /* bytes */
    char *data;    /* outer * capacity rows, also where the model has columns */
    char *columns; /* the same for the model, during a run that takes the past */
    char *rows;    /* new ones, of a run in place */
} kept_t;

struct dnnl_tp_onnx_state {
    session_t *session;
    int npairs;
    dtp_pair_t *pairs;
    kept_t *kept;
    int *pair_of; /* 1 + the pair, of inputs and then of outputs; 0: none */
    int64_t batch, length, capacity, least_capacity;
    size_t rows_bytes; /* room for new rows, of all pairs */
    char *rows_room;
    dtp_grown_t *grown; /* that the last run had; the state is a user */
    /* Of a run. */
    dtp_grown_input_t *inputs;
    dnnl_tp_onnx_port_t *ports;
    dnnl_tp_onnx_arg_t *args;
    uint8_t *key;
    size_t key_room;
    int32_t *lengths;
    void **in, **out;
    dnnl_tp_onnx_room_fn_t *room;
    void *room_ctx;
    kept_t *made;
    uint64_t runs, in_place;
    bool by_joins;
};
typedef struct dnnl_tp_onnx_state state_t;

/* ---- roles.c ---------------------------------------------------------------------------------------------- */

/* The number of new rows that the inputs of a run have. */
int64_t dtp_state_rows(const state_t *st);
/* What each input is in a run in place; false: it cannot be one. */
bool dtp_state_roles(state_t *st, int64_t rows);

/* ---- grown.c ---------------------------------------------------------------------------------------------- */

/* Finds or makes it; (*grown)->exe is NULL if the model has to run without. The caller is a user. */
dnnl_tp_status_t dtp_grown_get(session_t *s, const dtp_grown_request_t *r, dtp_grown_t **grown);
void dtp_grown_release(session_t *s, dtp_grown_t *grown);
/* At the end of the session. */
void dtp_grown_free_all(session_t *s);

#endif
