/* atom and red. */
#include <string.h>
#include "internal.h"

enum { OP_ADD, OP_MIN, OP_MAX, OP_EXCH, OP_CAS, OP_AND, OP_OR, OP_XOR, OP_INC, OP_DEC };

static uint64_t add_float(uint64_t a, uint64_t b, type_t type) {
    switch (type) {
    case T_F32: return ptx_f32_bits(ptx_bits_f32((uint32_t)a) + ptx_bits_f32((uint32_t)b));
    case T_F64: return ptx_f64_bits(ptx_bits_f64(a) + ptx_bits_f64(b));
    case T_F16:
        return ptx_f32_to_f16(ptx_f16_to_f32((uint32_t)a & 0xffff) + ptx_f16_to_f32((uint32_t)b & 0xffff));
    default:
        return ptx_f32_to_bf16(ptx_bf16_to_f32((uint32_t)a & 0xffff) + ptx_bf16_to_f32((uint32_t)b & 0xffff));
    }
}

static uint64_t add(uint64_t a, uint64_t b, type_t type) {
    switch (type) {
    case T_F32:
    case T_F64:
    case T_F16:
    case T_BF16: return add_float(a, b, type);
    case T_F16X2: return (add_float(a, b, T_F16) & 0xffff) | add_float(a >> 16, b >> 16, T_F16) << 16;
    case T_BF16X2: return (add_float(a, b, T_BF16) & 0xffff) | add_float(a >> 16, b >> 16, T_BF16) << 16;
    default: return a + b;
    }
}

static bool below(uint64_t a, uint64_t b, type_t type) {
    return type == T_S32 ? (int32_t)a < (int32_t)b : type == T_S64 ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t apply(const insn_t *in, uint64_t old, uint64_t b, uint64_t c) {
    type_t type = (type_t)in->type;
    switch (in->op) {
    case OP_ADD: return add(old, b, type);
    case OP_MIN: return below(b, old, type) ? b : old;
    case OP_MAX: return below(old, b, type) ? b : old;
    case OP_EXCH: return b;
    case OP_CAS: return old == b ? c : old;
    case OP_AND: return old & b;
    case OP_OR: return old | b;
    case OP_XOR: return old ^ b;
    case OP_INC: return old >= b ? 0 : old + 1;
    default: return old == 0 || old > b ? b : old - 1;
    }
}

static uint32_t bytes_of(type_t type) { return type <= T_BF16 ? 2 : type <= T_TF32 ? 4 : 8; }

/* Lane by lane, from the lowest on. */
bool ptx_exec_atom(warp_t *w, const insn_t *in, uint32_t mask) {
    uint32_t bytes = bytes_of((type_t)in->type);
    uint64_t at[LANES], b[LANES], c[LANES] = {0};
    lanes_t result;
    if (!ptx_sources_set(w, in, mask)) return false;
    ptx_addresses(w, in, 0, in->offset, at);
    if (ptx_counts(w)) ptx_count(w, in, mask, at, bytes, ACCESS_ATOMIC);
    ptx_wide(w, in, 1, b);
    if (in->n_src > 2) ptx_wide(w, in, 2, c);
    for (int i = 0; i < LANES; ++i) {
        view_t v;
        uint64_t old = 0;
        if (!(mask >> i & 1)) continue;
        if (!ptx_view(w, in, (space_t)in->space, UINT32_C(1) << i, at, bytes, &v)) return false;
        view_t readable = v;
        readable.shadow = NULL;
        if (in->op != OP_EXCH && !ptx_access(w, in, &readable, i, at[i], bytes, ACCESS_READ, NULL))
            return false;
        unsigned char *p = ptx_access(w, in, &v, i, at[i], bytes, ACCESS_ATOMIC, NULL);
        if (!p) return false;
        memcpy(&old, p, bytes);
        uint64_t new = apply(in, old, b[i], c[i]);
        memcpy(p, &new, bytes);
        if (!in->n_dst) continue;
        if (in->width[0] == 8) result.u64[i] = old;
        else result.u32[i] = (uint32_t)old;
    }
    if (in->n_dst) ptx_store(w, in, 0, &result, mask);
    return true;
}
