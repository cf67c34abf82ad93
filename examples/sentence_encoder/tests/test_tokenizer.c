/* The tokenizer against ids that the package `tokenizers` gave (written by tools/make_goldens.py), and its
 * refusals. The tiny vocabulary is always there; the real one when scripts/get_model brought it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lines.h"
#include "model.h"
#include "tiny_model.h"
#include "tokenizer.h"

static int32_t ids[1024];
static se_tokens_t tokens;
static se_error_t error;

static void check_goldens(const char *folder, const char *golden, int max_tokens) {
    se_vocabulary_t vocab;
    se_lines_t lines, expected;
    char path[4096], text[16384];
    snprintf(path, sizeof path, "%s/vocab.txt", folder);
    assert_int_equal(se_vocabulary_open(&vocab, path, &error), 0);
    assert_int_equal(se_lines_open(&lines, SE_LINES, SE_ERRORS_STRICT, &error), 0);
    snprintf(path, sizeof path, SE_TEST_DATA "/%s.ids", golden);
    assert_int_equal(se_lines_open(&expected, path, SE_ERRORS_STRICT, &error), 0);
    assert_int_equal(lines.count, expected.count);
    assert_true(lines.count >= 1000);
    for (size_t i = 0; i < lines.count; ++i) {
        int n = 0;
        assert_int_equal(
            se_tokenize(&vocab, lines.line[i].text, lines.line[i].bytes, max_tokens, ids, &tokens, &error),
            0);
        for (int k = 0; k < tokens.count; ++k)
            n += snprintf(text + n, sizeof text - (size_t)n, k ? " %d" : "%d", ids[k]);
        if ((size_t)n != expected.line[i].bytes || memcmp(text, expected.line[i].text, (size_t)n))
            fail_msg("line %zu: got %s, expected %.*s", i + 1, text, (int)expected.line[i].bytes,
                     expected.line[i].text);
    }
    se_lines_close(&lines);
    se_lines_close(&expected);
    se_vocabulary_close(&vocab);
}

static void test_tiny_goldens(void **state) {
    (void)state;
    char dir[] = "/tmp/se_tokenizer_XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_int_equal(tiny_model_write(dir), 0);
    check_goldens(dir, "tiny", TINY_MAX_TOKENS);
    tiny_model_remove(dir);
}

static void test_real_goldens(void **state) {
    (void)state;
    const char *dir = getenv("DNNL_TP_MODEL") ? getenv("DNNL_TP_MODEL") : SE_MODEL;
    char path[4096];
    snprintf(path, sizeof path, "%s/vocab.txt", dir);
    if (access(path, R_OK)) {
        puts("skipped: no model; scripts/get_model brings it");
        skip();
    }
    check_goldens(dir, "minilm", 256);
}

static const char vocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nab\nabc\n##b\n##c\n##bc\nb\n.\n\xc3\xa9\ne\n##e\n##x\n";
enum { UNK = 1, CLS, SEP, MASK, A, AB, ABC, T_B, T_C, T_BC, B, DOT, E_ACUTE, E, T_E, T_X };

static void expect(const se_vocabulary_t *vocab, const char *line, size_t bytes, int max, int truncated,
                   int n, const int32_t *wanted) {
    assert_int_equal(se_tokenize(vocab, line, bytes, max, ids, &tokens, &error), 0);
    assert_int_equal(tokens.count, n);
    assert_int_equal(tokens.truncated, truncated);
    assert_memory_equal(ids, wanted, (size_t)n * sizeof *ids);
}
#define EXPECT(line, max, truncated, ...)                 \
    expect(&vocab, line, sizeof line - 1, max, truncated, \
           (int)(sizeof(int32_t[]){__VA_ARGS__} / sizeof(int32_t)), (int32_t[]){__VA_ARGS__})

static void test_rules(void **state) {
    (void)state;
    se_vocabulary_t vocab;
    assert_int_equal(se_vocabulary_parse(&vocab, vocabulary, sizeof vocabulary - 1, "test", &error), 0);
    EXPECT("", 16, 0, CLS, SEP);
    EXPECT("  \t ", 16, 0, CLS, SEP);
    EXPECT("abc", 16, 0, CLS, ABC, SEP);
    EXPECT("ABC.abbc", 16, 0, CLS, ABC, DOT, AB, T_BC, SEP);
    EXPECT("abx aby", 16, 0, CLS, AB, T_X, UNK, SEP);        /* an unknown part makes the word unknown */
    EXPECT("\xc3\x89\x65\xcc\x81", 16, 0, CLS, E, T_E, SEP); /* accents go, composed or not */
    EXPECT("a\xe2\x80\x8b"
           "b\x01"
           "c",
           16, 0, CLS, ABC, SEP); /* controls vanish inside a word */
    EXPECT("a\xc2\xa0"
           "b\xe3\x80\x80"
           "b",
           16, 0, CLS, A, B, B, SEP); /* spaces of all kinds split */
    EXPECT("a[MASK]b [mask]", 16, 0, CLS, A, MASK, B, UNK, UNK, UNK,
           SEP); /* special tokens, spelled exactly */
    EXPECT("a\0b", 16, 0, CLS, AB, SEP);
    EXPECT("a b a b", 6, 0, CLS, A, B, A, B, SEP);
    EXPECT("a b a b a", 6, 1, CLS, A, B, A, B, SEP);
    EXPECT("abbc abbc", 5, 1, CLS, AB, T_BC, AB, SEP);
    EXPECT("a", 2, 1, CLS, SEP);
    char word[102];
    memset(word, 'a', sizeof word);
    for (int i = 1; i < 102; ++i) word[i] = 'b';
    assert_int_equal(se_tokenize(&vocab, word, 100, 256, ids, &tokens, &error), 0);
    assert_int_equal(tokens.count, 2 + 99); /* ab ##b ... */
    expect(&vocab, word, 101, 256, 0, 3, (int32_t[]){CLS, UNK, SEP});
    se_vocabulary_close(&vocab);
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const bad[] = {
        "ab\x80",           "\xc3", "\xc0\xaf",   "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xff", "a \xe2\x82", "\xe2\x28\xa1"};
    se_vocabulary_t vocab;
    assert_int_equal(se_vocabulary_parse(&vocab, vocabulary, sizeof vocabulary - 1, "test", &error), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_not_equal(se_tokenize(&vocab, bad[i], strlen(bad[i]), 16, ids, &tokens, &error), 0);
        assert_non_null(strstr(error.text, "not UTF-8 at byte"));
    }
    /* Behind the last token that fits, too. */
    assert_int_not_equal(se_tokenize(&vocab, "a a a \xff", 7, 3, ids, &tokens, &error), 0);
    size_t n = SE_MAX_LINE_BYTES + 1;
    char *line = malloc(n);
    memset(line, 'a', n);
    assert_int_equal(se_tokenize(&vocab, line, n - 1, 16, ids, &tokens, &error), 0);
    assert_int_not_equal(se_tokenize(&vocab, line, n, 16, ids, &tokens, &error), 0);
    assert_non_null(strstr(error.text, "1048576"));
    free(line);
    se_vocabulary_close(&vocab);
}

