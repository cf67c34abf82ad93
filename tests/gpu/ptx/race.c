/* Data races: for each 4 bytes of shared and global memory, who wrote and who read them last, byte by byte.
 *
 * Barriers of blocks and of warps raise the clock of the launch. An entry has the time of its last access and, for each byte, a
 * mark of 16 bits: a lane of a warp, or one of the words below. A lane comes after what other warps of its block did before
 * the block's last barrier, and after what lanes of its own warp did before the last barrier of that warp (bar.warp.sync, or a
 * barrier of the block). Nothing else orders lanes: no shuffle, vote, match, reduction or matrix instruction does.
 *
 * Coarser than the PTX ISA, so that races may be missed: a barrier of some warps (bar.sync with a number of threads) orders all
 * warps of the block; lanes that ended take part in barriers that name them. Behind a barrier of some lanes of a warp (a
 * mask): bytes that several lanes have read count as read by lanes of the mask, a reader takes the place of an earlier one that
 * the barrier orders before it, and so do bytes of an entry that another access has brought to a later time. */
#include <stdlib.h>
#include <string.h>
#include "internal.h"

enum {
    LANE = 0x3f,        /* the bits of a lane; */
    SEVERAL_LANES = 32, /* in their place: several lanes of the warp, */
    PAST_LANES = 33,    /* some lane, but all lanes of its warp come after it, */
    NO_LANE = 34,       /* none that a mark has: what all lanes do together */
    WARP_SHIFT = 6,
    WARP = 0x1f << WARP_SHIFT,
    SEVERAL = 0x0800, /* several warps */
    NOBODY = 0x1000,
    FOREIGN = 0x2000, /* another block */
    ATOMIC = 0x8000,
    /* all bits of a mark that do not name a lane */
    NOT_LANE = WARP | SEVERAL | NOBODY | FOREIGN | ATOMIC
};
static const uint64_t each = UINT64_C(0x0001000100010001), all_bytes = UINT64_MAX;

typedef enum { WHO_NOBODY, WHO_SELF, WHO_BEFORE, WHO_LANE, WHO_WARP, WHO_BLOCK } who_t;

/* ---- Barriers ---------------------------------------------------------------------------------------------- */

/* The time from which on lane `other` of the warp is not ordered before `lane`, or before all lanes (NO_LANE). */
static uint32_t ordered_until(const warp_t *w, uint32_t lane, uint32_t other) {
    uint32_t until = UINT32_MAX;
    for (uint32_t i = 0; w->partial && i < LANES; ++i) {
        uint32_t seen = w->seen[i * LANES + (other < LANES ? other : i)];
        bool counts = lane == NO_LANE ? w->lanes >> i & 1 : i == lane;
        if (counts && seen < until) until = seen;
    }
    return w->partial && until > w->ordered ? until : w->ordered;
}

/* A barrier of some lanes: each of them comes after all that one of them came after. */
static void order_some(warp_t *w, uint32_t mask) {
    uint32_t latest[LANES], now = w->run->clock;
    if (!w->seen && !(w->seen = calloc(LANES * LANES, sizeof *w->seen))) abort();
    for (uint32_t k = 0; k < LANES; ++k) {
        latest[k] = mask >> k & 1 ? now : 0;
        for (uint32_t i = 0; i < LANES; ++i)
            if (mask >> i & 1 && w->seen[i * LANES + k] > latest[k]) latest[k] = w->seen[i * LANES + k];
    }
    for (uint32_t i = 0; i < LANES; ++i)
        if (mask >> i & 1) memcpy(w->seen + i * LANES, latest, sizeof latest);
    w->partial = now;
}

void ptx_order_lanes(warp_t *w, uint32_t mask) {
    ++w->run->clock;
    if ((mask & w->lanes) == w->lanes) ptx_order_warp(w);
    else order_some(w, mask);
}

void ptx_order_warp(warp_t *w) {
    w->ordered = w->run->clock;
    w->partial = 0;
}

/* ---- Any access -------------------------------------------------------------------------------------------- */

