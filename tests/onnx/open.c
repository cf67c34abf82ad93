/* Folders of ONNX tests whose models' sizes are opened: what a session runs with the sizes of the file it has to run, and
 * right, whatever the file says of them: each a name of its own, one name for equal ones, no name, -1, "?".
 *
 *   open FOLDER [NAME]    FOLDER holds the test folders
 *   open FOLDER =RUNS     so many runs have to go well with the sizes of the file
 *
 * Prints what is wrong or refused; what is refused with the sizes of the file, too, is the business of nodes.c. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtp_onnx.pb-c.h"
#include "folders.h"
#include "support/watchdog.h"

enum { PATH = 4096, TEXT = 512, NAME = 48, MAX_DIMS = 256, MAX_SETS = 16, HANG_SECONDS = 60 };
typedef enum { AS_IN_FILE, NAMED, EQUAL_NAMES, UNNAMED, MINUS_ONE, QUESTION_MARK, WAYS } way_t;
static const char *const ways[WAYS] = {"as in the file", "a name each", "a name for equal sizes",
                                       "no names",       "-1",          "'?'"};
static const double relative = 0x1p-6,
                    absolute = 1e-2; /* values are for nodes.c; a wrong size changes more */

typedef DtpOnnx__TensorShapeProto__Dimension dim_t;

/* The dimensions of an input, NULL: it is no tensor, or without a shape. */
static DtpOnnx__TensorShapeProto *shape_of(DtpOnnx__ValueInfoProto *v) {
    return v->type && v->type->value_case == DTP_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && v->type->tensor_type
               ? v->type->tensor_type->shape
               : NULL;
}

/* The model with its inputs' sizes opened in this way, and without what it says of other sizes;
 * the caller frees it. */
static void *opened(const void *bytes, size_t size, way_t way, size_t *packed_size) {
    static char names[MAX_DIMS][NAME];
    static dim_t dims[MAX_DIMS], *before[MAX_DIMS];
    static DtpOnnx__TensorShapeProto *outputs[MAX_DIMS];
    static char unknown[] = "?";
    DtpOnnx__ModelProto *m = dtp_onnx__model_proto__unpack(NULL, size, bytes);
    if (!m || !m->graph) abort();
    DtpOnnx__GraphProto *g = m->graph;
    int n = 0;
    for (size_t i = 0; i < g->n_input; ++i) {
        DtpOnnx__TensorShapeProto *s = shape_of(g->input[i]);
        for (size_t d = 0; s && d < s->n_dim && n < MAX_DIMS; ++d, ++n) {
            before[n] = s->dim[d];
            dtp_onnx__tensor_shape_proto__dimension__init(&dims[n]);
            if (way == NAMED) (void)snprintf(names[n], NAME, "d%zu_%zu", i, d);
            else (void)snprintf(names[n], NAME, "s%lld", (long long)s->dim[d]->dim_value);
            if (way == MINUS_ONE) {
                dims[n].value_case = DTP_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
                dims[n].dim_value = -1;
            } else if (way != UNNAMED) {
                dims[n].value_case = DTP_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
                dims[n].dim_param = way == QUESTION_MARK ? unknown : names[n];
            }
            s->dim[d] = &dims[n];
        }
    }
    for (size_t i = 0; i < g->n_output && i < MAX_DIMS; ++i) {
        outputs[i] = shape_of(g->output[i]);
        if (outputs[i]) g->output[i]->type->tensor_type->shape = NULL;
    }
    const size_t nvalues = g->n_value_info;
    g->n_value_info = 0;
    *packed_size = dtp_onnx__model_proto__get_packed_size(m);
    void *packed = malloc(*packed_size + 1);
    if (!packed || dtp_onnx__model_proto__pack(m, packed) != *packed_size) abort();
    g->n_value_info = nvalues; /* as it was, for who frees it */
    for (size_t i = 0; i < g->n_output && i < MAX_DIMS; ++i)
        if (outputs[i]) g->output[i]->type->tensor_type->shape = outputs[i];
    n = 0;
    for (size_t i = 0; i < g->n_input; ++i) {
        DtpOnnx__TensorShapeProto *s = shape_of(g->input[i]);
        for (size_t d = 0; s && d < s->n_dim && n < MAX_DIMS; ++d) s->dim[d] = before[n++];
    }
    dtp_onnx__model_proto__free_unpacked(m, NULL);
    return packed;
}

static dnnl_tp_engine_t engine;

/* A text of what is wrong; NULL: nothing. */
static const char *difference(const tensor_t *want, const dnnl_tp_tensor_info_t *info, const void *got) {
    double worst;
    if (!same_shape(info, &want->info)) return "WRONG: an output has another shape or type";
    return differences(got, want, relative, absolute, &worst) ? "WRONG: an output has other elements" : NULL;
}

static const char *run_call(dnnl_tp_onnx_call_t call, const dnnl_tp_onnx_arg_t *args, const data_set_t *s) {
    results_t r = {0};
    const void *in[MAX_TENSORS];
    const char *bad = NULL;
    for (int i = 0; i < MAX_TENSORS; ++i) in[i] = args[i].data;
    for (int i = 0; i < s->nout && !bad; ++i) {
        dnnl_tp_tensor_info_t info;
        if (dnnl_tp_onnx_call_output(call, i, &info)) bad = dnnl_tp_last_error();
        else (void)set_room(&r, i, &info);
    }
    if (!bad && dnnl_tp_onnx_call_run(call, in, r.data, NULL)) bad = dnnl_tp_last_error();
    for (int i = 0; i < s->nout && !bad; ++i) bad = difference(&s->out[i], &r.info[i], r.data[i]);
    free_results(&r);
    return bad;
}

