/* What happens to one problem: skip rules, creation, data, execution, judgement, report. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/compare.h"
#include "common/perf.h"
#include "common/side.h"

/* Where a problem ended. */
typedef struct {
    bd_state_t state;
    const char *reason;
    char text[256];
    long errors, total;
    char impl[128];
} end_t;

static void end_status(end_t *e, dnnl_tp_status_t st, const bd_side_t *s, const bd_api_t *api) {
    e->state = st == dnnl_tp_unimplemented       ? BD_UNIMPLEMENTED
               : st == dnnl_tp_invalid_arguments ? BD_INVALID_ARGUMENTS
                                                 : BD_FAILED;
    if (st != dnnl_tp_unimplemented || bd.verbose)
        printf("Error: Function '%s' returned '%s'%s%s\n", s->what ? s->what : "?", api->status2str(st),
               api->is_peer ? "" : ": ", api->is_peer ? "" : dnnl_tp_last_error());
}

static void fail(end_t *e, const char *why) {
    e->state = BD_FAILED;
    e->text[0] = 0;
    bd_cat(e->text, sizeof e->text, "%s", why);
    e->reason = e->text;
}

/* ---- values ------------------------------------------------------------------------------------------ */
/* Outputs begin with zeros; inputs are filled, or those of another set. */
static double **values_new(const bd_prb_t *p, double *const *inputs) {
    double **v = bd_alloc(sizeof *v * BD_MAX_TENSORS, 64);
    for (int i = 0; i < p->nt; ++i) {
        size_t bytes = (size_t)bd_elems(&p->t[i]) * sizeof **v;
        bool read_only = (p->t[i].io & (BD_IN | BD_OUT)) == BD_IN;
        v[i] = inputs && read_only ? inputs[i] : bd_alloc(bytes, 64);
        if (inputs && !read_only) memcpy(v[i], inputs[i], bytes);
        else if (!read_only) memset(v[i], 0, bytes);
    }
    return v;
}
static void values_free(const bd_prb_t *p, double **v, double *const *inputs) {
    for (int i = 0; i < p->nt; ++i)
        if (!inputs || v[i] != inputs[i]) bd_free(v[i]);
    bd_free(v);
}

static bool is_input(const bd_prb_t *p, int i) {
    if (p->t[i].io & BD_IN) return true;
    return p->t[i].arg == DNNL_TP_ARG_DST && p->t[i].alias < 0 && bd_attr_has_sum(&p->attr);
}

static void fill_values(const bd_prb_t *p, double **v, bool perf) {
    double t = bd_now();
    for (int i = 0; i < p->nt; ++i) {
        if (!is_input(p, i)) continue;
        if (p->t[i].io & BD_ATTR) bd_attr_fill(p, i, v[i]);
        else p->drv->fill(p, i, v[i], perf);
        int64_t n = bd_elems(&p->t[i]);
        int dt = p->t[i].arg == DNNL_TP_ARG_DST ? bd_old_dst_dt(p) : p->t[i].dt;
        bd_round_row(dt, v[i], v[i], n);
    }
    bd_stat.t[BD_T_FILL] += bd_now() - t;
}

static dnnl_tp_status_t store_inputs(bd_side_t *s, double **v) {
    dnnl_tp_status_t st = dnnl_tp_success;
    for (int i = 0; i < s->prb->nt && st == dnnl_tp_success; ++i)
        if (is_input(s->prb, i)) {
            /* A sum may read the bytes of dst as another type: that type's values are there. */
            int dt = s->lay[i].dt;
            if (s->prb->t[i].arg == DNNL_TP_ARG_DST) s->lay[i].dt = bd_old_dst_dt(s->prb);
            st = bd_side_store(s, i, v[i]);
            s->lay[i].dt = dt;
            /* Where a stride is 0 elements share memory; what is there counts. */
            if (st == dnnl_tp_success && bd_overlaps(&s->lay[i])) st = bd_side_load(s, i, v[i]);
        }
    return st;
}

static dnnl_tp_status_t run_side(bd_side_t *s, double **v, int exe_threads) {
    dnnl_tp_status_t st = bd_side_alloc(s);
    if (st == dnnl_tp_success) st = store_inputs(s, v);
    double t = bd_now();
    if (st == dnnl_tp_success) st = bd_side_execute(s, exe_threads);
    bd_stat.t[BD_T_EXECUTE] += bd_now() - t;
    return st;
}

