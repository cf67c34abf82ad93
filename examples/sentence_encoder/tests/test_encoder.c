/* The whole encoder on the tiny model (and on the real one where it is): embeddings against the float64
 * goldens of tools/make_goldens.py, the same bits in any company, on any pool and from many threads, memory
 * that runs out at every place, and no allocation once everything was seen. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "counted_malloc.h"
#include "encoder.h"
#include "failing_memory.h"
#include "lines.h"
#include "tiny_model.h"
#include "tokenizer.h"

enum { MAX_BATCH = 32, MAX_RUN_TOKENS = 1024, MAX_THREADS = 8 };
/* The thread sanitizer looks at every element that a kernel reads: fewer lines there. */
#ifdef __SANITIZE_THREAD__
enum { THIN = 8 };
#else
enum { THIN = 1 };
#endif

static char dir[] = "/tmp/se_encoder_XXXXXX";
static se_error_t error;
static se_model_t model;
static se_lines_t lines;
static int32_t *ids; /* lines x max_tokens */
static se_sequence_t *sequence;

static const se_encoder_opts_t pools[] = {
    {1, SE_POOL_NONE, 0, 0},
#if DNNL_TP_WITH_THREADPOOL
    {1, SE_POOL_OWN, 0, 0},     {2, SE_POOL_OWN, 0, 0},     {3, SE_POOL_OWN, 0, 0},
    {7, SE_POOL_OWN, 0, 0},     {1, SE_POOL_BUILTIN, 0, 0}, {2, SE_POOL_BUILTIN, 0, 0},
    {3, SE_POOL_BUILTIN, 0, 0}, {7, SE_POOL_BUILTIN, 0, 0},
#endif
};
enum { NUM_POOLS = sizeof pools / sizeof *pools };

#define OK(call)                                         \
    do {                                                 \
        if (call) fail_msg("%s: %s", #call, error.text); \
    } while (0)

static void load(const char *folder) {
    OK(se_model_open(&model, folder, &error));
    size_t max = (size_t)model.max_tokens;
    ids = malloc(lines.count * max * sizeof *ids);
    sequence = malloc(lines.count * sizeof *sequence);
    for (size_t i = 0; i < lines.count; ++i) {
        se_tokens_t tokens;
        OK(se_tokenize(&model.vocab, lines.line[i].text, lines.line[i].bytes, (int)max, ids + i * max,
                       &tokens, &error));
        sequence[i] = (se_sequence_t){ids + i * max, tokens.count};
    }
}

static void unload(void) {
    free(ids);
    free(sequence);
    se_model_close(&model);
}

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(dir) || tiny_model_write(dir) || se_lines_open(&lines, SE_LINES, SE_ERRORS_STRICT, &error))
        return -1;
    load(dir);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unload();
    se_lines_close(&lines);
    tiny_model_remove(dir);
    return 0;
}

static void open_encoder(const se_encoder_opts_t *opts, se_encoder_t **encoder, se_session_t **session) {
    OK(se_encoder_create(encoder, &model, opts, &error));
    OK(se_session_create(session, *encoder, MAX_BATCH, MAX_RUN_TOKENS, 0, &error));
}

static void close_encoder(se_encoder_t *encoder, se_session_t *session) {
    se_session_destroy(session);
    se_encoder_destroy(encoder);
}

/* "LINE v v v ...": returns the largest difference to what the encoder gives. */
static double check_goldens(const char *name, const se_encoder_opts_t *opts) {
    char path[4096];
    se_lines_t golden;
    se_encoder_t *encoder;
    se_session_t *session;
    double worst = 0;
    float *row = malloc((size_t)model.hidden * sizeof *row);
    snprintf(path, sizeof path, SE_TEST_DATA "/%s.embeddings", name);
    OK(se_lines_open(&golden, path, SE_ERRORS_STRICT, &error));
    open_encoder(opts, &encoder, &session);
    for (size_t i = 0; i < golden.count; ++i) {
        char *at;
        size_t line = strtoul(golden.line[i].text, &at, 10) - 1;
        OK(se_session_run(session, 1, &sequence[line], &row, &error));
        for (int64_t k = 0; k < model.hidden; ++k) {
            double d = strtod(at, &at) - (double)row[k];
            if (d < 0) d = -d;
            if (!(d <= worst)) worst = d;
        }
    }
    close_encoder(encoder, session);
    se_lines_close(&golden);
    free(row);
    return worst;
}

