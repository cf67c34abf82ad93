/* What the parts of the random programs of dataflow_program.h share: dataflow_program_generate.c (statements and
 * their interpreter), dataflow_program_lower.c (calls of the dataflow builder), dataflow_program.c (runs). A value is 8
 * bytes in the data of the instance of its region; a loop variable and an argument of a function are pointers
 * there, as in the product's lowering. */
#ifndef TESTS_SUPPORT_DATAFLOW_PROGRAM_PARTS_H
#define TESTS_SUPPORT_DATAFLOW_PROGRAM_PARTS_H

#include "support/dataflow_program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "threading/base/sleeper.h"

enum { MAX_IN = 4, MAX_VARS = 6, MAX_OUT = 3, FUNCTIONS = 2, FRAMES = 4096, MAX_DEPTH = 64, LATER = 256 };
typedef enum { OP_HASH, OP_COPY, OP_BOOL, OP_DEC, OP_MOD, OP_TICK } op_t;
typedef enum { ST_OP, ST_IF, ST_WHILE, ST_CALL } st_t;

struct block;
typedef struct {
    st_t type;
    op_t op;
    uint32_t salt;
    bool effect;
    int nin, in[MAX_VARS]; /* OP: operands; IF, WHILE without variables: in[0] = predicate, cell */
    int nout, out[MAX_VARS];
    int npar, par[MAX_VARS]; /* WHILE */
    int window, function;
    struct block *a, *b; /* IF: false, true; WHILE: condition, body */
} stmt_t;
typedef struct block {
    stmt_t *st;
    int n, room;
    int nouts, outs[MAX_VARS]; /* WHILE's condition: outs[0] = test */
} block_t;

typedef struct { /* what exec finds under an index */
    op_t op;
    uint32_t salt;
    bool counted, effect, to_pointer, may_pend;
    int nin;
    dtp_dataflow_ref_t in[MAX_VARS];
    int64_t out; /* offset in the own instance */
    /* WHILE (exit, enter) and CALL (enter): */
    int nvars;
    int64_t var_at, body_out[MAX_VARS], outs[MAX_VARS];
} rec_t;

typedef struct {
    int region;
    int64_t at;
    bool indirect;
    int32_t token;
} where_t;

typedef struct {
    int region_block, npar, par[MAX_VARS], out;
    block_t *body;
    int first_value, end_value; /* of its body */
    int region, block;
    int64_t bytes, par_at, ret_at;
} function_t;

typedef struct frame {
    char *memory, *data;
    dtp_dataflow_instance_t *instance;
} frame_t;

typedef struct { /* an operator that is complete later */
    uint64_t task, *out, value;
    int64_t until_ns; /* not before, unless it is recalled */
} later_t;

struct dataflow_program {
    dataflow_program_opts_t opts;
    uint64_t rng;
    int nv, budget;
    uint32_t salt;
    block_t *root;
    function_t fn[FUNCTIONS];
    int nfn;
    /* Interpreter. */
    uint64_t *v;
    uint64_t want_sum, want_chain;
    int64_t want_ops, ifs, iterations, calls;
    /* Lowering. */
    dtp_dataflow_builder_t *b;
    dtp_arena_t arena;
    const dtp_dataflow_plan_t *plan;
    rec_t *rec;
    int nrec, rec_room;
    where_t *loc;
    int64_t *want_at; /* per value: forced place + 1 */
    int nregions;
    int region_up[4096];
    int64_t region_bytes[4096], last_bytes[4096];
    /* Run. */
    void *state_memory;
    char *data;
    dtp_dataflow_state_t *state;
    dtp_dataflow_result_t result;
    struct {
        _Alignas(128) uint64_t sum;
        int64_t ops;
    } part[DTP_MAX_THREADS];
    uint64_t chain;
    _Atomic int64_t countdown;
    bool fire_cancel;
    _Atomic uint32_t cancel;
    _Atomic int wide_inside;
    _Atomic int slots_inside[DTP_MAX_THREADS];
    _Atomic(const char *) complaint;
    _Atomic uint32_t free_lock;
    frame_t *frames[FUNCTIONS][FRAMES];
    int nfree[FUNCTIONS], nmade;
    frame_t made[FRAMES];
    dtp_share_t share;
    dtp_sleeper_t sleeper;
    /* dataflow_program_later.c; under the lock. */
    pthread_t completer;
    pthread_mutex_t later_lock;
    pthread_cond_t later_more;
    later_t later[LATER];
    int nlater;
    bool later_ends, fails;
    _Atomic bool recalled;
};

_Noreturn void dataflow_program_die(const char *what);
void *dataflow_program_make(size_t n); /* zeroed */
int dataflow_program_rnd(dataflow_program_t *p, int n);
uint64_t dataflow_program_mix(uint64_t h);
uint64_t dataflow_program_eval(op_t op, uint32_t salt, const uint64_t *in, int nin, int spin);

/* dataflow_program_generate.c: the statements from opts, then what they must compute. */
void dataflow_program_generate(dataflow_program_t *p);
void dataflow_program_free_blocks(dataflow_program_t *p);
/* dataflow_program_lower.c: p->b from the statements. */
void dataflow_program_lower(dataflow_program_t *p);
/* dataflow_program_later.c. True: somebody writes value to out and returns the node, or has done so. */
bool dataflow_program_later(dataflow_program_t *p, uint64_t task, uint64_t *out, uint64_t value,
                            uint32_t salt);
void dataflow_program_recall(void *p);
void dataflow_program_later_begin(dataflow_program_t *p);
void dataflow_program_later_end(dataflow_program_t *p);

#endif
