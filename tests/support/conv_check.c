/* See conv_check.h. */
#include "support/conv_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/upload.h"

#define F32 dnnl_tp_f32
dnnl_tp_data_type_t conv_type = F32;

static int64_t groups_of(const conv_case_t *c) { return c->groups ? c->groups : 1; }

static void dst_dims(const conv_kind_t *kind, const conv_case_t *c, int64_t dims[5]) {
    dims[0] = c->n;
    dims[1] = groups_of(c) * c->oc;
    for (int s = 0; s < c->ns; ++s) dims[2 + s] = kind->dst_size(c, s);
}

static void make_md(dtp_md_t *md, int nd, const int64_t *dims, dnnl_tp_data_type_t dt, const char *layout) {
    if (layout) CHECK_OK(dtp_md_init_layout(md, nd, dims, dt ? dt : conv_type, layout));
    else CHECK_OK(dtp_md_init_tag(md, nd, dims, dt ? dt : conv_type, dnnl_tp_format_tag_any));
}

static dnnl_tp_status_t make_pd(const conv_kind_t *kind, const conv_case_t *c, const conv_data_t *d,
                                dnnl_tp_engine_t engine, dnnl_tp_primitive_desc_t *pd) {
    const int nd = c->ns + 2, grouped = c->groups > 0;
    const int64_t g = groups_of(c);
    int64_t src[5] = {c->n, g * c->ic}, wei[6] = {g, c->oc, c->ic}, dst[5];
    for (int i = 0; i < c->ns; ++i) src[2 + i] = c->in[i], wei[3 + i] = c->ker[i];
    dst_dims(kind, c, dst);
    dtp_md_t smd, wmd, bmd, dmd;
    make_md(&smd, nd, src, c->sdt, c->src);
    make_md(&wmd, nd + grouped, wei + !grouped, c->wdt, c->wei);
    make_md(&bmd, 1, &dst[1], c->bdt ? c->bdt : F32, NULL);
    make_md(&dmd, nd, dst, c->ddt, c->dst);
    return kind->create(pd, engine, dnnl_tp_forward_inference, kind->alg, &smd, &wmd, c->bias ? &bmd : NULL,
                        &dmd, c->stride, c->dil, c->left, c->right, d->attr);
}

static void make_chain(const conv_kind_t *kind, const conv_case_t *c, conv_data_t *d) {
    dnnl_tp_post_ops_t po;
    dnnl_tp_dims_t dims;
    CHECK_OK(dnnl_tp_primitive_attr_create(&d->attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    for (d->nsteps = 0; d->nsteps < MAX_STEPS && c->chain[d->nsteps]; ++d->nsteps) {
        tensor_t *t = &d->step[d->nsteps];
        const step_t s = c->chain[d->nsteps];
        dst_dims(kind, c, dims);
        if (s == ADD_CHANNEL || s == MUL_CHANNEL || s == PRELU)
            for (int i = 0; i < c->ns + 2; ++i) dims[i] = i == 1 ? dims[i] : 1;
        if (s == ADD_PIXEL) dims[1] = 1;
        if (s == ADD)
            tensor_layout(t, c->ns + 2, dims, conv_type,
                          c->dst ? c->dst : (const char *[]){"acb", "acdb", "acdeb"}[c->ns - 1]);
        else if (s >= ADD_CHANNEL)
            tensor_layout(t, c->ns + 2, dims, F32, (const char *[]){"abc", "abcd", "abcde"}[c->ns - 1]);
        if (s == RELU) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.f, 0.f));
        else if (s == LEAKY) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0.5f, 0.f));
        else if (s == CLIP) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_clip, -2.f, 6.f));
        else if (s == TANH) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_tanh, 0.f, 0.f));
        else if (s == SUM || s == SUM_HALF)
            CHECK_OK(dnnl_tp_post_ops_append_sum(po, s == SUM ? 1.f : 0.5f, 0, dnnl_tp_data_type_undef));
        else if (s == PRELU) CHECK_OK(dnnl_tp_post_ops_append_prelu(po, 2));
        else
            CHECK_OK(dnnl_tp_post_ops_append_binary(
                po, s == MUL_CHANNEL ? dnnl_tp_binary_mul : dnnl_tp_binary_add, &t->md));
    }
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(d->attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
}

