/* Parts of a recording with speech, from the probabilities of its chunks. */
#ifndef SPEECH_SEGMENTS_H
#define SPEECH_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* All lengths in samples. */
typedef struct {
    float threshold; /* speech begins with a probability of at least this */
    float lower;     /* and can end where it is below this */
    int64_t least;   /* a part has more than so many */
    int64_t pause;   /* so long the probability stays low where a part ends */
    int64_t margin;  /* added on both sides, at most half of the pause between two parts */
} segment_rules_t;

/* Called with the parts in their order; end: behind the last sample. */
typedef void segment_fn_t(void *ctx, int64_t begin, int64_t end);

typedef struct {
    const segment_rules_t *rules;
    segment_fn_t *give;
    void *ctx;
    int64_t at;         /* samples so far */
    int64_t begin, low; /* of the part that goes on, and where it became low; -1: not */
    int64_t last[2];    /* the part before, without its margins; last[0] < 0: there is none */
    int64_t given;      /* where the part before begins with its margin */
} segments_t;

void segments_begin(segments_t *s, const segment_rules_t *rules, segment_fn_t *give, void *ctx);
/* The next chunk of so many samples. */
void segments_add(segments_t *s, float probability, int64_t samples);
/* length: samples of the recording. */
void segments_end(segments_t *s, int64_t length);

#endif