static who_t who(const warp_t *w, bool shared, uint32_t lane, uint32_t time, uint32_t mark) {
    const run_t *r = w->run;
    if (!time || mark & NOBODY || (shared && time < r->first)) return WHO_NOBODY;
    if (mark & FOREIGN || time < r->first) return WHO_BLOCK;
    if (mark & SEVERAL || (mark & WARP) >> WARP_SHIFT != w->index)
        return time < r->ordered ? WHO_BEFORE : WHO_WARP;
    if ((mark & LANE) == PAST_LANES || time < ordered_until(w, lane, mark & LANE)) return WHO_BEFORE;
    return (mark & LANE) == lane ? WHO_SELF : WHO_LANE;
}

/* A mark of `time` as it is to be now: of the past only other blocks count, and for other warps what a warp did before a barrier of
 * its own. */
static uint32_t bring_mark(const run_t *r, bool shared, uint32_t time, uint32_t mark) {
    if (!time || mark & NOBODY || (shared && time < r->first)) return NOBODY;
    if (mark & FOREIGN || time < r->first) return FOREIGN | (mark & ATOMIC);
    if (time < r->ordered) return NOBODY;
    if (mark & SEVERAL) return mark;
    const warp_t *w = &r->warps[(mark & WARP) >> WARP_SHIFT];
    return time < w->ordered || time < w->partial ? (mark & NOT_LANE) | PAST_LANES : mark;
}

static void bring(const run_t *r, bool shared, uint32_t *time, uint64_t *marks) {
    uint64_t m = 0;
    if (*time == r->clock) return;
    for (int i = 0; i < 64; i += 16) m |= (uint64_t)bring_mark(r, shared, *time, *marks >> i & 0xffff) << i;
    *time = r->clock;
    *marks = m;
}

static uint64_t put(uint64_t marks, int byte, uint32_t mark) {
    return (marks & ~(UINT64_C(0xffff) << 16 * byte)) | (uint64_t)mark << 16 * byte;
}

static bool clash(who_t who) { return who >= WHO_LANE; }

static bool race(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t offset, access_t access,
                 who_t who, uint32_t mark, bool wrote) {
    static const char *const verbs[] = {"reads", "writes", "changes"};
    unsigned long long at = v->shared ? offset : v->base + offset;
    const char *space = v->shared ? "shared" : "global", *did = wrote ? "wrote" : "read";
    if (who == WHO_BLOCK)
        return ptx_trap(w, in, lane, "data race: %s memory at 0x%llx that another block %s in this launch",
                        verbs[access], at, did);
    if (who == WHO_LANE && (mark & LANE) < LANES)
        return ptx_trap(
            w, in, lane,
            "data race: %s %s memory at 0x%llx that lane %d of its warp %s, without a barrier between",
            verbs[access], space, at, (int)(mark & LANE), did);
    if (who == WHO_LANE || mark & SEVERAL)
        return ptx_trap(w, in, lane,
                        "data race: %s %s memory at 0x%llx that other %s %s, without a barrier between",
                        verbs[access], space, at, who == WHO_LANE ? "lanes of its warp" : "warps", did);
    return ptx_trap(w, in, lane,
                    "data race: %s %s memory at 0x%llx that warp %d %s, without a barrier between",
                    verbs[access], space, at, (int)((mark & WARP) >> WARP_SHIFT), did);
}

/* The mark of a lane that joins others. */
static uint32_t joined(const warp_t *w, who_t others, uint32_t own) {
    return others == WHO_BLOCK  ? FOREIGN
           : others == WHO_WARP ? SEVERAL
           : others == WHO_LANE ? w->index << WARP_SHIFT | SEVERAL_LANES
                                : own;
}