/* For models whose sizes only a run knows. */
static const char *run_session(dnnl_tp_onnx_session_t session, int nargs, const dnnl_tp_onnx_arg_t *args,
                               const data_set_t *s) {
    results_t r = {0};
    const char *bad =
        dnnl_tp_onnx_session_run(session, nargs, args, set_room, &r, NULL) ? dnnl_tp_last_error() : NULL;
    for (int i = 0; i < s->nout && !bad; ++i) bad = difference(&s->out[i], &r.info[i], r.data[i]);
    free_results(&r);
    return bad;
}

static const char *run_set(dnnl_tp_onnx_session_t session, dnnl_tp_onnx_model_t model, const data_set_t *s) {
    dnnl_tp_onnx_arg_t args[MAX_TENSORS] = {{0}};
    dnnl_tp_onnx_call_t call;
    static char text[TEXT];
    int nargs;
    if (!set_args(model, s, &nargs, args)) return "the folder has other files";
    const dnnl_tp_status_t status = dnnl_tp_onnx_session_get_call(&call, session, nargs, args);
    const char *bad = status == dnnl_tp_unimplemented ? run_session(session, nargs, args, s)
                      : status                        ? dnnl_tp_last_error()
                                                      : run_call(call, args, s);
    if (bad) bad = strncpy(text, bad, sizeof text - 1);
    if (!status) dnnl_tp_onnx_call_destroy(call);
    return bad;
}

/* All sets in one session, and the first once more; graphs: as many imports at most, 0: any number.
 * NULL: right; else why not, as a text that lives until the next call of the library. */
static const char *run(const void *bytes, size_t size, data_set_t *sets, int n, uint64_t graphs) {
    dnnl_tp_onnx_model_t model;
    dnnl_tp_onnx_session_t session;
    if (dnnl_tp_onnx_open_memory(&model, bytes, size, NULL)) return dnnl_tp_last_error();
    for (int i = 0; i < n; ++i) read_bits(model, &sets[i]);
    const char *bad =
        dnnl_tp_onnx_session_create(&session, model, engine, NULL) ? dnnl_tp_last_error() : NULL;
    if (!bad) {
        for (int i = 0; i <= n && !bad; ++i) bad = run_set(session, model, &sets[i % n]);
        dnnl_tp_onnx_session_stats_t stats = {.struct_size = sizeof stats};
        if (!bad && graphs && (dnnl_tp_onnx_session_query(session, &stats) || stats.imports > graphs))
            bad = "WRONG: the shapes have more graphs than they need";
        dnnl_tp_onnx_session_destroy(session);
    }
    dnnl_tp_onnx_close(model);
    return bad;
}

/* Counts the sets that ran as in the file, and the models that did not in another way. */
static void run_folder(const char *root, const char *name, int *ran, int *bad) {
    char path[PATH], folder[PATH];
    size_t size, packed_size;
    static data_set_t sets[MAX_SETS];
    int n = 0;
    bool is_read = true;
    (void)snprintf(folder, sizeof folder, "%.2000s/%s", root, name);
    (void)snprintf(path, sizeof path, "%.4000s/model.onnx", folder);
    void *bytes = read_all(path, &size);
    if (!bytes) return;
    dnnl_tp_onnx_model_t model;
    if (dnnl_tp_onnx_open_memory(&model, bytes, size, NULL)) {
        free(bytes);
        return;
    }
    while (n < MAX_SETS && read_set(folder, n, model, &sets[n])) is_read &= !sets[n++].bad;
    dnnl_tp_onnx_close(model);
    /* A file says how many graphs are enough. */
    (void)snprintf(path, sizeof path, "%.4000s/graphs", folder);
    FILE *f = fopen(path, "r");
    unsigned graphs = 0;
    if (f && fscanf(f, "%u", &graphs) != 1) abort();
    if (f) (void)fclose(f);
    const char *why = n && is_read ? run(bytes, size, sets, n, graphs) : "no sets";
    if (why && graphs) printf("%s: %s\n", name, why), ++*bad;
    if (!why) {
        *ran += n;
        for (way_t way = NAMED; way < WAYS; ++way) {
            void *packed = opened(bytes, size, way, &packed_size);
            why = run(packed, packed_size, sets, n, 0);
            if (why) printf("%s, %s: %s\n", name, ways[way], why);
            *bad += why != NULL;
            free(packed);
        }
    }
    for (int i = 0; i < n; ++i) free_set(&sets[i]);
    free(bytes);
}

int main(int argc, char **argv) {
    int ran = 0, bad = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: open FOLDER [NAME | =RUNS]\n");
        return 2;
    }
    const char *only = argc > 2 && argv[2][0] != '=' ? argv[2] : NULL;
    const int wanted = argc > 2 && !only ? atoi(argv[2] + 1) : 0;
    DIR *d = opendir(argv[1]);
    if (!d) {
        printf("skipped: %s is not there (libonnx-testdata)\n", argv[1]);
        return 77;
    }
    if (dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0)) return 1;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && (!only || !strcmp(only, e->d_name))) {
            watchdog(HANG_SECONDS, NULL);
            run_folder(argv[1], e->d_name, &ran, &bad);
        }
    (void)closedir(d);
    dnnl_tp_engine_destroy(engine);
    printf("%d runs as in the file, %d bad ones with opened sizes\n", ran, bad);
    return bad || ran < (wanted ? wanted : 1);
}
