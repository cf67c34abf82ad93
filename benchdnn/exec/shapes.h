/* Graphs as numbers of nodes and edges, for exec_bench and pool/virtual_cores. They are the same
 * for all users: random choices come from their own generator. */
#ifndef BENCHDNN_EXEC_SHAPES_H
#define BENCHDNN_EXEC_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    int n, nedges, room;
    int (*edge)[2]; /* before, after; before < after */
    int32_t *ns;    /* of each node; NULL: the same for all, given by the row */
} eb_graph_t;

typedef struct {
    const char *name;
    void (*make)(eb_graph_t *, int a, int b, int k);
    int a, b, k;
    int tiny_a, tiny_b; /* sizes for --check */
} eb_shape_t;
extern const eb_shape_t eb_shapes[];
extern const int eb_nshapes;
void eb_graph_make(eb_graph_t *, const eb_shape_t *, bool tiny);
/* A shape of other sizes than those of the table. */
void eb_graph_make_sized(eb_graph_t *, const eb_shape_t *, int a, int b, int k);
void eb_graph_free(eb_graph_t *);
/* Share of the work that lies on the longest path. */
double eb_graph_critical(const eb_graph_t *);

#ifdef __cplusplus
}
#endif
#endif
