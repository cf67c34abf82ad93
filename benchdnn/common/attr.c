/* Grammar of the attribute options and the API objects made from them. What they mean: attr_ref.c. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/prb.h"

/* ---- masks ------------------------------------------------------------------------------------------- */
static const char *const policies[] = {"common",    "host_scalar", "per_dim_0", "per_oc",
                                       "per_dim_1", "per_dim_01",  "per_ocic",  "per_dim_2",
                                       "per_dim_3", "per_tensor",  "mx",        "dynamic_fp"};

static int parse_mask(const char *s, bd_mask_t *m) {
    for (int i = 0; i < BD_POLICY_MASK; ++i)
        if (!strcasecmp(s, policies[i])) {
            m->policy = (bd_policy_t)i;
            return 0;
        }
    long v;
    if (bd_parse_int(s, &v) || v < 0 || v >= 1 << BD_MAX_NDIMS) return 1;
    m->policy = BD_POLICY_MASK;
    m->mask = (int)v;
    return 0;
}

static void print_mask(const bd_mask_t *m, char *o, size_t n) {
    if (m->policy == BD_POLICY_MASK) bd_cat(o, n, "%d", m->mask);
    else bd_cat(o, n, "%s", policies[m->policy]);
}

static bool single_valued(const bd_mask_t *m) {
    return m->policy == BD_POLICY_COMMON || m->policy == BD_POLICY_HOST_SCALAR ||
           (m->policy == BD_POLICY_MASK && !m->mask);
}

int bd_attr_mask(const bd_prb_t *p, const bd_mask_t *m, int arg, int nd) {
    bool ip = p->drv->kind == dnnl_tp_inner_product;
    /* The factors of a product, with or without batch: channels are the last dimensions. Elsewhere dim 1 is. */
    bool factor = p->drv->kind == dnnl_tp_matmul && (arg == DNNL_TP_ARG_SRC || arg == DNNL_TP_ARG_WEIGHTS);
    int last = nd > 0 ? 1 << (nd - 1) : 0;
    switch (m->policy) {
    case BD_POLICY_FULL: return (1 << nd) - 1;
    case BD_POLICY_MASK: return m->mask;
    case BD_POLICY_PER_DIM_0: return 1;
    case BD_POLICY_PER_OC:
    case BD_POLICY_PER_DIM_1:
        if (factor) return last;
        if (ip && arg == DNNL_TP_ARG_WEIGHTS && m->policy == BD_POLICY_PER_OC) return 1;
        if (p->drv->kind == dnnl_tp_layer_normalization && m->policy == BD_POLICY_PER_OC) return last;
        return nd > 1 ? 2 : nd;
    case BD_POLICY_PER_OCIC:
        if (factor) return last | last >> 1;
        return 3 & ((1 << nd) - 1);
    case BD_POLICY_PER_DIM_01: return 3 & ((1 << nd) - 1);
    case BD_POLICY_PER_DIM_2: return 4;
    case BD_POLICY_PER_DIM_3: return 8;
    case BD_POLICY_PER_TENSOR: return (1 << nd) - 1;
    default: return 0;
    }
}

/* ---- scales and zero points -------------------------------------------------------------------------- */
static const struct {
    const char *name;
    int arg;
} arg_names[] = {{"src", DNNL_TP_ARG_SRC},
                 {"src0", DNNL_TP_ARG_SRC},
                 {"src1", DNNL_TP_ARG_SRC_1},
                 {"wei", DNNL_TP_ARG_WEIGHTS},
                 {"dst", DNNL_TP_ARG_DST}};

static int parse_arg(const char *s, int *arg) {
    for (size_t i = 0; i < sizeof arg_names / sizeof *arg_names; ++i)
        if (!strcasecmp(s, arg_names[i].name)) return *arg = arg_names[i].arg, 0;
    long n;
    if (!strncasecmp(s, "msrc", 4) && !bd_parse_int(s + 4, &n) && n >= 0 && n < BD_MAX_SRC)
        return *arg = DNNL_TP_ARG_MULTIPLE_SRC + (int)n, 0;
    return 1;
}

