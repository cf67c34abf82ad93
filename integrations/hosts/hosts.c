/* See hosts.h. */
#include "hosts/hosts.h"

#include <string.h>

extern const host_t host_std_thread, host_std_thread_clean, host_tbb, host_tbb_limited, host_eigen,
    host_openmp;

const host_t *const hosts[] = {&host_std_thread,
                               &host_std_thread_clean,
#if HOSTS_WITH_TBB
                               &host_tbb,
                               &host_tbb_limited,
#endif
#if HOSTS_WITH_EIGEN
                               &host_eigen,
#endif
#if HOSTS_WITH_OPENMP
                               &host_openmp,
#endif
                               NULL};

const host_t *host_by_name(const char *name) {
    for (const host_t *const *h = hosts; *h; ++h)
        if (!strcmp((*h)->name, name)) return *h;
    return NULL;
}
