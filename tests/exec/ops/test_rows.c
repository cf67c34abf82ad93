/* All rows of operators: each infers, compiles, runs the same fused, alone, folded and read back from its text, and
 * refuses attributes that are missing, unknown, repeated or of another type, and wrong numbers of inputs and results.
 * A new operator is in here by being in the table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/tensor.h"
#include "support/upload.h"

#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "common/problems/graph/cached_attention.h"
#include "common/problems/graph/pointwise.h"
#include "common/problems/graph/tree_ensemble.h"
#include "exec/ops/ops.h"

enum { MOST_SIDE = 9, ELEMS = MOST_SIDE * MOST_SIDE, MOST = 8, MOST_ATTRS = 10 };
/* What samples are of: a matrix, whose elements are no whole number of vectors but in the first case. */
static const int64_t sides[][2] = {{4, 4}, {5, 7}, {6, 5}, {9, 4}, {7, 9}};
static int64_t rows = 4, cols = 4;

/* ---- A sample of each operator ----------------------------------------------------------------------- */

typedef struct {
    const dtp_op_row_t *row;
    int nin, nout, nattr;
    dnnl_tp_op_attr_t attr[MOST_ATTRS];
} sample_t;

/* A value of each attribute with which every operator that has it takes {rows, cols}. */
static void set_attr(sample_t *s, const dtp_op_field_t *f, bool all) {
    static struct {
        const char *name;
        int n;
        int64_t at[2];
    } lists[] = {{"shape", 2, {0, -1}},         {"sizes", 2, {0, 1}},      {"axes", 1, {0}},
                 {"order", 2, {1, 0}},          {"kernel", 2, {2, 1}},     {"strides", 2, {2, 1}},
                 {"dilations", 2, {1, 2}},      {"pads_begin", 2, {1, 0}}, {"pads_end", 2, {1, 0}},
                 {"output_padding", 2, {1, 0}}, {"scale_to", 2, {3, 2}},   {"scale_from", 2, {2, 2}}};
    enum { SHAPE, SIZES };
    static const float half = .5f;
    static const int64_t one = 1;
    static const uint8_t yes = 1, no = 0;
    lists[SHAPE].at[0] = cols;
    lists[SIZES].at[0] = (all ? cols : rows) - 1; /* axis is 1, or by default 0 */
    dnnl_tp_op_attr_t *a = &s->attr[s->nattr++];
    assert_true(s->nattr < MOST_ATTRS);
    *a = (dnnl_tp_op_attr_t){f->key, f->type, 1, NULL};
    if (f->most) {
        size_t k = 0;
        while (k < sizeof lists / sizeof *lists && strcmp(lists[k].name, f->name)) ++k;
        if (k == sizeof lists / sizeof *lists) fail_msg("no sample of the list %s", f->name);
        a->count = lists[k].n;
        a->data = lists[k].at;
    } else if (f->type == dnnl_tp_op_attr_string) {
        a->count = (int)strlen(f->words[0]);
        a->data = f->words[0];
    } else if (f->type == dnnl_tp_op_attr_f32) {
        a->data = &half;
    } else if (f->type == dnnl_tp_op_attr_bool) {
        a->data = strcmp(f->name, "use_affine") ? &yes : &no; /* there is one input */
    } else {
        a->data = &one;
    }
}

/* Sizes that are no attribute are an input. */
static bool is_needed(const dtp_op_row_t *row, const dtp_op_field_t *f) {
    return f->needed || (row->kind == dnnl_tp_op_interpolate && !strcmp(f->name, "sizes"));
}

/* With the attributes that it needs, or with all. */
static sample_t sample_of(const dtp_op_row_t *row, bool all) {
    sample_t s = {.row = row, .nin = row->min_in};
    int n;
    const dtp_op_field_t *f = dtp_op_fields(row, &n);
    for (int i = 0; i < n; ++i)
        if (f[i].key != DTP_ATTR_FIXED && (all || is_needed(row, &f[i]))) set_attr(&s, &f[i], all);
    return s;
}

/* ---- Building and running ---------------------------------------------------------------------------- */

static float floats[MOST][ELEMS];
static int32_t ids[ELEMS], wholes[ELEMS]; /* positions below 4, numbers above 0 */

