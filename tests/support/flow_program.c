/* See flow_program.h. A value is 8 bytes in the data of the slab of its region; a loop variable and an
 * argument of a function are pointers there, as in the product's lowering. */
#include "support/flow_program.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_IN = 4, MAX_VARS = 6, MAX_OUT = 3, FUNCTIONS = 2, FRAMES = 4096, MAX_DEPTH = 64 };
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
    bool counted, effect, to_pointer;
    int nin;
    dtp_flow_ref_t in[MAX_VARS];
    int64_t out; /* offset in the own slab */
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
    dtp_flow_slab_t *slab;
} frame_t;

struct flow_program {
    flow_program_opts_t opts;
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
    dtp_flow_builder_t *b;
    dtp_arena_t arena;
    const dtp_flow_plan_t *plan;
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
    dtp_flow_state_t *state;
    dtp_flow_result_t result;
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
};

static void die(const char *what) {
    fprintf(stderr, "flow_program: %s: %s\n", what, dnnl_tp_last_error());
    abort();
}
static void *make(size_t n) {
    void *p = calloc(1, n ? n : 1);
    if (!p) die("no memory");
    return p;
}
static uint64_t mix(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 29;
    return h;
}
static int rnd(flow_program_t *p, int n) {
    p->rng = p->rng * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((p->rng >> 33) % (unsigned)n);
}

/* ---- Generator ------------------------------------------------------------------------------------------
 */

typedef struct {
    int v[4096];
    int n;
} visible_t;

static stmt_t *add(block_t *b, stmt_t s) {
    if (b->n == b->room) {
        b->room = b->room ? 2 * b->room : 8;
        b->st = realloc(b->st, sizeof *b->st * (size_t)b->room);
        if (!b->st) die("no memory");
    }
    b->st[b->n] = s;
    return &b->st[b->n++];
}
static int add_op(flow_program_t *p, block_t *b, op_t op, int nin, const int *in) {
    stmt_t s = {.type = ST_OP, .op = op, .nin = nin, .nout = 1, .salt = ++p->salt};
    memcpy(s.in, in, sizeof *in * (size_t)nin);
    s.effect = op == OP_HASH && p->opts.effects && rnd(p, 4) == 0;
    s.out[0] = p->nv++;
    add(b, s);
    return s.out[0];
}
static void see(visible_t *av, int v) {
    if (av->n < 4096) av->v[av->n++] = v;
}
static int pick(flow_program_t *p, const visible_t *av) {
    int recent = av->n < 5 ? av->n : 5;
    return rnd(p, 2) ? av->v[rnd(p, av->n)] : av->v[av->n - 1 - rnd(p, recent)];
}
/* A value made in the block if there is one and chance says so, else any. */
static int pick_made(flow_program_t *p, const block_t *b, const visible_t *av) {
    if (rnd(p, 4)) {
        for (int tries = 0; tries < 4 && b->n; ++tries) {
            const stmt_t *s = &b->st[rnd(p, b->n)];
            if (s->nout && !(s->type == ST_OP && (s->op == OP_TICK || s->op == OP_MOD)))
                return s->out[rnd(p, s->nout)];
        }
    }
    return pick(p, av);
}

static void fill(flow_program_t *p, block_t *b, visible_t *av, int depth, int n);

static block_t *new_block(void) { return make(sizeof(block_t)); }

static void gen_if(flow_program_t *p, block_t *b, visible_t *av, int depth) {
    int x = pick(p, av);
    stmt_t s = {.type = ST_IF, .nin = 1};
    s.in[0] = rnd(p, 3) ? add_op(p, b, OP_BOOL, 1, &x) : x;
    s.nout = rnd(p, MAX_OUT + 1);
    block_t **side[2] = {&s.a, &s.b};
    for (int i = 0; i < 2; ++i) {
        *side[i] = new_block();
        visible_t *inner = make(sizeof *inner);
        *inner = *av;
        if (rnd(p, 4)) fill(p, *side[i], inner, depth - 1, rnd(p, 6));
        for (int k = 0; k < s.nout; ++k) (*side[i])->outs[k] = pick_made(p, *side[i], inner);
        (*side[i])->nouts = s.nout;
        free(inner);
    }
    for (int k = 0; k < s.nout; ++k) {
        s.out[k] = p->nv++;
        see(av, s.out[k]);
    }
    add(b, s);
}

