/* See problems.h: benchdnn's, and operations that only graphs have. */
#include "gpu/controls/problems.h"

#include <stdlib.h>
#include <string.h>

#include "common/exec.h"
#include "common/options.h"
#include "common/problems/graph/attention.h"
#include "common/problems/binary.h"
#include "common/problems/eltwise.h"
#include "common/problems/graph/gather.h"
#include "common/problems/graph/pointwise.h"
#include "common/problems/graph/pool_normalize.h"
#include "common/problems/reduction.h"
#include "common/problems/reorder.h"
#include "gpu/controls/operations.h"
#include "gpu/fake/fake_cuda.h"
#include "support/check.h"

/* ---- Problems of benchdnn -------------------------------------------------------------------------------- */

/* A driver, and tokens for it. */
static const char *const lines[][2] = {
    {"softmax", "--axis=1 9x64 3x1544 --sdt=bf16 --ddt=bf16 9x64 3x1544 --sdt=f16 --ddt=f16 9x64 3x1544"},
    {"softmax",
     "--reset --axis=1 --attr-post-ops=linear:2:1 3x72 3x71 2x1100 2x1101 --stag=ba --dtag=ba 40x40"},
    {"lnorm", "--dir=FWD_D --flags=CH --dt=f32,bf16,f16 9x64 3x1544 --dt=f32 3x71 --attr-post-ops=relu 5x136 "
              "2x1100 2x1101"},
    {"lnorm", "--reset --dir=FWD_I --flags=G 3x1544 3x72 --flags=M --dt=f32,bf16,f16 2x1544 --dt=f32 2x71 "
              "2x1101 --attr-post-ops=relu 2x136 2x1100"},
    {"reduction", "--alg=sum 5x300:5x1 3x1100:3x1 3x71:3x1 2x1101:2x1 40x200:1x200 40x35:1x35 2x30000:2x1"},
    {"reduction", "--reset --alg=norm_lp_sum --p=3 3x300:3x1 2x1100:2x1 40x35:1x35"},
    {"reorder", "--stag=ab --dtag=ba --sdt=f32,bf16,u8 --ddt=f32,bf16,u8 35x40 36x40"},
    {"reorder", "--reset --strides=40x1:44x1 --sdt=f32,bf16,u8 --ddt=f32,bf16,u8 9x36"},
    {"reorder", "--reset --strides=41x1:43x1 --sdt=f32,bf16,u8 --ddt=f32,bf16,u8 9x35"},
    {"matmul", "130x70:70x65 17x260:260x20 --dt=bf16,f16 --stag=ab,ba --wtag=ab,ba 70x136:136x72 --stag=ab "
               "--wtag=ab 70x33:33x66"},
    {"matmul", "--reset --attr-fpmath=tf32 --wtag=ab,ba 70x136:136x66 70x36:36x66"},
    {"matmul", "--reset --dt=bf16 20x1200:1200x24 20x36:36x28 20x35:35x28"},
    {"matmul", "--reset 9x70:70x140 3x1100:1100x41"},
    {"matmul", "--reset --impl=any --bia-dt=f32 --bia_mask=2 9x20:20x33"},
    {"ip", "--dir=FWD_B mb9ic40oc17"},
    {"eltwise", "--alg=gelu_erf --dt=f32,bf16,f16 9x67"},
    {"eltwise", "--reset --alg=exp --attr-post-ops=add:f32:common 9x68 --attr-post-ops=add:f32:per_oc 9x67"},
    {"binary", "--alg=add 9x67:9x67 --sdt=bf16:bf16 --ddt=bf16 9x67:9x67 --sdt=f16:f16 --ddt=f16 9x67:9x67"},
    {"binary", "--reset --alg=mul --sdt=f32:u8 --ddt=f32 9x68:1x68 9x67:9x1"},
    {"concat", "--axis=1 --sdt=f32 --ddt=f32 9x4:9x8 9x6:9x2 9x3:9x1 --sdt=u8 --ddt=u8 9x3:9x2 9x2:9x4"},
    {"concat", "--reset --axis=1 --sdt=bf16 --ddt=f32 9x3:9x2"},
    {"sum", "--scales=1:0.5 9x68 9x67 --stag=ab:ba 9x67"},
    {"conv",
     "--dir=FWD_B mb1ic20oc10_ih1oh1kh1_iw6ow5kw2pw0 mb1ic3oc4_ih5oh5kh3ph1 "
     "mb1ic18oc10_id3od4kd2pd1_ih3oh4kh2ph1_iw4ow5kw2pw1 mb1ic2oc3_id3od4kd2pd1_ih3oh4kh2ph1_iw4ow5kw2pw1"},
    {"deconv", "--dir=FWD_B mb1ic3oc10_ih3oh6kh4sh2ph1 mb1ic3oc4_ih3oh6kh4sh2ph1"},
    {"pool", "--dir=FWD_I --alg=max,avg_np,avg_p mb1ic3_ih5oh3kh3sh2ph1 "
             "mb1ic2_id4od3kd3sd2pd1_ih5oh3kh3sh2ph1_iw7ow4kw3sw2pw1"},
    {"lrn", "--alg=ACROSS,WITHIN mb1ic7_ih4"},
    {"resampling", "--alg=nearest,linear mb1ic2_ih3oh5_iw4ow2"},
};