static void print_arg(int arg, char *o, size_t n) {
    if (arg >= DNNL_TP_ARG_MULTIPLE_SRC) bd_cat(o, n, "msrc%d", arg - DNNL_TP_ARG_MULTIPLE_SRC);
    else
        bd_cat(o, n, "%s",
               arg == DNNL_TP_ARG_SRC     ? "src"
               : arg == DNNL_TP_ARG_SRC_1 ? "src1"
               : arg == DNNL_TP_ARG_DST   ? "dst"
                                          : "wei");
}

static int parse_quant(const char *s, bd_quant_t *q, int *count, int def_dt, float def_value) {
    char entry[128], field[48];
    int n = 0;
    if (!*s) return *count = 0;
    while (s) {
        bd_quant_t e = {.dt = def_dt, .value = def_value};
        s = bd_cut(s, '+', entry, sizeof entry);
        const char *r = bd_cut(entry, ':', field, sizeof field);
        if (n == BD_MAX_QUANT || parse_arg(field, &e.arg) || !r) return 1;
        r = bd_cut(r, ':', field, sizeof field);
        if (parse_mask(field, &e.mask)) return 1;
        if (r) {
            const char *next = bd_cut(r, ':', field, sizeof field);
            if (bd_parse_dt(field, &e.dt)) {
                if (!single_valued(&e.mask) || bd_parse_float(field, &e.value)) return 1;
                e.has_value = true;
                r = next;
            }
            if (r) {
                r = bd_cut(r, ':', field, sizeof field);
                if (bd_parse_dt(field, &e.dt)) return 1;
            }
            if (r) {
                int64_t g[BD_MAX_NDIMS];
                if (bd_parse_dims(r, g) != 2) return 1;
                e.group[0] = g[0];
                e.group[1] = g[1];
            }
        }
        for (int i = 0; i < n; ++i)
            if (q[i].arg == e.arg) return 1;
        int at = n++;
        for (; at > 0 && q[at - 1].arg > e.arg; --at)
            q[at] = q[at - 1]; /* kept in order of argument numbers */
        q[at] = e;
    }
    *count = n;
    return 0;
}

static void print_quant(const bd_quant_t *q, int n, int def_dt, char *o, size_t size) {
    o[0] = 0;
    for (int i = 0; i < n; ++i, ++q) {
        if (i) bd_cat(o, size, "+");
        print_arg(q->arg, o, size);
        bd_cat(o, size, ":");
        print_mask(&q->mask, o, size);
        if (q->has_value) {
            bd_cat(o, size, ":");
            bd_print_float(o, size, q->value);
        }
        if (q->dt != def_dt || q->group[0]) bd_cat(o, size, ":%s", bd_dt_name(q->dt));
        if (q->group[0]) bd_cat(o, size, ":%lldx%lld", (long long)q->group[0], (long long)q->group[1]);
    }
}

int bd_attr_parse_scales(bd_attr_t *a, const char *s) {
    return parse_quant(s, a->scales, &a->n_scales, dnnl_tp_f32, 1);
}
int bd_attr_parse_zps(bd_attr_t *a, const char *s) {
    return parse_quant(s, a->zps, &a->n_zps, dnnl_tp_s32, 0);
}
void bd_attr_print_scales(const bd_attr_t *a, char *o, size_t n) {
    print_quant(a->scales, a->n_scales, dnnl_tp_f32, o, n);
}
void bd_attr_print_zps(const bd_attr_t *a, char *o, size_t n) {
    print_quant(a->zps, a->n_zps, dnnl_tp_s32, o, n);
}