/* Functions of boolean alone, of integers alone. */
static uint8_t truths[MOST][ELEMS];
static bool is_logical(const dtp_op_row_t *row) {
    if (row->cls != &dtp_class_unary && row->cls != &dtp_class_binary) return false;
    return !dtp_ew_takes((int)((const dtp_alg_row_t *)row->param)->alg, dnnl_tp_f32);
}
static int function_of(const dtp_op_row_t *row) {
    return row->cls == &dtp_class_pointwise ? ((const dtp_pointwise_row_t *)row->param)->fn : -1;
}
static bool is_integral(const dtp_op_row_t *row) {
    return function_of(row) > DTP_PW_cast && !dtp_pointwise_takes(function_of(row), dnnl_tp_f32);
}
static bool is_truth(const dtp_op_row_t *row, int input) {
    return is_logical(row) || (function_of(row) == DTP_PW_select && input == 0);
}

/* Positions: a list, as many as elements, or coordinates of rows. */
static bool is_elements(const dtp_op_row_t *row) {
    return row->cls == &dtp_class_gather_elements || row->cls == &dtp_class_scatter_elements;
}
static bool is_coordinates(const dtp_op_row_t *row) {
    return row->cls == &dtp_class_gather_nd || row->cls == &dtp_class_scatter_nd;
}
static bool is_ids(const dtp_op_row_t *row, int input) {
    return input == 1 && (row->kind == dnnl_tp_op_gather || row->cls == &dtp_class_take || is_elements(row) ||
                          is_coordinates(row) || row->cls == &dtp_class_gather_sum);
}

/* A shape is known when the graph is compiled: a constant in any case. */
static bool is_shape(const dtp_op_row_t *row, int input) {
    return (row->cls->flags & DTP_OP_SHAPE_INPUT) && input == 1;
}
static int64_t shape[2] = {0, -1};

/* A tree of one comparison and two leaves: the tables behind x. */
static const struct {
    dnnl_tp_data_type_t type;
    int ndims;
    int64_t dims[2];
    const void *data;
} tables[] = {
    [DTP_TREES_NODES] = {dnnl_tp_s32, 2, {3, 2}, (const int32_t[]){0, 1, 0, 0, 0, 1}},
    [DTP_TREES_ROOTS] = {dnnl_tp_s32, 2, {1, 2}, (const int32_t[]){0, 1}},
    [DTP_TREES_LEAVES] = {dnnl_tp_s32, 1, {4}, (const int32_t[]){0, 0, 1, 2}},
    [DTP_TREES_TARGETS] = {dnnl_tp_s32, 1, {2}, (const int32_t[]){0, 0}},
    [DTP_TREES_SPLITS] = {dnnl_tp_f32, 1, {3}, (const float[]){.5f, NAN, NAN}},
    [DTP_TREES_WEIGHTS] = {dnnl_tp_f32, 1, {2}, (const float[]){.25f, .75f}},
};
static bool is_table(const dtp_op_row_t *row, int input) {
    return row->cls == &dtp_class_tree_ensemble && input != DTP_TREES_SRC;
}

/* Attention over a cache {1, 1, rows, cols}, of which two places are taken; the rows are {1, rows, cols}. */
static const int32_t lengths[1] = {2};
static bool is_cached(const dtp_op_row_t *row) { return row->cls == &dtp_class_cached_attention; }
static bool is_lengths(const dtp_op_row_t *row, int input) {
    return is_cached(row) && input == DTP_CACHED_LENGTHS;
}

static const void *data_of(const dtp_op_row_t *row, int input) {
    if (is_lengths(row, input)) return lengths;
    if (is_table(row, input)) return tables[input].data;
    if (is_truth(row, input)) return truths[input];
    if (is_integral(row) && input == 0) return wholes;
    return is_ids(row, input) || is_integral(row) ? (const void *)ids : floats[input];
}

