/* speech: where a recording has speech, by an ONNX model that looks at chunks of 512 samples one after the other (Silero VAD, or
 * one of its form). README.md explains it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "detector.h"
#include "segments.h"
#include "wav.h"

static const char help[] =
    "speech MODEL RECORDING [options]: where a WAV file of 16 kHz has speech, in seconds, a part a line\n"
    "  --threshold P      probability at which speech begins, by default 0.5\n"
    "  --least MS         a part has more than so many milliseconds, by default 250\n"
    "  --pause MS         how long the probability is low where a part ends, by default 100\n"
    "  --margin MS        added on both sides of a part, by default 30\n"
    "  --context N        samples before a chunk that the model gets with it; by default what the model\n"
    "                     says, or 64\n"
    "  --threads N        by default 1; at most 64\n"
    "  --chunks           prints the probability of each chunk instead\n"
    "RECORDING: 16-bit integers or 32-bit floats; of several channels the mean; - is the standard input\n"
    "Exit status: 0; 1: a file cannot be read, or the output cannot be written; 2: wrong options\n";

typedef struct {
    const char *model, *recording;
    double threshold, least, pause, margin, context, threads;
    bool chunks;
} options_t;

typedef struct {
    int64_t parts, speech, length; /* samples */
    double ms;
} totals_t;

static double now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- Options ------------------------------------------------------------------------------------------------ */

static bool read_option(options_t *o, const char *name, const char *value) {
    const struct {
        const char *name;
        double least, most;
        bool is_whole;
        double *to;
    } all[] = {{"--threshold", 0, 1, false, &o->threshold}, {"--least", 0, 1e6, false, &o->least},
               {"--pause", 0, 1e6, false, &o->pause},       {"--margin", 0, 1e6, false, &o->margin},
               {"--context", 0, 4096, true, &o->context},   {"--threads", 1, 64, true, &o->threads}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        if (strcmp(name, all[i].name)) continue;
        char *end = NULL;
        const double x = value ? strtod(value, &end) : 0;
        if (value && *value && !*end && x >= all[i].least && x <= all[i].most &&
            (!all[i].is_whole || x == (double)(int64_t)x)) {
            *all[i].to = x;
            return true;
        }
        fprintf(stderr, "speech: %s is a %snumber of %g to %g, not '%s'\n", name,
                all[i].is_whole ? "whole " : "", all[i].least, all[i].most, value ? value : "");
        return false;
    }
    fprintf(stderr, "speech: there is no option '%s'; --help tells the options\n", name);
    return false;
}

static bool read_options(options_t *o, int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        const char *a = argv[i];
        if (!strcmp(a, "--chunks")) o->chunks = true;
        else if (*a == '-' && a[1]) {
            if (!read_option(o, a, argv[i + 1])) return false;
            ++i;
        } else if (!o->model) o->model = a;
        else if (!o->recording) o->recording = a;
        else {
            fprintf(stderr, "speech: '%s' is one file too many\n", a);
            return false;
        }
    }
    if (!o->recording)
        fprintf(stderr, "speech: a model and a recording are needed; --help tells the options\n");
    return o->recording != NULL;
}

/* ---- The recording ------------------------------------------------------------------------------------------ */

static void print_part(void *ctx, int64_t begin, int64_t end) {
    totals_t *t = ctx;
    printf("%.3f %.3f\n", (double)begin / RATE, (double)end / RATE);
    ++t->parts;
    t->speech += end - begin;
}

/* Reads blocks of chunks behind the last samples of the block before, so that each chunk lies behind its context, and the model
 * reads both where they are. */
static bool detect(const options_t *o, detector_t *d, wav_t *wav, totals_t *t) {
    enum { CHUNKS = 64 };
    const float threshold = (float)o->threshold;
    const segment_rules_t rules = {.threshold = threshold,
                                   .lower = threshold > .16f ? threshold - .15f : .01f,
                                   .least = (int64_t)(o->least * RATE / 1e3),
                                   .pause = (int64_t)(o->pause * RATE / 1e3),
                                   .margin = (int64_t)(o->margin * RATE / 1e3)};
    const size_t context = (size_t)d->context;
    float *samples = calloc(context + CHUNKS * CHUNK, sizeof *samples);
    segments_t segments;
    if (!samples) {
        fprintf(stderr, "speech: there is no memory for samples\n");
        return false;
    }
    bool good = true;
    segments_begin(&segments, &rules, print_part, t);
    for (size_t n = CHUNKS * CHUNK; good && n == CHUNKS * CHUNK;) {
        n = wav_read(wav, samples + context, CHUNKS * CHUNK);
        t->length += (int64_t)n;
        const size_t chunks = (n + CHUNK - 1) / CHUNK; /* the last one is filled up with silence */
        memset(samples + context + n, 0, (chunks * CHUNK - n) * sizeof *samples);
        const double begin = now_ms();
        for (size_t i = 0; i < chunks && good; ++i) {
            const float p = detector_step(d, samples + i * CHUNK);
            good = p >= 0;
            if (o->chunks && good) printf("%.6f\n", (double)p);
            else if (good) segments_add(&segments, p, CHUNK);
        }
        t->ms += now_ms() - begin;
        memcpy(samples, samples + chunks * CHUNK, context * sizeof *samples);
    }
    if (good && !o->chunks) segments_end(&segments, t->length);
    free(samples);
    return good;
}

static void report(const options_t *o, const totals_t *t) {
    const double seconds = (double)t->length / RATE, chunks = (double)((t->length + CHUNK - 1) / CHUNK);
    fprintf(stderr, "%.2f s of sound in %.1f ms", seconds, t->ms);
    if (t->length && t->ms > 0)
        fprintf(stderr, ": real-time factor %.6f (%.0f times as fast), %.1f us a chunk",
                t->ms / 1e3 / seconds, seconds * 1e3 / t->ms, t->ms * 1e3 / chunks);
    if (!o->chunks && t->length)
        fprintf(stderr, "; %lld parts with speech, %.1f %%", (long long)t->parts,
                100 * (double)t->speech / (double)t->length);
    fprintf(stderr, "\n");
}

/* Whether all that was printed went out. */
static bool is_written(bool good) {
    good = !fflush(stdout) && !ferror(stdout) && good;
    if (!good) fprintf(stderr, "speech: the output cannot be written\n");
    return good;
}

static bool run(const options_t *o, detector_t *d, wav_t *wav) {
    totals_t totals = {0};
    if (!wav_open(wav, o->recording)) return false;
    if (wav->rate != RATE) {
        fprintf(stderr, "speech: %s: it has %d samples a second, needed are %d\n", o->recording, wav->rate,
                RATE);
        return false;
    }
    if (!detector_open(d, o->model, (int)o->threads, (int64_t)o->context) || !detect(o, d, wav, &totals))
        return false;
    if (wav->is_short) fprintf(stderr, "speech: %s: it ends before its samples do\n", o->recording);
    report(o, &totals);
    return is_written(true);
}

int main(int argc, char **argv) {
    options_t o = {.threshold = .5, .least = 250, .pause = 100, .margin = 30, .context = -1, .threads = 1};
    for (int i = 1; i < argc; ++i)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return !is_written(fputs(help, stdout) >= 0);
    if (!read_options(&o, argc, argv)) return 2;
    detector_t d;
    wav_t wav;
    memset(&d, 0, sizeof d);
    memset(&wav, 0, sizeof wav);
    const bool good = run(&o, &d, &wav);
    detector_close(&d);
    wav_close(&wav);
    return !good;
}
