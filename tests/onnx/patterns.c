/* What exporters write out becomes the operators that it stands for: models as torch.onnx and tf2onnx make them, how many steps
 * of which kind are left, and the same results without fusion. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/object.h"
#include "common/primitive/op_desc.h"
#include "exec/run/executable.h"
#include "writing.h"

enum { B = 2, S = 6, H = 32, HEADS = 4, D = H / HEADS, ELEMS = B * S * H };

/* ---- Models from lines ------------------------------------------------------------------------------------------- */

static void put_ints_attr(bytes_t *n, const char *name, const char *list) {
    enum {
        NAME = 1,
        NUMBER = 2,
        INT = 3,
        INTS = 8,
        TYPE = 20,
        TYPE_FLOAT = 1,
        TYPE_INT = 2,
        TYPE_INTS = 7,
        FIXED32 = 5
    };
    static bytes_t a;
    a.n = 0;
    put_text(&a, NAME, name);
    const bool is_list = *list == '[';
    if (*list == '.') {
        const float v = strtof(list, NULL);
        put_varint(&a, NUMBER << 3 | FIXED32);
        memcpy(a.at + a.n, &v, sizeof v);
        a.n += sizeof v;
        put_int(&a, TYPE, TYPE_FLOAT);
        put_message(n, N_ATTR, &a);
        return;
    }
    for (const char *c = list; *c && *c != ']';) {
        char *end;
        const long v = strtol(c + (*c == '[' || *c == ','), &end, 10);
        put_int(&a, is_list ? INTS : INT, (uint64_t)(int64_t)v);
        c = end;
    }
    put_int(&a, TYPE, is_list ? TYPE_INTS : TYPE_INT);
    put_message(n, N_ATTR, &a);
}

/* "y = Op a b name=1 name=[0,2,1,3]"; "ms:Op" is of com.microsoft. */
static void put_line(bytes_t *g, const char *line) {
    static bytes_t n;
    char copy[256], *save = NULL;
    n.n = 0;
    (void)snprintf(copy, sizeof copy, "%s", line);
    const char *out = strtok_r(copy, " ", &save);
    (void)strtok_r(NULL, " ", &save); /* = */
    const char *op = strtok_r(NULL, " ", &save);
    for (char *word; (word = strtok_r(NULL, " ", &save));) {
        char *is = strchr(word, '=');
        if (!is) put_text(&n, N_INPUT, word);
    }
    const bool is_ms = !strncmp(op, "ms:", 3);
    put_text(&n, N_OUTPUT, out);
    put_text(&n, N_OP, op + (is_ms ? 3 : 0));
    if (is_ms) put_text(&n, N_DOMAIN, "com.microsoft");
    (void)snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok_r(strstr(copy, op), " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *is = strchr(word, '=');
        if (!is) continue;
        *is = 0;
        put_ints_attr(&n, word, is + 1);
    }
    put_message(g, G_NODE, &n);
}

static void put_number(bytes_t *g, const char *name, float value) {
    put_raw(g, name, FLOAT, 0, NULL, &value, sizeof value);
}

static void put_weights(bytes_t *g, const char *name, int ndims, const int64_t *dims, unsigned seed) {
    static float w[3 * H * H];
    size_t n = 1;
    for (int d = 0; d < ndims; ++d) n *= (size_t)dims[d];
    for (size_t i = 0; i < n; ++i) {
        seed = seed * 1664525U + 1013904223U;
        w[i] = (float)(seed >> 8) / (float)(1 << 24) - .4f;
    }
    put_raw(g, name, FLOAT, ndims, dims, w, n * sizeof *w);
}

typedef struct {
    const char *name;
    const char *lines[40];
    const char *kinds[4]; /* of the steps that are left, those of copies apart */
} row_t;

