/* Graph files: what is written and read again is the same graph and the same text; nothing is half written. Mistakes in a
 * text: test_graph_file_refusals.c. Random bytes: tests/fuzz/fuzz_graph.c. */
#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "exec/graph/graph.h"
#include "support/check.h"
#include "support/graph_closures.h"
#include "support/program.h"

#define OK CHECK_OK

static char folder[64];

static int setup(void **state) {
    (void)state;
    strcpy(folder, "/tmp/dnnl_tp_graph_file_XXXXXX");
    return !mkdtemp(folder);
}

static int count_files(bool erase) {
    int n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (*e->d_name == '.') continue;
        ++n;
        if (erase) assert_int_equal(unlinkat(dirfd(d), e->d_name, 0), 0);
    }
    closedir(d);
    return n;
}

static int teardown(void **state) {
    (void)state;
    count_files(true);
    return rmdir(folder);
}

/* ---- Files of tests ---------------------------------------------------------------------------------- */

static char path_text[4][128];
static const char *in_folder(int k, const char *name) {
    snprintf(path_text[k], sizeof path_text[k], "%s/%s", folder, name);
    return path_text[k];
}

static char *read_file(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    if (size) *size = n;
    return text;
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

/* Every statement of the language, as the library writes it. */
static const char everything[] =
    "dnnl_tp_graph 1 cpu\n"
    "input %0: f32[?, 4] \"x\"\n"
    "input %1: s32[3] \"ids\"\n"
    "input %2: f32[] \"n\"\n"
    "function @0 \"f\\\"1\" (%3: f32[], %4: s64[2, 0]) -> (f32[])\n"
    "function @1 \"empty\" () -> ()\n"
    "constant %5: f32[2, 4] \"table\" = {0.5, -0, 1e-45, inf, -inf, 0x7fc00001, 0.1, 16777216}\n"
    "constant %6: bf16[3] = {1, -2.5, 3.3895314e+38}\n"
    "constant %7: f16[2] \"half\" = {6.097555e-05, 0x7e01}\n"
    "constant %8: f64[1] = {0.1}\n"
    "constant %9: s64[2] = {-9223372036854775808, 9223372036854775807}\n"
    "constant %10: s8[2] = {-128, 127}\n"
    "constant %11: u8[2] = {0, 255}\n"
    "constant %12: boolean[2] = {0, 1}\n"
    "constant %13: s64[2, 0] = {}\n"
    "constant %14: f32[100, 100] \"w\" = random 7 -0.25 0.5\n"
    "constant %15: s32[1000] \"zeros\" = fill -1\n"
    "constant %16: f32[4] \"bias\" = fill 0.3\n"
    "define @0 {\n"
    "  constant %17: f32[] = {1}\n"
    "  %18 = subtract (%3, %17) # f32 []\n"
    "  %19 = if \"more\" (%18) { # f32[]\n"
    "    %20 = call \"again\" @0 (%18, %4)\n"
    "    yield %20\n"
    "  } else {\n"
    "    yield %3\n"
    "  }\n"
    "  return %19\n"
    "}\n"
    "define @1 {\n"
    "  host \"effect\\x01\\n\" () may_block\n"
    "  return\n"
    "}\n"
    "%21 = gather \"take\" (%5, %1)\n"
    "%22 = matmul \"mm\" (%0, %21) transpose_b=true target\n"
    "%23 = layer_norm (%0) epsilon=1e-12 begin_norm_axis=-1 use_affine=false\n"
    "%24 = static_reshape (%23) shape=[-1, 2, 2]\n"
    "%25 = gelu (%24) mode=\"gelu_tanh\"\n"
    "%26 = clamp (%25) max=inf min=-1.5 after (%22, %21)\n"
    "%27: f32[], %28: f32[1] = host \"two\" (%2) cost=12000 after (%26) target\n"
    "%29 = call @0 (%27, %13)\n"
    "call \"e\" @1 ()\n"
    "%30, %31 = while \"loop\" (%32: f32[] \"i\" = %29, %33: f32[?, 4] = %0) window=3 {\n"
    "  %34 = abs (%32)\n"
    "  test %34\n"
    "} do {\n"
    "  constant %35: f32[] = {1}\n"
    "  %36 = subtract (%32, %35)\n"
    "  %37 = bias_add (%33, %16)\n"
    "  yield %36, %37\n"
    "}\n"
    "%38 = if \"half\" (%2) {\n  yield _\n} else {\n  yield %2\n}\n"
    "output %30 \"count\"\n"
    "output %31\n"
    "output %26 \"\\\\y\\xff\"\n";

/* The text without remarks. */
static char *strip(const char *text) {
    char *all = malloc(strlen(text) + 1), *q = all;
    assert_non_null(all);
    for (const char *p = text; *p; ++p) {
        if (*p == '#') {
            while (p[1] != '\n') ++p;
            while (q > all && q[-1] == ' ') --q;
        } else {
            *q++ = *p;
        }
    }
    *q = 0;
    return all;
}

static void assert_same_text(const char *a, const char *b) {
    char *x = strip(a), *y = strip(b);
    size_t i = 0;
    while (x[i] && x[i] == y[i]) ++i;
    if (x[i] || y[i]) fail_msg("texts differ from here on:\n%.200s\n----\n%.200s", x + i, y + i);
    free(x);
    free(y);
}

static void test_everything(void **state) {
    (void)state;
    dnnl_tp_graph_t g, again;
    const char *first = in_folder(0, "a.graph"), *second = in_folder(1, "b.graph");
    test_closures_dropped = test_closures_resolved = 0;
    OK(dnnl_tp_graph_read_text(&g, everything, strlen(everything), &test_read_opts));
    assert_int_equal(test_closures_resolved, 2);
    OK(dnnl_tp_graph_write(g, first, DNNL_TP_GRAPH_TEXT));
    OK(dnnl_tp_graph_read_v2(&again, first, &test_read_opts));
    OK(dnnl_tp_graph_write(again, second, DNNL_TP_GRAPH_TEXT));
    char *a = read_file(first, NULL), *b = read_file(second, NULL);
    assert_string_equal(a, b);
    /* Both texts: "-0" and the smallest number are written otherwise than in the source, and \xff as it is.
     */
    char *want = strdup(everything), *at;
    assert_non_null(want);
    if ((at = strstr(want, "1e-45"))) {
        char *longer = malloc(strlen(want) + 16);
        assert_non_null(longer);
        sprintf(longer, "%.*s1.4013e-45%s", (int)(at - want), want, at + 5);
        free(want);
        want = longer;
    }
    if ((at = strstr(want, "\\xff"))) {
        *at = (char)0xff;
        memmove(at + 1, at + 4, strlen(at + 4) + 1);
    }
    assert_same_text(a, want);
    const dtp_graph_t *r = again->root;
    float expected;
    uint32_t bits = 0x7fc00001;
    memcpy(&expected, &bits, 4);
    const dtp_gvalue_t *table = NULL;
    for (int i = 0; i < r->nvalues; ++i)
        if (!strcmp(r->values[i].name, "table")) table = &r->values[i];
    assert_non_null(table);
    assert_memory_equal((const float *)table->data + 5, &expected, 4);
    assert_true(((const uint32_t *)table->data)[1] == 0x80000000u && ((const uint32_t *)table->data)[2] == 1);
    free(a), free(b), free(want);
    dnnl_tp_graph_destroy(g);
    dnnl_tp_graph_destroy(again);
    assert_int_equal(test_closures_dropped, 4);
    assert_int_equal(count_files(true), 2);
}

/* ---- Random programs --------------------------------------------------------------------------------- */

static dnnl_tp_status_t of_graph(void *arg, const char *name, int nin, int nout, dnnl_tp_graph_closure_t *c) {
    const dtp_graph_t *g = ((dnnl_tp_graph_t)arg)->root;
    for (int i = 0; i < g->nnodes; ++i)
        if (g->nodes[i].kind == DTP_NODE_HOST && !strcmp(g->nodes[i].name, name)) {
            if (g->nodes[i].nin != nin || g->nodes[i].nout != nout) return dnnl_tp_invalid_arguments;
            *c = (dnnl_tp_graph_closure_t){g->nodes[i].fn, g->nodes[i].arg, NULL};
            return dnnl_tp_success;
        }
    return dnnl_tp_unimplemented;
}

static void test_programs(void **state) {
    (void)state;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_create(&stream, engine, dnnl_tp_stream_default_flags));
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        program_opts_t po = {.size = 60, .depth = 4, .window = 3, .functions = 2, .primitives = 30};
        program_t *p = program_create(seed, &po);
        dnnl_tp_graph_read_opts_t ro = {
            .struct_size = sizeof ro, .resolve = of_graph, .resolve_arg = program_graph(p)};
        dnnl_tp_graph_t g;
        const char *first = in_folder(0, "p.graph"), *second = in_folder(1, "q.graph");
        OK(dnnl_tp_graph_write(program_graph(p), first, DNNL_TP_GRAPH_TEXT));
        OK(dnnl_tp_graph_read_v2(&g, first, &ro));
        OK(dnnl_tp_graph_write(g, second, DNNL_TP_GRAPH_TEXT));
        char *a = read_file(first, NULL), *b = read_file(second, NULL);
        if (strcmp(a, b)) fail_msg("seed %d: other text", (int)seed);
        free(a), free(b);
        dnnl_tp_executable_t e;
        OK(dnnl_tp_executable_compile(&e, g, engine, 0, NULL, NULL));
        float in[PROGRAM_INPUTS][PROGRAM_ELEMS], want[PROGRAM_MAX_OUTPUTS][PROGRAM_ELEMS],
            got[PROGRAM_MAX_OUTPUTS][PROGRAM_ELEMS];
        void *pin[PROGRAM_INPUTS], *pout[PROGRAM_MAX_OUTPUTS];
        for (int i = 0; i < PROGRAM_INPUTS; ++i) {
            pin[i] = in[i];
            for (int k = 0; k < PROGRAM_ELEMS; ++k)
                in[i][k] = (float)((seed * 31 + (uint64_t)(i * 7 + k)) % 50);
        }
        for (int i = 0; i < PROGRAM_MAX_OUTPUTS; ++i) pout[i] = got[i];
        uint64_t hash = program_interpret(p, in, want);
        atomic_store(program_hash(p), 0);
        OK(dnnl_tp_executable_run(e, stream, PROGRAM_INPUTS, pin, program_outputs(p), pout, NULL));
        assert_true(atomic_load(program_hash(p)) == hash);
        for (int i = 0; i < program_outputs(p); ++i) assert_memory_equal(got[i], want[i], sizeof want[i]);
        OK(dnnl_tp_graph_write(g, second, DNNL_TP_GRAPH_DOT)); /* compiled ones, too */
        dnnl_tp_executable_destroy(e);
        dnnl_tp_graph_destroy(g);
        program_destroy(p);
    }
    dnnl_tp_stream_destroy(stream);
    dnnl_tp_engine_destroy(engine);
    count_files(true);
}

