/* The checker checked: known small programs, whose outcomes are known. */
#include <stdatomic.h>

#include "model/mc.h"

static _Atomic int x, y, word, asleep;
static int a, b, plain, seen[4];

static void reset(void) {
    x = y = word = asleep = 0;
    a = b = -1;
    plain = 0;
}

/* ---- Store buffering: both may read 0 only where stores are delayed and no fence stands between ------ */
static void sb_left(void *fence) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    if (fence) atomic_thread_fence(memory_order_seq_cst);
    a = atomic_load_explicit(&y, memory_order_relaxed);
}
static void sb_right(void *fence) {
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    if (fence) atomic_thread_fence(memory_order_seq_cst);
    b = atomic_load_explicit(&x, memory_order_relaxed);
}
static void sb(void) {
    reset();
    mc_thread(sb_left, NULL);
    mc_thread(sb_right, NULL);
}
static void sb_fenced(void) {
    reset();
    mc_thread(sb_left, &x);
    mc_thread(sb_right, &x);
}
static void not_both(void) { MC_CHECK(a || b); }

/* ---- Message passing: relaxed stores may come in another order; release may not ---------------------- */
static void mp_give(void *release) {
    mc_write(&plain);
    plain = 1;
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    if (release) atomic_store_explicit(&y, 1, memory_order_release);
    else atomic_store_explicit(&y, 1, memory_order_relaxed);
}
static void mp_take(void *arg) {
    (void)arg;
    if (!atomic_load_explicit(&y, memory_order_acquire)) return;
    MC_CHECK(atomic_load_explicit(&x, memory_order_relaxed) == 1);
}
static void mp_read(void *arg) {
    (void)arg;
    if (atomic_load_explicit(&y, memory_order_acquire)) mc_read(&plain);
}
static void mp(void) {
    reset();
    mc_thread(mp_give, NULL);
    mc_thread(mp_take, NULL);
}
static void mp_release(void) {
    reset();
    mc_thread(mp_give, &x);
    mc_thread(mp_take, NULL);
}
static void mp_race(void) {
    reset();
    mc_thread(mp_give, NULL);
    mc_thread(mp_read, NULL);
}
static void mp_no_race(void) {
    reset();
    mc_thread(mp_give, &x);
    mc_thread(mp_read, NULL);
}

/* ---- A lost update needs a switch between load and store; counts all outcomes ------------------------ */
static void add_badly(void *arg) {
    (void)arg;
    int v = atomic_load_explicit(&x, memory_order_relaxed);
    atomic_store_explicit(&x, v + 1, memory_order_relaxed);
}
static void add_well(void *arg) {
    (void)arg;
    atomic_fetch_add_explicit(&x, 1, memory_order_relaxed);
}
static void three_bad(void) {
    reset();
    for (int i = 0; i < 3; ++i) mc_thread(add_badly, NULL);
}
static void three_good(void) {
    reset();
    for (int i = 0; i < 3; ++i) mc_thread(add_well, NULL);
}
static void all_counted(void) { MC_CHECK(x == 3); }
/* Every outcome of three lost-update threads: 1, 2 and 3. */
static void outcome(void) {
    mc_hit(x == 1 ? "1" : x == 2 ? "2" : "3");
    ++seen[x];
}

/* ---- Sleep and wake ---------------------------------------------------------------------------------- */
static void sleeper(void *look_again) {
    atomic_store_explicit(&asleep, 1, memory_order_relaxed);
    if (look_again) atomic_thread_fence(memory_order_seq_cst);
    if (look_again && atomic_load_explicit(&word, memory_order_relaxed)) return;
    while (!atomic_load_explicit(&word, memory_order_relaxed)) (void)mc_futex_wait(&word, 0, false);
}
static void waker(void *fence) {
    atomic_store_explicit(&word, 1, memory_order_relaxed);
    if (fence) atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&asleep, memory_order_relaxed)) mc_futex_wake(&word, 1);
}
static void sleep_well(void) {
    reset();
    mc_thread(sleeper, &x);
    mc_thread(waker, &x);
}
static void sleep_lost(void) {
    reset();
    mc_thread(sleeper, &x);
    mc_thread(waker, NULL);
}

/* ---- Spinning, freeing ------------------------------------------------------------------------------- */
static void spin(void *arg) {
    (void)arg;
    while (!atomic_load_explicit(&x, memory_order_acquire)) mc_yield();
}
static void set(void *arg) {
    (void)arg;
    atomic_store_explicit(&x, 1, memory_order_release);
}
static void spin_and_set(void) {
    reset();
    mc_thread(spin, NULL);
    mc_thread(set, NULL);
}
static void spin_alone(void) {
    reset();
    mc_thread(spin, NULL);
}
static _Atomic int *heap;
static void drop(void *order) {
    int left = order ? atomic_fetch_sub_explicit(heap, 1, memory_order_acq_rel)
                     : atomic_fetch_sub_explicit(heap, 1, memory_order_relaxed);
    if (left == 1) mc_free(heap);
}
static void two_owners(void *order) {
    heap = mc_alloc(sizeof *heap);
    *heap = 2;
    mc_thread(drop, order);
    mc_thread(drop, order);
}
static void drop_well(void) { two_owners(&x); }
static void drop_badly(void) { two_owners(NULL); }

int main(int argc, char **argv) {
    const mc_case_t cases[] = {
        {.name = "store buffering, strong", .setup = sb, .end = not_both},
        {.name = "store buffering, weak", .setup = sb, .end = not_both, .weak = true, .must_fail = true},
        {.name = "store buffering, fences", .setup = sb_fenced, .end = not_both, .weak = true},
        {.name = "message, relaxed", .setup = mp, .weak = true, .must_fail = true},
        {.name = "message, release", .setup = mp_release, .weak = true},
        {.name = "plain data, relaxed", .setup = mp_race, .must_fail = true},
        {.name = "plain data, release", .setup = mp_no_race},
        {.name = "lost update", .setup = three_bad, .end = all_counted, .must_fail = true},
        {.name = "no lost update", .setup = three_good, .end = all_counted},
        {.name = "all outcomes", .setup = three_bad, .end = outcome},
        {.name = "sleep", .setup = sleep_well, .weak = true},
        {.name = "lost wake", .setup = sleep_lost, .weak = true, .must_fail = true},
        {.name = "spin", .setup = spin_and_set},
        {.name = "spin for ever", .setup = spin_alone, .must_fail = true},
        {.name = "two owners", .setup = drop_well},
        {.name = "two owners, relaxed", .setup = drop_badly, .must_fail = true},
    };
    int bad = mc_main(argc, argv, cases, sizeof cases / sizeof *cases);
    if (argc == 1 && !(seen[1] && seen[2] && seen[3])) bad = 1;
    return bad;
}
