/* Seats: places for the threads that are inside one stream at the same time, each with its own
 * scratch memory.
 *
 * ---- States -------------------------------------------------------------------------------------
 *
 * A seat is free (holder 0) or taken (holder: the key of its thread). The first seat is part of
 * the stream; the others are a list that only grows, `more`, and are freed with the stream. One
 * thread may have several seats: it executes on the stream inside the stream's own work.
 *
 *   take      CAS of the first seat: the whole path of a stream with one user. If that fails: CAS
 *             of a free seat of the list, then a check of `closed`. Not closed: the seat is
 *             taken. Else the seat is returned, and the thread continues under `lock`: it is
 *             refused, or takes a free seat, or adds one to the list.
 *   leave     holder = 0
 *   close     under `lock`: CAS of the first seat, closed = true, a check of every seat of the
 *             list. All free: the caller has the stream to itself until it opens the seats, and
 *             other threads are refused meanwhile. Else everything is restored, and the caller is
 *             refused.
 *   open      closed = false, then the first seat is free
 *
 * Invariants. Only the holder of a seat accesses its scratch, or the thread that has closed the
 * seats. Closing and taking a seat of the list each write one word and read the other's (seq_cst),
 * so at least one sees the other; a thread that sees `closed` while it takes a seat decides nothing
 * before it has `lock`, so a failed attempt to close refuses no other thread. A seat is only added
 * under `lock` while the seats are not closed. */
#ifndef DTP_THREADING_STREAMS_SEATS_H
#define DTP_THREADING_STREAMS_SEATS_H

#include "common/base/base.h"
#include "threading/base/atomics.h"
#include "threading/base/futex.h"

typedef struct dtp_seat {
    _Alignas(DTP_NO_SHARE) _Atomic uintptr_t holder;
    struct dtp_seat *next; /* constant */
    char *scratch;
    size_t scratch_bytes;
} dtp_seat_t;
_Static_assert(sizeof(dtp_seat_t) == DTP_NO_SHARE, "threads side by side write to different lines");

typedef struct {
    dtp_seat_t first;
    dtp_seat_t *_Atomic more;
    /* Set under lock; cleared by the same thread, without lock. */
    _Atomic bool closed;
    /* For closing, and for adding to the list. */
    dtp_lock_t lock;
} dtp_seats_t;

/* Takes the first seat, if it is free; a single user needs nothing else. */
static inline bool dtp_seat_take_first(dtp_seats_t *seats) {
    uintptr_t holder = 0;
    return DTP_LOAD(&seats->first.holder, relaxed) == 0 &&
           DTP_CAS(&seats->first.holder, &holder, dtp_thread_key(), acquire);
}
/* Takes any seat, after that: success; out_of_memory; invalid_arguments or would_deadlock if
 * another thread or this thread has closed the seats. */
dnnl_tp_status_t dtp_seat_take_more(dtp_seats_t *seats, const dnnl_tp_allocator_t *allocator,
                                    dtp_seat_t **seat);
static inline void dtp_seat_leave(dtp_seat_t *seat) { DTP_STORE(&seat->holder, (uintptr_t)0, release); }

/* invalid_arguments: another thread has a seat; would_deadlock: this one has. */
dnnl_tp_status_t dtp_seats_close(dtp_seats_t *seats);
void dtp_seats_open(dtp_seats_t *seats);
/* Whether the thread with this key has a seat; 0: any thread. */
bool dtp_seats_taken(dtp_seats_t *seats, uintptr_t key_or_0);
/* Called by the holder. On failure the seat keeps its scratch. */
dnnl_tp_status_t dtp_seat_grow_scratch(dtp_seat_t *seat, const dnnl_tp_allocator_t *allocator, size_t bytes);
/* Frees the list, and the scratch of all seats. No thread may come any more. */
void dtp_seats_free(dtp_seats_t *seats, const dnnl_tp_allocator_t *allocator);

#endif
