/* What the files of the interpreter share.
 * lex.c makes tokens, parse.c reads declarations, decode.c turns a function's statements into instructions of type
 * insn_t, all calls expanded. An instruction is either pure (registers in, registers out: alu.c, float.c, half.c,
 * convert.c, compare.c) or has its own execute function (flow.c, memory.c, atomics.c, async.c, lanes.c, mma.c).
 * execute.c runs blocks warp by warp.
 * Registers are rows of 32 lanes: 4 bytes a lane, two rows for 8 bytes; values of 8 and 16 bits are extended by zeros;
 * a predicate is a bit mask in the first word of its row. Special registers are rows too, as are constants, which all warps
 * share: their numbers begin with CONSTANT_ROWS. */
#ifndef DNNL_TP_TESTS_GPU_PTX_INTERNAL_H
#define DNNL_TP_TESTS_GPU_PTX_INTERNAL_H
#include <stdatomic.h>
#include "ptx.h"

enum { LANES = 32, ROW_BYTES = 128, MAX_OPERANDS = 24, MAX_WARPS = 32, MAX_BARRIERS = 16 };
enum { CONSTANT_ROWS = 0x8000 };
#define ALL_LANES UINT32_C(0xffffffff)

typedef union {
    uint32_t u32[LANES];
    int32_t s32[LANES];
    float f32[LANES];
    uint64_t u64[LANES];
    int64_t s64[LANES];
    double f64[LANES];
} lanes_t;

typedef enum {
    T_NONE,
    T_PRED,
    T_B8,
    T_U8,
    T_S8,
    T_B16,
    T_U16,
    T_S16,
    T_F16,
    T_BF16,
    T_B32,
    T_U32,
    T_S32,
    T_F32,
    T_F16X2,
    T_BF16X2,
    T_TF32,
    T_B64,
    T_U64,
    T_S64,
    T_F64,
    T_B128,
} type_t;

typedef enum {
    ROUND_NONE,
    ROUND_RN,
    ROUND_RZ,
    ROUND_RM,
    ROUND_RP,
    ROUND_RNA,
    ROUND_RNI,
    ROUND_RZI,
    ROUND_RMI,
    ROUND_RPI
} round_t;
typedef enum { SPACE_GENERIC, SPACE_GLOBAL, SPACE_CONST, SPACE_SHARED, SPACE_LOCAL, SPACE_PARAM } space_t;

typedef struct insn insn_t;
typedef struct warp warp_t;
typedef struct run run_t;
/* Executes an instruction in the lanes of `mask`. False: it trapped. */
typedef bool exec_fn(warp_t *w, const insn_t *in, uint32_t mask);
/* Computes all 32 lanes of the destinations d[0], d[1] from the sources. */
typedef void pure_fn(const insn_t *in, lanes_t *restrict d, const lanes_t *const *s);

struct insn {
    exec_fn *exec;
    pure_fn *pure;
    uint32_t line, target;
    uint16_t guard; /* row of the predicate, 0: none */
    bool guard_not, ftz, sat, relaxed;
    uint8_t n_dst, n_src, type, type2, space, round, op, op2, vec;
    uint8_t width[MAX_OPERANDS]; /* of the operands' registers in bytes; 1: predicate; 0: the operand `_` */
    uint16_t row[MAX_OPERANDS];  /* destinations, then sources */
    uint32_t invert;             /* bit i: source i is a predicate with ! before it */
    int64_t offset, offset2;     /* of the address, of a second address */
};

/* A value that fills a row before the kernel starts. */
typedef enum {
    FILL_VALUE,
    FILL_DYNAMIC_SHARED,
    FILL_TID,
    FILL_NTID,
    FILL_CTAID,
    FILL_NCTAID,
    FILL_LANE,
    FILL_WARP,
    FILL_NWARPS,
    FILL_DYNAMIC_BYTES,
    FILL_TOTAL_BYTES,
    FILL_LANEMASK,
    FILL_TIME /* when the warp began: nanoseconds of CLOCK_REALTIME */
} fill_kind_t;
typedef struct {
    fill_kind_t kind;
    uint8_t width, axis;
    uint16_t row;
    uint64_t value; /* of constants */
} fill_t;

typedef struct {
    size_t offset, bytes;
} param_t;

struct ptx_kernel {
    char *name;
    ptx_module_t *module;
    param_t *params;
    int num_params, max_threads, num_registers;
    size_t params_bytes, shared_bytes, local_bytes;
    insn_t *code;
    uint32_t num_code, num_rows;
    fill_t *fills; /* of special registers */
    uint32_t num_fills;
    unsigned char *constants; /* their rows */
    uint32_t *constant_set;   /* all lanes of each */
    uint32_t num_constants;
    uint32_t *targets; /* of brx.idx: a number n, then n instructions; insn.target is the place of n */
    uint32_t num_targets;
};

/* Memory for the registers of a launch's warps; between launches the module keeps one of them. */
typedef struct {
    size_t bytes;
    _Alignas(64) unsigned char data[];
} registers_t;

