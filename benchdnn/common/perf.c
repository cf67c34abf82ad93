/* Performance mode on our library: the timed loop, rotating buffers, and the line template. */
#include <stdlib.h>
#include <string.h>
#include <ctype.h>

#include "common/options.h"
#include "common/perf.h"

/* ---- rotation ---------------------------------------------------------------------------------------- */
/* Well beyond the last-level caches we meet: of CPUs, and three times the largest L2 of GPUs. */
#define COLD_BYTES ((size_t)96 << 20)
#define COLD_BYTES_FAR ((size_t)384 << 20)
#define MAX_SETS 2000

static bool rotates(const bd_prb_t *p, int i) {
    if (p->t[i].alias >= 0) return false;
    if (bd.cold == BD_COLD_ALL) return true;
    bool has_wei = false;
    for (int k = 0; k < p->nt; ++k) has_wei |= (p->t[k].io & BD_WEI) != 0;
    return has_wei ? p->t[i].io & BD_WEI : p->t[i].io == BD_IN;
}

dnnl_tp_status_t bd_rotation_init(bd_rotation_t *r, bd_side_t *s) {
    const bd_prb_t *p = s->prb;
    size_t per = 0;
    memset(r, 0, sizeof *r);
    r->side = s;
    r->n = 1;
    for (int i = 0; i < p->nt; ++i)
        if (rotates(p, i)) per += s->lay[i].bytes;
    if (bd.cold && per) {
        size_t n = (bd_is_far(s->api) ? COLD_BYTES_FAR : COLD_BYTES) / per + 2;
        r->n = (int)(n > MAX_SETS ? MAX_SETS : n);
    }
    r->args = bd_alloc((size_t)r->n * sizeof *r->args, 64);
    r->mem = bd_alloc((size_t)r->n * BD_MAX_TENSORS * sizeof *r->mem, 64);
    r->buf = bd_alloc((size_t)r->n * BD_MAX_TENSORS * sizeof *r->buf, 64);
    memcpy(r->args[0], s->args, sizeof s->args);
    for (int k = 1; k < r->n; ++k) {
        memcpy(r->args[k], s->args, sizeof s->args);
        for (int i = 0; i < p->nt; ++i) {
            if (!rotates(p, i)) continue;
            char *b = bd_alloc(s->lay[i].bytes, 4096);
            memcpy(b, s->data[i], s->lay[i].bytes);
            dnnl_tp_memory_t m;
            dnnl_tp_status_t st = bd_memory_create(s->api, &m, bd_side_md(s, i), b, s->lay[i].bytes);
            if (st != dnnl_tp_success) {
                bd_free(b);
                return st;
            }
            r->buf[r->n_mem] = b;
            r->mem[r->n_mem++] = m;
            for (int a = 0; a < s->nargs; ++a) {
                if (r->args[k][a].arg == p->t[i].arg) r->args[k][a].memory = m;
                for (int j = 0; j < p->nt; ++j) /* a tensor that lives in this one's buffer */
                    if (p->t[j].alias == i && r->args[k][a].arg == p->t[j].arg) r->args[k][a].memory = m;
            }
        }
    }
    return dnnl_tp_success;
}

void bd_rotation_free(bd_rotation_t *r) {
    for (int i = 0; i < r->n_mem; ++i) {
        r->side->api->memory_destroy(r->mem[i]);
        bd_free(r->buf[i]);
    }
    bd_free(r->args);
    bd_free(r->mem);
    bd_free(r->buf);
    memset(r, 0, sizeof *r);
}

/* ---- the line ---------------------------------------------------------------------------------------- */
typedef struct {
    const bd_side_t *s;
    const bd_prb_t *p;
    const char *impl, *repro;
    bd_time_t t, create;
    double bytes_in, bytes_out;
} line_t;

static double pick(const bd_time_t *t, char mod) {
    return mod == '-' ? t->min : mod == '+' ? t->max : t->avg;
}

