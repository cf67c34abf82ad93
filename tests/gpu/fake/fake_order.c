/* Who wrote which bytes, so that reading or overwriting what another stream writes, without a wait in between, is found whatever
 * the order was. In a block's `set`, 0 is a byte that nobody wrote, WRITTEN one that the present kernel wrote, SETTLED one whose
 * writer is known to be done, and others are numbers of writers.
 * What reads find only by the order of execution: a byte that another stream reads and this one overwrites. */
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/calls.h"

enum { WRITTEN = 1, SETTLED = 255, FIRST = 2, WRITERS = SETTLED - FIRST, TAGS = 256 };

struct fake_writers {
    int n;
    struct {
        int slot;
        uint64_t seq;
    } writer[WRITERS];
};

/* Which numbers of writers are not known to come before the stream's first item? */
static bool unordered_locked(const fake_stream_t *s, const fake_block_t *b,
                             unsigned char is_unordered[TAGS]) {
    bool any = false;
    memset(is_unordered, 0, TAGS);
    for (int i = 0; b->writers && i < b->writers->n; ++i) {
        const uint64_t seen = fake.clock[s->slot].of[b->writers->writer[i].slot];
        is_unordered[FIRST + i] = b->writers->writer[i].seq > seen;
        any |= is_unordered[FIRST + i];
    }
    return any;
}

/* The table is full: all its writers count as done. */
static void settle(fake_block_t *b) {
    for (size_t i = 0; i < b->bytes; ++i)
        if (b->set[i]) b->set[i] = SETTLED;
    b->writers->n = 0;
}

/* A number for the stream's first item. */
static unsigned char writer_locked(const fake_stream_t *s, fake_block_t *b) {
    if (!b->writers) b->writers = fake_zalloc(sizeof *b->writers);
    if (b->writers->n == WRITERS) settle(b);
    const int i = b->writers->n++;
    b->writers->writer[i].slot = s->slot;
    b->writers->writer[i].seq = s->head->seq;
    return (unsigned char)(FIRST + i);
}

bool fake_bytes_ordered_locked(const fake_stream_t *s, const fake_block_t *b, size_t skip, size_t bytes) {
    unsigned char is_unordered[TAGS];
    if (!b->set || !unordered_locked(s, b, is_unordered)) return true;
    unsigned char any = 0;
    for (size_t i = skip; i < skip + bytes; ++i) any |= is_unordered[b->set[i]];
    return !any;
}

void fake_bytes_written_locked(const fake_stream_t *s, fake_block_t *b, size_t skip, const unsigned char *set,
                               size_t bytes) {
    if (!b->set) return;
    const unsigned char tag = writer_locked(s, b);
    for (size_t i = 0; i < bytes; ++i) b->set[skip + i] = set && !set[i] ? 0 : tag;
}

unsigned char *fake_before_kernel_locked(const fake_stream_t *s, fake_block_t *b) {
    unsigned char is_unordered[TAGS];
    for (size_t i = 0; i < b->bytes; ++i)
        if (b->set[i] == WRITTEN) b->set[i] = SETTLED; /* of a kernel that had no parameter for this block */
    if (!unordered_locked(s, b, is_unordered)) return NULL;
    unsigned char *seen = fake_zalloc(b->bytes);
    for (size_t i = 0; i < b->bytes; ++i) seen[i] = is_unordered[b->set[i]] ? 0 : b->set[i];
    return seen;
}

bool fake_after_kernel_locked(const fake_stream_t *s, fake_block_t *b, unsigned char *seen) {
    const unsigned char *set = seen ? seen : b->set;
    unsigned char is_unordered[TAGS], any = 0;
    if (!memchr(set, WRITTEN, b->bytes)) {
        free(seen);
        return true;
    }
    (void)unordered_locked(s, b, is_unordered);
    const unsigned char tag = writer_locked(s, b);
    for (size_t i = 0; i < b->bytes; ++i) {
        if (set[i] != WRITTEN) continue;
        any |= is_unordered[b->set[i]];
        b->set[i] = tag;
    }
    free(seen);
    return !any;
}
