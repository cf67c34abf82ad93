/* A complete model folder made from a seed, so that tests and goldens need no download. */
#ifndef SE_TINY_MODEL_H
#define SE_TINY_MODEL_H

#include <stddef.h>

enum {
    TINY_HIDDEN = 32,
    TINY_LAYERS = 2,
    TINY_HEADS = 4,
    TINY_INTERMEDIATE = 48,
    TINY_POSITIONS = 64,
    TINY_TYPES = 2,
    TINY_MAX_TOKENS = 48
};

/* Writes config.json, 1_Pooling/config.json, sentence_bert_config.json, tokenizer_config.json, vocab.txt and
 * model.safetensors into `dir`, which is made if missing. 0 on success. */
int tiny_model_write(const char *dir);
/* Removes those files and the folder. */
void tiny_model_remove(const char *dir);
/* Replaces one file of the folder; text = NULL removes it. 0 on success. */
int tiny_model_replace(const char *dir, const char *name, const void *text, size_t size);

#endif
