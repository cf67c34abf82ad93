/* The importer on files made here: what is read, what is refused and why, hostile bytes, memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writing.h"

/* ---- What works ---------------------------------------------------------------------------------------------------- */

static void test_questions(void **state) {
    (void)state;
    static bytes_t m;
    bytes_t g = {.n = 0};
    put_node(&g, "Relu", "", "x", NULL, "y");
    put_text(&g, G_NAME, "g");
    put_value(&g, G_INPUT, "x", FLOAT16, 2, two_by_n);
    put_value(&g, G_OUTPUT, "y", FLOAT16, 2, two_by_n);
    put_model(&m, &g, 8, 17);
    dnnl_tp_onnx_model_t model;
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, NULL), dnnl_tp_success);
    dnnl_tp_onnx_model_info_t info = {.struct_size = sizeof info};
    assert_int_equal(dnnl_tp_onnx_query(model, &info), dnnl_tp_success);
    assert_int_equal(info.ir_version, 8);
    assert_int_equal(info.opset, 17);
    assert_int_equal(info.inputs, 1);
    assert_int_equal(info.outputs, 1);
    assert_int_equal(info.nodes, 1);
    assert_string_equal(info.name, "g");
    dnnl_tp_onnx_port_t port;
    assert_int_equal(dnnl_tp_onnx_input(model, 0, &port), dnnl_tp_success);
    assert_string_equal(port.name, "x");
    assert_int_equal(port.onnx_type, FLOAT16);
    assert_int_equal(port.info.data_type, dnnl_tp_f32);
    assert_int_equal(port.info.dims[0], 2);
    assert_true(port.info.dims[1] == DNNL_TP_RUNTIME_DIM_VAL);
    assert_string_equal(port.symbols[1], "n");
    assert_null(port.symbols[0]);
    assert_int_equal(dnnl_tp_onnx_input(model, 1, &port), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_onnx_output(model, 0, &port), dnnl_tp_success);
    /* The symbol gets a size, or the batch one. */
    const dnnl_tp_onnx_dim_t n = {"n", 5}, wrong = {"k", 5};
    dnnl_tp_onnx_graph_opts_t opts = {.struct_size = sizeof opts, .ndims = 1, .dims = &n, .batch = 3};
    dnnl_tp_value_t in, out;
    opts.inputs = &in;
    opts.outputs = &out;
    dnnl_tp_graph_t graph;
    dnnl_tp_tensor_info_t shape;
    assert_int_equal(dnnl_tp_onnx_graph_create(&graph, model, &opts), dnnl_tp_success);
    assert_int_equal(dnnl_tp_graph_value_info(graph, out, &shape), dnnl_tp_success);
    assert_int_equal(shape.dims[0], 3);
    assert_int_equal(shape.dims[1], 5);
    dnnl_tp_graph_destroy(graph);
    opts.dims = &wrong;
    assert_int_equal(dnnl_tp_onnx_graph_create(&graph, model, &opts), dnnl_tp_invalid_arguments);
    assert_null(graph);
    dnnl_tp_onnx_close(model);
}

