/* Stress programs: preemption at every delicate step (DTP_PREEMPT_POINT), and builds with one rule broken
 * (DTP_BREAK_*), which `--broken` must find out: by a wrong value, a crash or a hang. */
#ifndef TESTS_SUPPORT_STRESS_H
#define TESTS_SUPPORT_STRESS_H

#include <stdbool.h>

void stress_preempt(void); /* yields or sleeps a few microseconds, now and then */

/* Of main, before anything else: PROGRAM ROUNDS [--broken]. A broken build does its rounds in a child
 * process. */
void stress_begin(int argc, char **argv);
/* Shall round k begin? The last one has ended; so many seconds may pass on a machine under load, except in a
 * broken build, where finding something is success. */
bool stress_round(int k);
/* Prints what is wrong and ends the process. */
void stress_found(const char *what) __attribute__((noreturn));

#define STRESS_MUST(cond)                                \
    do {                                                 \
        if (!(cond)) stress_found("wrong: " #cond "\n"); \
    } while (0)
#define STRESS_OK(call) STRESS_MUST((call) == dnnl_tp_success)

#endif
