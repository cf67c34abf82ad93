/* Errors, memory, files and time for the rest of the program. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int se_fail(se_error_t *error, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    /* Names from a hostile file may hold anything: the message stays one printable line. */
    for (char *p = error->text; *p; ++p)
        if ((unsigned char)*p < ' ' || *p == 0x7f) *p = '?';
    return -1;
}

int se_fail_memory(se_error_t *error) { return se_fail(error, "out of memory"); }

static se_mem_hooks_t mem = {malloc, free};

void se_mem_set_hooks(const se_mem_hooks_t *hooks) { mem = hooks ? *hooks : (se_mem_hooks_t){malloc, free}; }

void *se_alloc(size_t bytes) { return mem.alloc(bytes ? bytes : 1); }

void *se_zalloc(size_t bytes) {
    void *p = se_alloc(bytes);
    if (p) memset(p, 0, bytes);
    return p;
}

void *se_alloc_array(size_t n, size_t bytes) {
    size_t total;
    if (__builtin_mul_overflow(n, bytes, &total)) return NULL;
    return se_alloc(total);
}

void se_free(void *ptr) {
    if (ptr) mem.free(ptr);
}

int se_grow(void **array, size_t *cap, size_t need, size_t bytes, se_error_t *error) {
    if (need <= *cap) return 0;
    size_t n = *cap ? *cap : 16;
    while (n < need) n *= 2;
    void *p = se_alloc_array(n, bytes);
    if (!p) return se_fail_memory(error);
    if (*cap) memcpy(p, *array, *cap * bytes);
    se_free(*array);
    *array = p;
    *cap = n;
    return 0;
}

char *se_strdup(const char *s) {
    size_t n = strlen(s) + 1;
    char *p = se_alloc(n);
    if (p) memcpy(p, s, n);
    return p;
}

static int read_to_end(se_file_t *file, int fd, const char *path, size_t max_bytes, se_error_t *error) {
    void *data = NULL;
    size_t size = 0, cap = 0;
    for (;;) {
        if (se_grow(&data, &cap, size + 65536, 1, error)) goto fail;
        ssize_t got = read(fd, (char *)data + size, cap - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            se_fail(error, "%s: cannot read: %s", path, strerror(errno));
            goto fail;
        }
        if (got == 0) break;
        size += (size_t)got;
        if (size > max_bytes) {
            se_fail(error, "%s: more than %zu bytes", path, max_bytes);
            goto fail;
        }
    }
    *file = (se_file_t){data, size, 0};
    if (size == 0) { /* close frees nothing then */
        file->data = (const unsigned char *)"";
        se_free(data);
    }
    return 0;
fail:
    se_free(data);
    return -1;
}

int se_file_open(se_file_t *file, const char *path, size_t max_bytes, se_error_t *error) {
    *file = (se_file_t){0};
    if (!strcmp(path, "-")) return read_to_end(file, STDIN_FILENO, "standard input", max_bytes, error);
    int fd = open(path, O_RDONLY | O_CLOEXEC), status = -1;
    struct stat st;
    if (fd < 0) return se_fail(error, "%s: cannot open: %s", path, strerror(errno));
    if (fstat(fd, &st)) {
        se_fail(error, "%s: cannot stat: %s", path, strerror(errno));
    } else if (S_ISDIR(st.st_mode)) {
        se_fail(error, "%s: is a folder, a file is needed", path);
    } else if (!S_ISREG(st.st_mode)) {
        status = read_to_end(file, fd, path, max_bytes, error);
    } else if ((uint64_t)st.st_size > max_bytes) {
        se_fail(error, "%s: %lld bytes, at most %zu are accepted", path, (long long)st.st_size, max_bytes);
    } else if (st.st_size == 0) {
        file->data = (const unsigned char *)"";
        status = 0;
    } else {
        void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            se_fail(error, "%s: cannot map: %s", path, strerror(errno));
        } else {
            *file = (se_file_t){map, (size_t)st.st_size, 1};
            status = 0;
        }
    }
    close(fd);
    return status;
}

void se_file_close(se_file_t *file) {
    if (file->mapped) munmap((void *)(uintptr_t)file->data, file->size);
    else if (file->size) se_free((void *)(uintptr_t)file->data);
    *file = (se_file_t){0};
}

char *se_path(const char *dir, const char *name, se_error_t *error) {
    size_t n = strlen(dir) + strlen(name) + 2;
    char *path = se_alloc(n);
    if (!path) se_fail_memory(error);
    else snprintf(path, n, "%s/%s", dir, name);
    return path;
}

int64_t se_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
