/* Error texts, allocation and verbose lines; see base.h. */
#include "common/base/base.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "common/base/with.h"

uint64_t dtp_hash_bytes(const void *data, size_t size) {
    const uint8_t *p = data;
    uint64_t h = 0xcbf29ce484222325u;
    for (; size >= 8; p += 8, size -= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = (h ^ w) * 0x100000001b3u;
        h ^= h >> 32;
    }
    for (; size; --size) h = (h ^ *p++) * 0x100000001b3u;
    return h;
}

/* ---- Last error -------------------------------------------------------------------------------------- */

static const char *const reason_texts[DTP_REASON_COUNT] = {
#define DTP_REASON(id, text) [DTP_##id] = text,
#include "common/base/reasons.inc"
#undef DTP_REASON
};

/* The first of the library's two thread-locals. It is small, because a library that is loaded late shares little
 * more than a kilobyte of static thread-local memory with all others. */
enum { LAST_TEXT = 512, LAST_GRAPH = 48 };
static _Thread_local struct {
    dtp_reason_t reason;
    dnnl_tp_status_t said; /* text is the program's, about this status; else success */
    const char *function;  /* public function that failed, or NULL */
    int head; /* bytes of text that name function and graph: dnnl_tp_last_error() put them there */
    char graph[LAST_GRAPH]; /* the graph that it failed for; "": none, or without a name */
    char text[LAST_TEXT];   /* "" = the reason's own */
} last_error;

const char *dtp_reason_text(dtp_reason_t reason) {
    return (unsigned)reason < DTP_REASON_COUNT ? reason_texts[reason] : "unknown reason";
}

dtp_reason_t dtp_last_reason(void) { return last_error.reason; }

dnnl_tp_status_t dtp_wait_answer(dnnl_tp_status_t status, dnnl_tp_status_t *result) {
    if (!result) return status;
    const bool is_of_work = status != dnnl_tp_success && last_error.reason == DTP_ITEM_FAILED;
    *result = is_of_work ? status : dnnl_tp_success;
    return is_of_work ? dnnl_tp_success : status;
}

const char *dtp_last_text(void) {
    if (!last_error.text[0] && last_error.reason != DTP_NO_REASON) return dtp_reason_text(last_error.reason);
    return last_error.text + last_error.head;
}

const char *dtp_last_detail(void) {
    const char *text = dtp_last_text(), *head = dtp_reason_text(last_error.reason);
    size_t n = strlen(head);
    if (strncmp(text, head, n) != 0) return text;
    return text[n] == ':' ? text + n + 2 : text + n;
}

const char *dnnl_tp_last_error(void) {
    if (!last_error.function) return dtp_last_text();
    if (last_error.head) return last_error.text;
    char text[LAST_TEXT];
    const char *graph = last_error.graph;
    int head = snprintf(text, sizeof text, "%.100s: %s%s%s", last_error.function, *graph ? "graph '" : "",
                        graph, *graph ? "': " : "");
    snprintf(text + head, sizeof text - (size_t)head, "%s", dtp_last_text());
    memcpy(last_error.text, text, sizeof text);
    last_error.head = head;
    return last_error.text;
}

static void drop_head(void) {
    if (!last_error.head) return;
    memmove(last_error.text, last_error.text + last_error.head,
            strlen(last_error.text + last_error.head) + 1);
    last_error.head = 0;
}

void dtp_failed_in(const char *function) {
    drop_head();
    last_error.function = function;
}

static void set_last(dtp_reason_t reason, dnnl_tp_status_t said, const char *text) {
    last_error.reason = reason;
    last_error.said = said;
    last_error.function = NULL;
    last_error.graph[0] = 0;
    last_error.head = 0;
    memcpy(last_error.text, text, strlen(text) + 1);
}

void dtp_failed_for(const char *graph) {
    drop_head();
    snprintf(last_error.graph, sizeof last_error.graph, "%s", graph ? graph : "");
}

/* The arguments may point into the text that is replaced. */
static void set_text(dtp_reason_t reason, const char *format, va_list args) {
    char text[LAST_TEXT];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", dtp_reason_text(reason));
    if (format[0] && n + 3 < sizeof text) {
        memcpy(text + n, ": ", 3);
        vsnprintf(text + n + 2, sizeof text - n - 2, format, args);
    }
    set_last(reason, dnnl_tp_success, text);
}