/* One option of the problem as text, by the name that templates use. */
static bool option_text(const bd_prb_t *p, const char *name, char *out, size_t size) {
    static const char *const same[][2] = {
        {"bia_dt", "bia-dt"}, {"ctx-init", "ctx-init"}, {"stat_tag", "stat_tag"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i)
        if (!strcmp(name, same[i][0])) name = same[i][1];
    if (!strcmp(name, "sdt") || !strcmp(name, "dt")) {
        for (int k = 0; k < 2; ++k)
            for (const bd_opt_t *const *o = p->drv->loop; *o; ++o)
                if (!strcmp((*o)->name, k ? "dt" : name)) return (*o)->get(p, out, size), true;
        name = "sdt";
    }
    for (const bd_opt_t *const *o = p->drv->loop; *o; ++o)
        if (!strcmp((*o)->name, name)) return (*o)->get(p, out, size), true;
    return false;
}

static void attr_text(const bd_prb_t *p, char *out, size_t size) {
    char v[BD_TEXT];
    bd_prb_t *def = calloc(1, sizeof *def);
    for (const bd_opt_t *const *o = p->drv->print; def && *o; ++o) {
        if (strncmp((*o)->name, "attr-", 5)) continue;
        (*o)->get(p, v, sizeof v);
        if (strcmp(v, (*o)->def)) bd_cat(out, size, "%s--%s=%s", *out ? " " : "", (*o)->name, v);
    }
    free(def);
}

static void field(const line_t *l, char mod, char unit, const char *name, char *out, size_t size) {
    double scale = unit == 'K' ? 1e3 : unit == 'M' ? 1e6 : unit == 'G' ? 1e9 : 1, ms = pick(&l->t, mod);
    double s = ms * 1e-3;
    char text[BD_TEXT] = "";
    if (!strcmp(name, "engine")) bd_cat(out, size, "%s", bd.engine_text);
    else if (!strcmp(name, "impl")) bd_cat(out, size, "%s", l->impl);
    else if (!strcmp(name, "name")) bd_cat(out, size, "%s", l->p->label);
    else if (!strcmp(name, "driver")) bd_cat(out, size, "%s", l->p->drv->name);
    else if (!strcmp(name, "prb")) bd_cat(out, size, "%s", l->repro);
    else if (!strcmp(name, "desc")) l->p->drv->desc(l->p, out, size);
    else if (!strcmp(name, "attr")) attr_text(l->p, text, sizeof text), bd_cat(out, size, "%s", text);
    else if (!strcmp(name, "idx")) bd_cat(out, size, "%ld", bd_stat.tests);
    else if (!strcmp(name, "prop"))
        bd_cat(out, size, "%s", l->p->dir == BD_FWD_I ? "forward_inference" : "forward_training");
    else if (!strcmp(name, "time")) bd_cat(out, size, "%g", ms);
    else if (!strcmp(name, "ctime") || !strcmp(name, "cptime"))
        bd_cat(out, size, "%g", pick(&l->create, mod));
    else if (!strcmp(name, "cpdtime")) bd_cat(out, size, "%g", l->s ? l->s->pd_s * 1e3 : 0);
    else if (!strcmp(name, "ops")) bd_cat(out, size, "%g", l->p->ops / scale);
    else if (!strcmp(name, "flops")) bd_cat(out, size, "%g", s > 0 ? l->p->ops / s / scale : 0);
    else if (!strcmp(name, "bw") || !strcmp(name, "bandwidth"))
        bd_cat(out, size, "%g", s > 0 ? (l->bytes_in + l->bytes_out) / s / scale : 0);
    else if (!strcmp(name, "ibytes")) bd_cat(out, size, "%g", l->bytes_in / scale);
    else if (!strcmp(name, "obytes")) bd_cat(out, size, "%g", l->bytes_out / scale);
    else if (!strcmp(name, "iobytes")) bd_cat(out, size, "%g", (l->bytes_in + l->bytes_out) / scale);
    else if (!strcmp(name, "clocks") || !strcmp(name, "freq")) bd_cat(out, size, "0");
    else if (option_text(l->p, name, text, sizeof text)) bd_cat(out, size, "%s", text);
}

/* Walks a template; header: field names instead of values. */
static void expand(const line_t *l, const char *t, bool header, char *out, size_t size) {
    while (*t) {
        const char *e = *t == '%' ? strchr(t + 1, '%') : NULL;
        if (!e) {
            bd_cat(out, size, "%c", *t++);
            continue;
        }
        char name[64] = "", mod = '-', unit = 0;
        const char *b = t + 1;
        bool has_mod = *b == '-' || *b == '+' || *b == '0';
        if (has_mod) mod = *b++;
        if (*b == 'K' || *b == 'M' || *b == 'G') unit = *b++;
        bd_cat(name, sizeof name, "%.*s", (int)(e - b), b);
        if (header) {
            if (has_mod) bd_cat(out, size, "%s_", mod == '-' ? "min" : mod == '+' ? "max" : "avg");
            if (unit) bd_cat(out, size, "%c", unit);
            bd_cat(out, size, "%s", name);
        } else {
            field(l, mod, unit, name, out, size);
        }
        t = e + 1;
    }
}

static void print_line(const line_t *l) {
    static char shown[BD_TEXT]; /* the template whose header was printed last */
    char t[BD_TEXT] = "", out[3 * BD_TEXT] = "";
    static const char tail[] = ",%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,%0Gflops%";
    if (!strcmp(bd_perf_template, "def"))
        bd_cat(t, sizeof t, "perf,%%engine%%,%%impl%%,%%name%%,%%prb%%%s", tail);
    else if (!strcmp(bd_perf_template, "csv"))
        bd_cat(t, sizeof t, "perf,%%engine%%,%%impl%%,%%name%%,%s%s", l->p->drv->perf_csv, tail);
    else bd_cat(t, sizeof t, "%s", bd_perf_template);
    if (strcmp(shown, t)) {
        char header[BD_TEXT] = "";
        strcpy(shown, t);
        expand(l, t, true, header, sizeof header);
        printf("Template entries: %s\n%s\n", t, header);
    }
    expand(l, t, false, out, sizeof out);
    puts(out);
    fflush(stdout);
}

void bd_perf_skipped(const bd_prb_t *p, const char *repro) {
    line_t l = {.p = p, .impl = "", .repro = repro};
    print_line(&l);
}

static void add_time(bd_time_t *t, double ms) {
    if (!t->n || ms < t->min) t->min = ms;
    if (!t->n || ms > t->max) t->max = ms;
    t->avg += (ms - t->avg) / (double)++t->n;
}

/* Creation without a cache hit. */
static dnnl_tp_status_t time_creation(bd_side_t *s, bd_time_t *t) {
    enum { TIMES = 3 };
    dnnl_tp_status_t st = s->api->set_primitive_cache_capacity(0);
    for (int i = 0; i < TIMES && st == dnnl_tp_success; ++i) {
        double b = bd_now();
        st = bd_create_once(s->prb, s->api, s->md, s->attr);
        add_time(t, (bd_now() - b) * 1e3);
    }
    dnnl_tp_status_t back = s->api->set_primitive_cache_capacity(1024);
    return st == dnnl_tp_success ? back : st;
}

dnnl_tp_status_t bd_perf(bd_side_t *s, const char *repro) {
    enum { MIN_TIMES = 5, FAR_RUNS = 20 };
    const int runs =
        bd_is_far(s->api) ? FAR_RUNS : 1; /* back to back: a device works while the host submits */
    line_t l = {.s = s, .p = s->prb, .impl = s->impl, .repro = repro};
    bd_rotation_t r;
    dnnl_tp_status_t st = time_creation(s, &l.create);
    if (st != dnnl_tp_success) return st;
    st = bd_side_upload(s);
    if (st != dnnl_tp_success) return st;
    st = bd_rotation_init(&r, s);
    int threads = s->prb->ctx_exe.max_concurrency;
    dnnl_tp_stream_t stream[64];
    for (int i = 0; i < bd.num_streams; ++i) stream[i] = bd_stream(s->api, threads);
    for (int i = 0; i < s->prb->nt; ++i)
        *(s->prb->t[i].io & BD_IN ? &l.bytes_in : &l.bytes_out) += (double)s->lay[i].bytes;
    double total = 0;
    for (long k = -1; st == dnnl_tp_success; ++k) { /* -1 warms up */
        dnnl_tp_stream_t on = stream[k < 0 ? 0 : k % bd.num_streams];
        double b = bd_now();
        for (int i = 0; i < runs && st == dnnl_tp_success; ++i) {
            st = s->api->primitive_execute(s->prim, on, s->nargs, r.args[r.at]);
            r.at = (r.at + 1) % r.n;
        }
        if (st == dnnl_tp_success) st = s->api->stream_wait(on);
        double ms = (bd_now() - b) * 1e3;
        if (k < 0) continue;
        add_time(&l.t, ms / runs);
        total += ms;
        if (bd.fix_times ? l.t.n >= bd.fix_times : total >= bd.max_ms && l.t.n >= MIN_TIMES) break;
    }
    bd_stat.t[BD_T_EXECUTE] += total * 1e-3;
    bd_rotation_free(&r);
    if (st != dnnl_tp_success) return st;
    bd_stat.perf_min_ms += l.t.min;
    bd_stat.perf_avg_ms += l.t.avg;
    print_line(&l);
    return st;
}
