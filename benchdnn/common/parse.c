/* Reading and printing numbers, types, dimensions and algorithm names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/parse.h"

int bd_parse_int(const char *s, long *out) {
    char *end;
    errno = 0;
    long v = strtol(s, &end, 10);
    if (!*s || *end || errno) return 1;
    *out = v;
    return 0;
}

int bd_parse_float(const char *s, float *out) {
    char *end;
    float v = strtof(s, &end);
    if (end == s) return 1;
    *out = v;
    return 0;
}

void bd_print_float(char *out, size_t size, float v) {
    char text[32];
    int digits = 6;
    do snprintf(text, sizeof text, "%.*g", digits, (double)v);
    while (strtof(text, NULL) != v && ++digits <= 9);
    char *plus = strchr(text, '+');
    if (plus) memmove(plus, plus + 1, strlen(plus));
    bd_cat(out, size, "%s", text);
}

int bd_parse_bool(const char *s, bool *out) {
    if (!strcasecmp(s, "true") || !strcmp(s, "1")) return *out = true, 0;
    if (!strcasecmp(s, "false") || !strcmp(s, "0")) return *out = false, 0;
    return 1;
}

/* Types that this library lacks are known by name, so that the peer's input files parse. */
static const struct {
    const char *name;
    int dt;
} dts[] = {{"undef", 0}, {"f16", 1},   {"bf16", 2},     {"f32", 3},      {"s32", 4},      {"s8", 5},
           {"u8", 6},    {"f64", 7},   {"boolean", 8},  {"f8_e5m2", 9},  {"f8_e4m3", 10}, {"s4", 11},
           {"u4", 12},   {"e8m0", 13}, {"f4_e2m1", 14}, {"f4_e3m0", 15}, {"s64", 16}};

int bd_parse_dt(const char *s, int *out) {
    for (size_t i = 0; i < sizeof dts / sizeof *dts; ++i)
        if (!strcasecmp(s, dts[i].name)) return *out = dts[i].dt, 0;
    return 1;
}

const char *bd_dt_name(int dt) {
    for (size_t i = 0; i < sizeof dts / sizeof *dts; ++i)
        if (dts[i].dt == dt) return dts[i].name;
    return "unknown";
}

int bd_parse_dims(const char *s, int64_t *d) {
    const long max_dim = 1L << 56; /* sums of a few stay in range */
    int n = 0;
    char part[32];
    while (s) {
        long v;
        s = bd_cut(s, 'x', part, sizeof part);
        if (n == BD_MAX_NDIMS || bd_parse_int(part, &v) || v < 0 || v > max_dim) return -1;
        d[n++] = v;
    }
    return n;
}

void bd_print_dims(char *out, size_t size, int nd, const int64_t *d) {
    for (int i = 0; i < nd; ++i) bd_cat(out, size, "%s%lld", i ? "x" : "", (long long)d[i]);
}

const char *bd_cut(const char *s, char sep, char *buf, size_t size) {
    const char *e = strchr(s, sep);
    size_t n = e ? (size_t)(e - s) : strlen(s);
    size_t keep = n < size ? n : size - 1;
    memcpy(buf, s, keep);
    buf[keep] = 0;
    return e ? e + 1 : NULL;
}

typedef struct {
    int alg;
    const char *name;
} alg_name_t;

static const alg_name_t eltwise[] = {{dnnl_tp_eltwise_relu, "relu"},
                                     {dnnl_tp_eltwise_tanh, "tanh"},
                                     {dnnl_tp_eltwise_elu, "elu"},
                                     {dnnl_tp_eltwise_square, "square"},
                                     {dnnl_tp_eltwise_abs, "abs"},
                                     {dnnl_tp_eltwise_sqrt, "sqrt"},
                                     {dnnl_tp_eltwise_linear, "linear"},
                                     {dnnl_tp_eltwise_soft_relu, "soft_relu"},
                                     {dnnl_tp_eltwise_soft_relu, "srelu"},
                                     {dnnl_tp_eltwise_hardsigmoid, "hardsigmoid"},
                                     {dnnl_tp_eltwise_logistic, "logistic"},
                                     {dnnl_tp_eltwise_exp, "exp"},
                                     {dnnl_tp_eltwise_gelu_tanh, "gelu_tanh"},
                                     {dnnl_tp_eltwise_swish, "swish"},
                                     {dnnl_tp_eltwise_log, "log"},
                                     {dnnl_tp_eltwise_clip, "clip"},
                                     {dnnl_tp_eltwise_clip_v2, "clip_v2"},
                                     {dnnl_tp_eltwise_pow, "pow"},
                                     {dnnl_tp_eltwise_gelu_erf, "gelu_erf"},
                                     {dnnl_tp_eltwise_round, "round"},
                                     {dnnl_tp_eltwise_mish, "mish"},
                                     {dnnl_tp_eltwise_hardswish, "hardswish"},
                                     {dnnl_tp_eltwise_relu_use_dst_for_bwd, "relu_dst"},
                                     {dnnl_tp_eltwise_relu_use_dst_for_bwd, "relu_use_dst_for_bwd"},
                                     {dnnl_tp_eltwise_tanh_use_dst_for_bwd, "tanh_dst"},
                                     {dnnl_tp_eltwise_tanh_use_dst_for_bwd, "tanh_use_dst_for_bwd"},
                                     {dnnl_tp_eltwise_elu_use_dst_for_bwd, "elu_dst"},
                                     {dnnl_tp_eltwise_elu_use_dst_for_bwd, "elu_use_dst_for_bwd"},
                                     {dnnl_tp_eltwise_sqrt_use_dst_for_bwd, "sqrt_dst"},
                                     {dnnl_tp_eltwise_sqrt_use_dst_for_bwd, "sqrt_use_dst_for_bwd"},
                                     {dnnl_tp_eltwise_logistic_use_dst_for_bwd, "logistic_dst"},
                                     {dnnl_tp_eltwise_logistic_use_dst_for_bwd, "logistic_use_dst_for_bwd"},
                                     {dnnl_tp_eltwise_exp_use_dst_for_bwd, "exp_dst"},
                                     {dnnl_tp_eltwise_exp_use_dst_for_bwd, "exp_use_dst_for_bwd"},
                                     {dnnl_tp_eltwise_clip_v2_use_dst_for_bwd, "clip_v2_dst"},
                                     {dnnl_tp_eltwise_clip_v2_use_dst_for_bwd, "clip_v2_use_dst_for_bwd"},
                                     {0, NULL}};
