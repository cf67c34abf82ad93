/* Which threads of the process are not asleep (runnable.c). */
#ifndef DTP_THREADING_CHECK_RUNNABLE_H
#define DTP_THREADING_CHECK_RUNNABLE_H

/* Threads of this process, the caller apart, that run or wait for a CPU; -1 if the system does not tell. Reads
 * files. */
int dtp_runnable_threads(void);

#endif
