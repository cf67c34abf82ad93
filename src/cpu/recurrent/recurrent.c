/* Steps of LSTM, GRU and RNN: sequences are shared among threads, each with all its steps; where there are two
 * threads or more for each sequence, they share the hidden units of each step if a step is worth it. Weights
 * are packed by panels of hidden units, once where they are constants, otherwise by each run. */
#include "common/primitive/primitive_desc.h"
#include "common/problems/graph/recurrent.h"
#include "cpu/recurrent/recurrent_kern.h"
#include "threading/base/parallel.h"

typedef struct {
    const dtp_recurrent_kernels_t *kernels;
    int64_t steps, batch, hidden, gates, panels;
    int64_t block, blocks; /* sequences of one item, items */
    int64_t chunk;         /* steps between two looks at the end of the run */
    double item_ns;
    int64_t panel_grain; /* of a step of all sequences */
    size_t packed;       /* bytes of scratch for weights; 0: they are packed */
    bool shares_panels, has_room;
} plan_t;

static dnnl_tp_status_t resolve_weights(dtp_recurrent_desc_t *d, plan_t *p) {
    dtp_md_t packed;
    const char *layout = p->kernels->lanes == 16 ? "Bca16b" : p->kernels->lanes == 8 ? "Bca8b" : "bca";
    DTP_TRY(dtp_md_init_layout(&packed, d->wei.ndims, d->wei.dims, dnnl_tp_f32, layout));
    if (dtp_md_is_any(&d->wei)) d->wei = packed;
    if (dtp_md_equal(&d->wei, &packed)) return dnnl_tp_success;
    DTP_DISPATCH(dtp_md_is_dense_row_major(&d->wei), UNSUPPORTED_LAYOUT);
    p->packed = sizeof(float) * (size_t)(p->panels * p->hidden * p->gates * p->kernels->lanes);
    return dnnl_tp_success;
}

static dnnl_tp_status_t recurrent_init(dtp_pd_t *pd) {
    dtp_recurrent_desc_t *d = (dtp_recurrent_desc_t *)pd->op;
    plan_t *p = pd->plan;
    const dtp_md_t *const md[] = {&d->src, &d->h, &d->c, &d->bia, &d->peep, &d->dst, &d->last_h, &d->last_c};
    for (size_t i = 0; i < sizeof md / sizeof *md; ++i) {
        if (dtp_md_is_zero(md[i])) continue;
        DTP_DISPATCH(md[i]->data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
        DTP_DISPATCH(dtp_md_is_dense_row_major(md[i]) && md[i]->offset0 == 0, UNSUPPORTED_LAYOUT);
    }
    DTP_DISPATCH(d->wei.data_type == dnnl_tp_f32, UNSUPPORTED_DATA_TYPE);
    DTP_DISPATCH(dtp_attr_only(pd->attr, 0), UNSUPPORTED_ATTR);
    p->kernels = DTP_BY_ISA(dtp_pd_isa(pd), &dtp_recurrent_kernels, &dtp_recurrent_kernels__portable);
    p->steps = d->dst.dims[0];
    p->batch = d->dst.dims[1];
    p->hidden = d->dst.dims[2];
    p->gates = d->wei.dims[0];
    p->panels = dtp_div_up(p->hidden, p->kernels->lanes);
    DTP_TRY(resolve_weights(d, p));
    p->has_room = d->cell == DTP_CELL_GRU && dtp_md_is_zero(&d->bia);
    const double panel_ns = 20 + .4 * (double)(p->gates * p->hidden); /* of a row */
    const double row_ns = panel_ns * (double)p->panels, look_ns = 50e3;
    p->block = dtp_max64(1, dtp_div_up(p->batch, pd->num_threads));
    p->blocks = dtp_div_up(p->batch, p->block);
    p->panel_grain = dtp_grain(panel_ns * (double)p->batch);
    p->shares_panels =
        !p->has_room && p->batch <= pd->num_threads / 2 && p->panels / p->panel_grain >= 2 * p->batch;
    p->item_ns = row_ns * (double)(p->block * p->steps);
    p->chunk = dtp_max64(1, (int64_t)(look_ns / (row_ns * (double)p->block)));
    const int64_t room = p->has_room ? 2 * p->batch * p->hidden : 0;
    dtp_pd_book(pd, dtp_round_up_size(p->packed, DTP_CACHE_LINE) + sizeof(float) * (size_t)room, 0);
    return dnnl_tp_success;
}

/* r {gates, hidden, hidden} as {panels, hidden, gates, lanes}. */
static void pack(const plan_t *p, const float *r, float *to) {
    const int64_t n = p->hidden, lanes = p->kernels->lanes;
    for (int64_t panel = 0; panel < p->panels; ++panel)
        for (int64_t k = 0; k < n; ++k)
            for (int64_t g = 0; g < p->gates; ++g)
                for (int64_t l = 0; l < lanes; ++l) {
                    const int64_t unit = panel * lanes + l;
                    *to++ = unit < n ? r[(g * n + unit) * n + k] : 0.f;
                }
}

typedef struct {
    const plan_t *p;
    const dtp_parallel_t *par;
    dtp_recurrent_fn_t *fn;
    dtp_recurrent_steps_t all; /* of all sequences; room: of all */
} job_t;

/* Items are blocks of sequences. */
static void sequences(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    const plan_t *p = j->p;
    (void)slot;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i * p->block;
        dtp_recurrent_steps_t a = j->all;
        a.rows = dtp_min64(p->block, p->batch - row);
        a.x += row * p->gates * p->hidden;
        a.h += row * p->hidden;
        a.y += row * p->hidden;
        if (a.c) a.c += row * p->hidden;
        if (a.room) a.room += 2 * row * p->hidden;
        for (int64_t t = 0; t < p->steps && !dtp_parallel_over(j->par); t += a.steps) {
            a.steps = dtp_min64(p->chunk, p->steps - t);
            j->fn(&a);
            a.x += a.steps * a.x_step;
            a.h = a.y + (a.steps - 1) * a.y_step;
            a.y += a.steps * a.y_step;
        }
    }
}

