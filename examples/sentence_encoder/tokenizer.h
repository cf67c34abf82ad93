/* Text to token ids, as the uncased BERT models were trained: clean-up, spaces around CJK characters, accents
 * stripped, lower case, split at white space and punctuation, greedy longest match of word pieces. */
#ifndef SE_TOKENIZER_H
#define SE_TOKENIZER_H

#include "vocabulary.h"

#define SE_MAX_WORD_CHARS 100 /* longer words become [UNK], as in the reference */
#define SE_MAX_LINE_BYTES ((size_t)1 << 20)

typedef struct {
    int count;     /* ids written, [CLS] and [SEP] included */
    int truncated; /* 1: the line had more */
} se_tokens_t;

/* Tokenises one line. `ids` has room for max_tokens >= 2. Allocates nothing; any number of threads may call
 * it with one vocabulary. Fails on a line over SE_MAX_LINE_BYTES and on text that is not UTF-8 (the error
 * names the byte). */
int se_tokenize(const se_vocabulary_t *vocab, const char *line, size_t bytes, int max_tokens, int32_t *ids,
                se_tokens_t *tokens, se_error_t *error);

#endif