/* Shapes that are not {rows, cols}. */
static int dims_of(const dtp_op_row_t *row, int input, dnnl_tp_dims_t dims) {
    if (is_table(row, input)) {
        memcpy(dims, tables[input].dims, sizeof tables[input].dims);
        return tables[input].ndims;
    }
    const bool is_list = is_ids(row, input) && !is_elements(row) && !is_coordinates(row);
    const bool is_row = is_list || (row->kind == dnnl_tp_op_bias_add && input == 1) ||
                        (row->cls == &dtp_class_batch_norm && input > 0);
    const bool is_image = row->cls == &dtp_class_convolution || row->cls == &dtp_class_conv_transpose ||
                          row->cls == &dtp_class_max_pool || row->cls == &dtp_class_avg_pool ||
                          row->cls == &dtp_class_interpolate;
    for (int d = 0; d < 4; ++d) dims[d] = 1;
    if (row->cls == &dtp_class_lstm || row->cls == &dtp_class_gru ||
        row->cls == &dtp_class_rnn) { /* one unit */
        const int64_t parts = row->cls == &dtp_class_lstm ? 4 : row->cls == &dtp_class_gru ? 3 : 1;
        dims[0] = input == 0 ? rows : input == 1 ? parts : 1;
        dims[2] = parts;
        if (input == 4) dims[0] = 3; /* peepholes */
        return input == 0 ? 3 : input == 4 ? 1 : 2;
    }
    if (row->cls == &dtp_class_gather_sum) { /* x {1, rows, cols}, the others {2, 1, rows} */
        dims[0] = input ? 2 : 1;
        dims[1] = input ? 1 : rows;
        dims[2] = input ? rows : cols;
        return 3;
    }
    if (is_cached(row)) {
        dims[input < DTP_CACHED_PAST_K ? 1 : 2] = rows;
        dims[input < DTP_CACHED_PAST_K ? 2 : 3] = cols;
        return input < DTP_CACHED_PAST_K ? 3 : is_lengths(row, input) ? 1 : 4;
    }
    if (!is_image) {
        dims[0] = is_row && !is_list ? cols : rows;
        dims[1] = is_ids(row, input) && is_coordinates(row) ? 1 : cols;
        if (row->kind == dnnl_tp_op_matmul && input == 1) dims[0] = cols, dims[1] = rows;
        return is_row ? 1 : 2;
    }
    dims[1] = rows;
    if (input) dims[0] = cols; /* weights {cols, rows, 1, 1} */
    else dims[2] = 2, dims[3] = 2;
    return 4;
}

/* The inputs: as inputs of the graph, or as constants. */
static void add_inputs(dnnl_tp_graph_t g, const sample_t *s, bool constants, dnnl_tp_value_t *in) {
    for (int i = 0; i < s->nin; ++i) {
        if (is_shape(s->row, i)) {
            const dnnl_tp_dims_t two = {2};
            CHECK_OK(dnnl_tp_graph_constant(g, &in[i], "shape", dnnl_tp_s64, 1, two, shape,
                                            DNNL_TP_CONSTANT_COPY, NULL, NULL));
            continue;
        }
        const dnnl_tp_data_type_t dt = is_lengths(s->row, i)                      ? dnnl_tp_s32
                                       : is_table(s->row, i)                      ? tables[i].type
                                       : is_ids(s->row, i) || is_integral(s->row) ? dnnl_tp_s32
                                       : is_truth(s->row, i)                      ? dnnl_tp_boolean
                                                                                  : dnnl_tp_f32;
        dnnl_tp_dims_t dims;
        const int ndims = dims_of(s->row, i, dims);
        const void *data = data_of(s->row, i);
        if (constants)
            CHECK_OK(dnnl_tp_graph_constant(g, &in[i], "c", dt, ndims, dims, data, DNNL_TP_CONSTANT_COPY,
                                            NULL, NULL));
        else CHECK_OK(dnnl_tp_graph_input(g, &in[i], "x", dt, ndims, dims));
    }
}

static dnnl_tp_status_t add_op(dnnl_tp_graph_t g, const sample_t *s, const dnnl_tp_value_t *in,
                               dnnl_tp_value_t *out) {
    return dnnl_tp_graph_op(g, (dnnl_tp_op_kind_t)s->row->kind, "op", s->nin, in, s->nattr, s->attr, s->nout,
                            out);
}

/* How many results the sample has; at most three of a kind whose user chooses. */
static int count_results(sample_t *s) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in[MOST], out[MOST];
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    add_inputs(g, s, false, in);
    for (s->nout = 3; s->nout; --s->nout)
        if (add_op(g, s, in, out) == dnnl_tp_success) break;
    if (!s->nout) fail_msg("%s: %s", s->row->name, dnnl_tp_last_error());
    CHECK_OK(dnnl_tp_graph_destroy(g));
    return s->nout;
}

