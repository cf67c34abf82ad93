/* Stamps: times of the device, in nanoseconds of CLOCK_MONOTONIC.
 *
 * A kernel of one thread writes the device's clock to a word of pinned memory; the mark behind it turns it into the host's time, without
 * a call of the driver, since its callbacks settle marks, too. What must be added to the device's clock is known from the stamps themselves:
 * each was written after it was submitted and before it was seen. What is added changes only where a stamp shows that it is too little or
 * too much, since durations and order are what times are read for; no stamp of a stream lies in front of an earlier one. */
#include "gpu/engine/gpu_line_parts.h"
#include "gpu/engine/stamp_args.h"

enum { CHUNK = 256 };
struct stamp_chunk {
    struct stamp_chunk *next;
    dtp_gpu_pinned_t *words;
    stamp_t stamp[CHUNK];
};

/* ---- Submission -------------------------------------------------------------------------------------- */

static dnnl_tp_status_t make_stamps(dtp_gpu_line_t *line) {
    struct stamp_chunk *c = dtp_zalloc(NULL, sizeof *c, 0);
    if (!c) return dtp_no_memory(sizeof *c);
    const dnnl_tp_status_t status =
        dtp_gpu_pinned_take(line->gpu, CHUNK * sizeof(_Atomic int64_t), &c->words);
    if (status) {
        dtp_free(NULL, c);
        return status;
    }
    _Atomic int64_t *words = c->words->host;
    pthread_mutex_lock(&line->lock);
    c->next = line->stamp_chunks;
    line->stamp_chunks = c;
    for (int i = 0; i < CHUNK; ++i) {
        c->stamp[i] = (stamp_t){.next = line->free_stamps,
                                .word = &words[i],
                                .there = c->words->there + (dtp_cu_ptr_t)i * sizeof *words};
        line->free_stamps = &c->stamp[i];
    }
    pthread_mutex_unlock(&line->lock);
    return status;
}

static stamp_t *take_stamp(dtp_gpu_line_t *line) {
    pthread_mutex_lock(&line->lock);
    stamp_t *s = line->free_stamps;
    if (s) line->free_stamps = s->next;
    pthread_mutex_unlock(&line->lock);
    return s;
}

static void give_locked(dtp_gpu_line_t *line, stamp_t *s) {
    s->next = line->free_stamps;
    line->free_stamps = s;
}

static dnnl_tp_status_t launch(dtp_gpu_line_t *line, const stamp_t *s) {
    dtp_stamp_args_t args = {(int64_t *)(uintptr_t)s->there};
    void *params[] = {&args};
    return DTP_CU(line->gpu, cuLaunchKernel, line->stamp_kernel, 1, 1, 1, 1, 1, 1, 0, line->stream, params,
                  NULL);
}

dnnl_tp_status_t dtp_gpu_line_stamp(dtp_gpu_line_t *line, int64_t *ns) {
    if (!line->stamp_kernel)
        DTP_TRY(dtp_gpu_find_kernel(line->gpu, DTP_GPU_MODULE_stamp, "dtp_stamp", 0, &line->stamp_kernel));
    stamp_t *s = take_stamp(line);
    if (!s) {
        DTP_TRY(make_stamps(line));
        s = take_stamp(line);
    }
    s->ns = ns;
    s->submit_ns = dtp_now_ns();
    pthread_mutex_lock(&line->submit_lock); /* no mark comes between the kernel and its place in the list */
    dnnl_tp_status_t status = dtp_gpu_line_not_captured(line);
    if (!status) status = launch(line, s);
    pthread_mutex_lock(&line->lock);
    if (status) {
        give_locked(line, s);
    } else {
        s->next = NULL;
        s->seq = line->submitted;
        *line->stamps_end = s;
        line->stamps_end = &s->next;
    }
    pthread_mutex_unlock(&line->lock);
    pthread_mutex_unlock(&line->submit_lock);
    if (!status) dtp_gpu_line_dirty(line);
    return status;
}

void dtp_gpu_line_forget_stamps(dtp_gpu_line_t *line, const int64_t *ns, int n) {
    pthread_mutex_lock(&line->lock);
    for (stamp_t *s = line->stamps; s; s = s->next)
        if (s->ns >= ns && s->ns < ns + n) s->ns = NULL;
    pthread_mutex_unlock(&line->lock);
}

/* ---- The device's clock ------------------------------------------------------------------------------ */

/* What is added to the device's clock, after what these stamps tell. */
static int64_t offset_of(dtp_gpu_t *gpu, const stamp_t *s, int64_t now_ns) {
    int64_t least = INT64_MIN, most = INT64_MAX;
    for (; s; s = s->next) {
        const int64_t there = atomic_load_explicit(s->word, memory_order_relaxed);
        least = dtp_max64(least, s->submit_ns - there);
        most = dtp_min64(most, now_ns - there);
    }
    pthread_mutex_lock(&gpu->clock_lock);
    dtp_gpu_clock_t *c = &gpu->clock;
    if (!c->known) *c = (dtp_gpu_clock_t){true, least + (most - least) / 2};
    c->offset = dtp_min64(dtp_max64(c->offset, least), most);
    const int64_t offset = c->offset;
    pthread_mutex_unlock(&gpu->clock_lock);
    return offset;
}

void dtp_gpu_line_look_at_stamps(dtp_gpu_line_t *line, uint64_t seq) {
    pthread_mutex_lock(&line->lock);
    stamp_t *first = line->stamps, **end = &first;
    while (*end && (*end)->seq < seq) end = &(*end)->next;
    line->stamps = *end;
    if (!line->stamps) line->stamps_end = &line->stamps;
    *end = NULL;
    const bool lost = line->lost;
    pthread_mutex_unlock(&line->lock);
    if (!first || lost) return; /* whose kernels may still run: they are not used again */
    const int64_t offset = offset_of(line->gpu, first, dtp_now_ns());
    pthread_mutex_lock(&line->lock);
    for (stamp_t *s = first, *next; s; s = next) {
        next = s->next;
        line->latest_ns =
            dtp_max64(line->latest_ns, atomic_load_explicit(s->word, memory_order_relaxed) + offset);
        if (s->ns) *s->ns = line->latest_ns;
        give_locked(line, s);
    }
    pthread_mutex_unlock(&line->lock);
}

void dtp_gpu_line_drop_stamps(dtp_gpu_line_t *line) {
    for (struct stamp_chunk *c; (c = line->stamp_chunks) != NULL;) {
        line->stamp_chunks = c->next;
        dtp_gpu_pinned_give(line->gpu, c->words);
        dtp_free(NULL, c);
    }
}
