/* The program of the checks of pending nodes: two operators that pend, and after the first of them one that does not; its
 * plan, and a state of one thread. FIRST_BITS: of the nodes that pend. Included once per check, after the engine's
 * source. */
#ifndef DTP_MODEL_SMALL_PROGRAM_H
#define DTP_MODEL_SMALL_PROGRAM_H

#include "exec/dataflow/run/run.h"

enum { NODES = 3, LAST = 2 };
static const dtp_dataflow_node_t nodes[NODES + 1] = {
    {.edge = 0, .index = 0, .bits = FIRST_BITS, .sink = DTP_DATAFLOW_NONE},
    {.edge = 1, .index = 1, .bits = FIRST_BITS, .sink = 0},
    {.edge = 1, .index = 2, .sink = 0},
    {.edge = 1}};
static const uint32_t edges[] = {DTP_DATAFLOW_DIRECT | LAST, DTP_DATAFLOW_DIRECT | 0,
                                 DTP_DATAFLOW_DIRECT | 1};
static const dtp_dataflow_control_block_t block = {
    .done = 3, .up = DTP_DATAFLOW_NONE, .end = DTP_DATAFLOW_NONE, .entry = 1, .n_entry = 2};
static struct dtp_dataflow_region region;
static struct dtp_dataflow_plan plan;

static void set_plan(void) {
    region = (struct dtp_dataflow_region){.nodes = nodes,
                                          .edges = edges,
                                          .blocks = &block,
                                          .n_nodes = NODES,
                                          .n_edges = 3,
                                          .n_blocks = 1,
                                          .done_at = sizeof(dtp_dataflow_instance_t),
                                          .count_at = sizeof(dtp_dataflow_instance_t) + 64,
                                          .link_at = sizeof(dtp_dataflow_instance_t) + 128};
    plan = (struct dtp_dataflow_plan){.regions = &region, .n_regions = 1, .may_pend = true};
}

static dtp_dataflow_state_t *new_state(void) {
    enum { COUNTERS = 512 };
    dtp_dataflow_state_t *s = mc_alloc(sizeof *s);
    dtp_dataflow_worker_t *w = mc_alloc(sizeof *w);
    dtp_dataflow_instance_t *instance = mc_alloc(sizeof *instance + COUNTERS);
    s->plan = &plan;
    s->num_threads = 1;
    s->workers = w;
    s->alone = (dtp_parallel_t){.num_threads = 1};
    s->fuel = DTP_DATAFLOW_FUEL;
    s->root = instance;
    instance->region = &region;
    w->state = s;
    w->lifo = w->top = mc_alloc(2 * DTP_DATAFLOW_LIFO * sizeof(uint64_t));
    w->limit = w->lifo + DTP_DATAFLOW_LIFO;
    w->where = (dtp_dataflow_where_t){.par = &s->alone};
    return s;
}

#endif
