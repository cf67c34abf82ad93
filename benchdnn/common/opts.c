/* Option rows: parse one list entry into a problem, print it back canonically. */
#include <string.h>
#include <strings.h>

#include "common/layout.h"
#include "common/opts.h"

static void put(char *out, size_t n, const char *s) {
    out[0] = 0;
    bd_cat(out, n, "%s", s);
}

/* ---- direction, types -------------------------------------------------------------------------------- */
static const char *const dirs[] = {"FWD_D", "FWD_I", "FWD_B", "BWD_D", "BWD_W", "BWD_WB", "BWD_DW"};
static int set_dir(bd_prb_t *p, const char *s) {
    for (int i = 0; i < 7; ++i)
        if (!strcasecmp(s, dirs[i])) return p->dir = (bd_dir_t)i, 0;
    return 1;
}
static void get_dir(const bd_prb_t *p, char *o, size_t n) { put(o, n, dirs[p->dir]); }
const bd_opt_t bd_opt_dir_b = {"dir", "FWD_B", set_dir, get_dir, false};
const bd_opt_t bd_opt_dir_d = {"dir", "FWD_D", set_dir, get_dir, false};

static int set_dts(bd_prb_t *p, const char *s) {
    char part[32];
    int n = 0;
    while (s) {
        s = bd_cut(s, ':', part, sizeof part);
        if (n == BD_MAX_SRC || bd_parse_dt(part, &p->dt[n])) return 1;
        ++n;
    }
    p->n_dt = n;
    return 0;
}
/* One type stands for all. */
static int set_dts_n(bd_prb_t *p, const char *s, int want) {
    if (set_dts(p, s)) return 1;
    if (p->n_dt == 1)
        while (p->n_dt < want) p->dt[p->n_dt++] = p->dt[0];
    return p->n_dt != want;
}
static int set_dt1(bd_prb_t *p, const char *s) { return set_dts_n(p, s, 1); }
static int set_dt2(bd_prb_t *p, const char *s) { return set_dts_n(p, s, 2); }
static int set_dt3(bd_prb_t *p, const char *s) { return set_dts_n(p, s, 3); }
static int set_sdt2(bd_prb_t *p, const char *s) {
    if (set_dts(p, s)) return 1;
    if (p->n_dt == 1) p->dt[p->n_dt++] = p->dt[0];
    return p->n_dt != 2 && p->n_dt != 3;
}
static void get_dts(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0;
    for (int i = 0; i < p->n_dt; ++i) bd_cat(o, n, "%s%s", i ? ":" : "", bd_dt_name(p->dt[i]));
}
static void get_dts_short(const bd_prb_t *p, char *o, size_t n) {
    for (int i = 0; i < p->n_dt; ++i)
        if (p->dt[i] != dnnl_tp_f32) {
            get_dts(p, o, n);
            return;
        }
    put(o, n, "f32");
}
const bd_opt_t bd_opt_dt1 = {"dt", "f32", set_dt1, get_dts, false};
const bd_opt_t bd_opt_dt2 = {"dt", "f32", set_dt2, get_dts_short, false};
const bd_opt_t bd_opt_dt3 = {"dt", "f32", set_dt3, get_dts_short, false};
const bd_opt_t bd_opt_sdt1 = {"sdt", "f32", set_dt1, get_dts, false};
const bd_opt_t bd_opt_sdt1_always = {"sdt", "f32", set_dt1, get_dts, true};
const bd_opt_t bd_opt_sdt_n = {"sdt", "f32:f32", set_dts, get_dts, false};
const bd_opt_t bd_opt_sdt2 = {"sdt", "f32:f32", set_sdt2, get_dts, false};

#define TYPE_OPT(field)                                                                      \
    static int set_##field(bd_prb_t *p, const char *s) { return bd_parse_dt(s, &p->field); } \
    static void get_##field(const bd_prb_t *p, char *o, size_t n) { put(o, n, bd_dt_name(p->field)); }
