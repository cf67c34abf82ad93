/* Model folders that must be refused with one clear line, and memory that runs out at every place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "failing_memory.h"
#include "model.h"
#include "tiny_model.h"

static char dir[] = "/tmp/se_loader_XXXXXX";
static se_error_t error;

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}
static int remove_folder(void **state) {
    (void)state;
    tiny_model_remove(dir);
    return 0;
}

static void refused(const char *reason) {
    se_model_t model;
    error.text[0] = 0;
    if (!se_model_open(&model, dir, &error)) fail_msg("accepted, expected '%s'", reason);
    if (!strstr(error.text, reason)) fail_msg("'%s' does not say '%s'", error.text, reason);
    assert_null(strchr(error.text, '\n'));
}

static void test_good(void **state) {
    (void)state;
    se_model_t model;
    assert_int_equal(tiny_model_write(dir), 0);
    assert_int_equal(se_model_open(&model, dir, &error), 0);
    assert_int_equal(model.hidden, TINY_HIDDEN);
    assert_int_equal(model.max_tokens, TINY_MAX_TOKENS);
    assert_int_equal(model.weights.count, 5 + TINY_LAYERS * 16);
    assert_non_null(se_safetensors_find(&model.weights, "embeddings.LayerNorm.bias"));
    assert_null(se_safetensors_find(&model.weights, "__metadata__"));
    se_model_close(&model);
}

static void test_missing(void **state) {
    (void)state;
    static const char *const names[] = {"config.json", "1_Pooling/config.json", "vocab.txt",
                                        "model.safetensors"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        assert_int_equal(tiny_model_write(dir), 0);
        tiny_model_replace(dir, names[i], NULL, 0);
        refused("cannot open");
        tiny_model_replace(dir, names[i], "", 0);
        refused(strstr(names[i], "vocab")   ? "no [CLS]"
                : strstr(names[i], "model") ? "too few"
                                            : "not valid JSON");
    }
}

/* Each case: a file whose text has `from` once becomes `to`. */
static void replace_text(const char *name, const char *from, const char *to) {
    char path[4096], text[8192], changed[8192];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *at = strstr(text, from);
    if (!at) fail_msg("no '%s' in %s", from, name);
    int m = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_int_equal(tiny_model_replace(dir, name, changed, (size_t)m), 0);
}

