/* The plan, which the builder writes and the engine reads; private to this folder. State machine:
 * dataflow.h. */
#ifndef DTP_EXEC_DATAFLOW_PLAN_H
#define DTP_EXEC_DATAFLOW_PLAN_H

#include "exec/dataflow/dataflow.h"
#include "threading/base/atomics.h"

#define DTP_DATAFLOW_NONE UINT32_MAX

/* A task is one word: the address of the instance / 128 in the upper bits, the node in the lower
 * ones. */
enum { DTP_DATAFLOW_NODE_BITS = 23, DTP_DATAFLOW_MAX_NODES = 1 << 22 };
#define DTP_DATAFLOW_NODE_MASK (((uint64_t)1 << DTP_DATAFLOW_NODE_BITS) - 1)
static inline uint64_t dtp_dataflow_tag(const dtp_dataflow_instance_t *instance) {
    return (uint64_t)(uintptr_t)instance / DTP_NO_SHARE << DTP_DATAFLOW_NODE_BITS;
}
static inline dtp_dataflow_instance_t *dtp_dataflow_instance_of(uint64_t word) {
    return (dtp_dataflow_instance_t *)(uintptr_t)((word >> DTP_DATAFLOW_NODE_BITS) * DTP_NO_SHARE);
}
#define DTP_DATAFLOW_ADDRESS_LIMIT ((uint64_t)DTP_NO_SHARE << (64 - DTP_DATAFLOW_NODE_BITS))

enum { DTP_FK_OP, DTP_FK_PAD, DTP_FK_IF, DTP_FK_TEST, DTP_FK_WHILE, DTP_FK_EXIT, DTP_FK_CALL };
/* Bits of a node: kind, flags of the builder, flags that the engine adds. */
#define DTP_FN_KIND(bits) ((bits)&15)
#define DTP_FN_FLAGS 4
#define DTP_FN_COSTLY (DTP_DATAFLOW_COSTLY << DTP_FN_FLAGS)
#define DTP_FN_WIDE (DTP_DATAFLOW_WIDE << DTP_FN_FLAGS)
#define DTP_FN_SPLITS (DTP_DATAFLOW_SPLITS << DTP_FN_FLAGS)
#define DTP_FN_MAY_BLOCK (DTP_DATAFLOW_MAY_BLOCK << DTP_FN_FLAGS)
#define DTP_FN_MAY_PEND ((DTP_DATAFLOW_MAY_BLOCK | DTP_DATAFLOW_MAY_PEND) << DTP_FN_FLAGS)
/* Only outside of the root: states have copies of the root's nodes, in which COSTLY is learned. */
#define DTP_FN_UNKNOWN (DTP_DATAFLOW_UNKNOWN << DTP_FN_FLAGS)
#define DTP_FN_NEXT (1u << 14)  /* its edges begin with NEXT edges */
#define DTP_FN_WORTH (1u << 15) /* the work that depends on it is worth giving it away */
/* The inner loop cannot execute nodes with one of these bits. */
#define DTP_FN_SLOW (14u | DTP_FN_COSTLY | DTP_FN_UNKNOWN | DTP_FN_MAY_PEND | DTP_FN_NEXT)
_Static_assert(DTP_FK_OP == 0 && DTP_FK_PAD == 1, "kinds of the inner loop");

/* Out-edges: edges[edge .. next node's edge): if DTP_FN_NEXT, the number of NEXT edges and their
 * variables; then edges to other blocks, then edges to its own block, the most critical one last.
 */
typedef struct {
    uint32_t edge;
    uint32_t index; /* the caller's; for IF, TEST, WHILE, CALL: into their table */
    uint32_t bits;
    uint32_t sink; /* block whose completion it counts in, or DTP_DATAFLOW_NONE */
} dtp_dataflow_node_t;

/* An edge to a node with one predecessor needs no counter. */
#define DTP_DATAFLOW_DIRECT 0x80000000u