/* What a file says about its model. */
static void test_metadata(void **state) {
    (void)state;
    enum { M_DOMAIN = 4, M_VERSION = 5, M_TEXT = 6, M_PROPERTY = 14, G_TEXT = 10, KEY = 1, VALUE = 2 };
    static bytes_t m;
    bytes_t g = {.n = 0}, p = {.n = 0};
    put_node(&g, "Relu", "", "x", NULL, "y");
    put_value(&g, G_INPUT, "x", FLOAT, 2, two_by_n);
    put_value(&g, G_OUTPUT, "y", FLOAT, 2, two_by_n);
    put_model(&m, &g, 8, 17);
    dnnl_tp_onnx_model_t model;
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, NULL), dnnl_tp_success);
    dnnl_tp_onnx_metadata_t d = {.struct_size = sizeof d};
    assert_int_equal(dnnl_tp_onnx_metadata(model, &d), dnnl_tp_success);
    assert_string_equal(d.domain, "");
    assert_string_equal(d.description, "");
    assert_string_equal(d.graph_description, "");
    assert_int_equal(d.has_version, 0);
    assert_int_equal(d.properties, 0);
    const char *key, *value;
    assert_int_equal(dnnl_tp_onnx_property(model, 0, &key, &value), dnnl_tp_invalid_arguments);
    assert_null(key);
    dnnl_tp_onnx_close(model);
    put_text(&g, G_TEXT, "of the graph");
    put_model(&m, &g, 8, 17);
    put_text(&m, M_DOMAIN, "org.example");
    put_int(&m, M_VERSION, (uint64_t)-3);
    put_text(&m, M_TEXT, "of the model");
    put_text(&p, KEY, "names");
    put_text(&p, VALUE, "a\nb");
    put_message(&m, M_PROPERTY, &p);
    p.n = 0;
    put_text(&p, KEY, "none");
    put_message(&m, M_PROPERTY, &p);
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, NULL), dnnl_tp_success);
    assert_int_equal(dnnl_tp_onnx_metadata(model, &d), dnnl_tp_success);
    assert_string_equal(d.domain, "org.example");
    assert_string_equal(d.description, "of the model");
    assert_string_equal(d.graph_description, "of the graph");
    assert_int_equal(d.has_version, 1);
    assert_int_equal(d.version, -3);
    assert_int_equal(d.properties, 2);
    assert_int_equal(dnnl_tp_onnx_property(model, 0, &key, &value), dnnl_tp_success);
    assert_string_equal(key, "names");
    assert_string_equal(value, "a\nb");
    assert_int_equal(dnnl_tp_onnx_property(model, 1, &key, &value), dnnl_tp_success);
    assert_string_equal(value, "");
    assert_int_equal(dnnl_tp_onnx_property(model, 2, &key, &value), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_onnx_property(model, -1, &key, &value), dnnl_tp_invalid_arguments);
    d.struct_size = 1;
    assert_int_equal(dnnl_tp_onnx_metadata(model, &d), dnnl_tp_invalid_arguments);
    dnnl_tp_onnx_close(model);
}

static void test_runs(void **state) {
    (void)state;
    static bytes_t m;
    small(&m, "Add", "w", 8, 17);
    runs(&m, NULL, NULL, one_to_four, doubled, 4);
    small(&m, "Add", "w", 14, 28);
    runs(&m, NULL, NULL, one_to_four, doubled, 4);
}

/* Weights in every form: raw and as a list, halves, bytes in int32_data. */
static void test_weights(void **state) {
    (void)state;
    static bytes_t m;
    const uint16_t halves[] = {0x3c00, 0x4000, 0x4200, 0x4400};
    bytes_t g = {.n = 0}, t = {.n = 0};
    put_node(&g, "Add", "", "x", "w", "y");
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    const size_t common = g.n;
    put_raw(&g, "w", FLOAT16, 1, four, halves, sizeof halves);
    put_model(&m, &g, 8, 17);
    runs(&m, NULL, NULL, one_to_four, doubled, 4);

    g.n = common;
    put_int(&t, T_DIMS, 4);
    put_int(&t, T_TYPE, FLOAT);
    put_text(&t, T_NAME, "w");
    const size_t head = t.n;
    put_bytes(&t, T_FLOATS, one_to_four, sizeof one_to_four);
    put_message(&g, G_INITIALIZER, &t);
    put_model(&m, &g, 8, 17);
    runs(&m, NULL, NULL, one_to_four, doubled, 4);

    /* Too few of them, and the other list. */
    g.n = common;
    t.n = head;
    put_bytes(&t, T_FLOATS, one_to_four, sizeof(float));
    put_message(&g, G_INITIALIZER, &t);
    put_model(&m, &g, 8, 17);
    refused(&m, dnnl_tp_invalid_graph, "initializer 'w' of type FLOAT: the list of elements");
}

