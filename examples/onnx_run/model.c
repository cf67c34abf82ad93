/* See model.h. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

double now_ms(void) { return (double)se_now_ns() * 1e-6; }

int port_of(const dnnl_tp_onnx_port_t *ports, int n, const char *name) {
    for (int i = 0; i < n; ++i)
        if (!strcmp(ports[i].name, name)) return i;
    return -1;
}

/* ---- The model ------------------------------------------------------------------------------------------ */

static int failed(const char *what, se_error_t *error) {
    return se_fail(error, "%s: %s", what, dnnl_tp_last_error());
}

static int read_ports(model_t *m, se_error_t *error) {
    m->in = calloc((size_t)m->info.inputs + 1, sizeof *m->in);
    m->out = calloc((size_t)m->info.outputs + 1, sizeof *m->out);
    if (!m->in || !m->out) return se_fail_memory(error);
    for (int i = 0; i < m->info.inputs; ++i)
        if (dnnl_tp_onnx_input(m->model, i, &m->in[i])) return failed(m->path, error);
    for (int i = 0; i < m->info.outputs; ++i)
        if (dnnl_tp_onnx_output(m->model, i, &m->out[i])) return failed(m->path, error);
    return 0;
}

/* Names of the command line that the model does not have are mistakes. */
static int check_names(const model_t *m, const char *option, const list_t *list,
                       const dnnl_tp_onnx_port_t *ports, int n, se_error_t *error) {
    for (int i = 0; i < list->n; ++i) {
        const char *name = list->entry[i].name;
        if (!name || port_of(ports, n, name) >= 0) continue;
        return se_fail(error, "%s %s: the model has no such %s; %s '%s'", option, name,
                       ports == m->in ? "input" : "output", n ? "its first one is" : "it has",
                       n ? ports[0].name : "none");
    }
    return 0;
}

static int check_dims(const model_t *m, se_error_t *error) {
    for (int k = 0; k < m->o->ndims; ++k) {
        int found = 0;
        for (int i = 0; i < m->info.inputs; ++i)
            for (int d = 0; d < m->in[i].info.ndims; ++d)
                found |= m->in[i].symbols[d] && !strcmp(m->in[i].symbols[d], m->o->dims[k].name);
        if (!found) return se_fail(error, "--dim: no input has the dimension '%s'", m->o->dims[k].name);
    }
    return 0;
}

static int start(model_t *m, se_error_t *error) {
    const options_t *o = m->o;
    dnnl_tp_engine_t engine;
    if ((o->profile || o->trace) &&
        (dnnl_tp_trace_create(&m->trace, NULL) || dnnl_tp_trace_set_enabled(m->trace, 0)))
        return failed("trace", error);
    if (dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0)) return failed("engine", error);
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts,
                                              .stream_attr = pool_attr(m->pool),
                                              .trace = m->trace,
                                              .batch = o->batch,
                                              .fpmath_mode = o->bf16 ? dnnl_tp_fpmath_mode_bf16
                                                                     : dnnl_tp_fpmath_mode_strict};
    const dnnl_tp_status_t status = dnnl_tp_onnx_session_create(&m->session, m->model, engine, &opts);
    dnnl_tp_engine_destroy(engine);
    return status ? failed(m->path, error) : 0;
}

/* A pipe is read to its end; all else is the importer's to take or to refuse. */
static int open_file(model_t *m, se_error_t *error) {
    enum { MOST_OF_A_PIPE = INT32_MAX };
    const dnnl_tp_onnx_open_opts_t opts = {.struct_size = sizeof opts, .base_folder = m->o->base};
    struct stat st;
    if (stat(m->path, &st) || !S_ISFIFO(st.st_mode))
        return dnnl_tp_onnx_open(&m->model, m->path, &opts) ? failed(m->path, error) : 0;
    se_file_t file;
    if (se_file_open(&file, m->path, MOST_OF_A_PIPE, error)) return -1;
    const int status = dnnl_tp_onnx_open_memory(&m->model, file.data, file.size, &opts);
    se_file_close(&file);
    return status ? failed(m->path, error) : 0;
}

int model_open(model_t *m, const options_t *o, const char *path, pool_t *pool, se_error_t *error) {
    *m = (model_t){.o = o, .path = path, .pool = pool, .info = {.struct_size = sizeof m->info}};
    if (open_file(m, error)) return -1;
    if (dnnl_tp_onnx_query(m->model, &m->info)) return failed(path, error);
    if (read_ports(m, error) || check_names(m, "--input", &o->inputs, m->in, m->info.inputs, error) ||
        check_names(m, "--output", &o->outputs, m->out, m->info.outputs, error) ||
        check_names(m, "--verify", &o->verify, m->out, m->info.outputs, error) || check_dims(m, error))
        return -1;
    return start(m, error);
}

