/* Files that are complete or unchanged; see out_file.h. */
#include "common/base/out_file.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static dnnl_tp_status_t io_error(const dtp_out_file_t *out, dnnl_tp_status_t status) {
    return dtp_fail(status, out->reason, "%.200s: %s", out->path, strerror(errno));
}

static dnnl_tp_status_t set_names(dtp_out_file_t *out, const char *target) {
    static _Atomic unsigned count;
    enum { NUMBERS = 48 };
    size_t size = strlen(target) + 1;
    out->target = dtp_alloc(NULL, 2 * size + NUMBERS, 0);
    if (!out->target) return dtp_no_memory(2 * size + NUMBERS);
    out->now = out->target + size;
    memcpy(out->target, target, size);
    if (out->in_place) {
        memcpy(out->now, target, size);
    } else {
        unsigned k = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
        snprintf(out->now, size + NUMBERS, "%s.new.%ld.%u", target, (long)getpid(), k);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_out_init(dtp_out_file_t *out, const char *path, const char *suffix,
                              dtp_reason_t reason) {
    *out = (dtp_out_file_t){.reason = reason};
    size_t size = strlen(path) + strlen(suffix) + 1;
    out->path = dtp_alloc(NULL, size, 0);
    if (!out->path) return dtp_no_memory(size);
    snprintf(out->path, size, "%s%s", path, suffix);
    struct stat s, link;
    const bool is_there = !stat(out->path, &s);
    const bool is_link = !lstat(out->path, &link) && S_ISLNK(link.st_mode);
    /* A link to nothing: opening it makes its target. */
    out->in_place = is_there ? !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode) : is_link;
    if (!is_there || !S_ISREG(s.st_mode)) return set_names(out, out->path);
    if (access(out->path, W_OK)) return io_error(out, dnnl_tp_invalid_arguments);
    out->mode = s.st_mode & 07777;
    if (!is_link) return set_names(out, out->path);
    char *target = realpath(out->path, NULL);
    if (!target) return io_error(out, dnnl_tp_invalid_arguments);
    dnnl_tp_status_t status = set_names(out, target);
    free(target);
    return status;
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
    bool good = !fflush(f) && !ferror(f);
    if (good && !out->in_place) good = (!out->mode || !fchmod(fileno(f), out->mode)) && !fsync(fileno(f));
    int error = errno;
    if (fclose(f)) good = false, error = errno;
    errno = error;
    return good ? dnnl_tp_success : io_error(out, dnnl_tp_runtime_error);
}

dnnl_tp_status_t dtp_out_publish(dtp_out_file_t *out) {
    if (!out->written || out->in_place) return dnnl_tp_success;
    if (rename(out->now, out->target)) return io_error(out, dnnl_tp_runtime_error);
    out->published = true;
    return dnnl_tp_success;
}

void dtp_out_drop(dtp_out_file_t *out) {
    if (out->file) (void)fclose(out->file);
    if ((out->file || out->written) && !out->published && !out->in_place) (void)unlink(out->now);
    dtp_free(NULL, out->target);
    dtp_free(NULL, out->path);
    *out = (dtp_out_file_t){.reason = out->reason};
}