static void run_line(const char *driver, const char *tokens) {
    char text[BD_TEXT];
    const bd_driver_t *d = NULL;
    for (int i = 0; bd_drivers[i]; ++i)
        if (!strcmp(bd_drivers[i]->name, driver)) d = bd_drivers[i];
    snprintf(text, sizeof text, "%s", tokens);
    for (char *at = NULL, *token = strtok_r(text, " ", &at); token; token = strtok_r(NULL, " ", &at))
        bd_driver_token(d, token);
    bd_driver_token(d, "--reset");
}

/* kind NULL: all. */
static void run_lines(int multiprocessors, const char *kind) {
    fake_cuda_set_multiprocessors(multiprocessors);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        if (!kind || !strcmp(lines[i][0], kind)) run_line(lines[i][0], lines[i][1]);
    bd_exec_shutdown();
}

/* ---- Operations of graphs -------------------------------------------------------------------------------- */

enum { ROWS = 66, MOST_SEQUENCES = 40 };
typedef enum {
    MASKED,
    PACKED,
    BAD
} sequences_t; /* BAD: the last offset does not fit, which lies with the second warp */
static const int n_sequences[] = {[MASKED] = 1, [PACKED] = 3, [BAD] = MOST_SEQUENCES};

static const int32_t *offsets_of(sequences_t what) {
    static const int32_t packed[] = {0, 30, 30, ROWS};
    static int32_t bad[MOST_SEQUENCES + 1];
    for (int i = 0; i < MOST_SEQUENCES; ++i) bad[i] = i;
    bad[MOST_SEQUENCES] = ROWS + 1;
    return what == PACKED ? packed : what == BAD ? bad : NULL;
}
static const int offsets_arg = DNNL_TP_ARG_MULTIPLE_SRC + 1, mask_arg = DNNL_TP_ARG_MULTIPLE_SRC;