static bool note_byte(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t offset,
                      access_t access, const unsigned char *value) {
    const run_t *r = w->run;
    shadow_t *e = &v->shadow[offset / 4];
    int byte = (int)(offset % 4);
    uint32_t self = v->together ? NO_LANE : (uint32_t)lane,
             own = w->index << WARP_SHIFT | (v->together ? SEVERAL_LANES : (uint32_t)lane);
    uint32_t writer_mark = (uint32_t)(e->writers >> 16 * byte) & 0xffff,
             reader_mark = (uint32_t)(e->readers >> 16 * byte) & 0xffff;
    who_t writer = who(w, v->shared, self, e->written, writer_mark),
          reader = who(w, v->shared, self, e->read, reader_mark);
    /* Two warps may write one value to shared memory, two lanes of a warp to any. */
    bool same = access == ACCESS_WRITE && value && *value == v->host[offset] &&
                (writer == WHO_LANE || (writer == WHO_WARP && v->shared));
    if (clash(writer) && !(access == ACCESS_ATOMIC && writer_mark & ATOMIC) && !same)
        return race(w, in, v, lane, offset, access, writer, writer_mark, true);
    if (access != ACCESS_READ && clash(reader))
        return race(w, in, v, lane, offset, access, reader, reader_mark, false);
    if (access == ACCESS_READ) {
        bring(r, v->shared, &e->read, &e->readers);
        e->readers = put(e->readers, byte, joined(w, reader, own));
        return true;
    }
    bring(r, v->shared, &e->written, &e->writers);
    uint32_t mark = joined(w, same && writer == WHO_WARP ? WHO_SELF : writer, own);
    /* What a lane has stored itself stays a store if it then changes it atomically. */
    if (access == ACCESS_ATOMIC && !(writer == WHO_SELF && !(writer_mark & ATOMIC))) mark |= ATOMIC;
    e->writers = put(e->writers, byte, mark);
    return true;
}

/* ---- Most accesses ----------------------------------------------------------------------------------------- */

/* What a lane's access compares entries with; marks stand for all 4 bytes. */
typedef struct {
    uint32_t now, first; /* the clock, now and when the block began */
    uint32_t past, block,
        fresh; /* before `past` ends what is ordered for all, before `block` what is for other warps; */
    uint32_t settled;   /* before it, what is for lanes of this warp. From `fresh` on no barrier was */
    uint64_t self, own; /* the lane: in marks that are compared, and in those that are put */
    bool shared, masks; /* masks: the warp's last barrier was one of some lanes */
} moment_t;

static moment_t moment_of(const warp_t *w, const view_t *v, bool together) {
    const run_t *r = w->run;
    uint64_t warp = w->index << WARP_SHIFT;
    uint32_t latest = r->ordered > w->ordered ? r->ordered : w->ordered;
    return (moment_t){
        .now = r->clock,
        .first = r->first,
        .past = r->ordered < w->ordered ? r->ordered : w->ordered,
        .block = r->ordered,
        .fresh = latest > w->partial ? latest : w->partial,
        .settled = w->ordered,
        .self = (warp | (together ? NO_LANE : 0)) * each,
        .own = (warp | (together ? SEVERAL_LANES : 0)) * each,
        .shared = v->shared,
        .masks = w->partial != 0,
    };
}

static inline moment_t moment_of_lane(moment_t n, bool together, int lane) {
    uint64_t add = together ? 0 : (uint64_t)lane * each;
    n.self += add;
    n.own += add;
    return n;
}

/* Whether none of an entry's marks counts any more. */
static inline bool is_past(const moment_t *n, uint32_t time, uint64_t marks) {
    return time < n->past && (n->shared || !time || (time >= n->first && !(marks & FOREIGN * each)));
}

/* Whether the bytes in m have only marks that are ordered before the lane. */
static inline bool is_ordered(const moment_t *n, uint32_t time, uint64_t marks, uint64_t m) {
    if (time < n->past) return is_past(n, time, marks);
    uint64_t differ = (marks ^ n->self) & m;
    return !differ || !((marks ^ NOBODY * each) & m) || (time < n->settled && !(differ & NOT_LANE * each));
}

/* Makes the lane's mark that of the bytes in m where that is all that there is to do. */
static inline bool put_own(const moment_t *n, uint32_t *time, uint64_t *marks, uint64_t m) {
    if (m == all_bytes) *marks = n->own;
    else if (is_past(n, *time, *marks)) *marks = (NOBODY * each & ~m) | (n->own & m);
    else if (*time == n->now) *marks = (*marks & ~m) | (n->own & m);
    else return false;
    *time = n->now;
    return true;
}

