/* The graph as its user builds it: values, operators, constants; and the constants that its executables
 * share.
 *
 * Built by one thread; frozen by the first compilation; from then on only the cache of derived constants
 * changes, under its own lock. Executables retain their graph. Compilation works on a copy: see ir.h. */
#ifndef DTP_EXEC_GRAPH_H
#define DTP_EXEC_GRAPH_H

#include "common/object.h"
#include "exec/arena.h"
#include "exec/op.h"
#include "threading/futex.h"

typedef struct {
    dnnl_tp_tensor_info_t info;
    const char *name; /* of inputs and constants; "" otherwise */
    int node;         /* producer, -1 = input or constant */
    int input;        /* number of the graph's input, -1 */
    const void *data; /* constants */
    void *owned;      /* copy that the graph frees */
    void (*drop)(void *);
    void *drop_arg;
} dtp_gvalue_t;

typedef struct {
    const dtp_op_row_t *row; /* NULL: host closure */
    const char *name;
    dtp_op_attrs_t attrs;
    int nin, nout;
    const int32_t *in; /* -1 = absent */
    int32_t out;       /* the first; the others follow */
    dnnl_tp_host_fn_t fn;
    void *arg;
    void (*drop)(void *);
} dtp_gnode_t;

/* A constant made from constants of the graph. */
typedef struct dtp_derived {
    struct dtp_derived *next;
    int64_t id; /* identity: part of the keys of what is made from it */
    const void *data;
    size_t key_size;
    uint8_t key[];
} dtp_derived_t;

enum { DTP_DERIVED_BUCKETS = 64 };

struct dnnl_tp_graph {
    dtp_object_t obj;
    dnnl_tp_engine_kind_t kind;
    dtp_arena_t arena;
    dtp_gvalue_t *values;
    dtp_gnode_t *nodes;
    int32_t *inputs, *outputs; /* values */
    int nvalues, nnodes, ninputs, noutputs;
    int cap_values, cap_nodes, cap_inputs, cap_outputs;
    _Atomic int frozen;

    /* Derived constants: written under lock, live as long as the graph. */
    dtp_lock_t lock;
    dtp_arena_t derived_arena; /* keys */
    dtp_derived_t *derived[DTP_DERIVED_BUCKETS];
    int64_t next_id;
    struct dtp_blob {
        struct dtp_blob *next;
    } * blobs; /* data */
};
typedef struct dnnl_tp_graph dtp_graph_t;

/* Both with the lock held. find: NULL when it was not made yet. add: data belongs to the graph from now on.
 */
const dtp_derived_t *dtp_derived_find(const dtp_graph_t *graph, const void *key, size_t size);
const dtp_derived_t *dtp_derived_add(dtp_graph_t *graph, const void *key, size_t size, const void *data);
/* Uninitialised room for data of derived constants, 64-byte aligned, freed with the graph; with the lock
 * held. */
void *dtp_derived_room(dtp_graph_t *graph, size_t bytes);

#endif
