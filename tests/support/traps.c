/* See traps.h. */
#include "support/traps.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/tensor.h"

#if DTP_X64 && defined(__linux__) && !defined(__SANITIZE_THREAD__)
#define HAS_TRAPS 1
#include <dlfcn.h>
#include <immintrin.h>
#include <sched.h>
#include <ucontext.h>
#include <unistd.h>
#else
#define HAS_TRAPS 0
#endif

/* ---- Spoilt memory --------------------------------------------------------------------------- */

void traps_spoil(void *data, size_t bytes) {
    static const unsigned char signaling[4] = {0xa0, 0x7d, 0xa0, 0x7f};
    unsigned char *p = data;
    for (; bytes && (uintptr_t)p % 4; --bytes, ++p) *p = signaling[(uintptr_t)p % 4];
    for (; bytes >= 4; bytes -= 4, p += 4) memcpy(p, signaling, 4);
    for (size_t i = 0; i < bytes; ++i) p[i] = signaling[i];
}

/* What an element is, of the exponent with all bits set: 0 another number, 1 infinite, 2 NaN. */
static int class_at(dnnl_tp_data_type_t type, const void *p) {
    const int bits = (int)dtp_type_size(type) * 8, fraction = type == dnnl_tp_f16    ? 10
                                                              : type == dnnl_tp_bf16 ? 7
                                                              : type == dnnl_tp_f32  ? 23
                                                              : type == dnnl_tp_f64  ? 52
                                                                                     : 0;
    if (!fraction) return 0;
    uint64_t x = 0;
    memcpy(&x, p, dtp_type_size(type));
    const uint64_t infinite = (UINT64_C(1) << (bits - 1)) - (UINT64_C(1) << fraction);
    x &= (UINT64_C(1) << (bits - 1)) - 1;
    return x < infinite ? 0 : x == infinite ? 1 : 2;
}

bool traps_ordinary_run(dnnl_tp_data_type_t type, const void *data, size_t bytes, bool is_input) {
    const size_t size = dtp_type_size(type);
    for (size_t i = 0; size && i + size <= bytes; i += size)
        if (class_at(type, (const char *)data + i) > is_input) return false;
    return true;
}

bool traps_ordinary(const dtp_md_t *md, const void *data, bool is_input) {
    const size_t size = dtp_type_size(md->data_type);
    const char *p = data;
    if (md->ndims == 0 || !dtp_md_nelems(md) || md->format_kind != dnnl_tp_blocked) return true;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (traps_ordinary_run(md->data_type, p + (size_t)md->offset0 * size, dtp_md_size(md), is_input))
        return true;
    do /* gaps between elements may hold anything */
        if (class_at(md->data_type, p + (size_t)tensor_offset(md, pos) * size) > is_input) return false;
    while (tensor_next(md, pos));
    return true;
}

#if HAS_TRAPS

static void *spoilt_alloc(void *ctx, size_t size, size_t alignment) {
    (void)ctx;
    void *ptr = NULL;
    if (posix_memalign(&ptr, alignment, size)) return NULL;
    traps_spoil(ptr, size);
    return ptr;
}
static void spoilt_free(void *ctx, void *ptr) {
    (void)ctx;
    free(ptr);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

enum {
    MOST = 32,
    MOST_MUTED = 256,
    MASKS = 0x1f80,
    FLAGS = 0x3f,
    SINGLE_STEP = 0x100,
    SPOILT_STACK = 1 << 16
};
static const unsigned trapped = _MM_MASK_INVALID | _MM_MASK_DIV_ZERO | _MM_MASK_OVERFLOW;
static _Atomic int watched, faults;
static struct {
    int code;
    const char *at;
} fault[MOST];
/* Threads whose arithmetic traps no longer, since it did while nothing was watched or too often:
 * it would take hours. */
static pid_t muted[MOST_MUTED];
static _Atomic int nmuted, unmuted;

static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)sig;
    ucontext_t *c = context;
    if (info->si_code == SI_TKILL) { /* from unmute */
        c->uc_mcontext.fpregs->mxcsr &= ~(trapped | FLAGS);
        atomic_fetch_add(&unmuted, 1);
        return;
    }
    c->uc_mcontext.fpregs->mxcsr |= MASKS;
    const int n = atomic_load(&watched) ? atomic_fetch_add(&faults, 1) : MOST;
    if (n < MOST) {
        fault[n].code = info->si_code;
        fault[n].at = (const char *)c->uc_mcontext.gregs[REG_RIP];
        c->uc_mcontext.gregs[REG_EFL] |= SINGLE_STEP;
    } else {
        const int k = atomic_fetch_add(&nmuted, 1);
        if (k < MOST_MUTED) muted[k] = gettid();
    }
}
/* Behind the instruction that faulted. */
static void on_step(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info;
    ucontext_t *c = context;
    c->uc_mcontext.fpregs->mxcsr &= ~(trapped | FLAGS);
    c->uc_mcontext.gregs[REG_EFL] &= ~SINGLE_STEP;
}

