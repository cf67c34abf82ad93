/* See output.h. */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#define NPY_ALIGN 64
#define NPY_PREFIX 10 /* magic, version, length */

int se_output_open(se_output_t *out, const char *path, se_error_t *error) {
    static const char suffix[] = ".tmp.XXXXXX";
    *out = (se_output_t){0};
    struct stat st;
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) return se_fail(error, "%s: is a folder", path);
    out->path = se_strdup(path);
    out->temporary = se_alloc(strlen(path) + sizeof suffix);
    if (!out->path || !out->temporary) {
        se_fail_memory(error);
        goto fail;
    }
    strcpy(out->temporary, path);
    strcat(out->temporary, suffix);
    int fd = mkstemp(out->temporary);
    if (fd < 0) {
        se_fail(error, "%s: cannot create: %s", path, strerror(errno));
        goto fail;
    }
    mode_t mask = umask(0);
    umask(mask);
    out->file = fchmod(fd, 0666 & ~mask) ? NULL : fdopen(fd, "wb");
    if (!out->file) {
        se_fail(error, "%s: cannot create: %s", path, strerror(errno));
        close(fd);
        unlink(out->temporary);
        goto fail;
    }
    return 0;
fail:
    se_free(out->path);
    se_free(out->temporary);
    *out = (se_output_t){0};
    return -1;
}

int se_output_commit(se_output_t *out, se_error_t *error) {
    int failed = fflush(out->file) || ferror(out->file), saved = errno;
    if (fclose(out->file) && !failed) failed = 1, saved = errno;
    out->file = NULL;
    if (!failed && rename(out->temporary, out->path)) failed = 1, saved = errno;
    if (failed) {
        se_fail(error, "%s: cannot write: %s", out->path, strerror(saved));
        unlink(out->temporary);
    }
    se_free(out->path);
    se_free(out->temporary);
    *out = (se_output_t){0};
    return failed ? -1 : 0;
}

void se_output_abandon(se_output_t *out) {
    if (out->file) fclose(out->file);
    if (out->temporary) unlink(out->temporary);
    se_free(out->path);
    se_free(out->temporary);
    *out = (se_output_t){0};
}

int se_npy_open(se_output_t *out, const char *path, size_t rows, size_t cols, se_error_t *error) {
    char header[2 * NPY_ALIGN];
    if (se_output_open(out, path, error)) return -1;
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    int n = snprintf(header + NPY_PREFIX, sizeof header - NPY_PREFIX,
                     "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, cols);
    header[NPY_PREFIX + n] = ' '; /* the terminator */
    header[sizeof header - 1] = '\n';
    header[8] = (char)(sizeof header - NPY_PREFIX);
    header[9] = 0;
    if (fwrite(header, sizeof header, 1, out->file) == 1) return 0;
    se_fail(error, "%s: cannot write: %s", path, strerror(errno));
    se_output_abandon(out);
    return -1;
}

int se_npy_append(se_output_t *out, const float *data, size_t count, se_error_t *error) {
    if (fwrite(data, sizeof *data, count, out->file) == count) return 0;
    return se_fail(error, "%s: cannot write: %s", out->path, strerror(errno));
}

int se_npy_read_s32(const char *path, int32_t **data, size_t *rows, size_t *cols, se_error_t *error) {
    se_file_t file;
    int status = -1;
    *data = NULL;
    if (se_file_open(&file, path, SIZE_MAX / 2, error)) return -1;
    const unsigned char *p = file.data;
    char header[1024] = "";
    size_t length = file.size >= NPY_PREFIX ? (size_t)(p[8] | p[9] << 8) : 0, bytes;
    if (file.size < NPY_PREFIX + length || length >= sizeof header || memcmp(p, "\x93NUMPY\x01", 7)) goto bad;
    memcpy(header, p + NPY_PREFIX, length);
    const char *shape = strstr(header, "'shape': (");
    if (!strstr(header, "'descr': '<i4'") || !strstr(header, "'fortran_order': False") || !shape ||
        sscanf(shape, "'shape': (%zu, %zu)", rows, cols) != 2 ||
        __builtin_mul_overflow(*rows, *cols, &bytes) ||
        __builtin_mul_overflow(bytes, sizeof **data, &bytes) || file.size - NPY_PREFIX - length != bytes)
        goto bad;
    *data = se_alloc(bytes);
    if (*data) {
        memcpy(*data, p + NPY_PREFIX + length, bytes);
        status = 0;
    } else {
        se_fail_memory(error);
    }
    se_file_close(&file);
    return status;
bad:
    se_file_close(&file);
    return se_fail(error, "%s: not an .npy matrix of int32 (version 1.0, C order)", path);
}
