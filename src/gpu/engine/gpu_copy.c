/* Copies of lines. The driver may read pageable memory of the host in the call, or wait in it until the copy is done. Where the stream
 * waits for the host, that would be too early, or for ever: such a copy goes through pinned memory, and a host function in the stream
 * moves it between there and the host's memory. So does every copy behind it, until the stream has passed it. */
#include <string.h>

#include "gpu/engine/gpu_line_parts.h"

struct stage {
    struct stage *next;
    dtp_gpu_pinned_t *pinned;
    uint64_t until; /* it may be used again when completed has reached this */
    void *to;       /* what the host function copies */
    const void *from;
    size_t bytes;
};

/* ---- Pinned memory ----------------------------------------------------------------------------------- */

static dnnl_tp_status_t make_stage(dtp_gpu_line_t *line, size_t bytes, struct stage **stage) {
    enum { LEAST_BYTES = 1 << 16 };
    struct stage *s = dtp_zalloc(NULL, sizeof *s, 0);
    if (!s) return dtp_no_memory(sizeof *s);
    const dnnl_tp_status_t status =
        dtp_gpu_pinned_take(line->gpu, bytes > LEAST_BYTES ? bytes : LEAST_BYTES, &s->pinned);
    if (status) {
        dtp_free(NULL, s);
        return status;
    }
    s->next = line->stages;
    *stage = line->stages = s;
    return status;
}

/* With submit_lock: no mark comes between this and the copy. */
static dnnl_tp_status_t take_stage(dtp_gpu_line_t *line, size_t bytes, struct stage **stage) {
    const uint64_t completed = atomic_load(&line->completed);
    struct stage *s = line->stages;
    while (s && (s->pinned->bytes < bytes || s->until > completed)) s = s->next;
    if (!s) DTP_TRY(make_stage(line, bytes, &s));
    s->until = dtp_gpu_line_submitted(line) + 1;
    s->bytes = bytes;
    *stage = s;
    return dnnl_tp_success;
}

void dtp_gpu_line_drop_stages(dtp_gpu_line_t *line) {
    for (struct stage *s; (s = line->stages) != NULL;) {
        line->stages = s->next;
        dtp_gpu_pinned_give(line->gpu, s->pinned);
        dtp_free(NULL, s);
    }
}

/* ---- Copies ------------------------------------------------------------------------------------------ */

static bool waits_for_host(dtp_gpu_line_t *line) {
    if (DTP_UNLIKELY(atomic_load(&line->staged) > atomic_load(&line->completed))) return true;
    if (DTP_LIKELY(!atomic_load(&line->num_awaited))) return false;
    dtp_event_t *event = dtp_gpu_line_parked(line, UINT64_MAX);
    if (!event) return false;
    dtp_object_release(event);
    return true;
}

static void move(void *arg) {
    const struct stage *s = arg;
    memcpy(s->to, s->from, s->bytes);
}

static dnnl_tp_status_t copy_staged(dtp_gpu_line_t *line, dtp_copy_t how, void *to, const void *from,
                                    size_t bytes) {
    struct stage *s;
    DTP_TRY(dtp_gpu_line_not_captured(line));
    DTP_TRY(take_stage(line, bytes, &s));
    void *pinned = s->pinned->host;
    atomic_store(&line->staged, s->until);
    dtp_gpu_line_dirty(line);
    if (how == DTP_COPY_TO_ENGINE) {
        s->to = pinned;
        s->from = from;
        DTP_TRY(DTP_CU(line->gpu, cuLaunchHostFunc, line->stream, move, s));
        return DTP_CU(line->gpu, cuMemcpyHtoDAsync, dtp_cu_ptr(to), pinned, bytes, line->stream);
    }
    s->to = to;
    s->from = pinned;
    DTP_TRY(DTP_CU(line->gpu, cuMemcpyDtoHAsync, pinned, dtp_cu_ptr(from), bytes, line->stream));
    return DTP_CU(line->gpu, cuLaunchHostFunc, line->stream, move, s);
}

static dnnl_tp_status_t copy_directly(dtp_gpu_line_t *line, dtp_copy_t how, void *to, const void *from,
                                      size_t bytes) {
    const dtp_cu_stream_t s = line->stream;
    switch (how) {
    case DTP_COPY_TO_ENGINE: return DTP_CU(line->gpu, cuMemcpyHtoDAsync, dtp_cu_ptr(to), from, bytes, s);
    case DTP_COPY_TO_HOST: return DTP_CU(line->gpu, cuMemcpyDtoHAsync, to, dtp_cu_ptr(from), bytes, s);
    default: return DTP_CU(line->gpu, cuMemcpyDtoDAsync, dtp_cu_ptr(to), dtp_cu_ptr(from), bytes, s);
    }
}

dnnl_tp_status_t dtp_gpu_line_copy(dtp_gpu_line_t *line, dtp_copy_t how, void *to, const void *from,
                                   size_t bytes) {
    if (how == DTP_COPY_WITHIN || DTP_LIKELY(!waits_for_host(line)))
        return copy_directly(line, how, to, from, bytes);
    pthread_mutex_lock(&line->submit_lock);
    const dnnl_tp_status_t status = copy_staged(line, how, to, from, bytes);
    pthread_mutex_unlock(&line->submit_lock);
    return status;
}
