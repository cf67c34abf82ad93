/* Random structured programs, see program.h. */
#include "support/program.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMS = PROGRAM_ELEMS, MAX_IN = 3, MAX_VARS = 6, MAX_SCOPE = 4096, MAX_CALL_DEPTH = 3 };

typedef enum { OP_HOST, OP_COUNT, OP_TEST, OP_PRIMITIVE, OP_IF, OP_WHILE, OP_CALL } kind_t;
typedef struct stmt {
    struct stmt *next;
    kind_t kind;
    program_t *program;
    uint32_t id;
    int nin, nout, in[MAX_IN + MAX_VARS], out[MAX_VARS];
    dnnl_tp_op_kind_t op;
    dnnl_tp_data_type_t type; /* of OP_TEST */
    int limit;                /* OP_TEST: counter < limit, or value < limit; OP_COUNT: step */
    struct block *sub[2];
    int yield[2][MAX_VARS], vars[MAX_VARS], cond_out;
    struct function *function;
} stmt_t;
typedef struct block {
    stmt_t *first, **end;
    dnnl_tp_graph_t graph;
    int scope[MAX_SCOPE], nscope; /* {2, 2} values that it sees */
    struct block *next;           /* of all */
} block_t;
typedef struct function {
    block_t *block;
    int in[2], out;
} function_t;
struct program {
    program_opts_t opts;
    uint64_t rng;
    uint32_t ids;
    dnnl_tp_graph_t graph;
    block_t *root, *blocks;
    stmt_t *stmts[1 << 14];
    int nstmts;
    int in[PROGRAM_INPUTS], out[PROGRAM_MAX_OUTPUTS], nout;
    int constants[2];
    function_t *functions[4];
    int nfunctions;
    _Atomic uint64_t hash;
    float (*env)[ELEMS];
    int nenv;
};

static uint32_t rnd(program_t *p, uint32_t n) {
    p->rng = p->rng * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(p->rng >> 33) % n;
}

#define MUST(expr)                              \
    do {                                        \
        if ((expr) != dnnl_tp_success) abort(); \
    } while (0)

/* ---- What operators do ------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h) {
    h ^= h >> 31;
    h *= 0x7fb5d329728ea185u;
    h ^= h >> 27;
    return h * 0x81dadef4bc2dd44du;
}

static uint64_t hash_of(uint32_t id, int nin, const float *const *in, const int *n) {
    uint64_t h = id + 1;
    for (int i = 0; i < nin; ++i)
        for (int k = 0; k < n[i]; ++k) h = mix(h ^ (uint64_t)(int64_t)in[i][k]);
    return h;
}

static void combine(uint32_t id, int nin, const float *const *in, float *out) {
    for (int k = 0; k < ELEMS; ++k) {
        int v = (int)(id % 31);
        for (int i = 0; i < nin; ++i) v = v * 3 + (int)in[i][k] + (int)in[i][(k + i + 1) % ELEMS];
        out[k] = (float)((v % 257 + 257) % 257);
    }
}

static void primitive(dnnl_tp_op_kind_t op, const float *a, const float *b, float *out) {
    float r[ELEMS];
    for (int k = 0; k < ELEMS; ++k) switch (op) {
        case dnnl_tp_op_maximum: r[k] = a[k] > b[k] ? a[k] : b[k]; break;
        case dnnl_tp_op_minimum: r[k] = a[k] < b[k] ? a[k] : b[k]; break;
        case dnnl_tp_op_static_transpose: r[k] = a[k % 2 * 2 + k / 2]; break;
        case dnnl_tp_op_clamp: r[k] = a[k] < 3 ? 3 : a[k] > 99 ? 99 : a[k]; break;
        default: r[k] = a[k]; break; /* relu of what is not negative, reshape */
        }
    memcpy(out, r, sizeof r);
}

static float load(const dnnl_tp_host_arg_t *a) {
    int32_t i;
    float f;
    switch (a->info->data_type) {
    case dnnl_tp_f32: memcpy(&f, a->data, sizeof f); return f;
    case dnnl_tp_s32: memcpy(&i, a->data, sizeof i); return (float)i;
    default: return (float)*(const uint8_t *)a->data;
    }
}

