/* Random structured programs: the same program as a graph and as a tree that a plain interpreter walks.
 *
 * Values are f32 {2, 2} with small integers, so results are exact; predicates and counters are scalars of all
 * legal types. Host closures add a hash of (operator, inputs) to a sum: it must be that of the interpreter,
 * so an operator that runs once too often, or does not run, is seen as well as a wrong value. */
#ifndef DTP_TESTS_PROGRAM_H
#define DTP_TESTS_PROGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "dnnl_tp/dnnl_tp_graph.h"

enum { PROGRAM_INPUTS = 3, PROGRAM_ELEMS = 4, PROGRAM_MAX_OUTPUTS = 6 };

typedef struct {
    int size;        /* operators, roughly */
    int depth;       /* of nested regions */
    int window;      /* of loops: 1..window */
    int functions;   /* how many */
    int primitives;  /* share of operators that are primitives, in percent */
    int spin;        /* host closures waste up to so many rounds and yield now and then */
    int no_closures; /* 1: predicates, counters and all else are graph operators, and the hash stays 0 */
} program_opts_t;

typedef struct program program_t;
program_t *program_create(uint64_t seed, const program_opts_t *opts);
void program_destroy(program_t *program);
dnnl_tp_graph_t program_graph(program_t *program); /* borrowed */
int program_outputs(const program_t *program);
/* Adds up what host closures of all runs do; set to 0 before a run. */
_Atomic uint64_t *program_hash(program_t *program);
/* Walks the tree; returns the hash of one run. */
uint64_t program_interpret(program_t *program, float (*in)[PROGRAM_ELEMS], float (*out)[PROGRAM_ELEMS]);

#endif
