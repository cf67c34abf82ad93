/* Error texts, allocation and verbose lines; see base.h. */
#include "common/base.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

uint64_t dtp_hash_bytes(const void *data, size_t size) {
    const uint8_t *p = data;
    uint64_t h = 0xcbf29ce484222325u;
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = (h ^ w) * 0x100000001b3u;
        h ^= h >> 29;
    }
    for (; size; --size) h = (h ^ *p++) * 0x100000001b3u;
    return h;
}

/* ---- Last error -------------------------------------------------------------------------------------- */

static const char *const reason_texts[DTP_REASON_COUNT] = {
#define DTP_REASON(id, text) [DTP_##id] = text,
#include "common/reasons.inc"
#undef DTP_REASON
};

/* The first of the library's two thread-locals. */
static _Thread_local struct {
    dtp_reason_t reason;
    char text[400];
} last_error;

const char *dtp_reason_text(dtp_reason_t reason) {
    return (unsigned)reason < DTP_REASON_COUNT ? reason_texts[reason] : "unknown reason";
}

dtp_reason_t dtp_last_reason(void) { return last_error.reason; }

const char *dnnl_tp_last_error(void) {
    if (!last_error.text[0] && last_error.reason != DTP_NO_REASON) return dtp_reason_text(last_error.reason);
    return last_error.text;
}

dnnl_tp_status_t dtp_fail(dnnl_tp_status_t status, dtp_reason_t reason, const char *format, ...) {
    last_error.reason = reason;
    size_t n = (size_t)snprintf(last_error.text, sizeof last_error.text, "%s", dtp_reason_text(reason));
    if (format[0] && n + 3 < sizeof last_error.text) {
        memcpy(last_error.text + n, ": ", 3);
        va_list args;
        va_start(args, format);
        vsnprintf(last_error.text + n + 2, sizeof last_error.text - n - 2, format, args);
        va_end(args);
    }
    if (dtp_verbose_on(DTP_VERBOSE_ERROR)) dtp_verbose_line("error,%d,%s", (int)status, last_error.text);
    return status;
}

dnnl_tp_status_t dtp_refuse(dtp_reason_t reason) {
    last_error.reason = reason;
    last_error.text[0] = 0;
    return dnnl_tp_unimplemented;
}

dnnl_tp_status_t dtp_no_memory(size_t bytes) {
    return dtp_fail(dnnl_tp_out_of_memory, DTP_NO_MEMORY, "%zu bytes wanted", bytes);
}

/* ---- Allocation -------------------------------------------------------------------------------------- */

/* What fills large pages asks for them: first touches of the same memory then take a tenth of the time, and
 * loops over much memory look up fewer pages. */
static void *default_alloc(void *ctx, size_t size, size_t alignment) {
    enum { LARGE_PAGE = 2 * 1024 * 1024 };
    (void)ctx;
    void *ptr = NULL;
    if (size < LARGE_PAGE) return posix_memalign(&ptr, alignment, size) ? NULL : ptr;
    if (posix_memalign(&ptr, alignment > LARGE_PAGE ? alignment : LARGE_PAGE, size)) return NULL;
    (void)madvise(ptr, size, MADV_HUGEPAGE); /* a hint */
    return ptr;
}

static void default_free(void *ctx, void *ptr) {
    (void)ctx;
    free(ptr);
}

static const dnnl_tp_allocator_t default_allocator = {sizeof(dnnl_tp_allocator_t), NULL, default_alloc,
                                                      default_free};
static dnnl_tp_allocator_t process_allocator = {sizeof(dnnl_tp_allocator_t), NULL, default_alloc,
                                                default_free};

const dnnl_tp_allocator_t *dtp_process_allocator(void) { return &process_allocator; }

void dtp_process_allocator_set(const dnnl_tp_allocator_t *allocator) {
    process_allocator = allocator ? *allocator : default_allocator;
}

void *dtp_alloc(const dnnl_tp_allocator_t *allocator, size_t size, size_t alignment) {
    if (!allocator) allocator = &process_allocator;
    if (alignment < 16) alignment = 16;
    return allocator->alloc(allocator->ctx, size ? size : 1, alignment);
}

void *dtp_zalloc(const dnnl_tp_allocator_t *allocator, size_t size, size_t alignment) {
    void *ptr = dtp_alloc(allocator, size, alignment);
    if (ptr) memset(ptr, 0, size);
    return ptr;
}