static void gen_while(flow_program_t *p, block_t *b, visible_t *av, int depth) {
    stmt_t s = {.type = ST_WHILE, .a = new_block(), .b = new_block()};
    int x = pick(p, av), count = add_op(p, b, OP_MOD, 1, &x);
    s.window = p->opts.window ? p->opts.window : 1 + rnd(p, 4);
    s.npar = s.nout = rnd(p, 6) ? 1 + rnd(p, MAX_VARS - 1) : 0;
    s.nin = s.npar;
    visible_t *inner = make(sizeof *inner);
    *inner = *av;
    for (int i = 0; i < s.npar; ++i) {
        s.in[i] = i ? pick(p, av) : count;
        s.par[i] = p->nv++;
        for (int k = 0; k < 3; ++k) see(inner, s.par[i]); /* likely operands */
    }
    visible_t *body = make(sizeof *body);
    *body = *inner;
    fill(p, s.a, inner, depth > 1 ? 1 : 0, rnd(p, 3));
    if (s.npar) {
        if (rnd(p, 5) == 0) s.a->outs[0] = s.par[0]; /* the test is the variable itself: its low byte */
        else s.a->outs[0] = add_op(p, s.a, OP_COPY, 1, &s.par[0]);
        if (rnd(p, 2)) *body = *inner; /* the body may read the condition's values */
    } else {
        s.nin = 1;
        s.in[0] = count;
        s.a->outs[0] = add_op(p, s.a, OP_TICK, 1, &count);
    }
    s.a->nouts = 1;
    if (rnd(p, 5)) fill(p, s.b, body, depth - 1, 1 + rnd(p, 5));
    for (int i = 0; i < s.npar; ++i)
        s.b->outs[i] = i == 0      ? add_op(p, s.b, OP_DEC, 1, &s.par[0])
                       : rnd(p, 4) ? pick_made(p, s.b, body)
                                   : s.par[1 + rnd(p, s.npar - 1)]; /* variables that rotate */
    s.b->nouts = s.npar;
    free(inner);
    free(body);
    for (int i = 0; i < s.nout; ++i) {
        s.out[i] = p->nv++;
        see(av, s.out[i]);
    }
    add(b, s);
}

static void gen_call(flow_program_t *p, block_t *b, visible_t *av) {
    stmt_t s = {.type = ST_CALL, .function = rnd(p, p->nfn), .nout = 1};
    int x = pick(p, av);
    s.nin = p->fn[s.function].npar;
    s.in[0] = add_op(p, b, OP_MOD, 1, &x);
    for (int i = 1; i < s.nin; ++i) s.in[i] = pick(p, av);
    s.out[0] = p->nv++;
    see(av, s.out[0]);
    add(b, s);
}

static void fill(flow_program_t *p, block_t *b, visible_t *av, int depth, int n) {
    for (int i = 0; i < n && p->budget > 0; ++i) {
        --p->budget;
        int k = rnd(p, 12);
        if (!av->n || k < 8 || depth <= 0) {
            int in[MAX_IN], nin = av->n ? rnd(p, MAX_IN + 1) : 0;
            for (int j = 0; j < nin; ++j) in[j] = pick(p, av);
            see(av, add_op(p, b, OP_HASH, nin, in));
        } else if (k < 10) gen_if(p, b, av, depth);
        else if (k < 11 || !p->nfn) gen_while(p, b, av, depth);
        else gen_call(p, b, av);
    }
}

