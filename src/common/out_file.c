/* Files that are complete or unchanged; see out_file.h. */
#include "common/out_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static dnnl_tp_status_t io_error(const dtp_out_file_t *out, dnnl_tp_status_t status) {
    return dtp_fail(status, out->reason, "%.200s: %s", out->path, strerror(errno));
}

dnnl_tp_status_t dtp_out_init(dtp_out_file_t *out, const char *path, const char *suffix,
                              dtp_reason_t reason) {
    static _Atomic unsigned count;
    enum { NUMBERS = 48 };
    *out = (dtp_out_file_t){.reason = reason};
    size_t size = strlen(path) + strlen(suffix) + NUMBERS;
    out->path = dtp_alloc(NULL, 2 * size, 0);
    if (!out->path) return dtp_no_memory(2 * size);
    out->now = out->path + size;
    unsigned k = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    snprintf(out->path, size, "%s%s", path, suffix);
    snprintf(out->now, size, "%s%s.new.%ld.%u", path, suffix, (long)getpid(), k);
    struct stat s;
    out->in_place = !stat(out->path, &s) && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
    if (out->in_place) memcpy(out->now, out->path, strlen(out->path) + 1);
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_out_open(dtp_out_file_t *out) {
    out->file = fopen(out->now, "wbe");
    return out->file ? dnnl_tp_success : io_error(out, dnnl_tp_invalid_arguments);
}

dnnl_tp_status_t dtp_out_finish(dtp_out_file_t *out) {
    FILE *f = out->file;
    if (!f) return dnnl_tp_success;
    out->file = NULL;
    out->written = true;
    bool good = !fflush(f) && !ferror(f) && (out->in_place || !fsync(fileno(f)));
    int error = errno;
    if (fclose(f)) good = false, error = errno;
    errno = error;
    return good ? dnnl_tp_success : io_error(out, dnnl_tp_runtime_error);
}

dnnl_tp_status_t dtp_out_publish(dtp_out_file_t *out) {
    if (!out->written || out->in_place) return dnnl_tp_success;
    if (rename(out->now, out->path)) return io_error(out, dnnl_tp_runtime_error);
    out->published = true;
    return dnnl_tp_success;
}

void dtp_out_drop(dtp_out_file_t *out) {
    if (out->file) (void)fclose(out->file);
    if ((out->file || out->written) && !out->published && !out->in_place) (void)unlink(out->now);
    dtp_free(NULL, out->path);
    *out = (dtp_out_file_t){.reason = out->reason};
}