/* y = reader(w of INT4, scale 1) + x; the data of w in raw bytes or in the list, of as many bytes. reader NULL: y = w + x */
static void put_stored(bytes_t *m, const char *reader, bool raw, size_t bytes) {
    static const uint8_t one_to_four_packed[] = {0x21, 0x43, 0};
    static const float one = 1;
    bytes_t g = {.n = 0}, t = {.n = 0};
    if (reader) put_node(&g, reader, "", "w", "one", "d");
    put_node(&g, "Add", "", reader ? "d" : "w", "x", "y");
    put_int(&t, T_DIMS, 4);
    put_int(&t, T_TYPE, INT4);
    put_bytes(&t, raw ? T_RAW : T_INTS, one_to_four_packed, bytes);
    put_text(&t, T_NAME, "w");
    put_message(&g, G_INITIALIZER, &t);
    put_raw(&g, "one", FLOAT, 0, NULL, &one, sizeof one);
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    put_model(m, &g, 10, 21);
}

/* Types that files store and only conversions read. */
static void test_stored(void **state) {
    (void)state;
    static bytes_t m;
    for (int raw = 0; raw < 2; ++raw) {
        put_stored(&m, "DequantizeLinear", raw, 2);
        runs(&m, NULL, NULL, one_to_four, doubled, 4);
        put_stored(&m, "CastLike", raw, 2);
        runs(&m, NULL, NULL, one_to_four, doubled, 4);
        for (size_t bytes = 1; bytes < 4; bytes += 2) {
            put_stored(&m, "CastLike", raw, bytes);
            refused(&m, dnnl_tp_invalid_graph, "initializer 'w' of type INT4: the");
        }
    }
    put_stored(&m, NULL, true, 2);
    refused(&m, dnnl_tp_invalid_data_type, "src0 has type s8, src1 f32"); /* Add of INT4 and FLOAT */
    put_stored(&m, "PRelu", true, 2);
    refused(&m, dnnl_tp_unimplemented,
            "node of 'd' (PRelu): its input 0 is INT4, which this operator does not read");
}

/* An initializer that is an input, too, is a constant unless it is fed; an input may be fixed. */
static void test_defaults(void **state) {
    (void)state;
    static bytes_t m;
    with_default(&m);
    runs(&m, NULL, NULL, one_to_four, doubled, 4);
    const dnnl_tp_tensor_info_t shape = {.ndims = 1, .dims = {4}, .data_type = dnnl_tp_f32};
    const dnnl_tp_onnx_value_t x = {"x", shape, one_to_four};
    const char *const fed[] = {"w"};
    const dnnl_tp_onnx_graph_opts_t opts = {
        .struct_size = sizeof opts, .nvalues = 1, .values = &x, .nfed = 1, .fed = fed};
    runs(&m, NULL, &opts, one_to_four, doubled, 4); /* the one input is w */
}

/* PRelu of slopes that are infinite, constant and fed: what is not below 0 stays; TopK of the smallest has NaN last. */
static void test_special_values(void **state) {
    (void)state;
    static bytes_t m;
    static const float x[4] = {1, 0, 3, -2}, want[4] = {1, 0, 3, -4};
    static const float slopes[4] = {INFINITY, INFINITY, -INFINITY, 2};
    bytes_t g = {.n = 0}, n = {.n = 0}, a = {.n = 0};
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    put_node(&g, "PRelu", "p", "x", "w", "y");
    put_raw(&g, "w", FLOAT, 1, four, slopes, sizeof slopes);
    put_model(&m, &g, 8, 17);
    runs(&m, NULL, NULL, x, want, 4);
    g.n = 0; /* the slopes are computed: 1, inf, 1, -2.5 */
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    put_raw(&g, "c", FLOAT, 1, four, (const float[]){1, 1, 3, 5}, sizeof want);
    put_node(&g, "Div", "d", "c", "x", "w");
    put_node(&g, "PRelu", "p", "x", "w", "y");
    put_model(&m, &g, 8, 17);
    runs(&m, NULL, NULL, x, (const float[]){1, 0, 3, 5}, 4);

    static const int64_t three[1] = {3}, one[1] = {1};
    g.n = 0;
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, three);
    put_raw(&g, "k", INT64, 1, one, three, sizeof three);
    put_text(&a, 1, "largest");
    put_int(&a, 3, 0);
    put_int(&a, 20, 2);
    put_text(&n, N_INPUT, "x");
    put_text(&n, N_INPUT, "k");
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OUTPUT, "i");
    put_text(&n, N_OP, "TopK");
    put_message(&n, N_ATTR, &a);
    put_message(&g, G_NODE, &n);
    put_model(&m, &g, 8, 17);
    runs(&m, NULL, NULL, (const float[]){3, NAN, 1, 2}, (const float[]){1, 2, 3}, 3);
}

