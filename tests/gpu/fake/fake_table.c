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

dtp_cu_result_t fake_cuda_find(const char *name, void **call, int version, uint64_t flags, int *status) {
    *call = NULL;
    *status = 1;
    fake_lock();
    const bool too_new = version > fake.driver_version;
    fake_unlock();
    if (too_new || flags & ~UINT64_C(3)) return DTP_CU_INVALID_VALUE;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i)
        if (!strcmp(calls[i].name, name)) {
            *status = version < calls[i].version ? 2 : 0;
            if (!*status) memcpy(call, (const char *)&table + calls[i].at, sizeof *call);
        }
    return DTP_CU_SUCCESS;
}
