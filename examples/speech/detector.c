/* See detector.h. */
#include "detector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool good(dnnl_tp_status_t status, const char *what) {
    if (status) fprintf(stderr, "speech: %s: %s\n", what, dnnl_tp_last_error());
    return status == dnnl_tp_success;
}

static bool fails(const char *why) {
    fprintf(stderr, "speech: model: %s\n", why);
    return false;
}

static bool sizes_agree(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b) {
    return a->ndims == b->ndims && a->data_type == b->data_type &&
           !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->ndims);
}

/* The audio is the input of f32 and two dimensions, `sr` the rate; all others are states, for which the outputs behind the first
 * one come in the same order. Open sizes of states are a batch of 1. */
static bool find_ports(detector_t *d, dnnl_tp_tensor_info_t *info, int64_t context) {
    dnnl_tp_onnx_model_info_t m = {.struct_size = sizeof m};
    dnnl_tp_onnx_port_t port;
    if (!good(dnnl_tp_onnx_query(d->model, &m), "model")) return false;
    d->nin = m.inputs;
    d->nout = m.outputs;
    d->audio = -1;
    if (m.inputs > MOST_PORTS || m.outputs > MOST_PORTS)
        return fails("it has more inputs or outputs than a detector");
    for (int i = 0; i < m.inputs; ++i) {
        if (!good(dnnl_tp_onnx_input(d->model, i, &port), "model")) return false;
        info[i] = port.info;
        if (port.info.data_type == dnnl_tp_s64 && !strcmp(port.name, "sr")) {
            d->rate = RATE;
            d->in[i] = &d->rate;
        } else if (port.info.data_type == dnnl_tp_f32 && port.info.ndims == 2 && d->audio < 0) {
            const int64_t known = port.info.dims[1];
            d->audio = i;
            d->context = context >= 0 ? context : known >= CHUNK ? known - CHUNK : 64;
            info[i].dims[0] = 1;
            info[i].dims[1] = d->context + CHUNK;
        } else if (port.info.data_type == dnnl_tp_f32 && port.info.ndims > 2) {
            d->state_count[d->nstates] = 1;
            for (int k = 0; k < info[i].ndims; ++k) {
                if (info[i].dims[k] < 0) info[i].dims[k] = 1;
                d->state_count[d->nstates] *= info[i].dims[k];
            }
            d->state_in[d->nstates++] = i;
        } else return fails("it has an input that is neither samples nor 'sr' nor a state");
    }
    if (d->audio < 0 || m.outputs != d->nstates + 1)
        return fails("it needs samples {1, n}, a probability, and an output for each of its states");
    d->probability = 0;
    for (int i = 0; i < d->nstates; ++i) d->state_out[i] = i + 1;
    return true;
}

static bool compile(detector_t *d, const dnnl_tp_tensor_info_t *info) {
    dnnl_tp_onnx_arg_t args[MOST_PORTS] = {{NULL, NULL}};
    dnnl_tp_tensor_info_t out;
    for (int i = 0; i < d->nin; ++i) args[i] = (dnnl_tp_onnx_arg_t){&info[i], d->in[i]};
    if (!good(dnnl_tp_onnx_session_get_call(&d->call, d->session, d->nin, args), "model")) return false;
    if (!good(dnnl_tp_onnx_call_output(d->call, d->probability, &out), "model")) return false;
    for (int i = 0; i < out.ndims; ++i)
        if (out.dims[i] != 1) return fails("its first output is not one probability");
    if (out.data_type != dnnl_tp_f32) return fails("its first output is not f32");
    d->out[d->probability] = &d->speech;
    for (int i = 0; i < d->nstates; ++i) {
        if (!good(dnnl_tp_onnx_call_output(d->call, d->state_out[i], &out), "model")) return false;
        if (!sizes_agree(&out, &info[d->state_in[i]]))
            return fails("an output is not like the state that it should become");
        for (int k = 0; k < 2; ++k)
            if (!(d->state[k][i] = calloc((size_t)d->state_count[i], sizeof(float))))
                return fails("there is no memory for its states");
    }
    return true;
}

bool detector_open(detector_t *d, const char *path, int threads, int64_t context) {
    dnnl_tp_tensor_info_t info[MOST_PORTS];
    const dnnl_tp_threadpool_opts_t pool = {.struct_size = sizeof pool, .num_threads = threads};
    memset(d, 0, sizeof *d);
    if (!good(dnnl_tp_onnx_open(&d->model, path, NULL), "model") || !find_ports(d, info, context) ||
        !good(dnnl_tp_engine_create(&d->engine, dnnl_tp_cpu, 0), "engine") ||
        !good(dnnl_tp_stream_attr_create(&d->attr, dnnl_tp_cpu), "stream"))
        return false;
    if (threads > 1 && (!good(dnnl_tp_threadpool_create(&d->pool, &pool), "pool") ||
                        !good(dnnl_tp_stream_attr_set_builtin_threadpool(d->attr, d->pool), "pool")))
        return false;
    const dnnl_tp_onnx_session_opts_t opts = {.struct_size = sizeof opts, .stream_attr = d->attr};
    return good(dnnl_tp_onnx_session_create(&d->session, d->model, d->engine, &opts), "session") &&
           compile(d, info);
}

float detector_step(detector_t *d, const float *samples) {
    d->in[d->audio] = samples;
    for (int i = 0; i < d->nstates; ++i) {
        d->in[d->state_in[i]] = d->state[d->turn][i];
        d->out[d->state_out[i]] = d->state[1 - d->turn][i];
    }
    if (!good(dnnl_tp_onnx_call_run(d->call, d->in, d->out, NULL), "run")) return -1;
    d->turn = 1 - d->turn;
    return d->speech;
}

void detector_close(detector_t *d) {
    for (int i = 0; i < 2 * d->nstates; ++i) free(d->state[i % 2][i / 2]);
    (void)dnnl_tp_onnx_call_destroy(d->call);
    (void)dnnl_tp_onnx_session_destroy(d->session);
    (void)dnnl_tp_stream_attr_destroy(d->attr);
    (void)dnnl_tp_threadpool_destroy(d->pool);
    (void)dnnl_tp_engine_destroy(d->engine);
    (void)dnnl_tp_onnx_close(d->model);
}