/* A slice backward from in front of the first element: the standard moves its start onto that one. */
static void test_slice_backward(void **state) {
    (void)state;
    static bytes_t m;
    static const int64_t one[1] = {1}, start[1] = {-9}, end[1] = {-1000000}, axis[1] = {0}, step[1] = {-1};
    const struct {
        const char *name;
        const int64_t *data;
    } in[] = {{"starts", start}, {"ends", end}, {"axes", axis}, {"steps", step}};
    bytes_t g = {.n = 0}, n = {.n = 0};
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, one);
    put_text(&n, N_INPUT, "x");
    for (size_t i = 0; i < sizeof in / sizeof *in; ++i) {
        put_raw(&g, in[i].name, INT64, 1, one, in[i].data, sizeof(int64_t));
        put_text(&n, N_INPUT, in[i].name);
    }
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "Slice");
    put_message(&g, G_NODE, &n);
    put_model(&m, &g, 8, 17);
    runs(&m, NULL, NULL, (const float[]){5, 6, 7, 8}, (const float[]){5}, 1);
}

/* A function of the model, called with an overload that Debian's onnx.proto does not know. */
static void test_functions(void **state) {
    (void)state;
    static bytes_t m;
    bytes_t g = {.n = 0}, n = {.n = 0}, f = {.n = 0}, o = {.n = 0};
    put_text(&n, N_INPUT, "x");
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "Double");
    put_text(&n, N_DOMAIN, "mine");
    put_text(&n, N_OVERLOAD, "v");
    put_message(&g, G_NODE, &n);
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    put_model(&m, &g, 10, 17);
    refused(&m, dnnl_tp_invalid_graph, "node of 'y' (Double): the model does not import the domain 'mine'");
    for (int overload = 0; overload < 2; ++overload) {
        f.n = n.n = o.n = 0;
        put_text(&f, 1, "Double");
        put_text(&f, 4, "a");
        put_text(&f, 5, "b");
        put_text(&n, N_INPUT, "a");
        put_text(&n, N_INPUT, "a");
        put_text(&n, N_OUTPUT, "b");
        put_text(&n, N_OP, "Add");
        put_message(&f, 7, &n);
        put_int(&o, 2, 17);
        put_message(&f, 9, &o);
        put_text(&f, 10, "mine");
        if (overload) put_text(&f, 13, "v");
        put_message(&m, M_FUNCTION, &f);
        if (overload) runs(&m, NULL, NULL, one_to_four, doubled, 4);
        else refused(&m, dnnl_tp_invalid_graph, "does not import"); /* another function than the one called */
    }
}

/* ---- What is refused ------------------------------------------------------------------------------------------------ */

static void test_versions(void **state) {
    (void)state;
    static bytes_t m;
    m.n = 0;
    refused(&m, dnnl_tp_invalid_graph, "the model is empty");
    put_text(&m, 2, "a producer");
    refused(&m, dnnl_tp_invalid_graph, "no IR version");
    small(&m, "Add", "w", 2, 17);
    refused(&m, dnnl_tp_unimplemented, "IR version 2");
    small(&m, "Add", "w", 15, 17);
    refused(&m, dnnl_tp_unimplemented, "IR version 15");
    small(&m, "Add", "w", 8, 29);
    refused(&m, dnnl_tp_unimplemented, "version 29");
    small(&m, "Nonsense", "w", 8, 17);
    refused(&m, dnnl_tp_unimplemented,
            "node 'the node' (Nonsense): this operator is not implemented in version 17");
    small(&m, "RMSNormalization", "w", 8, 16);
    refused(&m, dnnl_tp_unimplemented, "(RMSNormalization): this operator is not implemented in version 16");
}

