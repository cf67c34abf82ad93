/* A small model checker: runs 2 to 4 threads (fibers of one real thread) through all interleavings of their
 * atomic operations that differ in anything, by running the same case again and again (stateless search,
 * dynamic partial-order reduction with sleep sets).
 *
 * The source under test is the product's own: it is compiled with tests/model/under in front of the include
 * path, where <stdatomic.h> turns every atomic operation into a call of the checker. In weak cases stores
 * that are not seq_cst wait in a buffer of their thread and become visible later, in any order that their
 * memory orders allow. Plain data are checked for races by mc_read and mc_write: who hands data over must
 * have a C11 happens-before edge. What this cannot see: doc/model_checks.md. */
#ifndef DTP_MODEL_MC_H
#define DTP_MODEL_MC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const char *name;
    void (*setup)(void); /* makes the objects and the threads (mc_thread); runs before each execution */
    void (*end)(void);   /* checks when all threads have ended; may be NULL */
    bool weak;
    int preemptions; /* > 0: not all interleavings, but all with at most so many switches away from a thread
                        that could go on */
    int bounded; /* > 0: so many preemptions where the program has --bounded: searching all takes tens of seconds */
    bool must_fail;       /* the case shows what the checker has to find */
    const char *reach[6]; /* counters that must have been hit by at least MC_REACH executions */
} mc_case_t;
enum { MC_REACH = 1000, MC_LOCALS = 2 };

/* Explores all cases. Arguments: --broken (success = a case fails), --bounded, --trace (print failing steps), a part of
 * a case's name. Returns the exit status. */
int mc_main(int argc, char **argv, const mc_case_t *cases, int n_cases);

/* Setup only. */
void mc_thread(void (*fn)(void *), void *arg);
void mc_thread_local(void **variable); /* saved and restored per thread */

void mc_ignore(const void *p, size_t size); /* statistics and hints: operations there are no steps */

/* Everywhere. */
void mc_fail(const char *text) __attribute__((noreturn));
#define MC_CHECK(cond) ((cond) ? (void)0 : mc_fail(#cond))
int mc_choose(int n);          /* all of 0..n-1 are explored */
void mc_hit(const char *name); /* counts executions, not calls */
int mc_self(void);
void mc_read(const void *p); /* a plain access of the object at p */
void mc_write(const void *p);
void *mc_alloc(size_t size); /* zeroed; gone when the execution ends */
void mc_free(void *p);       /* fails if somebody may use it later, or without an edge to the last use */
int64_t mc_live(void);       /* blocks that are not free */
/* Called when a compare-and-swap finds another value than expected. */
extern void (*mc_cas_missed)(const volatile void *p, uint64_t expected, uint64_t found);

/* What the headers in tests/model/under call. */
typedef enum { MC_ADD, MC_SUB, MC_OR, MC_AND, MC_SWAP } mc_rmw_t;
void mc_load(const volatile void *p, void *result, size_t size, int order, const char *text);
void mc_store(volatile void *p, const void *value, size_t size, int order, const char *text);
void mc_rmw(volatile void *p, void *value, size_t size, mc_rmw_t what, int order, const char *text);
bool mc_cas(volatile void *p, void *expected, const void *value, size_t size, int order, int miss,
            const char *text);
void mc_fence(int order);
void mc_yield(void); /* until something that the thread has read since the last call has changed */
bool mc_futex_wait(volatile void *p, uint32_t value, bool timed);
void mc_futex_wake(volatile void *p, int count);
void mc_lock(volatile uint32_t *word);
bool mc_try_lock(volatile uint32_t *word);
void mc_unlock(volatile uint32_t *word);
int64_t mc_clock(void);
/* memcpy into atomics that others may touch: one visible store per byte. */
void mc_copy(void *to, const void *from, size_t n);

#endif
