/* Names of enumerators, and the library's version. */
#include <stdio.h>

#include "common/base/base.h"
#include "common/primitive/engine.h"
#include "common/primitive/op_desc.h"

#define NAMED(number, prefix, name) \
    case number:                    \
        return #prefix #name
#define CASE(prefix, name) NAMED(dnnl_tp_##prefix##name, prefix, name)

const char *dnnl_tp_dt2str(dnnl_tp_data_type_t v) {
    switch (v) {
    case dnnl_tp_data_type_undef:
        return "undef";
        CASE(, f16);
        CASE(, bf16);
        CASE(, f32);
        CASE(, s32);
        CASE(, s8);
        CASE(, u8);
        CASE(, f64);
        CASE(, boolean);
        CASE(, f8_e5m2);
        CASE(, f8_e4m3);
        CASE(, s4);
        CASE(, u4);
        CASE(, e8m0);
        CASE(, f4_e2m1);
        CASE(, f4_e3m0);
        CASE(, s64);
    default: return "unknown dt";
    }
}

const char *dnnl_tp_fpmath_mode2str(dnnl_tp_fpmath_mode_t v) {
    static const char *const names[] = {"strict", "bf16", "f16", "any", "tf32"};
    return (unsigned)v < 5 ? names[v] : "unknown fpmath_mode";
}

const char *dnnl_tp_accumulation_mode2str(dnnl_tp_accumulation_mode_t v) {
    static const char *const names[] = {"strict", "relaxed", "any", "s32", "f32", "f16"};
    return (unsigned)v < 6 ? names[v] : "unknown accumulation_mode";
}

const char *dnnl_tp_engine_kind2str(dnnl_tp_engine_kind_t v) {
    static const char *const names[] = {"any", "cpu", "gpu"};
    return (unsigned)v < 3 ? names[v] : "unknown engine_kind";
}

const char *dnnl_tp_fmt_kind2str(dnnl_tp_format_kind_t v) {
    static const char *const names[] = {"undef", "any", "blocked", "opaque", "sparse", "host_scalar"};
    return (unsigned)v < 6 ? names[v] : "unknown fmt_kind";
}

const char *dnnl_tp_scratchpad_mode2str(dnnl_tp_scratchpad_mode_t v) {
    static const char *const names[] = {"library", "user"};
    return (unsigned)v < 2 ? names[v] : "unknown scratchpad_mode";
}

const char *dnnl_tp_sparse_encoding2str(dnnl_tp_sparse_encoding_t v) {
    static const char *const names[] = {"undef", "csr", "packed", "coo"};
    return (unsigned)v < 4 ? names[v] : "unknown sparse_encoding";
}

const char *dnnl_tp_cpu_isa_hints2str(dnnl_tp_cpu_isa_hints_t v) {
    static const char *const names[] = {"cpu_isa_no_hints", "cpu_isa_prefer_ymm"};
    return (unsigned)v < 2 ? names[v] : "unknown cpu_isa_hints";
}

const char *dnnl_tp_rounding_mode2str(dnnl_tp_rounding_mode_t v) {
    static const char *const names[] = {"environment", "stochastic"};
    return (unsigned)v < 2 ? names[v] : "unknown rounding_mode";
}

const char *dnnl_tp_quantization_mode2str(dnnl_tp_quantization_mode_t v) {
    static const char *const names[] = {"undef", "static_sazp", "dynamic_mx", "dynamic_fp"};
    return (unsigned)v < 4 ? names[v] : "unknown quantization_mode";
}

const char *dnnl_tp_rnn_flags2str(dnnl_tp_rnn_flags_t v) {
    static const char *const names[] = {"undef", "rnn_flags_diff_weights_overwrite"};
    return (unsigned)v < 2 ? names[v] : "unknown rnn_flags";
}

const char *dnnl_tp_rnn_direction2str(dnnl_tp_rnn_direction_t v) {
    static const char *const names[] = {"undef", "unidirectional_left2right", "unidirectional_right2left",
                                        "bidirectional_concat", "bidirectional_sum"};
    return (unsigned)v < 5 ? names[v] : "unknown rnn_direction";
}

const char *dnnl_tp_prop_kind2str(dnnl_tp_prop_kind_t v) {
    switch (v) {
    case dnnl_tp_prop_kind_undef:
        return "undef";
        CASE(, forward_training);
        CASE(, forward_inference);
        CASE(, backward);
        CASE(, backward_data);
        CASE(, backward_weights);
        CASE(, backward_bias);
    }
    return "unknown prop_kind";
}

