/* Reads fat binaries; see fatbin.h. The layout was learned from files that nvcc 13.0 wrote. What is compressed is a frame of
 * Zstandard; libzstd.so.1, which each Debian has for dpkg, is opened when the first one comes. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/fatbin.h"

enum { MAGIC_FATBIN = 0xba55ed50, KIND_PTX = 1, COMPRESSED_LZ4 = 0x2000, COMPRESSED_ZSTD = 0x8000 };
/* Ahead of all entries, and ahead of each. */
typedef struct {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* of the entries */
} file_header_t;
typedef struct {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t bytes; /* of what follows the header */
    uint32_t compressed_bytes, options, minor, major, arch, name;
    uint64_t flags, unused, plain_bytes; /* plain_bytes: of what is compressed, before */
} entry_header_t;
_Static_assert(sizeof(file_header_t) == 16 && sizeof(entry_header_t) == 64, "as in the file");

/* ---- Zstandard ---------------------------------------------------------------------------------------- */

static struct {
    pthread_once_t once;
    size_t (*decompress)(void *to, size_t room, const void *from, size_t bytes);
} zstd = {.once = PTHREAD_ONCE_INIT};
static void find_zstd(void) {
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL),
         *symbol = library ? dlsym(library, "ZSTD_decompress") : NULL;
    memcpy(&zstd.decompress, &symbol, sizeof symbol);
}

/* A text of `bytes`; NULL: it cannot be had. */
static char *decompressed(const void *from, size_t compressed, size_t bytes) {
    pthread_once(&zstd.once, find_zstd);
    char *text = zstd.decompress && bytes ? malloc(bytes + 1) : NULL;
    if (text && zstd.decompress(text, bytes, from, compressed) == bytes) return text;
    free(text);
    return NULL;
}

/* ---- Entries ------------------------------------------------------------------------------------------ */

static void add_text(fatbin_t *fatbin, const char *text, size_t bytes) {
    fatbin->text = realloc(fatbin->text, (size_t)(fatbin->n + 1) * sizeof *fatbin->text);
    char *copy = malloc(bytes + 1);
    if (!fatbin->text || !copy) abort();
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    fatbin->text[fatbin->n++] = copy;
}

static bool read_entries(fatbin_t *fatbin, const char *at, const char *end, char *error, size_t error_bytes) {
    while (at < end) {
        entry_header_t entry;
        if ((size_t)(end - at) < sizeof entry) break;
        memcpy(&entry, at, sizeof entry);
        if (entry.header_bytes > (size_t)(end - at) ||
            entry.bytes > (size_t)(end - at) - entry.header_bytes || entry.header_bytes < sizeof entry) {
            snprintf(error, error_bytes, "an entry of the fat binary reaches behind its end");
            return false;
        }
        const char *text = at + entry.header_bytes;
        if (entry.kind == KIND_PTX && entry.flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD)) {
            const size_t bytes = (size_t)entry.plain_bytes;
            char *plain = entry.flags & COMPRESSED_ZSTD && entry.compressed_bytes <= entry.bytes
                              ? decompressed(text, entry.compressed_bytes, bytes)
                              : NULL;
            if (!plain) {
                snprintf(error, error_bytes, "the PTX text in the fat binary cannot be decompressed: %s",
                         entry.flags & COMPRESSED_LZ4 ? "it is in LZ4"
                         : zstd.decompress            ? "it is damaged"
                                                      : "there is no libzstd.so.1");
                return false;
            }
            add_text(fatbin, plain, strnlen(plain, bytes));
            free(plain);
        } else if (entry.kind == KIND_PTX) {
            add_text(fatbin, text, strnlen(text, (size_t)entry.bytes));
        }
        at = text + entry.bytes;
    }
    if (!fatbin->n)
        snprintf(error, error_bytes, "the fat binary holds no PTX text; compile with code=compute_80, too");
    return fatbin->n > 0;
}

bool fatbin_read(fatbin_t *fatbin, const void *code, char *error, size_t error_bytes) {
    *fatbin = (fatbin_t){NULL, 0};
    file_header_t header;
    const unsigned char first = *(const unsigned char *)code;
    if (first == '/' || first == '.' || first == '\n' || first == ' ') { /* of a text */
        add_text(fatbin, code, strlen(code));
        return true;
    }
    memcpy(&header, code, sizeof header.magic);
    if (header.magic != MAGIC_FATBIN) {
        snprintf(error, error_bytes, "neither a fat binary nor a PTX text: it begins with 0x%08x",
                 header.magic);
        return false;
    }
    memcpy(&header, code, sizeof header);
    const char *at = (const char *)code + header.header_bytes;
    if (read_entries(fatbin, at, at + header.bytes, error, error_bytes)) return true;
    fatbin_free(fatbin);
    return false;
}

void fatbin_free(fatbin_t *fatbin) {
    for (int i = 0; i < fatbin->n; ++i) free(fatbin->text[i]);
    free(fatbin->text);
    *fatbin = (fatbin_t){NULL, 0};
}

/* Of `.target sm_90a`: 90, times two, plus one for a text that only this architecture runs. -1: the device does not run it. */
static int rank_of(const char *text, int major, int minor) {
    const char *target = strstr(text, ".target");
    int arch = 0;
    char suffix = '\0';
    if (!target || sscanf(target, ".target sm_%d%c", &arch, &suffix) < 1) return -1;
    const int device = 10 * major + minor;
    if (suffix == 'a') return arch == device ? 2 * arch + 1 : -1;
    if (suffix == 'f') return arch / 10 == major && arch <= device ? 2 * arch + 1 : -1;
    return arch <= device ? 2 * arch : -1;
}

const char *fatbin_choose(const fatbin_t *fatbin, int major, int minor) {
    const char *best = NULL;
    int best_rank = -1;
    for (int i = 0; i < fatbin->n; ++i) {
        const int rank = rank_of(fatbin->text[i], major, minor);
        if (rank > best_rank) {
            best_rank = rank;
            best = fatbin->text[i];
        }
    }
    return best;
}
