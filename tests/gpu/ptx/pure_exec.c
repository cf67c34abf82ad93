/* Execution of instructions that only read and write registers. */
#include <fenv.h>
#include <string.h>
#include "internal.h"

bool ptx_sources_set(warp_t *w, const insn_t *in, uint32_t mask) {
    uint32_t unset = 0;
    for (int i = in->n_dst; i < in->n_dst + in->n_src; ++i) unset |= mask & ~*set_of(w, in->row[i]);
    if (!unset) return true;
    int lane = lowest_lane(unset);
    for (int i = 0; i < in->n_src; ++i)
        if (!(*set_of(w, in->row[in->n_dst + i]) >> lane & 1))
            return ptx_trap(w, in, lane, "source %d is a register that was never written", i + 1);
    return false;
}

void ptx_store(warp_t *w, const insn_t *in, int dst, const lanes_t *v, uint32_t mask) {
    uint8_t width = in->width[dst];
    uint16_t row = in->row[dst];
    if (!width) return;
    lanes_t *to = row_of(w, row);
    *set_of(w, row) |= mask;
    if (width == 1) {
        to->u32[0] = (to->u32[0] & ~mask) | (v->u32[0] & mask);
    } else if (width == 8) {
        if (mask == ALL_LANES) {
            memcpy(to->u64, v->u64, sizeof v->u64);
        } else {
            for (int i = 0; i < LANES; ++i) to->u64[i] = mask >> i & 1 ? v->u64[i] : to->u64[i];
        }
    } else if (mask == ALL_LANES) {
        memcpy(to->u32, v->u32, sizeof v->u32);
    } else {
        for (int i = 0; i < LANES; ++i) to->u32[i] = mask >> i & 1 ? v->u32[i] : to->u32[i];
    }
}

void ptx_wide(const warp_t *w, const insn_t *in, int src, uint64_t v[LANES]) {
    const lanes_t *a = ptx_source(w, in, src);
    if (in->width[in->n_dst + src] == 8) {
        memcpy(v, a->u64, sizeof a->u64);
    } else {
        for (int i = 0; i < LANES; ++i) v[i] = a->u32[i];
    }
}

static int rounding(uint8_t round) {
    return round == ROUND_RZ ? FE_TOWARDZERO : round == ROUND_RM ? FE_DOWNWARD : FE_UPWARD;
}

/* Sources with small numbers flushed (.ftz of f32). */
static void flushed(const insn_t *in, lanes_t copy[4], const lanes_t *s[4]) {
    for (int i = 0; i < in->n_src && i < 4; ++i) {
        if (in->width[in->n_dst + i] != 4) continue;
        memcpy(copy[i].u32, s[i]->u32, sizeof copy[i].u32);
        ptx_flush(&copy[i]);
        s[i] = &copy[i];
    }
}

bool ptx_exec_pure(warp_t *w, const insn_t *in, uint32_t mask) {
    const lanes_t *s[4];
    lanes_t result[2], copy[4];
    if (!ptx_sources_set(w, in, mask)) return false;
    for (int i = 0; i < 4; ++i) s[i] = ptx_source(w, in, i < in->n_src ? i : 0);
    if (in->invert)
        for (int i = 0; i < in->n_src; ++i)
            if (in->invert >> i & 1) {
                copy[i].u32[0] = ~s[i]->u32[0];
                s[i] = &copy[i];
            }
    if (!in->ftz && !in->sat && in->round <= ROUND_RN) {
        in->pure(in, result, s);
    } else {
        bool cvt = in->pure == ptx_convert || in->pure == ptx_convert_pair;
        bool set_round = in->round >= ROUND_RZ && in->round <= ROUND_RP;
        if (in->ftz && !cvt && in->type == T_F32) flushed(in, copy, s);
        if (set_round) fesetround(rounding(in->round));
        in->pure(in, result, s);
        if (set_round) fesetround(FE_TONEAREST);
        if (in->ftz && !cvt && in->type == T_F32 && in->width[0] == 4) ptx_flush(result);
        if (in->sat && !cvt) ptx_saturate(result, in->type);
    }
    ptx_store(w, in, 0, result, mask);
    if (in->n_dst > 1) ptx_store(w, in, 1, result + 1, mask);
    return true;
}

/* A copy of what was never written is never written: compilers move undefined values around. */
bool ptx_exec_mov(warp_t *w, const insn_t *in, uint32_t mask) {
    uint16_t from = in->row[1], to = in->row[0];
    uint32_t written = *set_of(w, from) & mask;
    lanes_t v;
    if (!in->width[0]) return true;
    if (in->width[0] == 1) {
        v.u32[0] = in->invert ? ~row_of(w, from)->u32[0] : row_of(w, from)->u32[0];
        ptx_store(w, in, 0, &v, mask);
    } else if (in->width[0] == 8) {
        uint64_t wide[LANES];
        ptx_wide(w, in, 0, wide);
        memcpy(v.u64, wide, sizeof wide);
        ptx_store(w, in, 0, &v, mask);
    } else if (in->width[1] == 8 || in->width[0] == 2) {
        uint64_t wide[LANES];
        ptx_wide(w, in, 0, wide);
        for (int i = 0; i < LANES; ++i) v.u32[i] = in->width[0] == 2 ? (uint16_t)wide[i] : (uint32_t)wide[i];
        ptx_store(w, in, 0, &v, mask);
    } else {
        ptx_store(w, in, 0, row_of(w, from), mask);
    }
    uint32_t *set = set_of(w, to);
    *set = (*set & ~mask) | written;
    return true;
}

/* mov.b32 d, {low, high} and so on. */
bool ptx_exec_pack(warp_t *w, const insn_t *in, uint32_t mask) {
    uint32_t bits = 8u * in->width[0] / in->n_src;
    uint64_t part[LANES];
    lanes_t v;
    if (!ptx_sources_set(w, in, mask)) return false;
    memset(&v, 0, sizeof v);
    for (int k = 0; k < in->n_src; ++k) {
        ptx_wide(w, in, k, part);
        for (int i = 0; i < LANES; ++i) {
            uint64_t field = part[i] & ((UINT64_C(1) << bits) - 1);
            if (in->width[0] == 8) v.u64[i] |= field << (uint32_t)k * bits;
            else v.u32[i] |= (uint32_t)(field << (uint32_t)k * bits);
        }
    }
    ptx_store(w, in, 0, &v, mask);
    return true;
}

bool ptx_exec_unpack(warp_t *w, const insn_t *in, uint32_t mask) {
    uint32_t bits = 8u * in->width[in->n_dst] / in->n_dst;
    uint64_t whole[LANES];
    lanes_t v;
    if (!ptx_sources_set(w, in, mask)) return false;
    ptx_wide(w, in, 0, whole);
    for (int k = 0; k < in->n_dst; ++k) {
        for (int i = 0; i < LANES; ++i) {
            uint64_t field = whole[i] >> (uint32_t)k * bits & ((UINT64_C(1) << bits) - 1);
            if (in->width[k] == 8) v.u64[i] = field;
            else v.u32[i] = (uint32_t)field;
        }
        ptx_store(w, in, k, &v, mask);
    }
    return true;
}

bool ptx_exec_nop(warp_t *w, const insn_t *in, uint32_t mask) {
    (void)w, (void)in, (void)mask;
    return true;
}
