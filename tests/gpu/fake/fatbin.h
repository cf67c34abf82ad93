/* The PTX texts in a fat binary. */
#ifndef TESTS_GPU_FAKE_FATBIN_H
#define TESTS_GPU_FAKE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>

/* PTX texts, each ending with a zero byte; release with fatbin_free. */
typedef struct {
    char **text;
    int n;
} fatbin_t;

/* Takes what cuLibraryLoadData takes: a fat binary of nvcc, compressed or not, or one PTX text. False: error tells. */
bool fatbin_read(fatbin_t *fatbin, const void *code, char *error, size_t error_bytes);
void fatbin_free(fatbin_t *fatbin);
/* The text of the highest architecture that the device can run, as the driver would compile it; NULL: there is none. */
const char *fatbin_choose(const fatbin_t *fatbin, int major, int minor);

#endif
