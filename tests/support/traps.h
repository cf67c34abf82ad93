/* Floating-point exceptions that trap, as in hosts that run with feenableexcept: invalid, divide-
 * by-zero and overflow. A handler notes each fault and steps over the instruction, so that one run
 * finds all. Only on x86-64 with Linux and without the thread sanitizer; elsewhere nothing traps.
 * With DNNL_TP_TEST_TRAPS=report faults are printed and fail nothing, with 0 nothing traps. */
#ifndef DTP_TESTS_SUPPORT_TRAPS_H
#define DTP_TESTS_SUPPORT_TRAPS_H

#include "common/layout/memory_desc.h"

/* Arithmetic of this thread, and of threads that it makes before traps_leave, traps from now on.
 * Memory that the library allocates is spoilt from now on where no object existed yet. */
void traps_enter(void);
/* Arithmetic of this thread traps no longer. */
void traps_leave(void);

/* Around each execution that threads of traps_enter may take part in. is_ordinary: traps_ordinary
 * holds for all inputs; else nothing is watched. `what` names the execution, NULL: exceptions do
 * not count after all. False where one was raised: it has been printed, with the address to give
 * to addr2line. The stack below traps_begin is spoilt. Not for several threads at once. */
void traps_begin(bool is_ordinary);
bool traps_end(const char *what);

/* Signaling NaN of f32, bf16 and f16: arithmetic on it is invalid. */
void traps_spoil(void *data, size_t bytes);
/* Inputs hold no NaN, results neither NaN nor infinities: then no exception is due. */
bool traps_ordinary(const dtp_md_t *md, const void *data, bool is_input);
bool traps_ordinary_run(dnnl_tp_data_type_t type, const void *data, size_t bytes, bool is_input);

#endif
