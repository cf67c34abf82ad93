/* The CPU stream: runs primitives on its caller and the threads of its pool. */
#include "cpu/cpu_engine.h"
#include "threading/pool.h"

typedef struct {
    struct dnnl_tp_stream base;
    dtp_pool_t *pool;
    char *scratch;
    size_t scratch_bytes;
} cpu_stream_t;

static void cpu_stream_destroy(dtp_object_t *obj) {
    cpu_stream_t *s = (cpu_stream_t *)(void *)obj;
    dtp_free(s->base.engine->allocator, s->scratch);
    dtp_object_release(s->base.attr);
    dtp_object_release(s->base.engine);
}

static dnnl_tp_status_t cpu_stream_execute(dnnl_tp_stream_t stream, const struct dnnl_tp_primitive *primitive,
                                           int nptrs, void *const *ptrs, const dtp_md_t *const *mds) {
    cpu_stream_t *s = (cpu_stream_t *)(void *)stream;
    char *scratch = ptrs[nptrs];
    size_t bytes = dtp_pd_scratch_size(primitive->pd);
    if (!scratch && bytes > s->scratch_bytes) {
        char *grown = dtp_alloc(stream->engine->allocator, bytes, DTP_CACHE_LINE);
        if (!grown) return dtp_no_memory(bytes);
        dtp_free(stream->engine->allocator, s->scratch);
        s->scratch = grown;
        s->scratch_bytes = bytes;
    }
    dtp_parallel_t par = {NULL, 1, NULL};
    return dtp_primitive_run(primitive, &par, ptrs, mds, scratch ? scratch : s->scratch, -1);
}

static dnnl_tp_status_t cpu_stream_wait(dnnl_tp_stream_t stream) {
    (void)stream;
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_set_pool(dnnl_tp_stream_t stream, const dtp_stream_attr_t *attr) {
    (void)stream;
    (void)attr;
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_close(dnnl_tp_stream_t stream) {
    dtp_object_release(stream);
    return dnnl_tp_success;
}

static dnnl_tp_status_t cpu_stream_run(dnnl_tp_stream_t stream, int num_threads,
                                       void (*fn)(void *arg, const struct dtp_parallel *par), void *arg) {
    cpu_stream_t *s = (cpu_stream_t *)(void *)stream;
    DTP_TRY(cpu_stream_wait(stream));
    return dtp_pool_run(s->pool, num_threads, stream->attr->admission, fn, arg);
}

static const dtp_stream_vtbl_t cpu_stream_vtbl = {cpu_stream_execute, cpu_stream_wait, cpu_stream_set_pool,
                                                  cpu_stream_close, cpu_stream_run};

dnnl_tp_status_t dtp_cpu_stream_create(dnnl_tp_stream_t *stream, dnnl_tp_engine_t engine, unsigned flags,
                                       const dtp_stream_attr_t *attr) {
    *stream = NULL;
    cpu_stream_t *s = dtp_object_create(engine->allocator, sizeof *s, DTP_OBJ_STREAM, cpu_stream_destroy);
    if (!s) return dnnl_tp_out_of_memory;
    s->base.engine = dtp_object_retain(engine);
    s->base.v = &cpu_stream_vtbl;
    s->base.flags = flags;
    dnnl_tp_status_t status = dnnl_tp_stream_attr_create(&s->base.attr, dnnl_tp_cpu);
    if (status) {
        dtp_object_release(s);
        return status;
    }
    dtp_stream_attr_assign(s->base.attr, attr ? attr : engine->stream_attr);
    *stream = &s->base;
    return dnnl_tp_success;
}