/* One head of d columns: one sequence, or three, of which one is empty. */
static void attention_with(dnnl_tp_engine_t gpu, dnnl_tp_primitive_attr_t attr, dnnl_tp_data_type_t dt,
                           int64_t d, sequences_t what) {
    dtp_attention_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_ATTENTION;
    op.heads = 1;
    op.scale = .1f;
    op.q = op.k = op.v = op.dst = what == MASKED ? dense(3, dt, 1, ROWS, d) : dense(2, dt, ROWS, d, 0);
    if (what == MASKED) op.mask = dense(2, dnnl_tp_f32, 1, ROWS, 0);
    else op.offsets = dense(1, dnnl_tp_s32, n_sequences[what] + 1, 0, 0);
    const operand_t x[] = {
        {DNNL_TP_ARG_SRC_0, &op.q, NULL},
        {DNNL_TP_ARG_SRC_1, &op.k, NULL},
        {DNNL_TP_ARG_SRC_2, &op.v, NULL},
        {DNNL_TP_ARG_DST, &op.dst, NULL},
        {what == MASKED ? mask_arg : offsets_arg, what == MASKED ? &op.mask : &op.offsets, offsets_of(what)}};
    run_op_with(gpu, attr, &op.base, sizeof op, what == BAD, 5, x);
}
static void attention(dnnl_tp_engine_t gpu, dnnl_tp_data_type_t dt, int64_t d, sequences_t what) {
    attention_with(gpu, NULL, dt, d, what);
}
/* Every size of the kernels of f32, with rows that are aligned, and that are not. */
static void attention_f32(dnnl_tp_engine_t gpu, sequences_t what) {
    static const int64_t aligned[] = {32, 64, 128}, unaligned[] = {31, 63, 127};
    dnnl_tp_primitive_attr_t tf32;
    CHECK_OK(dnnl_tp_primitive_attr_create(&tf32));
    CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(tf32, dnnl_tp_fpmath_mode_tf32));
    for (int i = 0; i < 3; ++i) {
        attention_with(gpu, NULL, dnnl_tp_f32, aligned[i], what),
            attention_with(gpu, tf32, dnnl_tp_f32, aligned[i], what);
        if (what != MASKED) continue;
        attention_with(gpu, NULL, dnnl_tp_f32, unaligned[i], what);
        attention_with(gpu, tf32, dnnl_tp_f32, unaligned[i], what);
    }
    attention(gpu, dnnl_tp_f32, 132, what); /* that for any size */
    CHECK_OK(dnnl_tp_primitive_attr_destroy(tf32));
}

/* bad: the last id is outside of the table, and another warp's than the first. */
static void gather(dnnl_tp_engine_t gpu, int64_t columns, bool bad) {
    enum { N = 40 };
    int32_t ids[N];
    for (int i = 0; i < N; ++i) ids[i] = i % 7;
    if (bad) ids[N - 1] = 8;
    dtp_gather_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_GATHER;
    op.table = dense(2, dnnl_tp_f32, 8, columns, 0);
    op.ids = dense(1, dnnl_tp_s32, N, 0, 0);
    op.dst = dense(2, dnnl_tp_f32, N, columns, 0);
    const operand_t x[] = {{DNNL_TP_ARG_WEIGHTS, &op.table, NULL},
                           {DNNL_TP_ARG_SRC, &op.ids, ids},
                           {DNNL_TP_ARG_DST, &op.dst, NULL}};
    run_op(gpu, &op.base, sizeof op, bad, 3, x);
}

static void pool_normalize(dnnl_tp_engine_t gpu, sequences_t what) {
    enum { COLUMNS = 100 };
    dtp_pool_normalize_desc_t op;
    memset(&op, 0, sizeof op);
    op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_POOL_NORMALIZE;
    op.epsilon = 1e-12f;
    op.src =
        what == MASKED ? dense(3, dnnl_tp_f32, 1, ROWS, COLUMNS) : dense(2, dnnl_tp_f32, ROWS, COLUMNS, 0);
    op.dst = dense(2, dnnl_tp_f32, n_sequences[what], COLUMNS, 0);
    if (what == MASKED) op.mask = dense(2, dnnl_tp_f32, 1, ROWS, 0);
    else op.offsets = dense(1, dnnl_tp_s32, n_sequences[what] + 1, 0, 0);
    const operand_t x[] = {
        {DNNL_TP_ARG_SRC, &op.src, NULL},
        {DNNL_TP_ARG_DST, &op.dst, NULL},
        {what == MASKED ? mask_arg : offsets_arg, what == MASKED ? &op.mask : &op.offsets, offsets_of(what)}};
    run_op(gpu, &op.base, sizeof op, what == BAD, 3, x);
}

