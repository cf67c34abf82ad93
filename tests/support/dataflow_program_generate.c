/* Random statements, and a sequential interpreter that says what they must compute. See dataflow_program_parts.h.
 */
#include "support/dataflow_program_parts.h"

uint64_t dataflow_program_mix(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 29;
    return h;
}
int dataflow_program_rnd(dataflow_program_t *p, int n) {
    p->rng = p->rng * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((p->rng >> 33) % (unsigned)n);
}

typedef struct {
    int v[4096];
    int n;
} visible_t;

static stmt_t *add(block_t *b, stmt_t s) {
    if (b->n == b->room) {
        b->room = b->room ? 2 * b->room : 8;
        b->st = realloc(b->st, sizeof *b->st * (size_t)b->room);
        if (!b->st) dataflow_program_die("no memory");
    }
    b->st[b->n] = s;
    return &b->st[b->n++];
}
static int add_op(dataflow_program_t *p, block_t *b, op_t op, int nin, const int *in) {
    stmt_t s = {.type = ST_OP, .op = op, .nin = nin, .nout = 1, .salt = ++p->salt};
    memcpy(s.in, in, sizeof *in * (size_t)nin);
    s.effect = op == OP_HASH && p->opts.effects && dataflow_program_rnd(p, 4) == 0;
    s.out[0] = p->nv++;
    add(b, s);
    return s.out[0];
}
static void see(visible_t *av, int v) {
    if (av->n < 4096) av->v[av->n++] = v;
}
static int pick(dataflow_program_t *p, const visible_t *av) {
    int recent = av->n < 5 ? av->n : 5;
    return dataflow_program_rnd(p, 2) ? av->v[dataflow_program_rnd(p, av->n)]
                                      : av->v[av->n - 1 - dataflow_program_rnd(p, recent)];
}
/* A value made in the block if there is one and chance says so, else any. */
static int pick_made(dataflow_program_t *p, const block_t *b, const visible_t *av) {
    if (dataflow_program_rnd(p, 4)) {
        for (int tries = 0; tries < 4 && b->n; ++tries) {
            const stmt_t *s = &b->st[dataflow_program_rnd(p, b->n)];
            if (s->nout && !(s->type == ST_OP && (s->op == OP_TICK || s->op == OP_MOD)))
                return s->out[dataflow_program_rnd(p, s->nout)];
        }
    }
    return pick(p, av);
}

static void fill(dataflow_program_t *p, block_t *b, visible_t *av, int depth, int n);

static block_t *new_block(void) { return dataflow_program_make(sizeof(block_t)); }