/* ---- checks ------------------------------------------------------------------------------------------ */
static void judge_output(const bd_prb_t *p, int i, bd_cmp_t *c) {
    memset(c, 0, sizeof *c);
    p->drv->judge(p, i, c);
    /* Drivers think of unscaled values; an error grows with them. */
    if (p->t[i].arg == DNNL_TP_ARG_DST) c->abs_threshold *= bd_attr_growth(p);
}

/* Compares all outputs of a side with the expectation. */
static void check_outputs(bd_side_t *s, double **expected, end_t *e, bool quiet) {
    const bd_prb_t *p = s->prb;
    double t = bd_now();
    for (int i = 0; i < p->nt; ++i) {
        if (!(p->t[i].io & BD_OUT) || (s->api->is_peer && p->t[i].io & BD_OWN)) continue;
        bd_cmp_t c;
        judge_output(p, i, &c);
        double *got = bd_alloc((size_t)bd_elems(&p->t[i]) * sizeof *got, 64);
        dnnl_tp_status_t st = bd_side_load(s, i, got);
        if (st != dnnl_tp_success) {
            end_status(e, st, s, s->api);
        } else {
            bd_verdict_t v = bd_compare(p, i, &c, got, expected[i], quiet);
            e->errors += v.errors;
            e->total += v.total;
            if (v.errors) e->state = BD_FAILED;
            else if (v.mistrusted && e->state == BD_PASSED) e->state = BD_MISTRUSTED;
        }
        bd_free(got);
    }
    bd_stat.t[BD_T_COMPARE] += bd_now() - t;
}

/* Guards, padding, and inputs that must not have changed. */
static void check_memory(bd_side_t *s, double **v, end_t *e) {
    const bd_prb_t *p = s->prb;
    for (int i = 0; i < p->nt && e->state != BD_FAILED; ++i) {
        const char *bad = bd_side_violation(s, i);
        char text[128] = "";
        if (bad) {
            bd_cat(text, sizeof text, "%s: %s", p->t[i].name, bad);
            fail(e, text);
        }
        bool aliased = false;
        for (int k = 0; k < p->nt; ++k) aliased |= p->t[k].alias == i;
        if (bad || aliased || !(p->t[i].io & BD_IN) || !s->lay[i].described) continue;
        if (bd_differs(&s->lay[i], s->data[i], v[i])) {
            bd_cat(text, sizeof text, "%s: input was changed", p->t[i].name);
            fail(e, text);
        }
    }
}

/* ---- creation twice, and on several threads ---------------------------------------------------------- */
typedef struct {
    const bd_side_t *s;
    dnnl_tp_status_t st;
} again_t;
static void *create_again(void *arg) {
    again_t *a = arg;
    a->st = bd_create_once(a->s->prb, a->s->api, (dnnl_tp_memory_desc_t *)a->s->md, a->s->attr);
    return NULL;
}

static dnnl_tp_status_t check_again(const bd_side_t *s) {
    enum { PARALLEL = 4 };
    again_t a[PARALLEL];
    pthread_t t[PARALLEL];
    bool started[PARALLEL];
    int n = bd.mod_parallel ? PARALLEL : 1;
    for (int i = 0; i < n; ++i) {
        a[i].s = s;
        started[i] = bd.mod_parallel && !pthread_create(&t[i], NULL, create_again, &a[i]);
        if (!started[i]) create_again(&a[i]);
    }
    dnnl_tp_status_t st = dnnl_tp_success;
    for (int i = 0; i < n; ++i) {
        if (started[i]) pthread_join(t[i], NULL);
        if (a[i].st != dnnl_tp_success) st = a[i].st;
    }
    return st;
}

/* ---- the reference ----------------------------------------------------------------------------------- */
static void reference(const bd_prb_t *p, double **v) {
    double t = bd_now();
    p->drv->ref(p, v);
    bd_stat.t[BD_T_REF] += bd_now() - t;
}

/* ---- the peer in correctness mode -------------------------------------------------------------------- */
static void check_peer(const bd_prb_t *p, double **inputs, double **expected) {
    const bd_api_t *api = bd_peer();
    if (!api || bd.subject_peer) return;
    bd_side_t s;
    dnnl_tp_status_t st = bd_side_create(&s, p, api, 0);
    if (st == dnnl_tp_success) st = run_side(&s, inputs, 0);
    if (st != dnnl_tp_success) {
        printf("peer: %s\n", api->status2str(st));
    } else {
        end_t e = {.state = BD_PASSED};
        check_outputs(&s, expected, &e, true);
        if (e.state == BD_FAILED)
            printf("peer: %s FAILED (errors:%ld total:%ld)\n", s.impl, e.errors, e.total);
        else if (bd.verbose) printf("peer: %s agrees\n", s.impl);
    }
    bd_side_destroy(&s);
}

