/* The encoder on a GPU against the encoder on the CPU: the tiny model in packed runs of several sizes, as a rectangle, from two clients
 * at once and in bf16; a sentence on the real model, where it is. Needs a device; the project's tests run it on the driver for
 * tests, where kernels are interpreted. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "encoder.h"
#include "lines.h"
#include "tiny_model.h"
#include "tokenizer.h"

enum { LINES = 6, MAX_TOKENS = 128 };
static const double tolerance = 1e-6;     /* as in test_encoder.c */
static const double tolerance_bf16 = .02; /* two roundings of it, one a side */

typedef struct {
    se_model_t model;
    int32_t *ids;
    se_sequence_t sequence[LINES];
} world_t;

static char dir[] = "/tmp/se_gpu_XXXXXX";
static se_error_t error;

#define OK(call)                                         \
    do {                                                 \
        if (call) fail_msg("%s: %s", #call, error.text); \
    } while (0)

static void load(world_t *w, const char *folder, const char *const *text) {
    OK(se_model_open(&w->model, folder, &error));
    const size_t max = (size_t)w->model.max_tokens;
    w->ids = malloc(LINES * max * sizeof *w->ids);
    for (size_t i = 0; i < LINES && text[i]; ++i) {
        se_tokens_t tokens;
        OK(se_tokenize(&w->model.vocab, text[i], strlen(text[i]), (int)max, w->ids + i * max, &tokens,
                       &error));
        w->sequence[i] = (se_sequence_t){w->ids + i * max, tokens.count};
    }
}

static void unload(world_t *w) {
    free(w->ids);
    se_model_close(&w->model);
}

typedef struct {
    const world_t *world;
    se_encoder_t *encoder;
    int batch, count;
    float *rows; /* count x hidden */
    se_error_t error;
    int failed;
} client_t;

/* The first `count` lines, `batch` in a run. */
static void *embed(void *arg) {
    client_t *c = arg;
    se_session_t *session;
    c->failed = se_session_create(&session, c->encoder, c->batch, MAX_TOKENS, NULL, &c->error);
    for (int i = 0; !c->failed && i < c->count; i += c->batch) {
        float *out[LINES];
        const int n = c->count - i < c->batch ? c->count - i : c->batch;
        for (int k = 0; k < n; ++k) out[k] = c->rows + (int64_t)(i + k) * c->world->model.hidden;
        c->failed = se_session_run(session, n, &c->world->sequence[i], out, &c->error);
    }
    se_session_destroy(session);
    return NULL;
}

static double worst_of(const float *x, const float *y, int64_t n) {
    double worst = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double d = fabs((double)x[i] - (double)y[i]);
        if (!(d <= worst)) worst = d;
    }
    return worst;
}

static float *rows_of(const world_t *w, const se_encoder_opts_t *opts, int batch, int count) {
    client_t c = {.world = w, .batch = batch, .count = count};
    c.rows = calloc((size_t)(count * w->model.hidden), sizeof *c.rows);
    OK(se_encoder_create(&c.encoder, &w->model, opts, &error));
    embed(&c);
    if (c.failed) fail_msg("%s", c.error.text);
    se_encoder_destroy(c.encoder);
    return c.rows;
}

static const se_encoder_opts_t on_cpu = {.pool = SE_POOL_NONE}, on_gpu = {.gpu = 1};

static const char *const text[LINES] = {
    "Plants make sugar from sunlight, water and carbon dioxide.", "Ice",    "", "Bees carry pollen.",
    "Roots drink water from the soil and hold the tree upright.", "The sea"};

static void tiny_world(world_t *w) { load(w, dir, text); }

static void packed_runs(void **state) {
    (void)state;
    world_t w;
    tiny_world(&w);
    float *expected = rows_of(&w, &on_cpu, LINES, LINES);
    for (int batch = 1; batch <= LINES; batch += 2) {
        float *rows = rows_of(&w, &on_gpu, batch, LINES);
        const double worst = worst_of(rows, expected, LINES * w.model.hidden);
        if (!(worst <= tolerance)) fail_msg("batches of %d: max abs error %g", batch, worst);
        free(rows);
    }
    free(expected);
    unload(&w);
}