static dnnl_tp_graph_t build(const sample_t *s, bool constants) {
    dnnl_tp_graph_t g;
    dnnl_tp_value_t in[MOST], out[MOST];
    CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
    add_inputs(g, s, constants, in);
    CHECK_OK(add_op(g, s, in, out));
    for (int i = 0; i < s->nout; ++i) CHECK_OK(dnnl_tp_graph_output(g, out[i], NULL));
    return g;
}

typedef struct {
    float y[MOST][ELEMS];
} results_t;

static const place_t *at; /* where samples run */
static bool run(dnnl_tp_graph_t g, const sample_t *s, bool constants, unsigned flags, results_t *r) {
    dnnl_tp_executable_t e;
    dnnl_tp_stream_attr_t sa;
    void *in[MOST], *out[MOST];
    memset(r, 0, sizeof *r);
    for (int i = 0; i < s->nin; ++i) in[i] = (void *)(uintptr_t)data_of(s->row, i);
    for (int i = 0; i < s->nout; ++i) out[i] = r->y[i];
    CHECK_OK(dnnl_tp_stream_attr_create(&sa, dnnl_tp_cpu));
    if (at->pool) CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(sa, at->pool));
    const dnnl_tp_compile_opts_t opts = {
        .struct_size = sizeof opts, .stream_attr = at->pool ? sa : NULL, .flags = flags};
    const bool has = has_impl(at->engine, dnnl_tp_executable_compile(&e, g, at->engine, 0, NULL, &opts));
    const int nin = s->nin - is_shape(s->row, s->nin - 1);
    if (has) CHECK_OK(test_run_graph(e, at->stream, constants ? 0 : nin, in, s->nout, out, NULL));
    CHECK_OK(dnnl_tp_executable_destroy(e));
    CHECK_OK(dnnl_tp_stream_attr_destroy(sa));
    return has;
}

static void assert_near(const char *name, const results_t *a, const results_t *b) {
    for (int i = 0; i < MOST; ++i)
        for (int k = 0; k < ELEMS; ++k) {
            const float x = a->y[i][k], y = b->y[i][k];
            if (memcmp(&a->y[i][k], &b->y[i][k], sizeof x) && !(isnan(x) && isnan(y)) &&
                !(fabsf(x - y) <= 1e-6f * (1.f + fabsf(y))))
                fail_msg("%s: result %d, element %d: %g and %g", name, i, k, (double)x, (double)y);
        }
}

static char *text_of(dnnl_tp_graph_t g) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/dnnl_tp_rows_%d.graph", (int)getpid());
    CHECK_OK(dnnl_tp_graph_write(g, path, DNNL_TP_GRAPH_TEXT));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *text = calloc(1, 1 << 16);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
    fclose(f);
    remove(path);
    return text;
}

/* The same from its text. */
static void check_text(dnnl_tp_graph_t g, const sample_t *s, const results_t *want, bool has) {
    results_t again;
    dnnl_tp_graph_t read;
    char *text = text_of(g);
    CHECK_OK(dnnl_tp_graph_read_text(&read, text, strlen(text), NULL));
    char *second = text_of(read);
    assert_string_equal(text, second);
    assert_int_equal(run(read, s, false, 0, &again), has);
    assert_memory_equal(&again, want, sizeof again);
    free(text);
    free(second);
    CHECK_OK(dnnl_tp_graph_destroy(read));
}

/* False: the engine has no such operator. */
static bool check_sample(const sample_t *s, bool with_text) {
    results_t fused, alone, folded;
    dnnl_tp_graph_t g = build(s, false), c = build(s, true);
    const bool has = run(g, s, false, 0, &fused);
    assert_int_equal(run(g, s, false, DNNL_TP_COMPILE_NO_FUSION, &alone), has);
    (void)run(c, s, true, 0, &folded);
    if (!has) folded = fused;
    assert_near(s->row->name, &alone, &fused);
    assert_near(s->row->name, &folded, &fused);
    if (with_text) check_text(g, s, &fused, has);
    bool any = false;
    for (int k = 0; k < ELEMS; ++k) any |= fused.y[0][k] != 0.f;
    if (!any && has && s->row->kind != dnnl_tp_op_floor) /* of numbers below 1 */
        fail_msg("%s wrote nothing but zeros", s->row->name);
    CHECK_OK(dnnl_tp_graph_destroy(g));
    CHECK_OK(dnnl_tp_graph_destroy(c));
    return has;
}

