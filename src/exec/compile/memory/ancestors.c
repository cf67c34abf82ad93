/* Sets of earlier events, see ancestors.h. */
#include "exec/compile/memory/ancestors.h"

enum { EXACT = 8192, MIN_WORDS = 4, LEAST_WORDS = 16, BITS = 1 << 26 };

dnnl_tp_status_t dtp_ancestors_init(dtp_ancestors_t *r, dtp_arena_t *arena, int events, size_t worth) {
    *r = (dtp_ancestors_t){.n = 0};
    if (events == 0) return dnnl_tp_success;
    r->words = events / 64 + 1;
    if (events > EXACT) r->words = (int)dtp_max64(MIN_WORDS, BITS / 64 / events);
    const size_t words = worth / sizeof *r->row / (size_t)events,
                 least = words > LEAST_WORDS ? words : LEAST_WORDS;
    if ((size_t)r->words > least) r->words = (int)least;
    r->low = dtp_arena_alloc(arena, sizeof *r->low * (size_t)events);
    r->row = dtp_arena_alloc(arena, sizeof *r->row * (size_t)events * (size_t)r->words);
    return r->low && r->row ? dnnl_tp_success : dnnl_tp_out_of_memory;
}

int dtp_ancestors_new(dtp_ancestors_t *r) { return r->n++; }

/* The first word that p's row covers. */
static int base(const dtp_ancestors_t *r, int p) { return p / 64 < r->words ? 0 : p / 64 + 1 - r->words; }

static uint64_t *words_of(const dtp_ancestors_t *r, int p) { return r->row + (size_t)p * (size_t)r->words; }

bool dtp_ancestors_has(const dtp_ancestors_t *r, int u, int p) {
    if (u >= p) return false;
    if (u < r->low[p]) return true;
    int k = u / 64 - base(r, p);
    return k >= 0 && (words_of(r, p)[k] >> (u % 64) & 1);
}

void dtp_ancestors_add(dtp_ancestors_t *r, int p, int d) {
    if (dtp_ancestors_has(r, d, p)) return;
    if (r->low[d] > r->low[p]) r->low[p] = r->low[d];
    int shift = base(r, p) - base(r, d), at = d / 64 - base(r, p);
    if (at < 0) return;
    uint64_t *to = words_of(r, p);
    const uint64_t *from = words_of(r, d) + shift;
    for (int k = 0; k <= at; ++k) to[k] |= from[k];
    to[at] |= (uint64_t)1 << (d % 64);
}

/* Which of the events from .. to - 1 are in word w. */
static uint64_t range_word(int from, int to, int w) {
    from -= w * 64, to -= w * 64;
    if (from >= 64 || to <= 0 || from >= to) return 0;
    uint64_t all = ~(uint64_t)0;
    return (from > 0 ? all << from : all) & (to < 64 ? ~(all << to) : all);
}

void dtp_ancestors_never(dtp_ancestors_t *r, int p, int from, int to) {
    for (int w = base(r, p); w <= p / 64; ++w) words_of(r, p)[w - base(r, p)] |= range_word(from, to, w);
}

/* Word w of p's set with p in it. */
static uint64_t whole_word(const dtp_ancestors_t *r, int p, int w) {
    int k = w - base(r, p);
    uint64_t x = k >= 0 && w <= p / 64 ? words_of(r, p)[k] : 0;
    return x | range_word(0, r->low[p], w) | range_word(p, p + 1, w);
}

void dtp_ancestors_either(dtp_ancestors_t *r, int p, int a, int b, int begin, int middle, int end) {
    for (int w = base(r, p); w <= p / 64; ++w)
        words_of(r, p)[w - base(r, p)] = (whole_word(r, a, w) | range_word(middle, end, w)) &
                                         (whole_word(r, b, w) | range_word(begin, middle, w));
    r->low[p] = r->low[a] < r->low[b] ? r->low[a] : r->low[b];
}

void dtp_ancestors_seal(dtp_ancestors_t *r, int p) {
    int low = r->low[p];
    while (low < p && low / 64 >= base(r, p)) {
        uint64_t rest = ~words_of(r, p)[low / 64 - base(r, p)] >> (low % 64);
        low = rest ? low + __builtin_ctzll(rest) : (low / 64 + 1) * 64;
        if (rest) break;
    }
    r->low[p] = low < p ? low : p;
}
