/* The dataflow builder; private to build.c, order.c, pads.c and emit.c.
 *
 * A program is a list of tokens (events that happen once in each instance of their block) and
 * dependencies between them. dtp_dataflow_build: order.c checks, lifts and reduces the dependencies
 * and ranks the tokens; pads.c adds landing pads; emit.c numbers the nodes and writes the plan. */
#ifndef DTP_EXEC_DATAFLOW_BUILD_BUILD_H
#define DTP_EXEC_DATAFLOW_BUILD_BUILD_H

#include "exec/dataflow/plan.h"

typedef enum {
    DTP_FT_NODE,
    DTP_FT_IF,
    DTP_FT_WHILE,
    DTP_FT_CALL,
    DTP_FT_TEST,
    DTP_FT_VAR,
    DTP_FT_OUT, /* output of an If: happens with a or b */
    DTP_FT_END, /* of an If: a PAD */
    DTP_FT_PAD  /* join or landing pad */
} dtp_ftok_kind_t;

typedef struct {
    uint8_t kind;
    bool entry;     /* gets the entry token of its branch */
    uint16_t flags; /* of the caller */
    int32_t block;
    uint32_t index;
    /* OUT: sources; IF, END: a = record, b = END of the IF or -1; TEST, WHILE: a = record; VAR: a =
     * record, b = number; CALL: a = block of the function. */
    int32_t a, b;
    /* The block that sets its counter. */
    int32_t armed;
    uint32_t pending;
    double ns, rank; /* rank: cost of the longest path from its start to the end of the region */
} dtp_ftok_t;

typedef enum { DTP_FB_ROOT, DTP_FB_BRANCH, DTP_FB_COND, DTP_FB_BODY, DTP_FB_FUNCTION } dtp_fblk_kind_t;
typedef struct {
    uint8_t kind;
    int32_t up;     /* block around, in the same region: BRANCH, BODY (its condition); else -1 */
    int32_t owner;  /* token that enters it: IF, TEST; WHILE for COND; -1: none */
    int32_t region; /* number of the region */
    int32_t depth;  /* number of branches around it in the region */
    uint32_t local; /* number in its region */
} dtp_fblk_t;

typedef struct {
    dtp_dataflow_ref_t pred;
    int32_t branch[2], token;
} dtp_fif_t;
typedef struct {
    dtp_dataflow_loop_t loop;
    int32_t cond, body, token, first_var, nvars; /* with the dummy */
} dtp_floop_t;
typedef struct {
    int32_t later, earlier;
} dtp_fdep_t;
typedef struct {
    int32_t loop, var, token;
} dtp_fnext_t;

typedef struct {
    dtp_fdep_t *pair;
    int n, room;
} dtp_fpairs_t;

typedef struct {
    int32_t *at, *to; /* to[at[i] .. at[i + 1]) */
} dtp_fcsr_t;

struct dtp_dataflow_builder {
    dtp_arena_t arena, scratch; /* scratch: of one pass of dtp_dataflow_build */
    dnnl_tp_status_t status;
    unsigned flags;
    bool may_pend; /* a node may be pending */
    dtp_ftok_t *tok;
    dtp_fblk_t *blk;
    dtp_fif_t *ifs;
    dtp_floop_t *loops;
    dtp_fdep_t *dep;
    dtp_fnext_t *next;
    int ntok, nblk, nifs, nloops, ndep, nnext, nregions;
    int tok_room, blk_room, if_room, loop_room, dep_room, next_room;
};
typedef struct dtp_dataflow_builder dtp_fb_t;

int32_t dtp_fb_token(dtp_fb_t *b, dtp_ftok_kind_t kind, int32_t block);
void dtp_fb_dep(dtp_fb_t *b, int32_t later, int32_t earlier);
/* Memory of the scratch arena: alloc zeroes it, take does not. */
void *dtp_fb_alloc(dtp_fb_t *b, size_t count, size_t size);
void *dtp_fb_take(dtp_fb_t *b, size_t count, size_t size);
/* Whether there are no Ifs and loops, so that dependencies are the edges. */
static inline bool dtp_fb_is_flat(const dtp_fb_t *b) { return b->nifs == 0 && b->nloops == 0; }
/* Lists by[i] = of[i] for all i, grouped: at has n + 1 entries. */
bool dtp_fb_csr(dtp_fb_t *b, dtp_fcsr_t *csr, int n, const dtp_fdep_t *pair, int npairs, bool by_later);
/* Appends a pair, in the scratch arena. */
void dtp_fb_pair(dtp_fb_t *b, dtp_fpairs_t *pairs, int32_t later, int32_t earlier);

dnnl_tp_status_t dtp_dataflow_order(dtp_fb_t *b);

dnnl_tp_status_t dtp_dataflow_pads(dtp_fb_t *b);
dnnl_tp_status_t dtp_dataflow_emit(dtp_fb_t *b, dtp_arena_t *arena, const dtp_dataflow_plan_t **plan);

#endif
