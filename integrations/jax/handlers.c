/* Operators of dnnl_tp for jax programs on CPU: handlers of XLA's typed FFI that run on XLA's own threads.
 *   dnnl_tp_jax_matmul   y{M, N} = x{M, K} w{K, N}
 *   dnnl_tp_jax_softmax  y = softmax(x) along the last dimension; x of 1 to 4 dimensions
 *   dnnl_tp_jax_mlp      y{M, N} = softmax(gelu(x{M, K} w1{K, H}) w2{H, N}), a compiled graph
 * All tensors are f32, row-major. dnnl_tp_jax.py registers them. Streams and compiled graphs are kept: XLA
 * runs many handlers at once, and each takes a stream of its own from a list. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "dnnl_tp_xla_ffi.h"

/* ---- What is kept ------------------------------------------------------------------------------------ */

typedef struct stream_entry {
    struct stream_entry *next;
    dnnl_tp_stream_t stream;
} stream_entry_t;
typedef struct graph_entry {
    struct graph_entry *next;
    int64_t m, k, h, n;
    dnnl_tp_executable_t executable;
} graph_entry_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static dnnl_tp_engine_t engine;
static stream_entry_t *free_streams;
static graph_entry_t *graphs;

/* Under the lock. XLA's pool is the engine's: primitives are planned for its threads, streams run on it. */
static dnnl_tp_status_t need_engine(void) {
    if (engine) return dnnl_tp_success;
    dnnl_tp_threadpool_iface_t pool = dnnl_tp_xla_iface();
    dnnl_tp_stream_attr_t stream_attr = NULL;
    dnnl_tp_engine_attr_t attr = NULL;
    dnnl_tp_status_t s = dnnl_tp_stream_attr_create(&stream_attr, dnnl_tp_cpu);
    if (!s) s = dnnl_tp_stream_attr_set_threadpool(stream_attr, &pool);
    if (!s) s = dnnl_tp_engine_attr_create(&attr);
    if (!s) s = dnnl_tp_engine_attr_set_stream_attr(attr, stream_attr);
    if (!s) s = dnnl_tp_engine_create_v2(&engine, dnnl_tp_cpu, 0, attr);
    dnnl_tp_engine_attr_destroy(attr);
    dnnl_tp_stream_attr_destroy(stream_attr);
    return s;
}

static dnnl_tp_status_t take_stream(stream_entry_t **entry) {
    pthread_mutex_lock(&lock);
    dnnl_tp_status_t s = need_engine();
    *entry = free_streams;
    if (*entry) free_streams = (*entry)->next;
    pthread_mutex_unlock(&lock);
    if (s || *entry) return s;
    *entry = malloc(sizeof **entry);
    if (!*entry) return dnnl_tp_out_of_memory;
    s = dnnl_tp_stream_create(&(*entry)->stream, engine, dnnl_tp_stream_default_flags);
    if (s) free(*entry);
    return s;
}
static void give_stream(stream_entry_t *entry) {
    pthread_mutex_lock(&lock);
    entry->next = free_streams;
    free_streams = entry;
    pthread_mutex_unlock(&lock);
}

/* ---- Between XLA and the library --------------------------------------------------------------------- */

static XLA_FFI_Error *fail(const XLA_FFI_Api *api, XLA_FFI_Error_Code code, const char *text) {
    XLA_FFI_Error_Create_Args args = {
        .struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE, .message = text, .errc = code};
    return api->XLA_FFI_Error_Create(&args);
}

static dnnl_tp_memory_desc_t md_of(const XLA_FFI_Buffer *b) {
    static const dnnl_tp_format_tag_t tags[] = {dnnl_tp_a, dnnl_tp_ab, dnnl_tp_abc, dnnl_tp_abcd};
    dnnl_tp_memory_desc_t md = NULL;
    dnnl_tp_dims_t dims = {0};
    if (b->dtype != XLA_FFI_DataType_F32 || b->rank < 1 || b->rank > 4) return NULL;
    for (int i = 0; i < (int)b->rank; ++i) dims[i] = b->dims[i];
    if (dnnl_tp_memory_desc_create_with_tag(&md, (int)b->rank, dims, dnnl_tp_f32, tags[b->rank - 1]))
        return NULL;
    return md;
}

