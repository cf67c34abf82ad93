/* See segments.h. */
#include "segments.h"

enum { NONE = -1 };

void segments_begin(segments_t *s, const segment_rules_t *rules, segment_fn_t *give, void *ctx) {
    *s = (segments_t){.rules = rules, .give = give, .ctx = ctx, .begin = NONE, .low = NONE, .last = {NONE}};
}

/* The part before ends; next: where the one behind it begins, or where the recording ends. */
static void give_last(segments_t *s, int64_t next, bool is_part) {
    if (s->last[0] < 0) return;
    const int64_t room = is_part ? (next - s->last[1]) / 2 : next - s->last[1], margin = s->rules->margin;
    s->give(s->ctx, s->given, s->last[1] + (room < margin ? room : margin));
}

static void add_part(segments_t *s, int64_t begin, int64_t end) {
    if (end - begin <= s->rules->least) return;
    const int64_t before = s->last[0] < 0 ? begin : (begin - s->last[1]) / 2, margin = s->rules->margin;
    give_last(s, begin, true);
    s->given = begin - (before < margin ? before : margin);
    s->last[0] = begin;
    s->last[1] = end;
}

void segments_add(segments_t *s, float probability, int64_t samples) {
    const segment_rules_t *r = s->rules;
    if (probability >= r->threshold) {
        s->low = NONE;
        if (s->begin < 0) s->begin = s->at;
    } else if (probability < r->lower && s->begin >= 0) {
        if (s->low < 0) s->low = s->at;
        if (s->at - s->low >= r->pause) {
            add_part(s, s->begin, s->low);
            s->begin = s->low = NONE;
        }
    }
    s->at += samples;
}

void segments_end(segments_t *s, int64_t length) {
    if (s->begin >= 0) add_part(s, s->begin, length);
    give_last(s, length, false);
}
