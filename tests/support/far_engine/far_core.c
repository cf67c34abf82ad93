/* What the threads of the far engine do, item by item; see far_core.h. */
#include "support/far_engine/far_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/layout/zero_pad.h"
#include "threading/pools/record.h"

static _Atomic int max_delay_us;
static _Atomic int64_t fail_at = -1;
void far_set_delay(int max_us) { atomic_store(&max_delay_us, max_us); }
bool far_fail_item(int64_t n) { return atomic_exchange(&fail_at, n) >= 0; }

void far_core_release(core_t *c) {
    if (atomic_fetch_sub(&c->refs, 1) != 1) return;
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->changed);
    free(c);
}

/* ---- Items ------------------------------------------------------------------------------------------- */

static void waiter_release_locked(waiter_t *w) {
    if (--w->refs == 0) free(w);
}
void far_waiter_fired(dtp_callback_t *node, dtp_event_t *event, dnnl_tp_status_t status) {
    (void)event;
    waiter_t *w = (waiter_t *)node;
    core_t *c = w->core;
    pthread_mutex_lock(&c->lock);
    w->fired = true;
    w->status = status;
    waiter_release_locked(w);
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    far_core_release(c);
}

void far_item_free(core_t *c, item_t *item) {
    if (item->traced.trace) dtp_object_release(item->traced.trace);
    dtp_object_release((void *)(uintptr_t)item->primitive);
    dtp_object_release(item->event);
    dtp_free(c->allocator, item);
}

static void poison(core_t *c, uint32_t generation, dnnl_tp_status_t status, const char *text) {
    pthread_mutex_lock(&c->lock);
    c->poison = status;
    c->poisoned = generation;
    snprintf(c->text, sizeof c->text, "%s", text);
    pthread_mutex_unlock(&c->lock);
}

dnnl_tp_status_t far_poison_of_locked(const core_t *c, uint32_t generation) {
    return c->poison && c->poisoned == generation ? c->poison : dnnl_tp_success;
}

/* Pointers as the engine's threads need them. */
static void translate(const core_t *c, const item_t *item) {
    const dtp_pd_t *pd = item->primitive->pd;
    for (int i = 0; i < item->nptrs; ++i) {
        const dtp_md_t *md = item->mds ? item->mds[i] : pd->args[i].md;
        if (!md || dtp_md_is_zero(md) || !item->ptrs[i]) continue;
        if (i == pd->peer_arg) {
            if (far_owns(item->ptrs[i])) far_wrong("%s: argument %d is the host's", pd->info->name, i);
            continue;
        }
        size_t bytes = dtp_md_size(md);
        if (bytes) bytes += (size_t)md->offset0 * dtp_type_size(md->data_type);
        item->ptrs[i] = far_translate(c->device, item->ptrs[i], bytes, pd->info->name);
    }
    void **scratch = &item->ptrs[item->nptrs];
    if (*scratch) *scratch = far_translate(c->device, *scratch, dtp_pd_scratch_size(pd), "scratchpad");
}

static dnnl_tp_status_t execute(core_t *c, item_t *item) {
    const dtp_pd_t *pd = item->primitive->pd;
    translate(c, item);
    far_check_constants(item->primitive);
    far_count_execution();
    char *scratch = item->ptrs[item->nptrs];
    if (!scratch && dtp_pd_scratch_size(pd) > c->scratch_bytes) {
        free(c->scratch);
        c->scratch_bytes = dtp_pd_scratch_size(pd);
        c->scratch = aligned_alloc(DTP_CACHE_LINE, c->scratch_bytes);
        if (!c->scratch) far_wrong("no memory for scratch");
    }
    if (!scratch) scratch = c->scratch;
    const dtp_parallel_t alone = {.num_threads = 1};
    dtp_data_error_t own = {.what = DTP_DATA_FINE}; /* of an execution outside runs */
    dtp_run_part_t part = item->has_part ? item->part : (dtp_run_part_t){&own, 0};
    if (item->has_part && part.error)
        part.error = far_translate(c->device, part.error, sizeof *part.error, "error word");
    if (pd->checks_data && !part.error) far_wrong("%s: no error word", pd->info->name);
    const dtp_exec_ctx_t ctx = {&alone,       item->ptrs, item->mds, scratch, -1, item->primitive->prepared,
                                item->stream, &part};
    dnnl_tp_status_t status = dtp_primitive_run_in(item->primitive, &ctx);
    if (status && dtp_last_reason() == DTP_GRAPH_INDEX)
        far_wrong("%s: a kernel returned what it found in its data", pd->info->name);
    if (own.what) {
        char text[DTP_DATA_TEXT];
        status = dtp_fail(dnnl_tp_runtime_error, DTP_GRAPH_INDEX, "%s", dtp_data_error_text(&own, text));
    }
    if (item->traced.trace) {
        item->traced.event.begin_ns = c->begin_ns;
        item->traced.event.wait_ns = dtp_max64(c->begin_ns - item->submit_ns, 0);
        item->traced.event.status = (uint16_t)status;
        item->traced.event.end_ns = dtp_now_ns();
        dtp_trace_add(item->traced.trace, &item->traced.event);
    }
    return status;
}

