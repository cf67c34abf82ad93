/* Tensors of the host on engines whose memory the host cannot read; see upload.h. */
#include "support/upload.h"

#include <stdio.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "exec/run/executable.h"
#include "support/check.h"
#include "support/traps.h"

dnnl_tp_engine_kind_t test_engine_kind(void) {
    return dnnl_tp_engine_get_count(dnnl_tp_gpu) ? dnnl_tp_gpu : dnnl_tp_cpu;
}
bool test_engine_is_far(dnnl_tp_engine_t engine) { return !dtp_engine_can(engine, DTP_ENGINE_HOST_READABLE); }

void test_upload(dnnl_tp_memory_t memory, const void *data, size_t bytes) {
    void *mapped;
    CHECK_OK(dnnl_tp_memory_map_data(memory, &mapped));
    if (bytes) memcpy(mapped, data, bytes);
    CHECK_OK(dnnl_tp_memory_unmap_data(memory, mapped));
}

void test_download(dnnl_tp_memory_t memory, void *data, size_t bytes) {
    void *mapped;
    CHECK_OK(dnnl_tp_memory_map_data(memory, &mapped));
    if (bytes) memcpy(data, mapped, bytes);
    CHECK_OK(dnnl_tp_memory_unmap_data(memory, mapped));
}

static dnnl_tp_memory_t copy_of(dnnl_tp_engine_t engine, const void *data, size_t bytes) {
    dnnl_tp_memory_t memory;
    dnnl_tp_memory_desc_t md;
    const dnnl_tp_dims_t dims = {(int64_t)bytes};
    CHECK_OK(dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_u8, dnnl_tp_a));
    CHECK_OK(dnnl_tp_memory_create(&memory, md, engine, DNNL_TP_MEMORY_ALLOCATE));
    CHECK_OK(dnnl_tp_memory_desc_destroy(md));
    test_upload(memory, data, bytes);
    return memory;
}

/* Bytes behind the pointer that an argument of the pd has; 0: it has none. */
static size_t bytes_of(const dtp_pd_t *pd, int arg) {
    const dtp_md_t *md = arg == DNNL_TP_ARG_SCRATCHPAD ? &pd->scratch_md : NULL;
    const int i = dtp_pd_arg_index(pd, arg);
    if (i >= 0) md = pd->args[i].md;
    if (!md || dtp_md_is_zero(md) || !dtp_md_size(md)) return 0;
    return dtp_md_size(md) + (size_t)md->offset0 * dtp_type_size(md->data_type);
}

void upload_args(upload_t *u, const_dnnl_tp_primitive_desc_t pd, int nargs, const dnnl_tp_exec_handle_t *args,
                 dnnl_tp_exec_handle_t *there) {
    u->n = 0;
    int of[UPLOAD_MOST];
    for (int i = 0; i < nargs; ++i) {
        there[i] = args[i];
        if (!test_engine_is_far(pd->engine) || !args[i].handle) continue;
        const size_t bytes = bytes_of(pd, args[i].arg);
        if (!bytes) {
            there[i].handle = NULL;
            continue;
        }
        int k = 0;
        while (k < u->n && u->host[k] != args[i].handle) ++k;
        assert_true(k < UPLOAD_MOST && i < UPLOAD_MOST);
        of[i] = k;
        if (k == u->n) {
            u->output[k] = false;
            u->bytes[u->n++] = 0;
        }
        const int index = dtp_pd_arg_index(pd, args[i].arg);
        u->output[k] |= index >= 0 && (pd->args[index].flags & DTP_ARG_OUTPUT);
        u->host[k] = args[i].handle;
        if (u->bytes[k] < bytes) u->bytes[k] = bytes;
    }
    for (int k = 0; k < u->n; ++k) u->memory[k] = copy_of(pd->engine, u->host[k], u->bytes[k]);
    for (int i = 0; i < nargs && u->n; ++i)
        if (there[i].handle) CHECK_OK(dnnl_tp_memory_get_data_handle(u->memory[of[i]], &there[i].handle));
}

void upload_end(upload_t *u) {
    for (int k = 0; k < u->n; ++k) {
        if (u->output[k]) test_download(u->memory[k], u->host[k], u->bytes[k]);
        CHECK_OK(dnnl_tp_memory_destroy(u->memory[k]));
    }
    u->n = 0;
}

/* traps_ordinary of all inputs or all outputs. */
static bool args_ordinary(const dtp_pd_t *pd, int nargs, const dnnl_tp_exec_handle_t *args, bool inputs) {
    for (int i = 0; i < nargs; ++i) {
        const int k = dtp_pd_arg_index(pd, args[i].arg);
        if (k < 0 || !pd->args[k].md || !pd->arg_bytes[k] || !args[i].handle) continue;
        if (inputs != !!(pd->args[k].flags & DTP_ARG_OUTPUT) &&
            !traps_ordinary(pd->args[k].md, args[i].handle, inputs))
            return false;
    }
    return true;
}