/* f32 sums of at most 1,536 terms, on vectors of length 1: ONNX Runtime's largest error on these lines is
 * 2e-7. */
static const double tolerance = 1e-6;

/* In bf16, where each of a few dozen roundings in a row is 2^-8 of an element of such a vector. The largest errors of the
 * committed lines are .0034 and .0014. */
static const double tolerance_bf16 = .01;

static void test_tiny_goldens(void **state) {
    (void)state;
    for (int i = 0; i < NUM_POOLS; ++i) {
        double worst = check_goldens("tiny", &pools[i]);
        if (!(worst <= tolerance)) fail_msg("pool %d: max abs error %g", i, worst);
        se_encoder_opts_t low = pools[i];
        low.bf16 = 1;
        worst = check_goldens("tiny", &low);
        print_message("pool %d, bf16: max abs error %g\n", i, worst);
        if (!(worst <= tolerance_bf16 && worst > tolerance))
            fail_msg("pool %d, bf16: max abs error %g", i, worst);
    }
}

static void test_real_goldens(void **state) {
    (void)state;
    const char *folder = getenv("DNNL_TP_MODEL") ? getenv("DNNL_TP_MODEL") : SE_MODEL;
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (access(path, R_OK)) {
        puts("skipped: no model; scripts/get_model brings it");
        skip();
    }
    unload();
    load(folder);
    se_encoder_opts_t opts = pools[NUM_POOLS > 2 ? 2 : 0];
    const double worst = check_goldens("minilm", &opts);
    opts.bf16 = 1;
    const double low = check_goldens("minilm", &opts);
    print_message("bf16: max abs error %g\n", low);
    unload();
    load(dir);
    if (!(worst <= tolerance)) fail_msg("max abs error %g", worst);
    if (!(low <= tolerance_bf16 && low > tolerance)) fail_msg("bf16: max abs error %g", low);
}

/* All lines in runs of at most `batch`. */
static void embed_all(se_session_t *session, int batch, size_t count, float *rows) {
    float *out[MAX_BATCH];
    for (size_t i = 0; i < count;) {
        int n = 0, tokens = 0;
        for (; n < batch && i + (size_t)n < count; ++n) {
            tokens += sequence[i + (size_t)n].count;
            if (tokens > MAX_RUN_TOKENS) break;
            out[n] = rows + (i + (size_t)n) * (size_t)model.hidden;
        }
        OK(se_session_run(session, n, &sequence[i], out, &error));
        i += (size_t)n;
    }
}

static void test_same_bits(void **state) {
    (void)state;
    static const int batches[] = {1, 2, 5, 32};
    size_t count = lines.count / THIN, bytes = count * (size_t)model.hidden * sizeof(float);
    float *first = malloc(bytes), *rows = malloc(bytes);
    for (int i = 0; i < NUM_POOLS; ++i) {
        se_encoder_t *encoder;
        se_session_t *session;
        open_encoder(&pools[i], &encoder, &session);
        for (size_t b = 0; b < sizeof batches / sizeof *batches; ++b) {
            float *out = i || b ? rows : first;
            embed_all(session, batches[b], count, out);
            if (memcmp(out, first, bytes)) fail_msg("pool %d, batches of %d: other bits", i, batches[b]);
        }
        close_encoder(encoder, session);
    }
    free(first);
    free(rows);
}