typedef struct {
    /* The counters [first, first + counted) are set when the block is entered. */
    uint32_t first, counted;
    uint32_t done; /* initial completion counter */
    uint32_t up;   /* block around; DTP_DATAFLOW_NONE: the instance */
    uint32_t end;  /* node to arrive at instead, or DTP_DATAFLOW_NONE */
    /* Entry tokens, in edges[], in the form of edges (DIRECT if the node waits for nothing else).
     */
    uint32_t entry, n_entry;
} dtp_dataflow_control_block_t;

typedef struct {
    dtp_dataflow_ref_t pred;
    uint32_t block[2]; /* TEST: [1] = body, [0] unused */
} dtp_dataflow_choice_t;

typedef struct {
    const dtp_dataflow_region_t *region;
    uint32_t window, index;
    size_t ring_at; /* from the instance around */
    int64_t data_offset, data_stride;
} dtp_dataflow_ring_t;

typedef struct {
    const dtp_dataflow_region_t *region;
    uint32_t index;
} dtp_dataflow_callee_t;

typedef enum {
    DTP_DATAFLOW_IS_ROOT,
    DTP_DATAFLOW_IS_LOOP,
    DTP_DATAFLOW_IS_FUNCTION
} dtp_dataflow_region_kind_t;

struct dtp_dataflow_region {
    const dtp_dataflow_node_t *nodes; /* n_nodes + 1 */
    const uint32_t *edges;
    const uint8_t *init;                        /* counters */
    const dtp_dataflow_control_block_t *blocks; /* [0]: the instance's own (condition of a While) */
    const dtp_dataflow_choice_t *choices;
    const dtp_dataflow_ring_t *rings;
    const dtp_dataflow_callee_t *callees;
    const uint32_t *var_edge; /* n_vars + 1: edges of the variables */
    const uint32_t *at_end;   /* variables delivered at the end of the iteration */
    uint32_t n_nodes, n_edges, n_blocks, n_rings, n_vars, n_at_end;
    uint32_t test, exit; /* nodes of a While */
    dtp_dataflow_region_kind_t kind;
    dtp_dataflow_block_t block;               /* of the builder */
    size_t done_at, count_at, link_at, bytes; /* of an instance; bytes with the rings in it */
    double ns; /* of one instance, with the more expensive branch of Ifs and guesses for Whiles */
};

struct dtp_dataflow_plan {
    const dtp_dataflow_region_t *regions; /* [0] = root */
    uint32_t n_regions;
    double mean_ns; /* of the root's nodes */
    bool learns, may_pend;
    uint32_t n_index;      /* nodes that are executed have the indices 0 .. n_index - 1 */
    const uint32_t *order; /* if it learns: the root's nodes, earlier ones first */
};

static inline DTP_ATOMIC(uint8_t) *
    dtp_dataflow_count(const dtp_dataflow_region_t *r, dtp_dataflow_instance_t *instance) {
    return (DTP_ATOMIC(uint8_t) *)((char *)instance + r->count_at);
}
static inline DTP_ATOMIC(uint32_t) *
    dtp_dataflow_done(const dtp_dataflow_region_t *r, dtp_dataflow_instance_t *instance) {
    return (DTP_ATOMIC(uint32_t) *)(void *)((char *)instance + r->done_at);
}
/* Whether the region has one block, so that arrivals may be joint (dataflow.h). */
static inline bool dtp_dataflow_is_flat(const dtp_dataflow_region_t *r) { return r->n_blocks == 1; }
/* The next word of an overflow list; each node has one. */
static inline uint64_t *dtp_dataflow_link(uint64_t word) {
    dtp_dataflow_instance_t *instance = dtp_dataflow_instance_of(word);
    return (uint64_t *)(void *)((char *)instance + instance->region->link_at) +
           (word & DTP_DATAFLOW_NODE_MASK);
}

#endif