const char *dnnl_tp_prim_kind2str(dnnl_tp_primitive_kind_t v) {
    if (v == dnnl_tp_undefined_primitive) return "undef";
    if (v == dnnl_tp_rnn || v == dnnl_tp_gemm) return v == dnnl_tp_rnn ? "rnn" : "gemm";
    const dtp_op_info_t *info = dtp_op_info(v);
    return info && info->attr ? info->name : "unknown prim_kind";
}

const char *dnnl_tp_alg_kind2str(dnnl_tp_alg_kind_t v) {
    switch ((int)v) {
    case dnnl_tp_alg_kind_undef:
        return "undef";
        CASE(, convolution_direct);
        CASE(, convolution_winograd);
        CASE(, convolution_auto);
        CASE(, deconvolution_direct);
        CASE(, deconvolution_winograd);
        CASE(, vanilla_rnn);
        CASE(, vanilla_lstm);
        CASE(, vanilla_gru);
        CASE(, lbr_gru);
        CASE(, vanilla_augru);
        CASE(, lbr_augru);
#define DTP_EW1(name, number, ...) NAMED(number, eltwise_, name);
#define DTP_EW1_ALIAS(name, number, of) NAMED(number, eltwise_, name);
#define DTP_EW2(name, number, ...) NAMED(number, binary_, name);
#define DTP_EW3(name, number, ...) NAMED(number, binary_, name);
#include "common/base/elementwise.inc"
        CASE(reduction_, max);
        CASE(reduction_, min);
        CASE(reduction_, sum);
        CASE(reduction_, mul);
        CASE(reduction_, mean);
        CASE(reduction_, norm_lp_max);
        CASE(reduction_, norm_lp_sum);
        CASE(reduction_, norm_lp_power_p_max);
        CASE(reduction_, norm_lp_power_p_sum);
        CASE(pooling_, max);
        CASE(pooling_, avg_include_padding);
        CASE(pooling_, avg_exclude_padding);
        CASE(, lrn_across_channels);
        CASE(, lrn_within_channel);
        CASE(resampling_, nearest);
        CASE(resampling_, linear);
        CASE(softmax_, accurate);
        CASE(softmax_, log);
    }
    return "unknown alg_kind";
}