/* {B, S} gives what the packed form gives, up to rounding (other shapes may use other kernels). */
static void test_rectangle(void **state) {
    (void)state;
    enum { BATCH = 3, TOKENS = 10 };
    se_encoder_t *encoder;
    se_session_t *session;
    int32_t block[BATCH * TOKENS];
    float packed[BATCH][TINY_HIDDEN], rectangle[BATCH][TINY_HIDDEN], *out[BATCH];
    se_sequence_t s[BATCH];
    for (int i = 0; i < BATCH * TOKENS; ++i) block[i] = (i * 37 + 11) % model.vocab.count;
    for (int i = 0; i < BATCH; ++i) s[i] = (se_sequence_t){block + i * TOKENS, TOKENS}, out[i] = packed[i];
    open_encoder(&pools[0], &encoder, &session);
    OK(se_session_run(session, BATCH, s, out, &error));
    OK(se_session_run_rectangle(session, BATCH, TOKENS, block, rectangle[0], &error));
    for (int i = 0; i < BATCH; ++i)
        for (int k = 0; k < TINY_HIDDEN; ++k) assert_true(fabs(rectangle[i][k] - packed[i][k]) <= tolerance);
    close_encoder(encoder, session);
}

static void test_bad_calls(void **state) {
    (void)state;
    se_encoder_t *encoder;
    se_session_t *session;
    float row[TINY_HIDDEN], again[TINY_HIDDEN], *out = row;
    int32_t bad[] = {2, 5, 1 << 20, 3};
    open_encoder(&pools[NUM_POOLS - 1], &encoder, &session);
    OK(se_session_run(session, 1, &sequence[0], &out, &error));
    assert_int_not_equal(se_session_run(session, 0, &sequence[0], &out, &error), 0);
    assert_int_not_equal(se_session_run(session, MAX_BATCH + 1, &sequence[0], &out, &error), 0);
    assert_int_not_equal(se_session_run(session, 1, &(se_sequence_t){bad, 0}, &out, &error), 0);
    assert_int_not_equal(se_session_run(session, 1, &(se_sequence_t){ids, TINY_POSITIONS + 1}, &out, &error),
                         0);
    /* A token that the table does not have: the library refuses the run; the session stays usable. */
    out = again;
    assert_int_not_equal(se_session_run(session, 1, &(se_sequence_t){bad, 4}, &out, &error), 0);
    assert_non_null(strstr(error.text, "run: "));
    OK(se_session_run(session, 1, &sequence[0], &out, &error));
    assert_memory_equal(row, again, sizeof row);
    close_encoder(encoder, session);
}

/* Many clients, one pool. */
typedef struct {
    se_encoder_t *encoder;
    const float *expected;
    size_t first;
    int bad;
} client_t;

enum { CLIENT_LINES = 120 / THIN };

static void *run_client(void *arg) {
    client_t *c = arg;
    se_session_t *session;
    float row[TINY_HIDDEN], *out = row;
    se_error_t why;
    c->bad = -1;
    if (se_session_create(&session, c->encoder, MAX_BATCH, MAX_RUN_TOKENS, 0, &why)) return NULL;
    c->bad = 0;
    for (size_t i = 0; i < CLIENT_LINES; ++i) {
        size_t line = (c->first + i) % CLIENT_LINES;
        if (se_session_run(session, 1, &sequence[line], &out, &why)) ++c->bad;
        else c->bad += memcmp(row, c->expected + line * TINY_HIDDEN, sizeof row) != 0;
    }
    se_session_destroy(session);
    return NULL;
}

static void test_clients(void **state) {
    (void)state;
    float *expected = malloc(CLIENT_LINES * TINY_HIDDEN * sizeof *expected);
    for (int i = 0; i < 1 + 2 * MAX_THREADS * DNNL_TP_WITH_THREADPOOL; ++i) {
        se_encoder_opts_t opts = {(i + 1) / 2,
                                  i == 0  ? SE_POOL_NONE
                                  : i % 2 ? SE_POOL_OWN
                                          : SE_POOL_BUILTIN,
                                  0, 0};
        se_encoder_t *encoder;
        se_session_t *session;
        client_t client[MAX_THREADS];
        pthread_t thread[MAX_THREADS];
        open_encoder(&opts, &encoder, &session);
        embed_all(session, 1, CLIENT_LINES, expected);
        for (int c = 0; c < MAX_THREADS; ++c) {
            client[c] = (client_t){encoder, expected, (size_t)c * 13, 0};
            assert_int_equal(pthread_create(&thread[c], NULL, run_client, &client[c]), 0);
        }
        for (int c = 0; c < MAX_THREADS; ++c) {
            pthread_join(thread[c], NULL);
            assert_int_equal(client[c].bad, 0);
        }
        close_encoder(encoder, session);
    }
    free(expected);
}