/* ---- post-ops ---------------------------------------------------------------------------------------- */
static int parse_po_sum(const char *r, bd_post_op_t *o) {
    char f[32];
    long zp;
    o->kind = BD_PO_SUM;
    o->scale = 1;
    if (r) {
        r = bd_cut(r, ':', f, sizeof f);
        if (bd_parse_float(f, &o->scale)) return 1;
    }
    if (r) {
        r = bd_cut(r, ':', f, sizeof f);
        if (bd_parse_int(f, &zp) || zp < INT32_MIN || zp > INT32_MAX) return 1;
        o->zero_point = (int)zp;
    }
    if (r) {
        r = bd_cut(r, ':', f, sizeof f);
        if (bd_parse_dt(f, &o->dt)) return 1;
    }
    return r != NULL;
}

/* MASK, or MASK.TAG. */
static int parse_po_mask(char *f, bd_mask_t *m, char *tag) {
    char *dot = strchr(f, '.');
    if (dot) {
        *dot = 0;
        if (strlen(dot + 1) >= BD_TAG || !bd_tag_syntax(dot + 1)) return 1;
        strcpy(tag, dot + 1);
    }
    return parse_mask(f, m);
}

/* DT[.MASK1[.TAG1]][:MASK2[.TAG2]]; also DT:MASK1[.TAG1]:MASK2[.TAG2]. A condition without mask is as large as
 * dst. */
static int parse_po_select(const char *r, bd_post_op_t *o) {
    char f[2 * BD_TAG];
    r = bd_cut(r, ':', f, sizeof f);
    char *dot = strchr(f, '.');
    if (dot) {
        *dot = 0;
        if (parse_po_mask(dot + 1, &o->mask, o->tag)) return 1;
    }
    if (bd_parse_dt(f, &o->dt)) return 1;
    o->mask2.policy = BD_POLICY_FULL;
    if (r && !dot && strchr(r, ':')) {
        r = bd_cut(r, ':', f, sizeof f);
        if (parse_po_mask(f, &o->mask, o->tag)) return 1;
    }
    if (r) {
        r = bd_cut(r, ':', f, sizeof f);
        if (parse_po_mask(f, &o->mask2, o->tag2)) return 1;
    }
    return r != NULL;
}

static int parse_po_strides(const char *f, bd_post_op_t *o) {
    int64_t d[BD_MAX_NDIMS];
    if (bd_parse_dims(f, d) < 0 || strlen(f) >= sizeof o->text) return 1;
    strcpy(o->text, f);
    return 0;
}

/* DT[:MASK[.TAG][:TAG][:STRIDES]] */
static int parse_po_binary(const char *r, bd_post_op_t *o) {
    char f[2 * BD_TAG];
    o->kind = BD_PO_BINARY;
    strcpy(o->tag, "any");
    strcpy(o->tag2, "any");
    if (!r) return 1;
    if (o->alg == dnnl_tp_binary_select) return parse_po_select(r, o);
    r = bd_cut(r, ':', f, sizeof f);
    if (bd_parse_dt(f, &o->dt)) return 1;
    if (r) {
        r = bd_cut(r, ':', f, sizeof f);
        if (parse_po_mask(f, &o->mask, o->tag)) return 1;
    }
    if (r) {
        r = bd_cut(r, ':', f, sizeof f);
        if (isdigit((unsigned char)*f)) return parse_po_strides(f, o) || r;
        if (strlen(f) >= BD_TAG || !(bd_tag_syntax(f) || bd_tag_is(f, "grouped"))) return 1;
        strcpy(o->tag, f);
    }
    if (r) {
        r = bd_cut(r, ':', f, sizeof f);
        if (parse_po_strides(f, o)) return 1;
    }
    return r != NULL;
}

