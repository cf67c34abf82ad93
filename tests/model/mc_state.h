/* Between the parts of the checker: mc_calls.c (threads and their operations), mc_steps.c (what a step does)
 * and mc.c (search). */
#ifndef DTP_MODEL_MC_STATE_H
#define DTP_MODEL_MC_STATE_H

#include <setjmp.h>
#include <ucontext.h>

#include "model/mc.h"

enum {
    THREADS = 4,
    SLOTS = 4, /* locations in a store buffer */
    BUFFER = 8,
    ACTORS = THREADS * (1 + SLOTS),
    LOCATIONS = 256,
    READS = 32,
    RELAXED = 0,
    ACQUIRE = 2,
    RELEASE = 3,
    ACQ_REL = 4,
    SEQ_CST = 5
};

typedef enum {
    OP_END,
    OP_LOAD,
    OP_STORE,
    OP_RMW,
    OP_CAS,
    OP_FENCE,
    OP_WAIT,
    OP_RESUME,
    OP_WAKE,
    OP_YIELD,
    OP_LOCK,
    OP_TRY_LOCK,
    OP_UNLOCK,
    OP_FLUSH
} kind_t;
typedef struct {
    kind_t kind;
    int order, miss; /* miss: of a compare-and-swap that finds another value */
    int location;    /* -1: none */
    uint32_t size;
    bool write; /* as far as known */
    bool timed, ok;
    mc_rmw_t what;
    uint64_t value, expected, result;
    const char *text;
} op_t;

typedef struct {
    volatile void *p;
    const char *text;
    uint32_t version;
    uint16_t wrote[ACTORS], read[ACTORS]; /* clocks */
    uint32_t sync[THREADS];               /* carried by the value */
} location_t;

typedef struct {
    int location;
    uint32_t size;
    int slot;
    bool release;
    uint64_t value;
    uint16_t clock[ACTORS];
    uint32_t sync[THREADS];
} entry_t;

typedef struct {
    jmp_buf here, base;
    ucontext_t context;
    char *stack;
    void (*fn)(void *);
    void *arg;
    op_t op;
    bool asleep, woken, fresh;
    void *local[MC_LOCALS];
    uint32_t sync[THREADS], pending[THREADS], released[THREADS];
    entry_t buffer[BUFFER];
    int n_buffer;
    struct {
        int location;
        uint32_t version;
    } reads[READS];
    int n_reads;
} fiber_t;

/* One execution. */
typedef struct {
    fiber_t fibers[THREADS];
    int n_threads;
    int current; /* thread that runs, -1: none */
    jmp_buf scheduler;
    uint16_t clocks[ACTORS][ACTORS];
    location_t locations[LOCATIONS];
    int n_locations;
    bool weak_mode, trace, failed, in_setup;
    const char *failure;
} mc_run_t;
extern mc_run_t mc;

/* mc_calls.c */
void mc_forget_calls(void);
void mc_resume(int thread, bool begin); /* runs a thread up to its next step */

/* mc_steps.c */
void mc_forget(void); /* before an execution */
uint64_t mc_fetch(const volatile void *p, size_t size);
void mc_put(volatile void *p, uint64_t v, size_t size);
uint64_t mc_combine(mc_rmw_t what, uint64_t old, uint64_t v);
uint32_t mc_enabled(void);   /* actors that may go */
bool mc_execute(int thread); /* takes the step; true if it wrote what others see */
void mc_flush(int actor);
int mc_next_location(int actor, bool *write, kind_t *kind); /* of the actor's next step; -1: none */
entry_t *mc_head(int actor);                                /* what it would flush, or NULL */
void mc_join_clock(uint16_t *to, const uint16_t *from);
void mc_say(int actor, const op_t *op, uint64_t before);

#endif
