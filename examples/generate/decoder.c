/* See decoder.h. */
#include "decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS, MASK, POSITIONS };

static bool good(dnnl_tp_status_t status, const char *what) {
    if (status) fprintf(stderr, "generate: %s: %s\n", what, dnnl_tp_last_error());
    return status == dnnl_tp_success;
}

static bool find_ports(decoder_t *d) {
    dnnl_tp_onnx_model_info_t info = {.struct_size = sizeof info};
    dnnl_tp_onnx_port_t port;
    if (!good(dnnl_tp_onnx_query(d->model, &info), "model")) return false;
    d->nin = info.inputs;
    d->ids = d->mask = d->positions = d->logits = -1;
    for (int i = 0; i < info.inputs; ++i) {
        if (!good(dnnl_tp_onnx_input(d->model, i, &port), "input")) return false;
        if (!strcmp(port.name, "input_ids")) d->ids = i;
        else if (!strcmp(port.name, "attention_mask")) d->mask = i;
        else if (!strcmp(port.name, "position_ids")) d->positions = i;
        else if (!strstr(port.name, "past")) {
            fprintf(stderr, "generate: the model has an input '%s', which this program does not know\n",
                    port.name);
            return false;
        }
        if ((i == d->ids || i == d->mask || i == d->positions) && port.info.data_type != dnnl_tp_s64) {
            fprintf(stderr, "generate: input '%s' is not INT64\n", port.name);
            return false;
        }
    }
    for (int i = 0; i < info.outputs; ++i) {
        if (!good(dnnl_tp_onnx_output(d->model, i, &port), "output")) return false;
        if (!strcmp(port.name, "logits")) d->logits = port.info.data_type == dnnl_tp_f32 ? i : -1;
        else if (!strstr(port.name, "present")) {
            fprintf(stderr, "generate: the model has an output '%s', which this program does not know\n",
                    port.name);
            return false;
        }
    }
    if (d->ids < 0 || d->logits < 0) {
        fprintf(stderr, "generate: the model has no input 'input_ids' or no output 'logits' of f32\n");
        return false;
    }
    return true;
}

bool decoder_open(decoder_t *d, const char *path, int threads) {
    memset(d, 0, sizeof *d);
    const dnnl_tp_threadpool_opts_t pool = {.struct_size = sizeof pool, .num_threads = threads};
    if (!good(dnnl_tp_onnx_open(&d->model, path, NULL), "model") || !find_ports(d)) return false;
    if (!good(dnnl_tp_engine_create(&d->engine, dnnl_tp_cpu, 0), "engine") ||
        !good(dnnl_tp_stream_attr_create(&d->attr, dnnl_tp_cpu), "stream"))
        return false;
    if (threads > 1 && (!good(dnnl_tp_threadpool_create(&d->pool, &pool), "pool") ||
                        !good(dnnl_tp_stream_attr_set_builtin_threadpool(d->attr, d->pool), "pool")))
        return false;
    const dnnl_tp_onnx_session_opts_t opts = {
        .struct_size = sizeof opts, .stream_attr = d->attr, .max_calls = 64};
    return good(dnnl_tp_onnx_session_create(&d->session, d->model, d->engine, &opts), "session");
}

void decoder_close(decoder_t *d) {
    (void)dnnl_tp_onnx_session_destroy(d->session);
    (void)dnnl_tp_stream_attr_destroy(d->attr);
    (void)dnnl_tp_threadpool_destroy(d->pool);
    (void)dnnl_tp_engine_destroy(d->engine);
    (void)dnnl_tp_onnx_close(d->model);
}

bool sequence_begin(sequence_t *s, const decoder_t *d, int64_t most_tokens, bool by_joins) {
    memset(s, 0, sizeof *s);
    s->decoder = d;
    s->room = most_tokens;
    s->args = calloc((size_t)d->nin, sizeof *s->args);
    s->ones = malloc((size_t)most_tokens * sizeof *s->ones);
    s->positions = malloc((size_t)most_tokens * sizeof *s->positions);
    if (!s->args || !s->ones || !s->positions) return good(dnnl_tp_out_of_memory, "sequence");
    for (int64_t i = 0; i < most_tokens; ++i) s->ones[i] = 1, s->positions[i] = i;
    const dnnl_tp_onnx_state_opts_t opts = {.struct_size = sizeof opts, .by_joins = by_joins};
    return good(dnnl_tp_onnx_state_create(&s->state, d->session, &opts), "state");
}

/* Room for an output: of the logits. */
static void *room_for(void *ctx, int index, const dnnl_tp_tensor_info_t *info) {
    sequence_t *s = ctx;
    if (index != s->decoder->logits || info->ndims != 3) return NULL;
    const int64_t n = info->dims[0] * info->dims[1] * info->dims[2];
    s->rows = info->dims[1];
    s->vocabulary = info->dims[2];
    if (n > s->logits_room) {
        float *logits = realloc(s->logits, (size_t)n * sizeof *logits);
        if (!logits) return NULL;
        s->logits = logits;
        s->logits_room = n;
    }
    return s->logits;
}

static void give(sequence_t *s, int input, int which, const int64_t *data, int64_t n) {
    if (input < 0) return;
    s->info[which] = (dnnl_tp_tensor_info_t){.ndims = 2, .dims = {1, n}, .data_type = dnnl_tp_s64};
    s->args[input] = (dnnl_tp_onnx_arg_t){&s->info[which], data};
}

const float *sequence_step(sequence_t *s, const int64_t *tokens, int64_t n) {
    const decoder_t *d = s->decoder;
    if (n < 1 || s->length + n > s->room) {
        fprintf(stderr, "generate: %lld tokens do not fit\n", (long long)(s->length + n));
        return NULL;
    }
    give(s, d->ids, IDS, tokens, n);
    give(s, d->mask, MASK, s->ones, s->length + n);
    give(s, d->positions, POSITIONS, s->positions + s->length, n);
    if (!good(dnnl_tp_onnx_state_run(s->state, d->nin, s->args, room_for, s, NULL), "run")) return NULL;
    s->length += n;
    return s->logits + (s->rows - 1) * s->vocabulary;
}

bool sequence_clear(sequence_t *s) {
    s->length = 0;
    return good(dnnl_tp_onnx_state_truncate(s->state, 0), "state");
}

void sequence_end(sequence_t *s) {
    (void)dnnl_tp_onnx_state_destroy(s->state);
    free(s->args);
    free(s->ones);
    free(s->positions);
    free(s->logits);
}
