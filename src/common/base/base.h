/* Ground floor of the library: statuses, error texts, allocation, small helpers.
 * Knows no object, no engine and no thread. Everything may include it. */
#ifndef DTP_COMMON_BASE_BASE_H
#define DTP_COMMON_BASE_BASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp.h"

#define DTP_MAX_THREADS 256
#define DTP_CACHE_LINE 64
/* Distance that keeps two writers apart (adjacent-line prefetch). */
#define DTP_NO_SHARE 128

#define DTP_LIKELY(c) __builtin_expect(!!(c), 1)
#define DTP_UNLIKELY(c) __builtin_expect(!!(c), 0)

static inline int64_t dtp_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dtp_max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t dtp_div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static inline int64_t dtp_round_up(int64_t a, int64_t b) { return dtp_div_up(a, b) * b; }
static inline size_t dtp_round_up_size(size_t a, size_t b) { return (a + b - 1) / b * b; }

/* FNV-1a over 8-byte words, then bytes. Stands in files, too: exec/text/data.c. */
uint64_t dtp_hash_bytes(const void *data, size_t size);

/* An address that only this thread has, while it lives. */
static inline uintptr_t dtp_thread_key(void) {
#if defined __has_builtin
#if __has_builtin(__builtin_thread_pointer) && DTP_X64
    return (uintptr_t)__builtin_thread_pointer();
#endif
#endif
    return (uintptr_t)&errno;
}

/* ---- Reasons and the last error ---------------------------------------------------------------------- */

/* One reason per way to refuse; tests assert them by id. */
typedef enum {
#define DTP_REASON(id, text) DTP_##id,
#include "common/base/reasons.inc"
#undef DTP_REASON
    DTP_REASON_COUNT
} dtp_reason_t;

/* Fixed text of a reason. */
const char *dtp_reason_text(dtp_reason_t reason);
/* Reason of the last failure on this thread (DTP_NO_REASON when none). */
dtp_reason_t dtp_last_reason(void);
/* What a wait answered, with the status of the work apart from its own: *result becomes the former, and success where
 * the wait itself fails. NULL: status stays what it is. */
dnnl_tp_status_t dtp_wait_answer(dnnl_tp_status_t status, dnnl_tp_status_t *result);
/* Records reason and a formatted detail ("axis 5 is outside 0..3"; may be "") as this thread's last error,
 * writes a verbose line when asked for, and returns status. */