/* ---- Constants in other files ------------------------------------------------------------------------ */

static dnnl_tp_graph_t with_weights(void) {
    enum { N = 70 };
    static float w[N * N];
    static int32_t ids[N];
    for (int i = 0; i < N * N; ++i) w[i] = (float)(i * 37 % 1001) / 1001.f - 0.5f;
    for (int i = 0; i < N; ++i) ids[i] = i * 3 % N;
    dnnl_tp_graph_t g;
    dnnl_tp_value_t v[2], out;
    static const dnnl_tp_dims_t d = {N, N};
    OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    OK(dnnl_tp_graph_constant(g, &v[0], "w", dnnl_tp_f32, 2, d, w, 0, NULL, NULL));
    OK(dnnl_tp_graph_constant(g, &v[1], "ids", dnnl_tp_s32, 1, d, ids, 0, NULL, NULL));
    OK(dnnl_tp_graph_op(g, dnnl_tp_op_gather, "rows", 2, v, 0, NULL, 1, &out));
    OK(dnnl_tp_graph_output(g, out, "y"));
    return g;
}

static void test_data_files(void **state) {
    (void)state;
    dnnl_tp_graph_t g = with_weights(), again;
    const char *path = in_folder(0, "w.graph"), *data = in_folder(1, "w.graph.data");
    OK(dnnl_tp_graph_write(g, path, DNNL_TP_GRAPH_TEXT));
    assert_int_equal(count_files(false), 2);
    OK(dnnl_tp_graph_read(&again, path));
    const dtp_graph_t *a = g->root, *b = again->root;
    for (int i = 0; i < 2; ++i)
        assert_memory_equal(a->values[i].data, b->values[i].data, dtp_info_bytes(a->values[i].info));
    OK(dnnl_tp_graph_write(again, path, DNNL_TP_GRAPH_TEXT)); /* over itself */
    dnnl_tp_graph_destroy(again);
    OK(dnnl_tp_graph_read(&again, path));
    dnnl_tp_graph_destroy(again);
    /* Other bytes, too few, none; a text in memory. */
    int fd = open(data, O_RDWR);
    assert_true(fd >= 0 && pwrite(fd, "x", 1, 1000) == 1);
    assert_int_equal(dnnl_tp_graph_read(&again, path), dnnl_tp_invalid_graph);
    assert_null(again);
    assert_non_null(strstr(dnnl_tp_last_error(), "other data"));
    assert_int_equal(ftruncate(fd, 1000), 0);
    close(fd);
    assert_int_equal(dnnl_tp_graph_read(&again, path), dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "ends before"));
    assert_int_equal(unlink(data), 0);
    assert_int_equal(dnnl_tp_graph_read(&again, path), dnnl_tp_invalid_graph);
    assert_non_null(strstr(dnnl_tp_last_error(), "w.graph:2:37"));
    char *text = read_file(path, NULL);
    assert_int_equal(dnnl_tp_graph_read_text(&again, text, strlen(text), NULL), dnnl_tp_invalid_graph);
    free(text);
    /* Without weights: same shapes, ids as they were, the same text again. */
    OK(dnnl_tp_graph_write(g, path, DNNL_TP_GRAPH_TEXT | DNNL_TP_GRAPH_NO_WEIGHTS));
    assert_int_equal(count_files(false), 1);
    OK(dnnl_tp_graph_read(&again, path));
    const float *w = again->root->values[0].data;
    float lo = 1, hi = -1;
    for (int i = 0; i < 70 * 70; ++i) lo = w[i] < lo ? w[i] : lo, hi = w[i] > hi ? w[i] : hi;
    assert_true(lo >= -0.5f && lo < -0.45f && hi <= 0.5f && hi > 0.45f);
    assert_memory_equal(again->root->values[1].data, a->values[1].data, 70 * 4);
    OK(dnnl_tp_graph_write(again, in_folder(2, "again"), DNNL_TP_GRAPH_TEXT));
    char *x = read_file(path, NULL), *y = read_file(in_folder(2, "again"), NULL);
    /* The second time ids are large data of another file. */
    char *random = strstr(x, "random"), *same = strstr(y, "random");
    assert_true(random && same && !strncmp(random, same, strcspn(random, "\n")));
    free(x), free(y);
    dnnl_tp_graph_destroy(g);
    dnnl_tp_graph_destroy(again);
    count_files(true);
}

