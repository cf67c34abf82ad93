/* CPUs and quota of this process (topology.c). */
#ifndef DTP_THREADING_BASE_TOPOLOGY_H
#define DTP_THREADING_BASE_TOPOLOGY_H

#include <stdint.h>

/* Ticks of dtp_ticks per microsecond, measured for sample_ns > 0. The error is a few percent even
 * if the thread loses its CPU meanwhile. */
int64_t dtp_measure_ticks_per_us(int64_t sample_ns);
/* Number of CPUs that the control groups of this process grant; 0: no limit. Reads files, so it is
 * not for hot paths. */
double dtp_cpu_quota(void);
/* The same for control groups that are mounted at root; the file `groups` names those of the
 * process. */
double dtp_cpu_quota_in(const char *root, const char *groups);
/* Number of threads for so many CPUs and this quota: a part of a CPU counts as a thread. */
int dtp_threads_granted(int cpus, double quota);
/* Number of CPUs in the affinity mask. Writes the ids of the first `capacity` to cpus. */
int dtp_affinity_cpus(int *cpus, int capacity);
/* The number that dtp_set_process_num_threads set, else min(CPUs in the mask, ceil(quota)). */
int dtp_process_num_threads(void);
/* Reads mask and quota again; from then on dtp_process_num_threads returns the result. */
int dtp_measure_num_threads(void);
/* Replaces the number of threads of the process; 0: the measured number again. */
void dtp_set_process_num_threads(int num_threads);

#endif
