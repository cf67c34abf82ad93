/* See stress.h. */
#include "support/stress.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/watchdog.h"

static bool is_broken;
static int rounds;
static time_t begun;

void stress_preempt(void) {
    enum { SLEEPS = 24, YIELDS = 96 }; /* of 256 */
    static _Thread_local unsigned seed;
    if (!seed) seed = (unsigned)(uintptr_t)&seed | 1u;
    seed = seed * 1664525u + 1013904223u;
    unsigned r = seed >> 24;
    if (r < SLEEPS) usleep(r);
    else if (r < YIELDS) sched_yield();
}

void stress_found(const char *what) { _exit(write(2, what, strlen(what)) < 0 ? 2 : 1); }
static void on_hang(void) { stress_found("a hang\n"); }

/* In a process of its own, because the threads of a pool block all signals: a crash there ends the process.
 */
static void find_in_child(void) {
    pid_t child = fork();
    int status = 0;
    if (child == 0) return;
    if (child < 0 || waitpid(child, &status, 0) != child) _exit(2);
    if (WIFSIGNALED(status)) printf("a crash\n");
    exit(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void stress_begin(int argc, char **argv) {
    enum { ROUNDS = 100 };
    rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
    is_broken = argc > 2 && !strcmp(argv[2], "--broken");
    if (is_broken) find_in_child();
    begun = time(NULL);
}

bool stress_round(int k) {
    enum { HANG_S = 60, BROKEN_HANG_S = 2, MOST_S = 6 };
    watchdog(is_broken ? BROKEN_HANG_S : HANG_S, on_hang);
    return k < rounds && (is_broken || k == 0 || time(NULL) - begun < MOST_S);
}
