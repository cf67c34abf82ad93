/* The choice of the next token. */
#ifndef GENERATE_SAMPLE_H
#define GENERATE_SAMPLE_H

#include <stdint.h>

typedef struct {
    double temperature; /* 0: the most likely token */
    int64_t top_k;      /* only the most likely ones; 0: all */
    double top_p;       /* only the most likely ones that together have this probability; 1: all */
} sampling_t;

/* Room and state of one sequence. */
typedef struct {
    sampling_t how;
    uint64_t random;
    int64_t n;
    int32_t *order;
    double *weights;
} sampler_t;

/* 0 when there is no memory. */
int sampler_begin(sampler_t *s, const sampling_t *how, uint64_t seed, int64_t vocabulary);
int64_t sampler_choose(sampler_t *s, const float *logits);
void sampler_end(sampler_t *s);

#endif