static int parse_po(const char *s, bd_post_op_t *o) {
    char name[48];
    const char *r = bd_cut(s, ':', name, sizeof name);
    memset(o, 0, sizeof *o);
    if (!strcasecmp(name, "sum")) return parse_po_sum(r, o);
    if (!strcasecmp(name, "prelu")) {
        o->kind = BD_PO_PRELU;
        return r ? parse_mask(r, &o->mask) : 0;
    }
    if (!strcasecmp(name, "dw")) {
        o->kind = BD_PO_DW;
        if (!r || strlen(r) >= sizeof o->text) return 1;
        strcpy(o->text, r);
        return 0;
    }
    if (!bd_parse_binary_alg(name, &o->alg)) return parse_po_binary(r, o);
    if (bd_parse_eltwise_alg(name, &o->alg)) return 1;
    o->kind = BD_PO_ELTWISE;
    o->scale = 1;
    char f[32];
    if (r) {
        r = bd_cut(r, ':', f, sizeof f);
        if (bd_parse_float(f, &o->alpha)) return 1;
    }
    if (r) {
        r = bd_cut(r, ':', f, sizeof f);
        if (bd_parse_float(f, &o->beta)) return 1;
    }
    if (r) { /* a factor of the result */
        r = bd_cut(r, ':', f, sizeof f);
        if (bd_parse_float(f, &o->scale)) return 1;
    }
    return r != NULL;
}

int bd_attr_parse_post_ops(bd_attr_t *a, const char *s) {
    char entry[320];
    a->n_po = 0;
    if (!*s) return 0;
    while (s) {
        s = bd_cut(s, '+', entry, sizeof entry);
        bd_post_op_t *o = &a->po[a->n_po];
        if (a->n_po == BD_MAX_POST_OPS || parse_po(entry, o)) return 1;
        ++a->n_po;
        if (o->kind != BD_PO_ELTWISE || o->scale == 1) continue;
        /* The factor of an eltwise operation is an operation of its own. */
        if (a->n_po == BD_MAX_POST_OPS) return 1;
        a->po[a->n_po++] = (bd_post_op_t){
            .kind = BD_PO_ELTWISE, .alg = dnnl_tp_eltwise_linear, .alpha = o->scale, .scale = 1};
        o->scale = 1;
    }
    return 0;
}

static void print_po_binary(const bd_post_op_t *q, char *o, size_t n) {
    bool tag = strcmp(q->tag, "any") != 0, mask = tag || *q->text || !single_valued(&q->mask);
    bd_cat(o, n, "%s:%s", bd_alg_name(q->alg), bd_dt_name(q->dt));
    if (q->alg == dnnl_tp_binary_select) {
        if (mask) {
            bd_cat(o, n, ".");
            print_mask(&q->mask, o, n);
        }
        if (tag) bd_cat(o, n, ".%s", q->tag);
        if (q->mask2.policy == BD_POLICY_FULL) return;
        bd_cat(o, n, ":");
        print_mask(&q->mask2, o, n);
        if (strcmp(q->tag2, "any")) bd_cat(o, n, ".%s", q->tag2);
        return;
    }
    if (mask) {
        bd_cat(o, n, ":");
        print_mask(&q->mask, o, n);
    }
    if (tag) bd_cat(o, n, ":%s", q->tag);
    if (*q->text) bd_cat(o, n, ":%s", q->text);
}

void bd_attr_print_post_ops(const bd_attr_t *a, char *o, size_t n) {
    o[0] = 0;
    for (int i = 0; i < a->n_po; ++i) {
        const bd_post_op_t *q = &a->po[i];
        if (i) bd_cat(o, n, "+");
        switch (q->kind) {
        case BD_PO_SUM:
            bd_cat(o, n, "sum");
            if (q->scale != 1 || q->zero_point || q->dt) {
                bd_cat(o, n, ":");
                bd_print_float(o, n, q->scale);
            }
            if (q->zero_point || q->dt) bd_cat(o, n, ":%d", q->zero_point);
            if (q->dt) bd_cat(o, n, ":%s", bd_dt_name(q->dt));
            break;
        case BD_PO_ELTWISE:
            bd_cat(o, n, "%s", bd_alg_name(q->alg));
            if (q->alpha != 0 || q->beta != 0) {
                bd_cat(o, n, ":");
                bd_print_float(o, n, q->alpha);
            }
            if (q->beta != 0) {
                bd_cat(o, n, ":");
                bd_print_float(o, n, q->beta);
            }
            break;
        case BD_PO_BINARY: print_po_binary(q, o, n); break;
        case BD_PO_PRELU:
            bd_cat(o, n, "prelu");
            if (!single_valued(&q->mask)) {
                bd_cat(o, n, ":");
                print_mask(&q->mask, o, n);
            }
            break;
        case BD_PO_DW: bd_cat(o, n, "dw:%s", q->text); break;
        }
    }
}

