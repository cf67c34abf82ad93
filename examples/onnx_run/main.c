/* Runs an ONNX model: doc/onnx.md. Read options.c first, which is the help; then model.c, clients.c, profile.c. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients.h"
#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "folder.h"
#include "profile.h"
#include "sentence_encoder/output.h"
#include "sentence_encoder/precision.h"
#include "top.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_WRONG = 3, PROFILED_RUNS = 10 };

/* ---- Files ------------------------------------------------------------------------------------------------ */

typedef struct {
    const char *option, *path;
} file_t;

static int is_standard(const char *path) { return !strcmp(path, "-"); }

typedef struct {
    file_t out[MAX_NAMED + 3];
    int n;
} files_t;

static files_t files_of(const options_t *o) {
    files_t f = {.n = 0};
    if (o->dot) f.out[f.n++] = (file_t){"--dot", o->dot};
    if (o->trace) f.out[f.n++] = (file_t){"--trace", o->trace};
    if (o->profile && !is_standard(o->profile)) f.out[f.n++] = (file_t){"--profile", o->profile};
    for (int i = 0; i < o->outputs.n; ++i) f.out[f.n++] = (file_t){"--output", o->outputs.entry[i].path};
    return f;
}

/* No output is this input. */
static int check_input(const files_t *f, const char *what, const char *path, se_error_t *error) {
    for (int i = 0; i < f->n; ++i)
        if (se_output_differs(f->out[i].option, f->out[i].path, what, path, 1, error)) return -1;
    return 0;
}

static int check_test_data(void *files, const char *path, se_error_t *error) {
    return check_input(files, path, path, error);
}

static int check_list(const files_t *f, const char *option, const list_t *list, se_error_t *error) {
    for (int i = 0; i < list->n; ++i) {
        const char *path = list->entry[i].path;
        if (!is_standard(path) && access(path, R_OK))
            return se_fail(error, "%s %s: cannot open: %s", option, path, strerror(errno));
        if (check_input(f, option, path, error)) return -1;
    }
    return 0;
}

/* Before anything is computed: what is read is there; what is written can be written, is no input, and is written once.
 * Then says where texts go. */
static int check_files(options_t *o, const char *folder, const char *model, se_error_t *error) {
    files_t f = files_of(o);
    o->text = stdout;
    for (int i = 0; i < f.n; ++i) {
        if (se_output_check(f.out[i].option, f.out[i].path, error)) return -1;
        if (is_standard(f.out[i].path)) o->text = stderr;
        for (int k = 0; k < i; ++k)
            if (se_output_differs(f.out[i].option, f.out[i].path, f.out[k].option, f.out[k].path, 0, error))
                return -1;
    }
    if (check_input(&f, "MODEL", model, error) || check_input(&f, "--labels", o->labels, error)) return -1;
    if (check_list(&f, "--input", &o->inputs, error) || check_list(&f, "--verify", &o->verify, error))
        return -1;
    return folder ? folder_each(folder, check_test_data, &f, error) : 0;
}

/* Weights stay in their files while the model is open. */
static int check_external(const options_t *o, const_dnnl_tp_onnx_model_t model, se_error_t *error) {
    const files_t f = files_of(o);
    const char *path = "";
    for (int i = 0; path; ++i) {
        if (dnnl_tp_onnx_external_file(model, i, &path)) return se_fail(error, "%s", dnnl_tp_last_error());
        if (path && check_input(&f, "external data of MODEL", path, error)) return -1;
    }
    return 0;
}

/* ---- One set of inputs --------------------------------------------------------------------------------------- */

static int read_inputs(job_t *j, se_error_t *error) {
    const model_t *m = j->model;
    for (int i = 0; i < m->info.inputs; ++i) {
        const char *path = options_find(&m->o->inputs, m->in[i].name);
        if (path && array_read(&j->in[i], path, error)) return -1;
    }
    return 0;
}

static void print_inputs(const job_t *j) {
    const model_t *m = j->model;
    char text[ARRAY_TEXT];
    for (int i = 0; i < m->info.inputs; ++i)
        if (j->in[i].data)
            fprintf(m->o->text, "input '%s': %s\n", m->in[i].name, array_text(&j->in[i].info, text));
}

static void print_output(const job_t *j, int i) {
    const array_t *a = &j->out[i];
    const size_t n = count_of(&a->info);
    char text[ARRAY_TEXT];
    fprintf(j->model->o->text, "output '%s': %s", j->model->out[i].name, array_text(&a->info, text));
    double least = 0, most = 0, sum = 0;
    for (size_t k = 0; k < n; ++k) {
        const double v = element(a->data, a->info.data_type, k);
        if (k == 0 || v < least) least = v;
        if (k == 0 || v > most) most = v;
        sum += v;
    }
    if (n) fprintf(j->model->o->text, ", least %g, mean %g, most %g", least, sum / (double)n, most);
    fputs("\n", j->model->o->text);
}

static int verify(const job_t *j, int *wrong, se_error_t *error) {
    const model_t *m = j->model;
    int unnamed = 0;
    for (int k = 0; k < m->o->verify.n; ++k) {
        const named_t *v = &m->o->verify.entry[k];
        array_t want;
        if (array_read(&want, v->path, error)) return -1;
        int i = port_of(m->out, m->info.outputs, v->name ? v->name : want.name);
        if (i < 0) i = unnamed++;
        const int status = i < m->info.outputs ? 0
                                               : se_fail(error, "--verify %s: the model has %d outputs",
                                                         v->path, m->info.outputs);
        if (!status) verify_output(j, i, v->path, &want, wrong);
        array_free(&want);
        if (status) return -1;
    }
    return 0;
}

