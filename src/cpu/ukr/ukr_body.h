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

#endif
