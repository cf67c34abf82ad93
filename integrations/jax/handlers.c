/* Operators of dnnl_tp for jax programs on CPU: handlers of XLA's typed FFI that run on XLA's own threads.
 *   dnnl_tp_jax_matmul   y{M, N} = x{M, K} w{K, N}
 *   dnnl_tp_jax_softmax  y = softmax(x) along the last dimension; x of 1 to 4 dimensions
 *   dnnl_tp_jax_mlp      y{M, N} = softmax(gelu(x{M, K} w1{K, H}) w2{H, N}), a compiled graph
 * All tensors are f32, row-major. dnnl_tp_jax.py registers them, and checks shapes before; a program that calls
 * a handler by itself gets the same refusals from here. Streams and compiled graphs are kept: XLA runs many
 * handlers at once, and each takes a stream of its own from a list; of graphs, one a shape, the MOST_GRAPHS that
 * were used last. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp_graph.h"
#include "dnnl_tp_xla_ffi.h"

/* ---- What is kept ------------------------------------------------------------------------------------ */

typedef struct stream_entry {
    struct stream_entry *next;
    dnnl_tp_stream_t stream;
} stream_entry_t;
enum { MOST_GRAPHS = 64 };
typedef struct graph_entry {
    struct graph_entry *next; /* used before this one */
    int64_t m, k, h, n;
    dnnl_tp_executable_t executable;
    int users; /* handlers that run it */
} graph_entry_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static dnnl_tp_engine_t engine;
static stream_entry_t *free_streams;
static graph_entry_t *graphs; /* the one that was used last comes first */
static int ngraphs;

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

/* "f32[2,3]"; returns text. */
enum { SHAPE_TEXT = 64 };
static const char *shape_text(const XLA_FFI_Buffer *b, char text[SHAPE_TEXT]) {
    int n = snprintf(text, SHAPE_TEXT, b->dtype == XLA_FFI_DataType_F32 ? "f32[" : "no f32[");
    for (int i = 0; i < (int)b->rank && n < SHAPE_TEXT - 24; ++i)
        n += snprintf(text + n, (size_t)(SHAPE_TEXT - n), "%s%lld", i ? "," : "", (long long)b->dims[i]);
    snprintf(text + n, (size_t)(SHAPE_TEXT - n), "]");
    return text;
}

/* Every array has its rank and is f32. */
static dnnl_tp_status_t check_arrays(const char *handler, XLA_FFI_Buffer *const *arrays, int n, int min_rank,
                                     int max_rank) {
    char text[160], shape[SHAPE_TEXT];
    for (int i = 0; i < n; ++i) {
        if (arrays[i]->dtype == XLA_FFI_DataType_F32 && arrays[i]->rank >= min_rank &&
            arrays[i]->rank <= max_rank)
            continue;
        snprintf(text, sizeof text, "dnnl_tp_%s: array %d is %s; needed is f32 of %d to %d dimensions",
                 handler, i, shape_text(arrays[i], shape), min_rank, max_rank);
        return dnnl_tp_fail(dnnl_tp_invalid_arguments, text);
    }
    return dnnl_tp_success;
}

/* a{M, K} b{K, N} gives c{M, N}; c NULL: any. */
static dnnl_tp_status_t check_product(const char *handler, const XLA_FFI_Buffer *a, const XLA_FFI_Buffer *b,
                                      const XLA_FFI_Buffer *c) {
    if (a->dims[1] == b->dims[0] && (!c || (c->dims[0] == a->dims[0] && c->dims[1] == b->dims[1])))
        return dnnl_tp_success;
    char text[256], ta[SHAPE_TEXT], tb[SHAPE_TEXT], tc[SHAPE_TEXT] = "its result";
    snprintf(text, sizeof text, "dnnl_tp_%s: %s times %s does not give %s", handler, shape_text(a, ta),
             shape_text(b, tb), c ? shape_text(c, tc) : "a product");
    return dnnl_tp_fail(dnnl_tp_invalid_arguments, text);
}

static dnnl_tp_memory_desc_t md_of(const XLA_FFI_Buffer *b) { /* of a buffer that check_arrays() let pass */
    static const dnnl_tp_format_tag_t tags[] = {dnnl_tp_a, dnnl_tp_ab, dnnl_tp_abc, dnnl_tp_abcd};
    dnnl_tp_memory_desc_t md = NULL;
    dnnl_tp_dims_t dims = {0};
    for (int i = 0; i < (int)b->rank; ++i) dims[i] = b->dims[i];
    if (dnnl_tp_memory_desc_create_with_tag(&md, (int)b->rank, dims, dnnl_tp_f32, tags[b->rank - 1]))
        return NULL;
    return md;
}

typedef dnnl_tp_status_t (*compute_t)(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in,
                                      XLA_FFI_Buffer *out);