typedef dnnl_tp_status_t (*compute_t)(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in,
                                      XLA_FFI_Buffer *out);

/* What all handlers have in common: the metadata query, the shapes of the call, a stream, the answer. */
static XLA_FFI_Error *handle(XLA_FFI_CallFrame *frame, int nin, compute_t compute) {
    XLA_FFI_Extension_Base *extension = frame->extension_start;
    if (extension && extension->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
        metadata->api_version.major_version = XLA_FFI_API_MAJOR;
        metadata->api_version.minor_version = XLA_FFI_API_MINOR;
        return NULL;
    }
    if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return NULL;
    if (frame->args.size != nin || frame->rets.size != 1)
        return fail(frame->api, XLA_FFI_Error_Code_INVALID_ARGUMENT, "wrong number of arrays");
    dnnl_tp_xla_call_t call = {frame->api, frame->ctx};
    const dnnl_tp_xla_call_t *outer = dnnl_tp_xla_call;
    dnnl_tp_xla_call = &call;
    stream_entry_t *entry;
    dnnl_tp_status_t s = take_stream(&entry);
    if (!s) {
        s = compute(entry->stream, (XLA_FFI_Buffer *const *)frame->args.args, frame->rets.rets[0]);
        give_stream(entry);
    }
    dnnl_tp_xla_call = outer;
    if (!s) return NULL;
    return fail(frame->api,
                s == dnnl_tp_out_of_memory       ? XLA_FFI_Error_Code_RESOURCE_EXHAUSTED
                : s == dnnl_tp_invalid_arguments ? XLA_FFI_Error_Code_INVALID_ARGUMENT
                                                 : XLA_FFI_Error_Code_INTERNAL,
                dnnl_tp_last_error());
}

/* ---- Operators --------------------------------------------------------------------------------------- */

static dnnl_tp_status_t execute(dnnl_tp_primitive_desc_t pd, dnnl_tp_stream_t stream, int n,
                                const dnnl_tp_exec_handle_t *args) {
    dnnl_tp_primitive_t primitive;
    dnnl_tp_status_t s = dnnl_tp_primitive_create(&primitive, pd);
    if (s) return s;
    s = dnnl_tp_primitive_execute_handles(primitive, stream, n, args);
    dnnl_tp_primitive_destroy(primitive);
    return s;
}

static dnnl_tp_status_t matmul(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in, XLA_FFI_Buffer *out) {
    dnnl_tp_memory_desc_t x = md_of(in[0]), w = md_of(in[1]), y = md_of(out);
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_status_t s = dnnl_tp_matmul_primitive_desc_create(&pd, engine, x, w, NULL, y, NULL);
    dnnl_tp_exec_handle_t args[] = {
        {DNNL_TP_ARG_SRC, in[0]->data}, {DNNL_TP_ARG_WEIGHTS, in[1]->data}, {DNNL_TP_ARG_DST, out->data}};
    if (!s) s = execute(pd, stream, 3, args);
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(x);
    dnnl_tp_memory_desc_destroy(w);
    dnnl_tp_memory_desc_destroy(y);
    return s;
}

static dnnl_tp_status_t softmax(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in, XLA_FFI_Buffer *out) {
    dnnl_tp_memory_desc_t x = md_of(in[0]), y = md_of(out);
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_status_t s = dnnl_tp_softmax_forward_primitive_desc_create(
        &pd, engine, dnnl_tp_forward_inference, dnnl_tp_softmax_accurate, x, y, (int)in[0]->rank - 1, NULL);
    dnnl_tp_exec_handle_t args[] = {{DNNL_TP_ARG_SRC, in[0]->data}, {DNNL_TP_ARG_DST, out->data}};
    if (!s) s = execute(pd, stream, 2, args);
    dnnl_tp_primitive_desc_destroy(pd);
    dnnl_tp_memory_desc_destroy(x);
    dnnl_tp_memory_desc_destroy(y);
    return s;
}