/* f(n, x...) = if n: ... f(n - 1, ...) ... else something. */
static void gen_functions(flow_program_t *p) {
    for (int f = 0; f < FUNCTIONS; ++f) {
        function_t *fn = &p->fn[f];
        visible_t *av = make(sizeof *av);
        fn->first_value = p->nv;
        fn->body = new_block();
        fn->npar = 1 + rnd(p, 3);
        for (int i = 0; i < fn->npar; ++i) {
            fn->par[i] = p->nv++;
            see(av, fn->par[i]);
        }
        int keep = p->budget;
        p->budget = 12;
        fill(p, fn->body, av, 1, 1 + rnd(p, 4));
        stmt_t s = {
            .type = ST_IF, .nin = 1, .in = {fn->par[0]}, .nout = 1, .a = new_block(), .b = new_block()};
        visible_t *inner = make(sizeof *inner);
        *inner = *av;
        fill(p, s.a, inner, 1, rnd(p, 3));
        s.a->outs[0] = pick_made(p, s.a, inner);
        s.a->nouts = s.b->nouts = 1;
        *inner = *av;
        fill(p, s.b, inner, 1, rnd(p, 3));
        int calls = 1 + rnd(p, 2), got[2] = {0, 0};
        for (int c = 0; c < calls; ++c) {
            stmt_t call = {.type = ST_CALL, .function = f, .nin = fn->npar, .nout = 1};
            call.in[0] = add_op(p, s.b, OP_DEC, 1, &fn->par[0]);
            for (int i = 1; i < fn->npar; ++i) call.in[i] = pick(p, inner);
            call.out[0] = got[c] = p->nv++;
            add(s.b, call);
        }
        s.b->outs[0] = rnd(p, 2) ? add_op(p, s.b, OP_HASH, calls, got) : got[0];
        s.out[0] = fn->out = p->nv++;
        add(fn->body, s);
        free(inner);
        free(av);
        p->budget = keep;
        fn->end_value = p->nv;
        ++p->nfn;
    }
}

/* ---- Interpreter ----------------------------------------------------------------------------------------
 */

static uint64_t eval(op_t op, uint32_t salt, const uint64_t *in, int nin, int spin) {
    uint64_t h = salt * 0x9e3779b97f4a7c15ull + 12345;
    switch (op) {
    case OP_COPY: return in[0];
    case OP_BOOL: return in[0] & 1;
    case OP_DEC: return in[0] - 1;
    case OP_MOD: return in[0] % 5;
    default: break;
    }
    for (int i = 0; i < nin; ++i) h = mix(h + in[i] * 31);
    for (int i = 0; i < spin; ++i) h = mix(h);
    return h;
}

static void interpret(flow_program_t *p, const block_t *b) {
    uint64_t *v = p->v;
    for (int k = 0; k < b->n; ++k) {
        const stmt_t *s = &b->st[k];
        if (s->type == ST_OP) {
            uint64_t in[MAX_VARS], r;
            for (int i = 0; i < s->nin; ++i) in[i] = v[s->in[i]];
            if (s->op == OP_TICK) r = v[s->in[0]] > 0, v[s->in[0]] -= r;
            else r = eval(s->op, s->salt, in, s->nin, p->opts.spin);
            v[s->out[0]] = r;
            p->want_sum += mix(r + s->salt);
            ++p->want_ops;
            if (s->effect) p->want_chain = mix(p->want_chain + r);
        } else if (s->type == ST_IF) {
            const block_t *side = (uint8_t)v[s->in[0]] ? s->b : s->a;
            ++p->ifs;
            interpret(p, side);
            for (int i = 0; i < s->nout; ++i) v[s->out[i]] = v[side->outs[i]];
        } else if (s->type == ST_WHILE) {
            for (int i = 0; i < s->npar; ++i) v[s->par[i]] = v[s->in[i]];
            for (;;) {
                interpret(p, s->a);
                if (!(uint8_t)v[s->a->outs[0]]) break;
                ++p->iterations;
                interpret(p, s->b);
                uint64_t next[MAX_VARS];
                for (int i = 0; i < s->npar; ++i) next[i] = v[s->b->outs[i]];
                for (int i = 0; i < s->npar; ++i) v[s->par[i]] = next[i];
            }
            for (int i = 0; i < s->nout; ++i) v[s->out[i]] = v[s->par[i]];
        } else {
            const function_t *f = &p->fn[s->function];
            size_t bytes = sizeof *v * (size_t)(f->end_value - f->first_value);
            uint64_t in[MAX_VARS], *keep = make(bytes), r;
            ++p->calls;
            for (int i = 0; i < s->nin; ++i) in[i] = v[s->in[i]];
            memcpy(keep, v + f->first_value, bytes);
            for (int i = 0; i < s->nin; ++i) v[f->par[i]] = in[i];
            interpret(p, f->body);
            r = v[f->out];
            memcpy(v + f->first_value, keep, bytes);
            free(keep);
            v[s->out[0]] = r;
        }
    }
}

/* ---- Lowering -------------------------------------------------------------------------------------------
 */

