/* Counters of packed regions: acyclic Switch and Merge with deadness, in one word of 64 bits.
 *
 *   ordinary   dead : 32 | pending : 32           every arrival: pending - 1, a dead one also dead + 1;
 *              ready when pending comes to 0; dead if dead > 0
 *   merge      input : 16 | live : 8 | dead : 20 | control : 20
 *              control arrival: control - 1; dead data: dead + 1; live data: live + 1, input + its number.
 *              ready when R holds first: control == 0 and (live > 0 or dead == data inputs); it may be ready
 * before all its inputs have come. live == 2 is a mistake of the graph. All are one fetch_add, so whoever
 * sees R become true is one thread. */
#ifndef DTP_EXEC_FLOW_WORD_H
#define DTP_EXEC_FLOW_WORD_H

#include <stdbool.h>
#include <stdint.h>

#define DTP_WORD_DEAD ((uint64_t)1 << 32)
static inline uint64_t dtp_word_delta(bool dead) { return (dead ? DTP_WORD_DEAD : 0) - 1; }
static inline bool dtp_word_ready(uint64_t old) { return (uint32_t)old == 1; }
static inline bool dtp_word_is_dead(uint64_t word) { return word >> 32 != 0; }

#define DTP_MERGE_FIELD (((uint64_t)1 << 20) - 1)
#define dtp_merge_control(w) ((uint32_t)((w)&DTP_MERGE_FIELD))
#define dtp_merge_dead(w) ((uint32_t)((w) >> 20 & DTP_MERGE_FIELD))
#define dtp_merge_live(w) ((uint32_t)((w) >> 40 & 255))
#define dtp_merge_input(w) ((uint32_t)((w) >> 48))
/* input: number + 1 of the data input, 0: control. */
static inline uint64_t dtp_merge_delta(uint32_t input, bool dead) {
    if (input == 0) return ~(uint64_t)0;
    return dead ? (uint64_t)1 << 20 : (uint64_t)1 << 40 | (uint64_t)(input - 1) << 48;
}
static inline bool dtp_merge_holds(uint64_t w, uint32_t inputs) {
    return dtp_merge_control(w) == 0 && (dtp_merge_live(w) > 0 || dtp_merge_dead(w) == inputs);
}
static inline bool dtp_merge_ready(uint64_t old, uint64_t delta, uint32_t inputs) {
#ifdef DTP_BREAK_MERGE_READY
    return dtp_merge_holds(old + delta, inputs);
#else
    return dtp_merge_holds(old + delta, inputs) && !dtp_merge_holds(old, inputs);
#endif
}

/* Second word of an edge: input of a MERGE + 1 (0: ordinary or control), port of a SWITCH, kind of the
 * target. */
#define DTP_FE_INPUT(e) ((e)&0xffff)
#define DTP_FE_TO_MERGE ((uint32_t)1 << 16)
#define DTP_FE_PORT_SHIFT 17 /* 0: any, 1: false, 2: true */
#define DTP_FE_PORT(e) ((e) >> DTP_FE_PORT_SHIFT & 3)

#endif
