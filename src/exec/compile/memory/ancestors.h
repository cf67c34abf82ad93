/* The order of events: a set of earlier events for each event of a program.
 *
 * Events are numbered in an order in which they could run one after another. u is in the set of p
 * if, in every run in which both run, u has ended before p starts; so sets of events that never run
 * together may be added. A set is a row of bits over the last events before p, and a number `low`:
 * all events before it are in the set. Up to 8192 events rows reach back to the beginning and sets
 * are exact. For more events, and if the planned memory is small, rows are shorter: all together
 * take about 8 MiB (at least 32 bytes each), and no more than the planned memory. Events that
 * neither a row nor `low` covers count as not ordered. */
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
/* Adds an event with an empty set. */
int dtp_ancestors_new(dtp_ancestors_t *r);
/* Adds to the set of p: d, which runs whenever p runs, ends before p starts. */
void dtp_ancestors_add(dtp_ancestors_t *r, int p, int d);
/* Adds to the set of p: events from .. to - 1 never run together with p. */
void dtp_ancestors_never(dtp_ancestors_t *r, int p, int from, int to);
/* p follows a or b, which belong to two branches that never run together: events begin .. middle -
 * 1 and middle .. end - 1. */
void dtp_ancestors_either(dtp_ancestors_t *r, int p, int a, int b, int begin, int middle, int end);
/* Completes the set of p. */
void dtp_ancestors_seal(dtp_ancestors_t *r, int p);
bool dtp_ancestors_has(const dtp_ancestors_t *r, int u, int p);

#endif
