/* Runs folders of ONNX tests: each twice, with inputs as inputs and with all but the first frozen as constants; with and
 * without fusion, on one thread and on three. Where no NaN goes in and finite results come out
 * no floating-point exception is raised.
 *
 *   nodes FOLDER EXPECTED [NAME]    FOLDER holds the test folders; EXPECTED lists what is refused and why
 *   nodes FOLDER EXPECTED --write   writes the list anew
 *   nodes FOLDER EXPECTED --absolute X [--relative Y]    with other tolerances
 *   nodes FOLDER EXPECTED [--write] --page PAGE NAME
 *                                   as well the table in PAGE behind the line "<!-- made by tests/onnx/nodes.c: NAME -->"
 *
 * What is refused has to stand in the list with its reason, and what stands there has to be refused. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtp_onnx.pb-c.h"
#include "folders.h"
#include "support/traps.h"
#include "support/watchdog.h"

enum { TEXT = 512, PATH = 4096, MAX_FOLDERS = 2048, HANG_SECONDS = 60, WIDE = 3 };
static double relative = 1e-3; /* of the standard's own runner, as is the absolute one */
static double absolute = 1e-7;
/* Expected results that were computed in f32 from large numbers which cancel. */
static const struct {
    const char *folder;
    double absolute;
} noisy[] = {{"test_dft_inverse", 1e-5}};
/* Where the expected result was computed in f16 or bf16, each step of it rounded. */
static const double absolute_f16 = 1e-3, absolute_bf16 = 1e-2, relative_bf16 = 0x1p-6;

typedef enum { PASSED, REFUSED, WRONG } verdict_t;
typedef struct {
    char name[128];
    char op[64];
    verdict_t verdict[2];
    char reason[2][TEXT];
} folder_t;

static dnnl_tp_engine_t engine;
static dnnl_tp_stream_t streams[2];
static dnnl_tp_stream_attr_t attrs[2];
static int nstreams = 1;

/* Names and numbers differ from folder to folder; the reason is what is left of a text. */
static void reason_of(const char *text, char *out, size_t room) {
    size_t n = 0;
    bool quoted = false;
    for (const char *c = text; *c && n + 2 < room; ++c) {
        if (*c == '\'') {
            quoted = !quoted;
            out[n++] = '\'';
        } else if (!quoted) {
            if (*c >= '0' && *c <= '9') {
                if (!n || out[n - 1] != '#') out[n++] = '#';
            } else {
                out[n++] = *c;
            }
        }
    }
    out[n] = 0;
}

static verdict_t refused(char *reason) {
    reason_of(dnnl_tp_last_error(), reason, TEXT);
    return REFUSED;
}

/* What compare() allows. */
static bool is_f16[MAX_TENSORS], is_bf16[MAX_TENSORS]; /* results of the file's model */
static double atol_of_folder;
static size_t bad_elements(int i, const void *got, const tensor_t *want, double *worst) {
    const double atol = is_bf16[i] ? absolute_bf16 : is_f16[i] ? absolute_f16 : atol_of_folder;
    return differences(got, want, is_bf16[i] ? relative_bf16 : relative, atol, worst);
}

static verdict_t compare(dnnl_tp_executable_t exe, const dnnl_tp_value_t *values, const data_set_t *s,
                         void *const *got, char *reason) {
    for (int i = 0; i < s->nout; ++i) {
        dnnl_tp_tensor_info_t info;
        double worst;
        const tensor_t *want = &s->out[i];
        if (dnnl_tp_executable_query(exe, values[i], &info)) return refused(reason);
        if (!same_shape(&info, &want->info)) {
            (void)snprintf(reason, TEXT, "output %d has another shape or type", i);
            return WRONG;
        }
        const size_t bad = bad_elements(i, got[i], want, &worst);
        if (bad) {
            (void)snprintf(reason, TEXT, "output %d: %zu of %zu elements, by up to %g", i, bad,
                           count_of(&want->info), worst);
            return WRONG;
        }
    }
    return PASSED;
}

static bool is_ordinary(const dnnl_tp_tensor_info_t *info, const void *data, bool is_input) {
    const size_t bytes = count_of(info) * dnnl_tp_data_type_size(info->data_type);
    return traps_ordinary_run(info->data_type, data, bytes, is_input);
}

