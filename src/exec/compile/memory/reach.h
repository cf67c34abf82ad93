/* What comes before what: a set of earlier points for each point of a program.
 *
 * Points are numbered in an order in which they could run one after another. u is in the set of p if, in
 * every run in which both run, u has ended before p starts; so sets of points that never run together may be
 * added. A set is a row of bits over the last points before p, and a number `low`: all points before it are
 * in the set. Up to 8192 points rows reach back to the beginning and sets are exact; beyond, and where the memory
 * that is planned is small, rows get shorter: all together take some 8 MiB (32 bytes each at least), and no more
 * than that memory. What a row no longer covers, and no join of everything before it either, counts as not
 * ordered. */
#ifndef DTP_EXEC_COMPILE_MEMORY_REACH_H
#define DTP_EXEC_COMPILE_MEMORY_REACH_H

#include "common/base/arena.h"

typedef struct {
    int n, room, words;
    int *low;
    uint64_t *row; /* NULL: only counts points */
} dtp_reach_t;

/* Room for so many points; 0: counts them. worth: bytes that rows may take together, but for 128 bytes each. */
dnnl_tp_status_t dtp_reach_init(dtp_reach_t *r, dtp_arena_t *arena, int points, size_t worth);
/* A point with an empty set. */
int dtp_reach_new(dtp_reach_t *r);
/* d, which runs whenever p does, ends before p starts. */
void dtp_reach_add(dtp_reach_t *r, int p, int d);
/* Points from .. to - 1 never run together with p. */
void dtp_reach_never(dtp_reach_t *r, int p, int from, int to);
/* p comes with a or with b, of two branches that never run together: the points begin .. middle - 1 and
 * middle .. end - 1. */
void dtp_reach_either(dtp_reach_t *r, int p, int a, int b, int begin, int middle, int end);
/* Nothing is added to p any more. */
void dtp_reach_seal(dtp_reach_t *r, int p);
bool dtp_reach_has(const dtp_reach_t *r, int u, int p);

#endif
