/* Labels of classifiers and keys of maps (ai.onnx.ml), which a file has as texts or as numbers. */
#include "writing.h"

/* A node of the domain ai.onnx.ml with one attribute. */
static void put_classic(bytes_t *g, bytes_t *n, const bytes_t *attr) {
    put_text(n, N_DOMAIN, "ai.onnx.ml");
    put_message(n, N_ATTR, attr);
    put_message(g, G_NODE, n);
}

/* Opens a model that imports this domain, too. */
static dnnl_tp_onnx_model_t open_classic(const bytes_t *g) {
    static bytes_t m;
    bytes_t o = {.n = 0};
    dnnl_tp_onnx_model_t model = NULL;
    m.n = 0;
    put_model(&m, g, 8, 17);
    put_text(&o, 1, "ai.onnx.ml");
    put_int(&o, 2, 1);
    put_message(&m, M_OPSET, &o);
    assert_int_equal(dnnl_tp_onnx_open_memory(&model, m.at, m.n, NULL), dnnl_tp_success);
    return model;
}

/* Texts of labels, for an output that is another name of them; of another type it has none. */
static void test_label_texts(void **state) {
    (void)state;
    enum { A_STRINGS = 9, STRINGS = 8 };
    for (int texts = 0; texts < 2; ++texts) {
        bytes_t g = {.n = 0}, n = {.n = 0}, a = {.n = 0};
        put_text(&n, N_INPUT, "x");
        put_text(&n, N_OUTPUT, "label");
        put_text(&n, N_OP, "LinearClassifier");
        put_text(&a, A_NAME, "classlabels_strings");
        put_text(&a, A_STRINGS, "one");
        put_text(&a, A_STRINGS, "four");
        put_int(&a, A_TYPE, STRINGS);
        put_classic(&g, &n, &a);
        put_node(&g, "Identity", "", "label", NULL, "z");
        put_value(&g, G_INPUT, "x", FLOAT, 2, (const int64_t[]){2, 2});
        put_value(&g, G_OUTPUT, "z", texts ? STRING : INT64, 1, (const int64_t[]){2});
        const dnnl_tp_onnx_model_t model = open_classic(&g);
        int64_t number;
        const char *key;
        size_t bytes;
        const dnnl_tp_status_t status = dnnl_tp_onnx_map_key(model, 0, 1, &number, &key, &bytes);
        assert_int_equal(status, texts ? dnnl_tp_success : dnnl_tp_invalid_arguments);
        if (texts) {
            assert_int_equal(bytes, 4);
            assert_memory_equal(key, "four", 4);
        }
        dnnl_tp_onnx_close(model);
    }
}

/* Keys of the maps that ZipMap makes, numbers or texts. */
static void test_map_keys(void **state) {
    (void)state;
    enum { A_INTS = 8, A_STRINGS = 9, INTS = 7, STRINGS = 8 };
    for (int texts = 0; texts < 2; ++texts) {
        bytes_t g = {.n = 0}, n = {.n = 0}, a = {.n = 0};
        put_node(&g, "Softmax", "", "x", NULL, "y");
        put_text(&n, N_INPUT, "y");
        put_text(&n, N_OUTPUT, "z");
        put_text(&n, N_OP, "ZipMap");
        put_text(&a, A_NAME, texts ? "classlabels_strings" : "classlabels_int64s");
        for (int i = 0; i < 2; ++i)
            if (texts) put_text(&a, A_STRINGS, i ? "two" : "");
            else put_int(&a, A_INTS, i ? (uint64_t)-7 : 5);
        put_int(&a, A_TYPE, texts ? STRINGS : INTS);
        put_classic(&g, &n, &a);
        put_value(&g, G_INPUT, "x", FLOAT, 2, (const int64_t[]){2, 2});
        put_value(&g, G_OUTPUT, "y", FLOAT, 2, (const int64_t[]){2, 2});
        bytes_t out = {.n = 0};
        put_text(&out, 1, "z"); /* it has a name and no type */
        put_message(&g, G_OUTPUT, &out);
        const dnnl_tp_onnx_model_t model = open_classic(&g);
        int64_t number;
        const char *key;
        size_t bytes;
        assert_int_equal(dnnl_tp_onnx_map_key(model, 1, 1, &number, &key, &bytes), dnnl_tp_success);
        if (texts) {
            assert_int_equal(bytes, 3);
            assert_memory_equal(key, "two", 3);
        } else {
            assert_null(key);
            assert_int_equal(number, -7);
        }
        assert_int_equal(dnnl_tp_onnx_map_key(model, 1, 0, &number, &key, &bytes), dnnl_tp_success);
        assert_true(texts ? key && !bytes : !key && number == 5);
        assert_int_equal(dnnl_tp_onnx_map_key(model, 1, 2, &number, &key, &bytes), dnnl_tp_invalid_arguments);
        assert_int_equal(dnnl_tp_onnx_map_key(model, 0, 0, &number, &key, &bytes), dnnl_tp_invalid_arguments);
        assert_int_equal(dnnl_tp_onnx_map_key(model, 2, 0, &number, &key, &bytes), dnnl_tp_invalid_arguments);
        dnnl_tp_onnx_close(model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_label_texts), cmocka_unit_test(test_map_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
