/* See model.h. Refuses what the graph of encoder.c does not compute (another architecture, activation or
 * pooling) instead of giving wrong embeddings. */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "json.h"

#define MAX_JSON_BYTES ((size_t)1 << 20)
#define MAX_DIM 65536
#define MAX_LAYERS 256
#define DEFAULT_NORM_EPS 1e-12

static int require_text(const cJSON *json, const char *path, const char *key, const char *needed,
                        int optional, se_error_t *error) {
    const char *got = se_json_get_string(json, key);
    if (!got && optional && !cJSON_GetObjectItemCaseSensitive(json, key)) return 0;
    if (got && !strcmp(got, needed)) return 0;
    return se_fail(error, "%s: \"%s\" is \"%s\", only \"%s\" is supported", path, key, got ? got : "missing",
                   needed);
}

static int read_config(se_model_t *model, const char *dir, se_error_t *error) {
    char *path = se_path(dir, "config.json", error);
    if (!path) return -1;
    cJSON *json = se_json_parse_file(path, MAX_JSON_BYTES, error);
    int status = -1;
    if (!json) goto done;
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(json, "architectures");
    const char *architecture = cJSON_GetStringValue(cJSON_GetArrayItem(names, 0));
    if (require_text(json, path, "model_type", "bert", 0, error)) goto done;
    if (!architecture || strcmp(architecture, "BertModel")) {
        se_fail(error, "%s: architecture \"%s\" is unknown, only \"BertModel\" is supported", path,
                architecture ? architecture : "missing");
        goto done;
    }
    if (require_text(json, path, "hidden_act", "gelu", 0, error) ||
        require_text(json, path, "position_embedding_type", "absolute", 1, error))
        goto done;
    if (se_json_get_integer(json, path, "hidden_size", 1, MAX_DIM, &model->hidden, error) ||
        se_json_get_integer(json, path, "num_hidden_layers", 1, MAX_LAYERS, &model->layers, error) ||
        se_json_get_integer(json, path, "num_attention_heads", 1, MAX_DIM, &model->heads, error) ||
        se_json_get_integer(json, path, "intermediate_size", 1, MAX_DIM, &model->intermediate, error) ||
        se_json_get_integer(json, path, "vocab_size", 1, 1 << 24, &model->vocabulary, error) ||
        se_json_get_integer(json, path, "max_position_embeddings", 2, MAX_DIM, &model->positions, error) ||
        se_json_get_integer(json, path, "type_vocab_size", 1, MAX_DIM, &model->types, error))
        goto done;
    if (model->hidden % model->heads) {
        se_fail(error, "%s: hidden_size %lld is no multiple of num_attention_heads %lld", path,
                (long long)model->hidden, (long long)model->heads);
        goto done;
    }
    model->norm_eps = DEFAULT_NORM_EPS;
    if (cJSON_GetObjectItemCaseSensitive(json, "layer_norm_eps") &&
        se_json_get_number(json, path, "layer_norm_eps", 0, 1, &model->norm_eps, error))
        goto done;
    status = 0;
done:
    cJSON_Delete(json);
    se_free(path);
    return status;
}

/* Mean pooling and nothing else. */
static int read_pooling(const se_model_t *model, const char *dir, se_error_t *error) {
    char *path = se_path(dir, "1_Pooling/config.json", error);
    if (!path) return -1;
    cJSON *json = se_json_parse_file(path, MAX_JSON_BYTES, error);
    int status = -1;
    int64_t dimension;
    if (!json) goto done;
    if (se_json_get_integer(json, path, "word_embedding_dimension", 1, MAX_DIM, &dimension, error)) goto done;
    if (dimension != model->hidden) {
        se_fail(error, "%s: dimension %lld, the model has %lld", path, (long long)dimension,
                (long long)model->hidden);
        goto done;
    }
    if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "pooling_mode_mean_tokens"))) {
        se_fail(error, "%s: \"pooling_mode_mean_tokens\" is not true, only mean pooling is supported", path);
        goto done;
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, json) {
        if (!strncmp(item->string, "pooling_mode_", strlen("pooling_mode_")) && cJSON_IsTrue(item) &&
            strcmp(item->string, "pooling_mode_mean_tokens")) {
            se_fail(error, "%s: \"%s\" is set, only mean pooling is supported", path, item->string);
            goto done;
        }
    }
    status = 0;
done:
    cJSON_Delete(json);
    se_free(path);
    return status;
}

