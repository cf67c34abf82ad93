/* See sample.h. */
#include "sample.h"

#include <math.h>
#include <stdlib.h>

int sampler_begin(sampler_t *s, const sampling_t *how, uint64_t seed, int64_t vocabulary) {
    *s = (sampler_t){.how = *how, .random = seed, .n = vocabulary};
    s->order = malloc((size_t)vocabulary * sizeof *s->order);
    s->weights = malloc((size_t)vocabulary * sizeof *s->weights);
    return s->order && s->weights;
}

void sampler_end(sampler_t *s) {
    free(s->order);
    free(s->weights);
}

/* 0 <= x < 1 (splitmix64). */
static double uniform(sampler_t *s) {
    uint64_t z = s->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static int64_t most_likely(const float *logits, int64_t n) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i)
        if (logits[i] > logits[best]) best = i;
    return best;
}

/* Heap of tokens, the most likely one on top; of equal ones the first. */
static int before(const float *x, int32_t a, int32_t b) { return x[a] != x[b] ? x[a] > x[b] : a < b; }
static void sink(const float *x, int32_t *heap, int64_t n, int64_t at) {
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(x, heap[child + 1], heap[child])) ++child;
        if (!before(x, heap[child], heap[at])) return;
        const int32_t t = heap[at];
        heap[at] = heap[child];
        heap[child] = t;
    }
}

int64_t sampler_choose(sampler_t *s, const float *logits) {
    const int64_t n = s->n;
    if (!(s->how.temperature > 0)) return most_likely(logits, n);
    const int64_t most = s->how.top_k > 0 && s->how.top_k < n ? s->how.top_k : n;
    for (int64_t i = 0; i < n; ++i) s->order[i] = (int32_t)i;
    for (int64_t i = n / 2; i-- > 0;) sink(logits, s->order, n, i);
    /* The sum of all, to know when top_p is reached. */
    const double top = (double)logits[s->order[0]];
    double all = 0, sum = 0;
    for (int64_t i = 0; i < n; ++i) all += exp(((double)logits[i] - top) / s->how.temperature);
    /* Tokens leave the heap in their order, and stand behind it. */
    int64_t taken = 0;
    for (; taken < most && (taken == 0 || sum < s->how.top_p * all); ++taken) {
        const int32_t token = s->order[0];
        s->order[0] = s->order[n - 1 - taken];
        s->order[n - 1 - taken] = token;
        sink(logits, s->order, n - 1 - taken, 0);
        s->weights[taken] = exp(((double)logits[token] - top) / s->how.temperature);
        sum += s->weights[taken];
    }
    double left = uniform(s) * sum;
    for (int64_t i = 0; i < taken; ++i)
        if ((left -= s->weights[i]) < 0) return s->order[n - 1 - i];
    return s->order[n - taken];
}
