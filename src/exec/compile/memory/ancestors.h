/* What comes before what: a set of earlier events for each event of a program.
 *
 * Events are numbered in an order in which they could run one after another. u is in the set of p if, in
 * every run in which both run, u has ended before p starts; so sets of events that never run together may
 * be added. A set is a row of bits over the last events before p, and a number `low`: all events before it
 * are in the set. Up to 8192 events rows reach back to the beginning and sets are exact; beyond, and where
 * the memory that is planned is small, rows get shorter: all together take some 8 MiB (32 bytes each at
 * least), and no more than that memory. What a row no longer covers, and no join of everything before it
 * either, counts as not ordered. */
#ifndef DTP_EXEC_COMPILE_MEMORY_ANCESTORS_H
#define DTP_EXEC_COMPILE_MEMORY_ANCESTORS_H

#include "common/base/arena.h"

typedef struct {
    int n, words;
    int *low;
    uint64_t *row;
} dtp_ancestors_t;

/* For so many events. worth: bytes that rows may take together, but for 128 bytes
 * each. */
dnnl_tp_status_t dtp_ancestors_init(dtp_ancestors_t *r, dtp_arena_t *arena, int events, size_t worth);
/* An event with an empty set. */
int dtp_ancestors_new(dtp_ancestors_t *r);
/* d, which runs whenever p does, ends before p starts. */
void dtp_ancestors_add(dtp_ancestors_t *r, int p, int d);
/* Events from .. to - 1 never run together with p. */
void dtp_ancestors_never(dtp_ancestors_t *r, int p, int from, int to);
/* p comes with a or with b, of two branches that never run together: the events begin .. middle - 1 and
 * middle .. end - 1. */
void dtp_ancestors_either(dtp_ancestors_t *r, int p, int a, int b, int begin, int middle, int end);
/* Nothing is added to p any more. */
void dtp_ancestors_seal(dtp_ancestors_t *r, int p);
bool dtp_ancestors_has(const dtp_ancestors_t *r, int u, int p);

#endif