static void test_config(void **state) {
    (void)state;
    static const struct {
        const char *name, *from, *to, *reason;
    } cases[] = {
        {"config.json", "BertModel", "GPT2Model", "architecture \"GPT2Model\" is unknown"},
        {"config.json", "[\"BertModel\"]", "[]", "architecture \"missing\" is unknown"},
        {"config.json", "\"model_type\":\"bert\"", "\"model_type\":\"roberta\"",
         "\"model_type\" is \"roberta\""},
        {"config.json", "\"hidden_act\":\"gelu\"", "\"hidden_act\":\"relu\"", "\"hidden_act\" is \"relu\""},
        {"config.json", "\"hidden_act\":\"gelu\"",
         "\"hidden_act\":\"gelu\",\"position_embedding_type\":\"relative_key\"",
         "\"position_embedding_type\" is \"relative_key\""},
        {"config.json", "\"hidden_size\":32", "\"hidden_size\":33", "no multiple"},
        {"config.json", "\"intermediate_size\":48", "\"intermediate_size\":47", "has 2 dimensions"},
        {"config.json", "\"hidden_size\":32", "\"hidden_size\":-1", "must be an integer in 1.."},
        {"config.json", "\"hidden_size\":32", "\"hidden_size\":1e300", "must be an integer in 1.."},
        {"config.json", "\"hidden_size\":32", "\"hidden_size\":3.5", "must be an integer in 1.."},
        {"config.json", "\"hidden_size\":32", "\"hidden_size\":\"32\"", "must be an integer in 1.."},
        {"config.json", "\"num_hidden_layers\":2", "\"num_hidden_layers\":3", "is missing"},
        {"config.json", "\"num_hidden_layers\":2", "\"num_hidden_layers\":2,\"num_hidden_layers\":3",
         "twice"},
        {"config.json", "\"num_attention_heads\":4", "\"num_attention_heads\":0", "must be an integer"},
        {"config.json", "\"vocab_size\":", "\"vocab_size\":9,\"unused\":", "the model knows 9"},
        {"config.json", "1e-12", "-1", "must be a number in 0..1"},
        {"config.json", "}", "", "not valid JSON"},
        {"config.json", "}", "} x", "text after the JSON value"},
        {"config.json", "{", "[{", "not valid JSON"},
        {"1_Pooling/config.json", "true", "false", "only mean pooling"},
        {"1_Pooling/config.json", "true", "true,\"pooling_mode_cls_token\":true",
         "\"pooling_mode_cls_token\" is set"},
        {"1_Pooling/config.json", "32", "31", "dimension 31, the model has 32"},
        {"sentence_bert_config.json", "48", "65", "must be an integer in 2..64"},
        {"sentence_bert_config.json", "48", "1", "must be an integer in 2..64"},
        {"tokenizer_config.json", "true", "false", "\"do_lower_case\" is false"},
        {"tokenizer_config.json", "null", "false", "\"strip_accents\" is false"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_int_equal(tiny_model_write(dir), 0);
        replace_text(cases[i].name, cases[i].from, cases[i].to);
        refused(cases[i].reason);
    }
    assert_int_equal(tiny_model_write(dir), 0);
    char deep[2000];
    memset(deep, '[', sizeof deep);
    tiny_model_replace(dir, "config.json", deep, sizeof deep);
    refused("nested deeper than 32");
}

static void parse(const char *header, size_t data_bytes, const char *reason) {
    size_t n = strlen(header), size = 8 + n + data_bytes;
    unsigned char *bytes = calloc(1, size);
    se_safetensors_t st;
    for (int i = 0; i < 8; ++i) bytes[i] = (unsigned char)((uint64_t)n >> (8 * i));
    memcpy(bytes + 8, header, n);
    int status = se_safetensors_parse(&st, bytes, size, "test", &error);
    if (!reason) {
        if (status) fail_msg("refused: %s", error.text);
        se_safetensors_close(&st);
    } else if (!status) {
        fail_msg("accepted '%s', expected '%s'", header, reason);
    } else if (!strstr(error.text, reason)) {
        fail_msg("'%s' does not say '%s'", error.text, reason);
    }
    free(bytes);
}

static void test_safetensors(void **state) {
    (void)state;
#define T(shape, begin, end) \
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]}}"
    parse("{}", 0, NULL);
    parse(T("2", "0", "8"), 8, NULL);
    parse(T("", "0", "4"), 4, NULL);
    parse(T("0,7", "0", "0"), 0, NULL);
    parse("{\"__metadata__\":{\"x\":\"y\"}}", 0, NULL);
    parse("[]", 0, "not a JSON object");
    parse("{", 0, "not valid JSON");
    parse("{}", 1, "belong to no tensor");
    parse(T("2", "0", "8"), 9, "belong to no tensor");
    parse(T("2", "0", "8"), 7, "outside the 7 of the file");
    parse(T("2", "0", "12"), 12, "its shape needs 8");
    parse(T("2", "4", "12"), 12, "starts at byte 4");
    parse(T("2", "8", "0"), 8, "outside");
    parse(T("2", "-8", "0"), 8, "bad data_offsets");
    parse(T("2", "0", "8.5"), 9, "bad data_offsets");
    parse(T("2", "0", "1e300"), 9, "bad data_offsets");
    parse(T("-2", "0", "8"), 8, "bad shape");
    parse(T("1e18", "0", "8"), 8, "bad shape");
    parse(T("9007199254740992,9007199254740992", "0", "8"), 8, "bad shape");
    parse(T("4294967296,4294967296,4294967296,4294967296", "0", "0"), 0, "bad shape");
    parse(T("1,1,1,1,1,1,1,1,1", "0", "4"), 4, "more than 8 dimensions");
    parse(T("\"2\"", "0", "8"), 8, "bad shape");
    parse("{\"a\":7}", 0, "not an object");
    parse("{\"a\":{\"dtype\":\"F99\",\"shape\":[],\"data_offsets\":[0,4]}}", 4,
          "data type \"F99\" is unknown");
    parse("{\"a\":{\"shape\":[],\"data_offsets\":[0,4]}}", 4, "data type \"\" is unknown");
    parse("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "no shape");
    parse("{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0]}}", 4, "bad data_offsets");
    parse("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},\"b\":{\"dtype\":\"U8\",\"shape\":["
          "2],"
          "\"data_offsets\":[1,3]}}",
          3, "starts at byte 1 of the data, expected 2");
    parse("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"a\":{\"dtype\":\"U8\",\"shape\":["
          "1],"
          "\"data_offsets\":[1,2]}}",
          2, "key \"a\" twice");
    se_safetensors_t st;
    assert_int_not_equal(se_safetensors_parse(&st, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10, "test", &error),
                         0);
    assert_non_null(strstr(error.text, "at most"));
    assert_int_not_equal(se_safetensors_parse(&st, "\x10\0\0\0\0\0\0\0{}", 10, "test", &error), 0);
    assert_non_null(strstr(error.text, "in a file of 10"));
    assert_int_not_equal(se_safetensors_parse(&st, "abc", 3, "test", &error), 0);
}

/* Cut anywhere, the weights are refused. */
static void test_truncated(void **state) {
    (void)state;
    char path[4096];
    assert_int_equal(tiny_model_write(dir), 0);
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    FILE *f = fopen(path, "rb");
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(n);
    assert_int_equal(fread(bytes, 1, n, f), n);
    fclose(f);
    se_safetensors_t st;
    for (size_t i = 0; i < n; i += i < 6000 ? 1 : 997) {
        assert_int_not_equal(se_safetensors_parse(&st, bytes, i, "test", &error), 0);
    }
    assert_int_equal(se_safetensors_parse(&st, bytes, n, "test", &error), 0);
    se_safetensors_close(&st);
    tiny_model_replace(dir, "model.safetensors", bytes, n - 1);
    refused("model.safetensors");
    free(bytes);
}

static void test_out_of_memory(void **state) {
    (void)state;
    assert_int_equal(tiny_model_write(dir), 0);
    long n = 0;
    for (;; ++n) {
        se_model_t model;
        failing_memory_arm(n);
        int status = se_model_open(&model, dir, &error);
        long failed = failing_memory_disarm();
        if (!status) {
            se_model_close(&model);
            assert_int_equal(failed, 0);
            break;
        }
        assert_int_equal(failed, 1);
        assert_non_null(strstr(error.text, "out of memory"));
        assert_int_equal(failing_memory_live(), 0);
    }
    assert_true(n > 50);
    assert_int_equal(failing_memory_live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),      cmocka_unit_test(test_missing),
        cmocka_unit_test(test_config),    cmocka_unit_test(test_safetensors),
        cmocka_unit_test(test_truncated), cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
