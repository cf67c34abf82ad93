/* Files of external data: mapped once, only from inside of the base folder, or of a cache's store. */
#define _GNU_SOURCE /* O_PATH and friends are not standard C */
#include "onnx/model.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

dnnl_tp_status_t dtp_onnx_map(const char *path, int fd, const uint8_t **data, size_t *size) {
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return dtp_onnx_fail(dnnl_tp_runtime_error, "%s is not a regular file", path);
    *size = (size_t)st.st_size;
    *data = NULL;
    if (!*size) return dnnl_tp_success;
    void *p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return dtp_onnx_fail(dnnl_tp_runtime_error, "%s cannot be mapped: %s", path, strerror(errno));
    *data = p;
    return dnnl_tp_success;
}

/* Does a path name something outside of the folder that it begins in? */
static bool climbs(const char *path) {
    enum { UP = 2 };
    for (const char *p = path; (p = strstr(p, "..")); p += UP)
        if ((p == path || p[-1] == '/') && (!p[UP] || p[UP] == '/')) return true;
    return false;
}

/* Is the file that was opened, not a name for it, inside of the base folder? Caches of models keep all files in one
 * store, and folders of links to them: what lies beside the model's own file there is as good, if links lead to it. */
static bool is_allowed(const dnnl_tp_onnx_model_t m, int fd, const char *location) {
    char link[64], path[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0) return false;
    path[n] = 0;
    const size_t length = strlen(m->base_folder);
    if (!strcmp(m->base_folder, "/") || (!strncmp(path, m->base_folder, length) && path[length] == '/'))
        return true;
    char *slash = strrchr(path, '/');
    if (!m->store || !slash || climbs(location)) return false;
    *slash = 0;
    return !strcmp(path, m->store);
}

/* What is wrong with a file, as a text of the model. Returns status, or out_of_memory. */
static dnnl_tp_status_t wrong(dnnl_tp_onnx_model_t m, dnnl_tp_status_t status, const char *location,
                              const char *what, const char **why) {
    enum { LONGEST = 120 };
    char text[DTP_ONNX_NAME];
    const int n = snprintf(text, sizeof text, "its file of external data '%.*s' %s", LONGEST, location, what);
    char *copy = dtp_import_alloc(&m->memory, (size_t)n + 1);
    if (!copy) return dnnl_tp_out_of_memory;
    *why = strcpy(copy, text);
    return status;
}

static dnnl_tp_status_t open_file(dnnl_tp_onnx_model_t m, const char *location, dtp_onnx_file_t **file,
                                  const char **why) {
    char text[DTP_ONNX_NAME / 2];
    for (*file = m->files; *file; *file = (*file)->next)
        if (!strcmp((*file)->location, location)) return dnnl_tp_success;
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", m->base_folder, location);
    if (n < 0 || n >= (int)sizeof path)
        return wrong(m, dnnl_tp_invalid_graph, location, "has too long a name", why);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not stop us */
    if (fd < 0) {
        (void)snprintf(text, sizeof text, "cannot be opened: %s", strerror(errno));
        return wrong(m, dnnl_tp_runtime_error, location, text, why);
    }
    dtp_onnx_file_t *f = dtp_import_alloc(&m->memory, sizeof *f);
    char *copy = dtp_import_alloc(&m->memory, (size_t)n + 1);
    dnnl_tp_status_t status = f && copy ? dnnl_tp_success : dnnl_tp_out_of_memory;
    if (!status && !is_allowed(m, fd, location))
        status = wrong(m, dnnl_tp_invalid_graph, location, "lies outside of the base folder", why);
    if (!status && dtp_onnx_map(location, fd, &f->data, &f->size))
        status = wrong(m, dnnl_tp_runtime_error, location, "cannot be mapped", why);
    (void)close(fd);
    if (status) return status;
    f->location = location;
    f->path = strcpy(copy, path);
    f->next = m->files;
    m->files = *file = f;
    return dnnl_tp_success;
}

/* A number that is not negative, and nothing else. */
static bool number(const char *text, uint64_t *value) {
    *value = 0;
    if (!*text) return false;
    for (; *text; ++text) {
        enum { TEN = 10 };
        if (*text < '0' || *text > '9') return false;
        if (__builtin_mul_overflow(*value, (uint64_t)TEN, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*text - '0'), value))
            return false;
    }
    return true;
}

dnnl_tp_status_t dtp_onnx_external(dnnl_tp_onnx_model_t m, const tensor_proto_t *x, const uint8_t **data,
                                   size_t *size, const char **why) {
    const char *location = NULL;
    uint64_t offset = 0, length = 0;
    bool has_length = false;
    *why = "an entry of its external data is wrong";
    for (size_t i = 0; i < x->n_external_data; ++i) {
        const char *key = x->external_data[i]->key, *value = x->external_data[i]->value;
        if (!key || !value) return dnnl_tp_invalid_graph;
        if (!strcmp(key, "location")) location = value;
        else if (!strcmp(key, "offset")) {
            if (!number(value, &offset)) return dnnl_tp_invalid_graph;
        } else if (!strcmp(key, "length")) {
            if (!number(value, &length)) return dnnl_tp_invalid_graph;
            has_length = true;
        } else if (strcmp(key, "checksum")) {
            return dnnl_tp_invalid_graph;
        }
    }
    if (!location || !*location || *location == '/') return dnnl_tp_invalid_graph;
    *why = "it has external data, and no base folder was given";
    if (!m->base_folder) return dnnl_tp_invalid_arguments;
    dtp_onnx_file_t *file;
    const dnnl_tp_status_t status = open_file(m, location, &file, why);
    if (status) return status;
    if (offset > file->size || (has_length && length > file->size - offset)) {
        char text[DTP_ONNX_NAME / 2];
        (void)snprintf(text, sizeof text, "ends at byte %zu, before the data do: it was cut off", file->size);
        return wrong(m, dnnl_tp_invalid_graph, location, text, why);
    }
    *data = file->data + offset;
    *size = has_length ? (size_t)length : file->size - (size_t)offset;
    return dnnl_tp_success;
}
