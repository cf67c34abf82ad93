/* See tiny_model.h. The vocabulary has every ASCII character as a word and as a tail, some accented and CJK
 * characters, and common English pieces. */
#include "tiny_model.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const files[] = {
    "config.json", "1_Pooling/config.json", "sentence_bert_config.json", "tokenizer_config.json",
    "vocab.txt",   "model.safetensors"};

static const char *const words[] = {"the",   "water", "light", "tree", "sea",   "star",  "sun",   "plants",
                                    "sugar", "from",  "and",   "of",   "in",    "is",    "a1",    "to",
                                    "food",  "##ing", "##ed",  "##er", "##ly",  "##est", "##ion", "##ter",
                                    "##al",  "day",   "night", "cold", "ice",   "time",  "no",    "lost",
                                    "start", "##ers", "ready", "pool", "thread"};

static FILE *create(const char *dir, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return fopen(path, "wb");
}

int tiny_model_replace(const char *dir, const char *name, const void *text, size_t size) {
    if (!text) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", dir, name);
        return unlink(path);
    }
    FILE *f = create(dir, name);
    if (!f) return -1;
    int bad = fwrite(text, 1, size, f) != size;
    return fclose(f) || bad ? -1 : 0;
}

static int write_vocabulary(const char *dir, int *count) {
    static const char *const marks[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    static const char *const others[] = {"é", "ß", "ø", "我", "的",  "朋",  "友",
                                         "я", "д", "ο", "ᄒ", "##я", "##о", "##ᅡ"};
    FILE *f = create(dir, "vocab.txt");
    if (!f) return -1;
    *count = 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; ++i, ++*count) fprintf(f, "%s\n", marks[i]);
    for (int c = '!'; c <= '~'; ++c) {
        if (c >= 'A' && c <= 'Z') continue;
        fprintf(f, "%c\n", c);
        ++*count;
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            fprintf(f, "##%c\n", c);
            ++*count;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i, ++*count) fprintf(f, "%s\n", others[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i, ++*count) fprintf(f, "%s\n", words[i]);
    return fclose(f);
}

typedef struct {
    char *header;
    size_t length, offset;
    FILE *data;
    uint64_t seed;
} writer_t;

/* Weights around `mean`, all exact multiples of 2^-16. */
static void tensor(writer_t *w, const char *name, int rows, int cols, double mean, double range) {
    size_t n = (size_t)(rows ? rows : 1) * (size_t)cols;
    char shape[64];
    if (rows) snprintf(shape, sizeof shape, "%d,%d", rows, cols);
    else snprintf(shape, sizeof shape, "%d", cols);
    w->length += (size_t)sprintf(w->header + w->length,
                                 "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                                 w->length > 1 ? "," : "", name, shape, w->offset, w->offset + 4 * n);
    w->offset += 4 * n;
    for (size_t i = 0; i < n; ++i) {
        w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
        double u = (double)(int32_t)(w->seed >> 32) / 2147483648.0;
        float v = (float)(mean + nearbyint(u * range * 65536) / 65536);
        fwrite(&v, sizeof v, 1, w->data);
    }
}

static void pair(writer_t *w, const char *prefix, const char *name, int rows, int cols) {
    char full[256];
    snprintf(full, sizeof full, "%s%s.weight", prefix, name);
    if (rows) tensor(w, full, rows, cols, 0, 0.3);
    else tensor(w, full, 0, cols, 1, 0.2);
    snprintf(full, sizeof full, "%s%s.bias", prefix, name);
    tensor(w, full, 0, rows ? rows : cols, 0, 0.1);
}

static int write_weights(const char *dir, int vocabulary) {
    writer_t w = {malloc(1 << 16), 1, 0, tmpfile(), 20261101};
    FILE *out = create(dir, "model.safetensors");
    int status = -1;
    if (!w.header || !w.data || !out) goto done;
    w.header[0] = '{';
    tensor(&w, "embeddings.word_embeddings.weight", vocabulary, TINY_HIDDEN, 0, 0.5);
    tensor(&w, "embeddings.position_embeddings.weight", TINY_POSITIONS, TINY_HIDDEN, 0, 0.3);
    tensor(&w, "embeddings.token_type_embeddings.weight", TINY_TYPES, TINY_HIDDEN, 0, 0.3);
    pair(&w, "embeddings.", "LayerNorm", 0, TINY_HIDDEN);
    for (int i = 0; i < TINY_LAYERS; ++i) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "encoder.layer.%d.", i);
        pair(&w, prefix, "attention.self.query", TINY_HIDDEN, TINY_HIDDEN);
        pair(&w, prefix, "attention.self.key", TINY_HIDDEN, TINY_HIDDEN);
        pair(&w, prefix, "attention.self.value", TINY_HIDDEN, TINY_HIDDEN);
        pair(&w, prefix, "attention.output.dense", TINY_HIDDEN, TINY_HIDDEN);
        pair(&w, prefix, "attention.output.LayerNorm", 0, TINY_HIDDEN);
        pair(&w, prefix, "intermediate.dense", TINY_INTERMEDIATE, TINY_HIDDEN);
        pair(&w, prefix, "output.dense", TINY_HIDDEN, TINY_INTERMEDIATE);
        pair(&w, prefix, "output.LayerNorm", 0, TINY_HIDDEN);
    }
    w.length += (size_t)sprintf(w.header + w.length, ",\"__metadata__\":{\"format\":\"pt\"}}");
    while (w.length % 8) w.header[w.length++] = ' ';
    for (int i = 0; i < 8; ++i) putc((int)((uint64_t)w.length >> (8 * i) & 255), out);
    fwrite(w.header, 1, w.length, out);
    rewind(w.data);
    for (int c; (c = getc(w.data)) != EOF;) putc(c, out);
    status = ferror(out) || ferror(w.data) ? -1 : 0;
done:
    free(w.header);
    if (w.data) fclose(w.data);
    if (out && fclose(out)) status = -1;
    return status;
}

