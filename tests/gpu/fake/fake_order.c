/* Who wrote and who read which bytes, so that streams that touch the same bytes, without a wait in between, are found whatever
 * the order was. A byte of a block's `set` is 0 where nobody wrote, WRITTEN where the present kernel did, SETTLED where the
 * writer is not known any longer, else the number of a writer. Readers have such bytes for each stream. */
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/calls.h"

enum { WRITTEN = 1, FIRST = 2, SETTLED = PTX_WAS_READ - 1, NUMBERS = SETTLED - FIRST, TAGS = 256 };

struct fake_writers {
    int n;
    struct {
        int slot;
        uint64_t seq;
    } writer[NUMBERS];
};
struct fake_readers {
    struct fake_readers *next;
    int slot, n;
    uint64_t seq[NUMBERS];
    unsigned char number[]; /* for each byte; 0: it was not read, or who read it is not known any longer */
};

void fake_order_forget(fake_block_t *b) {
    for (struct fake_readers *r = b->readers, *next; r; r = next) {
        next = r->next;
        free(r);
    }
    free(b->writers);
}

/* ---- Writers ----------------------------------------------------------------------------------------- */

/* Which numbers of writers are not known to come before the stream's first item? */
static bool find_writers_locked(const fake_stream_t *s, const fake_block_t *b,
                                unsigned char unordered[TAGS]) {
    bool any = false;
    memset(unordered, 0, TAGS);
    for (int i = 0; b->writers && i < b->writers->n; ++i) {
        const uint64_t seen = fake.clock[s->slot].of[b->writers->writer[i].slot];
        unordered[FIRST + i] = b->writers->writer[i].seq > seen;
        any |= unordered[FIRST + i];
    }
    return any;
}

/* A number for the stream's first item. Where there are no more, it is forgotten who wrote. */
static unsigned char writer_locked(const fake_stream_t *s, fake_block_t *b) {
    if (!b->writers) b->writers = fake_zalloc(sizeof *b->writers);
    if (b->writers->n == NUMBERS) {
        for (size_t i = 0; i < b->bytes; ++i)
            if (b->set[i]) b->set[i] = SETTLED;
        b->writers->n = 0;
    }
    const int i = b->writers->n++;
    b->writers->writer[i].slot = s->slot;
    b->writers->writer[i].seq = s->head->seq;
    return (unsigned char)(FIRST + i);
}

/* ---- Readers ----------------------------------------------------------------------------------------- */

/* The readers of the stream, with a new number for its first item. */
static struct fake_readers *reader_locked(const fake_stream_t *s, fake_block_t *b) {
    struct fake_readers *r = b->readers;
    while (r && r->slot != s->slot) r = r->next;
    if (!r) {
        r = fake_zalloc(sizeof *r + b->bytes);
        r->next = b->readers;
        r->slot = s->slot;
        b->readers = r;
    }
    if (r->n == NUMBERS) {
        memset(r->number, 0, b->bytes);
        r->n = 0;
    }
    r->seq[r->n++] = s->head->seq;
    return r;
}

/* Does a reader of these bytes not come before the stream's first item? Where written is given, only those count for which it is
 * WRITTEN. */
static bool read_by_others_locked(const fake_stream_t *s, const fake_block_t *b, size_t skip, size_t bytes,
                                  const unsigned char *written) {
    unsigned char any = 0;
    for (const struct fake_readers *r = b->readers; r; r = r->next) {
        const uint64_t seen = fake.clock[s->slot].of[r->slot];
        if (r->slot == s->slot || !r->n || r->seq[r->n - 1] <= seen) continue;
        unsigned char unordered[TAGS] = {0};
        for (int i = 0; i < r->n; ++i) unordered[1 + i] = r->seq[i] > seen;
        for (size_t i = skip; i < skip + bytes; ++i)
            if (!written || (written[i] & ~PTX_WAS_READ) == WRITTEN) any |= unordered[r->number[i]];
    }
    return any;
}

static const char overwrites_read[] =
    "overwrites what another stream reads: nothing makes this stream wait for it";
static const char overwrites_written[] =
    "overwrites what another stream writes: nothing makes this stream wait for it";

/* ---- Copies and fills -------------------------------------------------------------------------------- */

static bool written_by_others_locked(const fake_stream_t *s, const fake_block_t *b, size_t skip,
                                     size_t bytes) {
    unsigned char unordered[TAGS], any = 0;
    if (!find_writers_locked(s, b, unordered)) return false;
    for (size_t i = skip; i < skip + bytes; ++i) any |= unordered[b->set[i] & ~PTX_WAS_READ];
    return any;
}

const char *fake_read_locked(const fake_stream_t *s, fake_block_t *b, size_t skip, size_t bytes) {
    if (!b->set) return NULL;
    struct fake_readers *r = reader_locked(s, b);
    memset(r->number + skip, r->n, bytes);
    return written_by_others_locked(s, b, skip, bytes)
               ? "reads what another stream writes: nothing makes this stream wait for it"
               : NULL;
}

const char *fake_write_locked(const fake_stream_t *s, fake_block_t *b, size_t skip, const unsigned char *set,
                              size_t bytes) {
    if (!b->set) return NULL;
    const bool written = written_by_others_locked(s, b, skip, bytes),
               read = read_by_others_locked(s, b, skip, bytes, NULL);
    const unsigned char number = writer_locked(s, b);
    for (size_t i = 0; i < bytes; ++i) b->set[skip + i] = set && !set[i] ? 0 : number;
    return written ? overwrites_written : read ? overwrites_read : NULL;
}

/* ---- Kernels ----------------------------------------------------------------------------------------- */

/* Bytes that others write, without a wait in between, count as unset, so reading them is found. */
unsigned char *fake_before_kernel_locked(const fake_stream_t *s, fake_block_t *b) {
    unsigned char unordered[TAGS];
    for (size_t i = 0; i < b->bytes; ++i) { /* marks of kernels that had no parameter for this block */
        const unsigned char who = b->set[i] & (unsigned char)~PTX_WAS_READ;
        b->set[i] = who == WRITTEN ? SETTLED : who;
    }
    if (!find_writers_locked(s, b, unordered)) return NULL;
    unsigned char *seen = fake_zalloc(b->bytes);
    for (size_t i = 0; i < b->bytes; ++i) seen[i] = unordered[b->set[i]] ? 0 : b->set[i];
    return seen;
}

const char *fake_after_kernel_locked(const fake_stream_t *s, fake_block_t *b, unsigned char *seen) {
    unsigned char *set = seen ? seen : b->set, unordered[TAGS], any = 0;
    struct fake_readers *r = reader_locked(s, b);
    const bool read = read_by_others_locked(s, b, 0, b->bytes, set);
    const unsigned char number = writer_locked(s, b);
    if (find_writers_locked(s, b, unordered))
        for (size_t i = 0; i < b->bytes; ++i)
            if ((set[i] & ~PTX_WAS_READ) == WRITTEN) any |= unordered[b->set[i] & ~PTX_WAS_READ];
    const unsigned char reader = (unsigned char)r->n;
    for (size_t i = 0; i < b->bytes;
         ++i) { /* without branches, so that the compiler takes many bytes at once */
        const unsigned char mark = set[i], who = b->set[i] & (unsigned char)~PTX_WAS_READ;
        r->number[i] = mark & PTX_WAS_READ ? reader : r->number[i];
        b->set[i] = (mark & ~PTX_WAS_READ) == WRITTEN ? number : who;
    }
    free(seen);
    return any ? overwrites_written : read ? overwrites_read : NULL;
}
