/* Compiler words that kernel bodies need; included by kernel files only. */
#ifndef DTP_CPU_UKR_BODY_H
#define DTP_CPU_UKR_BODY_H

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

/* Prefetch cache lines that are used soon. Data from memory go to the second-level cache, because
 * the processor then keeps more requests in flight. On Zen 4, products of few rows read weights at
 * 26 to 29 GB/s instead of 12. */
INLINE void fetch_l1(const char *p) { __builtin_prefetch(p, 0, 3); }
INLINE void fetch_l2(const char *p) { __builtin_prefetch(p, 0, 2); }

/* Of B that is not in narrow column panels: one row reads it in wide column panels from the
 * second-level cache. */
INLINE void fetch_plain(const int MR, const char *p) {
    if (MR == 1) fetch_l1(p);
    else fetch_l2(p);
}

#endif