static int new_rec(flow_program_t *p, rec_t r) {
    if (p->nrec == p->rec_room) {
        p->rec_room = p->rec_room ? 2 * p->rec_room : 64;
        p->rec = realloc(p->rec, sizeof *p->rec * (size_t)p->rec_room);
        if (!p->rec) die("no memory");
    }
    p->rec[p->nrec] = r;
    return p->nrec++;
}
static int new_region(flow_program_t *p, int up, int64_t reserved) {
    if (p->nregions == 4096) die("too many regions");
    p->region_up[p->nregions] = up;
    p->region_bytes[p->nregions] = reserved;
    return p->nregions++;
}
static int64_t room_in(flow_program_t *p, int region, int64_t bytes) {
    int64_t at = p->region_bytes[region];
    p->region_bytes[region] += bytes;
    return at;
}
static dtp_flow_ref_t ref_to(const flow_program_t *p, int region, int v) {
    dtp_flow_ref_t r = {.indirect = p->loc[v].indirect, .offset = p->loc[v].at};
    while (region != p->loc[v].region) {
        region = p->region_up[region];
        ++r.level;
    }
    return r;
}
static void place(flow_program_t *p, int v, int region, int32_t token) {
    int64_t at = p->want_at[v] ? p->want_at[v] - 1 : room_in(p, region, 8);
    p->loc[v] = (where_t){.region = region, .at = at, .token = token};
}

/* Is v made by a statement of b itself, and not yet somebody else's output? Then it can be made at its
 * destination. */
static bool made_here(const flow_program_t *p, const block_t *b, int v) {
    if (p->want_at[v]) return false;
    for (int k = 0; k < b->n; ++k)
        for (int i = 0; i < b->st[k].nout; ++i)
            if (b->st[k].out[i] == v) return true;
    return false;
}

static void lower(flow_program_t *p, const block_t *b, int block, int region);

/* An output of block b at its place `at`: the token. */
static int32_t output(flow_program_t *p, const block_t *b, int block, int region, int v, int64_t at) {
    bool here = false;
    for (int k = 0; k < b->n && !here; ++k)
        for (int i = 0; i < b->st[k].nout; ++i) here |= b->st[k].out[i] == v;
    if (here && p->loc[v].at == at && p->loc[v].region == region) return p->loc[v].token;
    rec_t r = {.op = OP_COPY, .nin = 1, .in = {ref_to(p, region, v)}, .out = at};
    int32_t t = dtp_flow_node(p->b, block, (uint32_t)new_rec(p, r), 0, p->opts.ns);
    dtp_flow_after(p->b, t, p->loc[v].token);
    return t;
}

static unsigned random_flags(flow_program_t *p) {
    unsigned flags = 0;
    int x = rnd(p, 100);
    if (x < p->opts.costly) flags = DTP_FLOW_COSTLY;
    else if (x < 2 * p->opts.costly) flags = DTP_FLOW_WIDE;
    return flags;
}

static void lower_if(flow_program_t *p, const stmt_t *s, int block, int region) {
    dtp_flow_ref_t pred = ref_to(p, region, s->in[0]);
    dtp_flow_if_t f = dtp_flow_if(p->b, block, &pred);
    dtp_flow_after(p->b, f.token, p->loc[s->in[0]].token);
    const block_t *side[2] = {s->a, s->b};
    int32_t token[2][MAX_OUT];
    for (int i = 0; i < s->nout; ++i) place(p, s->out[i], region, -1);
    for (int k = 0; k < 2; ++k) {
        bool direct = rnd(p, 3) != 0;
        for (int i = 0; i < s->nout && direct; ++i)
            if (made_here(p, side[k], side[k]->outs[i]))
                p->want_at[side[k]->outs[i]] = p->loc[s->out[i]].at + 1;
        lower(p, side[k], f.branch[k], region);
        for (int i = 0; i < s->nout; ++i)
            token[k][i] = output(p, side[k], f.branch[k], region, side[k]->outs[i], p->loc[s->out[i]].at);
    }
    bool whole = rnd(p, 5) == 0; /* consumers wait for all of the If */
    for (int i = 0; i < s->nout; ++i)
        p->loc[s->out[i]].token = whole ? f.token : dtp_flow_if_out(p->b, f.token, token[0][i], token[1][i]);
}