TYPE_OPT(ddt)
TYPE_OPT(bia_dt)
TYPE_OPT(ss_dt)
const bd_opt_t bd_opt_ddt = {"ddt", "f32", set_ddt, get_ddt, false};
const bd_opt_t bd_opt_ddt_always = {"ddt", "f32", set_ddt, get_ddt, true};
const bd_opt_t bd_opt_bia_dt = {"bia-dt", "undef", set_bia_dt, get_bia_dt, false};
const bd_opt_t bd_opt_ss_dt = {"ss_dt", "f32", set_ss_dt, get_ss_dt, false};

/* ---- layouts ----------------------------------------------------------------------------------------- */
static int set_one_tag(char *t, const char *s) {
    if (strlen(s) >= BD_TAG || !bd_tag_syntax(s) || (bd.enum_tags_only && !bd_tag_enumerator(s))) return 1;
    strcpy(t, s);
    return 0;
}
static int set_tags(bd_prb_t *p, const char *s) {
    char part[BD_TAG + 1];
    int n = 0;
    while (s) {
        s = bd_cut(s, ':', part, sizeof part);
        if (n == BD_MAX_SRC || set_one_tag(p->tag[n], *part ? part : "any")) return 1;
        ++n;
    }
    p->n_tag = n;
    return 0;
}
static int set_tag1(bd_prb_t *p, const char *s) { return set_tags(p, s) || p->n_tag != 1; }
static int set_tag2(bd_prb_t *p, const char *s) {
    if (set_tags(p, s)) return 1;
    if (p->n_tag == 1) strcpy(p->tag[p->n_tag++], "any");
    return p->n_tag != 2 && p->n_tag != 3;
}
static void get_tags(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0;
    for (int i = 0; i < p->n_tag; ++i) bd_cat(o, n, "%s%s", i ? ":" : "", p->tag[i]);
}
#define TAG_OPT(field)                                                                      \
    static int set_##field(bd_prb_t *p, const char *s) { return set_one_tag(p->field, s); } \
    static void get_##field(const bd_prb_t *p, char *o, size_t n) { put(o, n, p->field); }
TAG_OPT(wtag)
TAG_OPT(dtag)
const bd_opt_t bd_opt_tag1 = {"tag", "abx", set_tag1, get_tags, false};
const bd_opt_t bd_opt_tag2 = {"tag", "abx:any", set_tag2, get_tags, false};
const bd_opt_t bd_opt_stag_any = {"stag", "any", set_tag1, get_tags, false};
const bd_opt_t bd_opt_stag_abx = {"stag", "abx", set_tag1, get_tags, false};
const bd_opt_t bd_opt_stag2 = {"stag", "abx:any", set_tag2, get_tags, false};
const bd_opt_t bd_opt_stag_n = {"stag", "abx", set_tags, get_tags, false};
const bd_opt_t bd_opt_wtag = {"wtag", "any", set_wtag, get_wtag, false};
const bd_opt_t bd_opt_dtag_any = {"dtag", "any", set_dtag, get_dtag, false};
const bd_opt_t bd_opt_dtag_abx = {"dtag", "abx", set_dtag, get_dtag, false};
const bd_opt_t bd_opt_dtag_undef = {"dtag", "undef", set_dtag, get_dtag, false};
const bd_opt_t bd_opt_stat_tag = {"stat_tag", "any", set_wtag, get_wtag, false};

