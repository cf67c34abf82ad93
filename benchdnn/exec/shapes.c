/* The graphs of the benchmark. Numbers of nodes grow along every edge, so 0, 1, 2, ... is an order that may
 * be run. Random choices come from a generator of our own, so a shape is the same everywhere (and for every
 * peer). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/shapes.h"

static uint64_t state;
static int random_below(int n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((state >> 33) % (uint64_t)n);
}
static void swap(int *a, int *b) {
    int t = *a;
    *a = *b;
    *b = t;
}

static void edge(eb_graph_t *g, int before, int after) {
    if (g->nedges == g->room) {
        g->room = g->room ? 2 * g->room : 1024;
        g->edge = realloc(g->edge, sizeof *g->edge * (size_t)g->room);
        if (!g->edge) abort();
    }
    g->edge[g->nedges][0] = before;
    g->edge[g->nedges++][1] = after;
}

/* As BM_executor of TensorFlow's executor_test: a random set of ready nodes joins in one, which feeds up to
 * `width` new ones; `depth` times. */
static void bm_executor(eb_graph_t *g, int width, int depth, int k) {
    (void)k;
    int *ready = malloc(sizeof *ready * (size_t)width * (size_t)(depth + 1)), n = 0;
    for (int r = 1 + random_below(width); r > 0; --r) ready[n++] = g->n++;
    for (int i = 0; i < depth; ++i) {
        for (int j = n - 1; j > 0; --j) swap(&ready[j], &ready[random_below(j + 1)]);
        int join = g->n++;
        for (int r = 1 + random_below(n); r > 0; --r) edge(g, ready[--n], join);
        for (int r = 1 + random_below(width); r > 0; --r) {
            edge(g, join, g->n);
            ready[n++] = g->n++;
        }
    }
    free(ready);
}

/* a nodes with b readers each. */
static void const_identity(eb_graph_t *g, int a, int b, int k) {
    (void)k;
    for (int i = 0; i < a; ++i) {
        int c = g->n++;
        for (int j = 0; j < b; ++j) edge(g, c, g->n++);
    }
}

static void chain(eb_graph_t *g, int n, int b, int k) {
    (void)b, (void)k;
    for (int i = 0; i < n; ++i, ++g->n)
        if (i) edge(g, i - 1, i);
}

/* One, n, one. */
static void fan(eb_graph_t *g, int n, int b, int k) {
    (void)b, (void)k;
    g->n = n + 2;
    for (int i = 1; i <= n; ++i) {
        edge(g, 0, i);
        edge(g, i, n + 1);
    }
}

/* Each node of a layer waits for k of the layer before, one out of each k-th part of it. */
static void layers(eb_graph_t *g, int width, int depth, int k) {
    if (k > width) k = width;
    for (int l = 0; l < depth; ++l)
        for (int i = 0; i < width; ++i, ++g->n)
            for (int j = 0; l && j < k; ++j)
                edge(g, (l - 1) * width + j * (width / k) + random_below(width / k), g->n);
}

/* One feeds n leaves, which join two by two at random. */
static void tree(eb_graph_t *g, int n, int b, int k) {
    (void)b, (void)k;
    int *open = malloc(sizeof *open * (size_t)n), left = n;
    g->n = n + 1;
    for (int i = 0; i < n; ++i) edge(g, 0, open[i] = i + 1);
    while (left > 1) {
        swap(&open[random_below(left)], &open[left - 1]);
        int x = random_below(left - 1);
        edge(g, open[--left], g->n);
        edge(g, open[x], g->n);
        open[x] = g->n++;
    }
    free(open);
}

static void diamonds(eb_graph_t *g, int n, int b, int k) {
    (void)b, (void)k;
    g->n = 1;
    for (int i = 0; i < n; ++i, g->n += 3) {
        edge(g, g->n - 1, g->n);
        edge(g, g->n - 1, g->n + 1);
        edge(g, g->n, g->n + 2);
        edge(g, g->n + 1, g->n + 2);
    }
}

static void wavefront(eb_graph_t *g, int w, int h, int k) {
    (void)k;
    g->n = w * h;
    for (int i = 0; i < h; ++i)
        for (int j = 0; j < w; ++j) {
            if (i) edge(g, (i - 1) * w + j, i * w + j);
            if (j) edge(g, i * w + j - 1, i * w + j);
        }
}

/* In-degree at most 3 for 99 % of the nodes, up to 23 for the others; producers lie near. */
static void lstm_like(eb_graph_t *g, int n, int b, int k) {
    (void)b, (void)k;
    enum { NEAR = 40, FEW = 3, MANY = 20 };
    g->n = n;
    for (int i = 1; i < n; ++i) {
        int in = random_below(100) ? 1 + random_below(FEW) : FEW + 1 + random_below(MANY),
            near = i < NEAR ? i : NEAR;
        int taken[NEAR] = {0};
        for (int j = 0; j < in && j < near; ++j) {
            int d = random_below(near);
            while (taken[d]) d = (d + 1) % near;
            taken[d] = 1;
            edge(g, i - 1 - d, i);
        }
    }
}

