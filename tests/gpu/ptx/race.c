/* Data races: for each 4 bytes of shared and global memory, who wrote and who read them last, byte by byte.
 * An entry is valid for one phase (the time between two barriers of one block, in its high word). Each byte of the low
 * word is a warp, or a warp with the bit ATOMIC, or a mark. Entries of phase 0 say nothing. */
#include "internal.h"

enum {
    NOBODY = 0xff,
    SEVERAL = 0xfe,
    FOREIGN = 0xfd,
    ATOMIC_SEVERAL = 0xfc,
    ATOMIC_FOREIGN = 0xfb,
    ATOMIC = 0x80
};

typedef enum { WHO_NOBODY, WHO_SELF, WHO_BEFORE, WHO_WARP, WHO_BLOCK } who_t;

static who_t who(const warp_t *w, bool shared, uint32_t phase, uint8_t mark, bool *atomic) {
    const run_t *r = w->run;
    *atomic = mark < SEVERAL && mark != FOREIGN && (mark & ATOMIC);
    if (!phase || mark == NOBODY) return WHO_NOBODY;
    if (shared && phase < r->first_phase) return WHO_NOBODY;
    if (mark == FOREIGN || mark == ATOMIC_FOREIGN || phase < r->first_phase) return WHO_BLOCK;
    if (phase < r->phase) return WHO_BEFORE;
    if (mark == SEVERAL || mark == ATOMIC_SEVERAL) return WHO_WARP;
    return (mark & ~ATOMIC) == (int)w->index ? WHO_SELF : WHO_WARP;
}

/* The entry, brought to the present phase: of the past only other blocks count. */
static uint64_t bring(const warp_t *w, bool shared, uint64_t entry) {
    uint32_t phase = (uint32_t)(entry >> 32);
    if (phase == w->run->phase) return entry;
    uint64_t r = (uint64_t)w->run->phase << 32;
    for (int i = 0; i < 32; i += 8) {
        bool atomic;
        bool block = who(w, shared, phase, (uint8_t)(entry >> i), &atomic) == WHO_BLOCK;
        r |= (uint64_t)(!block ? NOBODY : atomic ? ATOMIC_FOREIGN : FOREIGN) << i;
    }
    return r;
}

static uint64_t put(uint64_t entry, int byte, uint32_t mark) {
    return (entry & ~(UINT64_C(0xff) << 8 * byte)) | (uint64_t)mark << 8 * byte;
}

static bool clash(who_t who) { return who == WHO_WARP || who == WHO_BLOCK; }

static bool race(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t offset, access_t access,
                 who_t who, uint8_t mark, bool wrote) {
    static const char *const verbs[] = {"reads", "writes", "changes"};
    unsigned long long at = v->shared ? offset : v->base + offset;
    if (who == WHO_BLOCK)
        return ptx_trap(w, in, lane, "data race: %s memory at 0x%llx that another block %s in this launch",
                        verbs[access], at, wrote ? "wrote" : "read");
    if (mark == SEVERAL || mark == ATOMIC_SEVERAL)
        return ptx_trap(w, in, lane,
                        "data race: %s %s memory at 0x%llx that other warps %s, without a barrier between",
                        verbs[access], v->shared ? "shared" : "global", at, wrote ? "wrote" : "read");
    return ptx_trap(
        w, in, lane, "data race: %s %s memory at 0x%llx that warp %d %s, without a barrier between",
        verbs[access], v->shared ? "shared" : "global", at, mark & ~ATOMIC, wrote ? "wrote" : "read");
}

static bool note_byte(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t offset,
                      access_t access, const unsigned char *value) {
    shadow_t *e = &v->shadow[offset / 4];
    int byte = (int)(offset % 4);
    bool atomic, atomic_read;
    uint8_t writer_mark = (uint8_t)(e->written >> 8 * byte), reader_mark = (uint8_t)(e->read >> 8 * byte);
    who_t writer = who(w, v->shared, (uint32_t)(e->written >> 32), writer_mark, &atomic);
    who_t reader = who(w, v->shared, (uint32_t)(e->read >> 32), reader_mark, &atomic_read);
    /* Two warps may write one value. */
    bool same =
        access == ACCESS_WRITE && v->shared && writer == WHO_WARP && value && *value == v->host[offset];
    if (clash(writer) && !(access == ACCESS_ATOMIC && atomic) && !same)
        return race(w, in, v, lane, offset, access, writer, writer_mark, true);
    if (access != ACCESS_READ && clash(reader))
        return race(w, in, v, lane, offset, access, reader, reader_mark, false);
    if (access == ACCESS_READ) {
        e->read = bring(w, v->shared, e->read);
        e->read = put(e->read, byte, reader == WHO_BLOCK ? FOREIGN : reader == WHO_WARP ? SEVERAL : w->index);
    } else {
        e->written = bring(w, v->shared, e->written);
        uint32_t mark = access == ACCESS_WRITE ? w->index
                        : writer == WHO_BLOCK  ? ATOMIC_FOREIGN
                        : writer == WHO_WARP   ? ATOMIC_SEVERAL
                                               : w->index | ATOMIC;
        e->written = put(e->written, byte, mark);
    }
    return true;
}