static const row_t rows[] = {
    /* torch.nn.GELU, opset 9 to 19 */
    {"gelu of torch",
     {"a = Div x sqrt2", "b = Erf a", "c = Add b one", "d = Mul x c", "y = Mul d half"},
     {"eltwise"}},
    {"gelu, half first",
     {"h = Mul x half", "a = Div x sqrt2", "b = Erf a", "c = Add b one", "y = Mul h c"},
     {"eltwise"}},
    /* approximate="tanh"; tf.nn.gelu(approximate=True) */
    {"gelu with tanh",
     {"h = Mul x half", "a = Pow x three", "b = Mul a cube", "c = Add x b", "d = Mul c k2pi", "e = Tanh d",
      "f = Add e one", "y = Mul h f"},
     {"eltwise"}},
    {"gelu with tanh of torch",
     {"h = Mul x half", "a = Mul x x", "a2 = Mul a x", "b = Mul a2 cube", "c = Add x b", "d = Mul c k2pi",
      "e = Tanh d", "f = Add e one", "y = Mul h f"},
     {"eltwise"}},
    {"SiLU", {"s = Sigmoid x", "y = Mul x s"}, {"eltwise"}},
    {"SiLU, gate first", {"s = Sigmoid x", "y = Mul s x"}, {"eltwise"}},
    /* torch.nn.Hardswish: opset 14 HardSwish, HardSigmoid before; Clip of MobileNet v3 and of tf2onnx */
    {"hard-swish", {"y = HardSwish x"}, {"eltwise"}},
    {"hard-swish of HardSigmoid", {"s = HardSigmoid x alpha=.16666667", "y = Mul x s"}, {"eltwise"}},
    {"hard-swish of Clip",
     {"a = Add x three", "b = Clip a zero six", "c = Div b six", "y = Mul x c"},
     {"eltwise"}},
    {"hard-swish, product first",
     {"a = Add x three", "b = Clip a zero six", "c = Mul x b", "y = Div c six"},
     {"eltwise"}},
    {"hard-swish of tf2onnx",
     {"a = Add x three", "b = Clip a zero six", "c = Mul b sixth", "y = Mul c x"},
     {"eltwise"}},
    /* Into the product before it. */
    {"linear, SiLU", {"p = MatMul x w", "l = Add p bias", "s = Sigmoid l", "y = Mul l s"}, {"matmul"}},
    {"linear, gelu",
     {"p = MatMul x w", "l = Add p bias", "a = Div l sqrt2", "b = Erf a", "c = Add b one", "d = Mul l c",
      "y = Mul d half"},
     {"matmul"}},
    /* As ONNX Runtime's optimiser writes a sum behind a product of more than two dimensions */
    {"Gemm between reshapes, gelu",
     {"r = Reshape x flat", "p = Gemm r w bias", "l = Reshape p join", "a = Div l sqrt2", "b = Erf a",
      "c = Add b one", "d = Mul l c", "y = Mul d half"},
     {"matmul"}},
    {"Gemm between reshapes, residual",
     {"r = Reshape x flat", "p = Gemm r w bias transB=1", "l = Reshape p join", "y = Add x l"},
     {"matmul"}},
    {"attention of Gemms",
     {"q0 = Reshape x flat",
      "k0 = Reshape x flat",
      "v0 = Reshape x flat",
      "q1 = Gemm q0 w bias",
      "k1 = Gemm k0 w2 bias",
      "v1 = Gemm v0 w3 bias",
      "q2 = Reshape q1 split",
      "k2 = Reshape k1 split",
      "v2 = Reshape v1 split",
      "q3 = Transpose q2 perm=[0,2,1,3]",
      "k3 = Transpose k2 perm=[0,2,3,1]",
      "v3 = Transpose v2 perm=[0,2,1,3]",
      "s = MatMul q3 k3",
      "s2 = Mul s root",
      "p = Softmax s2 axis=-1",
      "c = MatMul p v3",
      "c2 = Transpose c perm=[0,2,1,3]",
      "c3 = Reshape c2 flat",
      "c4 = Gemm c3 w bias",
      "c5 = Reshape c4 join",
      "y = Add c5 x"},
     {"matmul", "attention", "matmul"}},
    /* torch.nn.LayerNorm before opset 17, and from then on */
    {"layer norm of torch",
     {"m = ReduceMean x axes=[-1] keepdims=1", "d = Sub x m", "q = Pow d two",
      "v = ReduceMean q axes=[-1] keepdims=1", "e = Add v eps", "r = Sqrt e", "n = Div d r",
      "g = Mul n gamma", "y = Add g beta"},
     {"layer_normalization"}},
    {"layer norm, two differences",
     {"m = ReduceMean x axes=[2] keepdims=1", "d = Sub x m", "d2 = Sub x m", "q = Mul d2 d2",
      "v = ReduceMean q axes=[2] keepdims=1", "e = Add v eps", "r = Sqrt e", "i = Reciprocal r",
      "n = Mul d i", "g = Mul gamma n", "y = Add beta g"},
     {"layer_normalization"}},
    {"layer norm without scale",
     {"m = ReduceMean x axes=[-1] keepdims=1", "d = Sub x m", "q = Pow d two",
      "v = ReduceMean q axes=[-1] keepdims=1", "e = Add v eps", "r = Sqrt e", "y = Div d r"},
     {"layer_normalization"}},
    {"LayerNormalization", {"y = LayerNormalization x gamma beta"}, {"layer_normalization"}},
    /* transformers' LlamaRMSNorm and T5LayerNorm */
    {"root mean square",
     {"q = Pow x two", "v = ReduceMean q axes=[-1] keepdims=1", "e = Add v eps", "r = Sqrt e",
      "i = Div one r", "n = Mul x i", "y = Mul gamma n"},
     {"layer_normalization"}},
    {"root mean square, quotient",
     {"q = Mul x x", "v = ReduceMean q axes=[-1] keepdims=1", "e = Add v eps", "r = Sqrt e", "n = Div x r",
      "y = Mul n gamma"},
     {"layer_normalization"}},
    /* torch.nn.functional.scaled_dot_product_attention with heads of one projection each: q and k by sqrt(scale) each */
    {"attention, scales on both",
     {"q0 = MatMul x w", "k0 = MatMul x w2", "v0 = MatMul x w3", "q1 = Reshape q0 split",
      "k1 = Reshape k0 split", "v1 = Reshape v0 split", "q2 = Transpose q1 perm=[0,2,1,3]",
      "k2 = Transpose k1 perm=[0,2,3,1]", "v2 = Transpose v1 perm=[0,2,1,3]", "q3 = Mul q2 root",
      "k3 = Mul k2 root", "s = MatMul q3 k3", "p = Softmax s axis=-1", "c = MatMul p v2",
      "c2 = Transpose c perm=[0,2,1,3]", "y = Reshape c2 join"},
     {"matmul", "attention"}},
    {"attention, keys transposed twice",
     {"q0 = MatMul x w", "k0 = MatMul x w2", "v0 = MatMul x w3", "q1 = Reshape q0 split",
      "k1 = Reshape k0 split", "v1 = Reshape v0 split", "q2 = Transpose q1 perm=[0,2,1,3]",
      "k2 = Transpose k1 perm=[0,2,1,3]", "v2 = Transpose v1 perm=[0,2,1,3]",
      "k3 = Transpose k2 perm=[0,1,3,2]", "q4 = Mul q2 root", "k4 = Mul k3 root", "s = MatMul q4 k4",
      "p = Softmax s axis=-1", "c = MatMul p v2", "c2 = Transpose c perm=[0,2,1,3]", "y = Reshape c2 join"},
     {"matmul", "attention"}},
    {"attention, scores divided",
     {"q0 = MatMul x w", "k0 = MatMul x w2", "v0 = MatMul x w3", "q1 = Reshape q0 split",
      "k1 = Reshape k0 split", "v1 = Reshape v0 split", "q2 = Transpose q1 perm=[0,2,1,3]",
      "k2 = Transpose k1 perm=[0,2,3,1]", "v2 = Transpose v1 perm=[0,2,1,3]", "s = MatMul q2 k2",
      "s2 = Div s three", "p = Softmax s2 axis=-1", "c = MatMul p v2", "c2 = Transpose c perm=[0,2,1,3]",
      "y = Reshape c2 join"},
     {"matmul", "attention"}},
    /* What ONNX Runtime's optimisers write for these */
    {"BiasGelu", {"p = MatMul x w", "y = ms:BiasGelu p bias"}, {"matmul"}},
    {"QuickGelu", {"p = MatMul x w", "l = Add p bias", "y = ms:QuickGelu l"}, {"matmul"}},
    {"SkipLayerNormalization",
     {"p = MatMul x w", "y = ms:SkipLayerNormalization p x gamma beta bias"},
     {"matmul", "layer_normalization"}},
    {"FusedMatMul, gelu", {"p = ms:FusedMatMul x w alpha=.5 transB=1", "y = ms:Gelu p"}, {"matmul"}},
    {"Attention, residual",
     {"a = ms:Attention x qkv qkvb num_heads=4", "p = MatMul a w",
      "y = ms:SkipSimplifiedLayerNormalization p x gamma"},
     {"matmul", "attention", "matmul", "layer_normalization"}},
    {"MultiHeadAttention",
     {"q = MatMul x w", "k = MatMul x w2", "v = MatMul x w3",
      "y = ms:MultiHeadAttention q k v qkvb num_heads=4"},
     {"matmul", "attention"}},
};

