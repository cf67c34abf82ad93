/* See encoder.h. Sequences of a run lie one behind the other, without padding to a rectangle; offsets tell
 * attention and pooling where each begins. Executables are made for one shape (tokens, sequences) each, so
 * shapes are rounded: tokens to 8 steps per power of two (to 4 up to 64), the rest being one sequence of
 * [PAD] that nobody reads; sequences to a power of two, the rest being empty. That costs at most 1/8 more
 * tokens, about 1/20 on average, and bounds the executables: 48 counts of tokens up to 1,024, times few
 * counts of sequences. */
#include "encoder.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "dnnl_tp/dnnl_tp_cuda.h"
#include "graph.h"
#include "mirror.h"
#include "own_pool.h"

enum { MIN_STEP = 4, STEPS_PER_OCTAVE = 8, MAX_INPUTS = 3 };

typedef struct {
    int rectangular; /* a = batch, b = tokens each; else a = tokens in all, b = sequences */
    int a, b;
} shape_t;

typedef struct entry {
    struct entry *next;
    shape_t shape;
    dnnl_tp_executable_t executable;
} entry_t;

struct se_encoder {
    const se_model_t *model;
    se_own_pool_t *own_pool;
    dnnl_tp_threadpool_t builtin_pool;
    dnnl_tp_stream_attr_t stream_attr;
    dnnl_tp_engine_attr_t engine_attr;
    dnnl_tp_engine_t engine, host; /* host: beside a GPU, else NULL */
    dnnl_tp_graph_t graph[2];      /* packed, rectangular (made when first needed) */
    pthread_mutex_t lock;          /* guards what follows */
    entry_t *entries;
    int num_entries;
    int64_t compile_ns; /* of all shapes but the first */
    int bf16;
};

struct se_session {
    se_encoder_t *encoder;
    dnnl_tp_stream_t stream;
    int max_sequences, max_tokens;
    int32_t *ids, *positions, *offsets; /* one block */
    float *out;
    se_mirror_t device_in, device_out; /* of the block and of out, on a GPU */
    const entry_t *last;
    dnnl_tp_run_opts_t opts;
};

static int library_error(se_error_t *error, const char *what, dnnl_tp_status_t status) {
    return se_fail(error, "%s: %s: %s", what, dnnl_tp_status2str(status), dnnl_tp_last_error());
}

static const char *why_no_gpu(void) {
#if DNNL_TP_GPU_RUNTIME == DNNL_TP_RUNTIME_CUDA
    return dnnl_tp_cuda_reason();
#else
    return "this build of dnnl_tp has no CUDA engine";
#endif
}

/* The CPU's engine stands for the buffers on the host. */
static int create_gpu(se_encoder_t *e, se_error_t *error) {
    if (!dnnl_tp_engine_get_count(dnnl_tp_gpu)) return se_fail(error, "no GPU: %s", why_no_gpu());
    dnnl_tp_status_t status = dnnl_tp_engine_create(&e->engine, dnnl_tp_gpu, 0);
    if (status == dnnl_tp_success) status = dnnl_tp_engine_create(&e->host, dnnl_tp_cpu, 0);
    return status == dnnl_tp_success ? 0 : library_error(error, "cannot set up the engine", status);
}

/* The engine's default pool is the encoder's pool, so that everything made from it plans for that many
 * threads. */
static int create_engine(se_encoder_t *e, const se_encoder_opts_t *opts,
                         const dnnl_tp_threadpool_iface_t *host, se_error_t *error) {
    if (opts && opts->gpu) return create_gpu(e, error);
    dnnl_tp_status_t status = dnnl_tp_stream_attr_create(&e->stream_attr, dnnl_tp_cpu);
    if (status == dnnl_tp_success && host) {
        status = dnnl_tp_stream_attr_set_threadpool(e->stream_attr, host);
    } else if (status == dnnl_tp_success && opts->pool == SE_POOL_OWN) {
        e->own_pool = se_own_pool_create(opts->threads);
        if (!e->own_pool) return se_fail(error, "cannot start a pool of %d threads", opts->threads);
        status = dnnl_tp_stream_attr_set_threadpool(e->stream_attr, se_own_pool_iface(e->own_pool));
    } else if (status == dnnl_tp_success && opts->pool == SE_POOL_BUILTIN) {
        dnnl_tp_threadpool_opts_t pool = {
            .struct_size = sizeof pool, .num_threads = opts->threads, .name = "encoder"};
        status = dnnl_tp_threadpool_create(&e->builtin_pool, &pool);
        if (status == dnnl_tp_success)
            status = dnnl_tp_stream_attr_set_builtin_threadpool(e->stream_attr, e->builtin_pool);
    } else if (status == dnnl_tp_success) {
        status =
            dnnl_tp_stream_attr_set_threadpool(e->stream_attr, NULL); /* the calling thread, on purpose */
    }
    if (status == dnnl_tp_success) status = dnnl_tp_engine_attr_create(&e->engine_attr);
    if (status == dnnl_tp_success)
        status = dnnl_tp_engine_attr_set_stream_attr(e->engine_attr, e->stream_attr);
    if (status == dnnl_tp_success)
        status = dnnl_tp_engine_create_v2(&e->engine, dnnl_tp_cpu, 0, e->engine_attr);
    return status == dnnl_tp_success ? 0 : library_error(error, "cannot set up the engine", status);
}