/* Items are panels of one step. */
static void panels(void *arg, int slot, int64_t begin, int64_t end) {
    const job_t *j = arg;
    (void)slot;
    dtp_recurrent_steps_t a = j->all;
    a.first = begin;
    a.end = end;
    j->fn(&a);
}

static void step_by_step(job_t *j) {
    const plan_t *p = j->p;
    dtp_recurrent_steps_t *a = &j->all;
    a->steps = 1;
    for (int64_t t = 0; t < p->steps && !dtp_parallel_over(j->par); ++t) {
        dtp_parallel_for(j->par, p->panels, p->panel_grain, panels, j);
        a->x += a->x_step;
        a->h = a->y;
        a->y += a->y_step;
    }
}

static dnnl_tp_status_t recurrent_execute(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx) {
    const plan_t *p = pd->plan;
    const dtp_recurrent_desc_t *d = (const dtp_recurrent_desc_t *)pd->op;
    const int64_t state = p->batch * p->hidden;
    const size_t bytes = sizeof(float) * (size_t)state;
    float *const dst = ctx->ptr[DTP_RECURRENT_DST], *const last_c = ctx->ptr[DTP_RECURRENT_LAST_C];
    const float *r = ctx->ptr[DTP_RECURRENT_WEI];
    if (state == 0) return dnnl_tp_success;
    if (p->packed && p->steps) {
        pack(p, r, (float *)(void *)ctx->scratch);
        r = (const float *)(const void *)ctx->scratch;
    }
    const int64_t sign = d->reverse ? -1 : 1, first = d->reverse ? dtp_max64(p->steps - 1, 0) : 0;
    char *room = ctx->scratch + dtp_round_up_size(p->packed, DTP_CACHE_LINE);
    job_t j = {p,
               ctx->par,
               d->cell == DTP_CELL_LSTM  ? p->kernels->lstm
               : d->cell == DTP_CELL_GRU ? p->kernels->gru
                                         : p->kernels->rnn,
               {.x = (const float *)ctx->ptr[DTP_RECURRENT_SRC] + first * state * p->gates,
                .r = r,
                .bias = ctx->ptr[DTP_RECURRENT_BIA],
                .peep = ctx->ptr[DTP_RECURRENT_PEEP],
                .h = ctx->ptr[DTP_RECURRENT_H],
                .y = dst + first * state,
                .c = last_c,
                .room = p->has_room ? (float *)(void *)room : NULL,
                .x_step = sign * state * p->gates,
                .y_step = sign * state,
                .rows = p->batch,
                .hidden = p->hidden,
                .end = p->panels}};
    if (last_c) memcpy(last_c, ctx->ptr[DTP_RECURRENT_C], bytes);
    if (p->shares_panels) step_by_step(&j);
    else dtp_parallel_for(ctx->par, p->blocks, p->blocks > 1 ? -(int64_t)p->item_ns - 1 : 1, sequences, &j);
    const int64_t last = d->reverse ? 0 : p->steps - 1;
    memcpy(ctx->ptr[DTP_RECURRENT_LAST_H],
           p->steps ? dst + last * state : (const float *)ctx->ptr[DTP_RECURRENT_H], bytes);
    return dnnl_tp_success;
}

DTP_CPU_IMPLS_AND_ANY(recurrent, "panels", .plan_size = sizeof(plan_t), .pd_init = recurrent_init,
                      .execute = recurrent_execute);