struct ptx_module {
    _Atomic(registers_t *) spare;
    ptx_kernel_t *kernels;
    int num_kernels;
    unsigned char *memory, *initial; /* .global and .const variables, now and in the text */
    size_t memory_bytes;
    struct variable *variables;
    int num_variables;
};

/* lanes of one warp that are at the same instruction */
typedef struct {
    uint32_t pc, mask;
} group_t;

typedef struct {
    uint32_t lane, group, at, bytes;
    unsigned char data[16];
} copy_t;

struct warp {
    run_t *run;
    uint32_t index, live;
    uint32_t num_groups;
    group_t groups[LANES + 1]; /* by falling pc: the last one runs */
    int waits;                 /* -1, or the barrier it waits at */
    uint32_t lanes;            /* that it began with */
    uint32_t ordered, partial; /* when its last barrier was; when that of some lanes, 0: it had none since */
    uint32_t *seen;            /* lane i comes after what lane k did before seen[i * LANES + k] */
    unsigned char *rows[2];    /* the warp's own, the constants */
    uint32_t *set[2];          /* for each row: the lanes that were written */
    unsigned char *local;
    copy_t *copies;
    uint32_t num_copies, max_copies;
    uint32_t committed[LANES]; /* groups of asynchronous copies */
};

/* Who accessed 4 bytes last: a mark of race.c for each byte, and when: a time of the run's clock, 0: never. */
typedef struct {
    uint64_t writers, readers;
    uint32_t written, read;
} shadow_t;

typedef struct {
    uint32_t arrived, needed; /* threads */
} barrier_t;

struct run {
    const ptx_kernel_t *kernel;
    const ptx_launch_t *launch;
    uint32_t block[3], num_threads, num_warps;
    warp_t warps[MAX_WARPS];
    registers_t *registers;
    barrier_t barriers[MAX_BARRIERS];
    unsigned char *shared, *shared_state; /* states: memory.c */
    shadow_t *shared_shadow;
    uint64_t shared_bytes;
    ptx_region_t module_region;
    shadow_t **shadows; /* of the regions, the module's last; made when first used */
    uint32_t *cache;    /* for each instruction: the region it used last */
    uint32_t **touched; /* traffic.c: NULL, or the bytes that were loaded and those that were stored */
    uint32_t clock, first, ordered; /* counts barriers; when this block began and had its last barrier */
    int64_t steps, max_steps, lane_steps;
    uint64_t random;
    char *error;
    size_t error_bytes;
};

static inline lanes_t *row_of(const warp_t *w, uint16_t row) {
    return (lanes_t *)(void *)(w->rows[row / CONSTANT_ROWS] + (size_t)(row % CONSTANT_ROWS) * ROW_BYTES);
}
static inline uint32_t *set_of(const warp_t *w, uint16_t row) {
    return &w->set[row / CONSTANT_ROWS][row % CONSTANT_ROWS];
}
static inline int lowest_lane(uint32_t mask) { return __builtin_ctz(mask); }
static inline uint32_t count_lanes(uint32_t mask) { return (uint32_t)__builtin_popcount(mask); }