static void clients(void **state) {
    (void)state;
    enum { CLIENTS = 2 };
    world_t w;
    tiny_world(&w);
    float *expected = rows_of(&w, &on_cpu, LINES, LINES);
    se_encoder_t *encoder;
    OK(se_encoder_create(&encoder, &w.model, &on_gpu, &error));
    client_t client[CLIENTS];
    pthread_t thread[CLIENTS];
    for (int i = 0; i < CLIENTS; ++i) {
        client[i] = (client_t){.world = &w, .encoder = encoder, .batch = 2 + i, .count = LINES};
        client[i].rows = calloc((size_t)(LINES * w.model.hidden), sizeof(float));
        assert_int_equal(0, pthread_create(&thread[i], NULL, embed, &client[i]));
    }
    for (int i = 0; i < CLIENTS; ++i) {
        pthread_join(thread[i], NULL);
        if (client[i].failed) fail_msg("client %d: %s", i, client[i].error.text);
        assert_true(worst_of(client[i].rows, expected, LINES * w.model.hidden) <= tolerance);
        free(client[i].rows);
    }
    se_encoder_destroy(encoder);
    free(expected);
    unload(&w);
}

static void rectangle(void **state) {
    (void)state;
    enum { BATCH = 3, TOKENS = 10 };
    world_t w;
    tiny_world(&w);
    int32_t ids[BATCH * TOKENS];
    for (int i = 0; i < BATCH * TOKENS; ++i) ids[i] = (i * 37 + 11) % w.model.vocab.count;
    const se_encoder_opts_t *const opts[2] = {&on_cpu, &on_gpu};
    float rows[2][BATCH * TINY_HIDDEN];
    for (int i = 0; i < 2; ++i) {
        se_encoder_t *encoder;
        se_session_t *session;
        int64_t ns[2], faults[2];
        OK(se_encoder_create(&encoder, &w.model, opts[i], &error));
        OK(se_session_create(&session, encoder, BATCH, BATCH * TOKENS, NULL, &error));
        OK(se_session_run_rectangle(session, BATCH, TOKENS, ids, rows[i], &error));
        assert_int_equal(-1, se_session_run_rectangle(session, BATCH + 1, 1, ids, rows[i], &error));
        OK(se_session_time_fresh(session, BATCH, TOKENS, ids, rows[i], ns, faults, &error));
        se_session_destroy(session);
        se_encoder_destroy(encoder);
    }
    assert_true(worst_of(rows[1], rows[0], BATCH * TINY_HIDDEN) <= tolerance);
    unload(&w);
}

static void in_bf16(void **state) {
    (void)state;
    world_t w;
    tiny_world(&w);
    float *expected = rows_of(&w, &on_cpu, LINES, LINES);
    float *rows = rows_of(&w, &(se_encoder_opts_t){.bf16 = 1, .gpu = 1}, LINES, LINES);
    const double worst = worst_of(rows, expected, LINES * w.model.hidden);
    if (!(worst <= tolerance_bf16 && worst > tolerance)) fail_msg("max abs error %g", worst);
    free(rows);
    free(expected);
    unload(&w);
}

static void real_model(void **state) {
    (void)state;
    const char *folder = getenv("DNNL_TP_MODEL") ? getenv("DNNL_TP_MODEL") : SE_MODEL;
    static const char *const real[LINES] = {"Bees make honey.", "It rains."};
    enum { REAL_LINES = 2 };
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (access(path, R_OK)) {
        puts("skipped: no model; scripts/get_model brings it");
        skip();
    }
    world_t w;
    load(&w, folder, real);
    float *expected = rows_of(&w, &on_cpu, REAL_LINES, REAL_LINES);
    float *rows = rows_of(&w, &on_gpu, REAL_LINES, REAL_LINES);
    const double worst = worst_of(rows, expected, REAL_LINES * w.model.hidden);
    print_message("max abs error %g\n", worst);
    if (!(worst <= tolerance)) fail_msg("max abs error %g", worst);
    free(rows);
    free(expected);
    unload(&w);
}

static int set_up(void **state) {
    (void)state;
    return !mkdtemp(dir) || tiny_model_write(dir) ? -1 : 0;
}
static int tear_down(void **state) {
    (void)state;
    tiny_model_remove(dir);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_runs), cmocka_unit_test(clients),    cmocka_unit_test(rectangle),
        cmocka_unit_test(in_bf16),     cmocka_unit_test(real_model),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
