/* The fake driver's state: how calls begin and end, what fails on purpose, what is told; see fake_cuda.h. */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gpu/fake/fake.h"

struct fake_state fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .fail_at = -1, .fail_item_at = -1};
_Thread_local fake_thread_t fake_thread;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;

/* A thread ends: nothing may be current on it. */
static void end_of_thread(void *thread) {
    pthread_mutex_lock(&fake.lock);
    if (((fake_thread_t *)thread)->n) fake_wrong_locked("a thread ends with a context left current");
    if (((fake_thread_t *)thread)->capture_mode != DTP_CU_CAPTURE_GLOBAL)
        fake_wrong_locked("a thread ends, and its mode of captures is not restored");
    pthread_mutex_unlock(&fake.lock);
}

static void defaults_locked(void) {
    fake.random = 1;
    fake.devices = 1;
    fake.major = 9;
    fake.minor = 0;
    fake.driver_version = 13000;
    fake.multiprocessors = 132;
    fake.delay_us = 50;
    fake.memory_bytes = (size_t)1 << 30;
    fake.fail_at = fake.fail_item_at = -1;
    for (int i = 0; i < FAKE_MAX_DEVICES; ++i) fake.ctx[i] = (fake_ctx_t){.device = i};
}

static void first_use(void) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&fake.work, &attr);
    pthread_cond_init(&fake.host_work, &attr);
    pthread_cond_init(&fake.done, &attr);
    pthread_condattr_destroy(&attr);
    pthread_key_create(&thread_end, end_of_thread);
    defaults_locked();
}

void fake_lock(void) {
    pthread_once(&once, first_use);
    pthread_mutex_lock(&fake.lock);
}
void fake_unlock(void) { pthread_mutex_unlock(&fake.lock); }

void *fake_zalloc(size_t bytes) {
    void *p = calloc(1, bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "fake driver: no memory for itself\n");
        abort();
    }
    return p;
}

int64_t fake_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