/* The arithmetic of integers. */
static void exact(dnnl_tp_engine_t gpu, dnnl_tp_data_type_t dt) {
    enum { N = 1100, PARTS = 8200 }; /* rows of a block; of two */
    const dtp_md_t x = dense(2, dt, 2, N, 0), row = dense(2, dt, 1, N, 0), column = dense(2, dt, 2, 1, 0);
    dtp_binary_desc_t binary;
    dtp_eltwise_desc_t eltwise;
    dtp_reduction_desc_t reduction;
    memset(&binary, 0, sizeof binary), memset(&eltwise, 0, sizeof eltwise);
    memset(&reduction, 0, sizeof reduction);
    binary.base.kind = dnnl_tp_binary, eltwise.base.kind = dnnl_tp_eltwise;
    reduction.base.kind = dnnl_tp_reduction;
    binary.exact = eltwise.exact = reduction.exact = 1;
    binary.alg = dnnl_tp_binary_max, eltwise.alg = dnnl_tp_eltwise_abs, reduction.alg = dnnl_tp_reduction_max;
    eltwise.prop = dnnl_tp_forward_inference;
    binary.src0 = binary.dst = eltwise.src = eltwise.dst = reduction.src = x;
    binary.src1 = row;
    reduction.dst = column;
    const operand_t two[] = {
        {DNNL_TP_ARG_SRC_0, &x, NULL}, {DNNL_TP_ARG_SRC_1, &row, NULL}, {DNNL_TP_ARG_DST, &x, NULL}};
    const operand_t one[] = {{DNNL_TP_ARG_SRC, &x, NULL}, {DNNL_TP_ARG_DST, &x, NULL}};
    const operand_t rows[] = {{DNNL_TP_ARG_SRC, &x, NULL}, {DNNL_TP_ARG_DST, &column, NULL}};
    run_op(gpu, &binary.base, sizeof binary, false, 3, two);
    if (dtp_ew_takes((int)eltwise.alg, dt)) run_op(gpu, &eltwise.base, sizeof eltwise, false, 2, one);
    run_op(gpu, &reduction.base, sizeof reduction, false, 2, rows);
    if (dt != dnnl_tp_s32) return;
    const dtp_md_t row_of_parts = dense(2, dt, 1, PARTS, 0), one_result = dense(2, dt, 1, 1, 0);
    reduction.src = row_of_parts, reduction.dst = one_result;
    const operand_t parts[] = {{DNNL_TP_ARG_SRC, &row_of_parts, NULL}, {DNNL_TP_ARG_DST, &one_result, NULL}};
    run_op(gpu, &reduction.base, sizeof reduction, false, 2, parts);
}

/* A function of n sources, in runs of elements, and with a source that lies across. */
static void pointwise(dnnl_tp_engine_t gpu, int fn, int n, dnnl_tp_data_type_t from, dnnl_tp_data_type_t to) {
    enum { A = 3, B = 20 };
    for (int across = 0; across < 2; ++across) {
        const dtp_md_t condition = dense(2, dnnl_tp_boolean, A, B, 0), y = dense(2, from, A, B, 0),
                       dst = dense(2, to, A, B, 0);
        dtp_md_t x;
        CHECK_OK(dtp_md_init_strides(&x, 2, (int64_t[]){A, B}, from,
                                     across ? (int64_t[]){1, A} : (int64_t[]){B, 1}));
        dtp_pointwise_desc_t op;
        memset(&op, 0, sizeof op);
        op.base.kind = (dnnl_tp_primitive_kind_t)DTP_KIND_POINTWISE;
        op.fn = fn;
        op.dst = dst;
        op.src0 = n > 2 ? condition : x;
        if (n > 1) op.src1 = n > 2 ? x : y;
        if (n > 2) op.src2 = y;
        const operand_t t[] = {{DNNL_TP_ARG_DST, &op.dst, NULL},
                               {DNNL_TP_ARG_SRC_0, &op.src0, NULL},
                               {DNNL_TP_ARG_SRC_1, &op.src1, NULL},
                               {DNNL_TP_ARG_SRC_2, &op.src2, NULL}};
        run_op(gpu, &op.base, sizeof op, false, n + 1, t);
    }
}

