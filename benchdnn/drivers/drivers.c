/* The list of drivers, and what they share. */
#include "drivers/drivers.h"

#define BD_DRIVER(name) &bd_driver_##name,
const bd_driver_t *const bd_drivers[] = {
#include "drivers/drivers.inc"
    NULL};

bool bd_driver_known_elsewhere(const char *name) {
    static const char *const names[] = {"self", "rnn", "zeropad", "brgemm", "sdpa", "graph"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (!strcmp(names[i], name)) return true;
    return false;
}

int bd_cut_label(bd_prb_t *p, const char *s, char *buf, size_t size) {
    const char *n = strchr(s, 'n');
    size_t len = n ? (size_t)(n - s) : strlen(s);
    if (len >= size) return 1;
    memcpy(buf, s, len);
    buf[len] = 0;
    while (len && buf[len - 1] == '_') buf[--len] = 0;
    p->label[0] = 0;
    if (!n) return 0;
    const char *b = n + 1, *e = b + strlen(b);
    if (*b == '"') {
        ++b;
        e = strchr(b, '"');
        if (!e || e[1]) return 1;
    }
    if ((size_t)(e - b) >= sizeof p->label || memchr(b, '"', (size_t)(e - b))) return 1;
    memcpy(p->label, b, (size_t)(e - b));
    p->label[e - b] = 0;
    return 0;
}

void bd_desc_label(const bd_prb_t *p, char *o, size_t n, const char *sep) {
    if (*p->label) bd_cat(o, n, "%sn\"%s\"", sep, p->label);
}

int bd_parse_vdims(bd_prb_t *p, const char *s, int lo, int hi) {
    char dims[1024], part[256];
    if (bd_cut_label(p, s, dims, sizeof dims)) return 1;
    p->n_vd = 0;
    for (const char *r = dims; r;) {
        r = bd_cut(r, ':', part, sizeof part);
        if (p->n_vd == hi || p->n_vd == BD_MAX_SRC) return 1;
        int nd = bd_parse_dims(part, p->vd[p->n_vd]);
        if (nd < 1) return 1;
        p->vd_nd[p->n_vd++] = nd;
    }
    return p->n_vd < lo;
}

void bd_desc_vdims(const bd_prb_t *p, char *o, size_t n) {
    for (int i = 0; i < p->n_vd; ++i) {
        if (i) bd_cat(o, n, ":");
        bd_print_dims(o, n, p->vd_nd[i], p->vd[i]);
    }
    bd_desc_label(p, o, n, "_");
}

bool bd_next(int nd, const int64_t *d, int64_t *pos) {
    for (int i = nd - 1; i >= 0; --i) {
        if (++pos[i] < d[i]) return true;
        pos[i] = 0;
    }
    return false;
}

int64_t bd_at(const bd_tensor_t *t, const int64_t *pos) {
    int64_t at = 0;
    for (int i = 0; i < t->nd; ++i) at = at * t->d[i] + (t->d[i] == 1 ? 0 : pos[i]);
    return at;
}

const char *bd_make_inplace(bd_prb_t *p, int src, int dst) {
    bd_tensor_t *s = &p->t[src], *d = &p->t[dst];
    bool same_tag = bd_tag_is(d->tag, "any") || bd_tag_is(d->tag, "undef") ||
                    (s->tag && d->tag && !strcmp(s->tag, d->tag));
    if (s->strides || d->strides)
        same_tag = s->strides && d->strides && !memcmp(s->strides, d->strides, (size_t)s->nd * 8);
    if (s->dt != d->dt || !same_tag || bd_elems(s) != bd_elems(d)) return BD_SKIP_INVALID;
    d->alias = src;
    return NULL;
}

double bd_old_dst(const bd_prb_t *p, double *const *v, int dst, int64_t i) {
    return v[p->t[dst].alias >= 0 ? p->t[dst].alias : dst][i];
}

double bd_eps(int dt) { return ldexp(1, 1 - bd_digits(dt)); }

void bd_fill_default(const bd_prb_t *p, int i, double *v, bool perf, int64_t range) {
    const bd_tensor_t *t = &p->t[i];
    int64_t lo = t->dt == dnnl_tp_u8 ? 0 : -range, hi = range;
    if (perf) bd_perf_range(t->dt, &lo, &hi);
    bd_fill_ints(v, bd_elems(t), t->arg, lo, hi, 1);
}

void bd_fill_src(const bd_prb_t *p, int i, double *v, bool perf) {
    if (i == 0) p->drv->fill_src(p, v, perf);
    else bd_fill_default(p, i, v, perf, 8);
}

bool bd_has_eltwise_po(const bd_prb_t *p) {
    for (int i = 0; i < p->attr.n_po; ++i)
        if (p->attr.po[i].kind == BD_PO_ELTWISE) return true;
    return false;
}

bool bd_type_ok(int dt) { return dt >= dnnl_tp_f16 && dt <= dnnl_tp_u8; }
