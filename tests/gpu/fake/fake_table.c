/* The fake driver's calls as a table, and by their names. */
#include <string.h>

#include "gpu/fake/calls.h"

static const dtp_cu_t table = {
#define DTP_CU_CALL(name, version, args) .name = fake_##name,
#include "gpu/driver/cu_calls.inc"
};

static const struct {
    const char *name;
    int version;
    size_t at;
} calls[] = {
#define DTP_CU_CALL(name, version, args) {#name, version, offsetof(dtp_cu_t, name)},
#include "gpu/driver/cu_calls.inc"
};

const dtp_cu_t *fake_cuda_table(void) { return &table; }

/* How often each was called; behind them, those that are not of the table. */
enum { CALLS = sizeof calls / sizeof *calls };
static int64_t counts[CALLS + 1];

static int64_t *count_of(const char *call) {
    size_t i = 0;
    while (i < CALLS && strcmp(calls[i].name, call) != 0) ++i;
    return &counts[i];
}
void fake_count_locked(const char *call) { ++*count_of(call); }

int64_t fake_cuda_called(const char *call) {
    fake_lock();
    const int64_t n = *count_of(call);
    fake_unlock();
    return n;
}

dtp_cu_result_t fake_cuda_find(const char *name, void **call, int version, uint64_t flags, int *status) {
    *call = NULL;
    *status = 1;
    if (version > fake_cuda_driver_version() || flags & ~UINT64_C(3)) return DTP_CU_INVALID_VALUE;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        if (!strcmp(calls[i].name, name)) {
            *status = version < calls[i].version ? 2 : 0;
            if (!*status) memcpy(call, (const char *)&table + calls[i].at, sizeof *call);
        }
    return DTP_CU_SUCCESS;
}