/* Every beginning of a good text ends properly. */
static void test_beginnings(void **state) {
    (void)state;
    for (size_t n = 0; n < strlen(everything); ++n) {
        dnnl_tp_graph_t g;
        char *copy = malloc(n + 1); /* sanitizers see what is read behind it */
        assert_non_null(copy);
        memcpy(copy, everything, n);
        if (dnnl_tp_graph_read_text(&g, copy, n, &test_read_opts) == dnnl_tp_success)
            dnnl_tp_graph_destroy(g);
        free(copy);
    }
}

/* ---- Writing that fails ------------------------------------------------------------------------------ */

static void test_writing_fails(void **state) {
    (void)state;
    dnnl_tp_graph_t g = with_weights(), region;
    assert_int_equal(dnnl_tp_graph_write(g, NULL, 0), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_write(NULL, "x", 0), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_write(g, in_folder(0, "x"), 2), dnnl_tp_invalid_arguments);
    assert_int_equal(dnnl_tp_graph_write(g, in_folder(0, "none/x"), 0), dnnl_tp_invalid_arguments);
    /* In the place of a folder: nothing stays behind, and no data either. */
    const char *taken = in_folder(0, "taken");
    assert_int_equal(mkdir(taken, 0700), 0);
    assert_int_equal(dnnl_tp_graph_write(g, taken, DNNL_TP_GRAPH_DOT), dnnl_tp_runtime_error);
    assert_int_equal(count_files(false), 1);
    assert_int_equal(rmdir(taken), 0);
    const char *data = in_folder(1, "taken.data");
    assert_int_equal(mkdir(data, 0700), 0);
    assert_int_equal(dnnl_tp_graph_write(g, taken, DNNL_TP_GRAPH_TEXT), dnnl_tp_runtime_error);
    assert_int_equal(count_files(false), 1);
    assert_int_equal(rmdir(data), 0);
    /* A pipe or a device is written through; a file of weights beside it would be somebody else's. */
    OK(dnnl_tp_graph_write(g, "/dev/null", DNNL_TP_GRAPH_DOT));
    OK(dnnl_tp_graph_write(g, "/dev/null", DNNL_TP_GRAPH_TEXT | DNNL_TP_GRAPH_NO_WEIGHTS));
    assert_int_equal(dnnl_tp_graph_write(g, "/dev/null", DNNL_TP_GRAPH_TEXT), dnnl_tp_invalid_arguments);
    assert_int_equal(access("/dev/null.data", F_OK), -1);
    /* A region that nobody took; a region's handle. */
    OK(dnnl_tp_graph_create_region(&region, g));
    write_file(taken, "kept");
    assert_int_equal(dnnl_tp_graph_write(g, taken, 0), dnnl_tp_invalid_graph);
    assert_int_equal(dnnl_tp_graph_write(region, taken, 0), dnnl_tp_invalid_arguments);
    char *text = read_file(taken, NULL);
    assert_string_equal(text, "kept");
    free(text);
    dnnl_tp_graph_destroy(region);
    dnnl_tp_graph_destroy(g);
    assert_int_equal(count_files(true), 1);
}

