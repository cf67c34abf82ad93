/* The vocabulary of a WordPiece model: vocab.txt, one token a line, its id is the line's number from 0. */
#ifndef SE_VOCABULARY_H
#define SE_VOCABULARY_H

#include "common.h"

typedef struct {
    uint32_t hash;
    int32_t id; /* -1 = free */
    uint32_t offset, length;
} se_vocab_slot_t;

typedef struct {
    char *text; /* the tokens, without their "##" */
    int32_t count;
    uint32_t mask; /* slots - 1, a power of two minus 1 */
    se_vocab_slot_t *slots;
    int max_piece_bytes;
    int32_t cls, sep, unk;
} se_vocabulary_t;

int se_vocabulary_open(se_vocabulary_t *vocab, const char *path, se_error_t *error);
int se_vocabulary_parse(se_vocabulary_t *vocab, const void *text, size_t size, const char *what,
                        se_error_t *error);
void se_vocabulary_close(se_vocabulary_t *vocab);

/* FNV-1a, one byte at a time, so that every prefix of a word is hashed in one pass. */
#define SE_HASH_WORD 2166136261u /* seed of pieces that start a word */
#define SE_HASH_TAIL 3041283747u /* seed of "##" pieces */
static inline uint32_t se_hash_byte(uint32_t hash, unsigned char c) { return (hash ^ c) * 16777619u; }

/* Id of the piece of `length` bytes whose hash is given, or -1. */
int32_t se_vocabulary_find(const se_vocabulary_t *vocab, uint32_t hash, const void *piece, uint32_t length);
/* Id of a whole token that starts a word, or -1. */
int32_t se_vocabulary_id(const se_vocabulary_t *vocab, const char *token);

#endif