static int create_encoder(se_encoder_t **encoder, const se_model_t *model, const se_encoder_opts_t *opts,
                          const dnnl_tp_threadpool_iface_t *host, se_error_t *error) {
    *encoder = NULL;
    se_encoder_t *e = se_zalloc(sizeof *e);
    if (!e) return se_fail_memory(error);
    pthread_mutex_init(&e->lock, NULL);
    e->model = model;
    e->bf16 = opts && opts->bf16;
    if (create_engine(e, opts, host, error) || se_graph_build(&e->graph[0], model, 1, error)) {
        se_encoder_destroy(e);
        return -1;
    }
    *encoder = e;
    return 0;
}

int se_encoder_create(se_encoder_t **encoder, const se_model_t *model, const se_encoder_opts_t *opts,
                      se_error_t *error) {
    return create_encoder(encoder, model, opts, NULL, error);
}

int se_encoder_create_on(se_encoder_t **encoder, const se_model_t *model,
                         const dnnl_tp_threadpool_iface_t *pool, se_error_t *error) {
    return create_encoder(encoder, model, NULL, pool, error);
}

void se_encoder_destroy(se_encoder_t *e) {
    if (!e) return;
    while (e->entries) {
        entry_t *entry = e->entries;
        e->entries = entry->next;
        dnnl_tp_executable_destroy(entry->executable);
        se_free(entry);
    }
    for (int i = 0; i < 2; ++i)
        if (e->graph[i]) dnnl_tp_graph_destroy(e->graph[i]);
    if (e->engine) dnnl_tp_engine_destroy(e->engine);
    if (e->host) dnnl_tp_engine_destroy(e->host);
    if (e->engine_attr) dnnl_tp_engine_attr_destroy(e->engine_attr);
    if (e->stream_attr) dnnl_tp_stream_attr_destroy(e->stream_attr);
    if (e->builtin_pool) dnnl_tp_threadpool_destroy(e->builtin_pool);
    /* Tasks that the library scheduled but no longer needs may still be queued: they must run before the pool
     * goes. */
    dnnl_tp_status_t quiet = dnnl_tp_success;
    if (e->own_pool) quiet = dnnl_tp_threadpool_quiesce(se_own_pool_iface(e->own_pool), -1);
    (void)quiet; /* destroying the pool runs its queue in any case */
    se_own_pool_destroy(e->own_pool);
    pthread_mutex_destroy(&e->lock);
    se_free(e);
}

int se_encoder_num_shapes(se_encoder_t *e) {
    pthread_mutex_lock(&e->lock);
    int n = e->num_entries;
    pthread_mutex_unlock(&e->lock);
    return n;
}

double se_encoder_compile_ms(se_encoder_t *e) {
    pthread_mutex_lock(&e->lock);
    double ms = e->num_entries > 1 ? (double)e->compile_ns * 1e-6 / (e->num_entries - 1) : 0.0;
    pthread_mutex_unlock(&e->lock);
    return ms;
}

static int compile(se_encoder_t *e, entry_t *entry, se_error_t *error) {
    const shape_t *s = &entry->shape;
    dnnl_tp_tensor_info_t in[MAX_INPUTS] = {{0}};
    int nin = s->rectangular ? 2 : MAX_INPUTS;
    for (int i = 0; i < nin; ++i) in[i].data_type = dnnl_tp_s32;
    for (int i = 0; i < 2; ++i) {
        in[i].ndims = s->rectangular ? 2 : 1;
        in[i].dims[0] = s->a;
        if (s->rectangular) in[i].dims[1] = s->b;
    }
    in[2].ndims = 1;
    in[2].dims[0] = s->b + 1;
    dnnl_tp_graph_t *graph = &e->graph[s->rectangular];
    if (!*graph && se_graph_build(graph, e->model, !s->rectangular, error)) return -1;
    dnnl_tp_compile_opts_t opts = {.struct_size = sizeof opts, .stream_attr = e->stream_attr};
    if (e->bf16) opts.fpmath_mode = dnnl_tp_fpmath_mode_bf16;
    dnnl_tp_status_t status =
        dnnl_tp_executable_compile(&entry->executable, *graph, e->engine, nin, in, &opts);
    return status == dnnl_tp_success ? 0 : library_error(error, "cannot compile", status);
}