static void lower_while(flow_program_t *p, const stmt_t *s, int block, int region) {
    int inner = new_region(p, region, 0);
    rec_t r = {.nvars = s->npar};
    r.var_at = room_in(p, inner, 8 * MAX_VARS);
    for (int i = 0; i < s->npar; ++i) r.body_out[i] = room_in(p, inner, 8);
    for (int i = 0; i < s->npar; ++i) r.in[i] = ref_to(p, region, s->in[i]);
    for (int i = 0; i < s->nout; ++i) {
        place(p, s->out[i], region, -1);
        r.outs[i] = p->loc[s->out[i]].at;
    }
    uint32_t index = (uint32_t)new_rec(p, r);
    dtp_flow_loop_t l = {.nvars = s->npar, .window = s->window, .index = index, .exit_index = index};
    if (s->npar == 0 && rnd(p, 2)) l.exit_index = DTP_FLOW_NO_INDEX;
    l.exit_flags = random_flags(p);
    /* Where the test lies is known only after the condition: fixed places for it. */
    int test = s->a->outs[0];
    bool own = false;
    for (int k = 0; k < s->a->n; ++k) own |= s->a->st[k].nout && s->a->st[k].out[0] == test;
    dtp_flow_ref_t ref = {0};
    for (int i = 0; i < s->npar; ++i)
        p->loc[s->par[i]] = (where_t){.region = inner, .at = r.var_at + 8 * i, .indirect = true};
    if (own) {
        p->want_at[test] = room_in(p, inner, 8) + 1;
        ref.offset = p->want_at[test] - 1;
    } else {
        ref = ref_to(p, inner, test);
    }
    l.test = ref;
    l.data_stride = p->last_bytes[inner]; /* of the pass before; see flow_program_create */
    l.data_offset = room_in(p, region, l.data_stride * (s->window + 1));
    dtp_flow_while_t w = dtp_flow_while(p->b, block, &l);
    for (int i = 0; i < s->nin; ++i) dtp_flow_after(p->b, w.token, p->loc[s->in[i]].token);
    for (int i = 0; i < s->npar; ++i) p->loc[s->par[i]].token = w.first_var + i;
    lower(p, s->a, w.cond, inner);
    dtp_flow_after(p->b, w.test, p->loc[test].token);
    for (int i = 0; i < s->npar; ++i)
        if (made_here(p, s->b, s->b->outs[i])) p->want_at[s->b->outs[i]] = r.body_out[i] + 1;
    lower(p, s->b, w.body, inner);
    for (int i = 0; i < s->npar; ++i)
        dtp_flow_next(p->b, w.token, i, output(p, s->b, w.body, inner, s->b->outs[i], r.body_out[i]));
    for (int i = 0; i < s->nout; ++i) p->loc[s->out[i]].token = w.token;
}

static void lower(flow_program_t *p, const block_t *b, int block, int region) {
    for (int k = 0; k < b->n; ++k) {
        const stmt_t *s = &b->st[k];
        if (s->type == ST_IF) lower_if(p, s, block, region);
        else if (s->type == ST_WHILE) lower_while(p, s, block, region);
        else if (s->type == ST_OP) {
            rec_t r = {.op = s->op, .salt = s->salt, .counted = true, .effect = s->effect, .nin = s->nin};
            for (int i = 0; i < s->nin; ++i) r.in[i] = ref_to(p, region, s->in[i]);
            place(p, s->out[0], region, -1);
            r.out = p->loc[s->out[0]].at;
            unsigned flags = random_flags(p) | (s->effect ? DTP_FLOW_SIDE_EFFECT : 0);
            int32_t t = dtp_flow_node(p->b, block, (uint32_t)new_rec(p, r), flags, p->opts.ns);
            for (int i = 0; i < s->nin; ++i) dtp_flow_after(p->b, t, p->loc[s->in[i]].token);
            p->loc[s->out[0]].token = t;
        } else {
            rec_t r = {.nin = s->nin};
            const function_t *f = &p->fn[s->function];
            for (int i = 0; i < s->nin; ++i) r.in[i] = ref_to(p, region, s->in[i]);
            place(p, s->out[0], region, -1);
            r.out = p->loc[s->out[0]].at;
            r.var_at = f->par_at;
            int32_t t = dtp_flow_call(p->b, block, f->block, (uint32_t)new_rec(p, r));
            for (int i = 0; i < s->nin; ++i) dtp_flow_after(p->b, t, p->loc[s->in[i]].token);
            p->loc[s->out[0]].token = t;
        }
    }
}

