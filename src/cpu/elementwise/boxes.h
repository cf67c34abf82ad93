/* Boxes of loops over tensors of any layouts: the skeleton of reorder, binary, reduction, concat
 * and sum.
 *
 * A logical range of a problem is split into boxes; inside a box every operand's address is linear
 * in every loop index, for any blocks (a dim of size 20 in blocks of 16 gives two boxes). Loops of
 * a box are dropped, sorted and fused to reduce their number; a kernel takes the innermost ones, a
 * cursor walks the others. Nothing here computes or knows data types: strides are in elements. */
#ifndef DTP_CPU_ELEMENTWISE_BOXES_H
#define DTP_CPU_ELEMENTWISE_BOXES_H

#include "common/layout/memory_desc.h"

#define DTP_BOXES_DIMS 12
#define DTP_BOXES_OPS 8
/* Boxes of one range; two dims with tails in two-level blocks need nine. */
#define DTP_BOXES_MAX 16

typedef struct {
    int nd;
    int64_t n[DTP_BOXES_DIMS];                /* outermost first */
    int64_t s[DTP_BOXES_DIMS][DTP_BOXES_OPS]; /* stride of a loop per operand; 0 = broadcast */
    int64_t off[DTP_BOXES_OPS];               /* of the box's first element, offset0 included */
} dtp_box_t;

/* Cuts lo <= p < hi (hi may reach into the padding) into boxes. full: dims of the problem; an
 * operand is broadcast along a dim that is 1 in the operand and not in full. Returns the number of
 * boxes (0 = empty range), or -1 if the blocks of the operands do not divide each other or a limit
 * is exceeded: then another implementation has to serve. */
int dtp_boxes_cut(dtp_box_t *box, int capacity, int ndims, const int64_t *full, const int64_t *lo,
                  const int64_t *hi, int nops, const dtp_md_t *const *md);
/* The whole problem, 0 <= p < full, into DTP_BOXES_MAX boxes. */
int dtp_boxes_cut_all(dtp_box_t *box, int ndims, const int64_t *full, int nops, const dtp_md_t *const *md);
/* Boxes of md's padding (one operand); -1 as above. skip >= 0: without padding that is in this dim
 * only. */
int dtp_boxes_cut_padding(dtp_box_t *box, int capacity, const dtp_md_t *md, int skip);

/* Drops loops of one iteration, sorts by the stride of operand `lead` (largest outermost, ties by
 * the other operands), fuses neighbours. */
void dtp_boxes_order(dtp_box_t *box, int nops, int lead);
/* Moves loop d to position `to`, shifting those between. */
void dtp_boxes_move(dtp_box_t *box, int nops, int d, int to);
/* Number of iterations of loops first..last-1. */
int64_t dtp_boxes_count(const dtp_box_t *box, int first, int last);

/* Resolves md (format any) to the blocks and the order of dims of like, dense for md's own dims. */
void dtp_boxes_layout_like(dtp_md_t *md, const dtp_md_t *like);

/* The walk over the outer loops 0..nd-1 of a box in row-major order. off starts at the box's
 * offsets. */
typedef struct {
    int64_t idx[DTP_BOXES_DIMS];
    int64_t off[DTP_BOXES_OPS];
} dtp_cursor_t;

/* Puts the cursor on iteration i of loops 0..nd-1. */
static inline void dtp_cursor_set(dtp_cursor_t *c, const dtp_box_t *b, int nd, int nops, int64_t i) {
    for (int o = 0; o < nops; ++o) c->off[o] = b->off[o];
    for (int d = nd - 1; d >= 0; --d) {
        int64_t q = i / b->n[d];
        c->idx[d] = i - q * b->n[d];
        i = q;
        for (int o = 0; o < nops; ++o) c->off[o] += c->idx[d] * b->s[d][o];
    }
}

static inline void dtp_cursor_next(dtp_cursor_t *c, const dtp_box_t *b, int nd, int nops) {
    for (int d = nd - 1; d >= 0; --d) {
        if (++c->idx[d] < b->n[d]) {
            for (int o = 0; o < nops; ++o) c->off[o] += b->s[d][o];
            return;
        }
        for (int o = 0; o < nops; ++o) c->off[o] -= (b->n[d] - 1) * b->s[d][o];
        c->idx[d] = 0;
    }
}

#endif