int tiny_model_write(const char *dir) {
    char text[1024];
    int vocabulary;
    snprintf(text, sizeof text, "%s/1_Pooling", dir);
    mkdir(dir, 0777);
    mkdir(text, 0777);
    if (write_vocabulary(dir, &vocabulary)) return -1;
    snprintf(text, sizeof text,
             "{\"architectures\":[\"BertModel\"],\"model_type\":\"bert\",\"hidden_act\":\"gelu\",\"hidden_"
             "size\":%d,"
             "\"num_hidden_layers\":%d,\"num_attention_heads\":%d,\"intermediate_size\":%d,\"vocab_size\":%d,"
             "\"max_position_embeddings\":%d,\"type_vocab_size\":%d,\"layer_norm_eps\":1e-12}",
             TINY_HIDDEN, TINY_LAYERS, TINY_HEADS, TINY_INTERMEDIATE, vocabulary, TINY_POSITIONS, TINY_TYPES);
    if (tiny_model_replace(dir, "config.json", text, strlen(text))) return -1;
    snprintf(text, sizeof text, "{\"word_embedding_dimension\":%d,\"pooling_mode_mean_tokens\":true}",
             TINY_HIDDEN);
    if (tiny_model_replace(dir, "1_Pooling/config.json", text, strlen(text))) return -1;
    snprintf(text, sizeof text, "{\"max_seq_length\":%d,\"do_lower_case\":false}", TINY_MAX_TOKENS);
    if (tiny_model_replace(dir, "sentence_bert_config.json", text, strlen(text))) return -1;
    static const char tokenizer[] = "{\"do_lower_case\":true,\"strip_accents\":null}";
    if (tiny_model_replace(dir, "tokenizer_config.json", tokenizer, strlen(tokenizer))) return -1;
    return write_weights(dir, vocabulary);
}

void tiny_model_remove(const char *dir) {
    char path[4096];
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/1_Pooling", dir);
    rmdir(path);
    rmdir(dir);
}