/* Parameters come with a node without work. */
static void lower_function(flow_program_t *p, function_t *f) {
    f->region = new_region(p, -1, 0);
    f->par_at = room_in(p, f->region, 8 * (MAX_VARS + 1));
    f->ret_at = f->par_at + 8 * MAX_VARS;
}
static void lower_function_body(flow_program_t *p, function_t *f) {
    int32_t start = dtp_flow_node(p->b, f->block, 0, DTP_FLOW_NOP, 0);
    for (int i = 0; i < f->npar; ++i)
        p->loc[f->par[i]] =
            (where_t){.region = f->region, .at = f->par_at + 8 * i, .indirect = true, .token = start};
    lower(p, f->body, f->block, f->region);
    rec_t r = {
        .op = OP_COPY, .nin = 1, .in = {ref_to(p, f->region, f->out)}, .out = f->ret_at, .to_pointer = true};
    int32_t t = dtp_flow_node(p->b, f->block, (uint32_t)new_rec(p, r), 0, p->opts.ns);
    dtp_flow_after(p->b, t, p->loc[f->out].token);
    f->bytes = p->region_bytes[f->region];
}

/* ---- Run ------------------------------------------------------------------------------------------------
 */

static uint64_t *address(const dtp_flow_slab_t *slab, const dtp_flow_ref_t *r) {
    for (int i = 0; i < r->level; ++i) slab = slab->up;
    char *at = slab->data + r->offset;
    return r->indirect ? *(uint64_t **)(void *)at : (uint64_t *)(void *)at;
}

static void complain(flow_program_t *p, const char *what) {
    const char *none = NULL;
    atomic_compare_exchange_strong(&p->complaint, &none, what);
}

static void touch(void *arg, int slot, int64_t begin, int64_t end) {
    (void)slot;
    atomic_fetch_add_explicit((_Atomic int64_t *)arg, end - begin, memory_order_relaxed);
}

static dnnl_tp_status_t exec(void *ctx, dtp_flow_slab_t *slab, uint32_t index,
                             const dtp_flow_where_t *where) {
    flow_program_t *p = ctx;
    const rec_t *r = &p->rec[index];
    if (atomic_fetch_add_explicit(&p->slots_inside[where->slot], 1, memory_order_relaxed))
        complain(p, "two threads have one slot");
    if (where->whole) {
        if (atomic_fetch_add(&p->wide_inside, 1)) complain(p, "two wide nodes have the whole pool");
        _Atomic int64_t n = 0;
        dtp_parallel_for(where->par, 64, -4000, touch, &n);
        if (n != 64) complain(p, "a loop inside a wide node was not complete");
        atomic_fetch_sub(&p->wide_inside, 1);
    }
    dnnl_tp_status_t status = dnnl_tp_success;
    if (p->countdown > 0 && atomic_fetch_sub(&p->countdown, 1) == 1) {
        if (p->fire_cancel) atomic_store(&p->cancel, 1);
        else status = dnnl_tp_runtime_error;
    }
    if (r->nvars) { /* EXIT */
        for (int i = 0; i < r->nvars; ++i) {
            dtp_flow_ref_t var = {.indirect = true, .offset = r->var_at + 8 * i};
            *(uint64_t *)(void *)(slab->up->data + r->outs[i]) = *address(slab, &var);
        }
    } else if (r->nin || r->counted) {
        uint64_t in[MAX_VARS], v;
        for (int i = 0; i < r->nin; ++i) in[i] = *address(slab, &r->in[i]);
        if (r->op == OP_TICK) v = in[0] > 0, *address(slab, &r->in[0]) -= v;
        else v = eval(r->op, r->salt, in, r->nin, p->opts.spin);
        uint64_t *out = (uint64_t *)(void *)(slab->data + r->out);
        if (r->to_pointer) out = *(uint64_t **)(void *)out;
        *out = v;
        if (r->counted) {
            p->part[where->slot].sum += mix(v + r->salt);
            ++p->part[where->slot].ops;
        }
        if (r->effect) p->chain = mix(p->chain + v);
    }
    atomic_fetch_sub_explicit(&p->slots_inside[where->slot], 1, memory_order_relaxed);
    return status;
}