static void test_run(void **state) {
    (void)state;
    for (int i = 0; i < MOST; ++i)
        for (int k = 0; k < ELEMS; ++k) {
            floats[i][k] = .1f + .8f * (float)((7 * k + 5 * i * (k % 2)) % 17) / 17.f; /* some are equal */
            truths[i][k] = (7 * k + 5 * i) % 3 != 0;
        }
    int served = 0;
    for (int k = 0; k < ELEMS; ++k) {
        ids[k] = (7 * k * k + 2) % 11 % 4;
        wholes[k] = 1 + (37 * k + 11) % 97;
    }
    int nplaces;
    const place_t *all_places = places(&nplaces);
    enum { SIDES = sizeof sides / sizeof *sides };
    for (int i = 0; i < 2 * SIDES * dtp_op_nrows; ++i)
        for (int p = 0; p < nplaces; ++p) {
            const int side = i / 2 % SIDES, r = i / 2 / SIDES, all = i % 2;
            at = &all_places[p];
            if (at->threads != 1 && (at->threads != 3 || side < SIDES - 1)) continue;
            rows = sides[side][0], cols = shape[0] = sides[side][1];
            sample_t s = sample_of(&dtp_op_rows[r], all);
            print_message("%s, %s attributes, {%d, %d}, %s x%d: %d results\n", s.row->name,
                          all ? "all" : "needed", (int)rows, (int)cols, at->name, at->threads,
                          count_results(&s));
            served += check_sample(&s, p == 0 && side == 1);
        }
    rows = cols = shape[0] = 4;
    print_message("%d\n", served);
    assert_true(served > SIDES * dtp_op_nrows / 2);
}

/* ---- Refusals ---------------------------------------------------------------------------------------- */

static void refused(dnnl_tp_graph_t g, const sample_t *s, const dnnl_tp_value_t *in, dtp_reason_t reason,
                    const char *what) {
    dnnl_tp_value_t out[DTP_GRAPH_MAX_ARGS + 1];
    print_message("%s: %s\n", s->row->name, what);
    CHECK_STATUS(add_op(g, s, in, out), dnnl_tp_invalid_graph_op);
    assert_int_equal(dtp_last_reason(), reason);
    assert_non_null(strstr(dnnl_tp_last_error(), s->row->name));
    for (int i = 0; i < s->nout; ++i) assert_int_equal(out[i], -1);
}

static void refuse_attributes(dnnl_tp_graph_t g, const sample_t *s, const dnnl_tp_value_t *in) {
    int n;
    const dtp_op_field_t *f = dtp_op_fields(s->row, &n);
    for (int i = 0; i < s->nattr; ++i) {
        sample_t t = *s;
        const dtp_op_field_t *field = f;
        while (field->key != s->attr[i].key) ++field;
        for (int type = 0; type < 5; ++type) { /* one more than there are */
            t.attr[i].type = type;
            if (type != field->type) refused(g, &t, in, DTP_GRAPH_BAD_ATTR, "another type");
        }
        t = *s;
        t.attr[t.nattr++] = s->attr[i];
        refused(g, &t, in, DTP_GRAPH_BAD_ATTR, "given twice");
        t = *s;
        t.attr[i].data = NULL;
        refused(g, &t, in, DTP_GRAPH_BAD_ATTR, "no data");
        t = *s;
        t.attr[i].count = field->most ? field->most + 1 : 3;
        static const int64_t zeros[DTP_GRAPH_MAX_ARGS + 1];
        t.attr[i].data = zeros;
        refused(g, &t, in, DTP_GRAPH_BAD_ATTR, "too many elements");
        if (!field->needed) continue;
        t = *s;
        t.attr[i] = t.attr[--t.nattr];
        refused(g, &t, in, DTP_GRAPH_BAD_ATTR, "missing");
    }
    /* What other operators have, and what none has. */
    for (int r = 0; r < dtp_op_nrows; ++r) {
        sample_t other = sample_of(&dtp_op_rows[r], true), t = *s;
        for (int i = 0; i < other.nattr; ++i) {
            bool has = false;
            for (int k = 0; k < n; ++k) has |= f[k].key == other.attr[i].key;
            t.attr[s->nattr] = other.attr[i];
            t.nattr = s->nattr + 1;
            if (!has) refused(g, &t, in, DTP_GRAPH_BAD_ATTR, "an attribute of another operator");
        }
    }
    static const float one = 1.f;
    sample_t t = *s;
    t.attr[t.nattr++] = (dnnl_tp_op_attr_t){DTP_ATTR_FIXED, dnnl_tp_op_attr_f32, 1, &one};
    refused(g, &t, in, DTP_GRAPH_BAD_ATTR, "an unknown attribute");
}