dnnl_tp_status_t dtp_answer(dnnl_tp_status_t status, dtp_reason_t reason, const char *format, ...) {
    va_list args;
    va_start(args, format);
    set_text(reason, format, args);
    va_end(args);
    return status;
}

dnnl_tp_status_t dtp_fail(dnnl_tp_status_t status, dtp_reason_t reason, const char *format, ...) {
    va_list args;
    va_start(args, format);
    set_text(reason, format, args);
    va_end(args);
    if (dtp_verbose_on(DTP_VERBOSE_ERROR)) dtp_verbose_line("error,%d,%s", (int)status, last_error.text);
    return status;
}

dnnl_tp_status_t dtp_refuse(dtp_reason_t reason) {
    set_last(reason, dnnl_tp_success, "");
    return dnnl_tp_unimplemented;
}

dnnl_tp_status_t dnnl_tp_fail(dnnl_tp_status_t status, const char *text) {
    if (status == dnnl_tp_success) return status;
    char copy[LAST_TEXT]; /* text may be what dnnl_tp_last_error() gave */
    snprintf(copy, sizeof copy, "%s", text ? text : "");
    set_last(DTP_SAID, status, copy);
    return status;
}

const char *dtp_said(dnnl_tp_status_t status) {
    if (status == dnnl_tp_success || last_error.said != status) return NULL;
    last_error.said = dnnl_tp_success;
    return dtp_last_text();
}

dnnl_tp_status_t dtp_no_memory(size_t bytes) {
    return dtp_fail(dnnl_tp_out_of_memory, DTP_NO_MEMORY, "%zu bytes wanted", bytes);
}

#define STATUS(name) \
    case dnnl_tp_##name: return #name
const char *dnnl_tp_status2str(dnnl_tp_status_t v) {
    switch (v) {
        STATUS(success);
        STATUS(out_of_memory);
        STATUS(invalid_arguments);
        STATUS(unimplemented);
        STATUS(last_impl_reached);
        STATUS(runtime_error);
        STATUS(not_required);
        STATUS(invalid_graph);
        STATUS(invalid_graph_op);
        STATUS(invalid_shape);
        STATUS(invalid_data_type);
        STATUS(would_deadlock);
        STATUS(timed_out);
        STATUS(cancelled);
        STATUS(deadline_exceeded);
        STATUS(poisoned);
    }
    return "unknown status";
}
#undef STATUS

/* ---- Allocation -------------------------------------------------------------------------------------- */

/* Processor time of the thread: a busy machine takes the processor away, which tells nothing about
 * pages. */