static void test_graphs(void **state) {
    (void)state;
    static bytes_t m;
    bytes_t g = {.n = 0};
    small(&m, "Add", "nowhere", 8, 17);
    refused(&m, dnnl_tp_invalid_graph,
            "node 'the node' (Add): its input 'nowhere' is made by no node before it");
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    const size_t head = g.n;
    put_node(&g, "Add", "first", "x", "b", "a"); /* a cycle */
    put_node(&g, "Add", "second", "x", "a", "b");
    put_model(&m, &g, 8, 17);
    refused(&m, dnnl_tp_invalid_graph, "node 'first' (Add): its input 'b'");
    g.n = head;
    put_node(&g, "Relu", "first", "x", NULL, "y");
    put_node(&g, "Relu", "second", "x", NULL, "y");
    put_model(&m, &g, 8, 17);
    refused(&m, dnnl_tp_invalid_graph, "'y' is defined twice");
    g.n = head;
    put_node(&g, "Relu", "first", "x", NULL, "z");
    put_model(&m, &g, 8, 17);
    refused(&m, dnnl_tp_invalid_graph, "the output 'y' is made by no node");
    g.n = head;
    put_node(&g, "MatMul", "first", "x", "w", "y");
    put_raw(&g, "w", FLOAT, 2, (const int64_t[]){2, 2}, one_to_four, sizeof one_to_four);
    put_model(&m, &g, 8, 17);
    refused(&m, dnnl_tp_invalid_shape, "node 'first' (MatMul): ");
    const dnnl_tp_onnx_graph_opts_t opts = {.struct_size = sizeof opts, .max_nodes = 1};
    dnnl_tp_graph_t graph;
    g.n = head;
    put_node(&g, "Relu", "first", "x", NULL, "z");
    put_node(&g, "Relu", "second", "z", NULL, "y");
    put_model(&m, &g, 8, 17);
    assert_int_equal(import_with(&m, NULL, &opts, &graph), dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "node 'second' (Relu): the model has more nodes"));
}

static void test_attributes(void **state) {
    (void)state;
    static bytes_t m;
    bytes_t g = {.n = 0}, n = {.n = 0}, a = {.n = 0};
    put_text(&a, 1, "alpha");
    put_int(&a, 3, 2);
    put_int(&a, 20, 2);
    put_text(&n, N_INPUT, "x");
    put_text(&n, N_OUTPUT, "y");
    put_text(&n, N_OP, "Relu");
    put_message(&n, N_ATTR, &a);
    put_message(&g, G_NODE, &n);
    put_value(&g, G_INPUT, "x", FLOAT, 1, four);
    put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
    put_model(&m, &g, 8, 17);
    refused(&m, dnnl_tp_unimplemented, "node of 'y' (Relu): its attribute 'alpha' is not known");
    put_text(&n, N_OP, "Elu");
    g.n = 0;
    put_message(&g, G_NODE, &n);
    put_model(&m, &g, 8, 17);
    refused(&m, dnnl_tp_invalid_graph, "op_type is given twice");
}

/* Dimensions that are negative, whose product overflows, that need more than there is. */
static void test_sizes(void **state) {
    (void)state;
    static bytes_t m;
    static const int64_t dims[][3] = {{-4, 1, 1},
                                      {INT64_MAX, INT64_MAX, 4},
                                      {(int64_t)1 << 32, (int64_t)1 << 32, 0},
                                      {1 << 30, 1 << 20, 1},
                                      {5, 1, 1}};
    static const char *const texts[] = {"a dimension is negative", "too large", "too large",
                                        "not as many bytes", "not as many bytes"};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; ++i) {
        bytes_t g = {.n = 0};
        put_node(&g, "Add", "", "x", "w", "y");
        put_value(&g, G_INPUT, "x", FLOAT, 1, four);
        put_value(&g, G_OUTPUT, "y", FLOAT, 1, four);
        put_raw(&g, "w", FLOAT, 3, dims[i], one_to_four, sizeof one_to_four);
        put_model(&m, &g, 8, 17);
        refused(&m, dnnl_tp_invalid_graph, texts[i]);
    }
    /* A constant that an operator asks for. */
    bytes_t g = {.n = 0};
    static const int64_t huge[] = {1 << 20, 1 << 20};
    put_node(&g, "ConstantOfShape", "big", "s", NULL, "y");
    put_raw(&g, "s", INT64, 1, (const int64_t[]){2}, huge, sizeof huge);
    put_value(&g, G_OUTPUT, "y", FLOAT, 2, two_by_n);
    put_model(&m, &g, 8, 17);
    refused(&m, dnnl_tp_invalid_graph, "node 'big' (ConstantOfShape): a constant is too large");
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------------ */