static int write_outputs(const job_t *j, const labels_t *labels, se_error_t *error) {
    const model_t *m = j->model;
    for (int i = 0; i < m->info.outputs; ++i) {
        const char *path = options_find(&m->o->outputs, m->out[i].name);
        print_output(j, i);
        if (m->o->top) top_print(m->o->text, &j->out[i], m->o->top, labels);
        if (path && array_write(&j->out[i], path, error)) return -1;
    }
    if (!m->o->dot) return 0;
    const_dnnl_tp_graph_t graph;
    const char *dot = is_standard(m->o->dot) ? "/dev/stdout" : m->o->dot;
    if (!dnnl_tp_onnx_call_compiled(j->call, &graph, NULL) &&
        !dnnl_tp_graph_write(graph, dot, DNNL_TP_GRAPH_DOT))
        return 0;
    return se_fail(error, "--dot: %s", dnnl_tp_last_error());
}

static int measure(const job_t *j, se_error_t *error) {
    const model_t *m = j->model;
    if (m->o->repeat && clients_run(j, error)) return -1;
    if (m->o->profile && profile_write(j, error)) return -1;
    if (!m->o->trace) return 0;
    const char *path = is_standard(m->o->trace) ? "/dev/stdout" : m->o->trace;
    if (!dnnl_tp_trace_write(m->trace, path, DNNL_TP_TRACE_BY_NAME)) return 0;
    return se_fail(error, "--trace: %s", dnnl_tp_last_error());
}

/* folder NULL: the files of the command line. 1: the folder has no such set. */
static int run_set(model_t *m, const char *folder, int set, const labels_t *labels, int *wrong,
                   se_error_t *error) {
    job_t j;
    int status = job_init(&j, m, error);
    if (!status) status = read_inputs(&j, error);
    if (!status && folder) status = folder_inputs(&j, folder, set, error);
    if (status == 1 && set > 0) {
        job_free(&j);
        return 1;
    }
    if (status == 1) folder = NULL; /* no test data: generated */
    if (status >= 0) status = job_prepare(&j, error);
    const double begin = now_ms();
    if (!status) status = job_run(&j, NULL, error);
    if (!status) {
        if (folder) fprintf(m->o->text, "test_data_set_%d\n", set);
        print_inputs(&j);
        fprintf(m->o->text, "compilation %.2f ms, first run %.3f ms\n", j.compile_ms, now_ms() - begin);
        status = profile_memory(&j, error);
    }
    if (!status && set == 0) status = write_outputs(&j, labels, error);
    if (!status && folder) status = folder_verify(&j, folder, set, wrong, error);
    if (!status) status = verify(&j, wrong, error);
    if (!status && set == 0) status = measure(&j, error);
    job_free(&j);
    return status ? status : folder == NULL;
}

/* ---- The whole ------------------------------------------------------------------------------------------------ */

static int run(options_t *o, const char *folder, const char *path, int *wrong, se_error_t *error) {
    labels_t labels = {.n = 0};
    model_t m = {.o = o};
    pool_t *pool = NULL;
    if (check_files(o, folder, path, error) || (o->labels && labels_read(&labels, o->labels, error)))
        return -1;
    const double begin = now_ms();
    int status = pool_create(&pool, o->pool, o->threads, error);
    if (!status) status = model_open(&m, o, path, pool, error);
    if (!status) status = check_external(o, m.model, error);
    if (!status)
        fprintf(o->text, "%s: %d nodes, IR %lld, operators of version %lld; read in %.2f ms\n", path,
                m.info.nodes, (long long)m.info.ir_version, (long long)m.info.opset, now_ms() - begin);
    if (!status && o->bf16) fprintf(o->text, "%s\n", se_bf16_text());
    for (int set = 0; !status; ++set) status = run_set(&m, folder, set, &labels, wrong, error);
    model_close(&m);
    pool_destroy(pool);
    labels_free(&labels);
    return status < 0 ? -1 : 0;
}

int main(int argc, char **argv) {
    static options_t o;
    static char path[FOLDER_PATH];
    se_error_t error = {""};
    int wrong = 0;
    se_output_hold_standard();
    se_output_remove_on_signal();
    (void)signal(SIGPIPE, SIG_IGN);
    (void)setvbuf(stdout, NULL, _IOLBF,
                  BUFSIZ); /* what is known is said, also to a file, if a signal ends us */
    const int parsed = options_parse(&o, argc, argv, &error);
    const int is_folder = !parsed && folder_is(o.model);
    int status = parsed < 0 ? EXIT_USAGE : 0;
    if (!parsed) {
        if ((o.profile || o.trace || o.clients > 1) && !o.repeat) o.repeat = PROFILED_RUNS;
        const char *model = is_standard(o.model) ? "/dev/stdin" : o.model;
        if (is_folder ? folder_model(o.model, path, &error)
                      : snprintf(path, sizeof path, "%s", model) >= FOLDER_PATH &&
                            se_fail(&error, "MODEL is too long"))
            status = EXIT_FAILED;
        if (!status && run(&o, is_folder ? o.model : NULL, path, &wrong, &error)) status = EXIT_FAILED;
    }
    if (!status && (fflush(stdout) || ferror(stdout))) {
        (void)se_fail(&error, "standard output cannot be written");
        status = EXIT_FAILED;
    }
    if (status) fprintf(stderr, "onnx_run: %s\n", error.text);
    else if (wrong) fprintf(stderr, "onnx_run: %d output%s wrong\n", wrong, wrong > 1 ? "s are" : " is");
    return status ? status : wrong ? EXIT_WRONG : 0;
}
