/* Fuzzer of vocabulary and tokenizer. The first byte chooses the limit of tokens; up to a form feed the rest
 * is a vocabulary, to which the special tokens are added (or a fixed one, if it is refused); behind it is the
 * line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char fixed[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\nb\n##b\nab\n##ab\n."
                                "\n\xd0\xb0\n\xe4\xb8\xad\n##\xcc\xb2\n";
    enum { SPECIAL_BYTES = 31, MAX = 257 };
    if (size < 1) return 0;
    int limit = 2 + data[0];
    const uint8_t *rest = data + 1, *split = memchr(rest, '\f', size - 1);
    size_t vocab_bytes = split ? (size_t)(split - rest) : 0;
    const uint8_t *line = split ? split + 1 : rest;
    size_t bytes = (size_t)(data + size - line);

    se_vocabulary_t vocab;
    se_error_t error;
    char *text = malloc(SPECIAL_BYTES + vocab_bytes), *copy = malloc(bytes ? bytes : 1);
    int32_t *ids = malloc(sizeof *ids * (size_t)limit);
    if (text && copy && ids) {
        memcpy(text, fixed, SPECIAL_BYTES);
        memcpy(text + SPECIAL_BYTES, rest, vocab_bytes);
        memcpy(copy, line, bytes);
        int status =
            vocab_bytes ? se_vocabulary_parse(&vocab, text, SPECIAL_BYTES + vocab_bytes, "fuzz", &error) : -1;
        if (status) status = se_vocabulary_parse(&vocab, fixed, sizeof fixed - 1, "fuzz", &error);
        if (status) abort();
        se_tokens_t tokens;
        if (!se_tokenize(&vocab, copy, bytes, limit, ids, &tokens, &error)) {
            if (tokens.count < 2 || tokens.count > limit || ids[0] != vocab.cls ||
                ids[tokens.count - 1] != vocab.sep)
                abort();
            for (int i = 0; i < tokens.count; ++i)
                if (ids[i] < 0 || ids[i] >= vocab.count) abort();
        }
        se_vocabulary_close(&vocab);
    }
    free(text);
    free(copy);
    free(ids);
    return 0;
}
