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
} dtp_grown_request_t;

/* Finds or makes it; (*grown)->exe is NULL if the model has to run without. The caller is a user. */
dnnl_tp_status_t dtp_grown_get(session_t *s, const dtp_grown_request_t *r, dtp_grown_t **grown);
void dtp_grown_release(session_t *s, dtp_grown_t *grown);
/* At the end of the session. */
void dtp_grown_free_all(session_t *s);

#endif