uint64_t fake_random_locked(void) { /* splitmix64 */
    uint64_t x = fake.random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uintptr_t fake_handle_locked(void) {
    enum { STEP = 16 };
    return ((uintptr_t)0xfa4e << 44) + ++fake.handles * STEP;
}

void fake_merge(fake_clock_t *to, const fake_clock_t *from) {
    for (int i = 0; i < FAKE_MAX_STREAMS; ++i)
        if (to->of[i] < from->of[i]) to->of[i] = from->of[i];
}

/* ---- What is wrong ----------------------------------------------------------------------------------- */

static void tell_locked(const char *format, va_list args) {
    vsnprintf(fake.trap, sizeof fake.trap, format, args);
    fprintf(stderr, "fake driver: %s\n", fake.trap);
}

void fake_tell_locked(const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell_locked(format, args);
    va_end(args);
}

void fake_wrong_locked(const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell_locked(format, args);
    va_end(args);
    ++fake.wrongs;
}

bool fake_is_sticky(dtp_cu_result_t result) {
    switch (result) {
    case DTP_CU_ILLEGAL_ADDRESS:
    case DTP_CU_ECC_UNCORRECTABLE:
    case DTP_CU_NVLINK_UNCORRECTABLE:
    case DTP_CU_CONTAINED:
    case DTP_CU_TENSOR_MEMORY_LEAK:
    case DTP_CU_MPS_RPC_FAILURE:
    case DTP_CU_MPS_CLIENT_TERMINATED:
    case DTP_CU_EXTERNAL_DEVICE:
    case DTP_CU_LAUNCH_TIMEOUT:
    case DTP_CU_ASSERT:
    case DTP_CU_HARDWARE_STACK_ERROR:
    case DTP_CU_ILLEGAL_INSTRUCTION:
    case DTP_CU_MISALIGNED_ADDRESS:
    case DTP_CU_INVALID_ADDRESS_SPACE:
    case DTP_CU_INVALID_PC:
    case DTP_CU_LAUNCH_FAILED: return true;
    default: return false;
    }
}

void fake_poison_locked(fake_ctx_t *ctx, dtp_cu_result_t result) {
    if (ctx->sticky == DTP_CU_SUCCESS) ctx->sticky = result;
    pthread_cond_signal(&fake.work);
    pthread_cond_broadcast(&fake.done);
}

/* ---- How calls begin and end ------------------------------------------------------------------------- */

fake_ctx_t *fake_current(void) { return fake_thread.n ? fake_thread.current[fake_thread.n - 1] : NULL; }

void fake_watch_thread(void) { pthread_setspecific(thread_end, &fake_thread); }

/* Counts a call that can fail; is it this one that was told to? */
static bool fails_now_locked(void) {
    ++fake.calls;
    return fake.fail_at >= 0 && fake.fail_at-- == 0;
}

/* What a call answers before it looks at its arguments. */
static dtp_cu_result_t begin_locked(const char *call, unsigned needs) {
    fake_ctx_t *ctx = fake_current();
    if (needs & FAKE_NEEDS_INIT && !fake.initialised) return DTP_CU_NOT_INITIALIZED;
    if (needs & FAKE_NEEDS_CTX && !ctx) {
        fake_tell_locked("%s: no context is current", call);
        return DTP_CU_INVALID_CONTEXT;
    }
    if (needs & FAKE_CAN_FAIL && fails_now_locked()) {
        /* Without a current one the call tells of whichever context failed before. */
        for (int i = 0; i < FAKE_MAX_DEVICES && fake_is_sticky(fake.fail_with); ++i)
            if (!ctx || ctx == &fake.ctx[i]) fake_poison_locked(&fake.ctx[i], fake.fail_with);
        return fake.fail_with;
    }
    const bool looks = needs & (FAKE_NEEDS_CTX | FAKE_ANY_CTX) && !(needs & FAKE_RELEASES);
    if (looks && ctx && ctx->sticky) return ctx->sticky;
    return needs & FAKE_UNSAFE && fake_is_unsafe_locked(call) ? DTP_CU_STREAM_CAPTURE_UNSUPPORTED
                                                              : DTP_CU_SUCCESS;
}

dtp_cu_result_t fake_enter(const char *call, unsigned needs) {
    const pid_t pid = atomic_load(&fake.pid);
    if (pid && pid != getpid()) return DTP_CU_NOT_INITIALIZED; /* a child; the lock may be held for ever */
    fake_lock();
    fake_count_locked(call);
    dtp_cu_result_t result;
    if (fake_thread.in_host_fn) {
        fake_wrong_locked("%s is called inside a host function", call);
        result = DTP_CU_NOT_PERMITTED;
    } else result = begin_locked(call, needs);
    if (result != DTP_CU_SUCCESS) fake_unlock();
    return result;
}

dtp_cu_result_t fake_leave(dtp_cu_result_t result) {
    fake_unlock();
    return result;
}

/* Also after a call that releases something: a poisoned context answers its error. */
dtp_cu_result_t fake_leave_released(dtp_cu_result_t result) {
    const fake_ctx_t *ctx = fake_current();
    return fake_leave(result == DTP_CU_SUCCESS && ctx ? ctx->sticky : result);
}

/* ---- For tests --------------------------------------------------------------------------------------- */

void fake_cuda_reset(void) {
    fake_cuda_hold(false);
    fake_cuda_drain();
    fake_threads_stop();
    fake_lock();
    fake_captures_reset_locked();
    fake_streams_reset_locked();
    fake_modules_reset_locked();
    fake_pools_reset_locked();
    fake_memory_reset_locked();
    fake.initialised = false;
    atomic_store(&fake.pid, 0);
    memset(fake.clock, 0, sizeof fake.clock);
    memset(&fake.host, 0, sizeof fake.host);
    memset(&fake.stats, 0, sizeof fake.stats);
    memset(fake.submitted, 0, sizeof fake.submitted);
    memset(fake.completed, 0, sizeof fake.completed);
    fake.calls = fake.wrongs = 0;
    fake.ignored = NULL;
    fake.trap[0] = '\0';
    fake_thread = (fake_thread_t){.capture_mode = DTP_CU_CAPTURE_GLOBAL};
    defaults_locked();
    fake_unlock();
}

void fake_cuda_set_seed(uint64_t seed) {
    fake_lock();
    fake.random = seed;
    for (fake_stream_t *t = fake.streams; t; t = t->next) t->priority = fake_random_locked();
    fake_unlock();
}

void fake_cuda_set_devices(int n, int major, int minor) {
    fake_lock();
    fake.devices = n < FAKE_MAX_DEVICES ? n : FAKE_MAX_DEVICES;
    fake.major = major;
    fake.minor = minor;
    fake_unlock();
}

void fake_cuda_set_memory(size_t bytes) {
    fake_lock();
    fake.memory_bytes = bytes;
    fake_unlock();
}

void fake_cuda_set_driver_version(int version) {
    pthread_once(&once, first_use);
    atomic_store(&fake.driver_version, version);
}

void fake_cuda_set_multiprocessors(int n) {
    fake_lock();
    fake.multiprocessors = n;
    fake_unlock();
}

int fake_cuda_driver_version(void) { /* also in the child of a fork, where the lock may be held */
    pthread_once(&once, first_use);
    return atomic_load(&fake.driver_version);
}

void fake_cuda_set_delay(int us) {
    fake_lock();
    fake.delay_us = us;
    fake_unlock();
}

void fake_cuda_hold(bool hold) {
    fake_lock();
    fake.hold = hold;
    pthread_cond_signal(&fake.work);
    fake_unlock();
}

bool fake_cuda_fail(int64_t k, dtp_cu_result_t result) {
    fake_lock();
    const bool pending = fake.fail_at >= 0;
    fake.fail_at = k;
    fake.fail_with = result;
    fake_unlock();
    return pending;
}

bool fake_cuda_fail_item(int64_t k, dtp_cu_result_t result) {
    fake_lock();
    const bool pending = fake.fail_item_at >= 0;
    fake.fail_item_at = k;
    fake.fail_item_with = result;
    fake_unlock();
    return pending;
}

void fake_cuda_ignore(const char *call) {
    fake_lock();
    fake.ignored = call;
    fake_unlock();
}
bool fake_ignores_locked(const char *call) { return fake.ignored && !strcmp(fake.ignored, call); }

int64_t fake_cuda_calls(void) {
    fake_lock();
    const int64_t calls = fake.calls;
    fake_unlock();
    return calls;
}

bool fake_cuda_calls_host(void) { return fake_thread.in_host_fn; }

int fake_cuda_wrongs(void) {
    fake_lock();
    const int wrongs = fake.wrongs;
    fake_unlock();
    return wrongs;
}

const char *fake_cuda_trap(void) {
    static _Thread_local char text[sizeof fake.trap];
    fake_lock();
    memcpy(text, fake.trap, sizeof text);
    fake_unlock();
    return text;
}