/* Every beginning of a file, and every file with one byte changed, is refused or imported, and nothing else happens. */
static void test_truncated(void **state) {
    (void)state;
    static bytes_t m, part;
    dnnl_tp_graph_t graph;
    small(&m, "Add", "w", 8, 17);
    for (size_t n = 0; n < m.n; ++n) {
        part = m;
        part.n = n;
        assert_int_not_equal(import_with(&part, NULL, NULL, &graph), dnnl_tp_success);
        part.n = m.n;
        for (int bit = 0; bit < 8; ++bit) {
            part.at[n] = (uint8_t)(m.at[n] ^ 1 << bit);
            if (!import_with(&part, NULL, NULL, &graph)) dnnl_tp_graph_destroy(graph);
        }
    }
}

static void test_bytes(void **state) {
    (void)state;
    static bytes_t m, inner;
    /* Nested graphs: attribute g of a node of a graph. */
    inner.n = 0;
    for (int i = 0; i < 40; ++i) {
        static bytes_t a, n;
        a.n = n.n = 0;
        put_message(&a, 6, &inner);
        put_message(&n, N_ATTR, &a);
        inner.n = 0;
        put_message(&inner, G_NODE, &n);
    }
    put_model(&m, &inner, 8, 17);
    refused(&m, dnnl_tp_invalid_graph, "nested more than 64 deep");
#define LFS "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n"
    /* A length beyond the end of the file or of a message, a pointer of Git LFS, a group, field 0, a wrong wire type, a field of the future, a zero byte in a name. */
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } rows[] = {{"\x3a\xff\xff\xff\xff\x0f", 6,
                 "cut off at byte 6: the graph of 4294967295 bytes that begins at byte 6"},
                {"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "cut off at byte 11"},
                {"\x3a\x02\x0a\x7f", 4, "reaches beyond"},
                {"\x3a\x02\x0a\x7f", 4, "onnx: this is not an ONNX file (byte "},
                {LFS, sizeof LFS - 1, "a git-lfs pointer"},
                {"\x0b\x0c", 2, "wire type"},
                {"\x02\x00", 2, "tag"},
                {"\x08", 1, "number is cut off"},
                {"\x0a\x00", 2, "another wire type"},
                {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, "too long"},
                {"\xd2\x01\x00", 3, "field with number 26"},
                {"\x12\x03\x61\x00\x62", 5, "zero byte"},
                {"\x08\x08\x08\x08", 4, "given twice"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        m.n = rows[i].n;
        memcpy(m.at, rows[i].bytes, m.n);
        refused(&m, dnnl_tp_invalid_graph, rows[i].text);
    }
    /* Two bytes that cost some hundred each: more than the caller allows. */
    dnnl_tp_graph_t graph;
    bytes_t g = {.n = 0};
    for (int i = 0; i < 10000; ++i) put_bytes(&g, G_NODE, NULL, 0);
    put_model(&m, &g, 8, 17);
    const dnnl_tp_onnx_open_opts_t open = {.struct_size = sizeof open, .max_bytes = 1 << 20};
    assert_int_equal(import_with(&m, &open, NULL, &graph), dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "needs more than 1048576 bytes"));
}

/* ---- Memory -------------------------------------------------------------------------------------------------------------- */

static void test_out_of_memory(void **state) {
    (void)state;
    static bytes_t m;
    small(&m, "Add", "w", 8, 17);
    assert_true(fails_by_allocation(import_and_destroy, &m, false) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions),      cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_runs),           cmocka_unit_test(test_weights),
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_special_values),
        cmocka_unit_test(test_slice_backward), cmocka_unit_test(test_functions),
        cmocka_unit_test(test_versions),       cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_attributes),     cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_truncated),      cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_out_of_memory),  cmocka_unit_test(test_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