static verdict_t run_with(dnnl_tp_graph_t graph, const dnnl_tp_value_t *inputs,
                          const dnnl_tp_value_t *outputs, const data_set_t *s, unsigned flags, int stream,
                          char *reason) {
    dnnl_tp_executable_t exe;
    const dnnl_tp_compile_opts_t opts = {
        .struct_size = sizeof opts, .stream_attr = attrs[stream], .flags = flags};
    dnnl_tp_tensor_info_t shapes[MAX_TENSORS];
    void *in[MAX_TENSORS] = {0}, *out[MAX_TENSORS] = {0};
    int nin = 0;
    for (int i = 0; i < s->nin; ++i)
        if (inputs[i] >= 0) {
            shapes[nin] = s->in[i].info;
            in[nin++] = s->in[i].data;
        }
    if (dnnl_tp_executable_compile(&exe, graph, engine, nin, shapes, &opts)) return refused(reason);
    verdict_t v = PASSED;
    for (int i = 0; i < s->nout; ++i) {
        dnnl_tp_tensor_info_t info;
        if (dnnl_tp_executable_query(exe, outputs[i], &info)) v = refused(reason);
        else if (!(out[i] = malloc(count_of(&info) * dnnl_tp_data_type_size(info.data_type) + 1))) abort();
        else memset(out[i], 0xa5, count_of(&info) * dnnl_tp_data_type_size(info.data_type));
    }
    bool ordinary = true;
    for (int i = 0, k = 0; i < s->nin; ++i)
        if (inputs[i] >= 0) ordinary &= is_ordinary(&shapes[k], in[k], true), ++k;
    traps_begin(ordinary);
    if (v == PASSED && dnnl_tp_executable_run(exe, streams[stream], nin, in, s->nout, out, NULL))
        v = refused(reason);
    for (int i = 0; v == PASSED && i < s->nout; ++i) {
        dnnl_tp_tensor_info_t info;
        ordinary &= !dnnl_tp_executable_query(exe, outputs[i], &info) && is_ordinary(&info, out[i], false);
    }
    if (!traps_end(ordinary && v == PASSED ? "a run" : NULL)) {
        (void)snprintf(reason, TEXT, "a floating-point exception");
        v = WRONG;
    }
    if (v == PASSED) v = compare(exe, outputs, s, out, reason);
    for (int i = 0; i < s->nout; ++i) free(out[i]);
    dnnl_tp_executable_destroy(exe);
    return v;
}

/* For models whose sizes only a run knows: the first run, and one that finds everything compiled. */
static verdict_t run_session(dnnl_tp_onnx_model_t model, const data_set_t *s, int stream, char *reason) {
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts, .stream_attr = attrs[stream]};
    dnnl_tp_onnx_arg_t args[MAX_TENSORS];
    dnnl_tp_onnx_session_t session;
    int nargs;
    if (!set_args(model, s, &nargs, args) || dnnl_tp_onnx_session_create(&session, model, engine, &opts))
        return refused(reason);
    verdict_t v = PASSED;
    for (int round = 0; round < 2 && v == PASSED; ++round) {
        results_t r = {0};
        if (dnnl_tp_onnx_session_run(session, nargs, args, set_room, &r, NULL)) v = refused(reason);
        for (int i = 0; i < s->nout && v == PASSED; ++i) {
            double worst;
            if (same_shape(&r.info[i], &s->out[i].info) && !bad_elements(i, r.data[i], &s->out[i], &worst))
                continue;
            (void)snprintf(reason, TEXT, "output %d of a model in parts", i);
            v = WRONG;
        }
        free_results(&r);
    }
    dnnl_tp_onnx_session_destroy(session);
    return v;
}