/* ---- Other locales, drawings ------------------------------------------------------------------------- */

static void test_locale(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *set = NULL;
    for (int i = 0; i < 4 && !set; ++i) set = setlocale(LC_ALL, names[i]);
    if (!set) skip(); /* none with a decimal comma on this machine */
    test_everything(NULL);
    setlocale(LC_ALL, "C");
}

static void test_dot(void **state) {
    (void)state;
    dnnl_tp_graph_t g;
    const char *path = in_folder(0, "g.dot");
    OK(dnnl_tp_graph_read_text(&g, everything, strlen(everything), &test_read_opts));
    OK(dnnl_tp_graph_write(g, path, DNNL_TP_GRAPH_DOT));
    char *text = read_file(path, NULL);
    int depth = 0, clusters = 0;
    for (const char *p = text; *p; ++p) {
        depth += *p == '{' ? 1 : *p == '}' ? -1 : 0; /* shapes in labels are balanced, too */
        clusters += !strncmp(p, "subgraph cluster", 16);
    }
    assert_int_equal(depth, 0);
    assert_int_equal(clusters, 2 + 3 * 3); /* functions; two Ifs and a While with two regions each */
    assert_non_null(strstr(text, "while loop"));
    free(text);
    char command[256];
    snprintf(command, sizeof command, "command -v dot >/dev/null || exit 0; dot -Tplain %s >/dev/null", path);
    assert_int_equal(system(command), 0);
    dnnl_tp_graph_destroy(g);
    count_files(true);
}