/* Modules of four chains of 1, 2, 3 and 2 nodes between a split and a concatenation. */
static void inception_like(eb_graph_t *g, int modules, int b, int k) {
    (void)b, (void)k;
    static const int length[] = {1, 2, 3, 2};
    g->n = 1;
    for (int m = 0; m < modules; ++m) {
        int from = g->n - 1, ends[4];
        for (int c = 0; c < 4; ++c) {
            ends[c] = from;
            for (int i = 0; i < length[c]; ++i, ++g->n) {
                edge(g, ends[c], g->n);
                ends[c] = g->n;
            }
        }
        for (int c = 0; c < 4; ++c) edge(g, ends[c], g->n);
        ++g->n;
    }
}

/* A chain of `links` nodes of 10 ms together beside `others` nodes of 1 us. */
static void skewed(eb_graph_t *g, int links, int others, int k) {
    enum { CHAIN_NS = 10000000, OTHER_NS = 1000 };
    g->n = links + others;
    g->ns = malloc(sizeof *g->ns * (size_t)g->n);
    for (int i = 0; i < others; ++i) g->ns[i] = OTHER_NS;
    for (int i = 0; i < links; ++i) {
        g->ns[others + i] = CHAIN_NS / (k ? k : links);
        if (i) edge(g, others + i - 1, others + i);
    }
}

const eb_shape_t eb_shapes[] = {
    {"bm_executor/16x1024", bm_executor, 16, 1024, 0, 4, 16},
    {"bm_executor/32x8192", bm_executor, 32, 8192, 0, 8, 16},
    {"bm_executor/1024x16", bm_executor, 1024, 16, 0, 32, 4},
    {"bm_executor/8192x32", bm_executor, 8192, 32, 0, 64, 4},
    {"bm_executor/1024x1024", bm_executor, 1024, 1024, 0, 16, 16},
    {"const_identity/1x1", const_identity, 1, 1, 0, 1, 1},
    {"const_identity/1x100", const_identity, 1, 100, 0, 1, 10},
    {"const_identity/100x1", const_identity, 100, 1, 0, 10, 1},
    {"const_identity/100x100", const_identity, 100, 100, 0, 7, 7},
    {"chain/1", chain, 1, 0, 0, 1, 0},
    {"chain/8", chain, 8, 0, 0, 8, 0},
    {"chain/64", chain, 64, 0, 0, 20, 0},
    {"chain/1024", chain, 1024, 0, 0, 40, 0},
    {"chain/8192", chain, 8192, 0, 0, 80, 0},
    {"fan/8", fan, 8, 0, 0, 8, 0},
    {"fan/64", fan, 64, 0, 0, 20, 0},
    {"fan/1024", fan, 1024, 0, 0, 50, 0},
    {"fan/8192", fan, 8192, 0, 0, 300, 0},
    {"layers/64x128/k1", layers, 64, 128, 1, 8, 8},
    {"layers/64x128/k3", layers, 64, 128, 3, 8, 8},
    {"layers/64x128/k8", layers, 64, 128, 8, 16, 4},
    {"layers/256x32/k1", layers, 256, 32, 1, 16, 4},
    {"layers/256x32/k3", layers, 256, 32, 3, 16, 4},
    {"layers/256x32/k8", layers, 256, 32, 8, 16, 4},
    {"tree/4096", tree, 4096, 0, 0, 64, 0},
    {"diamonds/2048", diamonds, 2048, 0, 0, 20, 0},
    {"wavefront/64x64", wavefront, 64, 64, 0, 8, 8},
    {"lstm_like/5000", lstm_like, 5000, 0, 0, 200, 0},
    {"inception_like/200", inception_like, 200, 0, 0, 5, 0},
    {"skewed/1x10ms", skewed, 1, 10000, 0, 1, 20},
    {"skewed/100x100us", skewed, 100, 10000, 0, 10, 20},
    {"skewed/10000x1us", skewed, 10000, 10000, 0, 20, 20},
};
const int eb_nshapes = sizeof eb_shapes / sizeof *eb_shapes;

void eb_graph_make_sized(eb_graph_t *g, const eb_shape_t *s, int a, int b, int k) {
    enum { SEED = 1729 };
    memset(g, 0, sizeof *g);
    state = SEED;
    s->make(g, a, b, k);
}
void eb_graph_make(eb_graph_t *g, const eb_shape_t *s, bool tiny) {
    eb_graph_make_sized(g, s, tiny ? s->tiny_a : s->a, tiny ? s->tiny_b : s->b, s->k);
}

void eb_graph_free(eb_graph_t *g) {
    free(g->edge);
    free(g->ns);
}

double eb_graph_critical(const eb_graph_t *g) {
    double *end = calloc((size_t)g->n, sizeof *end), longest = 0, work = 0;
    int *at = calloc((size_t)g->n + 2, sizeof *at), *to = malloc(sizeof *to * (size_t)(g->nedges + 1));
    for (int i = 0; i < g->nedges; ++i) ++at[g->edge[i][0] + 2];
    for (int i = 0; i < g->n; ++i) at[i + 2] += at[i + 1];
    for (int i = 0; i < g->nedges; ++i) to[at[g->edge[i][0] + 1]++] = g->edge[i][1];
    for (int i = 0; i < g->n; ++i) {
        double ns = g->ns ? g->ns[i] : 1;
        end[i] += ns;
        work += ns;
        if (end[i] > longest) longest = end[i];
        for (int j = at[i]; j < at[i + 1]; ++j)
            if (end[i] > end[to[j]]) end[to[j]] = end[i];
    }
    free(end);
    free(at);
    free(to);
    return longest / work;
}