static verdict_t run_set(dnnl_tp_onnx_model_t model, bool frozen, const data_set_t *s, char *reason) {
    dnnl_tp_onnx_value_t values[MAX_TENSORS];
    dnnl_tp_value_t numbers[MAX_TENSORS], inputs[MAX_TENSORS], outputs[MAX_TENSORS];
    int model_input[MAX_TENSORS];
    dnnl_tp_onnx_model_info_t info = {.struct_size = sizeof info};
    int n = 0, given = 0;
    if (dnnl_tp_onnx_query(model, &info)) return refused(reason);
    for (int i = 0; i < info.inputs && i < MAX_TENSORS; ++i) {
        dnnl_tp_onnx_port_t port;
        if (dnnl_tp_onnx_input(model, i, &port)) return refused(reason);
        /* What has a default has no file. */
        if (port.flags & DNNL_TP_ONNX_HAS_DEFAULT) continue;
        if (given < s->nin && ((frozen && given > 0) || (port.flags & DNNL_TP_ONNX_DETERMINES_SHAPES)))
            values[n++] = (dnnl_tp_onnx_value_t){port.name, s->in[given].info, s->in[given].data};
        model_input[given++] = i;
    }
    if (given != s->nin || info.outputs != s->nout || info.inputs > MAX_TENSORS) {
        (void)snprintf(reason, TEXT, "the folder has other files than the model inputs and outputs");
        return REFUSED;
    }
    for (int i = 0; i < info.outputs; ++i) {
        dnnl_tp_onnx_port_t port;
        if (dnnl_tp_onnx_output(model, i, &port)) return refused(reason);
        is_f16[i] = port.onnx_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16;
        is_bf16[i] = port.onnx_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16;
    }
    const dnnl_tp_onnx_graph_opts_t opts = {
        .struct_size = sizeof opts, .nvalues = n, .values = values, .inputs = numbers, .outputs = outputs};
    dnnl_tp_graph_t graph;
    const dnnl_tp_status_t status = dnnl_tp_onnx_graph_create(&graph, model, &opts);
    if (status) {
        verdict_t v = refused(reason);
        if (status != dnnl_tp_unimplemented || !strstr(reason, "only a run knows")) return v;
        v = PASSED;
        for (int stream = 0; stream < nstreams && v == PASSED; ++stream)
            v = run_session(model, s, stream, reason);
        return v;
    }
    for (int i = 0; i < given; ++i) inputs[i] = numbers[model_input[i]];
    verdict_t v = PASSED;
    for (int stream = 0; stream < nstreams && v == PASSED; ++stream)
        for (unsigned flags = 0; flags <= DNNL_TP_COMPILE_NO_FUSION && v == PASSED;
             flags += DNNL_TP_COMPILE_NO_FUSION)
            v = run_with(graph, inputs, outputs, s, flags, stream, reason);
    dnnl_tp_graph_destroy(graph);
    return v;
}

/* The operator that a folder is about, "several" if there are more nodes. */
static void op_of(const char *path, folder_t *f) {
    size_t size;
    void *bytes = read_all(path, &size);
    DtpOnnx__ModelProto *m = bytes ? dtp_onnx__model_proto__unpack(NULL, size, bytes) : NULL;
    if (m && m->graph)
        (void)snprintf(f->op, sizeof f->op, "%.63s",
                       m->graph->n_node == 1 ? m->graph->node[0]->op_type : "several");
    if (m) dtp_onnx__model_proto__free_unpacked(m, NULL);
    free(bytes);
}

static void run_folder(const char *root, folder_t *f) {
    char path[PATH], folder[PATH];
    (void)snprintf(folder, sizeof folder, "%s/%s", root, f->name);
    (void)snprintf(path, sizeof path, "%.4000s/model.onnx", folder);
    dnnl_tp_onnx_model_t model;
    op_of(path, f);
    if (dnnl_tp_onnx_open(&model, path, NULL)) {
        for (int m = 0; m < 2; ++m) f->verdict[m] = refused(f->reason[m]);
        return;
    }
    atol_of_folder = absolute;
    for (size_t i = 0; i < sizeof noisy / sizeof *noisy; ++i)
        if (!strncmp(f->name, noisy[i].folder, strlen(noisy[i].folder))) atol_of_folder = noisy[i].absolute;
    data_set_t s;
    for (int number = 0; read_set(folder, number, model, &s); ++number) {
        if (s.bad) (void)refused(f->reason[0]);
        read_bits(model, &s);
        for (int m = 0; m < 2; ++m) {
            if (s.bad) {
                f->verdict[m] = REFUSED;
                if (m) memcpy(f->reason[1], f->reason[0], TEXT);
            } else if (f->verdict[m] == PASSED) {
                f->verdict[m] = run_set(model, m, &s, f->reason[m]);
            }
        }
        free_set(&s);
    }
    dnnl_tp_onnx_close(model);
}

