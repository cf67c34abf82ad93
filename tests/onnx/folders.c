/* Files of ONNX test folders, see folders.h. */
#include "dtp_onnx.pb-c.h"
#include "folders.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *read_all(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *data = NULL;
    if (!fseek(f, 0, SEEK_END)) {
        const long n = ftell(f);
        rewind(f);
        data = n >= 0 ? malloc((size_t)n + 1) : NULL;
        if (data && fread(data, 1, (size_t)n, f) != (size_t)n) {
            free(data);
            data = NULL;
        }
        *size = (size_t)n;
    }
    (void)fclose(f);
    return data;
}

bool read_pb(const char *path, tensor_t *t) {
    size_t size;
    *t = (tensor_t){.data = NULL};
    void *bytes = read_all(path, &size);
    if (!bytes) return false;
    bool ok = dnnl_tp_onnx_read_tensor(&t->info, NULL, NULL, 0, bytes, size) == dnnl_tp_success;
    if (ok) {
        const size_t room = count_of(&t->info) * dnnl_tp_data_type_size(t->info.data_type);
        t->data = malloc(room + 1);
        ok = t->data &&
             dnnl_tp_onnx_read_tensor(&t->info, NULL, t->data, room, bytes, size) == dnnl_tp_success;
    }
    free(bytes);
    return ok;
}

static int64_t word_number(dnnl_tp_onnx_model_t model, const ProtobufCBinaryData *text) {
    const char *word;
    size_t bytes;
    for (int64_t i = 0; !dnnl_tp_onnx_word(model, i, &word, &bytes); ++i)
        if (bytes == text->len && (!bytes || !memcmp(word, text->data, bytes))) return i;
    return -1;
}

/* A tensor of texts, which become the numbers of the model's words. */
static bool read_words(const char *path, dnnl_tp_onnx_model_t model, tensor_t *t) {
    size_t size;
    void *bytes = read_all(path, &size);
    DtpOnnx__TensorProto *p = bytes ? dtp_onnx__tensor_proto__unpack(NULL, size, bytes) : NULL;
    bool ok =
        p && p->data_type == DTP_ONNX__TENSOR_PROTO__DATA_TYPE__STRING && p->n_dims <= DNNL_TP_MAX_NDIMS;
    if (ok) {
        t->info = (dnnl_tp_tensor_info_t){.ndims = (int)p->n_dims, .data_type = dnnl_tp_s64};
        for (size_t d = 0; d < p->n_dims; ++d) t->info.dims[d] = p->dims[d];
        t->data = malloc((p->n_string_data + 1) * sizeof(int64_t));
        ok = t->data && count_of(&t->info) == p->n_string_data;
        for (size_t i = 0; ok && i < p->n_string_data; ++i)
            ((int64_t *)t->data)[i] = word_number(model, &p->string_data[i]);
    }
    if (p) dtp_onnx__tensor_proto__free_unpacked(p, NULL);
    free(bytes);
    return ok;
}

bool is_float_type(dnnl_tp_data_type_t type) { return type == dnnl_tp_f32 || type == dnnl_tp_f64; }

/* Folders whose results are random: drawn.c looks at these operators. */
static bool is_drawn(const char *folder) {
    static const char *const names[] = {"test_training_dropout", "test_training_dropout_default",
                                        "test_training_dropout_default_mask", "test_training_dropout_mask"};
    const char *name = strrchr(folder, '/');
    name = name ? name + 1 : folder;
    bool found = !strncmp(name, "test_bernoulli", strlen("test_bernoulli"));
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) found |= !strcmp(name, names[i]);
    return found;
}

size_t differences(const void *got, const tensor_t *want, double rtol, double atol, double *worst) {
    size_t bad = 0;
    const dnnl_tp_data_type_t type = want->info.data_type;
    *worst = 0;
    if (want->is_drawn) return 0;
    for (size_t i = 0; i < count_of(&want->info); ++i) {
        const double a = element(got, type, i), b = element(want->data, type, i);
        if (a == b || (isnan(a) && isnan(b))) continue;
        const double d = fabs(a - b);
        if (!(d <= *worst)) *worst = d;
        if (!is_float_type(type) || !(d <= atol + rtol * fabs(b))) ++bad;
    }
    return bad;
}