static void test_vocabulary_refusals(void **state) {
    (void)state;
    static const struct {
        const char *text, *reason;
    } bad[] = {{"", "no [CLS]"},
               {"a\nb\n", "no [CLS]"},
               {"[CLS]\n[SEP]\n", "no [CLS], [SEP] or [UNK]"},
               {"[CLS]\n\n[SEP]\n[UNK]\n", "line 2 is empty"},
               {"[CLS]\n[SEP]\n[UNK]\na\nb\na\n", "lines 4 and 6 hold the same token"}};
    se_vocabulary_t vocab;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_not_equal(se_vocabulary_parse(&vocab, bad[i].text, strlen(bad[i].text), "test", &error),
                             0);
        if (!strstr(error.text, bad[i].reason)) fail_msg("'%s' does not say '%s'", error.text, bad[i].reason);
    }
    /* Windows line ends and no end of the last line. */
    static const char ok[] = "[CLS]\r\n[SEP]\r\n[UNK]\r\nword";
    assert_int_equal(se_vocabulary_parse(&vocab, ok, sizeof ok - 1, "test", &error), 0);
    assert_int_equal(se_vocabulary_id(&vocab, "word"), 3);
    se_vocabulary_close(&vocab);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_goldens),
        cmocka_unit_test(test_real_goldens),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_vocabulary_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