dnnl_tp_status_t dtp_fail(dnnl_tp_status_t status, dtp_reason_t reason, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* The same for answers that are no error (last_impl_reached, not_required): without the verbose line. */
dnnl_tp_status_t dtp_answer(dnnl_tp_status_t status, dtp_reason_t reason, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* The last error without the name of the call; for texts that go into others. */
const char *dtp_last_text(void);
/* The same without the text of the reason, where dtp_fail puts that in front again. */
const char *dtp_last_detail(void);
/* What the program said about a failure with this status (dnnl_tp_fail), once; NULL: nothing. */
const char *dtp_said(dnnl_tp_status_t status) __attribute__((cold));

/* Names the public function that fails; the outermost one comes last and stays. */
void dtp_failed_in(const char *function) __attribute__((cold));
/* Names the graph that it fails for; NULL: it has no name. */
void dtp_failed_for(const char *graph) __attribute__((cold));
#define DTP_IS_CALL (__func__[0] == 'd' && __func__[1] == 'n' && __func__[2] == 'n' && __func__[3] == 'l')
#define DTP_NAME_CALL()                           \
    do {                                          \
        if (DTP_IS_CALL) dtp_failed_in(__func__); \
    } while (0)
/* How a public function returns what may be a failure: the text names it. */
#define DTP_RETURN(expr)                                                           \
    do {                                                                           \
        dnnl_tp_status_t dtp_status_ = (expr);                                     \
        if (DTP_UNLIKELY(dtp_status_ != dnnl_tp_success)) dtp_failed_in(__func__); \
        return dtp_status_;                                                        \
    } while (0)

/* Misuse by the caller: invalid_arguments. Used in src/common/<kind>.c, at the API and in builders. */
#define DTP_REQUIRE(cond, reason, ...)                                                            \
    do {                                                                                          \
        if (DTP_UNLIKELY(!(cond))) {                                                              \
            (void)dtp_fail(dnnl_tp_invalid_arguments, DTP_##reason, __VA_ARGS__);                 \
            DTP_NAME_CALL();                                                                      \
            return dnnl_tp_invalid_arguments; /* a constant, so that compilers see the failure */ \
        }                                                                                         \
    } while (0)
/* An output of a public function: it has to be there, and is `none` unless the call succeeds. */
#define DTP_OUT(out, none)                \
    do {                                  \
        DTP_REQUIRE(out, NULL_ARG, #out); \
        *(out) = none;                    \
    } while (0)
/* A struct of options or of results has the size that this library knows. */
#define DTP_REQUIRE_SIZE(object, what)                                      \
    DTP_REQUIRE((object)->struct_size == sizeof *(object), BAD_STRUCT_SIZE, \
                what ": %zu bytes, needed are %zu", (size_t)(object)->struct_size, sizeof *(object))
/* An implementation refuses: unimplemented. Used only in pd_init; the text is the reason's own. Cheap: no
 * formatting unless verbose dispatch is on. */
#define DTP_DISPATCH(cond, reason)                                  \
    do {                                                            \
        if (DTP_UNLIKELY(!(cond))) return dtp_refuse(DTP_##reason); \
    } while (0)
dnnl_tp_status_t dtp_refuse(dtp_reason_t reason) __attribute__((cold));
#define DTP_TRY(expr)                                           \
    do {                                                        \
        dnnl_tp_status_t dtp_try_status_ = (expr);              \
        if (DTP_UNLIKELY(dtp_try_status_ != dnnl_tp_success)) { \
            DTP_NAME_CALL();                                    \
            return dtp_try_status_;                             \
        }                                                       \
    } while (0)
/* out_of_memory with the size that was wanted. */
dnnl_tp_status_t dtp_no_memory(size_t bytes) __attribute__((cold));

/* ---- Allocation -------------------------------------------------------------------------------------- */

/* The process allocator (dnnl_tp_set_allocator, else the C library's). Never NULL. */
const dnnl_tp_allocator_t *dtp_process_allocator(void);
/* NULL = the C library's; while no object exists. */
void dtp_process_allocator_set(const dnnl_tp_allocator_t *allocator);
/* Zeroed memory aligned to max(alignment, 16), NULL on failure. allocator NULL = the process allocator. */
void *dtp_zalloc(const dnnl_tp_allocator_t *allocator, size_t size, size_t alignment);
/* Memory of this alignment has large pages where the system gives them quickly; its owner fills it. */
enum { DTP_LARGE_PAGE = 2 * 1024 * 1024 };
/* As dtp_zalloc, contents undefined. */
void *dtp_alloc(const dnnl_tp_allocator_t *allocator, size_t size, size_t alignment);
/* NULL is allowed. */
void dtp_free(const dnnl_tp_allocator_t *allocator, void *ptr);

/* ---- Verbose ----------------------------------------------------------------------------------------- */

enum {
    DTP_VERBOSE_ERROR = 1,
    DTP_VERBOSE_DISPATCH = 2,
    DTP_VERBOSE_EXEC = 4,
    DTP_VERBOSE_CREATE = 8,
    DTP_VERBOSE_CHECK = 16,
    DTP_VERBOSE_TIMESTAMP = 32 /* lines carry a time behind the version */
};
/* Non-zero when lines of this class are wanted; one relaxed load once the environment was read. */
extern _Atomic unsigned dtp_verbose_bits; /* DTP_VERBOSE_UNREAD at first */
#define DTP_VERBOSE_UNREAD 0x80000000u
unsigned dtp_verbose_read(void);
static inline bool dtp_verbose_on(unsigned what) {
    unsigned bits = __atomic_load_n((unsigned *)&dtp_verbose_bits, __ATOMIC_RELAXED);
    if (DTP_UNLIKELY(bits == DTP_VERBOSE_UNREAD)) bits = dtp_verbose_read();
    return (bits & what) != 0;
}
/* Writes "dnnl_tp_verbose,v1,<text>". */
void dtp_verbose_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same about something that began at begin_ms of dtp_now_ms. */
void dtp_verbose_line_at(double begin_ms, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Value of the environment variable DNNL_TP_<name>, or NULL; base.c lists all names. */
const char *dtp_getenv(const char *name);
/* The place of its value among n words; otherwise: it is not set, or is none of them (a verbose line says so). */
int dtp_getenv_word(const char *name, const char *const *words, int n, int otherwise);
/* Milliseconds of CLOCK_MONOTONIC. */
double dtp_now_ms(void);

#endif