static void waste(const stmt_t *s, uint64_t h) {
    int n = s->program->opts.spin;
    if (!n) return;
    for (volatile int i = (int)(h % (uint64_t)n); i > 0; --i) continue;
    if (h % 61 == 0) sched_yield();
}

static dnnl_tp_status_t host(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                             int nout, const dnnl_tp_host_arg_t *out) {
    const stmt_t *s = arg;
    const float *p[MAX_IN];
    float scalars[MAX_IN];
    int n[MAX_IN];
    (void)stop;
    (void)nout;
    for (int i = 0; i < nin; ++i) {
        bool scalar = in[i].info->ndims == 0;
        if (scalar) scalars[i] = load(&in[i]);
        p[i] = scalar ? &scalars[i] : in[i].data;
        n[i] = scalar ? 1 : ELEMS;
    }
    uint64_t h = hash_of(s->id, nin, p, n);
    waste(s, h);
    if (s->kind == OP_HOST) {
        combine(s->id, nin, p, out[0].data);
    } else if (s->kind == OP_COUNT) {
        int32_t v = (int32_t)p[0][0] + s->limit;
        memcpy(out[0].data, &v, sizeof v);
    } else {
        bool yes = p[0][0] < (float)s->limit;
        float f = yes ? -.5f : 0.f;
        int32_t i = yes ? -7 : 0;
        switch (s->type) {
        case dnnl_tp_f32: memcpy(out[0].data, &f, sizeof f); break;
        case dnnl_tp_s32: memcpy(out[0].data, &i, sizeof i); break;
        case dnnl_tp_u8: *(uint8_t *)out[0].data = yes ? 3 : 0; break;
        default: *(uint8_t *)out[0].data = yes; break;
        }
    }
    atomic_fetch_add_explicit(&s->program->hash, h, memory_order_relaxed);
    return dnnl_tp_success;
}

/* ---- Generation -------------------------------------------------------------------------------------- */

static block_t *new_block(program_t *p, const block_t *around, dnnl_tp_graph_t graph) {
    block_t *b = calloc(1, sizeof *b);
    if (!b) abort();
    b->end = &b->first;
    b->graph = graph;
    if (around) {
        b->nscope = around->nscope;
        memcpy(b->scope, around->scope, sizeof *b->scope * (size_t)around->nscope);
    }
    b->next = p->blocks;
    p->blocks = b;
    return b;
}

static stmt_t *new_stmt(program_t *p, block_t *b, kind_t kind) {
    stmt_t *s = calloc(1, sizeof *s);
    if (!s || p->nstmts == (int)(sizeof p->stmts / sizeof *p->stmts)) abort();
    s->kind = kind;
    s->program = p;
    s->id = p->ids++;
    *b->end = s;
    b->end = &s->next;
    p->stmts[p->nstmts++] = s;
    return s;
}

static void see(block_t *b, int v) {
    if (b->nscope < MAX_SCOPE) b->scope[b->nscope++] = v;
}
/* Mostly something recent. */
static int pick(program_t *p, const block_t *b) {
    uint32_t n = (uint32_t)b->nscope, recent = n < 6 ? n : 6;
    return rnd(p, 3) ? b->scope[n - 1 - rnd(p, recent)] : b->scope[rnd(p, n)];
}

static int add_host(program_t *p, block_t *b, kind_t kind, int nin, const int *in, dnnl_tp_data_type_t type,
                    int limit) {
    stmt_t *s = new_stmt(p, b, kind);
    dnnl_tp_tensor_info_t info = {.ndims = kind == OP_HOST ? 2 : 0, .dims = {2, 2}, .data_type = type};
    s->nin = nin;
    memcpy(s->in, in, sizeof *in * (size_t)nin);
    s->type = type;
    s->limit = limit;
    dnnl_tp_value_t out;
    char name[16]; /* one of its own: tests of graph files find the closure by it */
    snprintf(name, sizeof name, "h%d", s->id);
    MUST(dnnl_tp_graph_host(b->graph, host, s, NULL, 0, name, nin, in, 1, &info, &out));
    s->out[0] = out;
    s->nout = 1;
    return out;
}