static int set_strides_n(bd_prb_t *p, const char *s, int want) {
    char part[256];
    int n = 0;
    memset(p->has_strides, 0, sizeof p->has_strides);
    while (s) {
        s = bd_cut(s, ':', part, sizeof part);
        if (n == want) return 1;
        if (*part) {
            p->n_strides[n] = bd_parse_dims(part, p->strides[n]);
            if (p->n_strides[n] < 0) return 1;
            p->has_strides[n] = true;
        }
        ++n;
    }
    return 0;
}
static int set_strides3(bd_prb_t *p, const char *s) { return set_strides_n(p, s, 3); }
static int set_strides2(bd_prb_t *p, const char *s) { return set_strides_n(p, s, 2); }
static void get_strides_n(const bd_prb_t *p, char *o, size_t size, int n) {
    o[0] = 0;
    for (int i = 0; i < n; ++i) {
        if (i) bd_cat(o, size, ":");
        if (p->has_strides[i]) bd_print_dims(o, size, p->n_strides[i], p->strides[i]);
    }
}
static void get_strides3(const bd_prb_t *p, char *o, size_t n) { get_strides_n(p, o, n, 3); }
static void get_strides2(const bd_prb_t *p, char *o, size_t n) { get_strides_n(p, o, n, 2); }
const bd_opt_t bd_opt_strides3 = {"strides", "::", set_strides3, get_strides3, false};
const bd_opt_t bd_opt_strides2 = {"strides", ":", set_strides2, get_strides2, false};

/* ---- algorithms and scalars -------------------------------------------------------------------------- */
static void get_alg(const bd_prb_t *p, char *o, size_t n) { put(o, n, bd_alg_name(p->alg)); }
static int set_alg_e(bd_prb_t *p, const char *s) { return bd_parse_eltwise_alg(s, &p->alg); }
static int set_alg_s(bd_prb_t *p, const char *s) { return bd_parse_softmax_alg(s, &p->alg); }
static int set_alg_b(bd_prb_t *p, const char *s) { return bd_parse_binary_alg(s, &p->alg); }
static int set_alg_r(bd_prb_t *p, const char *s) { return bd_parse_reduction_alg(s, &p->alg); }
static int set_alg_i(bd_prb_t *p, const char *s) { return bd_parse_resampling_alg(s, &p->alg); }
static int set_alg_p(bd_prb_t *p, const char *s) { return bd_parse_pooling_alg(s, &p->alg); }
const bd_opt_t bd_opt_alg_eltwise = {"alg", "relu", set_alg_e, get_alg, true};
const bd_opt_t bd_opt_alg_softmax = {"alg", "SOFTMAX", set_alg_s, get_alg, false};
const bd_opt_t bd_opt_alg_binary = {"alg", "add", set_alg_b, get_alg, false};
const bd_opt_t bd_opt_alg_pool = {"alg", "max", set_alg_p, get_alg, false};
const bd_opt_t bd_opt_alg_resampling = {"alg", "nearest", set_alg_i, get_alg, false};
const bd_opt_t bd_opt_alg_reduction = {"alg", "sum", set_alg_r, get_alg, false};

#define FLOAT_OPT(field)                                                                        \
    static int set_##field(bd_prb_t *p, const char *s) { return bd_parse_float(s, &p->field); } \
    static void get_##field(const bd_prb_t *p, char *o, size_t n) {                             \
        o[0] = 0;                                                                               \
        bd_print_float(o, n, p->field);                                                         \
    }
FLOAT_OPT(alpha)
FLOAT_OPT(beta)
FLOAT_OPT(p)
FLOAT_OPT(eps)
const bd_opt_t bd_opt_alpha = {"alpha", "0", set_alpha, get_alpha, true};
const bd_opt_t bd_opt_beta = {"beta", "0", set_beta, get_beta, true};
const bd_opt_t bd_opt_p = {"p", "1", set_p, get_p, false};
const bd_opt_t bd_opt_eps = {"eps", "0", set_eps, get_eps, false};

static int set_int(const char *s, long lo, long hi, long *v) {
    return bd_parse_int(s, v) || *v < lo || *v > hi;
}
static int set_axis(bd_prb_t *p, const char *s) {
    long v;
    if (set_int(s, -BD_MAX_NDIMS, 1000, &v)) return 1;
    p->axis = (int)v;
    return 0;
}
static void get_axis(const bd_prb_t *p, char *o, size_t n) { o[0] = 0, bd_cat(o, n, "%d", p->axis); }
const bd_opt_t bd_opt_axis = {"axis", "1", set_axis, get_axis, false};