static void test_refusals(void **state) {
    (void)state;
    for (int r = 0; r < dtp_op_nrows; ++r) {
        const dtp_op_row_t *row = &dtp_op_rows[r];
        sample_t s = sample_of(row, true);
        dnnl_tp_graph_t g;
        dnnl_tp_value_t in[MOST + DTP_GRAPH_MAX_ARGS] = {0};
        count_results(&s);
        CHECK_OK(dnnl_tp_graph_create(&g, dnnl_tp_cpu));
        add_inputs(g, &s, false, in);
        refuse_attributes(g, &s, in);
        sample_t t = s;
        if (row->min_in > 0) {
            t.nin = row->min_in - 1;
            refused(g, &t, in, DTP_GRAPH_BAD_ARITY, "too few inputs");
        }
        if (row->max_in >= 0) {
            t.nin = row->max_in + 1;
            refused(g, &t, in, DTP_GRAPH_BAD_ARITY, "too many inputs");
        }
        for (int i = 0; i < s.nin; ++i) {
            dnnl_tp_value_t lacking[MOST];
            memcpy(lacking, in, sizeof lacking);
            lacking[i] = -1;
            refused(g, &s, lacking, DTP_GRAPH_BAD_ARITY, "an absent input");
        }
        t = s;
        t.nout = 0;
        refused(g, &t, in, DTP_GRAPH_BAD_ARITY, "no results");
        t.nout = DTP_GRAPH_MAX_ARGS + 1;
        refused(g, &t, in, DTP_GRAPH_BAD_ARITY, "too many results");
        t.nout = s.nout + 1;
        refused(g, &t, in, DTP_GRAPH_BAD_ARITY, "one result more");
        CHECK_OK(dnnl_tp_graph_destroy(g));
    }
}

/* ---- The table --------------------------------------------------------------------------------------- */

/* Nothing is left out, no number or name stands there twice, and attributes lie where they should. */
static void test_table(void **state) {
    (void)state;
    for (int r = 0; r < dtp_op_nrows; ++r) {
        const dtp_op_row_t *row = &dtp_op_rows[r];
        const dtp_op_class_t *cls = row->cls;
        int n;
        const dtp_op_field_t *f = dtp_op_fields(row, &n);
        assert_true(cls->results && cls->infer && cls->lower && cls->attrs_size >= sizeof(dtp_op_attrs_t));
        assert_true(n >= 0 && n <= 32);
        assert_ptr_equal(dtp_op_row(row->kind), row);
        assert_ptr_equal(dtp_op_row_named(row->name, strlen(row->name)), row);
        for (int i = 0; i < n; ++i) {
            const size_t bytes = f[i].most ? (1 + (size_t)f[i].most) * sizeof(int64_t)
                                 : f[i].type == dnnl_tp_op_attr_s64 ? sizeof(int64_t)
                                 : f[i].type == dnnl_tp_op_attr_f32 ? sizeof(float)
                                                                    : 1;
            assert_true(f[i].offset >= sizeof(dtp_op_attrs_t) && f[i].offset + bytes <= cls->attrs_size);
            assert_true((f[i].type == dnnl_tp_op_attr_string) == (f[i].words != NULL));
            for (int k = 0; k < i; ++k) assert_true(f[k].offset != f[i].offset);
            for (int other = 0, m; other < r; ++other) { /* a number is one attribute everywhere */
                const dtp_op_field_t *g = dtp_op_fields(&dtp_op_rows[other], &m);
                for (int k = 0; k < m; ++k)
                    assert_true((g[k].key == f[i].key) == !strcmp(g[k].name, f[i].name));
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