static int same(const shape_t *x, const shape_t *y) {
    return x->rectangular == y->rectangular && x->a == y->a && x->b == y->b;
}

/* Compiles an executable for a shape; it serves the shape from now on. The lock is held. */
static int add(se_encoder_t *e, const shape_t *shape, entry_t **entry, se_error_t *error) {
    int64_t start = se_now_ns();
    entry_t *fresh = se_zalloc(sizeof *fresh);
    if (!fresh) return se_fail_memory(error);
    fresh->shape = *shape;
    if (compile(e, fresh, error)) {
        se_free(fresh);
        return -1;
    }
    if (e->num_entries > 0) e->compile_ns += se_now_ns() - start; /* the first one packs the weights */
    fresh->next = e->entries;
    e->entries = *entry = fresh;
    ++e->num_entries;
    return 0;
}

/* The executable of a shape, compiled when it is new. */
static int find(se_session_t *session, const shape_t *shape, se_error_t *error) {
    se_encoder_t *e = session->encoder;
    int status = 0;
    if (session->last && same(&session->last->shape, shape)) return 0;
    pthread_mutex_lock(&e->lock);
    entry_t *entry = e->entries;
    while (entry && !same(&entry->shape, shape)) entry = entry->next;
    if (!entry) status = add(e, shape, &entry, error);
    if (!status) session->last = entry;
    pthread_mutex_unlock(&e->lock);
    return status;
}

static int round_tokens(int tokens) {
    int step = MIN_STEP;
    while (step * 2 * STEPS_PER_OCTAVE <= tokens - 1) step *= 2;
    return (tokens + step - 1) / step * step;
}

static int round_sequences(int n) {
    int power = 1;
    while (power < n) power *= 2;
    return power;
}

static int create_mirrors(se_session_t *s, size_t ints, size_t floats, se_error_t *error) {
    const se_encoder_t *e = s->encoder;
    if (!e->host) return 0;
    return se_mirror_init(&s->device_in, e->host, e->engine, SE_TO_DEVICE, dnnl_tp_s32, s->ids, ints,
                          error) ||
           se_mirror_init(&s->device_out, e->host, e->engine, SE_TO_HOST, dnnl_tp_f32, s->out, floats, error);
}

int se_session_create(se_session_t **session, se_encoder_t *encoder, int max_sequences, int max_tokens,
                      dnnl_tp_trace_t trace, se_error_t *error) {
    se_session_t *s = se_zalloc(sizeof *s);
    *session = NULL;
    if (!s) return se_fail_memory(error);
    s->encoder = encoder;
    s->max_sequences = max_sequences;
    s->max_tokens = max_tokens;
    size_t tokens = (size_t)round_tokens(max_tokens), sequences = (size_t)round_sequences(max_sequences + 1);
    size_t ints = 2 * tokens + sequences + 1, floats = sequences * (size_t)encoder->model->hidden;
    s->ids = se_zalloc(ints * sizeof *s->ids);
    s->out = se_alloc_array(floats, sizeof *s->out);
    s->opts.struct_size = sizeof s->opts;
    s->opts.trace = trace;
    if (!s->ids || !s->out) {
        se_session_destroy(s);
        return se_fail_memory(error);
    }
    s->positions = s->ids + tokens;
    s->offsets = s->positions + tokens;
    dnnl_tp_status_t status = dnnl_tp_stream_create_v2(&s->stream, encoder->engine,
                                                       dnnl_tp_stream_default_flags, encoder->stream_attr);
    if (status == dnnl_tp_success && trace && encoder->host)
        status = dnnl_tp_stream_set_trace(s->stream, trace, "GPU");
    if (status != dnnl_tp_success) {
        library_error(error, "cannot create a stream", status);
        se_session_destroy(s);
        return -1;
    }
    if (create_mirrors(s, ints, floats, error)) {
        se_session_destroy(s);
        return -1;
    }
    *session = s;
    return 0;
}

void se_session_destroy(se_session_t *s) {
    if (!s) return;
    if (s->stream) dnnl_tp_stream_destroy(s->stream);
    se_mirror_destroy(&s->device_out);
    se_mirror_destroy(&s->device_in);
    se_free(s->out);
    se_free(s->ids);
    se_free(s);
}

static int run(se_session_t *s, int nin, void *const *in, float *out, se_error_t *error) {
    void *outs[] = {out};
    dnnl_tp_status_t status =
        dnnl_tp_executable_run(s->last->executable, s->stream, nin, in, 1, outs, &s->opts);
    return status == dnnl_tp_success ? 0 : library_error(error, "run", status);
}