static double chain(const conv_case_t *c, const conv_data_t *d, const int64_t *pos, double x) {
    for (int i = 0; i < d->nsteps; ++i) {
        const double y = c->chain[i] >= ADD ? tensor_get_bcast(&d->step[i], pos) : 0;
        switch (c->chain[i]) {
        case RELU: x = x < 0 ? 0 : x; break;
        case LEAKY: x = x < 0 ? 0.5 * x : x; break;
        case CLIP: x = fmin(fmax(x, -2), 6); break;
        case TANH: x = tanh(x); break;
        case SUM: x += tensor_get(&d->old, pos); break;
        case SUM_HALF: x += 0.5 * tensor_get(&d->old, pos); break;
        case MUL_CHANNEL: x *= y; break;
        case PRELU: x = x < 0 ? x * y : x; break;
        default: x += y;
        }
    }
    return x;
}

void conv_compare(const conv_case_t *c, const conv_data_t *d, const double *want, const char *place) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0}, k = 0;
    bool real = false;
    for (int i = 0; i < d->nsteps; ++i) real |= c->chain[i] == TANH;
    if (dtp_md_nelems(&d->dst.md) == 0) return;
    do {
        const double got = tensor_get(&d->dst, pos), w = want[k++];
        /* tanh is within 2.4 ulp, and may be multiplied and added to. */
        if (!rounds_near(d->dst.md.data_type, got, w, real ? 2e-6 + 1e-7 * fabs(w) : 0))
            fail_msg("%s: %dD n%lld g%lld ic%lld oc%lld in %lldx%lldx%lld kernel %lldx%lldx%lld stride %lld "
                     "dilation %lld: at %lld,%lld,%lld,%lld got %.9g, want %.9g",
                     place, c->ns, (long long)c->n, (long long)c->groups, (long long)c->ic, (long long)c->oc,
                     (long long)c->in[0], (long long)c->in[1], (long long)c->in[2], (long long)c->ker[0],
                     (long long)c->ker[1], (long long)c->ker[2], (long long)c->stride[0],
                     (long long)c->dil[0], (long long)pos[0], (long long)pos[1], (long long)pos[2],
                     (long long)pos[3], got, w);
    } while (tensor_next(&d->dst.md, pos));
}

double *conv_expected(const conv_kind_t *kind, const conv_case_t *c, const conv_data_t *d) {
    double *want = calloc((size_t)(dtp_md_nelems(&d->dst.md) + 1), sizeof *want);
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0}, k = 0;
    assert_non_null(want);
    if (dtp_md_nelems(&d->dst.md) == 0) return want;
    kind->sums(c, d, want);
    do {
        want[k] = chain(c, d, pos, want[k]);
        ++k;
    } while (tensor_next(&d->dst.md, pos));
    return want;
}

/* The same values in another layout: what any becomes depends on the instruction set. */
static void lay_out(tensor_t *t, const dtp_md_t *md, test_rng_t *r) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    tensor_t to;
    if (dtp_md_equal(&t->md, md) || dtp_md_nelems(md) == 0) return;
    tensor_init(&to, md);
    tensor_fill(&to, r, 0.f, 0.f, true); /* the padding, too */
    do tensor_set(&to, pos, tensor_get(t, pos));
    while (tensor_next(md, pos));
    tensor_free(t);
    *t = to;
}

/* An engine that has a memory of its own runs by an interpreter: of what sums many products, one of a few cases. */
static bool is_left_out(const conv_case_t *c, uint64_t stream) {
    const double few = 4e4, many = 3e6;
    double products = (double)(c->n * (c->groups ? c->groups : 1) * c->ic * c->oc);
    for (int s = 0; s < c->ns; ++s) products *= (double)(c->in[s] * c->ker[s]);
    return test_engine_kind() == dnnl_tp_gpu && products > few && (products > many || stream % 9);
}

