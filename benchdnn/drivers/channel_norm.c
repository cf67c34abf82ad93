/* Batch and group normalization: see channel_norm.h. */
#include "drivers/channel_norm.h"

static bool stats_given(const bd_prb_t *p) { return p->flags & dnnl_tp_use_global_stats; }
static bool relu(const bd_prb_t *p) {
    return p->flags & (dnnl_tp_fuse_norm_relu | dnnl_tp_fuse_norm_add_relu);
}

void bd_norm_tensors(bd_prb_t *p, int64_t groups, const char *dst_tag) {
    int64_t d[BD_MAX_NDIMS];
    const int nd = bd_image_dims(p, d);
    bd_add_tensor(p, DNNL_TP_ARG_SRC, "src", nd, d, p->dt[0], p->tag[0], BD_IN);
    bd_add_tensor(p, DNNL_TP_ARG_DST, "dst", nd, d, p->n_dt > 1 ? p->dt[1] : p->dt[0], dst_tag, BD_OUT);
    if (stats_given(p) || p->dir != BD_FWD_I) {
        const unsigned io = stats_given(p) ? BD_IN : BD_OUT;
        const int64_t s[2] = {groups ? d[0] : d[1], groups};
        bd_add_tensor(p, DNNL_TP_ARG_MEAN, "mean", groups ? 2 : 1, s, dnnl_tp_f32, NULL, io);
        bd_add_tensor(p, DNNL_TP_ARG_VARIANCE, "var", groups ? 2 : 1, s, dnnl_tp_f32, NULL, io);
    }
    if (p->flags & dnnl_tp_use_scale)
        bd_add_tensor(p, DNNL_TP_ARG_SCALE, "scale", 1, &d[1], dnnl_tp_f32, NULL, BD_IN);
    if (p->flags & dnnl_tp_use_shift)
        bd_add_tensor(p, DNNL_TP_ARG_SHIFT, "shift", 1, &d[1], dnnl_tp_f32, NULL, BD_IN);
    p->ops = 7. * (double)bd_elems(&p->t[BD_NORM_SRC]);
}

static int64_t sets_of(const bd_prb_t *p, int64_t groups) {
    const int64_t *d = p->t[BD_NORM_SRC].d;
    return groups ? d[0] * groups : d[1];
}
static int64_t set_at(const bd_prb_t *p, int64_t groups, const int64_t *pos) {
    return groups ? pos[0] * groups + pos[1] / (p->t[BD_NORM_SRC].d[1] / groups) : pos[1];
}

/* Sets of pairs around a small mean, never the mean itself: whether something is above 0 is then no matter of
 * rounding. */
static void fill_src(const bd_prb_t *p, int64_t groups, double *v) {
    const bd_tensor_t *t = &p->t[BD_NORM_SRC];
    const int64_t n = bd_elems(t), sets = sets_of(p, groups);
    if (!n) return;
    int64_t pos[BD_MAX_NDIMS] = {0};
    bd_rng_t r = bd_rng(t->arg, n);
    double *mean = calloc((size_t)sets * 2, sizeof *mean), *last = mean + sets;
    if (!mean) abort();
    for (int64_t k = 0; k < sets; ++k)
        mean[k] = (double)bd_rng_int(&r, t->dt == dnnl_tp_u8 ? 4 : -2, t->dt == dnnl_tp_u8 ? 8 : 2);
    for (int64_t i = 0; i < n; ++i) {
        const int64_t k = set_at(p, groups, pos);
        if (last[k] != 0) {
            v[i] = mean[k] - last[k];
            last[k] = 0;
        } else {
            last[k] = (double)bd_rng_int(&r, 1, 4) * (bd_rng_int(&r, 0, 1) ? 1 : -1);
            v[i] = mean[k] + last[k];
        }
        bd_next(t->nd, t->d, pos);
    }
    free(mean);
}

void bd_norm_fill(const bd_prb_t *p, int64_t groups, int i, double *v) {
    const bd_tensor_t *t = &p->t[i];
    const int64_t n = bd_elems(t);
    if (t->arg == DNNL_TP_ARG_SRC) {
        fill_src(p, groups, v);
        return;
    }
    /* With the epsilon of 1/16 no root of these is rational. */
    static const double variances[] = {1, 2, 4, 6, 7, 8};
    bd_rng_t r = bd_rng(t->arg, n);
    for (int64_t k = 0; k < n; ++k) switch (t->arg) {
        case DNNL_TP_ARG_MEAN: v[k] = (double)bd_rng_int(&r, -2, 2); break;
        case DNNL_TP_ARG_VARIANCE: v[k] = variances[bd_rng_int(&r, 0, 5)]; break;
        case DNNL_TP_ARG_SCALE:
            v[k] = ldexp((double)bd_rng_int(&r, 0, 1) * 2 - 1, (int)bd_rng_int(&r, -2, 2));
            break;
        default: v[k] = (double)bd_rng_int(&r, -8, 8) / 4;
        }
    if (t->dt > dnnl_tp_f32)
        for (int64_t k = 0; k < n; ++k) v[k] = rint(v[k]);
}

