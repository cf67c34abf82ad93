/* Runs a fuzzer's function on files and on all files of folders: the corpus as a test, without libFuzzer. An
 * argument random:COUNT stands for so many inputs of random bytes, the same ones every time; behind mutated:COUNT each
 * file is changed so many times as well, by the mutator of fuzzers that have one. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                                                     unsigned seed);

static long mutations;

/* Each one changes the file a few times. */
static void run_mutated(const uint8_t *data, size_t size) {
    enum { GROWTH = 4096, TIMES = 3 };
    uint8_t *copy = malloc(size + GROWTH);
    for (long i = 0; copy && LLVMFuzzerCustomMutator && i < mutations; ++i) {
        size_t n = size;
        memcpy(copy, data, size);
        for (int k = 0; k < TIMES; ++k)
            n = LLVMFuzzerCustomMutator(copy, n, size + GROWTH, (unsigned)(i * TIMES + k));
        LLVMFuzzerTestOneInput(copy, n);
    }
    free(copy);
}

static int replay_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "replay: cannot open %s\n", path);
        return -1;
    }
    size_t size = 0, cap = 1 << 16;
    uint8_t *data = malloc(cap);
    while (data && (size += fread(data + size, 1, cap - size, f)) == cap) {
        uint8_t *more = realloc(data, cap *= 2);
        if (!more) free(data);
        data = more;
    }
    fclose(f);
    if (!data) return -1;
    printf("%s\n", path);
    fflush(stdout); /* the last line names the culprit of a crash */
    LLVMFuzzerTestOneInput(data, size);
    run_mutated(data, size);
    free(data);
    return 0;
}

static void run_random(long count) {
    static uint8_t data[256];
    uint64_t x = 1;
    for (long i = 0; i < count; ++i) {
        for (size_t k = 0; k < sizeof data; ++k) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            data[k] = (uint8_t)(x * 0x2545f4914f6cdd1du >> 56);
        }
        LLVMFuzzerTestOneInput(data, sizeof data);
    }
}

int main(int argc, char **argv) {
    int files = 0;
    for (int i = 1; i < argc; ++i) {
        if (!strncmp(argv[i], "random:", 7)) {
            run_random(atol(argv[i] + 7));
            ++files;
            continue;
        }
        if (!strncmp(argv[i], "mutated:", 8)) {
            mutations = atol(argv[i] + 8);
            continue;
        }
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            if (replay_file(argv[i])) return 1;
            ++files;
            continue;
        }
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            char path[8192];
            if (entry->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            if (replay_file(path)) return 1;
            ++files;
        }
        closedir(folder);
    }
    printf("replayed %d files\n", files);
    return files ? 0 : 1;
}
