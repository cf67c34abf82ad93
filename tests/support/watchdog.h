/* Ends a test that hangs. Counts ticks of a thread of its own rather than time, so neither a machine under
 * load nor a process that was stopped for a while looks like a hang. */
#ifndef TESTS_SUPPORT_WATCHDOG_H
#define TESTS_SUPPORT_WATCHDOG_H

/* Starts the thread, or starts to count anew: without another call within these seconds, bark is called on
 * that thread, and the process ends. NULL: prints. Machines under load have twice as long, sanitizers eight times. */
void watchdog(int seconds, void (*bark)(void));

#endif
