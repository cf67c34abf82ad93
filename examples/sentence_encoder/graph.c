/* See graph.h. The operators of BERT one by one, as its papers draw them: fusing, packing, choosing layouts
 * and splitting work are the library's business. */
#include "graph.h"

#include <string.h>

/* A building call that fails leaves its text and turns the calls after it into no-ops, so that the network
 * below reads like one. */
typedef struct {
    dnnl_tp_graph_t graph;
    const se_model_t *model;
    se_error_t *error;
    int failed;
} builder_t;

enum { NONE = -1 };

static void check(builder_t *b, dnnl_tp_status_t status, const char *what) {
    if (status == dnnl_tp_success || b->failed) return;
    b->failed = 1;
    se_fail(b->error, "graph: %s: %s: %s", what, dnnl_tp_status2str(status), dnnl_tp_last_error());
}

static dnnl_tp_value_t constant(builder_t *b, const se_tensor_t *tensor) {
    dnnl_tp_value_t value = NONE;
    dnnl_tp_dims_t dims = {0};
    if (b->failed) return NONE;
    for (int i = 0; i < tensor->ndims; ++i) dims[i] = tensor->dims[i];
    /* Old files do not align their data; the library wants aligned floats. */
    int aligned = (uintptr_t)tensor->data % sizeof(float) == 0;
    check(b,
          dnnl_tp_graph_constant(b->graph, &value, tensor->name, dnnl_tp_f32, tensor->ndims, dims,
                                 tensor->data, aligned ? DNNL_TP_CONSTANT_BORROW : DNNL_TP_CONSTANT_COPY,
                                 NULL, NULL),
          tensor->name);
    return value;
}

static dnnl_tp_value_t op(builder_t *b, dnnl_tp_op_kind_t kind, const char *name, int nin,
                          const dnnl_tp_value_t *in, int nattr, const dnnl_tp_op_attr_t *attr) {
    dnnl_tp_value_t out = NONE;
    if (b->failed) return NONE;
    check(b, dnnl_tp_graph_op(b->graph, kind, name, nin, in, nattr, attr, 1, &out), name);
    return out;
}

static dnnl_tp_value_t gather(builder_t *b, const char *name, dnnl_tp_value_t table, dnnl_tp_value_t ids) {
    return op(b, dnnl_tp_op_gather, name, 2, (dnnl_tp_value_t[]){table, ids}, 0, NULL);
}

static dnnl_tp_value_t add(builder_t *b, const char *name, dnnl_tp_value_t x, dnnl_tp_value_t y) {
    return op(b, dnnl_tp_op_add, name, 2, (dnnl_tp_value_t[]){x, y}, 0, NULL);
}

/* x W^T + bias: weights lie in the file as {out, in}. */
static dnnl_tp_value_t linear(builder_t *b, const char *name, dnnl_tp_value_t x, const se_pair_t *p) {
    static const uint8_t yes = 1;
    dnnl_tp_op_attr_t transpose = {dnnl_tp_op_attr_transpose_b, dnnl_tp_op_attr_bool, 1, &yes};
    dnnl_tp_value_t in[] = {x, constant(b, p->weight), constant(b, p->bias)};
    return op(b, dnnl_tp_op_matmul, name, 3, in, 1, &transpose);
}

static dnnl_tp_value_t norm(builder_t *b, const char *name, dnnl_tp_value_t x, const se_pair_t *p) {
    float epsilon = (float)b->model->norm_eps;
    dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_epsilon, dnnl_tp_op_attr_f32, 1, &epsilon};
    dnnl_tp_value_t in[] = {x, constant(b, p->weight), constant(b, p->bias)};
    return op(b, dnnl_tp_op_layer_norm, name, 3, in, 1, &attr);
}