/* Ends the launch with a message; lane -1: the warp as a whole. Always false. */
bool ptx_trap(warp_t *w, const insn_t *in, int lane, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether all source registers were written in the lanes of mask; else it traps. */
bool ptx_sources_set(warp_t *w, const insn_t *in, uint32_t mask);
/* Stores values into a destination register in the lanes of mask. */
void ptx_store(warp_t *w, const insn_t *in, int dst, const lanes_t *v, uint32_t mask);
/* A source's lanes as 64-bit numbers, extended by zeros. */
void ptx_wide(const warp_t *w, const insn_t *in, int src, uint64_t v[LANES]);

exec_fn ptx_exec_pure, ptx_exec_mov, ptx_exec_pack, ptx_exec_unpack, ptx_exec_nop;
exec_fn ptx_exec_bra, ptx_exec_brx, ptx_exec_ret, ptx_exec_trap, ptx_exec_bar, ptx_exec_bar_warp;
exec_fn ptx_exec_ld, ptx_exec_st, ptx_exec_isspacep, ptx_exec_atom;
exec_fn ptx_exec_copy, ptx_exec_commit, ptx_exec_wait, ptx_exec_wait_all;
exec_fn ptx_exec_shfl, ptx_exec_vote, ptx_exec_match, ptx_exec_redux, ptx_exec_activemask, ptx_exec_elect;
exec_fn ptx_exec_mma, ptx_exec_ldmatrix, ptx_exec_movmatrix;

/* The pure function of an instruction, by its name without .ftz, .sat and rounding; NULL: there is none. Sets the types
 * of the operands: one letter each, destinations first: p predicate, h 2 bytes, w 4 bytes, d 8 bytes. */
pure_fn *ptx_find_int(const char *name, const char **operands);
pure_fn *ptx_find_float(const char *name, const char **operands);
pure_fn *ptx_find_half(const char *name, const char **operands);
pure_fn ptx_compare;      /* setp and set: type, op and op2 of the instruction */
pure_fn ptx_convert;      /* cvt: type from type2 */
pure_fn ptx_convert_pair; /* cvt to f16x2 and bf16x2 */

enum {
    CMP_EQ,
    CMP_NE,
    CMP_LT,
    CMP_LE,
    CMP_GT,
    CMP_GE,
    CMP_EQU,
    CMP_NEU,
    CMP_LTU,
    CMP_LEU,
    CMP_GTU,
    CMP_GEU,
    CMP_NUM,
    CMP_NAN
};
enum { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR };

/* memory.c. The piece of memory that an access of some lanes goes to. */
typedef struct {
    unsigned char *host, *state; /* state may be NULL: all bytes are set */
    shadow_t *shadow;            /* may be NULL: no races */
    uint64_t base, lane_stride;  /* bytes of lane i at address a: host + (a - base) + i * lane_stride */
    bool shared, constant;
    bool together; /* what is read goes to all lanes of the warp */
} view_t;
typedef enum { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC } access_t;
enum { STATE_UNSET, STATE_SET, STATE_PENDING };
/* What the lanes' accesses go to; checks bounds and alignment. 0: trapped, 1: done, 2: not all are in one piece. */
int ptx_view(warp_t *w, const insn_t *in, space_t space, uint32_t mask, const uint64_t at[LANES],
             uint32_t bytes, view_t *v);
/* Lanes' addresses: source `src` and an offset. */
void ptx_addresses(const warp_t *w, const insn_t *in, int src, int64_t offset, uint64_t at[LANES]);
/* Where a lane's bytes are, after the checks of a read (all bytes set), or those of a write of `value` (NULL: of an
 * atomic operation or of a value that is not known yet), and notes the access. NULL: it trapped. */
unsigned char *ptx_access(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t at, uint32_t bytes,
                          access_t access, const unsigned char *value);
/* The same for all lanes at once where nothing speaks against it at first sight. The lanes that are left want ptx_access. */
uint32_t ptx_access_lanes(const warp_t *w, const view_t *v, uint32_t mask, const uint64_t at[LANES],
                          uint32_t bytes, access_t access);

/* race.c. Notes accesses of the lanes of mask, at aligned offsets from the view's base; together: of all lanes at each offset.
 * The lanes that want ptx_note. */
uint32_t ptx_note_lanes(const warp_t *w, const view_t *v, uint32_t mask, const uint64_t offset[LANES],
                        uint32_t bytes, access_t access, bool together);
/* Notes an access of a lane's bytes, at `offset` from the view's base; `value`: what a write puts there. */
bool ptx_note(warp_t *w, const insn_t *in, const view_t *v, int lane, uint64_t offset, uint32_t bytes,
              access_t access, const unsigned char *value);
/* A barrier of these lanes of a warp. The same for all its lanes, at a time of the clock that is already there. */
void ptx_order_lanes(warp_t *w, uint32_t mask);
void ptx_order_warp(warp_t *w);

/* traffic.c; nothing calls it but where ptx_counts() is true. An access of `bytes` by each lane of mask; a copy's are `size`. */
static inline bool ptx_counts(const warp_t *w) { return w->run->touched != NULL; }
bool ptx_count_begin(run_t *r);
void ptx_count_end(run_t *r);
void ptx_count(const warp_t *w, const insn_t *in, uint32_t mask, const uint64_t at[LANES], uint32_t bytes,
               access_t access);
void ptx_count_copy(const warp_t *w, const insn_t *in, uint32_t mask, const uint64_t to[LANES],
                    const uint64_t from[LANES], const uint64_t size[LANES]);

/* float.c: what .ftz and .sat do to all lanes. */
void ptx_flush(lanes_t *v);
void ptx_saturate(lanes_t *v, uint8_t type);
/* execute.c: the row of source i (for registers of 8 bytes two rows). */
static inline lanes_t *ptx_source(const warp_t *w, const insn_t *in, int i) {
    return row_of(w, in->row[in->n_dst + i]);
}

/* half.c */
float ptx_f16_to_f32(uint32_t h);
static inline float ptx_bits_f32(uint32_t u) {
    union {
        uint32_t u;
        float f;
    } v = {.u = u};
    return v.f;
}
static inline uint32_t ptx_f32_bits(float f) {
    union {
        float f;
        uint32_t u;
    } v = {.f = f};
    return v.u;
}
static inline double ptx_bits_f64(uint64_t u) {
    union {
        uint64_t u;
        double f;
    } v = {.u = u};
    return v.f;
}
static inline uint64_t ptx_f64_bits(double f) {
    union {
        double f;
        uint64_t u;
    } v = {.f = f};
    return v.u;
}
static inline float ptx_bf16_to_f32(uint32_t h) { return ptx_bits_f32(h << 16); }
/* x rounded to the format's values (T_F16, T_BF16, T_TF32, T_F32), as its bits. */
uint32_t ptx_round(double x, type_t type, round_t mode);
uint32_t ptx_f32_to_f16(float f); /* round to nearest even */
uint32_t ptx_f32_to_bf16(float f);
#endif