static void gen_if(dataflow_program_t *p, block_t *b, visible_t *av, int depth) {
    int x = pick(p, av);
    stmt_t s = {.type = ST_IF, .nin = 1};
    s.in[0] = dataflow_program_rnd(p, 3) ? add_op(p, b, OP_BOOL, 1, &x) : x;
    s.nout = dataflow_program_rnd(p, MAX_OUT + 1);
    block_t **side[2] = {&s.a, &s.b};
    for (int i = 0; i < 2; ++i) {
        *side[i] = new_block();
        visible_t *inner = dataflow_program_make(sizeof *inner);
        *inner = *av;
        if (dataflow_program_rnd(p, 4)) fill(p, *side[i], inner, depth - 1, dataflow_program_rnd(p, 6));
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

static void gen_while(dataflow_program_t *p, block_t *b, visible_t *av, int depth) {
    stmt_t s = {.type = ST_WHILE, .a = new_block(), .b = new_block()};
    int x = pick(p, av), count = add_op(p, b, OP_MOD, 1, &x);
    s.window = p->opts.window ? p->opts.window : 1 + dataflow_program_rnd(p, 4);
    s.npar = s.nout = dataflow_program_rnd(p, 6) ? 1 + dataflow_program_rnd(p, MAX_VARS - 1) : 0;
    s.nin = s.npar;
    visible_t *inner = dataflow_program_make(sizeof *inner);
    *inner = *av;
    for (int i = 0; i < s.npar; ++i) {
        s.in[i] = i ? pick(p, av) : count;
        s.par[i] = p->nv++;
        for (int k = 0; k < 3; ++k) see(inner, s.par[i]); /* likely operands */
    }
    visible_t *body = dataflow_program_make(sizeof *body);
    *body = *inner;
    fill(p, s.a, inner, depth > 1 ? 1 : 0, dataflow_program_rnd(p, 3));
    if (s.npar) {
        if (dataflow_program_rnd(p, 5) == 0)
            s.a->outs[0] = s.par[0]; /* the test is the variable itself: its low byte */
        else s.a->outs[0] = add_op(p, s.a, OP_COPY, 1, &s.par[0]);
        if (dataflow_program_rnd(p, 2)) *body = *inner; /* the body may read the condition's values */
    } else {
        s.nin = 1;
        s.in[0] = count;
        s.a->outs[0] = add_op(p, s.a, OP_TICK, 1, &count);
    }
    s.a->nouts = 1;
    if (dataflow_program_rnd(p, 5)) fill(p, s.b, body, depth - 1, 1 + dataflow_program_rnd(p, 5));
    for (int i = 0; i < s.npar; ++i)
        s.b->outs[i] = i == 0 ? add_op(p, s.b, OP_DEC, 1, &s.par[0])
                       : dataflow_program_rnd(p, 4)
                           ? pick_made(p, s.b, body)
                           : s.par[1 + dataflow_program_rnd(p, s.npar - 1)]; /* variables that rotate */
    s.b->nouts = s.npar;
    free(inner);
    free(body);
    for (int i = 0; i < s.nout; ++i) {
        s.out[i] = p->nv++;
        see(av, s.out[i]);
    }
    add(b, s);
}

static void gen_call(dataflow_program_t *p, block_t *b, visible_t *av) {
    stmt_t s = {.type = ST_CALL, .function = dataflow_program_rnd(p, p->nfn), .nout = 1};
    int x = pick(p, av);
    s.nin = p->fn[s.function].npar;
    s.in[0] = add_op(p, b, OP_MOD, 1, &x);
    for (int i = 1; i < s.nin; ++i) s.in[i] = pick(p, av);
    s.out[0] = p->nv++;
    see(av, s.out[0]);
    add(b, s);
}

/* Operators with one reader, the same for all. */
static void gen_join(dataflow_program_t *p, block_t *b, visible_t *av) {
    int in[MAX_VARS], n = 2 + dataflow_program_rnd(p, MAX_VARS - 1), from = pick(p, av);
    for (int i = 0; i < n; ++i) in[i] = add_op(p, b, OP_HASH, 1, &from);
    see(av, add_op(p, b, OP_HASH, n, in));
}

static void fill(dataflow_program_t *p, block_t *b, visible_t *av, int depth, int n) {
    for (int i = 0; i < n && p->budget > 0; ++i) {
        --p->budget;
        int k = dataflow_program_rnd(p, 12);
        if (av->n && p->opts.depth == 0 && k < 3) gen_join(p, b, av);
        else if (!av->n || k < 8 || depth <= 0) {
            int in[MAX_IN], nin = av->n ? dataflow_program_rnd(p, MAX_IN + 1) : 0;
            for (int j = 0; j < nin; ++j) in[j] = pick(p, av);
            see(av, add_op(p, b, OP_HASH, nin, in));
        } else if (k < 10) gen_if(p, b, av, depth);
        else if (k < 11 || !p->nfn) gen_while(p, b, av, depth);
        else gen_call(p, b, av);
    }
}

/* f(n, x...) = if n: ... f(n - 1, ...) ... else something. */
static void gen_functions(dataflow_program_t *p) {
    for (int f = 0; f < FUNCTIONS; ++f) {
        function_t *fn = &p->fn[f];
        visible_t *av = dataflow_program_make(sizeof *av);
        fn->first_value = p->nv;
        fn->body = new_block();
        fn->npar = 1 + dataflow_program_rnd(p, 3);
        for (int i = 0; i < fn->npar; ++i) {
            fn->par[i] = p->nv++;
            see(av, fn->par[i]);
        }
        int keep = p->budget;
        p->budget = 12;
        fill(p, fn->body, av, 1, 1 + dataflow_program_rnd(p, 4));
        stmt_t s = {
            .type = ST_IF, .nin = 1, .in = {fn->par[0]}, .nout = 1, .a = new_block(), .b = new_block()};
        visible_t *inner = dataflow_program_make(sizeof *inner);
        *inner = *av;
        fill(p, s.a, inner, 1, dataflow_program_rnd(p, 3));
        s.a->outs[0] = pick_made(p, s.a, inner);
        s.a->nouts = s.b->nouts = 1;
        *inner = *av;
        fill(p, s.b, inner, 1, dataflow_program_rnd(p, 3));
        int calls = 1 + dataflow_program_rnd(p, 2), got[2] = {0, 0};
        for (int c = 0; c < calls; ++c) {
            stmt_t call = {.type = ST_CALL, .function = f, .nin = fn->npar, .nout = 1};
            call.in[0] = add_op(p, s.b, OP_DEC, 1, &fn->par[0]);
            for (int i = 1; i < fn->npar; ++i) call.in[i] = pick(p, inner);
            call.out[0] = got[c] = p->nv++;
            add(s.b, call);
        }
        s.b->outs[0] = dataflow_program_rnd(p, 2) ? add_op(p, s.b, OP_HASH, calls, got) : got[0];
        s.out[0] = fn->out = p->nv++;
        add(fn->body, s);
        free(inner);
        free(av);
        p->budget = keep;
        fn->end_value = p->nv;
        ++p->nfn;
    }
}

/* ---- Interpreter ------------------------------------------------------------------------------------- */

uint64_t dataflow_program_eval(op_t op, uint32_t salt, const uint64_t *in, int nin, int spin) {
    uint64_t h = salt * 0x9e3779b97f4a7c15ull + 12345;
    switch (op) {
    case OP_COPY: return in[0];
    case OP_BOOL: return in[0] & 1;
    case OP_DEC: return in[0] - 1;
    case OP_MOD: return in[0] % 5;
    default: break;
    }
    for (int i = 0; i < nin; ++i) h = dataflow_program_mix(h + in[i] * 31);
    for (int i = 0; i < spin; ++i) h = dataflow_program_mix(h);
    return h;
}

static void interpret(dataflow_program_t *p, const block_t *b) {
    uint64_t *v = p->v;
    for (int k = 0; k < b->n; ++k) {
        const stmt_t *s = &b->st[k];
        if (s->type == ST_OP) {
            uint64_t in[MAX_VARS], r;
            for (int i = 0; i < s->nin; ++i) in[i] = v[s->in[i]];
            if (s->op == OP_TICK) r = v[s->in[0]] > 0, v[s->in[0]] -= r;
            else r = dataflow_program_eval(s->op, s->salt, in, s->nin, p->opts.spin);
            v[s->out[0]] = r;
            p->want_sum += dataflow_program_mix(r + s->salt);
            ++p->want_ops;
            if (s->effect) p->want_chain = dataflow_program_mix(p->want_chain + r);
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
            uint64_t in[MAX_VARS], *keep = dataflow_program_make(bytes), r;
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

void dataflow_program_generate(dataflow_program_t *p) {
    if (p->opts.calls) gen_functions(p);
    visible_t *av = dataflow_program_make(sizeof *av);
    p->root = new_block();
    fill(p, p->root, av, p->opts.depth, p->opts.budget);
    free(av);
    p->v = dataflow_program_make(sizeof *p->v * (size_t)(p->nv + 1));
    interpret(p, p->root);
}

static void free_block(block_t *b) {
    for (int i = 0; i < b->n; ++i) {
        if (b->st[i].a) free_block(b->st[i].a);
        if (b->st[i].b) free_block(b->st[i].b);
    }
    free(b->st);
    free(b);
}

void dataflow_program_free_blocks(dataflow_program_t *p) {
    free_block(p->root);
    for (int f = 0; f < p->nfn; ++f) free_block(p->fn[f].body);
}