static dnnl_tp_value_t layer(builder_t *b, const se_layer_t *l, dnnl_tp_value_t x, dnnl_tp_value_t offsets) {
    int64_t heads = b->model->heads;
    dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_heads, dnnl_tp_op_attr_s64, 1, &heads};
    dnnl_tp_value_t qkv[] = {linear(b, "query", x, &l->query), linear(b, "key", x, &l->key),
                             linear(b, "value", x, &l->value), NONE, offsets};
    dnnl_tp_value_t y = op(b, dnnl_tp_op_attention, "attention", offsets == NONE ? 3 : 5, qkv, 1, &attr);
    y = linear(b, "attention_output", y, &l->attention_out);
    x = norm(b, "attention_norm", add(b, "attention_residual", y, x), &l->attention_norm);
    y = linear(b, "intermediate", x, &l->intermediate);
    y = op(b, dnnl_tp_op_gelu, "gelu", 1, &y, 0, NULL);
    y = linear(b, "output", y, &l->out);
    return norm(b, "output_norm", add(b, "residual", y, x), &l->out_norm);
}

/* A sentence is all of type 0: that row is added to the position table once, here, not to every token. */
static dnnl_tp_value_t position_table(builder_t *b) {
    const se_model_t *m = b->model;
    dnnl_tp_value_t value = NONE;
    size_t cols = (size_t)m->hidden, n = (size_t)m->positions * cols;
    float *table = se_alloc_array(n, sizeof *table), type;
    if (!table) {
        b->failed = 1;
        se_fail_memory(b->error);
        return NONE;
    }
    memcpy(table, m->position_table->data, n * sizeof *table);
    for (size_t i = 0; i < n; ++i) {
        memcpy(&type, (const char *)m->type_table->data + i % cols * sizeof type, sizeof type);
        table[i] += type;
    }
    dnnl_tp_dims_t dims = {m->positions, m->hidden};
    check(b,
          dnnl_tp_graph_constant(b->graph, &value, "positions_and_type", dnnl_tp_f32, 2, dims, table,
                                 DNNL_TP_CONSTANT_COPY, NULL, NULL),
          "position table");
    se_free(table);
    return value;
}

int se_graph_build(dnnl_tp_graph_t *graph, const se_model_t *model, int packed, se_error_t *error) {
    builder_t b = {NULL, model, error, 0};
    const dnnl_tp_dims_t any = {DNNL_TP_RUNTIME_DIM_VAL, DNNL_TP_RUNTIME_DIM_VAL};
    dnnl_tp_value_t ids = NONE, positions = NONE, offsets = NONE;
    int ndims = packed ? 1 : 2;
    check(&b, dnnl_tp_graph_create(&b.graph, dnnl_tp_cpu), "create");
    check(&b, dnnl_tp_graph_set_name(b.graph, "encoder"), "name");
    if (b.failed) goto fail;
    check(&b, dnnl_tp_graph_input(b.graph, &ids, "ids", dnnl_tp_s32, ndims, any), "ids");
    check(&b, dnnl_tp_graph_input(b.graph, &positions, "positions", dnnl_tp_s32, ndims, any), "positions");
    if (packed) check(&b, dnnl_tp_graph_input(b.graph, &offsets, "offsets", dnnl_tp_s32, 1, any), "offsets");

    dnnl_tp_value_t x = add(&b, "embeddings", gather(&b, "words", constant(&b, model->word_table), ids),
                            gather(&b, "positions", position_table(&b), positions));
    x = norm(&b, "embedding_norm", x, &model->embedding_norm);
    for (int64_t i = 0; i < model->layers; ++i) x = layer(&b, &model->layer[i], x, offsets);
    dnnl_tp_value_t pool[] = {x, NONE, offsets};
    x = op(&b, dnnl_tp_op_pool_normalize, "pool", packed ? 3 : 1, pool, 0, NULL);
    if (!b.failed) check(&b, dnnl_tp_graph_output(b.graph, x, "embeddings"), "output");
    if (b.failed) goto fail;
    *graph = b.graph;
    return 0;
fail:
    if (b.graph) dnnl_tp_graph_destroy(b.graph);
    *graph = NULL;
    return -1;
}
