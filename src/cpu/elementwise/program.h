/* Element-wise programs over tensors of any layouts: dst = store(steps(load(operands))).
 *
 * Reorder, binary, sum and concat are programs: they name operands and steps, split the problem
 * into boxes (boxes.h) and run tiles of some hundred elements through the tables of
 * cpu/simd/vops.h, in f32 or in the arithmetic of one other type. A program without steps whose
 * types are equal moves bytes (move.h). Padding of the destination is zeroed. The arithmetic of
 * each element is in logical order, so a result never depends on threads or on tiling. */
#ifndef DTP_CPU_ELEMENTWISE_PROGRAM_H
#define DTP_CPU_ELEMENTWISE_PROGRAM_H

#include "common/primitive/primitive_desc.h"
#include "cpu/elementwise/cast.h"
#include "cpu/elementwise/fused.h"
#include "cpu/elementwise/move.h"
#include "cpu/elementwise/boxes.h"
#include "cpu/simd/vops.h"

#define DTP_PROGRAM_STEPS 40
/* Elements of a tile that passes through buffers. */
#define DTP_PROGRAM_TILE 1024

/* Rows of at most so many elements, in tiles of at least so many rows, get repeated sources. */
#define DTP_PROGRAM_REPEAT_COLS 64
#define DTP_PROGRAM_REPEAT_ROWS 16

/* Registers of steps: an operand's index, or the value under construction. */
#define DTP_PROGRAM_ACC DTP_BOXES_OPS

typedef enum {
    DTP_PROGRAM_BINARY,
    DTP_PROGRAM_ELTWISE,
    DTP_PROGRAM_SUM,
    DTP_PROGRAM_AXPY
} dtp_program_step_kind_t;

typedef struct {
    dtp_program_step_kind_t kind;
    int y, a, b, c; /* registers: y = a op b (c: condition of select, -1 none) */
    dnnl_tp_alg_kind_t alg;
    dtp_binary_fn_t binary;
    dtp_eltwise_fn_t eltwise;
    float alpha, beta;      /* eltwise; sum: acc += alpha * (old dst - beta) */
    dnnl_tp_data_type_t dt; /* sum: type of the old dst */
} dtp_program_step_t;

/* A box with its two innermost loops handed to tiles of chunk_y x chunk_x. */
typedef struct {
    dtp_box_t box;
    int nouter;
    int64_t rows, cols, chunk_y, chunk_x, ny, nx;
    int64_t first_unit; /* number of the box's first tile */
    int64_t depth; /* > 0: tiles are small and take chunk_y iterations of the loop around them, of depth */
    int64_t fill;  /* zeros that every row of a tile writes after itself: padding of the destination */
    int move;      /* DTP_MOVE_*: the way in which a program that moves copies bytes */
} dtp_program_box_t;

/* A program of one tile whose operands have the form that its function needs. off: bytes. */
typedef enum {
    DTP_PROGRAM_TILES,
    DTP_PROGRAM_ONE_BINARY,
    DTP_PROGRAM_ONE_FUSED,
    DTP_PROGRAM_ONE_CAST,
    DTP_PROGRAM_ONE_ROWS,
    DTP_PROGRAM_ONE_TRANSPOSE
} dtp_program_once_t;

typedef struct dtp_program {
    dtp_program_once_t once;
    int64_t once_off[3];
    union {
        dtp_binary_args_t binary;
        dtp_fused_args_t fused;
        dtp_cast_args_t cast;
        struct {
            int64_t ldd, lds, rows, cols, fill;
        } move;
    } once_args; /* complete except for the addresses */
    int nops, nsteps;
    const dtp_vops_t *vops;
    const dtp_move_t *moves;
    dnnl_tp_data_type_t arithmetic;        /* of the steps: f32, or the type of all operands */
    int64_t word;                          /* bytes of a value of it */
    dnnl_tp_data_type_t dt[DTP_BOXES_OPS]; /* operand 0 is the destination */
    size_t size[DTP_BOXES_OPS];            /* bytes of an element */
    int arg[DTP_BOXES_OPS];                /* dense index of the pointer */
    dtp_program_step_t step[DTP_PROGRAM_STEPS];
    unsigned isa;
    bool moves_bytes, reads_dst, buffers;
    bool stream;                  /* non-temporal stores */
    bool one_binary;              /* one step directly on f32 operands: no tile logic */
    dtp_fused_fn_t fused;         /* the whole program in registers, or NULL; */
    float fused_floor;            /* its last step */
    dtp_cast_fn_t cast;           /* the same for a conversion */
    int cast_op[DTP_CAST_NSTEPS]; /* operand of each of its steps, -1 = none */
    int64_t nunits, grain;
    int nboxes, nzero;
    dtp_program_box_t box[DTP_BOXES_MAX];
    dtp_box_t zero[DTP_BOXES_MAX]; /* padding of the destination */
} dtp_program_t;

