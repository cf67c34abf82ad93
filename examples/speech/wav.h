/* Samples of a WAV file, one after the other. */
#ifndef SPEECH_WAV_H
#define SPEECH_WAV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    FILE *file;
    int rate, channels;
    bool is_float;  /* f32, otherwise 16-bit integers */
    uint64_t bytes; /* of samples that are not read yet */
    bool is_short;  /* the file ended before its samples did */
} wav_t;

/* path: "-" is the standard input. False: it is no WAV file with samples of a kind that is known; the
 * program has said why. */
bool wav_open(wav_t *w, const char *path);
/* Reads up to n samples, the mean of all channels, -1 to 1; how many there were. */
size_t wav_read(wav_t *w, float *to, size_t n);
void wav_close(wav_t *w);

#endif
