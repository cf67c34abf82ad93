/* Seats of streams: what happens beside the path of a single user. The state machine stands in
 * seats.h. */
#include "threading/streams/seats.h"

static dnnl_tp_status_t refuse(bool own) {
    if (own) return dtp_fail(dnnl_tp_would_deadlock, DTP_WOULD_DEADLOCK, "called from the stream's own work");
    return dtp_fail(dnnl_tp_invalid_arguments, DTP_BUSY_STREAM, "a call that needs the stream to itself");
}

static bool take(dtp_seat_t *seat, uintptr_t key) {
    uintptr_t holder = 0;
    return DTP_LOAD(&seat->holder, relaxed) == 0 && DTP_CAS(&seat->holder, &holder, key, seq_cst);
}

static dtp_seat_t *take_of_list(dtp_seats_t *s, uintptr_t key) {
    dtp_seat_t *seat = DTP_LOAD(&s->more, acquire);
    while (seat && !take(seat, key)) seat = seat->next;
    return seat;
}

/* A free seat, with no seat made. False: the seats are closed. */
static bool take_under_lock(dtp_seats_t *s, uintptr_t key, dtp_seat_t **seat) {
    *seat = NULL;
    if (DTP_LOAD(&s->closed, acquire)) return false;
    *seat = take(&s->first, key) ? &s->first : take_of_list(s, key);
    return true;
}

static dnnl_tp_status_t refuse_closed(dtp_seats_t *s, uintptr_t key) {
    const bool own = DTP_LOAD(&s->first.holder, relaxed) == key; /* who closed the seats has the first */
    dtp_unlock(&s->lock);
    return refuse(own);
}

dnnl_tp_status_t dtp_seat_take_more(dtp_seats_t *s, const dnnl_tp_allocator_t *allocator, dtp_seat_t **out) {
    const uintptr_t key = dtp_thread_key();
    dtp_seat_t *seat = take_of_list(s, key);
    *out = seat;
    if (seat) {
#ifdef DTP_BREAK_SEATS_LOOK
        return dnnl_tp_success;
#endif
        DTP_PREEMPT_POINT();
        if (!DTP_LOAD(&s->closed, seq_cst)) return dnnl_tp_success;
        dtp_seat_leave(seat);
#ifdef DTP_BREAK_SEATS_LOCK
        return refuse(false);
#endif
    }
    dtp_lock(&s->lock);
    if (!take_under_lock(s, key, out)) return refuse_closed(s, key);
    dtp_unlock(&s->lock);
    if (*out) return dnnl_tp_success;
    seat = dtp_zalloc(allocator, sizeof *seat, DTP_NO_SHARE);
    if (!seat) return dtp_no_memory(sizeof *seat);
    atomic_init(&seat->holder, key);
    dtp_lock(&s->lock);
    if (DTP_LOAD(&s->closed, acquire)) {
        const dnnl_tp_status_t status = refuse_closed(s, key);
        dtp_free(allocator, seat);
        return status;
    }
    seat->next = DTP_LOAD(&s->more, relaxed);
    DTP_STORE(&s->more, seat, release);
    dtp_unlock(&s->lock);
    *out = seat;
    return dnnl_tp_success;
}

bool dtp_seats_taken(dtp_seats_t *s, uintptr_t key) {
    uintptr_t holder = DTP_LOAD(&s->first.holder, seq_cst);
    bool taken = key ? holder == key : holder != 0;
    for (dtp_seat_t *seat = DTP_LOAD(&s->more, acquire); seat && !taken; seat = seat->next) {
        holder = DTP_LOAD(&seat->holder, seq_cst);
        taken = key ? holder == key : holder != 0;
    }
    return taken;
}

dnnl_tp_status_t dtp_seats_close(dtp_seats_t *s) {
    const uintptr_t key = dtp_thread_key();
    dtp_lock(&s->lock);
    bool alone = take(&s->first, key);
    if (alone) {
        DTP_STORE(&s->closed, true, seq_cst);
        DTP_PREEMPT_POINT();
        for (dtp_seat_t *seat = DTP_LOAD(&s->more, relaxed); seat && alone; seat = seat->next)
            alone = DTP_LOAD(&seat->holder, seq_cst) == 0;
        if (!alone) dtp_seats_open(s);
    }
    dtp_unlock(&s->lock);
    return alone ? dnnl_tp_success : refuse(dtp_seats_taken(s, key));
}

void dtp_seats_open(dtp_seats_t *s) {
    DTP_STORE(&s->closed, false, seq_cst);
    dtp_seat_leave(&s->first);
}

dnnl_tp_status_t dtp_seat_grow_scratch(dtp_seat_t *seat, const dnnl_tp_allocator_t *allocator, size_t bytes) {
    char *grown = dtp_alloc(allocator, bytes, DTP_CACHE_LINE);
    if (!grown) return dtp_no_memory(bytes);
    dtp_free(allocator, seat->scratch);
    seat->scratch = grown;
    seat->scratch_bytes = bytes;
    return dnnl_tp_success;
}

void dtp_seats_free(dtp_seats_t *s, const dnnl_tp_allocator_t *allocator) {
    dtp_seat_t *seat;
    while ((seat = DTP_LOAD(&s->more, relaxed)) != NULL) {
        DTP_STORE(&s->more, seat->next, relaxed);
        dtp_free(allocator, seat->scratch);
        dtp_free(allocator, seat);
    }
    dtp_free(allocator, s->first.scratch);
}