static bool exists(const char *path) {
    FILE *f = fopen(path, "rb");
    if (f) (void)fclose(f);
    return f != NULL;
}

bool read_set(const char *folder, int number, dnnl_tp_onnx_model_t model, data_set_t *s) {
    enum { PATH = 4096 };
    char path[PATH];
    memset(s, 0, sizeof *s);
    (void)snprintf(path, sizeof path, "%.4000s/test_data_set_%d", folder, number);
    DIR *d = opendir(path);
    if (!d) return false;
    (void)closedir(d);
    for (int out = 0; out < 2; ++out)
        for (int i = 0; i < MAX_TENSORS && !s->bad; ++i) {
            (void)snprintf(path, sizeof path, "%.4000s/test_data_set_%d/%s_%d.pb", folder, number,
                           out ? "output" : "input", i);
            if (!exists(path)) break;
            tensor_t *t = out ? &s->out[i] : &s->in[i];
            if (!read_pb(path, t) && !read_words(path, model, t)) s->bad = out ? "output" : "input";
            s->out[i].is_drawn = is_drawn(folder);
            if (out) ++s->nout;
            else ++s->nin;
        }
    return true;
}

void free_set(data_set_t *s) {
    for (int i = 0; i < s->nin; ++i) free(s->in[i].data);
    for (int i = 0; i < s->nout; ++i) free(s->out[i].data);
}

static void bits_of(const dnnl_tp_onnx_port_t *port, tensor_t *t) {
    enum { T_BFLOAT16 = 16 };
    if (port->onnx_type != T_BFLOAT16 || t->info.data_type != dnnl_tp_s32) return;
    for (size_t i = 0; i < count_of(&t->info); ++i) ((uint32_t *)t->data)[i] <<= 16;
    t->info.data_type = dnnl_tp_f32;
}

void read_bits(dnnl_tp_onnx_model_t model, data_set_t *s) {
    dnnl_tp_onnx_model_info_t info = {.struct_size = sizeof info};
    dnnl_tp_onnx_port_t port;
    int given = 0;
    if (s->bad || dnnl_tp_onnx_query(model, &info)) return;
    for (int i = 0; i < info.inputs && given < s->nin; ++i)
        if (!dnnl_tp_onnx_input(model, i, &port) && !(port.flags & DNNL_TP_ONNX_HAS_DEFAULT))
            bits_of(&port, &s->in[given++]);
    for (int i = 0; i < info.outputs && i < s->nout; ++i)
        if (!dnnl_tp_onnx_output(model, i, &port)) bits_of(&port, &s->out[i]);
}

bool set_args(dnnl_tp_onnx_model_t model, const data_set_t *s, int *nargs, dnnl_tp_onnx_arg_t *args) {
    dnnl_tp_onnx_model_info_t info = {.struct_size = sizeof info};
    int given = 0;
    if (dnnl_tp_onnx_query(model, &info) || info.inputs > MAX_TENSORS) return false;
    for (int i = 0; i < info.inputs; ++i) {
        dnnl_tp_onnx_port_t port;
        if (dnnl_tp_onnx_input(model, i, &port)) return false;
        const bool is_given = !(port.flags & DNNL_TP_ONNX_HAS_DEFAULT) && given < s->nin;
        args[i] =
            (dnnl_tp_onnx_arg_t){is_given ? &s->in[given].info : NULL, is_given ? s->in[given].data : NULL};
        given += is_given;
    }
    *nargs = info.inputs;
    return given == s->nin && info.outputs == s->nout;
}

void *set_room(void *results, int index, const dnnl_tp_tensor_info_t *info) {
    results_t *r = results;
    r->info[index] = *info;
    return r->data[index] = calloc(count_of(info) + 1, sizeof(double));
}

void free_results(results_t *r) {
    for (int i = 0; i < MAX_TENSORS; ++i) free(r->data[i]);
}

bool same_shape(const dnnl_tp_tensor_info_t *a, const dnnl_tp_tensor_info_t *b) {
    bool same = a->ndims == b->ndims && a->data_type == b->data_type;
    for (int d = 0; same && d < a->ndims; ++d) same = a->dims[d] == b->dims[d];
    return same;
}