static dnnl_tp_value_t plain_op(block_t *b, dnnl_tp_op_kind_t kind, dnnl_tp_value_t x, dnnl_tp_value_t y) {
    const dnnl_tp_value_t in[2] = {x, y};
    dnnl_tp_value_t v;
    MUST(dnnl_tp_graph_op(b->graph, kind, "t", 2, in, 0, NULL, 1, &v));
    return v;
}
static dnnl_tp_value_t number(block_t *b, dnnl_tp_data_type_t type, int x) {
    const int32_t i = x;
    const float f = (float)x;
    dnnl_tp_value_t v;
    MUST(dnnl_tp_graph_constant(b->graph, &v, "n", type, 0, NULL, type == dnnl_tp_f32 ? (const void *)&f : &i,
                                0, NULL, NULL));
    return v;
}
/* What add_host does with closures, as graph operators: max(limit - x, 0), x being an s32 scalar or the largest
 * element of a {2, 2} value; or x + limit. */
static int add_plain(program_t *p, block_t *b, kind_t kind, int in, bool scalar, int limit) {
    static const int64_t all[] = {0, 1};
    const dnnl_tp_op_attr_t axes = {dnnl_tp_op_attr_axes, dnnl_tp_op_attr_s64, 2, all};
    const dnnl_tp_data_type_t type = scalar ? dnnl_tp_s32 : dnnl_tp_f32;
    dnnl_tp_value_t x = in;
    if (!scalar) MUST(dnnl_tp_graph_op(b->graph, dnnl_tp_op_reduce_max, "m", 1, &x, 1, &axes, 1, &x));
    stmt_t *s = new_stmt(p, b, kind);
    s->nin = 1;
    s->in[0] = in;
    s->limit = limit;
    s->nout = 1;
    s->out[0] = kind == OP_COUNT ? plain_op(b, dnnl_tp_op_add, x, number(b, type, limit))
                                 : plain_op(b, dnnl_tp_op_maximum,
                                            plain_op(b, dnnl_tp_op_subtract, number(b, type, limit), x),
                                            number(b, type, 0));
    return s->out[0];
}
static int add_test(program_t *p, block_t *b, int in, bool scalar, dnnl_tp_data_type_t type, int limit) {
    return p->opts.no_closures ? add_plain(p, b, OP_TEST, in, scalar, limit)
                               : add_host(p, b, OP_TEST, 1, &in, type, limit);
}
static int add_count(program_t *p, block_t *b, int in, int step) {
    return p->opts.no_closures ? add_plain(p, b, OP_COUNT, in, true, step)
                               : add_host(p, b, OP_COUNT, 1, &in, dnnl_tp_s32, step);
}