/* ---- mode B ------------------------------------------------------------------------------------------ */
/* The same bits for every thread count of the descriptor and of the pool, and again. */
static void check_bitwise(const bd_prb_t *p, double **v, bd_side_t *first, end_t *e) {
    static const int counts[] = {1, 2, 3, 7};
    enum { N = sizeof counts / sizeof *counts };
    for (int i = 0; i < N * 3 + 1 && e->state != BD_FAILED; ++i) {
        int init = i == N * 3 ? first->threads : counts[i / 3];
        int exe = i == N * 3 ? 0 : i % 3 == 0 ? counts[i / 3] : i % 3;
        if (bd.pool == BD_POOL_NONE && exe > 1) continue;
        bd_side_t s;
        dnnl_tp_status_t st = bd_side_create(&s, p, bd_subject(), init);
        if (st == dnnl_tp_success) st = run_side(&s, v, exe);
        if (st != dnnl_tp_success) end_status(e, st, &s, bd_subject());
        for (int k = 0; k < p->nt && st == dnnl_tp_success; ++k) {
            if (!(p->t[k].io & BD_OUT)) continue;
            char text[160] = "";
            if (s.lay[k].bytes != first->lay[k].bytes || memcmp(s.data[k], first->data[k], s.lay[k].bytes)) {
                bd_cat(text, sizeof text, "%s: other bits, created for %d threads, run on %d", p->t[k].name,
                       init, exe);
                fail(e, text);
                break;
            }
        }
        bd_side_destroy(&s);
    }
}

/* ---- the flow ---------------------------------------------------------------------------------------- */
static bool too_large(const bd_prb_t *p) {
    double bytes = 0;
    for (int i = 0; i < p->nt; ++i)
        bytes += (double)bd_elems(&p->t[i]) * (double)(2 * sizeof(double) + 2 * sizeof(float));
    return bd.mem_check && bytes > 0.75 * bd_ram_bytes();
}

static bool type_ok(const bd_prb_t *p) {
    for (int i = 0; i < p->nt; ++i)
        if (p->t[i].dt < dnnl_tp_f16 || p->t[i].dt > dnnl_tp_u8) return false;
    return true;
}

static void run_perf(bd_prb_t *p, bd_side_t *s, end_t *e, const char *repro) {
    if (bd.cold == BD_COLD_CUSTOM) {
        fail(e, "--cold-cache=custom: this program has no arguments of its own choice; use wei or all");
        return;
    }
    double **v = values_new(p, NULL);
    fill_values(p, v, true);
    int exe = p->ctx_exe.max_concurrency;
    dnnl_tp_status_t st = run_side(s, v, exe);
    const bd_api_t *api = bd_peer();
    if (st != dnnl_tp_success) {
        end_status(e, st, s, s->api);
    } else if (!api) {
        st = bd_perf(s, repro);
        if (st != dnnl_tp_success) end_status(e, st, s, s->api);
    } else {
        bd_side_t q;
        st = bd_side_create(&q, p, api, 0);
        if (st == dnnl_tp_success) st = run_side(&q, v, 0);
        if (st != dnnl_tp_success) {
            printf("peer,%s,%s,,,,,,,%s,%s\n", *bd.klass ? bd.klass : p->drv->name, s->impl,
                   api->status2str(st), repro);
        } else if (bd_duel(s, &q, repro) != dnnl_tp_success) {
            fail(e, "differs from the peer, or could not be timed");
        }
        bd_side_destroy(&q);
    }
    values_free(p, v, NULL);
}

static void run_created(bd_prb_t *p, bd_side_t *s, end_t *e, const char *repro) {
    int exe = p->ctx_exe.max_concurrency;
    dnnl_tp_status_t st = check_again(s);
    if (st != dnnl_tp_success) {
        s->what = "second creation";
        end_status(e, st, s, s->api);
        return;
    }
    if (bd.mode == 'I') {
        e->state = BD_INITIALIZED;
        return;
    }
    if (strchr("PFS", bd.mode)) {
        run_perf(p, s, e, repro);
        return;
    }
    double **v = values_new(p, NULL);
    fill_values(p, v, false);
    st = run_side(s, v, exe);
    if (st != dnnl_tp_success) {
        end_status(e, st, s, s->api);
    } else if (bd.mode == 'R') {
        e->state = BD_EXECUTED;
    } else if (bd.mode == 'B') {
        check_memory(s, v, e);
        check_bitwise(p, v, s, e);
    } else {
        check_memory(s, v, e);
        double **x = values_new(p, v); /* the peer needs the inputs as they were, and the old dst */
        reference(p, x);
        if (e->state != BD_FAILED) check_outputs(s, x, e, false);
        check_peer(p, v, x);
        values_free(p, x, v);
    }
    values_free(p, v, NULL);
}