/* Whether an entry of 4 bytes names nobody but this warp, or only what was before the last barrier. */
static inline bool is_past(const run_t *r, bool shared, uint64_t entry, uint64_t stamp) {
    if (entry == 0 || entry == stamp) return true;
    if (entry >> 32 == r->phase) return false;
    return shared || (entry >> 32 >= r->first_phase && !(entry & UINT64_C(0x80808080)));
}

/* Who has read an entry's bytes once this warp has, too, where one mark stands for all of them; 0: it does not. */
static inline uint64_t read_mark(const run_t *r, bool shared, uint64_t read, uint64_t stamp) {
    uint32_t phase = (uint32_t)(read >> 32), marks = (uint32_t)read;
    uint64_t now = (uint64_t)r->phase << 32;
    if (!phase || read == stamp) return stamp;
    if (marks != (marks & 0xff) * UINT32_C(0x01010101)) return 0;
    uint8_t mark = (uint8_t)marks;
    if (mark == NOBODY || (shared && phase < r->first_phase)) return stamp;
    if (mark == FOREIGN || phase < r->first_phase) return now | FOREIGN * UINT32_C(0x01010101);
    return phase < r->phase ? stamp : now | SEVERAL * UINT32_C(0x01010101);
}

/* Notes an access to all 4 bytes of an entry if nothing speaks against it at first sight. */
static inline bool note_quickly(const run_t *r, shadow_t *e, bool shared, uint64_t stamp, access_t access) {
    if (access == ACCESS_ATOMIC || !is_past(r, shared, e->written, stamp)) return false;
    if (access == ACCESS_WRITE) {
        if (!is_past(r, shared, e->read, stamp)) return false;
        e->written = stamp;
        return true;
    }
    uint64_t read = read_mark(r, shared, e->read, stamp);
    if (read) e->read = read;
    return read != 0;
}

/* Whether this warp's reads of all 4 bytes are noted already. */
static inline bool is_noted(const run_t *r, const shadow_t *e, bool shared, uint64_t stamp) {
    uint64_t read = e->read;
    return is_past(r, shared, e->written, stamp) && (uint32_t)(read >> 32) == r->phase &&
           read == read_mark(r, shared, read, stamp);
}

static uint64_t stamp_of(const warp_t *w) {
    return (uint64_t)w->run->phase << 32 | w->index * UINT64_C(0x01010101);
}

uint32_t ptx_note_lanes(const warp_t *w, const view_t *v, uint32_t mask, const uint64_t offset[LANES],
                        uint32_t bytes, access_t access) {
    const run_t *r = w->run;
    uint64_t stamp = stamp_of(w);
    uint32_t left = 0;
    for (; mask; mask &= mask - 1) {
        int lane = lowest_lane(mask);
        shadow_t *e = &v->shadow[offset[lane] / 4];
        bool ok = bytes >= 4 || (access == ACCESS_READ && is_noted(r, e, v->shared, stamp));
        for (uint32_t k = 0; k < bytes / 4; ++k) ok &= note_quickly(r, e + k, v->shared, stamp, access);
        left |= (uint32_t)!ok << lane;
    }
    return left;
}

bool ptx_note(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t offset, uint32_t bytes,
              access_t access, const unsigned char *value) {
    const run_t *r = w->run;
    uint64_t stamp = stamp_of(w);
    for (uint32_t i = 0; i < bytes;) {
        uint32_t n = bytes - i < 4 || (offset + i) % 4 ? 1 : 4;
        bool quick = n == 4 && note_quickly(r, &v->shadow[(offset + i) / 4], v->shared, stamp, access);
        for (uint32_t k = 0; k < n && !quick; ++k)
            if (!note_byte(w, in, v, lane, offset + i + k, access, value ? value + i + k : NULL))
                return false;
        i += n;
    }
    return true;
}
