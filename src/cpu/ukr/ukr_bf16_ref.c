/* bf16 micro-kernels in portable C, f32 arithmetic: what runs where no faster set may. Prefetch members of the
 * arguments are ignored. */
#include "common/base/half.h"
#include "cpu/ukr/ukr.h"
#include "cpu/ukr/ukr_ref.h"

INLINE float lane(const char *p, int is_bf16, int j) {
    return is_bf16 ? dtp_bf16_to_f32(((const uint16_t *)p)[j]) : ((const float *)p)[j];
}
INLINE float low(uint32_t x) { return dtp_bits_f32(x << 16); }
INLINE float high(uint32_t x) { return dtp_bits_f32(x & 0xffff0000u); }

INLINE void bf16_body(const int MR, const dtp_ukr_args_t *u) {
    static const dtp_ukr_tap_t one_tap = {0, 0};
    const int lanes = __builtin_popcount(u->mask);
    const uint32_t flags = u->flags;
    const int half = (flags & DTP_UKR_HALF) != 0;
    for (int64_t blk = 0; blk < u->nblk; blk++) {
        float c[DTP_UKR_MAX_MR * DTP_UKR_PANEL] = {0};
        const char *a[DTP_UKR_MAX_MR];
        char *cr[DTP_UKR_MAX_MR];
        for (int i = 0; i < MR; i++) {
            a[i] = u->a + row_at(u->row_a, blk * MR + i, u->lda);
            cr[i] = u->c + row_at(u->row_c, blk * MR + i, u->ldc);
        }
        const dtp_ukr_tap_t *t = u->taps ? u->taps : &one_tap;
        for (int64_t n = 0; n < u->ntap; n++, t++) {
            const uint32_t *b = (const uint32_t *)(u->b + t->b);
            for (int64_t k = 0; k < u->k; k++, b += DTP_UKR_PANEL) {
                float b0[DTP_UKR_PANEL], b1[DTP_UKR_PANEL];
                const int one = half && k + 1 == u->k;
                for (int l = 0; l < DTP_UKR_PANEL; l++) b0[l] = low(b[l]), b1[l] = one ? 0 : high(b[l]);
                for (int i = 0; i < MR; i++) {
                    uint32_t x = 0;
                    __builtin_memcpy(&x, a[i] + t->a + 4 * k, one ? 2 : 4);
                    const float a0 = low(x), a1 = high(x);
                    for (int l = 0; l < DTP_UKR_PANEL; l++)
                        c[i * DTP_UKR_PANEL + l] += a0 * b0[l], c[i * DTP_UKR_PANEL + l] += a1 * b1[l];
                }
            }
        }
        for (int i = 0; i < MR; i++) {
            const char *from = u->add ? u->add + row_at(u->row_add, blk * MR + i, u->ldadd) : NULL;
            for (int j = 0; j < lanes; j++) {
                float v = c[i * DTP_UKR_PANEL + j];
                if (flags & DTP_UKR_ACC) v += ((const float *)cr[i])[j];
                if (u->bias) v += lane(u->bias, flags & DTP_UKR_BIAS_BF16, j);
                if (flags & DTP_UKR_RELU_FIRST) v = v < 0 ? 0 : v;
                if (from) v += u->add_scale * lane(from, flags & DTP_UKR_ADD_BF16, j);
                if (flags & DTP_UKR_FLOOR) v = v < u->floor ? u->floor : v;
                if (flags & DTP_UKR_CAP) v = v > u->cap ? u->cap : v;
                if (flags & DTP_UKR_C_BF16) ((uint16_t *)cr[i])[j] = dtp_f32_to_bf16(v);
                else ((float *)cr[i])[j] = v;
            }
        }
    }
}

#define DEFINE(types, mr, nv, isa) \
    static void ukr_bf16_##mr##x##nv(const dtp_ukr_args_t *u) { bf16_body(mr, u); }
DTP_UKR_TILES_REF(DEFINE)

#define VL 1
static void move_step(const char *src, int64_t lds, char *dst, int64_t ldd) {
    (void)lds, (void)ldd;
    __builtin_memcpy(dst, src, DTP_UKR_STEP_BYTES);
}
static void move_pair(const char *src, int64_t lds, char *dst, int64_t ldd) {
    (void)ldd;
    __builtin_memcpy(dst, src, DTP_UKR_STEP_BYTES / 2);
    __builtin_memcpy(dst + DTP_UKR_STEP_BYTES / 2, src + lds, DTP_UKR_STEP_BYTES / 2);
}
#define BF16_BLOCK move_step
#define BF16_PAIRS move_pair
#include "cpu/ukr/ukr_bf16_pack.inc"

#define ENTRY(types, mr, nv, isa) [nv][mr] = ukr_bf16_##mr##x##nv,
const dtp_ukr_set_t dtp_ukr_bf16__ref = {.flops_per_ns = 4,
                                         .max_nv = 1,
                                         .max_mr = {0, 4},
                                         .tile = {DTP_UKR_TILES_REF(ENTRY)},
                                         .elems = 2,
                                         .is_bf16 = true,
                                         .pack = bf16_pack,
                                         .pack_trans = bf16_pack_trans,
                                         .transpose = bf16_transpose};