/* For plans that are a program, or end with one: bytes that need no zeros before them, and that a run reads. */
#define DTP_PROGRAM_HEAD offsetof(dtp_program_t, box)
size_t dtp_program_used(const void *program);
#define DTP_PROGRAM_PLAN \
    .plan_size = sizeof(dtp_program_t), .plan_head = DTP_PROGRAM_HEAD, .plan_used = dtp_program_used

/* Starts a program: operand 0 = dst, operand 1 = the first value of ACC. */
void dtp_program_begin(dtp_program_t *m, unsigned isa, dnnl_tp_data_type_t dst_dt, int dst_arg,
                       dnnl_tp_data_type_t src_dt, int src_arg);
/* The steps compute in the arithmetic of this type, which all operands have; dst may also be
 * boolean: other than 0. Before the first step; no sums and axpys. */
void dtp_program_exact(dtp_program_t *m, dnnl_tp_data_type_t dt);
/* Adds an operand; returns its index, or -1: there is no room. */
int dtp_program_operand(dtp_program_t *m, dnnl_tp_data_type_t dt, int arg);
/* Adds a step; false: there is no room, or the function does not exist. */
bool dtp_program_binary(dtp_program_t *m, int y, int a, int b, int c, dnnl_tp_alg_kind_t alg);
bool dtp_program_eltwise(dtp_program_t *m, dnnl_tp_alg_kind_t alg, float alpha, float beta);
bool dtp_program_sum(dtp_program_t *m, float scale, float zero_point, dnnl_tp_data_type_t dt);
/* acc += scale * operand o; o's steps along the innermost loop must not be broadcast. */
bool dtp_program_axpy(dtp_program_t *m, int o, float scale);
/* Adds the steps of pd's chain; md[] gets the descriptors of the operands that it adds. dst: the
 * resolved destination; `any` of src1 and src2 is resolved as for every kind: plain if at most one
 * dimension is not 1, otherwise dst's layout if the dimensions are dst's, otherwise plain. */
bool dtp_program_post_ops(dtp_program_t *m, dtp_pd_t *pd, const dtp_md_t *dst, const dtp_md_t **md);
/* The register that holds the value so far: operand 1 until a step wrote ACC. */
int dtp_program_value(const dtp_program_t *m);

/* Splits the problem, which has the dimensions of the destination md[0], into tiles; md by operand.
 * pads: zero its padding. False: the layouts have no common boxes. */
bool dtp_program_cut(dtp_program_t *m, const dtp_pd_t *pd, const dtp_md_t *const *md, bool pads);
/* The end of a pd_init: cuts, with the padding, and books the buffers. */
dnnl_tp_status_t dtp_program_plan(dtp_program_t *m, dtp_pd_t *pd, const dtp_md_t *const *md);
/* The fused operation of one type; NULL: there is none. */
dtp_fused_fn_t dtp_program_fused(unsigned isa, dnnl_tp_data_type_t dt, dnnl_tp_alg_kind_t alg);
/* Bytes of buffers that a participant needs. */
size_t dtp_program_slot_bytes(const dtp_program_t *m);
/* Runs it. ptr: by operand. slots: slot_bytes apart, at least par's number of threads. */
void dtp_program_run(const dtp_program_t *m, const struct dtp_parallel *par, char *const *ptr, char *slots,
                     size_t slot_bytes);
/* The same with the pointers and the scratch of an execution. */
void dtp_program_run_args(const dtp_program_t *m, const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);
/* The `execute` of implementations whose plan is a program. */
dnnl_tp_status_t dtp_program_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);

/* Strides of the two loops of a tile; a box of one element is a contiguous row. */
static inline const int64_t *dtp_box_sx(const dtp_box_t *b) {
    static const int64_t one[DTP_BOXES_OPS] = {1, 1, 1, 1, 1, 1, 1, 1};
    return b->nd > 0 ? b->s[b->nd - 1] : one;
}
static inline const int64_t *dtp_box_sy(const dtp_box_t *b) {
    static const int64_t none[DTP_BOXES_OPS];
    return b->nd > 1 ? b->s[b->nd - 2] : none;
}

#endif
