/* A folder with a BERT sentence encoder, as sentence-transformers writes it: config.json, model.safetensors,
 * vocab.txt, 1_Pooling/config.json, and where present sentence_bert_config.json and tokenizer_config.json. */
#ifndef SE_MODEL_H
#define SE_MODEL_H

#include "safetensors.h"
#include "vocabulary.h"

/* Weight and bias of a linear layer {out, in}, {out}; or scale and shift of a norm, {n} each. */
typedef struct {
    const se_tensor_t *weight, *bias;
} se_pair_t;

typedef struct {
    se_pair_t query, key, value, attention_out, attention_norm, intermediate, out, out_norm;
} se_layer_t;

typedef struct {
    int64_t hidden, layers, heads, intermediate, vocabulary, positions, types;
    int64_t max_tokens; /* per sequence, [CLS] and [SEP] included */
    double norm_eps;
    se_vocabulary_t vocab;
    se_safetensors_t weights;
    const se_tensor_t *word_table, *position_table, *type_table;
    se_pair_t embedding_norm;
    se_layer_t *layer; /* layers */
} se_model_t;

/* Loads and checks the folder; weights stay mapped until close. */
int se_model_open(se_model_t *model, const char *dir, se_error_t *error);
void se_model_close(se_model_t *model);

#endif