static const struct {
    char c;
    unsigned bit;
} flag_letters[] = {{'G', dnnl_tp_use_global_stats}, {'C', dnnl_tp_use_scale},
                    {'H', dnnl_tp_use_shift},        {'M', dnnl_tp_rms_norm},
                    {'R', dnnl_tp_fuse_norm_relu},   {'A', dnnl_tp_fuse_norm_add_relu}};
enum { FLAG_LETTERS = sizeof flag_letters / sizeof *flag_letters };
static int set_letters(bd_prb_t *p, const char *s, const char *allowed) {
    p->flags = 0;
    for (; *s; ++s) {
        if (!strchr(allowed, *s)) return 1;
        for (int i = 0; i < FLAG_LETTERS; ++i)
            if (flag_letters[i].c == *s) p->flags |= flag_letters[i].bit;
    }
    return 0;
}
static int set_flags(bd_prb_t *p, const char *s) { return set_letters(p, s, "GCHM"); }
static int set_batch_flags(bd_prb_t *p, const char *s) { return set_letters(p, s, "GCHRA"); }
static void get_flags(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0;
    for (int i = 0; i < FLAG_LETTERS; ++i)
        if (p->flags & flag_letters[i].bit) bd_cat(o, n, "%c", flag_letters[i].c);
}
const bd_opt_t bd_opt_flags = {"flags", "", set_flags, get_flags, false};
const bd_opt_t bd_opt_batch_flags = {"flags", "", set_batch_flags, get_flags, false};

static int set_inplace(bd_prb_t *p, const char *s) { return bd_parse_bool(s, &p->inplace); }
static void get_inplace(const bd_prb_t *p, char *o, size_t n) { put(o, n, p->inplace ? "true" : "false"); }
const bd_opt_t bd_opt_inplace = {"inplace", "false", set_inplace, get_inplace, false};

static int set_mb(bd_prb_t *p, const char *s) {
    long v;
    if (set_int(s, 0, INT32_MAX, &v)) return 1;
    p->mb = v;
    return 0;
}
static void get_mb(const bd_prb_t *p, char *o, size_t n) { o[0] = 0, bd_cat(o, n, "%lld", (long long)p->mb); }
const bd_opt_t bd_opt_mb = {"mb", "0", set_mb, get_mb, false};

static int set_bia_mask(bd_prb_t *p, const char *s) {
    long v;
    if (set_int(s, 0, (1 << BD_MAX_NDIMS) - 1, &v)) return 1;
    p->bia_mask = (int)v;
    return 0;
}
/* Without a bias the mask means nothing, and repro lines leave it out. */
static void get_bia_mask(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0;
    bd_cat(o, n, "%d", p->bia_dt ? p->bia_mask : 2);
}
const bd_opt_t bd_opt_bia_mask = {"bia_mask", "2", set_bia_mask, get_bia_mask, false};

static int set_rt(bd_prb_t *p, const char *s, int want) {
    char part[32];
    p->n_rt = 0;
    p->rt_mask[0] = p->rt_mask[1] = 0;
    if (!*s) return 0;
    while (s) {
        long v;
        s = bd_cut(s, ':', part, sizeof part);
        if (p->n_rt == want || set_int(part, 0, (1 << BD_MAX_NDIMS) - 1, &v)) return 1;
        p->rt_mask[p->n_rt++] = (unsigned)v;
    }
    return 0;
}
static int set_rt2(bd_prb_t *p, const char *s) { return set_rt(p, s, 2); }
static int set_rt1(bd_prb_t *p, const char *s) { return set_rt(p, s, 1); }
static void get_rt2(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0;
    if (p->rt_mask[0] | p->rt_mask[1]) bd_cat(o, n, "%u:%u", p->rt_mask[0], p->rt_mask[1]);
}
static void get_rt1(const bd_prb_t *p, char *o, size_t n) { o[0] = 0, bd_cat(o, n, "%u", p->rt_mask[0]); }
const bd_opt_t bd_opt_rt_masks = {"runtime_dims_masks", "", set_rt2, get_rt2, false};
const bd_opt_t bd_opt_rt_mask = {"runtime-dim-mask", "0", set_rt1, get_rt1, false};