static void same_pd_check(const bd_prb_t *p, const bd_side_t *s, end_t *e) {
    if (!bd.same_pd_check || bd_attr_is_default(&p->attr)) return;
    bd_prb_t *q = malloc(sizeof *q);
    if (!q) return;
    *q = *p;
    memset(&q->attr, 0, sizeof q->attr);
    q->nt = 0;
    bd_side_t t;
    if (!q->drv->init(q) && bd_side_create(&t, q, bd_subject(), s->threads) == dnnl_tp_success) {
        if (strcmp(t.impl, s->impl)) fail(e, "attributes change the implementation");
        bd_side_destroy(&t);
    }
    free(q);
}

static void run_once(bd_prb_t *p) {
    char repro[BD_TEXT], text[BD_TEXT] = "";
    bd_repro(p, NULL, repro, sizeof repro);
    if (*bd.match && regexec(&bd.match_re, repro, 0, NULL, 0)) return;
    double begin = bd_now();
    end_t e = {.state = BD_PASSED};
    bool perf = strchr("PFS", bd.mode) != NULL;
    p->nt = 0;
    bd_side_t s = {0};
    const char *skip = NULL;
    if (bd_stat.tests < bd.start) {
        skip = BD_SKIP_START;
    } else if (bd.mode == 'L') {
        e.state = BD_LISTED;
    } else {
        bd_prb_text(p, text, sizeof text);
        skip = p->drv->init(p);
        if (!skip && bd_dir_bwd(p->dir)) skip = BD_SKIP_BACKWARD;
        if (!skip) skip = bd_attr_tensors(p);
        if (!skip && !type_ok(p)) skip = BD_SKIP_TYPE;
        if (!skip && too_large(p)) skip = BD_SKIP_RAM;
        if (!skip && bd.max_gops > 0 && p->ops > bd.max_gops * 1e9) skip = BD_SKIP_OPS;
        if (!skip) {
            if (bd.verbose) printf("create: %s\n", text);
            int init = p->ctx_init.max_concurrency ? p->ctx_init.max_concurrency : bd_threads();
            dnnl_tp_status_t st = bd_side_create(&s, p, bd_subject(), init);
            bd_stat.t[BD_T_CREATE_PD] += s.pd_s;
            bd_stat.t[BD_T_CREATE_PRIM] += s.prim_s;
            if (s.skip) {
                skip = s.skip;
            } else if (st != dnnl_tp_success) {
                end_status(&e, st, &s, bd_subject());
            } else {
                bd_stat_impl(s.impl);
                bd_cat(e.impl, sizeof e.impl, "%s", s.impl);
                if (bd.check_ref_impl && strstr(s.impl, "ref")) {
                    fail(&e, BD_SKIP_REF);
                } else {
                    if (bd.verbose && bd.mode != 'I') printf("run: %s\n", text);
                    bd_repro(p, s.impl, repro, sizeof repro);
                    char plain[BD_TEXT];
                    bd_repro(p, NULL, plain, sizeof plain);
                    same_pd_check(p, &s, &e);
                    if (e.state != BD_FAILED) run_created(p, &s, &e, perf && !bd_peer() ? plain : repro);
                }
            }
        }
    }
    if (skip) e.state = BD_SKIPPED, e.reason = skip;
    else bd_repro(p, e.impl, repro, sizeof repro);
    bd_side_destroy(&s);
    double ms = (bd_now() - begin) * 1e3;
    if (perf && e.state == BD_PASSED) { /* its line was printed */
        ++bd_stat.n[BD_PASSED];
        ++bd_stat.tests;
        return;
    }
    bd_report(e.state, e.reason, e.errors, e.total, bd.mode == 'L' ? 0 : ms, repro);
    if (perf && e.state == BD_SKIPPED && !bd_peer()) bd_perf_skipped(p, repro);
}

void bd_run_problem(bd_prb_t *p) {
    for (int i = 0; i < bd.repeats; ++i) run_once(p);
}