static void pointwise_all(dnnl_tp_engine_t gpu) {
    static const dnnl_tp_data_type_t types[] = {dnnl_tp_f32, dnnl_tp_s64, dnnl_tp_s32,
                                                dnnl_tp_s8,  dnnl_tp_u8,  dnnl_tp_boolean},
                                     sizes[] = {dnnl_tp_s8, dnnl_tp_bf16, dnnl_tp_f32, dnnl_tp_s64};
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        pointwise(gpu, DTP_PW_less, 2, types[i], dnnl_tp_boolean);
        if (types[i] != dnnl_tp_boolean) pointwise(gpu, DTP_PW_modulo, 2, types[i], types[i]);
    }
    pointwise(gpu, DTP_PW_sin, 1, dnnl_tp_f32, dnnl_tp_f32);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        pointwise(gpu, DTP_PW_select, 3, sizes[i], sizes[i]);
    pointwise(gpu, DTP_PW_cast, 1, dnnl_tp_f32, dnnl_tp_s8);
    pointwise(gpu, DTP_PW_cast, 1, dnnl_tp_s8, dnnl_tp_s32);
}

/* Elements of eight bytes, in rows of `columns`, to rows that lie otherwise. */
static void move(dnnl_tp_engine_t gpu, int64_t columns) {
    const int64_t dims[] = {9, columns}, strides[] = {columns + 4, 1};
    const dtp_md_t from = dense(2, dnnl_tp_s64, 9, columns, 0);
    dtp_md_t to;
    dtp_reorder_desc_t op;
    memset(&op, 0, sizeof op);
    CHECK_OK(dtp_md_init_strides(&to, 2, dims, dnnl_tp_s64, strides));
    op.base.kind = dnnl_tp_reorder;
    op.src = from;
    op.dst = to;
    const operand_t x[] = {{DNNL_TP_ARG_FROM, &from, NULL}, {DNNL_TP_ARG_TO, &to, NULL}};
    run_op(gpu, &op.base, sizeof op, false, 2, x);
}

void run_problems(void) {
    static const dnnl_tp_data_type_t integers[] = {dnnl_tp_s64, dnnl_tp_s32, dnnl_tp_s8, dnnl_tp_u8,
                                                   dnnl_tp_boolean};
    bd_options_init();
    (void)bd_global_option("--engine=gpu");
    run_lines(132, NULL);
    run_lines(1, "matmul");
    run_line("softmax", "--axis=1 --stag=ba --dtag=ba 132x20"); /* lanes have runs where few blocks do */
    bd_exec_shutdown();
    bd_stat_print();
    if (bd_stat_failures()) exit(1);
    dnnl_tp_engine_t gpu;
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    for (sequences_t what = MASKED; what <= BAD; ++what) {
        attention_f32(gpu, what);
        if (what == MASKED) attention(gpu, dnnl_tp_bf16, 20, what), attention(gpu, dnnl_tp_f16, 20, what);
        for (int64_t d = 32; d <= 128; d *= 2) {
            attention(gpu, dnnl_tp_bf16, d, what);
            if (what == MASKED) attention(gpu, dnnl_tp_f16, d, what);
        }
        pool_normalize(gpu, what);
    }
    gather(gpu, 40, false), gather(gpu, 37, true);
    for (size_t i = 0; i < sizeof integers / sizeof *integers; ++i) exact(gpu, integers[i]);
    move(gpu, 36), move(gpu, 35);
    pointwise_all(gpu);
    run_graph_problems(gpu);
    CHECK_OK(dnnl_tp_engine_destroy(gpu));
}