static void add_op(program_t *p, block_t *b) {
    int in[MAX_IN];
    if ((int)rnd(p, 100) >= p->opts.primitives && !p->opts.no_closures) {
        int nin = 1 + (int)rnd(p, MAX_IN);
        for (int i = 0; i < nin; ++i) in[i] = pick(p, b);
        see(b, add_host(p, b, OP_HOST, nin, in, dnnl_tp_f32, 0));
        if (b->nscope > 8 && rnd(p, 8) == 0) {
            /* The newest operator after one that was added before; values of inputs are refused. */
            dnnl_tp_value_t before = b->scope[b->nscope - 2 - (int)rnd(p, 5)],
                            after = b->scope[b->nscope - 1];
            (void)!dnnl_tp_graph_control_dependency(b->graph, before, after);
        }
        return;
    }
    static const dnnl_tp_op_kind_t ops[] = {
        dnnl_tp_op_maximum, dnnl_tp_op_minimum, dnnl_tp_op_static_transpose,
        dnnl_tp_op_clamp,   dnnl_tp_op_relu,    dnnl_tp_op_static_reshape};
    stmt_t *s = new_stmt(p, b, OP_PRIMITIVE);
    s->op = ops[rnd(p, 6)];
    s->nin = s->op == dnnl_tp_op_maximum || s->op == dnnl_tp_op_minimum ? 2 : 1;
    for (int i = 0; i < s->nin; ++i) s->in[i] = pick(p, b);
    static const int64_t order[2] = {1, 0}, shape[2] = {2, 2};
    static const float low = 3.f, high = 99.f;
    dnnl_tp_op_attr_t attr[2] = {{dnnl_tp_op_attr_min, dnnl_tp_op_attr_f32, 1, &low},
                                 {dnnl_tp_op_attr_max, dnnl_tp_op_attr_f32, 1, &high}};
    int nattr = s->op == dnnl_tp_op_clamp ? 2 : 0;
    if (s->op == dnnl_tp_op_static_transpose || s->op == dnnl_tp_op_static_reshape) {
        bool turn = s->op == dnnl_tp_op_static_transpose;
        attr[0] = (dnnl_tp_op_attr_t){turn ? dnnl_tp_op_attr_order : dnnl_tp_op_attr_shape,
                                      dnnl_tp_op_attr_s64, 2, turn ? order : shape};
        nattr = 1;
    }
    dnnl_tp_value_t out;
    MUST(dnnl_tp_graph_op(b->graph, s->op, "p", s->nin, s->in, nattr, attr, 1, &out));
    s->out[0] = out;
    see(b, out);
}

static void fill(program_t *p, block_t *b, int size, int depth);

static dnnl_tp_data_type_t any_type(program_t *p) {
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_boolean, dnnl_tp_u8, dnnl_tp_s32, dnnl_tp_f32};
    return types[rnd(p, 4)];
}

static dnnl_tp_graph_t region(dnnl_tp_graph_t parent) {
    dnnl_tp_graph_t r;
    MUST(dnnl_tp_graph_create_region(&r, parent));
    return r;
}

static void add_if(program_t *p, block_t *b, int size, int depth) {
    int in = pick(p, b), pred = add_test(p, b, in, false, any_type(p), 40 + (int)rnd(p, 160));
    block_t *sub[2];
    dnnl_tp_graph_t graph[2];
    int nout = (int)rnd(p, 4), yield[2][MAX_VARS];
    for (int i = 0; i < 2; ++i) {
        bool none = rnd(p, 6) == 0;
        graph[i] = none ? NULL : region(b->graph);
        sub[i] = new_block(p, b, none ? b->graph : graph[i]);
        if (!none && rnd(p, 8)) fill(p, sub[i], 1 + (int)rnd(p, (uint32_t)size), depth - 1);
        for (int k = 0; k < nout; ++k) yield[i][k] = pick(p, sub[i]);
    }
    stmt_t *s = new_stmt(p, b, OP_IF);
    s->in[0] = pred;
    s->nout = nout;
    for (int i = 0; i < 2; ++i) {
        s->sub[i] = sub[i];
        memcpy(s->yield[i], yield[i], sizeof yield[i]);
    }
    MUST(dnnl_tp_graph_if(b->graph, "if", pred, graph[0], graph[1], nout, yield[0], yield[1], s->out));
    for (int i = 0; i < nout; ++i) see(b, s->out[i]);
    for (int i = 0; i < 2; ++i) dnnl_tp_graph_destroy(graph[i]);
}

static int zero(program_t *p, block_t *b) {
    dnnl_tp_value_t v;
    int32_t start = (int32_t)rnd(p, 3);
    MUST(dnnl_tp_graph_constant(b->graph, &v, "start", dnnl_tp_s32, 0, NULL, &start, 0, NULL, NULL));
    p->env[v][0] = (float)start;
    return v;
}