static void model_of(bytes_t *m, const row_t *r) {
    static const int64_t shape[] = {B, S, H}, width[] = {H}, square[] = {H, H}, split[] = {B, S, HEADS, D},
                         join[] = {B, S, H}, wide[] = {H, 3 * H}, all[] = {3 * H}, flat[] = {B * S, H},
                         four_dims[] = {4}, three_dims[] = {3}, two_dims[] = {2};
    static const struct {
        const char *name;
        float value;
    } numbers[] = {{"sqrt2", 1.41421356f}, {"one", 1},     {"half", .5f},
                   {"three", 3},           {"two", 2},     {"cube", .044715f},
                   {"k2pi", .79788456f},   {"zero", 0},    {"six", 6},
                   {"sixth", 1.f / 6},     {"eps", 1e-5f}, {"root", .59460356f}};
    static bytes_t g;
    g.n = 0;
    for (int i = 0; r->lines[i]; ++i) put_line(&g, r->lines[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        put_number(&g, numbers[i].name, numbers[i].value);
    put_weights(&g, "gamma", 1, width, 1);
    put_weights(&g, "beta", 1, width, 2);
    put_weights(&g, "bias", 1, width, 3);
    put_weights(&g, "w", 2, square, 4);
    put_weights(&g, "qkv", 2, wide, 7);
    put_weights(&g, "qkvb", 1, all, 8);
    put_weights(&g, "w2", 2, square, 5);
    put_weights(&g, "w3", 2, square, 6);
    put_raw(&g, "split", INT64, 1, four_dims, split, sizeof split);
    put_raw(&g, "join", INT64, 1, three_dims, join, sizeof join);
    put_raw(&g, "flat", INT64, 1, two_dims, flat, sizeof flat);
    put_value(&g, G_INPUT, "x", FLOAT, 3, shape);
    put_value(&g, G_OUTPUT, "y", FLOAT, 3, shape);
    put_model(m, &g, 8, 17);
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

static void check_steps(const row_t *r, const struct dnnl_tp_executable *handle) {
    const dtp_exec_t *e = (const dtp_exec_t *)handle;
    int wanted = 0, have = 0;
    while (wanted < 4 && r->kinds[wanted]) ++wanted;
    for (int i = 0; i < e->nsteps; ++i) {
        const_dnnl_tp_primitive_t p = e->steps[i].work->prim[0];
        if (!p) continue;
        const char *kind = dtp_op_info(p->pd->op->kind)->name;
        if (have >= wanted || strcmp(kind, r->kinds[have]) != 0)
            fail_msg("%s: step %d is %s", r->name, have, kind);
        ++have;
    }
    if (have != wanted) fail_msg("%s: %d steps, not %d", r->name, have, wanted);
}

static void test_patterns(void **state) {
    (void)state;
    static bytes_t m;
    static float x[ELEMS], y[2][ELEMS];
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    CHECK_OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    CHECK_OK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    for (int i = 0; i < ELEMS; ++i) x[i] = (float)((i * 37) % 101) / 12.f - 4.f;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (unsigned plain = 0; plain < 2; ++plain) {
            dnnl_tp_graph_t graph;
            dnnl_tp_executable_t e;
            void *in[] = {x}, *out[] = {y[plain]};
            const dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts,
                                                 .flags = plain ? DNNL_TP_COMPILE_NO_FUSION : 0};
            model_of(&m, &rows[i]);
            if (import_with(&m, NULL, NULL, &graph)) fail_msg("%s: %s", rows[i].name, dnnl_tp_last_error());
            CHECK_OK(dnnl_tp_executable_compile(&e, graph, engine, 0, NULL, &opts));
            CHECK_OK(dnnl_tp_graph_destroy(graph));
            if (!plain) check_steps(&rows[i], e);
            CHECK_OK(dnnl_tp_executable_run(e, stream, 1, in, 1, out, NULL));
            CHECK_OK(dnnl_tp_executable_destroy(e));
        }
        for (int k = 0; k < ELEMS; ++k)
            if (!(fabsf(y[0][k] - y[1][k]) <= 2e-5f + 2e-5f * fabsf(y[1][k])))
                fail_msg("%s: element %d is %g, not %g", rows[i].name, k, (double)y[0][k], (double)y[1][k]);
    }
    CHECK_OK(dnnl_tp_stream_destroy(stream));
    CHECK_OK(dnnl_tp_engine_destroy(engine));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_patterns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
