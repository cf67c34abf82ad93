/* See vocabulary.h: an open-addressing table, built once, read by any number of threads. */
#include "vocabulary.h"

#include <string.h>

#define MAX_FILE_BYTES ((size_t)64 << 20)
#define MAX_TOKENS (1 << 24)

static uint32_t mix(uint32_t hash) { return hash ^ hash >> 15; }

/* The kind of a piece needs no field: each step of the hash is a bijection, so that equal text from different
 * seeds never has equal hashes. */
int32_t se_vocabulary_find(const se_vocabulary_t *vocab, uint32_t hash, const void *piece, uint32_t length) {
    for (uint32_t i = mix(hash) & vocab->mask;; i = (i + 1) & vocab->mask) {
        const se_vocab_slot_t *slot = &vocab->slots[i];
        if (slot->id < 0) return -1;
        if (slot->hash == hash && slot->length == length &&
            !memcmp(vocab->text + slot->offset, piece, length))
            return slot->id;
    }
}

static uint32_t hash_of(uint32_t seed, const char *text, size_t length) {
    for (size_t i = 0; i < length; ++i) seed = se_hash_byte(seed, (unsigned char)text[i]);
    return seed;
}

int32_t se_vocabulary_id(const se_vocabulary_t *vocab, const char *token) {
    size_t length = strlen(token);
    return se_vocabulary_find(vocab, hash_of(SE_HASH_WORD, token, length), token, (uint32_t)length);
}

static int insert(se_vocabulary_t *vocab, const char *token, size_t length, int32_t id, const char *what,
                  se_error_t *error) {
    int tail = length > 2 && token[0] == '#' && token[1] == '#';
    const char *piece = token + 2 * tail;
    size_t n = length - (size_t)(2 * tail);
    uint32_t hash = hash_of(tail ? SE_HASH_TAIL : SE_HASH_WORD, piece, n), i = mix(hash) & vocab->mask;
    for (; vocab->slots[i].id >= 0; i = (i + 1) & vocab->mask) {
        const se_vocab_slot_t *slot = &vocab->slots[i];
        if (slot->hash == hash && slot->length == n && !memcmp(vocab->text + slot->offset, piece, n))
            return se_fail(error, "%s: lines %d and %d hold the same token", what, slot->id + 1, id + 1);
    }
    vocab->slots[i] = (se_vocab_slot_t){hash, id, (uint32_t)(piece - vocab->text), (uint32_t)n};
    if ((int)n > vocab->max_piece_bytes) vocab->max_piece_bytes = (int)n;
    return 0;
}

int se_vocabulary_parse(se_vocabulary_t *vocab, const void *text, size_t size, const char *what,
                        se_error_t *error) {
    *vocab = (se_vocabulary_t){0};
    if (size > MAX_FILE_BYTES) return se_fail(error, "%s: larger than %zu bytes", what, MAX_FILE_BYTES);
    size_t lines = 0, slots = 16;
    for (size_t i = 0; i < size; ++i) lines += ((const char *)text)[i] == '\n';
    if (size && ((const char *)text)[size - 1] != '\n') ++lines;
    if (lines > MAX_TOKENS) return se_fail(error, "%s: more than %d tokens", what, MAX_TOKENS);
    while (slots < 2 * lines) slots *= 2;
    vocab->mask = (uint32_t)(slots - 1);
    vocab->text = se_alloc(size);
    vocab->slots = se_alloc_array(slots, sizeof *vocab->slots);
    if (!vocab->text || !vocab->slots) {
        se_fail_memory(error);
        goto fail;
    }
    memcpy(vocab->text, text, size);
    for (size_t i = 0; i < slots; ++i) vocab->slots[i].id = -1;
    for (size_t begin = 0; begin < size; ++vocab->count) {
        const char *line = vocab->text + begin, *stop = memchr(line, '\n', size - begin);
        size_t length = stop ? (size_t)(stop - line) : size - begin;
        begin += length + 1;
        if (length && line[length - 1] == '\r') --length;
        if (!length) {
            se_fail(error, "%s: line %d is empty", what, vocab->count + 1);
            goto fail;
        }
        if (insert(vocab, line, length, vocab->count, what, error)) goto fail;
    }
    vocab->cls = se_vocabulary_id(vocab, "[CLS]");
    vocab->sep = se_vocabulary_id(vocab, "[SEP]");
    vocab->unk = se_vocabulary_id(vocab, "[UNK]");
    if (vocab->cls < 0 || vocab->sep < 0 || vocab->unk < 0) {
        se_fail(error, "%s: no [CLS], [SEP] or [UNK] among its %d tokens", what, vocab->count);
        goto fail;
    }
    return 0;
fail:
    se_vocabulary_close(vocab);
    return -1;
}

int se_vocabulary_open(se_vocabulary_t *vocab, const char *path, se_error_t *error) {
    se_file_t file;
    *vocab = (se_vocabulary_t){0};
    if (se_file_open(&file, path, MAX_FILE_BYTES, error)) return -1;
    int status = se_vocabulary_parse(vocab, file.data, file.size, path, error);
    se_file_close(&file);
    return status;
}

void se_vocabulary_close(se_vocabulary_t *vocab) {
    se_free(vocab->text);
    se_free(vocab->slots);
    *vocab = (se_vocabulary_t){0};
}