bool bd_attr_has_sum(const bd_attr_t *a) {
    for (int i = 0; i < a->n_po; ++i)
        if (a->po[i].kind == BD_PO_SUM) return true;
    return false;
}

bool bd_attr_is_default(const bd_attr_t *a) {
    return !a->n_scales && !a->n_zps && !a->n_po && !a->scratchpad_user && !a->deterministic && !a->fpmath &&
           !a->acc && !*a->dropout && !*a->rounding && !*a->precomputed;
}

/* ---- tensors ----------------------------------------------------------------------------------------- */
static const char *add_quant(bd_prb_t *p, const bd_quant_t *q, int base, const char *name) {
    int at = bd_find_arg(p, q->arg);
    if (at < 0) return BD_SKIP_INVALID;
    if (q->mask.policy == BD_POLICY_MX || q->mask.policy == BD_POLICY_DYNAMIC_FP) return BD_SKIP_MX;
    const bd_tensor_t *t = &p->t[at];
    int mask = bd_attr_mask(p, &q->mask, q->arg, t->nd);
    if (mask >> t->nd) return BD_SKIP_INVALID;
    int64_t count = 1;
    for (int d = 0; d < t->nd; ++d) {
        int64_t g = q->group[0] && d >= t->nd - 2 ? q->group[d - (t->nd - 2)] : 1;
        if (g < 1 || t->d[d] % g) return BD_SKIP_INVALID;
        if (mask >> d & 1) count *= t->d[d] / g;
    }
    bd_tensor_t *n = bd_add_tensor(p, base | q->arg, name, 1, &count, q->dt, NULL, BD_IN | BD_ATTR);
    if (!n) return BD_SKIP_INVALID;
    n->rt = (t->rt & (unsigned)mask) != 0; /* as many as the problem has, not as the descriptor knows */
    return NULL;
}

/* A source of post-op i that broadcasts to dst. */
static const char *add_po_source(bd_prb_t *p, int i, int arg, const char *name, const bd_mask_t *m, int dt,
                                 const char *tag) {
    int64_t d[BD_MAX_NDIMS];
    const bd_tensor_t *t = &p->t[bd_find_arg(p, DNNL_TP_ARG_DST)];
    if (bd_tag_is(tag, "grouped")) return BD_SKIP_GROUPED;
    int mask = bd_attr_mask(p, m, DNNL_TP_ARG_DST, t->nd);
    if (mask >> t->nd) return BD_SKIP_INVALID;
    for (int k = 0; k < t->nd; ++k) d[k] = mask >> k & 1 ? t->d[k] : 1;
    arg |= DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i);
    bd_tensor_t *n = bd_add_tensor(p, arg, name, t->nd, d, dt, tag, BD_IN | BD_ATTR);
    if (!n) return BD_SKIP_INVALID;
    if (arg % DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP_BASE == DNNL_TP_ARG_WEIGHTS) n->rt = t->rt & (unsigned)mask;
    return NULL;
}

static const char *add_post_op(bd_prb_t *p, int i) {
    const bd_post_op_t *q = &p->attr.po[i];
    const char *skip;
    int dst_dt = p->t[bd_find_arg(p, DNNL_TP_ARG_DST)].dt;
    switch (q->kind) {
    case BD_PO_ELTWISE: return NULL;
    case BD_PO_DW: return BD_SKIP_INVALID;
    case BD_PO_SUM:
        if (dnnl_tp_data_type_size((dnnl_tp_data_type_t)(q->dt ? q->dt : dst_dt)) !=
            dnnl_tp_data_type_size((dnnl_tp_data_type_t)dst_dt))
            return BD_SKIP_INVALID;
        return NULL;
    case BD_PO_PRELU:
        if (p->drv->kind != dnnl_tp_matmul && p->drv->kind != dnnl_tp_inner_product &&
            p->drv->kind != dnnl_tp_convolution && p->drv->kind != dnnl_tp_deconvolution)
            return BD_SKIP_UNSUPPORTED;
        return add_po_source(p, i, DNNL_TP_ARG_WEIGHTS, "po_wei", &q->mask, dnnl_tp_f32, NULL);
    case BD_PO_BINARY: break;
    }
    skip = add_po_source(p, i, DNNL_TP_ARG_SRC_1, "po_src1", &q->mask, q->dt, *q->text ? NULL : q->tag);
    if (!skip && q->alg == dnnl_tp_binary_select)
        skip = add_po_source(p, i, DNNL_TP_ARG_SRC_2, "po_src2", &q->mask2, dnnl_tp_s8, q->tag2);
    return skip;
}