/* Mean and variance of each set. */
static double *statistics(const bd_prb_t *p, int64_t groups, double *const *v) {
    const bd_tensor_t *t = &p->t[BD_NORM_SRC];
    const int64_t n = bd_elems(t), sets = sets_of(p, groups);
    double *mean = calloc((size_t)sets * 2 + 1, sizeof *mean), *var = mean + sets;
    if (!mean) abort();
    const double count = sets ? (double)n / (double)sets : 1;
    for (int pass = 0; pass < 2 && n; ++pass) {
        int64_t pos[BD_MAX_NDIMS] = {0};
        for (int64_t i = 0; i < n; ++i) {
            const int64_t k = set_at(p, groups, pos);
            const double x = v[BD_NORM_SRC][i] - mean[k];
            if (pass) var[k] += x * x / count;
            else var[k] += v[BD_NORM_SRC][i];
            bd_next(t->nd, t->d, pos);
        }
        for (int64_t k = 0; k < sets && !pass; ++k) mean[k] = var[k] / count, var[k] = 0;
    }
    return mean;
}

void bd_norm_ref(const bd_prb_t *p, int64_t groups, double *const *v) {
    const bd_tensor_t *t = &p->t[BD_NORM_SRC];
    const int64_t n = bd_elems(t), sets = sets_of(p, groups);
    int64_t pos[BD_MAX_NDIMS] = {0};
    const int mean = bd_find_arg(p, DNNL_TP_ARG_MEAN), var = bd_find_arg(p, DNNL_TP_ARG_VARIANCE);
    const int sc = bd_find_arg(p, DNNL_TP_ARG_SCALE), sh = bd_find_arg(p, DNNL_TP_ARG_SHIFT);
    const int add = bd_find_arg(p, DNNL_TP_ARG_SRC_1), ws = bd_find_arg(p, DNNL_TP_ARG_WORKSPACE);
    const double ss = n ? bd_attr_scale(p, v, DNNL_TP_ARG_SRC, t->nd, pos) : 1;
    double *stats = NULL;
    if (!stats_given(p)) {
        stats = statistics(p, groups, v);
        if (mean >= 0) memcpy(v[mean], stats, (size_t)sets * sizeof *stats);
        if (var >= 0) memcpy(v[var], stats + sets, (size_t)sets * sizeof *stats);
    }
    for (int64_t i = 0; i < n; ++i) {
        const int64_t k = set_at(p, groups, pos), c = pos[1];
        const double m = stats ? stats[k] : v[mean][k], q = stats ? stats[sets + k] : v[var][k];
        double y = (v[BD_NORM_SRC][i] - m) / sqrt(q + (double)p->eps) * (sc >= 0 ? v[sc][c] : 1) +
                   (sh >= 0 ? v[sh][c] : 0);
        if (add >= 0) y += v[add][i];
        if (ws >= 0) v[ws][i] = y > 0;
        if (relu(p) && y < 0) y = 0;
        v[BD_NORM_DST][i] = bd_attr_finish(p, v, y * ss, bd_old_dst(p, v, BD_NORM_DST, i), pos);
        bd_next(t->nd, t->d, pos);
    }
    free(stats);
}

void bd_norm_judge(const bd_prb_t *p, int i, bd_cmp_t *c) {
    c->threshold = p->t[i].dt == dnnl_tp_f32 ? 1e-6 : bd_eps(p->t[i].dt);
    /* scale * x + shift may cancel: the error is then that of the product. */
    if (i == BD_NORM_DST) c->abs_threshold = 1e-6 * 16;
    if (p->t[i].arg == DNNL_TP_ARG_MEAN) c->abs_threshold = 2e-6;
    /* A sum of positive numbers in f32: those of a chunk of rows one after another, where there are no vectors. */
    if (p->t[i].arg == DNNL_TP_ARG_VARIANCE) c->threshold = 4e-6;
    c->zero_trust = 100;
}