static void add_while(program_t *p, block_t *b, int size, int depth) {
    static const dnnl_tp_dims_t two = {2, 2};
    dnnl_tp_graph_t cond = region(b->graph), body = region(cond);
    block_t *c = new_block(p, b, cond);
    stmt_t w = {.nin = 1 + (int)rnd(p, MAX_VARS)};
    int at = (int)rnd(p, (uint32_t)w.nin); /* of the counter */
    for (int i = 0; i < w.nin; ++i) {
        w.in[i] = i == at ? zero(p, b) : pick(p, b);
        dnnl_tp_value_t v;
        MUST(dnnl_tp_graph_input(cond, &v, "v", i == at ? dnnl_tp_s32 : dnnl_tp_f32, i == at ? 0 : 2, two));
        w.vars[i] = v;
        if (i != at) see(c, v);
    }
    if (rnd(p, 3) == 0) fill(p, c, 1 + (int)rnd(p, 3), rnd(p, 4) ? 0 : depth - 1);
    w.cond_out = add_test(p, c, w.vars[at], true, any_type(p), (int)rnd(p, 6));
    block_t *y = new_block(p, c, body);
    if (rnd(p, 8)) fill(p, y, 1 + (int)rnd(p, (uint32_t)size), depth - 1);
    int next = add_count(p, y, w.vars[at], 1 + (int)rnd(p, 2));
    for (int i = 0; i < w.nin; ++i) {
        w.yield[0][i] = i == at ? next : pick(p, y);
        /* Unchanged, rotated, from outside. */
        int other = (int)rnd(p, (uint32_t)w.nin);
        if (i != at && rnd(p, 6) == 0) w.yield[0][i] = w.vars[i];
        else if (i != at && other != at && rnd(p, 4) == 0) w.yield[0][i] = w.vars[other];
        else if (i != at && rnd(p, 8) == 0) w.yield[0][i] = pick(p, b);
        else if (i != at && rnd(p, 10) == 0) w.yield[0][i] = p->constants[0];
    }
    stmt_t *s = new_stmt(p, b, OP_WHILE);
    stmt_t *next_stmt = s->next;
    uint32_t id = s->id;
    *s = w;
    s->next = next_stmt;
    s->kind = OP_WHILE;
    s->program = p;
    s->id = id;
    s->nout = w.nin;
    s->sub[0] = c;
    s->sub[1] = y;
    MUST(dnnl_tp_graph_while(b->graph, "while", cond, w.cond_out, body, w.nin, w.in, w.vars, w.yield[0],
                             (int)rnd(p, (uint32_t)p->opts.window + 1), s->out));
    for (int i = 0; i < w.nin; ++i)
        if (i != at) see(b, s->out[i]);
    dnnl_tp_graph_destroy(cond);
    dnnl_tp_graph_destroy(body);
}

static void add_call(program_t *p, block_t *b, int depth_value) {
    stmt_t *s = new_stmt(p, b, OP_CALL);
    s->function = p->functions[rnd(p, (uint32_t)p->nfunctions)];
    s->in[0] = pick(p, b);
    s->in[1] = depth_value;
    s->nin = 2;
    MUST(dnnl_tp_graph_call(b->graph, "call", s->function->block->graph, 2, s->in, 1, s->out));
    see(b, s->out[0]);
}

static void fill(program_t *p, block_t *b, int size, int depth) {
    while (size > 0) {
        uint32_t what = rnd(p, 10);
        if (depth > 0 && what == 0) {
            add_if(p, b, size / 2 + 1, depth);
            size -= size / 2 + 1;
        } else if (depth > 0 && what == 1) {
            add_while(p, b, size / 2 + 1, depth);
            size -= size / 2 + 1;
        } else if (p->nfunctions && p->functions[0]->out && what == 2 && depth > 0) {
            add_call(p, b, p->constants[1]);
            size -= 2;
        } else {
            add_op(p, b);
            --size;
        }
    }
}

