/* See watchdog.h. */
#include "support/watchdog.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWER = 8 };
#else
enum { SLOWER = 2 };
#endif
enum { TICKS_PER_S = 50, TICK_NS = 1000000000 / TICKS_PER_S };
static _Atomic int left;
static _Atomic(void *) on_hang;

static void *watch(void *arg) {
    while (atomic_fetch_sub(&left, 1) > 0) nanosleep(&(struct timespec){0, TICK_NS}, NULL);
    void (*bark)(void) = (void (*)(void))atomic_load(&on_hang);
    if (bark) bark();
    static const char text[] = "watchdog: a hang\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(1); /* no handler of the test's */
    return arg;
}

void watchdog(int seconds, void (*bark)(void)) {
    static _Atomic int started;
    atomic_store(&on_hang, (void *)bark);
    atomic_store(&left, seconds * SLOWER * TICKS_PER_S);
    if (atomic_exchange(&started, 1)) return;
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, NULL) || pthread_detach(thread)) abort();
}
