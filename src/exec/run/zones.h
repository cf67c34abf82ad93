/* Red zones: a test mode of the memory of a run, only in builds with DTP_RED_ZONES.
 *
 * Every buffer of an instance, and of a slice on one thread, then has its own place between
 * two gaps. A run and a call begin with poison in all their memory, so a step that reads a buffer
 * before it is written finds NaN. After its last reader a buffer is poisoned again. A run fails
 * if bytes of a gap have changed at its end. tests/support/red_zones.c has the functions. */
#ifndef DTP_EXEC_RUN_ZONES_H
#define DTP_EXEC_RUN_ZONES_H

#include "exec/run/executable.h"

struct dtp_lower;
struct dtp_run_ctx;

#ifdef DTP_RED_ZONES
#define DTP_ZONES(call) dtp_zones_##call
enum { DTP_ZONE_GAP = 2 * DTP_CACHE_LINE };
/* After the plan: finds places of buffers, and the last reader of each. */
void dtp_zones_plan(dtp_exec_t *exec, const struct dtp_lower *lower);
/* The memory of the root (scope 0) or of a call: before its first step, and after its last one. */
void dtp_zones_begin(const dtp_exec_t *exec, int scope, char *memory);
void dtp_zones_end(const dtp_exec_t *exec, int scope, char *memory);
/* Fails the run if its end, or the end of a call, has found an error. */
void dtp_zones_report(struct dtp_run_ctx *ctx);
/* All threads have done step number `done`, or slice group number done - exec->nsteps; bases are
 * those of its scope. nstages: the number of stages that ran one after another. */
void dtp_zones_after(const dtp_exec_t *exec, int done, void *const *bases, int nstages);
#else
#define DTP_ZONES(call) ((void)0)
enum { DTP_ZONE_GAP = 0 };
#endif

#endif