void dtp_free(const dnnl_tp_allocator_t *allocator, void *ptr) {
    if (!ptr) return;
    if (!allocator) allocator = &process_allocator;
    allocator->free(allocator->ctx, ptr);
}

/* ---- Verbose ----------------------------------------------------------------------------------------- */

_Atomic unsigned dtp_verbose_bits = DTP_VERBOSE_UNREAD;
static pthread_mutex_t verbose_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*verbose_fn)(void *arg, const char *line);
static void *verbose_arg;

static unsigned bits_of_level(int level) {
    if (level <= 0) return 0;
    return DTP_VERBOSE_ERROR | DTP_VERBOSE_EXEC | (level >= 2 ? DTP_VERBOSE_CREATE : 0u);
}

/* DNNL_TP_VERBOSE: 0, 1, 2 or words joined by commas. */
static unsigned bits_of_text(const char *text) {
    static const struct {
        const char *word;
        unsigned bits;
    } words[] = {{"none", 0},
                 {"0", 0},
                 {"1", DTP_VERBOSE_ERROR | DTP_VERBOSE_EXEC},
                 {"2", DTP_VERBOSE_ERROR | DTP_VERBOSE_EXEC | DTP_VERBOSE_CREATE},
                 {"error", DTP_VERBOSE_ERROR},
                 {"check", DTP_VERBOSE_CHECK | DTP_VERBOSE_ERROR},
                 {"dispatch", DTP_VERBOSE_DISPATCH},
                 {"profile", DTP_VERBOSE_EXEC | DTP_VERBOSE_CREATE},
                 {"profile_exec", DTP_VERBOSE_EXEC},
                 {"profile_create", DTP_VERBOSE_CREATE},
                 {"timestamp", DTP_VERBOSE_TIMESTAMP},
                 {"all", 0x1f}};
    unsigned bits = 0;
    while (text && *text) {
        size_t n = strcspn(text, ",");
        for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
            if (strlen(words[i].word) == n && !strncmp(words[i].word, text, n)) bits |= words[i].bits;
        text += n + (text[n] == ',');
    }
    return bits;
}

unsigned dtp_verbose_read(void) {
    unsigned unread = DTP_VERBOSE_UNREAD, bits = bits_of_text(dtp_getenv("VERBOSE"));
    return atomic_compare_exchange_strong(&dtp_verbose_bits, &unread, bits) ? bits : unread;
}

dnnl_tp_status_t dnnl_tp_set_verbose(int level) {
    DTP_REQUIRE(level >= 0 && level <= 2, BAD_PARAM, "verbose level %d is outside 0..2", level);
    atomic_store(&dtp_verbose_bits, bits_of_level(level));
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_set_verbose_callback(void (*fn)(void *arg, const char *line), void *arg) {
    pthread_mutex_lock(&verbose_lock);
    verbose_fn = fn;
    verbose_arg = arg;
    pthread_mutex_unlock(&verbose_lock);
    return dnnl_tp_success;
}

static void forked_child(void) { /* who holds the lock does not exist there */
    verbose_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
static void watch_forks(void) { pthread_atfork(NULL, NULL, forked_child); }

static void write_line(double ms, const char *format, va_list args) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    char line[2048];
    int n = snprintf(line, sizeof line, "dnnl_tp_verbose,v1,");
    if (dtp_verbose_on(DTP_VERBOSE_TIMESTAMP)) n += snprintf(line + n, sizeof line - (size_t)n, "%.6f,", ms);
    vsnprintf(line + n, sizeof line - (size_t)n, format, args);
    pthread_mutex_lock(&verbose_lock);
    if (verbose_fn) verbose_fn(verbose_arg, line);
    else {
        fputs(line, stdout);
        fputc('\n', stdout);
        fflush(stdout);
    }
    pthread_mutex_unlock(&verbose_lock);
}

void dtp_verbose_line(const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_line(dtp_now_ms(), format, args);
    va_end(args);
}

void dtp_verbose_line_at(double begin_ms, const char *format, ...) {
    va_list args;
    va_start(args, format);
    write_line(begin_ms, format, args);
    va_end(args);
}

const char *dtp_getenv(const char *name) {
    char full[64];
    snprintf(full, sizeof full, "DNNL_TP_%s", name);
    return getenv(full);
}

double dtp_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
