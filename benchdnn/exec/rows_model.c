/* A transformer block with real operators: what the executor adds to work, and what its passes take away. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "exec_bench.h"

typedef dnnl_tp_value_t val_t;
typedef struct {
    int tokens, width, heads, inner, layers;
} model_t;

static uint64_t state;
static float random_value(void) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (float)((int)(state >> 40 & 0xffff) - 0x8000) / 0x8000;
}
static void drop(void *p) { free(p); }
static val_t constant(dnnl_tp_graph_t g, int rows, int cols, float scale, float plus) {
    size_t n = (size_t)(rows ? rows : 1) * (size_t)cols;
    float *data = malloc(sizeof *data * n);
    for (size_t i = 0; i < n; ++i) data[i] = plus + scale * random_value();
    val_t v;
    const dnnl_tp_dims_t dims = {rows ? rows : cols, cols};
    EB_OK(dnnl_tp_graph_constant(g, &v, NULL, dnnl_tp_f32, rows ? 2 : 1, dims, data, DNNL_TP_CONSTANT_BORROW,
                                 drop, data));
    return v;
}
static val_t op(dnnl_tp_graph_t g, dnnl_tp_op_kind_t kind, int nin, const val_t *in, int nattr,
                const dnnl_tp_op_attr_t *attr) {
    val_t v;
    EB_OK(dnnl_tp_graph_op(g, kind, NULL, nin, in, nattr, attr, 1, &v));
    return v;
}
static val_t linear(dnnl_tp_graph_t g, val_t x, int from, int to) {
    val_t in[] = {x, constant(g, from, to, 1.f / sqrtf((float)from), 0), constant(g, 0, to, 0.1f, 0)};
    return op(g, dnnl_tp_op_matmul, 3, in, 0, NULL);
}
static val_t norm(dnnl_tp_graph_t g, val_t x, val_t residual, int width) {
    val_t sum = op(g, dnnl_tp_op_add, 2, (val_t[]){x, residual}, 0, NULL);
    val_t in[] = {sum, constant(g, 0, width, 0.1f, 1), constant(g, 0, width, 0.1f, 0)};
    return op(g, dnnl_tp_op_layer_norm, 3, in, 0, NULL);
}

static dnnl_tp_graph_t make(const model_t *m) {
    dnnl_tp_graph_t g;
    val_t x;
    const dnnl_tp_dims_t dims = {1, m->tokens, m->width};
    const int64_t heads = m->heads;
    const dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_heads, dnnl_tp_op_attr_s64, 1, &heads};
    state = 1;
    EB_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    EB_OK(dnnl_tp_graph_input(g, &x, NULL, dnnl_tp_f32, 3, dims));
    for (int i = 0; i < m->layers; ++i) {
        val_t qkv[3];
        for (int k = 0; k < 3; ++k) qkv[k] = linear(g, x, m->width, m->width);
        val_t a = op(g, dnnl_tp_op_attention, 3, qkv, 1, &attr);
        x = norm(g, linear(g, a, m->width, m->width), x, m->width);
        val_t inner = op(g, dnnl_tp_op_gelu, 1, (val_t[]){linear(g, x, m->width, m->inner)}, 0, NULL);
        x = norm(g, linear(g, inner, m->inner, m->width), x, m->width);
    }
    EB_OK(dnnl_tp_graph_output(g, x, NULL));
    return g;
}

typedef struct {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_t stream;
    float *x, *y;
} side_t;
static void run(void *p) {
    side_t *s = p;
    dnnl_tp_status_t st =
        dnnl_tp_executable_run(s->e, s->stream, 1, (void *[]){s->x}, 1, (void *[]){s->y}, NULL);
    if (st != dnnl_tp_success) eb_must(st, "run");
}

static void row(const char *name, const model_t *m, int threads) {
    static const unsigned flags[] = {DNNL_TP_COMPILE_NO_CLUSTERS, 0,
                                     DNNL_TP_COMPILE_NO_CLUSTERS | DNNL_TP_COMPILE_NO_FUSION};
    static const char *const names[] = {"dnnl_tp/plain", "dnnl_tp", "dnnl_tp/unfused"};
    enum { SIDES = 3 };
    const float tolerance = 1e-3f; /* sums of 1536 f32 products and two normalizations per layer */
    if (!eb_wanted(eb.rows, name)) return;
    const size_t elems = (size_t)m->tokens * (size_t)m->width;
    side_t s[SIDES];
    eb_case_t c[SIDES];
    float *x = malloc(sizeof *x * elems);
    for (size_t i = 0; i < elems; ++i) x[i] = random_value();
    for (int i = 0; i < SIDES; ++i) {
        s[i] = (side_t){eb_compile(make(m), threads, flags[i]), eb_stream(threads), x,
                        malloc(sizeof *x * elems)};
        c[i] = (eb_case_t){.run = run, .arg = &s[i]};
        run(&s[i]);
        for (size_t k = 0; k < elems; ++k)
            if (!(fabsf(s[i].y[k] - s[0].y[k]) <= tolerance)) {
                eb_fail("%s: %s gives %g where %s gives %g\n", name, names[i], (double)s[i].y[k], names[0],
                        (double)s[0].y[k]);
                break;
            }
    }
    if (eb.check) printf("%-36s %d threads\n", name, threads);
    else {
        eb_measure(c, SIDES);
        printf("%-36s |", name);
        for (int i = 0; i < SIDES; ++i) {
            double us = c[i].ns / 1e3 / m->layers;
            printf(" %s %.1f", names[i], us);
            eb_csv("model", name, threads, 0, names[i], "us/block", us, c[i].lo / 1e3 / m->layers,
                   c[i].hi / 1e3 / m->layers, c[i].allocs, m->layers);
        }
        printf(" | us per block, %.0f %.0f %.0f allocations\n", c[0].allocs, c[1].allocs, c[2].allocs);
    }
    for (int i = 0; i < SIDES; ++i) {
        dnnl_tp_executable_destroy(s[i].e);
        free(s[i].y);
    }
    free(x);
    fflush(stdout);
}

void eb_rows_model(void) {
    static const int tokens[] = {8, 32, 128};
    for (int t = 0; t < eb.nthreads; ++t) {
        if (!eb.check) printf("\ntransformer blocks, %d thread(s)\n", eb.threads[t]);
        for (int i = 0; i < 3; ++i) {
            char name[64];
            snprintf(name, sizeof name, "transformer_block/%d", tokens[i]);
            const model_t full = {tokens[i], 384, 12, 1536, 6}, tiny = {tokens[i], 32, 2, 48, 2};
            row(name, eb.check ? &tiny : &full, eb.threads[t]);
        }
    }
}
