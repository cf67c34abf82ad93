/* Seats of streams (src/threading/streams/seats.c): no two threads sit in one seat, what one
 * leaves there the next one sees; who has closed the seats is alone; an attempt to close that
 * fails refuses nobody else. */
#include "common/base/base.h"

#include "model/mc.h"
#define dtp_thread_key() ((uintptr_t)mc_self() + 1) /* the checker's threads share one real one */

#include "threading/streams/seats.c"

#include "model/product.h"

_Atomic uint32_t dtp_fork_generation;
_Atomic int64_t dtp_ticks_per_us;

static dtp_seats_t *seats;
static int pool; /* what only who is alone may change */
static int closed_times, refused_users;

static void use(dtp_seat_t *seat) {
    mc_write(&seat->scratch_bytes);
    mc_read(&pool);
    if (seat != &seats->first) mc_hit("another seat than the first");
}
static dnnl_tp_status_t sit(dtp_seat_t **seat) {
    *seat = &seats->first;
    return dtp_seat_take_first(seats) ? dnnl_tp_success : dtp_seat_take_more(seats, NULL, seat);
}
static void user(void *arg) {
    (void)arg;
    for (int i = 0; i < 2; ++i) {
        dtp_seat_t *seat;
        const dnnl_tp_status_t status = sit(&seat);
        if (status == dnnl_tp_success) {
            use(seat);
            dtp_seat_leave(seat);
        } else {
            MC_CHECK(status == dnnl_tp_invalid_arguments);
            ++refused_users;
            mc_hit("a user was refused");
        }
    }
}
/* Executes inside its own work. */
static void nested_user(void *arg) {
    dtp_seat_t *outer;
    if (sit(&outer) != dnnl_tp_success) return;
    use(outer);
    MC_CHECK(dtp_seats_taken(seats, dtp_thread_key()));
    MC_CHECK(dtp_seats_close(seats) == dnnl_tp_would_deadlock);
    user(arg);
    dtp_seat_leave(outer);
}
static void closer(void *arg) {
    (void)arg;
    const dnnl_tp_status_t status = dtp_seats_close(seats);
    if (status == dnnl_tp_success) {
        dtp_seat_t *seat;
        mc_write(&pool);
        mc_write(&seats->first.scratch_bytes);
        MC_CHECK(sit(&seat) == dnnl_tp_would_deadlock); /* its own */
        mc_write(&pool);
        ++closed_times;
        mc_hit("alone");
        dtp_seats_open(seats);
    } else {
        MC_CHECK(status == dnnl_tp_invalid_arguments);
        mc_hit("not alone");
    }
}

static void setup(void (*const fns[])(void *), int n) {
    seats = mc_alloc(sizeof *seats);
    closed_times = refused_users = 0;
    mc_ignore(&dtp_fork_generation, sizeof dtp_fork_generation);
    for (int i = 0; i < n; ++i) mc_thread(fns[i], NULL);
}
static void end(void) {
    MC_CHECK(!dtp_seats_taken(seats, 0) && !seats->closed);
    MC_CHECK(closed_times || !refused_users);
}
#define SETUP(name, ...)                             \
    static void name(void) {                         \
        void (*const fns[])(void *) = {__VA_ARGS__}; \
        setup(fns, (int)(sizeof fns / sizeof *fns)); \
    }
SETUP(users, user, user)
SETUP(three_users, user, user, user)
SETUP(user_and_closer, nested_user, closer)
SETUP(user_closer, user, closer)
SETUP(users_and_closer, user, user, closer)
SETUP(closers, closer, closer, user)

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "two users", .setup = users, .end = end},
        {.name = "two users, weak", .setup = users, .end = end, .weak = true, .preemptions = 3},
        {.name = "three users", .setup = three_users, .end = end, .preemptions = 3},
        {.name = "a user inside its own work, who closes", .setup = user_and_closer, .end = end},
        {.name = "users, who closes",
         .setup = users_and_closer,
         .end = end,
         .preemptions = 3,
         .reach = {"alone", "not alone", "a user was refused"}},
        {.name = "a user, who closes, weak",
         .setup = user_closer,
         .end = end,
         .weak = true,
         .preemptions = 3},
        {.name = "two who close", .setup = closers, .end = end, .preemptions = 3},
    };
    return mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