const char *bd_attr_tensors(bd_prb_t *p) {
    const bd_attr_t *a = &p->attr;
    const char *skip;
    if (*a->dropout) return BD_SKIP_DROPOUT;
    if (*a->rounding) return BD_SKIP_ROUNDING;
    if (*a->precomputed) return BD_SKIP_PRECOMPUTED;
    for (int i = 0; i < a->n_scales; ++i)
        if ((skip = add_quant(p, &a->scales[i], DNNL_TP_ARG_ATTR_SCALES, "scales"))) return skip;
    for (int i = 0; i < a->n_zps; ++i)
        if ((skip = add_quant(p, &a->zps[i], DNNL_TP_ARG_ATTR_ZERO_POINTS, "zero_points"))) return skip;
    for (int i = 0; i < a->n_po; ++i)
        if ((skip = add_post_op(p, i))) return skip;
    return NULL;
}

/* ---- API objects ------------------------------------------------------------------------------------- */
#define TRY(e)                                       \
    do {                                             \
        if ((st = (e)) != dnnl_tp_success) goto end; \
    } while (0)

static dnnl_tp_status_t set_quants(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_primitive_attr_t attr,
                                   const bd_quant_t *q, int n, bool zp) {
    for (int i = 0; i < n; ++i, ++q) {
        int at = bd_find_arg(p, q->arg), mask = bd_attr_mask(p, &q->mask, q->arg, p->t[at].nd);
        bool plain = q->dt == (zp ? (int)dnnl_tp_s32 : (int)dnnl_tp_f32) && !q->group[0];
        dnnl_tp_dims_t g = {q->group[0], q->group[1]};
        dnnl_tp_status_t st;
        if (plain) {
            st = zp ? api->primitive_attr_set_zero_points_mask(attr, q->arg, mask)
                    : api->primitive_attr_set_scales_mask(attr, q->arg, mask);
        } else {
            if (!(zp ? (void *)api->primitive_attr_set_zero_points : (void *)api->primitive_attr_set_scales))
                return dnnl_tp_unimplemented;
            st = zp ? api->primitive_attr_set_zero_points(attr, q->arg, mask, q->group[0] ? 2 : 0, g,
                                                          (dnnl_tp_data_type_t)q->dt)
                    : api->primitive_attr_set_scales(attr, q->arg, mask, q->group[0] ? 2 : 0, g,
                                                     (dnnl_tp_data_type_t)q->dt);
        }
        if (st != dnnl_tp_success) return st;
    }
    return dnnl_tp_success;
}