static const alg_name_t binary[] = {{dnnl_tp_binary_add, "add"},       {dnnl_tp_binary_mul, "mul"},
                                    {dnnl_tp_binary_max, "max"},       {dnnl_tp_binary_min, "min"},
                                    {dnnl_tp_binary_div, "div"},       {dnnl_tp_binary_sub, "sub"},
                                    {dnnl_tp_binary_ge, "ge"},         {dnnl_tp_binary_gt, "gt"},
                                    {dnnl_tp_binary_le, "le"},         {dnnl_tp_binary_lt, "lt"},
                                    {dnnl_tp_binary_eq, "eq"},         {dnnl_tp_binary_ne, "ne"},
                                    {dnnl_tp_binary_select, "select"}, {0, NULL}};
static const alg_name_t reduction[] = {{dnnl_tp_reduction_max, "max"},
                                       {dnnl_tp_reduction_min, "min"},
                                       {dnnl_tp_reduction_sum, "sum"},
                                       {dnnl_tp_reduction_mul, "mul"},
                                       {dnnl_tp_reduction_mean, "mean"},
                                       {dnnl_tp_reduction_norm_lp_max, "norm_lp_max"},
                                       {dnnl_tp_reduction_norm_lp_sum, "norm_lp_sum"},
                                       {dnnl_tp_reduction_norm_lp_power_p_max, "norm_lp_power_p_max"},
                                       {dnnl_tp_reduction_norm_lp_power_p_sum, "norm_lp_power_p_sum"},
                                       {0, NULL}};
static const alg_name_t softmax[] = {{dnnl_tp_softmax_accurate, "SOFTMAX"},
                                     {dnnl_tp_softmax_accurate, "accurate"},
                                     {dnnl_tp_softmax_log, "LOGSOFTMAX"},
                                     {dnnl_tp_softmax_log, "log"},
                                     {BD_ALG_SOFTMAX_INF_AS_ZERO, "SOFTMAX_INF_AS_ZERO"},
                                     {0, NULL}};

static const alg_name_t pooling[] = {{dnnl_tp_pooling_max, "max"},
                                     {dnnl_tp_pooling_avg_exclude_padding, "avg_np"},
                                     {dnnl_tp_pooling_avg_include_padding, "avg_p"},
                                     {dnnl_tp_pooling_avg_exclude_padding, "avg_exclude_padding"},
                                     {dnnl_tp_pooling_avg_include_padding, "avg_include_padding"},
                                     {0, NULL}};

static int parse_alg(const alg_name_t *t, const char *prefix, const char *s, int *out) {
    size_t n = strlen(prefix);
    if (!strncasecmp(s, prefix, n)) s += n;
    for (; t->name; ++t)
        if (!strcasecmp(s, t->name)) return *out = t->alg, 0;
    return 1;
}

int bd_parse_eltwise_alg(const char *s, int *out) { return parse_alg(eltwise, "eltwise_", s, out); }
int bd_parse_binary_alg(const char *s, int *out) { return parse_alg(binary, "binary_", s, out); }
int bd_parse_reduction_alg(const char *s, int *out) { return parse_alg(reduction, "reduction_", s, out); }
int bd_parse_softmax_alg(const char *s, int *out) {
    return parse_alg(softmax, "softmax_", s, out) && parse_alg(softmax, "", s, out);
}

static const alg_name_t resampling[] = {
    {dnnl_tp_resampling_nearest, "nearest"}, {dnnl_tp_resampling_linear, "linear"}, {0, NULL}};
int bd_parse_resampling_alg(const char *s, int *out) { return parse_alg(resampling, "resampling_", s, out); }

int bd_parse_pooling_alg(const char *s, int *out) { return parse_alg(pooling, "pooling_", s, out); }

const char *bd_alg_name(int alg) {
    static const alg_name_t *const all[] = {eltwise, binary, reduction, softmax, pooling, resampling};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        for (const alg_name_t *t = all[i]; t->name; ++t)
            if (t->alg == alg) return t->name;
    return "undef";
}
