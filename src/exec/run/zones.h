/* Red zones: a test mode of the memory of a run, in builds with DTP_RED_ZONES alone.
 *
 * Every buffer of an instance, and of a slice on one thread, has a place of its own then, between
 * two gaps. A run and a call begin with poison in all of their memory, so that what reads a buffer
 * before it is written finds no number; a buffer is poisoned again behind its last reader; a run
 * fails that ends with other bytes in a gap. The calls: tests/support/red_zones.c. */
#ifndef DTP_EXEC_RUN_ZONES_H
#define DTP_EXEC_RUN_ZONES_H

#include "exec/run/executable.h"

struct dtp_lower;
struct dtp_run_ctx;

#ifdef DTP_RED_ZONES
#define DTP_ZONES(call) dtp_zones_##call
enum { DTP_ZONE_GAP = 2 * DTP_CACHE_LINE };
/* Behind the plan: where buffers lie, and which step reads each last. */
void dtp_zones_plan(dtp_exec_t *exec, const struct dtp_lower *lower);
/* The memory of the root (scope 0) or of a call: before its first step, and behind its last one. */
void dtp_zones_begin(const dtp_exec_t *exec, int scope, char *memory);
void dtp_zones_end(const dtp_exec_t *exec, int scope, char *memory);
/* Fails the run if the end of it, or of a call, found something. */
void dtp_zones_report(struct dtp_run_ctx *ctx);
/* Step number `done` is done by all threads, or so is slice group number done - exec->nsteps; bases
 * are those of its scope. nstages: so many are done one after another. */
void dtp_zones_after(const dtp_exec_t *exec, int done, void *const *bases, int nstages);
#else
#define DTP_ZONES(call) ((void)0)
enum { DTP_ZONE_GAP = 0 };
#endif

#endif