static int set_scales_sum(bd_prb_t *p, const char *s) {
    char part[48];
    p->n_scale = 0;
    while (s) {
        s = bd_cut(s, ':', part, sizeof part);
        if (p->n_scale == BD_MAX_SRC || bd_parse_float(part, &p->scale[p->n_scale])) return 1;
        ++p->n_scale;
    }
    return 0;
}
static void get_scales_sum(const bd_prb_t *p, char *o, size_t n) {
    o[0] = 0;
    for (int i = 0; i < p->n_scale; ++i) {
        if (i) bd_cat(o, n, ":");
        bd_print_float(o, n, p->scale[i]);
    }
}
const bd_opt_t bd_opt_scales_sum = {"scales", "1", set_scales_sum, get_scales_sum, false};

#define TEXT_OPT(fn, i)                               \
    static int set_##fn(bd_prb_t *p, const char *s) { \
        if (strlen(s) >= sizeof p->text[i]) return 1; \
        strcpy(p->text[i], s);                        \
        return 0;                                     \
    }                                                 \
    static void get_##fn(const bd_prb_t *p, char *o, size_t n) { put(o, n, p->text[i]); }
TEXT_OPT(text0, 0)
TEXT_OPT(text1, 1)
const bd_opt_t bd_opt_oflag = {"oflag", "", set_text0, get_text0, false};
const bd_opt_t bd_opt_cross_engine = {"cross-engine", "none", set_text1, get_text1, false};
const bd_opt_t bd_opt_encoding = {"encoding", "::", set_text0, get_text0, false};
const bd_opt_t bd_opt_grouped = {"grouped", "", set_text1, get_text1, false};

/* ---- attributes and contexts ------------------------------------------------------------------------- */
static int set_as(bd_prb_t *p, const char *s) { return bd_attr_parse_scales(&p->attr, s); }
static int set_az(bd_prb_t *p, const char *s) { return bd_attr_parse_zps(&p->attr, s); }
static int set_ap(bd_prb_t *p, const char *s) { return bd_attr_parse_post_ops(&p->attr, s); }
static void get_as(const bd_prb_t *p, char *o, size_t n) { bd_attr_print_scales(&p->attr, o, n); }
static void get_az(const bd_prb_t *p, char *o, size_t n) { bd_attr_print_zps(&p->attr, o, n); }
static void get_ap(const bd_prb_t *p, char *o, size_t n) { bd_attr_print_post_ops(&p->attr, o, n); }
const bd_opt_t bd_opt_attr_scales = {"attr-scales", "", set_as, get_as, false};
const bd_opt_t bd_opt_attr_zps = {"attr-zero-points", "", set_az, get_az, false};
const bd_opt_t bd_opt_attr_po = {"attr-post-ops", "", set_ap, get_ap, false};

static int set_scratch(bd_prb_t *p, const char *s) {
    bool user = !strcasecmp(s, "user");
    if (!user && strcasecmp(s, "library")) return 1;
    p->attr.scratchpad_user = user;
    return 0;
}
static void get_scratch(const bd_prb_t *p, char *o, size_t n) {
    put(o, n, p->attr.scratchpad_user ? "user" : "library");
}
const bd_opt_t bd_opt_attr_scratch = {"attr-scratchpad", "library", set_scratch, get_scratch, false};

const char *bd_opt_default(const bd_opt_t *o) {
    return o == &bd_opt_attr_scratch && bd.mod_parallel ? "user" : o->def;
}