static void check_traps(const dtp_pd_t *pd, bool counts) {
    char what[256];
    int n = snprintf(what, sizeof what, "%s %s", pd->info->name, pd->impl->name);
    for (int i = 0; i < pd->nargs && i < 8 && n < (int)sizeof what - 40; ++i) {
        const dtp_md_t *md = pd->args[i].md;
        if (!md || !pd->arg_bytes[i]) continue;
        n += snprintf(what + n, sizeof what - (size_t)n, " %d:%d:", pd->args[i].arg, (int)md->data_type);
        for (int d = 0; d < md->ndims && n < (int)sizeof what - 30; ++d)
            n += snprintf(what + n, sizeof what - (size_t)n, "%s%lld", d ? "x" : "", (long long)md->dims[d]);
    }
    if (!traps_end(counts ? what : NULL)) fail_msg("%s raised a floating-point exception", what);
}

dnnl_tp_status_t test_execute(const_dnnl_tp_primitive_t primitive, dnnl_tp_stream_t stream, int nargs,
                              const dnnl_tp_exec_handle_t *args) {
    upload_t u;
    dnnl_tp_exec_handle_t there[UPLOAD_MOST];
    assert_true(nargs <= UPLOAD_MOST);
    upload_args(&u, primitive->pd, nargs, args, there);
    const bool near = !test_engine_is_far(primitive->pd->engine);
    const bool ordinary = near && args_ordinary(primitive->pd, nargs, args, true);
    traps_begin(ordinary);
    dnnl_tp_status_t status = dnnl_tp_primitive_execute_handles(primitive, stream, nargs, there);
    if (status == dnnl_tp_success) status = dnnl_tp_stream_wait(stream);
    if (ordinary)
        check_traps(primitive->pd,
                    status == dnnl_tp_success && args_ordinary(primitive->pd, nargs, args, false));
    upload_end(&u);
    return status;
}

/* ---- Runs of graphs ---------------------------------------------------------------------------------- */

static void *there(dnnl_tp_engine_t engine, void *data, size_t bytes, dnnl_tp_memory_t *memory) {
    *memory = NULL;
    if (!test_engine_is_far(engine)) return data;
    if (!data || !bytes) return NULL;
    *memory = copy_of(engine, data, bytes);
    void *handle;
    CHECK_OK(dnnl_tp_memory_get_data_handle(*memory, &handle));
    return handle;
}

void upload_run_begin(upload_run_t *u, const_dnnl_tp_executable_t e, int nin, void *const *in, int nout,
                      void *const *out) {
    assert_true(nin <= UPLOAD_TENSORS && nout <= UPLOAD_TENSORS);
    u->nin = nin;
    u->nout = nout;
    for (int i = 0; i < nin; ++i) u->in[i] = there(e->engine, in[i], e->in_bytes[i], &u->memory[i]);
    for (int i = 0; i < nout; ++i) {
        u->host[i] = out[i];
        u->bytes[i] = e->out_bytes[i];
        u->out[i] = there(e->engine, out[i], e->out_bytes[i], &u->memory[nin + i]);
    }
}

void upload_run_end(upload_run_t *u) {
    for (int i = 0; i < u->nin + u->nout; ++i) {
        if (i >= u->nin && u->memory[i])
            test_download(u->memory[i], u->host[i - u->nin], u->bytes[i - u->nin]);
        CHECK_OK(dnnl_tp_memory_destroy(u->memory[i]));
    }
}

static bool tensors_ordinary(const_dnnl_tp_executable_t e, bool inputs, void *const *data) {
    const int32_t *values = inputs ? e->graph->inputs : e->graph->outputs;
    for (int i = 0; i < (inputs ? e->nin : e->nout); ++i) {
        const size_t bytes = inputs ? e->in_bytes[i] : e->out_bytes[i];
        if (bytes && data[i] && !traps_ordinary_run(e->infos[values[i]]->data_type, data[i], bytes, inputs))
            return false;
    }
    return true;
}

dnnl_tp_status_t test_run_graph(const_dnnl_tp_executable_t e, dnnl_tp_stream_t stream, int nin,
                                void *const *in, int nout, void *const *out, const dnnl_tp_run_opts_t *opts) {
    if (!e || !test_engine_is_far(e->engine)) {
        const bool ordinary = e && nin == e->nin && nout == e->nout && tensors_ordinary(e, true, in);
        traps_begin(ordinary);
        const dnnl_tp_status_t status = dnnl_tp_executable_run(e, stream, nin, in, nout, out, opts);
        if (ordinary && !traps_end(!status && tensors_ordinary(e, false, out) ? "a run of a graph" : NULL))
            fail_msg("a run of a graph raised a floating-point exception");
        return status;
    }
    upload_run_t u;
    upload_run_begin(&u, e, nin, in, nout, out);
    dnnl_tp_status_t status = dnnl_tp_executable_run(e, stream, nin, u.in, nout, u.out, opts);
    upload_run_end(&u);
    return status;
}
