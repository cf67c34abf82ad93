/* See wav.h. */
#include "wav.h"

#include <errno.h>
#include <string.h>

enum { MOST_CHANNELS = 64, PCM = 1, FLOAT = 3, EXTENSIBLE = 0xfffe };

static uint32_t u16_at(const unsigned char *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t u32_at(const unsigned char *p) { return u16_at(p) | u16_at(p + 2) << 16; }

static bool fails(const char *path, const char *why) {
    fprintf(stderr, "speech: %s: %s\n", path, why);
    return false;
}

static bool skip(FILE *f, uint64_t n) {
    while (n && getc(f) != EOF) --n;
    return n == 0;
}

/* The format of samples, from the first bytes of a chunk "fmt ". */
static bool read_format(wav_t *w, const char *path, const unsigned char *p, size_t n) {
    enum { TAG = 0, CHANNELS = 2, RATE = 4, ROW = 12, BITS = 14, REAL_TAG = 24 };
    uint32_t tag = u16_at(p + TAG);
    if (tag == EXTENSIBLE && n >= REAL_TAG + 2) tag = u16_at(p + REAL_TAG);
    const uint32_t bits = u16_at(p + BITS), channels = u16_at(p + CHANNELS), rate = u32_at(p + RATE);
    w->is_float = tag == FLOAT && bits == 32;
    if (!w->is_float && (tag != PCM || bits != 16))
        return fails(path, "its samples are neither 16-bit integers nor 32-bit floats");
    if (channels < 1 || channels > MOST_CHANNELS || u16_at(p + ROW) != channels * bits / 8 ||
        rate > INT32_MAX)
        return fails(path, "its header is not that of a WAV file");
    w->channels = (int)channels;
    w->rate = (int)rate;
    return true;
}

bool wav_open(wav_t *w, const char *path) {
    enum { HEADER = 12, CHUNK = 8, LEAST_FORMAT = 16, MOST_FORMAT = 40 };
    unsigned char p[MOST_FORMAT];
    memset(w, 0, sizeof *w);
    w->file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    if (!w->file) return fails(path, strerror(errno));
    if (fread(p, 1, HEADER, w->file) != HEADER || memcmp(p, "RIFF", 4) || memcmp(p + 8, "WAVE", 4))
        return fails(path, "it is not a WAV file");
    while (fread(p, 1, CHUNK, w->file) == CHUNK) {
        const uint32_t size = u32_at(p + 4);
        const uint64_t all = (uint64_t)size + size % 2;
        if (!memcmp(p, "data", 4)) {
            if (!w->channels) return fails(path, "its samples come before their format");
            w->bytes =
                size == UINT32_MAX || !size ? UINT64_MAX : size; /* a recorder that could not go back */
            return true;
        }
        uint64_t read = 0;
        if (!memcmp(p, "fmt ", 4) && size >= LEAST_FORMAT) {
            read = size < MOST_FORMAT ? size : MOST_FORMAT;
            if (fread(p, 1, (size_t)read, w->file) != read) break;
            if (!read_format(w, path, p, (size_t)read)) return false;
        }
        if (!skip(w->file, all - read)) break;
    }
    return fails(path, "it has no samples");
}

size_t wav_read(wav_t *w, float *to, size_t n) {
    enum { MOST_BYTES = MOST_CHANNELS * sizeof(float) };
    unsigned char row[MOST_BYTES];
    const size_t size = w->is_float ? sizeof(float) : sizeof(int16_t), bytes = size * (size_t)w->channels;
    size_t i = 0;
    for (; i < n && w->bytes >= bytes; ++i) {
        if (fread(row, 1, bytes, w->file) != bytes) {
            w->is_short = w->bytes < UINT64_MAX / 2;
            w->bytes = 0;
            break;
        }
        w->bytes -= bytes;
        double sum = 0;
        for (int c = 0; c < w->channels; ++c) {
            const unsigned char *p = row + size * (size_t)c;
            float x = (float)(int16_t)u16_at(p) / 32768.f;
            if (w->is_float) {
                const uint32_t b = u32_at(p);
                memcpy(&x, &b, sizeof x);
            }
            sum += (double)x;
        }
        to[i] = (float)(sum / w->channels);
    }
    return i;
}

void wav_close(wav_t *w) {
    if (w->file && w->file != stdin) (void)fclose(w->file);
}