static inline bool add_reader(const moment_t *n, shadow_t *e, uint64_t m) {
    uint32_t time = e->read;
    uint64_t marks = e->readers, differ = (marks ^ n->own) & m;
    if (is_past(n, time, marks)) return put_own(n, &e->read, &e->readers, m);
    if (time >= n->fresh && !differ) return true; /* as before */
    if (!((marks ^ FOREIGN * each) & m)) return true;
    if (time >= n->block && !((marks ^ SEVERAL * each) & m)) return true;
    bool of_warp = !(differ & NOT_LANE * each);
    if (time >= n->fresh && of_warp && !((marks ^ SEVERAL_LANES * each) & m & LANE * each)) return true;
    if (time < n->past) { /* of another block */
        if (n->shared || time >= n->first || m != all_bytes || marks & NOBODY * each) return false;
        marks = FOREIGN * each;
    } else if (!((marks ^ NOBODY * each) & m)) {
        return put_own(n, &e->read, &e->readers, m);
    } else if (m != all_bytes || marks != (marks & 0xffff) * each) {
        return false;
    } else if (of_warp) {
        if (time >= n->settled && n->masks) return false;
        marks = time < n->settled || !differ ? n->own : (n->own & NOT_LANE * each) | SEVERAL_LANES * each;
    } else {
        if (time < n->block || marks & FOREIGN * each) return false;
        marks = SEVERAL * each;
    }
    e->readers = marks;
    e->read = n->now;
    return true;
}

/* Notes an access to the bytes in m of an entry if nothing speaks against it at first sight. */
static inline bool note_quickly(const moment_t *n, shadow_t *e, uint64_t m, access_t access) {
    if (access == ACCESS_ATOMIC || !is_ordered(n, e->written, e->writers, m)) return false;
    if (access == ACCESS_READ) return add_reader(n, e, m);
    return is_ordered(n, e->read, e->readers, m) && put_own(n, &e->written, &e->writers, m);
}

/* The marks of 1, 2 or 4 bytes at an offset. */
static inline uint64_t marks_of(uint64_t offset, uint32_t bytes) {
    return bytes >= 4 ? all_bytes : ((UINT64_C(1) << 16 * bytes) - 1) << 16 * (offset % 4);
}

/* Those of the lanes that access the same bytes as the first one does: its neighbours, or the one that is half a warp away. */
static inline uint32_t lanes_with(const uint64_t offset[LANES], uint32_t mask) {
    int first = lowest_lane(mask), twin = first + LANES / 2;
    uint32_t same = mask & -mask, rest = mask & (mask - 1);
    for (; rest && offset[lowest_lane(rest)] == offset[first]; rest &= rest - 1) same |= rest & -rest;
    if (twin < LANES && rest >> twin & 1 && offset[twin] == offset[first]) same |= UINT32_C(1) << twin;
    return same;
}

uint32_t ptx_note_lanes(const warp_t *w, const view_t *v, uint32_t mask, const uint64_t offset[LANES],
                        uint32_t bytes, access_t access, bool together) {
    const moment_t alone = moment_of(w, v, false), several = moment_of(w, v, true);
    uint32_t left = 0, lanes;
    for (; mask; mask &= ~lanes) {
        int lane = lowest_lane(mask);
        lanes = access == ACCESS_READ ? lanes_with(offset, mask) : mask & -mask;
        const moment_t n = together || lanes & (lanes - 1) ? several : moment_of_lane(alone, false, lane);
        shadow_t *e = &v->shadow[offset[lane] / 4];
        bool ok = true;
        if (bytes < 4) ok = note_quickly(&n, e, marks_of(offset[lane], bytes), access);
        else
            for (uint32_t k = 0; k < bytes / 4; ++k) ok &= note_quickly(&n, e + k, all_bytes, access);
        if (!ok) left |= lanes;
    }
    return left;
}

bool ptx_note(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t offset, uint32_t bytes,
              access_t access, const unsigned char *value) {
    const moment_t n = moment_of_lane(moment_of(w, v, v->together), v->together, lane);
    for (uint32_t i = 0, part; i < bytes; i += part) {
        shadow_t *e = &v->shadow[(offset + i) / 4];
        part = bytes - i < 4 || (offset + i) % 4 ? 1 : 4;
        if (part == 4 ? note_quickly(&n, e, all_bytes, access)
                      : note_quickly(&n, e, marks_of(offset + i, 1), access))
            continue;
        for (uint32_t k = 0; k < part; ++k)
            if (!note_byte(w, in, v, lane, offset + i + k, access, value ? value + i + k : NULL))
                return false;
    }
    return true;
}
