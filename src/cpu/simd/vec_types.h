/* Vectors of f32 from elements of other types and back, the type being a constant. Behind vec_*.h. */
#ifndef DTP_CPU_SIMD_VEC_TYPES_H
#define DTP_CPU_SIMD_VEC_TYPES_H

#include <string.h>

typedef enum { V_F32, V_BF16, V_F16, V_S8, V_U8 } v_type_t;

#ifdef VL
V_INLINE int64_t v_size(const v_type_t t) { return t == V_F32 ? 4 : t == V_BF16 || t == V_F16 ? 2 : 1; }
V_INLINE const void *v_at(const v_type_t t, const void *p, int64_t i) {
    return (const char *)p + i * v_size(t);
}
V_INLINE vf v_load_as(const v_type_t t, const void *p) {
    return t == V_F32    ? v_load((const float *)p)
           : t == V_BF16 ? v_from_bf16(p)
           : t == V_F16  ? v_from_f16(p)
           : t == V_S8   ? v_from_s8(p)
                         : v_from_u8(p);
}
/* part: only n < VL elements, 0 in the others. */
V_INLINE vf v_get(const v_type_t t, const int part, int64_t n, const void *p) {
    if (!part) return v_load_as(t, p);
    if (t == V_F32) return v_load_n((const float *)p, n);
    if (t == V_BF16) return v_from_bf16_n(p, n);
    float room[VL];
    memset(room, 0, sizeof room);
    memcpy(room, p, (size_t)(n * v_size(t)));
    return v_load_as(t, room);
}
/* To f32, bf16 or f16. */
V_INLINE void v_put_as(const v_type_t t, const int part, int64_t n, void *p, vf x) {
    if (t == V_F32) {
        if (part) v_store_n((float *)p, x, n);
        else v_store((float *)p, x);
        return;
    }
    if (t == V_BF16) {
        if (part) v_to_bf16_n(p, x, n);
        else v_to_bf16(p, x);
        return;
    }
    float room[VL];
    v_to_f16(part ? room : p, x);
    if (part) memcpy(p, room, (size_t)(n * v_size(t)));
}
#endif

#endif