/* 0: none, 1: faults fail, 2: they are printed alone. */
static int mode(void) {
    const char *text = getenv("DNNL_TP_TEST_TRAPS");
    return !text ? 1 : !strcmp(text, "report") ? 2 : strcmp(text, "0") != 0;
}

/* Again each time: cmocka takes SIGFPE for each of its tests. */
static void install(void) {
    struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (sigaction(SIGFPE, &a, NULL)) abort();
    a.sa_sigaction = on_step;
    if (sigaction(SIGTRAP, &a, NULL)) abort();
}

void traps_enter(void) {
    static _Atomic int spoils;
    if (!mode()) return;
    install();
    const dnnl_tp_allocator_t spoilt = {sizeof spoilt, NULL, spoilt_alloc, spoilt_free};
    if (!atomic_exchange(&spoils, 1) && dnnl_tp_set_allocator(&spoilt)) {
        /* Some object exists: memory stays as it is. */
    }
    _mm_setcsr(_mm_getcsr() & ~(trapped | FLAGS));
}
void traps_leave(void) { _mm_setcsr(_mm_getcsr() | MASKS); }

static __attribute__((noinline)) void spoil_stack(void) {
    char room[SPOILT_STACK];
    traps_spoil(room, sizeof room);
    __asm__ volatile("" ::"r"(room) : "memory");
}

/* Of those that live. */
static void unmute(void) {
    const int n = atomic_exchange(&nmuted, 0);
    int sent = 0;
    atomic_store(&unmuted, 0);
    for (int i = 0; i < n && i < MOST_MUTED; ++i)
        if (muted[i] != gettid()) sent += !tgkill(getpid(), muted[i], SIGFPE);
    while (atomic_load(&unmuted) < sent) sched_yield();
}

void traps_begin(bool is_ordinary) {
    if (!mode()) return;
    install();
    if (!is_ordinary) return;
    spoil_stack();
    unmute();
    atomic_store(&faults, 0);
    atomic_store(&watched, 1);
    traps_enter();
}

static const char *name_of(int code) {
    return code == FPE_FLTINV   ? "invalid"
           : code == FPE_FLTDIV ? "divide-by-zero"
           : code == FPE_FLTOVF ? "overflow"
                                : "another exception";
}

bool traps_end(const char *what) {
    if (!mode() || !atomic_load(&watched)) return true;
    traps_leave();
    atomic_store(&watched, 0);
    const int n = atomic_load(&faults);
    if (!n || !what) return true;
    fprintf(stderr, "%s: %d floating-point exceptions\n", what, n);
    for (int i = 0; i < n && i < MOST; ++i) {
        int k = 0;
        while (k < i && fault[k].at != fault[i].at) ++k;
        Dl_info in = {0};
        if (k < i || !dladdr(fault[i].at, &in)) continue;
        fprintf(stderr, "  %s: addr2line -ife %s 0x%zx\n", name_of(fault[i].code), in.dli_fname,
                (size_t)(fault[i].at - (const char *)in.dli_fbase));
    }
    return mode() == 2;
}
#else
void traps_enter(void) {}
void traps_leave(void) {}
void traps_begin(bool is_ordinary) { (void)is_ordinary; }
bool traps_end(const char *what) {
    (void)what;
    return true;
}
#endif