/* What all handlers have in common: the metadata query, the shapes of the call, a stream, the answer. */
static XLA_FFI_Error *handle(XLA_FFI_CallFrame *frame, const char *name, int nin, compute_t compute) {
    char text[160];
    XLA_FFI_Extension_Base *extension = frame->extension_start;
    if (extension && extension->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)extension)->metadata;
        metadata->api_version.major_version = XLA_FFI_API_MAJOR;
        metadata->api_version.minor_version = XLA_FFI_API_MINOR;
        return NULL;
    }
    if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return NULL;
    if (frame->args.size != nin || frame->rets.size != 1) {
        snprintf(text, sizeof text, "dnnl_tp_%s: %lld arrays give %lld; needed are %d and 1", name,
                 (long long)frame->args.size, (long long)frame->rets.size, nin);
        return fail(frame->api, XLA_FFI_Error_Code_INVALID_ARGUMENT, text);
    }
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
    dnnl_tp_status_t s = check_arrays("matmul", in, 2, 2, 2);
    if (!s) s = check_arrays("matmul", &out, 1, 2, 2);
    if (!s) s = check_product("matmul", in[0], in[1], out);
    if (s) return s;
    dnnl_tp_memory_desc_t x = md_of(in[0]), w = md_of(in[1]), y = md_of(out);
    dnnl_tp_primitive_desc_t pd = NULL;
    s = dnnl_tp_matmul_primitive_desc_create(&pd, engine, x, w, NULL, y, NULL);
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
    dnnl_tp_status_t s = check_arrays("softmax", in, 1, 1, 4);
    if (!s) s = check_arrays("softmax", &out, 1, (int)in[0]->rank, (int)in[0]->rank);
    if (s) return s;
    dnnl_tp_memory_desc_t x = md_of(in[0]), y = md_of(out);
    dnnl_tp_primitive_desc_t pd = NULL;
    s = dnnl_tp_softmax_forward_primitive_desc_create(
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

/* Under the lock: drops graphs that were not used for the longest time and that nobody runs. */
static void drop_surplus(void) {
    while (ngraphs > MOST_GRAPHS) {
        graph_entry_t **oldest = NULL;
        for (graph_entry_t **at = &graphs; *at; at = &(*at)->next)
            if ((*at)->users == 0) oldest = at;
        if (!oldest) return;
        graph_entry_t *e = *oldest;
        *oldest = e->next;
        --ngraphs;
        dnnl_tp_executable_destroy(e->executable);
        free(e);
    }
}

/* The graph for these shapes, in use by the caller. */
static dnnl_tp_status_t take_graph(const graph_entry_t *want, graph_entry_t **entry) {
    dnnl_tp_status_t s = dnnl_tp_success;
    pthread_mutex_lock(&lock);
    graph_entry_t **at = &graphs, *e;
    while (*at && memcmp(&(*at)->m, &want->m, 4 * sizeof want->m)) at = &(*at)->next;
    if ((e = *at)) {
        *at = e->next;
    } else if (!(e = malloc(sizeof *e))) {
        s = dnnl_tp_fail(dnnl_tp_out_of_memory, "dnnl_tp_mlp: no memory for a graph");
    } else {
        *e = *want;
        s = compile(e);
        if (s) free(e);
        else ++ngraphs;
    }
    if (!s) {
        e->next = graphs;
        graphs = e;
        ++e->users;
        drop_surplus();
        *entry = e;
    }
    pthread_mutex_unlock(&lock);
    return s;
}

static void give_graph(graph_entry_t *e) {
    pthread_mutex_lock(&lock);
    --e->users;
    drop_surplus();
    pthread_mutex_unlock(&lock);
}

static dnnl_tp_status_t mlp(dnnl_tp_stream_t stream, XLA_FFI_Buffer *const *in, XLA_FFI_Buffer *out) {
    dnnl_tp_status_t s = check_arrays("mlp", in, 3, 2, 2);
    if (!s) s = check_arrays("mlp", &out, 1, 2, 2);
    if (!s) s = check_product("mlp", in[0], in[1], NULL);
    if (!s) s = check_product("mlp", in[1], in[2], NULL);
    if (!s && (out->dims[0] != in[0]->dims[0] || out->dims[1] != in[2]->dims[1]))
        s = dnnl_tp_fail(dnnl_tp_invalid_arguments,
                         "dnnl_tp_mlp: the result has not x's rows and w2's columns");
    if (s) return s;
    graph_entry_t want = {.m = in[0]->dims[0], .k = in[0]->dims[1], .h = in[1]->dims[1], .n = in[2]->dims[1]},
                  *e;
    s = take_graph(&want, &e);
    if (s) return s;
    void *const inputs[] = {in[0]->data, in[1]->data, in[2]->data}, *const outputs[] = {out->data};
    s = dnnl_tp_executable_run(e->executable, stream, 3, inputs, 1, outputs, NULL);
    give_graph(e);
    return s;
}

/* How many compiled graphs are kept; for tests. */
__attribute__((visibility("default"))) int dnnl_tp_jax_graphs(void);
int dnnl_tp_jax_graphs(void) {
    pthread_mutex_lock(&lock);
    int n = ngraphs;
    pthread_mutex_unlock(&lock);
    return n;
}

#define HANDLER(name, nin)                                                                              \
    __attribute__((visibility("default"))) XLA_FFI_Error *dnnl_tp_jax_##name(XLA_FFI_CallFrame *frame); \
    XLA_FFI_Error *dnnl_tp_jax_##name(XLA_FFI_CallFrame *frame) { return handle(frame, #name, nin, name); }
HANDLER(matmul, 2)
HANDLER(softmax, 1)
HANDLER(mlp, 3)