static const char *const fpmaths[] = {"strict", "bf16", "f16", "any", "tf32"};
static int set_fpmath(bd_prb_t *p, const char *s) {
    char mode[16];
    const char *rest = bd_cut(s, ':', mode, sizeof mode);
    p->attr.fpmath_int = false;
    if (rest && bd_parse_bool(rest, &p->attr.fpmath_int)) return 1;
    for (int i = 0; i < 5; ++i)
        if (!strcasecmp(mode, fpmaths[i])) return p->attr.fpmath = i, 0;
    return 1;
}
static void get_fpmath(const bd_prb_t *p, char *o, size_t n) {
    put(o, n, fpmaths[p->attr.fpmath]);
    if (p->attr.fpmath_int) bd_cat(o, n, ":true");
}
const bd_opt_t bd_opt_attr_fpmath = {"attr-fpmath", "strict", set_fpmath, get_fpmath, false};

static const char *const accs[] = {"strict", "relaxed", "any", "s32", "f32", "f16"};
static int set_acc(bd_prb_t *p, const char *s) {
    for (int i = 0; i < 6; ++i)
        if (!strcasecmp(s, accs[i])) return p->attr.acc = i, 0;
    return 1;
}
static void get_acc(const bd_prb_t *p, char *o, size_t n) { put(o, n, accs[p->attr.acc]); }
const bd_opt_t bd_opt_attr_acc = {"attr-acc-mode", "strict", set_acc, get_acc, false};

static int set_det(bd_prb_t *p, const char *s) { return bd_parse_bool(s, &p->attr.deterministic); }
static void get_det(const bd_prb_t *p, char *o, size_t n) {
    put(o, n, p->attr.deterministic ? "true" : "false");
}
const bd_opt_t bd_opt_attr_det = {"attr-deterministic", "false", set_det, get_det, false};

#define ATTR_TEXT_OPT(field)                             \
    static int set_##field(bd_prb_t *p, const char *s) { \
        if (strlen(s) >= sizeof p->attr.field) return 1; \
        strcpy(p->attr.field, s);                        \
        return 0;                                        \
    }                                                    \
    static void get_##field(const bd_prb_t *p, char *o, size_t n) { put(o, n, p->attr.field); }
ATTR_TEXT_OPT(dropout)
ATTR_TEXT_OPT(rounding)
ATTR_TEXT_OPT(precomputed)
const bd_opt_t bd_opt_attr_pr = {"attr-precomputed-reductions", "", set_precomputed, get_precomputed, false};
const bd_opt_t bd_opt_attr_dropout = {"attr-dropout", "", set_dropout, get_dropout, false};
const bd_opt_t bd_opt_attr_rounding = {"attr-rounding-mode", "", set_rounding, get_rounding, false};

static int set_ctx(bd_ctx_t *c, const char *s) {
    char part[16];
    const char *rest = bd_cut(s, ':', part, sizeof part);
    c->max_concurrency = 0;
    c->rest[0] = 0;
    if (strcasecmp(part, "auto")) {
        long v;
        if (set_int(part, 1, 256, &v)) return 1;
        c->max_concurrency = (int)v;
    }
    if (rest && strcasecmp(rest, "auto") && strcasecmp(rest, "auto:auto"))
        bd_cat(c->rest, sizeof c->rest, ":%s", rest);
    return 0;
}
static void get_ctx(const bd_ctx_t *c, char *o, size_t n) {
    put(o, n, "");
    if (c->max_concurrency) bd_cat(o, n, "%d", c->max_concurrency);
    else bd_cat(o, n, "auto");
    bd_cat(o, n, "%s", c->rest);
}
static int set_ctx_init(bd_prb_t *p, const char *s) { return set_ctx(&p->ctx_init, s); }
static int set_ctx_exe(bd_prb_t *p, const char *s) { return set_ctx(&p->ctx_exe, s); }
static void get_ctx_init(const bd_prb_t *p, char *o, size_t n) { get_ctx(&p->ctx_init, o, n); }
static void get_ctx_exe(const bd_prb_t *p, char *o, size_t n) { get_ctx(&p->ctx_exe, o, n); }
const bd_opt_t bd_opt_ctx_init = {"ctx-init", "auto", set_ctx_init, get_ctx_init, false};
const bd_opt_t bd_opt_ctx_exe = {"ctx-exe", "auto", set_ctx_exe, get_ctx_exe, false};