static void copy(const core_t *c, const item_t *item) {
    if (!item->bytes) return;
    const bool to_far = item->how != DTP_COPY_TO_HOST, from_far = item->how != DTP_COPY_TO_ENGINE;
    if ((!to_far && far_owns(item->to)) || (!from_far && far_owns(item->from)))
        far_wrong("copy: a pointer is not the host's");
    void *to = to_far ? far_translate(c->device, item->to, item->bytes, "copy") : item->to;
    const void *from = from_far ? far_translate(c->device, item->from, item->bytes, "copy") : item->from;
    memmove(to, from, item->bytes);
    far_count_copy();
}

/* Who has the head of the list, without the lock. */
static dnnl_tp_status_t work(core_t *c, item_t *item) {
    if (item->work == EXECUTE || item->work == COPY) {
        if (atomic_load(&fail_at) >= 0 && atomic_fetch_sub(&fail_at, 1) == 0)
            return dtp_fail(dnnl_tp_runtime_error, DTP_ITEM_FAILED, "an injected failure");
    }
    if (item->work == EXECUTE) return execute(c, item);
    if (item->work == COPY) copy(c, item);
    if (item->work == STAMP) *item->stamp = dtp_now_ns();
    if (item->work == PAD)
        dtp_zero_pad(&item->pad, far_translate(c->device, item->to, item->bytes, "zero_pad"));
    return dnnl_tp_success;
}

static void delay(core_t *c) {
    const int most = atomic_load(&max_delay_us);
    c->random ^= c->random << 13, c->random ^= c->random >> 7, c->random ^= c->random << 17;
    if (!most) return;
    const long ns = (long)(c->random % (uint64_t)most) * 1000;
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
}

static void run_item(core_t *c, item_t *item) {
    pthread_mutex_lock(&c->lock);
    dnnl_tp_status_t status = far_poison_of_locked(c, item->generation);
    if (item->work == WAIT) {
#ifndef FAR_BREAK_WAIT
        while (!status && !item->waiter->fired) pthread_cond_wait(&c->changed, &c->lock);
#endif
        const dnnl_tp_status_t waited = item->waiter->fired ? item->waiter->status : dnnl_tp_success;
        waiter_release_locked(item->waiter);
        item->waiter = NULL;
        pthread_mutex_unlock(&c->lock);
        if (!status && waited) poison(c, item->generation, waited, item->event->text);
        return;
    }
    char text[DTP_EVENT_TEXT];
    memcpy(text, c->text, sizeof text);
    pthread_mutex_unlock(&c->lock);
    if (item->work == END) {
        dtp_chain_t chain = {.up = dtp_chain_top,
                             .kind = DTP_CHAIN_CALLBACK}; /* who waits in it waits for itself */
        dtp_chain_top = &chain;
        const dnnl_tp_status_t result = item->run.end(item->run.arg, status != dnnl_tp_success);
        dtp_chain_pop(&chain);
        if (!status && result) {
            status = result;
            snprintf(text, sizeof text, "%s", dtp_last_text());
            poison(c, item->generation, status, text);
        }
    }
    if (item->work == EVENT || item->work == END) {
        dtp_event_fire(item->event, status, status ? text : NULL, c->begin_ns, c->end_ns);
        item->event = NULL;
        return;
    }
    if (status) return; /* skipped */
    c->begin_ns = dtp_now_ns();
    status = work(c, item);
    c->end_ns = dtp_now_ns();
    if (status) poison(c, item->generation, status, dtp_last_text());
}

void *far_core_run(void *arg) {
    core_t *c = arg;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (!c->head && !c->closing) pthread_cond_wait(&c->changed, &c->lock);
        item_t *item = c->head;
        if (!item) break;
        pthread_mutex_unlock(&c->lock);
        delay(c);
        run_item(c, item);
        pthread_mutex_lock(&c->lock);
        c->head = item->next;
        if (!c->head) c->end = &c->head;
        pthread_mutex_unlock(&c->lock);
        far_item_free(c, item); /* before it counts as completed: who waits may then look for what is left */
        pthread_mutex_lock(&c->lock);
        ++c->completed;
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}