/* ---- Out of memory ----------------------------------------------------------------------------------- */

static void test_out_of_memory(void **state) {
    (void)state;
    static test_allocator_t a;
    test_allocator_init(&a);
    OK(dnnl_tp_set_allocator(&a.iface));
    dnnl_tp_graph_t g = NULL, w = with_weights();
    const char *path = in_folder(0, "g.graph");
    write_file(path, everything);
    for (long n = 0; !g; ++n) {
        assert_true(n < 10000);
        a.fail_at = n;
        dnnl_tp_status_t s = dnnl_tp_graph_read_v2(&g, path, &test_read_opts);
        a.fail_at = -1;
        assert_int_equal(s, g ? dnnl_tp_success : dnnl_tp_out_of_memory);
    }
    for (int format = 0; format < 2; ++format)
        for (int k = 0; k < 2; ++k) {
            bool good = false;
            for (long n = 0; !good; ++n) {
                assert_true(n < 1000);
                count_files(true);
                a.fail_at = n;
                dnnl_tp_status_t s = dnnl_tp_graph_write(k ? w : g, path, format);
                a.fail_at = -1;
                good = s == dnnl_tp_success;
                if (!good) assert_int_equal(s, dnnl_tp_out_of_memory);
                assert_int_equal(count_files(false), good ? 1 + (k && !format) : 0);
            }
        }
    dnnl_tp_graph_destroy(g);
    dnnl_tp_graph_destroy(w);
    assert_int_equal(a.live, 0);
    OK(dnnl_tp_set_allocator(NULL));
    count_files(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything),    cmocka_unit_test(test_programs),
        cmocka_unit_test(test_data_files),    cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_writing_fails), cmocka_unit_test(test_locale),
        cmocka_unit_test(test_dot),           cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
