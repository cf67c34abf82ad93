/* Reference of steps of LSTM, GRU and RNN: one unit after the other in double. */
#include <math.h>

#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/recurrent.h"

static dnnl_tp_status_t recurrent_ref_pd_init(dtp_pd_t *pd) {
    dtp_recurrent_desc_t *d = (dtp_recurrent_desc_t *)pd->op;
    dtp_md_t *const md[] = {&d->src,  &d->wei, &d->h,      &d->c,     &d->bia,
                            &d->peep, &d->dst, &d->last_h, &d->last_c};
    for (size_t i = 0; i < sizeof md / sizeof *md; ++i) {
        if (dtp_md_is_zero(md[i])) continue;
        if (dtp_md_is_any(md[i])) dtp_md_make_plain(md[i]);
        DTP_DISPATCH(md[i]->data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
        DTP_DISPATCH(dtp_md_is_dense_row_major(md[i]) && md[i]->offset0 == 0, UNSUPPORTED_LAYOUT);
    }
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    dtp_pd_book(pd, sizeof(float) * (size_t)d->dst.dims[2], 0);
    return dnnl_tp_success;
}

typedef struct {
    int64_t n;              /* hidden units */
    const float *x, *r, *h; /* of a sequence: {G, n}, {G, n, n}, {n} */
} row_t;

/* Part g of unit u: the product of r with h alone, and with x. */
static double product(const row_t *a, const float *h, int64_t g, int64_t u) {
    double sum = 0;
    for (int64_t k = 0; k < a->n; ++k) sum += (double)a->r[(g * a->n + u) * a->n + k] * (double)h[k];
    return sum;
}
static double part(const row_t *a, int64_t g, int64_t u) {
    return (double)a->x[g * a->n + u] + product(a, a->h, g, u);
}
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* peep: {3, n} or NULL. */
static void lstm_row(const row_t *a, const float *peep, float *c, float *y) {
    enum { I, O, F, G };
    for (int64_t u = 0; u < a->n; ++u) {
        const double was = (double)c[u],
                     p[] = {peep ? (double)peep[I * a->n + u] : 0, peep ? (double)peep[O * a->n + u] : 0,
                            peep ? (double)peep[F * a->n + u] : 0};
        const double now = sigmoid(part(a, F, u) + p[F] * was) * was +
                           sigmoid(part(a, I, u) + p[I] * was) * tanh(part(a, G, u));
        c[u] = (float)now;
        y[u] = (float)(sigmoid(part(a, O, u) + p[O] * now) * tanh(now));
    }
}

static void gru_row(const row_t *a, const float *bias, float *wh, float *y) {
    enum { Z, W, Y };
    for (int64_t u = 0; !bias && u < a->n; ++u) wh[u] = (float)(sigmoid(part(a, W, u)) * (double)a->h[u]);
    for (int64_t u = 0; u < a->n; ++u) {
        const double z = sigmoid(part(a, Z, u)), x = (double)a->x[Y * a->n + u];
        const double s =
            bias ? sigmoid(part(a, W, u)) * (product(a, a->h, Y, u) + (double)bias[u]) : product(a, wh, Y, u);
        y[u] = (float)((1 - z) * tanh(x + s) + z * (double)a->h[u]);
    }
}

static dnnl_tp_status_t recurrent_ref_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const dtp_recurrent_desc_t *d = (const dtp_recurrent_desc_t *)pd->op;
    const int64_t steps = d->dst.dims[0], batch = d->dst.dims[1], n = d->dst.dims[2], state = batch * n,
                  gates = d->wei.dims[0];
    const size_t bytes = sizeof(float) * (size_t)state;
    const float *h = ctx->ptr[DTP_RECURRENT_H], *x = ctx->ptr[DTP_RECURRENT_SRC];
    float *y = ctx->ptr[DTP_RECURRENT_DST], *c = ctx->ptr[DTP_RECURRENT_LAST_C];
    if (state == 0) return dnnl_tp_success;
    if (d->cell == DTP_CELL_LSTM) memcpy(c, ctx->ptr[DTP_RECURRENT_C], bytes);
    for (int64_t k = 0; k < steps; ++k) {
        const int64_t t = d->reverse ? steps - 1 - k : k;
        float *to = y + t * state;
        for (int64_t b = 0; b < batch; ++b) {
            const row_t a = {n, x + (t * batch + b) * gates * n, ctx->ptr[DTP_RECURRENT_WEI], h + b * n};
            if (d->cell == DTP_CELL_LSTM) lstm_row(&a, ctx->ptr[DTP_RECURRENT_PEEP], c + b * n, to + b * n);
            else if (d->cell == DTP_CELL_GRU)
                gru_row(&a, ctx->ptr[DTP_RECURRENT_BIA], (float *)(void *)ctx->scratch, to + b * n);
            else
                for (int64_t u = 0; u < n; ++u) to[b * n + u] = (float)tanh(part(&a, 0, u));
        }
        h = to;
    }
    memcpy(ctx->ptr[DTP_RECURRENT_LAST_H], h, bytes);
    return dnnl_tp_success;
}

DTP_CPU_REFERENCE(recurrent, 0, .pd_init = recurrent_ref_pd_init, .execute = recurrent_ref_execute);