static void enter(void *ctx, dtp_flow_slab_t *slab) {
    flow_program_t *p = ctx;
    const rec_t *r = &p->rec[slab->index];
    uint64_t **var = (uint64_t **)(void *)(slab->data + r->var_at);
    if (!slab->prev) { /* a function */
        for (int i = 0; i < r->nin; ++i) var[i] = address(slab->up, &r->in[i]);
        var[MAX_VARS] = (uint64_t *)(void *)(slab->up->data + r->out);
        return;
    }
    if (slab->iteration == 0) {
        for (int i = 0; i < r->nvars; ++i) var[i] = address(slab->up, &r->in[i]);
        for (dtp_flow_slab_t *q = slab->next; q != slab; q = q->next)
            for (int i = 0; i < r->nvars; ++i)
                ((char **)(void *)(q->data + r->var_at))[i] = q->prev->data + r->body_out[i];
    } else {
        for (int i = 0; i < r->nvars; ++i) var[i] = (uint64_t *)(void *)(slab->prev->data + r->body_out[i]);
    }
}

static void lock(flow_program_t *p) {
    while (atomic_exchange_explicit(&p->free_lock, 1, memory_order_acquire))
        ;
}
static void unlock(flow_program_t *p) { atomic_store_explicit(&p->free_lock, 0, memory_order_release); }

static int function_of(const flow_program_t *p, dtp_flow_block_t block) {
    int f = 0;
    while (p->fn[f].block != block) ++f;
    return f;
}

static void *frame_take(void *ctx, dtp_flow_block_t function, dtp_flow_slab_t **slab) {
    flow_program_t *p = ctx;
    int f = function_of(p, function);
    frame_t *frame = NULL;
    lock(p);
    if (p->nfree[f]) frame = p->frames[f][--p->nfree[f]];
    else if (p->nmade < FRAMES) {
        frame = &p->made[p->nmade++];
        size_t bytes = dtp_flow_frame_bytes(p->plan, function);
        frame->memory = dtp_alloc(NULL, bytes, DTP_NO_SHARE);
        frame->data = dtp_zalloc(NULL, (size_t)p->fn[f].bytes, DTP_NO_SHARE);
        if (!frame->memory || !frame->data) die("no memory");
        frame->slab = dtp_flow_frame_init(p->plan, function, frame->memory, frame->data);
    }
    unlock(p);
    if (frame) *slab = frame->slab;
    return frame;
}
static void frame_give(void *ctx, dtp_flow_block_t function, void *frame) {
    flow_program_t *p = ctx;
    int f = function_of(p, function);
    lock(p);
    p->frames[f][p->nfree[f]++] = frame;
    unlock(p);
}

flow_program_t *flow_program_create(const flow_program_opts_t *opts) {
    flow_program_t *p = dtp_zalloc(NULL, sizeof *p, 128);
    if (!p) die("no memory");
    p->opts = *opts;
    p->rng = opts->seed * 2654435761u + 88172645463325252ull;
    p->budget = opts->budget;
    if (opts->calls) gen_functions(p);
    visible_t *av = make(sizeof *av);
    p->root = new_block();
    fill(p, p->root, av, opts->depth, opts->budget);
    free(av);
    p->v = make(sizeof *p->v * (size_t)(p->nv + 1));
    interpret(p, p->root);

    p->loc = make(sizeof *p->loc * (size_t)(p->nv + 1));
    p->want_at = make(sizeof *p->want_at * (size_t)(p->nv + 1));
    /* The room for a loop's slabs is known when the loop was lowered once: until nothing changes. */
    uint64_t rng = p->rng;
    for (bool changed = true; changed;) {
        p->rng = rng;
        p->nrec = p->nregions = 0;
        memset(p->loc, 0, sizeof *p->loc * (size_t)(p->nv + 1));
        memset(p->want_at, 0, sizeof *p->want_at * (size_t)(p->nv + 1));
        dtp_flow_builder_destroy(p->b);
        p->b = dtp_flow_builder_create(NULL);
        if (!p->b) die("builder");
        new_region(p, -1, 0);
        new_rec(p, (rec_t){.op = OP_HASH});
        for (int f = 0; f < p->nfn; ++f) {
            p->fn[f].block = dtp_flow_function(p->b);
            lower_function(p, &p->fn[f]);
        }
        for (int f = 0; f < p->nfn; ++f) lower_function_body(p, &p->fn[f]);
        lower(p, p->root, DTP_FLOW_ROOT, 0);
        changed = memcmp(p->last_bytes, p->region_bytes, sizeof p->last_bytes) != 0;
        memcpy(p->last_bytes, p->region_bytes, sizeof p->last_bytes);
    }
    dtp_arena_init(&p->arena, NULL);
    unsigned flags = opts->flags | (opts->effects ? DTP_FLOW_ORDERED : 0);
    if (dtp_flow_build(p->b, flags, &p->arena, &p->plan) != dnnl_tp_success) die("build");
    dtp_flow_builder_destroy(p->b);
    int threads = opts->max_threads ? opts->max_threads : 1;
    p->state_memory = dtp_alloc(NULL, dtp_flow_state_bytes(p->plan, threads), DTP_NO_SHARE);
    p->data = dtp_zalloc(NULL, (size_t)p->region_bytes[0] + 8, DTP_NO_SHARE);
    if (!p->state_memory || !p->data) die("no memory");
    p->state = dtp_flow_state_init(p->plan, threads, p->state_memory, p->data);
    return p;
}