/* ---- The list of refusals -------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const folder_t *)a)->name, ((const folder_t *)b)->name);
}

typedef struct {
    char reason[TEXT];
    char what[160]; /* name, "/inputs" or "/frozen" behind it unless both */
    bool met;
} refusal_t;

static int by_reason(const void *a, const void *b) {
    const refusal_t *x = a, *y = b;
    const int c = strcmp(x->reason, y->reason);
    return c ? c : strcmp(x->what, y->what);
}

static int refusals_of(const folder_t *f, int n, refusal_t *r) {
    int k = 0;
    for (int i = 0; i < n; ++i) {
        const bool both = f[i].verdict[0] == REFUSED && f[i].verdict[1] == REFUSED &&
                          !strcmp(f[i].reason[0], f[i].reason[1]);
        for (int m = 0; m < 2; ++m) {
            if (f[i].verdict[m] != REFUSED || (both && m)) continue;
            (void)snprintf(r[k].what, sizeof r[k].what, "%.127s%s", f[i].name,
                           both ? ""
                           : m  ? "/frozen"
                                : "/inputs");
            memcpy(r[k].reason, f[i].reason[m], TEXT);
            r[k++].met = false;
        }
    }
    qsort(r, (size_t)k, sizeof *r, by_reason);
    return k;
}

static bool write_list(const char *path, const refusal_t *r, int n) {
    FILE *f = fopen(path, "w");
    if (!f) return false;
    fprintf(f,
            "# What the importer refuses of these folders, and why: a reason (names left out, # for "
            "numbers), then folders;\n"
            "# /inputs, /frozen: only in this mode. Written by the program that checks it, with --write.\n");
    for (int i = 0; i < n; ++i) {
        if (!i || strcmp(r[i].reason, r[i - 1].reason)) fprintf(f, "%s\n", r[i].reason);
        fprintf(f, "  %s\n", r[i].what);
    }
    return !fclose(f);
}

/* Differences between the list and what was refused. */
static int check_list(const char *path, refusal_t *r, int n) {
    char line[TEXT + 2], reason[TEXT + 2] = "";
    int bad = 0;
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (*line == '#') continue;
        if (*line != ' ') {
            memcpy(reason, line, sizeof reason);
            continue;
        }
        bool found = false;
        for (int i = 0; i < n; ++i)
            if (!strcmp(r[i].what, line + 2) && !strcmp(r[i].reason, reason)) found = r[i].met = true;
        if (!found) {
            printf("expected to be refused, but is not, or for another reason: %s: %s\n", line + 2, reason);
            ++bad;
        }
    }
    (void)fclose(f);
    for (int i = 0; i < n; ++i)
        if (!r[i].met) {
            printf("refused, which nobody expects: %s: %s\n", r[i].what, r[i].reason);
            ++bad;
        }
    return bad;
}

static int by_op(const void *a, const void *b) {
    return strcmp(((const folder_t *)a)->op, ((const folder_t *)b)->op);
}

/* How many folders of each operator pass: a line for each. */
static char *table_of(folder_t *f, int n) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    qsort(f, (size_t)n, sizeof *f, by_op);
    fprintf(out, "| operator | folders | passed, inputs as inputs | passed, frozen |\n|---|---|---|---|\n");
    for (int i = 0, k; i < n; i = k) {
        int passed[2] = {0, 0};
        for (k = i; k < n && !strcmp(f[k].op, f[i].op); ++k)
            for (int m = 0; m < 2; ++m) passed[m] += f[k].verdict[m] == PASSED;
        fprintf(out, "| %s | %d | %d | %d |\n", f[i].op, k - i, passed[0], passed[1]);
    }
    if (fclose(out)) abort();
    return text;
}