/* f(x, d): something; if (d > 0) more calls with d - 1; something. */
static void make_functions(program_t *p) {
    dnnl_tp_tensor_info_t in[2] = {{.ndims = 2, .dims = {2, 2}, .data_type = dnnl_tp_f32},
                                   {.ndims = 0, .data_type = dnnl_tp_s32}};
    int n = p->opts.functions;
    for (int i = 0; i < n; ++i) {
        function_t *f = calloc(1, sizeof *f);
        if (!f) abort();
        dnnl_tp_graph_t g;
        MUST(dnnl_tp_graph_create_function(&g, p->graph, "f", 2, in, f->in, 1, in));
        f->block = new_block(p, NULL, g);
        see(f->block, p->constants[0]);
        see(f->block, f->in[0]);
        p->functions[p->nfunctions++] = f;
    }
    for (int i = 0; i < n; ++i) {
        block_t *b = p->functions[i]->block;
        fill(p, b, 1 + (int)rnd(p, 5), 1);
        int pred = add_test(p, b, p->functions[i]->in[1], true, any_type(p), 1);
        dnnl_tp_graph_t more = region(b->graph);
        block_t *then = new_block(p, b, b->graph), *other = new_block(p, b, more);
        int d = add_count(p, other, p->functions[i]->in[1], -1);
        for (int k = 1 + (int)rnd(p, 2); k > 0; --k) {
            fill(p, other, (int)rnd(p, 3), 0);
            add_call(p, other, d);
        }
        stmt_t *s = new_stmt(p, b, OP_IF);
        s->in[0] = pred;
        s->nout = 1;
        s->sub[0] = then;
        s->sub[1] = other;
        s->yield[0][0] = pick(p, then);
        s->yield[1][0] = other->scope[other->nscope - 1];
        MUST(dnnl_tp_graph_if(b->graph, "again", pred, NULL, more, 1, s->yield[0], s->yield[1], s->out));
        see(b, s->out[0]);
        fill(p, b, (int)rnd(p, 3), 0);
        dnnl_tp_graph_destroy(more);
    }
    for (int i = 0; i < n; ++i) {
        function_t *f = p->functions[i];
        int out = pick(p, f->block);
        MUST(dnnl_tp_graph_output(f->block->graph, out, "r"));
        f->out = out;
    }
}

program_t *program_create(uint64_t seed, const program_opts_t *opts) {
    static const dnnl_tp_dims_t two = {2, 2};
    program_t *p = calloc(1, sizeof *p);
    if (!p) abort();
    p->opts = *opts;
    p->rng = mix(seed + 12345) | 1;
    p->nenv = 1 << 15;
    p->env = calloc((size_t)p->nenv, sizeof *p->env);
    if (!p->env) abort();
    MUST(dnnl_tp_graph_create(&p->graph, dnnl_tp_cpu));
    p->root = new_block(p, NULL, p->graph);
    for (int i = 0; i < PROGRAM_INPUTS; ++i) {
        MUST(dnnl_tp_graph_input(p->graph, &p->in[i], "x", dnnl_tp_f32, 2, two));
        see(p->root, p->in[i]);
    }
    float c[ELEMS] = {5, 17, 101, 2};
    int32_t d = MAX_CALL_DEPTH;
    MUST(dnnl_tp_graph_constant(p->graph, &p->constants[0], "c", dnnl_tp_f32, 2, two, c, 0, NULL, NULL));
    MUST(dnnl_tp_graph_constant(p->graph, &p->constants[1], "d", dnnl_tp_s32, 0, NULL, &d, 0, NULL, NULL));
    memcpy(p->env[p->constants[0]], c, sizeof c);
    p->env[p->constants[1]][0] = (float)d;
    see(p->root, p->constants[0]);
    make_functions(p);
    fill(p, p->root, opts->size, opts->depth);
    p->nout = 1 + (int)rnd(p, PROGRAM_MAX_OUTPUTS);
    for (int i = 0; i < p->nout; ++i) {
        p->out[i] = pick(p, p->root);
        MUST(dnnl_tp_graph_output(p->graph, p->out[i], "y"));
    }
    dnnl_tp_tensor_info_t info;
    for (p->nenv = 0; dnnl_tp_graph_value_info(p->graph, p->nenv, &info) == dnnl_tp_success;) ++p->nenv;
    return p;
}