static void free_block(block_t *b) {
    for (int i = 0; i < b->n; ++i) {
        if (b->st[i].a) free_block(b->st[i].a);
        if (b->st[i].b) free_block(b->st[i].b);
    }
    free(b->st);
    free(b);
}

void flow_program_destroy(flow_program_t *p) {
    free_block(p->root);
    for (int f = 0; f < p->nfn; ++f) free_block(p->fn[f].body);
    for (int i = 0; i < p->nmade; ++i) {
        dtp_free(NULL, p->made[i].memory);
        dtp_free(NULL, p->made[i].data);
    }
    free(p->v);
    free(p->loc);
    free(p->want_at);
    free(p->rec);
    dtp_arena_free(&p->arena);
    dtp_free(NULL, p->state_memory);
    dtp_free(NULL, p->data);
    dtp_free(NULL, p);
}

static dnnl_tp_status_t run(flow_program_t *p, const dtp_parallel_t *par) {
    static const dtp_parallel_t alone = {NULL, 1, NULL};
    memset(p->part, 0, sizeof p->part);
    p->chain = 0;
    atomic_store(&p->cancel, 0);
    dtp_flow_args_t args = {.ctx = p,
                            .exec = exec,
                            .enter = enter,
                            .frame_take = frame_take,
                            .frame_give = frame_give,
                            .max_depth = MAX_DEPTH,
                            .par = par ? par : &alone,
                            .cancel = &p->cancel};
    return dtp_flow_run(p->plan, p->state, &args, &p->result);
}

static const char *quiet(flow_program_t *p) {
    if (p->complaint) return p->complaint;
    int made = 0;
    for (int f = 0; f < p->nfn; ++f) made += p->nfree[f];
    return made != p->nmade ? "a frame was not given back" : NULL;
}

const char *flow_program_run(flow_program_t *p, const dtp_parallel_t *par) {
    p->countdown = 0;
    if (run(p, par) != dnnl_tp_success) return "the run failed";
    uint64_t sum = 0;
    int64_t ops = 0;
    for (int i = 0; i < DTP_MAX_THREADS; ++i) sum += p->part[i].sum, ops += p->part[i].ops;
    if (ops != p->want_ops) return "another number of operators ran";
    if (sum != p->want_sum) return "an operator gave another result";
    if (p->chain != p->want_chain && p->opts.effects) return "side effects came in another order";
    return quiet(p);
}

const char *flow_program_run_failing(flow_program_t *p, const dtp_parallel_t *par, int64_t nth,
                                     bool fire_cancel) {
    p->countdown = nth;
    p->fire_cancel = fire_cancel;
    dnnl_tp_status_t got = run(p, par);
    /* Copies and exits count, too, so nth is reached if it is at most the number of operators. */
    if (nth <= p->want_ops) {
        dnnl_tp_status_t want = fire_cancel ? dnnl_tp_cancelled : dnnl_tp_runtime_error;
        if (got != want && !(fire_cancel && got == dnnl_tp_success)) return "the failure was not reported";
    }
    return quiet(p);
}

int64_t flow_program_ops(const flow_program_t *p) { return p->want_ops; }
void flow_program_counts(const flow_program_t *p, int64_t *ifs, int64_t *iterations, int64_t *calls) {
    *ifs = p->ifs;
    *iterations = p->iterations;
    *calls = p->calls;
}
const dtp_flow_result_t *flow_program_result(const flow_program_t *p) { return &p->result; }
