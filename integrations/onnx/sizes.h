/* Expressions of the sizes that a model leaves open, and guards.
 *
 * A graph is made while looking at real sizes. Each size is an expression of symbols (one for each
 * open dimension of an input) together with its value in that call, the hint. A converter that
 * needs a number takes the hint and leaves a guard: a condition on expressions under which the graph
 * is valid. A session asks the guards of the graphs that it has before it imports again.
 *
 * Expressions are in a normal form: sums of integers times products of atoms, where an atom is a
 * symbol, a quotient rounded down, a minimum or a maximum. Equal expressions have equal numbers in
 * their table, so two sizes are proven equal if their numbers are. A symbol is never below 2: a size
 * of 0 or 1 is a number with a guard of its own, because 1 stretches and 0 makes products vanish.
 *
 * What grows beyond the limits, or overflows, is DTP_NO_SIZE; so is what is computed from that. */
#ifndef DTP_ONNX_SIZES_H
#define DTP_ONNX_SIZES_H

#include "common/import_memory.h"
#include "dnnl_tp/dnnl_tp_graph.h"

#include <stdbool.h>

/* The number of an expression in its table. */
typedef int32_t dtp_size_t;
enum { DTP_NO_SIZE = -1 };

typedef enum { DTP_SIZE_SYMBOL, DTP_SIZE_QUOTIENT, DTP_SIZE_LEAST, DTP_SIZE_MOST } dtp_atom_kind_t;
typedef struct {
    dtp_atom_kind_t kind;
    /* Of a symbol the input of the model and its dimension, of others the operands. */
    int32_t a, b;
    /* Lower bound. */
    int64_t hint, least;
} dtp_atom_t;

enum { DTP_SIZE_DEGREE = 4, DTP_SIZE_TERMS = 16 };
/* factor times the product of atoms, whose numbers do not decrease. */
typedef struct {
    int64_t factor;
    int32_t natoms, atom[DTP_SIZE_DEGREE];
} dtp_term_t;
typedef struct {
    int nterms;
    const dtp_term_t *terms; /* of different products, in their order */
    int64_t hint, least;     /* INT64_MIN: no lower bound is known */
} dtp_sum_t;

/* A = B, A is not B, A <= B, B divides A. */
typedef enum { DTP_SIZE_EQUAL, DTP_SIZE_DIFFERS, DTP_SIZE_AT_MOST, DTP_SIZE_DIVIDED } dtp_relation_t;
typedef struct {
    dtp_relation_t relation;
    dtp_size_t a, b;
    const char *node; /* what left it; lives as long as the table */
} dtp_guard_t;

typedef struct {
    dtp_import_memory_t memory;
    int natoms, nsums, nguards, cap_atoms, cap_sums, cap_guards;
    dtp_atom_t *atoms;
    dtp_sum_t *sums;
    dtp_guard_t *guards;
    /* Of the outputs of the graph, one behind the other. */
    int nresults, cap_results;
    dtp_size_t *results;
    /* Numbers of floating point that come from sizes are known, with guards; else a run has them. */
    bool knows_floats;
    /* Memory was refused. */
    bool lacks_memory;
} dtp_sizes_t;

void dtp_sizes_init(dtp_sizes_t *s);
void dtp_sizes_free(dtp_sizes_t *s);

dtp_size_t dtp_size_number(dtp_sizes_t *s, int64_t value);
/* The size of a dimension of an input; with a guard of 0, 1 or the rest. */
dtp_size_t dtp_size_symbol(dtp_sizes_t *s, int input, int dim, int64_t hint, const char *node);
dtp_size_t dtp_size_add(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b);
dtp_size_t dtp_size_subtract(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b);
dtp_size_t dtp_size_multiply(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b);
/* a / b if that is proven to be an integer, whatever the symbols; else DTP_NO_SIZE. */
dtp_size_t dtp_size_exact(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b);
/* a / b, rounded down; b must be proven to be positive. */
dtp_size_t dtp_size_divide(dtp_sizes_t *s, dtp_size_t a, dtp_size_t b);
/* DTP_SIZE_LEAST, DTP_SIZE_MOST */
dtp_size_t dtp_size_bound(dtp_sizes_t *s, dtp_atom_kind_t kind, dtp_size_t a, dtp_size_t b);

/* An atom alone. */
dtp_size_t dtp_size_of_atom(dtp_sizes_t *s, int atom);
static inline int64_t dtp_size_hint(const dtp_sizes_t *s, dtp_size_t a) {
    return a < 0 ? INT64_MIN : s->sums[a].hint;
}
/* Whether it is the same number for all symbols: its hint. */
bool dtp_size_is_number(const dtp_sizes_t *s, dtp_size_t a);
/* Whether the relation holds: 1 or 0, proven, or by the hints and with a guard; -1: a guard cannot
 * say it, or memory lacks. */
int dtp_size_is(dtp_sizes_t *s, dtp_size_t a, dtp_relation_t relation, dtp_size_t b, const char *node);

/* Values of all atoms for the shapes of a call, by input; the caller's room has natoms entries.
 * False: one of them overflows. */
bool dtp_sizes_bind(const dtp_sizes_t *s, const dnnl_tp_tensor_info_t *const *shapes, int64_t *values);
/* False: it overflows. */
bool dtp_size_value(const dtp_sizes_t *s, dtp_size_t a, const int64_t *values, int64_t *value);
/* The first guard that does not hold; -1: all hold. */
int dtp_sizes_check(const dtp_sizes_t *s, const int64_t *values);
/* "2*x.0 + 3"; names: of the inputs. At most `room` bytes. */
void dtp_size_text(const dtp_sizes_t *s, dtp_size_t a, const char *const *names, char *text, size_t room);

#endif