static dnnl_tp_status_t append_binary(const bd_prb_t *p, const bd_api_t *api, dnnl_tp_post_ops_t po,
                                      const bd_post_op_t *q, int i) {
    dnnl_tp_memory_desc_t md[2] = {NULL, NULL};
    dnnl_tp_status_t st = dnnl_tp_success;
    bool sel = q->alg == dnnl_tp_binary_select;
    if (sel && !api->post_ops_append_binary_v2) return dnnl_tp_unimplemented;
    for (int s = 0; s < (sel ? 2 : 1) && st == dnnl_tp_success; ++s) {
        int at = bd_find_arg(p, DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i) |
                                    (s ? DNNL_TP_ARG_SRC_2 : DNNL_TP_ARG_SRC_1));
        const bd_tensor_t *t = &p->t[at];
        bd_tensor_t with = *t;
        int64_t strides[BD_MAX_NDIMS];
        if (*q->text && bd_parse_dims(q->text, strides) == t->nd) with.strides = strides;
        st = bd_md_create(api, &with, false, &md[s]);
    }
    if (st == dnnl_tp_success)
        st = sel ? api->post_ops_append_binary_v2(po, (dnnl_tp_alg_kind_t)q->alg, md[0], md[1])
                 : api->post_ops_append_binary(po, (dnnl_tp_alg_kind_t)q->alg, md[0]);
    for (int s = 0; s < 2; ++s)
        if (md[s]) api->memory_desc_destroy(md[s]);
    return st;
}

dnnl_tp_status_t bd_attr_create(const bd_prb_t *p, const bd_api_t *api, int num_threads,
                                dnnl_tp_primitive_attr_t *out) {
    const bd_attr_t *a = &p->attr;
    dnnl_tp_primitive_attr_t attr = NULL;
    dnnl_tp_post_ops_t po = NULL;
    dnnl_tp_status_t st;
    *out = NULL;
    if (*a->dropout || *a->rounding || *a->precomputed) return dnnl_tp_unimplemented;
    TRY(api->primitive_attr_create(&attr));
    TRY(set_quants(p, api, attr, a->scales, a->n_scales, false));
    TRY(set_quants(p, api, attr, a->zps, a->n_zps, true));
    if (a->scratchpad_user) TRY(api->primitive_attr_set_scratchpad_mode(attr, dnnl_tp_scratchpad_mode_user));
    if (a->fpmath_int) {
        TRY(api->primitive_attr_set_fpmath_mode_v2
                ? api->primitive_attr_set_fpmath_mode_v2(attr, (dnnl_tp_fpmath_mode_t)a->fpmath, 1)
                : dnnl_tp_unimplemented);
    } else if (a->fpmath) {
        TRY(api->primitive_attr_set_fpmath_mode(attr, (dnnl_tp_fpmath_mode_t)a->fpmath));
    }
    if (a->acc)
        TRY(api->primitive_attr_set_accumulation_mode
                ? api->primitive_attr_set_accumulation_mode(attr, (dnnl_tp_accumulation_mode_t)a->acc)
                : dnnl_tp_unimplemented);
    if (a->deterministic && api->primitive_attr_set_deterministic)
        TRY(api->primitive_attr_set_deterministic(attr, 1));
    if (!api->is_peer && num_threads) TRY(dnnl_tp_primitive_attr_set_num_threads(attr, num_threads));
    if (a->n_po) {
        TRY(api->post_ops_create(&po));
        for (int i = 0; i < a->n_po; ++i) {
            const bd_post_op_t *q = &a->po[i];
            switch (q->kind) {
            case BD_PO_SUM:
                TRY(api->post_ops_append_sum(po, q->scale, q->zero_point, (dnnl_tp_data_type_t)q->dt));
                break;
            case BD_PO_ELTWISE:
                TRY(api->post_ops_append_eltwise(po, (dnnl_tp_alg_kind_t)q->alg, q->alpha, q->beta));
                break;
            case BD_PO_BINARY: TRY(append_binary(p, api, po, q, i)); break;
            case BD_PO_PRELU:
                TRY(api->post_ops_append_prelu
                        ? api->post_ops_append_prelu(po,
                                                     bd_attr_mask(p, &q->mask, DNNL_TP_ARG_DST,
                                                                  p->t[bd_find_arg(p, DNNL_TP_ARG_DST)].nd))
                        : dnnl_tp_unimplemented);
                break;
            default: TRY(dnnl_tp_unimplemented);
            }
        }
        TRY(api->primitive_attr_set_post_ops(attr, po));
    }
end:
    if (po) api->post_ops_destroy(po);
    if (st != dnnl_tp_success && attr) api->primitive_attr_destroy(attr);
    else *out = attr;
    return st;
}