void program_destroy(program_t *p) {
    for (int i = 0; i < p->nfunctions; ++i) {
        dnnl_tp_graph_destroy(p->functions[i]->block->graph);
        free(p->functions[i]);
    }
    for (block_t *b = p->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    for (int i = 0; i < p->nstmts; ++i) free(p->stmts[i]);
    dnnl_tp_graph_destroy(p->graph);
    free(p->env);
    free(p);
}

dnnl_tp_graph_t program_graph(program_t *p) { return p->graph; }
int program_outputs(const program_t *p) { return p->nout; }
_Atomic uint64_t *program_hash(program_t *p) { return &p->hash; }

/* ---- Interpretation ---------------------------------------------------------------------------------- */

static uint64_t walk(program_t *p, const block_t *b, float (*env)[ELEMS]);

static void copy_all(float (*env)[ELEMS], int n, const int *from, const int *to) {
    float t[MAX_VARS][ELEMS];
    for (int i = 0; i < n; ++i) memcpy(t[i], env[from[i]], sizeof t[i]);
    for (int i = 0; i < n; ++i) memcpy(env[to[i]], t[i], sizeof t[i]);
}

static float largest(const float *x, int n) {
    float y = x[0];
    for (int i = 1; i < n; ++i) y = x[i] > y ? x[i] : y;
    return y;
}

static uint64_t step(program_t *p, const stmt_t *s, float (*env)[ELEMS]) {
    const float *in[MAX_IN];
    int n[MAX_IN];
    uint64_t h = 0;
    if (s->kind <= OP_TEST) {
        for (int i = 0; i < s->nin; ++i) {
            in[i] = env[s->in[i]];
            n[i] = s->kind == OP_HOST ? ELEMS : 0;
        }
        /* What a test or a counter reads may be either. */
        if (s->kind != OP_HOST) {
            dnnl_tp_tensor_info_t info;
            MUST(dnnl_tp_graph_value_info(p->graph, s->in[0], &info));
            n[0] = info.ndims ? ELEMS : 1;
        }
        if (!p->opts.no_closures) h = hash_of(s->id, s->nin, in, n);
    }
    switch (s->kind) {
    case OP_HOST: combine(s->id, s->nin, in, env[s->out[0]]); break;
    case OP_COUNT: env[s->out[0]][0] = in[0][0] + (float)s->limit; break;
    case OP_TEST:
        env[s->out[0]][0] = (p->opts.no_closures ? largest(in[0], n[0]) : in[0][0]) < (float)s->limit;
        break;
    case OP_PRIMITIVE: primitive(s->op, env[s->in[0]], env[s->in[s->nin - 1]], env[s->out[0]]); break;
    case OP_IF: {
        int b = env[s->in[0]][0] != 0 ? 0 : 1;
        h = walk(p, s->sub[b], env);
        copy_all(env, s->nout, s->yield[b], s->out);
        break;
    }
    case OP_WHILE:
        copy_all(env, s->nin, s->in, s->vars);
        for (;;) {
            h += walk(p, s->sub[0], env);
            if (env[s->cond_out][0] == 0) break;
            h += walk(p, s->sub[1], env);
            copy_all(env, s->nin, s->yield[0], s->vars);
        }
        copy_all(env, s->nin, s->vars, s->out);
        break;
    case OP_CALL: {
        const function_t *f = s->function;
        size_t bytes = sizeof *env * (size_t)p->nenv;
        float(*own)[ELEMS] = malloc(bytes);
        if (!own) abort();
        memcpy(own, env, bytes);
        memcpy(own[f->in[0]], env[s->in[0]], sizeof *own);
        memcpy(own[f->in[1]], env[s->in[1]], sizeof *own);
        h = walk(p, f->block, own);
        memcpy(env[s->out[0]], own[f->out], sizeof *own);
        free(own);
        break;
    }
    }
    return h;
}

static uint64_t walk(program_t *p, const block_t *b, float (*env)[ELEMS]) {
    uint64_t h = 0;
    for (const stmt_t *s = b->first; s; s = s->next) h += step(p, s, env);
    return h;
}

uint64_t program_interpret(program_t *p, float (*in)[ELEMS], float (*out)[ELEMS]) {
    for (int i = 0; i < PROGRAM_INPUTS; ++i) memcpy(p->env[p->in[i]], in[i], sizeof *in);
    uint64_t h = walk(p, p->root, p->env);
    for (int i = 0; i < p->nout; ++i) memcpy(out[i], p->env[p->out[i]], sizeof *out);
    return h;
}