void conv_run(const conv_kind_t *kind, conv_case_t c, uint64_t stream) {
    test_rng_t r = test_rng(stream);
    conv_data_t d;
    memset(&d, 0, sizeof d);
    for (int i = 0; i < c.ns; ++i) {
        if (!c.stride[i]) c.stride[i] = 1;
        if (!c.ker[i]) c.ker[i] = 1;
    }
    if (is_left_out(&c, stream)) return;
    make_chain(kind, &c, &d);
    double *want = NULL;
    int n;
    const place_t *at = places(&n);
    unsigned char *first = NULL;
    for (int p = 0; p < n; ++p) {
        dnnl_tp_primitive_desc_t pd;
        if (!has_impl(at[p].engine, make_pd(kind, &c, &d, at[p].engine, &pd))) continue;
        check_impl(pd, c.impl ? c.impl : kind->impl(&c), kind->name);
        if (p == 0) {
            tensor_init(&d.src, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_src_md, 0));
            tensor_init(&d.wei, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0));
            tensor_init(&d.dst, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_dst_md, 0));
            tensor_init(&d.old, &d.dst.md);
            if (c.bias) tensor_init(&d.bia, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 1));
            tensor_fill(&d.src, &r, c.sdt == dnnl_tp_u8 ? 0.f : -3.f, 3.f, true);
            tensor_fill(&d.wei, &r, -2.f, 2.f, true);
            tensor_fill(&d.old, &r, c.ddt == dnnl_tp_u8 ? 0.f : -5.f, 5.f, true);
            if (c.bias) tensor_fill(&d.bia, &r, -4.f, 4.f, true);
            for (int i = 0; i < d.nsteps; ++i)
                if (d.step[i].data) tensor_fill(&d.step[i], &r, -3.f, 3.f, true);
            want = conv_expected(kind, &c, &d);
        }
        lay_out(&d.wei, dnnl_tp_primitive_desc_query_md(pd, dnnl_tp_query_weights_md, 0), &r);
        memcpy(d.dst.data, d.old.data, d.dst.bytes);
        dnnl_tp_exec_handle_t args[4 + MAX_STEPS] = {
            {DNNL_TP_ARG_SRC, d.src.data}, {DNNL_TP_ARG_WEIGHTS, d.wei.data}, {DNNL_TP_ARG_DST, d.dst.data}};
        int nargs = 3;
        if (c.bias) args[nargs++] = (dnnl_tp_exec_handle_t){DNNL_TP_ARG_BIAS, d.bia.data};
        for (int i = 0; i < d.nsteps; ++i)
            if (d.step[i].data)
                args[nargs++] = (dnnl_tp_exec_handle_t){
                    DNNL_TP_ARG_ATTR_MULTIPLE_POST_OP(i) |
                        (c.chain[i] == PRELU ? DNNL_TP_ARG_WEIGHTS : DNNL_TP_ARG_SRC_1),
                    d.step[i].data};
        CHECK_OK(run_pd(&at[p], pd, nargs, args));
        if (dtp_md_nelems(&d.dst.md)) tensor_check(&d.dst, at[p].name);
        if (at[p].threads == 1) conv_compare(&c, &d, want, at[p].name);
        check_same_bits(&at[p], &d.dst, &first, kind->name);
    }
    free(first);
    free(want);
    tensor_free(&d.src);
    tensor_free(&d.wei);
    tensor_free(&d.dst);
    tensor_free(&d.old);
    if (c.bias) tensor_free(&d.bia);
    for (int i = 0; i < d.nsteps; ++i)
        if (d.step[i].data) tensor_free(&d.step[i]);
    CHECK_OK(dnnl_tp_primitive_attr_destroy(d.attr));
}