/* The two optional files: the longest sequence, and whether the model folds case. */
static int read_optional(se_model_t *model, const char *dir, se_error_t *error) {
    char *path = se_path(dir, "sentence_bert_config.json", error);
    cJSON *json = NULL;
    int status = -1;
    if (!path) return -1;
    model->max_tokens = model->positions;
    if (!access(path, F_OK)) {
        json = se_json_parse_file(path, MAX_JSON_BYTES, error);
        if (!json ||
            se_json_get_integer(json, path, "max_seq_length", 2, model->positions, &model->max_tokens, error))
            goto done;
        cJSON_Delete(json);
        json = NULL;
    }
    se_free(path);
    path = se_path(dir, "tokenizer_config.json", error);
    if (!path) return -1;
    if (!access(path, F_OK)) {
        json = se_json_parse_file(path, MAX_JSON_BYTES, error);
        if (!json) goto done;
        static const char *const wanted[] = {"do_lower_case", "tokenize_chinese_chars"};
        for (int i = 0; i < 2; ++i)
            if (cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(json, wanted[i]))) {
                se_fail(error, "%s: \"%s\" is false, only uncased models are supported", path, wanted[i]);
                goto done;
            }
        if (cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(json, "strip_accents"))) {
            se_fail(error, "%s: \"strip_accents\" is false, which is not supported", path);
            goto done;
        }
    }
    status = 0;
done:
    cJSON_Delete(json);
    se_free(path);
    return status;
}

/* An f32 tensor {rows, cols}, or {cols} when rows is 0. */
static int get_tensor(const se_model_t *model, const se_tensor_t **out, const char *name, int64_t rows,
                      int64_t cols, se_error_t *error) {
    const se_tensor_t *t = se_safetensors_find(&model->weights, name);
    if (!t) return se_fail(error, "model.safetensors: tensor \"%s\" is missing", name);
    if (strcmp(t->dtype, "F32"))
        return se_fail(error, "model.safetensors: tensor \"%s\" is %s, F32 is needed", name, t->dtype);
    int fits = rows ? t->ndims == 2 && t->dims[0] == rows && t->dims[1] == cols
                    : t->ndims == 1 && t->dims[0] == cols;
    if (!fits)
        return se_fail(error,
                       "model.safetensors: tensor \"%s\" has %d dimensions {%lld, %lld}, needed {%lld, %lld}",
                       name, t->ndims, (long long)t->dims[0], (long long)t->dims[1],
                       (long long)(rows ? rows : cols), (long long)(rows ? cols : 0));
    *out = t;
    return 0;
}

static int get_pair(const se_model_t *model, se_pair_t *pair, const char *prefix, const char *name,
                    int64_t rows, int64_t cols, se_error_t *error) {
    char full[256];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    if (get_tensor(model, &pair->weight, full, rows, cols, error)) return -1;
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    return get_tensor(model, &pair->bias, full, 0, rows ? rows : cols, error);
}

static int bind_weights(se_model_t *model, se_error_t *error) {
    int64_t h = model->hidden, f = model->intermediate;
    if (get_tensor(model, &model->word_table, "embeddings.word_embeddings.weight", model->vocabulary, h,
                   error) ||
        get_tensor(model, &model->position_table, "embeddings.position_embeddings.weight", model->positions,
                   h, error) ||
        get_tensor(model, &model->type_table, "embeddings.token_type_embeddings.weight", model->types, h,
                   error) ||
        get_pair(model, &model->embedding_norm, "embeddings.", "LayerNorm", 0, h, error))
        return -1;
    model->layer = se_alloc_array((size_t)model->layers, sizeof *model->layer);
    if (!model->layer) return se_fail_memory(error);
    for (int64_t i = 0; i < model->layers; ++i) {
        se_layer_t *l = &model->layer[i];
        char prefix[64];
        snprintf(prefix, sizeof prefix, "encoder.layer.%lld.", (long long)i);
        if (get_pair(model, &l->query, prefix, "attention.self.query", h, h, error) ||
            get_pair(model, &l->key, prefix, "attention.self.key", h, h, error) ||
            get_pair(model, &l->value, prefix, "attention.self.value", h, h, error) ||
            get_pair(model, &l->attention_out, prefix, "attention.output.dense", h, h, error) ||
            get_pair(model, &l->attention_norm, prefix, "attention.output.LayerNorm", 0, h, error) ||
            get_pair(model, &l->intermediate, prefix, "intermediate.dense", f, h, error) ||
            get_pair(model, &l->out, prefix, "output.dense", h, f, error) ||
            get_pair(model, &l->out_norm, prefix, "output.LayerNorm", 0, h, error))
            return -1;
    }
    return 0;
}

int se_model_open(se_model_t *model, const char *dir, se_error_t *error) {
    char *path = NULL;
    *model = (se_model_t){0};
    if (read_config(model, dir, error) || read_pooling(model, dir, error) || read_optional(model, dir, error))
        goto fail;
    path = se_path(dir, "vocab.txt", error);
    if (!path || se_vocabulary_open(&model->vocab, path, error)) goto fail;
    if (model->vocab.count > model->vocabulary) {
        se_fail(error, "%s: %d tokens, the model knows %lld", path, model->vocab.count,
                (long long)model->vocabulary);
        goto fail;
    }
    se_free(path);
    path = se_path(dir, "model.safetensors", error);
    if (!path || se_safetensors_open(&model->weights, path, error) || bind_weights(model, error)) goto fail;
    se_free(path);
    return 0;
fail:
    se_free(path);
    se_model_close(model);
    return -1;
}

void se_model_close(se_model_t *model) {
    se_free(model->layer);
    se_vocabulary_close(&model->vocab);
    se_safetensors_close(&model->weights);
    *model = (se_model_t){0};
}