void model_close(model_t *m) {
    dnnl_tp_onnx_session_destroy(m->session);
    dnnl_tp_trace_destroy(m->trace);
    dnnl_tp_onnx_close(m->model);
    free(m->in);
    free(m->out);
}

/* ---- Jobs ------------------------------------------------------------------------------------------------ */

int job_init(job_t *j, model_t *m, se_error_t *error) {
    *j = (job_t){.model = m};
    j->in = calloc((size_t)m->info.inputs + 1, sizeof *j->in);
    j->out = calloc((size_t)m->info.outputs + 1, sizeof *j->out);
    j->in_data = calloc((size_t)m->info.inputs + 1, sizeof *j->in_data);
    return j->in && j->out && j->in_data ? 0 : se_fail_memory(error);
}

void job_free(job_t *j) {
    dnnl_tp_onnx_call_destroy(j->call);
    for (int i = 0; j->in && i < j->model->info.inputs; ++i) array_free(&j->in[i]);
    for (int i = 0; j->out && i < j->model->info.outputs; ++i) array_free(&j->out[i]);
    free(j->in);
    free(j->out);
    free((void *)j->in_data);
    *j = (job_t){.model = j->model};
}

static int generate(const model_t *m, const dnnl_tp_onnx_port_t *port, array_t *a, uint64_t *state,
                    se_error_t *error) {
    const options_t *o = m->o;
    char text[ARRAY_TEXT];
    a->info = port->info;
    if (port->info.data_type == dnnl_tp_data_type_undef || port->info.ndims < 0)
        return se_fail(error,
                       "input '%s' is %s: its type or shape is not known, so it has to be given: --input",
                       port->name, array_text(&port->info, text));
    for (int d = 0; d < a->info.ndims; ++d) {
        for (int k = 0; port->symbols[d] && k < o->ndims; ++k)
            if (!strcmp(port->symbols[d], o->dims[k].name)) a->info.dims[d] = o->dims[k].size;
        if (d == 0 && o->batch) a->info.dims[d] = o->batch;
        if (a->info.dims[d] != DNNL_TP_RUNTIME_DIM_VAL) continue;
        const char *symbol = port->symbols[d] ? port->symbols[d] : "";
        return se_fail(error, "input '%s' is %s: give its size, with --input%s%s%s%s", port->name,
                       array_text(&port->info, text), d == 0 ? ", --batch" : "", *symbol ? " or --dim " : "",
                       symbol, *symbol ? "=SIZE" : "");
    }
    return array_generate(a, state, error);
}

int job_prepare(job_t *j, se_error_t *error) {
    const model_t *m = j->model;
    const int nin = m->info.inputs;
    uint64_t state = (uint64_t)m->o->seed * 2 + 1;
    dnnl_tp_onnx_arg_t *args = calloc((size_t)nin + 1, sizeof *args);
    if (!args) return se_fail_memory(error);
    int status = 0;
    for (int i = 0; i < nin && !status; ++i) {
        if (!j->in[i].data && !(m->in[i].flags & DNNL_TP_ONNX_HAS_DEFAULT))
            status = generate(m, &m->in[i], &j->in[i], &state, error);
        j->in_data[i] = j->in[i].data;
        if (j->in[i].data) args[i] = (dnnl_tp_onnx_arg_t){&j->in[i].info, j->in[i].data};
    }
    const double begin = now_ms();
    if (!status && dnnl_tp_onnx_session_get_call(&j->call, m->session, nin, args))
        status = failed(m->path, error);
    j->compile_ms = now_ms() - begin;
    free(args);
    for (int i = 0; i < m->info.outputs && !status; ++i) {
        if (dnnl_tp_onnx_call_output(j->call, i, &j->out[i].info)) return failed(m->path, error);
        status = array_alloc(&j->out[i], error);
    }
    return status;
}

int job_run(const job_t *j, void *const *out, se_error_t *error) {
    void *own[MAX_NAMED], **room = own;
    const int n = j->model->info.outputs;
    if (!out) {
        if (n > MAX_NAMED) room = malloc(sizeof *room * (size_t)n);
        if (!room) return se_fail_memory(error);
        for (int i = 0; i < n; ++i) room[i] = j->out[i].data;
    }
    const dnnl_tp_status_t status = dnnl_tp_onnx_call_run(j->call, j->in_data, out ? out : room, NULL);
    if (room != own) free(room);
    return status ? se_fail(error, "%s: the run failed: %s", j->model->path, dnnl_tp_last_error()) : 0;
}
