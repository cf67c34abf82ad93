/* CPUs and quota of this process (topology.c). */
#ifndef DTP_THREADING_BASE_TOPOLOGY_H
#define DTP_THREADING_BASE_TOPOLOGY_H

#include <stdint.h>

/* Ticks of dtp_ticks per microsecond, watched for so long (more than 0); right within a few percent even if the
 * thread loses its CPU meanwhile. */
int64_t dtp_measure_ticks_per_us(int64_t sample_ns);
/* CPUs that the cgroups of this process grant; 0 = no limit. Reads files: not for hot paths. */
double dtp_cpu_quota(void);
/* The same where control groups are mounted at root and the file groups says which are the process'. */
double dtp_cpu_quota_in(const char *root, const char *groups);
/* Threads that so many CPUs and such a quota are worth: a part of a CPU is a thread. */
int dtp_threads_granted(int cpus, double quota);
/* Number of CPUs in the affinity mask; their ids go to cpus[0..capacity). */
int dtp_affinity_cpus(int *cpus, int capacity);
/* min(affinity count, ceil(cgroup quota)), or what set_max_concurrency said. */
int dtp_process_num_threads(void);
/* Reads affinity and quota again; dtp_process_num_threads answers the result from then on. */
int dtp_measure_num_threads(void);
/* Replaces the process default of the thread count; 0 = back to the measured one. */
void dtp_set_process_num_threads(int num_threads);

#endif