static dnnl_tp_status_t compile(graph_entry_t *e) {
    dnnl_tp_graph_t g = NULL;
    dnnl_tp_value_t v[3], product[2], y = -1;
    dnnl_tp_dims_t x = {e->m, e->k}, w1 = {e->k, e->h}, w2 = {e->h, e->n};
    int64_t axis = -1;
    dnnl_tp_op_attr_t attr = {dnnl_tp_op_attr_axis, dnnl_tp_op_attr_s64, 1, &axis};
    dnnl_tp_status_t s = dnnl_tp_graph_create(&g, dnnl_tp_cpu);
    if (!s) s = dnnl_tp_graph_input(g, &v[0], "x", dnnl_tp_f32, 2, x);
    if (!s) s = dnnl_tp_graph_input(g, &v[1], "w1", dnnl_tp_f32, 2, w1);
    if (!s) s = dnnl_tp_graph_input(g, &v[2], "w2", dnnl_tp_f32, 2, w2);
    if (!s) s = dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "first", 2, v, 0, NULL, 1, &y);
    if (!s) s = dnnl_tp_graph_op(g, dnnl_tp_op_gelu, "gelu", 1, &y, 0, NULL, 1, &product[0]);
    product[1] = v[2];
    if (!s) s = dnnl_tp_graph_op(g, dnnl_tp_op_matmul, "second", 2, product, 0, NULL, 1, &y);
    if (!s) s = dnnl_tp_graph_op(g, dnnl_tp_op_softmax, "softmax", 1, &y, 1, &attr, 1, &y);
    if (!s) s = dnnl_tp_graph_output(g, y, "y");
    if (!s) s = dnnl_tp_executable_compile(&e->executable, g, engine, 0, NULL, NULL);
    dnnl_tp_graph_destroy(g);
    return s;
}

static dnnl_tp_status_t mlp(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in, XLA_FFI_Buffer *out) {
    for (int i = 0; i < 3; ++i)
        if (in[i]->dtype != XLA_FFI_DataType_F32 || in[i]->rank != 2) return dnnl_tp_invalid_arguments;
    graph_entry_t want = {.m = in[0]->dims[0], .k = in[0]->dims[1], .h = in[1]->dims[1], .n = in[2]->dims[1]};
    if (in[1]->dims[0] != want.k || in[2]->dims[0] != want.h) return dnnl_tp_invalid_arguments;
    dnnl_tp_status_t s = dnnl_tp_success;
    pthread_mutex_lock(&lock);
    graph_entry_t *e = graphs;
    while (e && memcmp(&e->m, &want.m, 4 * sizeof want.m)) e = e->next;
    if (!e) {
        s = compile(&want);
        e = s ? NULL : malloc(sizeof *e);
        if (!e) {
            pthread_mutex_unlock(&lock);
            return s ? s : dnnl_tp_out_of_memory;
        }
        *e = want;
        e->next = graphs;
        graphs = e;
    }
    pthread_mutex_unlock(&lock);
    void *const inputs[] = {in[0]->data, in[1]->data, in[2]->data}, *const outputs[] = {out->data};
    return dnnl_tp_executable_run(e->executable, stream, 3, inputs, 1, outputs, NULL);
}

#define HANDLER(name, nin)                                                                              \
    __attribute__((visibility("default"))) XLA_FFI_Error *dnnl_tp_jax_##name(XLA_FFI_CallFrame *frame); \
    XLA_FFI_Error *dnnl_tp_jax_##name(XLA_FFI_CallFrame *frame) { return handle(frame, nin, name); }
HANDLER(matmul, 2)
HANDLER(softmax, 1)
HANDLER(mlp, 3)
