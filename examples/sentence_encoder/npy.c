/* See npy.h. */
#include "npy.h"

#include <errno.h>
#include <string.h>

#define NPY_ALIGN 64
#define NPY_PREFIX 10 /* magic, version, length */
#define NPY_ITEM 4    /* bytes of the types that are read */

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

static int npy_read(const char *path, const char *descr, const char *type, void **data, size_t *rows,
                    size_t *cols, se_error_t *error) {
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
    if (!strstr(header, descr) || !strstr(header, "'fortran_order': False") || !shape ||
        sscanf(shape, "'shape': (%zu, %zu)", rows, cols) != 2 ||
        __builtin_mul_overflow(*rows, *cols, &bytes) || __builtin_mul_overflow(bytes, NPY_ITEM, &bytes) ||
        file.size - NPY_PREFIX - length != bytes)
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
    return se_fail(error, "%s: not an .npy matrix of %s (version 1.0, C order)", path, type);
}

int se_npy_read_s32(const char *path, int32_t **data, size_t *rows, size_t *cols, se_error_t *error) {
    void *p;
    int status = npy_read(path, "'descr': '<i4'", "int32", &p, rows, cols, error);
    *data = p;
    return status;
}

int se_npy_read_f32(const char *path, float **data, size_t *rows, size_t *cols, se_error_t *error) {
    void *p;
    int status = npy_read(path, "'descr': '<f4'", "float32", &p, rows, cols, error);
    *data = p;
    return status;
}