/* Runs what lies in the session's block of integers; the embeddings come to s->out. */
static int run_session(se_session_t *s, int nin, se_error_t *error) {
    if (!s->encoder->host) return run(s, nin, (void *[]){s->ids, s->positions, s->offsets}, s->out, error);
    int32_t *at = s->device_in.at;
    void *const in[] = {at, at + (s->positions - s->ids), at + (s->offsets - s->ids)};
    if (se_mirror_copy(&s->device_in, s->stream, error) || run(s, nin, in, s->device_out.at, error) ||
        se_mirror_copy(&s->device_out, s->stream, error))
        return -1;
    dnnl_tp_status_t status = dnnl_tp_stream_wait(s->stream);
    return status == dnnl_tp_success ? 0 : library_error(error, "copy from the GPU", status);
}

/* On the CPU ids and embeddings stay where the caller has them. */
static int run_rectangle(se_session_t *s, const int32_t *ids, float *out, se_error_t *error) {
    if (!s->encoder->host) return run(s, 2, (void *[]){(void *)(uintptr_t)ids, s->positions}, out, error);
    const shape_t *shape = &s->last->shape;
    memcpy(s->ids, ids, (size_t)shape->a * (size_t)shape->b * sizeof *ids);
    if (run_session(s, 2, error)) return -1;
    memcpy(out, s->out, (size_t)shape->a * (size_t)s->encoder->model->hidden * sizeof *out);
    return 0;
}

int se_session_run(se_session_t *s, int n, const se_sequence_t *sequence, float *const *out,
                   se_error_t *error) {
    int tokens = 0;
    if (n < 1 || n > s->max_sequences) return se_fail(error, "%d sequences, 1..%d fit", n, s->max_sequences);
    for (int i = 0; i < n; ++i) {
        if (sequence[i].count < 1 || sequence[i].count > s->encoder->model->positions ||
            sequence[i].count > s->max_tokens - tokens)
            return se_fail(error, "sequence %d of %d tokens does not fit", i, sequence[i].count);
        s->offsets[i] = tokens;
        memcpy(s->ids + tokens, sequence[i].ids, (size_t)sequence[i].count * sizeof *s->ids);
        for (int k = 0; k < sequence[i].count; ++k) s->positions[tokens + k] = k;
        tokens += sequence[i].count;
    }
    s->offsets[n] = tokens;
    int padded = round_tokens(tokens), sequences = round_sequences(n + (padded > tokens));
    for (int i = tokens; i < padded; ++i) s->ids[i] = s->positions[i] = 0;
    for (int i = n + 1; i <= sequences; ++i) s->offsets[i] = padded;
    if (find(s, &(shape_t){0, padded, sequences}, error)) return -1;
    if (run_session(s, MAX_INPUTS, error)) return -1;
    size_t hidden = (size_t)s->encoder->model->hidden;
    for (int i = 0; i < n; ++i) memcpy(out[i], s->out + (size_t)i * hidden, hidden * sizeof *s->out);
    return 0;
}

int se_session_run_rectangle(se_session_t *s, int batch, int tokens, const int32_t *ids, float *out,
                             se_error_t *error) {
    if (batch < 1 || tokens < 1 || tokens > s->encoder->model->positions || batch > s->max_sequences ||
        batch > s->max_tokens / tokens)
        return se_fail(error, "a batch of %d x %d tokens does not fit", batch, tokens);
    for (int i = 0; i < batch * tokens; ++i) s->positions[i] = i % tokens;
    if (find(s, &(shape_t){1, batch, tokens}, error)) return -1;
    return run_rectangle(s, ids, out, error);
}

int se_session_time_fresh(se_session_t *s, int batch, int tokens, const int32_t *ids, float *out,
                          int64_t ns[2], int64_t faults[2], se_error_t *error) {
    struct rusage usage;
    entry_t *fresh = NULL;
    if (se_session_run_rectangle(s, batch, tokens, ids, out, error)) return -1; /* positions */
    pthread_mutex_lock(&s->encoder->lock);
    int status = add(s->encoder, &(shape_t){1, batch, tokens}, &fresh, error);
    pthread_mutex_unlock(&s->encoder->lock);
    /* The old executable once more: compiling let the pool's threads fall asleep. */
    if (status || run_rectangle(s, ids, out, error)) return -1;
    s->last = fresh;
    for (int i = 0; i < 2; ++i) {
        getrusage(RUSAGE_SELF, &usage);
        int64_t faults_before = usage.ru_minflt, begin = se_now_ns();
        if (run_rectangle(s, ids, out, error)) return -1;
        ns[i] = se_now_ns() - begin;
        getrusage(RUSAGE_SELF, &usage);
        faults[i] = usage.ru_minflt - faults_before;
    }
    return 0;
}