static double spent_ms(void) {
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Memory that is filled next gets large pages: one fault in place of 512, and weights that come
 * from memory are read 1.4 times as fast. But a virtual machine whose host takes free memory back
 * gets each large page anew, in five times the time of small ones. So each page is touched here,
 * and after one that took too long the process' next RESTING ones are filled with small pages,
 * which the system may join later, in the background. */
static void take_large_pages(volatile char *p, size_t size) {
    enum { TOO_LONG_MS = 2, RESTING = 64, SMALL_PAGE = 4096 };
    static _Atomic int resting;
    for (size_t at = 0; at + DTP_LARGE_PAGE <= size; at += DTP_LARGE_PAGE) {
        const bool rests = atomic_load_explicit(&resting, memory_order_relaxed) > 0;
        if (rests) {
            atomic_fetch_sub_explicit(&resting, 1, memory_order_relaxed);
            for (size_t i = 0; i < DTP_LARGE_PAGE; i += SMALL_PAGE) p[at + i] = 0;
        }
        if (madvise((void *)(uintptr_t)(p + at), DTP_LARGE_PAGE, MADV_HUGEPAGE)) return;
        if (rests) continue;
        const double begin_ms = spent_ms();
        p[at] = 0;
        if (spent_ms() - begin_ms > TOO_LONG_MS)
            atomic_store_explicit(&resting, RESTING, memory_order_relaxed);
    }
}

/* Memory of which the alignment of large pages is asked is filled by its owner. */
static void *default_alloc(void *ctx, size_t size, size_t alignment) {
    (void)ctx;
    void *ptr = NULL;
    if (posix_memalign(&ptr, alignment, size)) return NULL;
    if (DTP_WITH_LARGE_PAGES && alignment >= DTP_LARGE_PAGE) take_large_pages(ptr, size);
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

/* ---- Environment ------------------------------------------------------------------------------------- */

/* All that is read, by the library and by its programs; doc/variables.md explains them. */
static bool variable_is_known(const char *name, size_t n) {
    static const char *const known[] = {"VERBOSE",
                                        "PRIMITIVE_CACHE_CAPACITY",
                                        "DEFAULT_FPMATH_MODE",
                                        "MAX_CPU_ISA",
                                        "CUDA_PATH",
                                        "CUBLASLT",
                                        "NVTX",
                                        "PEER_ONEDNN"};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (strlen(known[i]) == n && !strncmp(known[i], name, n)) return true;
    return false;
}

const char *dtp_getenv(const char *name) {
    char full[64];
    assert(variable_is_known(name, strlen(name)));
    snprintf(full, sizeof full, "DNNL_TP_%s", name);
    return getenv(full);
}

int dtp_getenv_word(const char *name, const char *const *words, int n, int otherwise) {
    const char *text = dtp_getenv(name);
    if (!text || !*text) return otherwise;
    for (int i = 0; i < n; ++i)
        if (!strcmp(text, words[i])) return i;
    if (dtp_verbose_on(~0u)) {
        char known[512] = "";
        size_t at = 0;
        for (int i = 0; i < n && at < sizeof known; ++i)
            at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", words[i]);
        dtp_verbose_line("error,%d,DNNL_TP_%s=%.40s is ignored: it is none of %s",
                         (int)dnnl_tp_invalid_arguments, name, text, known);
    }
    return otherwise;
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

static const struct {
    const char *word;
    unsigned bits;
} verbose_words[] = {{"none", 0},
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
enum { VERBOSE_WORDS = sizeof verbose_words / sizeof *verbose_words };

static int verbose_word(const char *text, size_t n) {
    for (int i = 0; i < VERBOSE_WORDS; ++i)
        if (strlen(verbose_words[i].word) == n && !strncmp(verbose_words[i].word, text, n)) return i;
    return -1;
}

/* DNNL_TP_VERBOSE: 0, 1, 2 or words joined by commas. */
static unsigned bits_of_text(const char *text) {
    unsigned bits = 0;
    while (text && *text) {
        size_t n = strcspn(text, ",");
        int i = verbose_word(text, n);
        if (i >= 0) bits |= verbose_words[i].bits;
        text += n + (text[n] == ',');
    }
    return bits;
}

/* Who sets DNNL_TP_VERBOSE wants to read: words of it that mean nothing, and variables that nobody reads. */
static void say_unknown(const char *text) {
    extern char **environ;
    for (const char *p = text; p && *p;) {
        size_t n = strcspn(p, ",");
        if (n && verbose_word(p, n) < 0)
            dtp_verbose_line(
                "error,%d,DNNL_TP_VERBOSE: the word '%.*s' is unknown; doc/variables.md has them all",
                (int)dnnl_tp_invalid_arguments, (int)(n < 40 ? n : 40), p);
        p += n + (p[n] == ',');
    }
    for (char **e = environ; text && *text && e && *e; ++e) {
        static const char prefix[] = "DNNL_TP_";
        if (strncmp(*e, prefix, sizeof prefix - 1)) continue;
        const char *name = *e + sizeof prefix - 1;
        size_t n = strcspn(name, "=");
        if (!variable_is_known(name, n))
            dtp_verbose_line(
                "error,%d,the variable DNNL_TP_%.*s means nothing; doc/variables.md has them all",
                (int)dnnl_tp_invalid_arguments, (int)(n < 40 ? n : 40), name);
    }
}

unsigned dtp_verbose_read(void) {
    const char *text = dtp_getenv("VERBOSE");
    unsigned unread = DTP_VERBOSE_UNREAD, bits = bits_of_text(text);
    if (!atomic_compare_exchange_strong(&dtp_verbose_bits, &unread, bits)) return unread;
    say_unknown(text);
    return bits;
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

double dtp_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