const char *dtp_arg_text(int arg, char text[DTP_ARG_TEXT]) {
    static const struct {
        int arg;
        const char *name;
    } names[] = {{DNNL_TP_ARG_SRC, "SRC"},
                 {DNNL_TP_ARG_SRC_1, "SRC_1"},
                 {DNNL_TP_ARG_SRC_2, "SRC_2"},
                 {DNNL_TP_ARG_SRC_3, "SRC_3"},
                 {DNNL_TP_ARG_DST, "DST"},
                 {DNNL_TP_ARG_DST_1, "DST_1"},
                 {DNNL_TP_ARG_DST_2, "DST_2"},
                 {DNNL_TP_ARG_WEIGHTS, "WEIGHTS"},
                 {DNNL_TP_ARG_WEIGHTS_1, "WEIGHTS_1"},
                 {DNNL_TP_ARG_WEIGHTS_2, "WEIGHTS_2"},
                 {DNNL_TP_ARG_WEIGHTS_3, "WEIGHTS_3"},
                 {DNNL_TP_ARG_BIAS, "BIAS"},
                 {DNNL_TP_ARG_MEAN, "MEAN"},
                 {DNNL_TP_ARG_VARIANCE, "VARIANCE"},
                 {DNNL_TP_ARG_SCALE, "SCALE"},
                 {DNNL_TP_ARG_SHIFT, "SHIFT"},
                 {DNNL_TP_ARG_WORKSPACE, "WORKSPACE"},
                 {DNNL_TP_ARG_SCRATCHPAD, "SCRATCHPAD"}};
    int n = 0;
    *text = 0;
    if (arg < 0) {
        snprintf(text, DTP_ARG_TEXT, "%d", arg);
        return text;
    }
    if (arg >= DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP_BASE) {
        n = snprintf(text, DTP_ARG_TEXT, "ATTR_MULTIPLE_POST_OP(%d) | ",
                     arg / DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP_BASE - 1);
        arg %= DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP_BASE;
    } else if (arg >= DNNL_TP_ARG_ATTR_POST_OP_DW) {
        n = snprintf(text, DTP_ARG_TEXT, "ATTR_POST_OP_DW | ");
        arg -= DNNL_TP_ARG_ATTR_POST_OP_DW;
    } else if (arg >= DNNL_TP_ARG_ATTR_ZERO_POINTS) {
        n = snprintf(text, DTP_ARG_TEXT, "ATTR_ZERO_POINTS | ");
        arg -= DNNL_TP_ARG_ATTR_ZERO_POINTS;
    } else if (arg >= DNNL_TP_ARG_ATTR_SCALES) {
        n = snprintf(text, DTP_ARG_TEXT, "ATTR_SCALES | ");
        arg -= DNNL_TP_ARG_ATTR_SCALES;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (names[i].arg == arg) {
            snprintf(text + n, DTP_ARG_TEXT - (size_t)n, "%s", names[i].name);
            return text;
        }
    bool multiple = arg >= DNNL_TP_ARG_MULTIPLE_SRC && arg < DNNL_TP_ARG_ATTR_SCALES;
    snprintf(text + n, DTP_ARG_TEXT - (size_t)n, multiple ? "MULTIPLE_SRC + %d" : "%d",
             multiple ? arg - DNNL_TP_ARG_MULTIPLE_SRC : arg);
    return text;
}

/* The instruction sets that have names. */
static const struct {
    dnnl_tp_cpu_isa_t isa;
    const char *name;
} isas[] = {{dnnl_tp_cpu_isa_default, "default"},
            {dnnl_tp_cpu_isa_sse41, "sse41"},
            {dnnl_tp_cpu_isa_avx, "avx"},
            {dnnl_tp_cpu_isa_avx2, "avx2"},
            {dnnl_tp_cpu_isa_avx2_vnni, "avx2_vnni"},
            {dnnl_tp_cpu_isa_avx2_vnni_2, "avx2_vnni_2"},
            {dnnl_tp_cpu_isa_avx512_core, "avx512_core"},
            {dnnl_tp_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
            {dnnl_tp_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
            {dnnl_tp_cpu_isa_avx10_1_512, "avx10_1_512"},
            {dnnl_tp_cpu_isa_avx10_1_512_amx, "avx10_1_512_amx"},
            {dnnl_tp_cpu_isa_avx10_1_512_amx_fp16, "avx10_1_512_amx_fp16"},
            {dnnl_tp_cpu_isa_avx10_2, "avx10_2"},
            {dnnl_tp_cpu_isa_avx10_2_amx_2, "avx10_2_amx_2"},
            {dnnl_tp_cpu_isa_avx10_2_ace, "avx10_2_ace"}};

const char *dnnl_tp_cpu_isa2str(dnnl_tp_cpu_isa_t v) {
    for (size_t i = 0; i < sizeof isas / sizeof *isas; ++i)
        if (isas[i].isa == v) return isas[i].name;
    return "unknown cpu_isa";
}

bool dtp_cpu_isa_is_known(dnnl_tp_cpu_isa_t isa) {
    for (size_t i = 0; i < sizeof isas / sizeof *isas; ++i)
        if (isas[i].isa == isa) return true;
    return false;
}

const char *dnnl_tp_runtime2str(unsigned v) {
    switch (v) {
    case DNNL_TP_RUNTIME_NONE: return "none";
    case DNNL_TP_RUNTIME_SEQ: return "sequential";
    case DNNL_TP_RUNTIME_OMP: return "OpenMP";
    case DNNL_TP_RUNTIME_TBB: return "TBB";
    case DNNL_TP_RUNTIME_THREADPOOL: return "threadpool";
    case DNNL_TP_RUNTIME_CUDA: return DNNL_TP_WITH_GPU_KERNELS ? "CUDA" : "CUDA without kernels";
    default: return "unknown runtime";
    }
}

const dnnl_tp_version_t *dnnl_tp_version(void) {
    static const dnnl_tp_version_t version = {DNNL_TP_VERSION_MAJOR,         DNNL_TP_VERSION_MINOR,
                                              DNNL_TP_VERSION_PATCH,         DTP_COMMIT,
                                              DNNL_TP_CPU_RUNTIME,           DNNL_TP_GPU_RUNTIME,
                                              DNNL_TP_LIBRARY_VERSION_MAJOR, DNNL_TP_LIBRARY_VERSION_MINOR,
                                              DNNL_TP_LIBRARY_VERSION_PATCH};
    return &version;
}