/* Compares the table of a page with what ought to stand there, or writes it; false: it differs, or has no place. */
static bool check_page(const char *path, const char *name, const char *table, bool writes) {
    char begin[TEXT];
    size_t size;
    (void)snprintf(begin, sizeof begin, "<!-- made by tests/onnx/nodes.c: %s -->\n", name);
    char *page = read_all(path, &size);
    if (page) page[size] = 0;
    char *at = page ? strstr(page, begin) : NULL,
         *end = at ? strstr(at, "<!-- end of what is made -->") : NULL;
    bool ok = end != NULL;
    if (ok) at += strlen(begin);
    if (ok && !writes) ok = (size_t)(end - at) == strlen(table) && !memcmp(at, table, strlen(table));
    if (ok && writes) {
        FILE *f = fopen(path, "w");
        ok = f && fprintf(f, "%.*s%s%s", (int)(at - page), page, table, end) > 0;
        if (f) ok &= !fclose(f);
    }
    if (!ok) printf("%s: the table '%s' is not what passed; --write --page makes it\n", path, name);
    free(page);
    return ok;
}

static bool world(void) {
    if (dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0) ||
        dnnl_tp_stream_create(&streams[0], engine, dnnl_tp_stream_default_flags))
        return false;
    static dnnl_tp_threadpool_t pool;
    const dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = WIDE};
    traps_enter(); /* for the threads of the pool */
    const dnnl_tp_status_t status = dnnl_tp_threadpool_create(&pool, &opts);
    traps_leave();
    if (status) return true; /* a build without pools */
    nstreams = 2;
    return !dnnl_tp_stream_attr_create(&attrs[1], dnnl_tp_cpu) &&
           !dnnl_tp_stream_attr_set_builtin_threadpool(attrs[1], pool) &&
           !dnnl_tp_stream_create_v2(&streams[1], engine, dnnl_tp_stream_default_flags, attrs[1]);
}

int main(int argc, char **argv) {
    static folder_t folders[MAX_FOLDERS];
    static refusal_t refusals[2 * MAX_FOLDERS];
    int n = 0, count[2][3] = {{0}}, bad = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: nodes FOLDER EXPECTED [NAME | [--write] [--page PAGE NAME]]\n");
        return 2;
    }
    const char *only = argc > 3 && argv[3][0] != '-' ? argv[3] : NULL;
    if (argc > 4 && !strcmp(argv[3], "--absolute")) absolute = strtod(argv[4], NULL);
    if (argc > 6 && !strcmp(argv[5], "--relative")) relative = strtod(argv[6], NULL);
    DIR *d = opendir(argv[1]);
    if (!d) {
        printf("skipped: %s is not there (libonnx-testdata)\n", argv[1]);
        return 77;
    }
    for (struct dirent *e; (e = readdir(d)) && n < MAX_FOLDERS;)
        if (e->d_name[0] != '.' && (!only || !strcmp(only, e->d_name)))
            (void)snprintf(folders[n++].name, sizeof folders[0].name, "%.127s", e->d_name);
    (void)closedir(d);
    qsort(folders, (size_t)n, sizeof *folders, by_name);
    if (!world()) {
        fprintf(stderr, "%s\n", dnnl_tp_last_error());
        return 1;
    }
    for (int i = 0; i < n; ++i) {
        watchdog(HANG_SECONDS, NULL);
        run_folder(argv[1], &folders[i]);
        for (int m = 0; m < 2; ++m) {
            ++count[m][folders[i].verdict[m]];
            if (folders[i].verdict[m] == WRONG) {
                printf("WRONG: %s, %s: %s\n", folders[i].name, m ? "frozen" : "inputs", folders[i].reason[m]);
                ++bad;
            } else if (only) {
                printf("%s, %s: %s\n", m ? "frozen" : "inputs", folders[i].verdict[m] ? "refused" : "passed",
                       folders[i].reason[m]);
            }
        }
    }
    if (only) return bad != 0;
    const int k = refusals_of(folders, n, refusals);
    const bool writes = argc > 3 && !strcmp(argv[3], "--write");
    if (!writes) bad += check_list(argv[2], refusals, k);
    else if (!write_list(argv[2], refusals, k)) return 1;
    if (argc > 3 + writes + 2 && !strcmp(argv[3 + writes], "--page")) {
        char *table = table_of(folders, n);
        bad += !check_page(argv[3 + writes + 1], argv[3 + writes + 2], table, writes);
        free(table);
    }
    for (int m = 0; m < 2; ++m)
        printf("%s: %d folders, %d passed, %d refused, %d wrong\n",
               m ? "all but the first input frozen" : "inputs as inputs", n, count[m][PASSED],
               count[m][REFUSED], count[m][WRONG]);
    return bad != 0;
}