/* The n-th allocation of program and library together fails, n = 0, 1, ...: in creation, in compilation, in
 * runs. */
static void test_out_of_memory(void **state) {
    (void)state;
    enum { BATCH = 5 };
    float rows[BATCH][TINY_HIDDEN], again[BATCH][TINY_HIDDEN], *out[BATCH];
    const se_encoder_opts_t *opts = &pools[NUM_POOLS > 2 ? 2 : 0];
    se_encoder_t *encoder;
    se_session_t *session;
    for (int i = 0; i < BATCH; ++i) out[i] = rows[i];
    open_encoder(opts, &encoder, &session);
    OK(se_session_run(session, BATCH, sequence, out, &error));
    close_encoder(encoder, session);
    for (int i = 0; i < BATCH; ++i) out[i] = again[i];
    failing_memory_arm(-1);
    long before = failing_memory_live(), n = 0;
    for (int done = 0; !done; ++n) {
        failing_memory_arm(n);
        session = NULL;
        done = !se_encoder_create(&encoder, &model, opts, &error) &&
               !se_session_create(&session, encoder, MAX_BATCH, MAX_RUN_TOKENS, 0, &error) &&
               !se_session_run(session, BATCH, sequence, out, &error);
        long failed = failing_memory_disarm();
        assert_int_equal(failed, !done);
        if (!done && !strstr(error.text, "memory") && !strstr(error.text, "pool"))
            fail_msg("%ld: %s", n, error.text);
        if (session) { /* the run failed: the next one must not */
            OK(se_session_run(session, BATCH, sequence, out, &error));
            assert_memory_equal(rows, again, sizeof rows);
        }
        close_encoder(encoder, session);
        if (failing_memory_live() != before)
            fail_msg("%ld: %ld blocks leak", n, failing_memory_live() - before);
    }
    assert_true(n > 20);
}

/* 1,000 runs over mixed lengths, tokenizer included, once every shape was seen: nothing of malloc, calloc,
 * realloc, aligned_alloc, posix_memalign or mmap is called. */
static void test_no_allocation(void **state) {
    (void)state;
    for (int i = 0; i < NUM_POOLS; ++i) {
        se_encoder_t *encoder;
        se_session_t *session;
        float row[TINY_HIDDEN], *out = row;
        open_encoder(&pools[i], &encoder, &session);
        for (int pass = 0; pass < 2; ++pass) {
            if (pass) counted_malloc_start();
            for (size_t k = 0; k < lines.count / THIN; ++k) {
                int32_t own[TINY_MAX_TOKENS];
                se_tokens_t tokens;
                const se_line_t *l = &lines.line[k];
                int bad = se_tokenize(&model.vocab, l->text, l->bytes, TINY_MAX_TOKENS, own, &tokens, &error);
                se_sequence_t s = {own, tokens.count};
                if (bad || se_session_run(session, 1, &s, &out, &error)) fail_msg("%s", error.text);
            }
        }
        long calls = counted_malloc_stop();
        if (calls) fail_msg("pool %d: %ld allocations in steady state", i, calls);
        assert_true(se_encoder_num_shapes(encoder) <=
                    2 * 12); /* 12 roundings up to 48 tokens, with and without a rest */
        close_encoder(encoder, session);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_goldens),  cmocka_unit_test(test_real_goldens),
        cmocka_unit_test(test_same_bits),     cmocka_unit_test(test_rectangle),
        cmocka_unit_test(test_bad_calls),     cmocka_unit_test(test_clients),
        cmocka_unit_test(test_no_allocation), cmocka_unit_test(test_out_of_memory),
    };
    /* Before the library's first object: all of its memory passes the test's hands. */
    if (failing_memory_use_in_library()) return 1;
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
