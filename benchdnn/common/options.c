/* Global options, the option lists of drivers, and the loop over their combinations. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/options.h"

bd_options_t bd;
char bd_perf_template[BD_TEXT] = "def";

void bd_options_init(void) {
    memset(&bd, 0, sizeof bd);
    bd.mode = 'C';
    bd.max_ms = 3000;
    bd.repeats = bd.num_streams = 1;
    bd.mem_check = bd.enum_tags_only = bd.sum_failures = bd.sum_impl = true;
    strcpy(bd.cold_text, "none");
    strcpy(bd.execution_mode, "direct");
    strcpy(bd.isa_hints, "none");
    strcpy(bd.engine_text, "cpu");
    bd.engine_kind = dnnl_tp_cpu;
}

static void bad_value(const char *tok) { bd_die(BD_EXIT_FAIL, "Error: bad value in '%s'.", tok); }

/* ---- global options: name, and a function that takes the value (0 = good) ---------------------------- */
static int g_int(const char *v, long lo, long hi, int *out) {
    long x;
    if (bd_parse_int(v, &x) || x < lo || x > hi) return 1;
    *out = (int)x;
    return 0;
}
static int g_text(const char *v, char *out, size_t n) {
    if (strlen(v) >= n) return 1;
    strcpy(out, v);
    return 0;
}
static int one_of(const char *v, const char *list) { /* list: "a,b,c" */
    char part[32];
    while (list) {
        list = bd_cut(list, ',', part, sizeof part);
        if (!strcmp(v, part)) return 0;
    }
    return 1;
}

static bool fix_times_set, max_ms_set;

static int g_mode(const char *v) {
    if (strlen(v) != 1 || !strchr("LIRCPFSB", toupper((unsigned char)*v))) return 1;
    bd.mode = (char)toupper((unsigned char)*v);
    bd.mod_parallel = bd.mode == 'F';
    bd.mod_no_ref = bd.mode == 'F' || bd.mode == 'R';
    if (bd.mode == 'F') {
        if (max_ms_set) bd_die(BD_EXIT_USAGE, "Error: --mode=F fixes --max-ms-per-prb itself.");
        bd.max_ms = 10;
    }
    if (bd.mode == 'S') {
        if (fix_times_set) bd_die(BD_EXIT_USAGE, "Error: --mode=S fixes --fix-times-per-prb itself.");
        bd.fix_times = 1;
    }
    return 0;
}
static int g_modifier(const char *v) {
    bd.mod_parallel = bd.mod_no_ref = false;
    for (; *v; ++v) {
        if (toupper((unsigned char)*v) == 'P') bd.mod_parallel = true;
        else if (toupper((unsigned char)*v) == 'M') bd.mod_no_ref = true;
        else return 1;
    }
    return 0;
}
static int g_max_ms(const char *v) {
    float x;
    if (bd.mode == 'F') bd_die(BD_EXIT_USAGE, "Error: --mode=F fixes --max-ms-per-prb itself.");
    if (bd_parse_float(v, &x)) return 1;
    max_ms_set = true;
    bd.max_ms = x < 10 ? 10 : x > 60000 ? 60000 : (double)x;
    return 0;
}
static int g_fix_times(const char *v) {
    if (bd.mode == 'S') bd_die(BD_EXIT_USAGE, "Error: --mode=S fixes --fix-times-per-prb itself.");
    fix_times_set = true;
    return g_int(v, 0, 1 << 30, &bd.fix_times);
}
static int g_verbose(const char *v) { return g_int(v, 0, 1 << 20, &bd.verbose); }
static int g_engine(const char *v) {
    const bool gpu = !strncmp(v, "gpu", 3);
    char *end = NULL;
    const long index = v[0] && v[1] && v[2] == 'u' && v[3] == ':' && isdigit((unsigned char)v[4])
                           ? strtol(v + 4, &end, 10)
                           : 0;
    if ((!gpu && strncmp(v, "cpu", 3)) || (end ? *end : v[3]) || index < 0) return 1;
    if ((size_t)index >= dnnl_tp_engine_get_count(gpu ? dnnl_tp_gpu : dnnl_tp_cpu)) return 1;
    bd.engine_kind = gpu ? dnnl_tp_gpu : dnnl_tp_cpu;
    bd.engine_index = (size_t)index;
    return g_text(v, bd.engine_text, sizeof bd.engine_text);
}
static int g_repeats(const char *v) { return g_int(v, 1, 1 << 20, &bd.repeats); }
static int g_streams(const char *v) { return g_int(v, 1, 64, &bd.num_streams); }
static int g_cold(const char *v) {
    char base[32];
    const char *tlb = bd_cut(v, '+', base, sizeof base);
    if (tlb && strncmp(tlb, "tlb", 3)) return 1;
    if (!strcmp(base, "none")) bd.cold = BD_COLD_NONE;
    else if (!strcmp(base, "wei")) bd.cold = BD_COLD_WEI;
    else if (!strcmp(base, "all")) bd.cold = BD_COLD_ALL;
    else if (!strcmp(base, "custom")) bd.cold = BD_COLD_CUSTOM;
    else return 1;
    return g_text(v, bd.cold_text, sizeof bd.cold_text);
}
#define G_BOOL(field) \
    static int g_##field(const char *v) { return bd_parse_bool(v, &bd.field); }
G_BOOL(mem_check)
G_BOOL(enum_tags_only)
G_BOOL(same_pd_check)
G_BOOL(check_ref_impl)
G_BOOL(allow_unimpl)
G_BOOL(canonical)
#define G_TEXT(field) \
    static int g_##field(const char *v) { return g_text(v, bd.field, sizeof bd.field); }
G_TEXT(impl)
G_TEXT(skip_impl)
G_TEXT(global_impl)
G_TEXT(global_skip_impl)
G_TEXT(buffer_prefix)
G_TEXT(memory_kind)
G_TEXT(stream_kind)
G_TEXT(klass)
G_TEXT(peer_wait)
G_TEXT(perf_csv)
static int g_execution_mode(const char *v) {
    return one_of(v, "direct,graph,native_graph") || g_text(v, bd.execution_mode, sizeof bd.execution_mode);
}
static int g_isa_hints(const char *v) {
    return one_of(v, "none,no_hints,prefer_ymm") || g_text(v, bd.isa_hints, sizeof bd.isa_hints);
}
static int g_match(const char *v) {
    if (*bd.match) regfree(&bd.match_re);
    bd.match[0] = 0;
    if (!*v) return 0;
    if (strlen(v) >= sizeof bd.match || regcomp(&bd.match_re, v, REG_EXTENDED | REG_NOSUB)) return 1;
    strcpy(bd.match, v);
    return 0;
}
static int g_fast_ref(const char *v) { /* the f64 loops are faster than the library's reference */
    bool ignored;
    return bd_parse_bool(v, &ignored);
}
static int g_max_gops(const char *v) {
    float x;
    if (bd_parse_float(v, &x) || !(x >= 0)) return 1;
    bd.max_gops = (double)x;
    return 0;
}
static int g_start(const char *v) { return bd_parse_int(v, &bd.start) || bd.start < 0; }
static int g_summary(const char *v) {
    char part[32];
    while (v) {
        const char *plus = strchr(v, '+'), *comma = strchr(v, ',');
        v = bd_cut(v, plus && !(comma && comma < plus) ? '+' : ',', part, sizeof part);
        bool on = strncmp(part, "no-", 3) != 0;
        const char *name = on ? part : part + 3;
        if (!strcmp(name, "failures")) bd.sum_failures = on;
        else if (!strcmp(name, "impl")) bd.sum_impl = on;
        else if (!strcmp(name, "impl-csv")) bd.sum_impl_csv = on;
        else return 1;
    }
    return 0;
}
static int g_isa(const char *v) {
    return (*v && one_of(v, "ref,avx2,avx512")) || g_text(v, bd.isa, sizeof bd.isa);
}
static int g_pool(const char *v) {
    if (one_of(v, "builtin,async,none")) return 1;
    bd.pool = *v == 'b' ? BD_POOL_BUILTIN : *v == 'a' ? BD_POOL_ASYNC : BD_POOL_NONE;
    return 0;
}
static int g_threads(const char *v) { return g_int(v, 0, 256, &bd.threads); }
static int g_peer(const char *v) {
    if (*v && strcmp(v, "onednn") && strncmp(v, "onednn:", 7)) return 1;
    return g_text(v, bd.peer, sizeof bd.peer);
}
static int g_measure(const char *v) {
    if (one_of(v, "exec,create,handles")) return 1;
    bd.measure = *v == 'e' ? BD_MEASURE_EXEC : *v == 'c' ? BD_MEASURE_CREATE : BD_MEASURE_HANDLES;
    return 0;
}

static int g_subject(const char *v) {
    if (one_of(v, "ours,peer")) return 1;
    bd.subject_peer = *v == 'p';
    return 0;
}

static const struct {
    const char *name;
    int (*set)(const char *);
    const char *def, *help;
} globals[] = {
    {"mode", g_mode, "C",
     "L list, I create, R run, C check, P performance, F fast performance, S single run, B bitwise"},
    {"mode-modifier", g_modifier, "", "P creation on several threads, M no reference memory"},
    {"engine", g_engine, "cpu", "cpu or gpu, with :index"},
    {"verbose", g_verbose, "0", "N, also -vN; from 1: create: and run: lines"},
    {"max-ms-per-prb", g_max_ms, "3000", "time for one problem in performance modes, 10..60000"},
    {"fix-times-per-prb", g_fix_times, "0", "number of timed executions; 0 = by time"},
    {"repeats-per-prb", g_repeats, "1", "the whole problem again"},
    {"cold-cache", g_cold, "none", "none, wei, all, custom: inputs that are in no cache"},
    {"fast-ref", g_fast_ref, "false", "accepted, no effect: the f64 loops are the faster reference"},
    {"max-gops", g_max_gops, "0", "skip problems of more than this many 10^9 operations; 0 = none"},
    {"num-streams", g_streams, "1", "streams in performance mode"},
    {"mem-check", g_mem_check, "true", "skip what does not fit into RAM"},
    {"memory-kind", g_memory_kind, "", "accepted, no effect on CPU"},
    {"stream-kind", g_stream_kind, "", "accepted"},
    {"execution-mode", g_execution_mode, "direct", "accepted, no effect on CPU"},
    {"impl", g_impl, "", "only implementations whose name contains one of these"},
    {"skip-impl", g_skip_impl, "", "no implementation whose name contains one of these"},
    {"global-impl", g_global_impl, "", "overrides --impl"},
    {"global-skip-impl", g_global_skip_impl, "", "overrides --skip-impl"},
    {"match", g_match, "", "only problems whose repro line matches this regular expression"},
    {"allow-enum-tags-only", g_enum_tags_only, "true", "refuse layouts that are no enumerator"},
    {"attr-same-pd-check", g_same_pd_check, "false", "attributes must not change the implementation"},
    {"allow-unimpl", g_allow_unimpl, "false", "a problem that no implementation serves is no failure"},
    {"check-ref-impl", g_check_ref_impl, "false", "a reference implementation is a failure"},
    {"canonical", g_canonical, "false", "print defaults too"},
    {"cpu-isa-hints", g_isa_hints, "none", "none, no_hints, prefer_ymm: accepted"},
    {"start", g_start, "0", "skip the problems before number N"},
    {"summary", g_summary, "", "[no-]failures, [no-]impl, [no-]impl-csv, joined by +"},
    {"buffer-prefix", g_buffer_prefix, "", "accepted"},
    {"isa", g_isa, "", "ref, avx2, avx512: limit of the engine (and of the peer)"},
    {"pool", g_pool, "builtin", "builtin, async, none: where the threads come from"},
    {"threads", g_threads, "0", "threads of the pool; 0 = all that the process may use"},
    {"peer", g_peer, "", "onednn[:path of libdnnl.so.3]: run every problem there too"},
    {"peer-wait", g_peer_wait, "", "active, passive: OMP_WAIT_POLICY of the peer"},
    {"subject", g_subject, "ours",
     "peer: examine the peer instead of this library (checks the harness itself)"},
    {"class", g_klass, "", "name of the class of the following problems in the peer summary"},
    {"measure", g_measure, "exec", "exec, create, handles (3 x set_data_handle + execute)"},
    {"perf-csv", g_perf_csv, "", "append the rows of the comparison with the peer to this file"},
};

int bd_global_option(const char *tok) {
    if (!strncmp(tok, "-v", 2) && isdigit((unsigned char)tok[2])) {
        if (g_verbose(tok + 2)) bad_value(tok);
        return 1;
    }
    if (strncmp(tok, "--", 2)) return 0;
    const char *eq = strchr(tok, '=');
    if (!eq) return 0;
    for (size_t i = 0; i < sizeof globals / sizeof *globals; ++i)
        if (strlen(globals[i].name) == (size_t)(eq - tok - 2) &&
            !strncmp(globals[i].name, tok + 2, (size_t)(eq - tok - 2))) {
            if (globals[i].set(eq[1] ? eq + 1 : globals[i].def)) bad_value(tok);
            return 1;
        }
    return 0;
}

/* ---- lists of driver options ------------------------------------------------------------------------- */
#define MAX_OPTS 40
#define MAX_DRIVERS 24
typedef struct {
    char **v;
    int n;
} list_t;
typedef struct {
    const bd_driver_t *drv;
    list_t list[MAX_OPTS];
} settings_t;
static settings_t settings[MAX_DRIVERS];

static void list_clear(list_t *l) {
    for (int i = 0; i < l->n; ++i) free(l->v[i]);
    free(l->v);
    l->v = NULL;
    l->n = 0;
}

static int list_add(list_t *l, const char *s) {
    char **v = realloc(l->v, (size_t)(l->n + 1) * sizeof *v);
    if (!v) return 1;
    l->v = v;
    return !(v[l->n] = strdup(s)) || (++l->n, 0);
}

/* An empty entry means the option's default. */
static int list_set(list_t *l, const bd_opt_t *o, const char *value) {
    static bd_prb_t scratch;
    size_t size = strlen(value) + 1;
    char *part = bd_alloc(size, 16);
    list_t fresh = {NULL, 0};
    int bad = 0;
    for (const char *s = value; s && !bad;) {
        s = bd_cut(s, ',', part, size);
        memset(&scratch, 0, sizeof scratch);
        const char *entry = *part ? part : bd_opt_default(o);
        bad = o->set(&scratch, entry) || list_add(&fresh, entry);
    }
    bd_free(part);
    if (bad) {
        list_clear(&fresh);
        return 1;
    }
    list_clear(l);
    *l = fresh;
    return 0;
}

/* What --reset goes back to: the values given before the driver's name. */
static struct { char impl[sizeof bd.impl], skip_impl[sizeof bd.skip_impl], match[sizeof bd.match]; } base;

static void reset(settings_t *s) {
    for (int i = 0; s->drv->loop[i]; ++i)
        if (list_set(&s->list[i], s->drv->loop[i], bd_opt_default(s->drv->loop[i])))
            bd_die(BD_EXIT_FAIL, "Error: default of --%s.", s->drv->loop[i]->name);
    strcpy(bd.impl, base.impl);
    strcpy(bd.skip_impl, base.skip_impl);
    if (strcmp(bd.match, base.match)) (void)g_match(base.match);
}

static settings_t *settings_of(const bd_driver_t *d) {
    int i = 0;
    while (settings[i].drv && settings[i].drv != d) ++i;
    if (!settings[i].drv) {
        settings[i].drv = d;
        strcpy(base.impl, bd.impl);
        strcpy(base.skip_impl, bd.skip_impl);
        strcpy(base.match, bd.match);
        reset(&settings[i]);
    }
    return &settings[i];
}

/* ---- the loop ---------------------------------------------------------------------------------------- */
static void run_descriptor(settings_t *s, const char *text) {
    static bd_prb_t p;
    const bd_driver_t *d = s->drv;
    int index[MAX_OPTS] = {0}, n = 0;
    while (d->loop[n]) ++n;
    memset(&p, 0, sizeof p);
    p.drv = d;
    if (d->parse(&p, text))
        bd_die(BD_EXIT_FAIL, "ERROR: Unrecognized pattern in '%s' descriptor starting from '%s' entry.", text,
               text);
    for (;;) {
        memset(&p, 0, sizeof p);
        p.drv = d;
        if (d->parse(&p, text)) bd_die(BD_EXIT_FAIL, "ERROR: descriptor '%s'.", text);
        for (int i = 0; i < n; ++i)
            if (d->loop[i]->set(&p, s->list[i].v[index[i]]))
                bd_die(BD_EXIT_FAIL, "Error: --%s.", d->loop[i]->name);
        if (!d->skip_combination || !d->skip_combination(&p, index)) bd_run_problem(&p);
        int i = n - 1;
        while (i >= 0 && ++index[i] == s->list[i].n) index[i--] = 0;
        if (i < 0) break;
    }
}

/* ---- suggestions for a misspelt option --------------------------------------------------------------- */
static int distance(const char *a, size_t na, const char *b) {
    int row[64];
    size_t nb = strlen(b);
    if (nb >= 64 || na >= 64) return 64;
    for (size_t j = 0; j <= nb; ++j) row[j] = (int)j;
    for (size_t i = 1; i <= na; ++i) {
        int diag = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; ++j) {
            int best = diag + (a[i - 1] != b[j - 1]);
            diag = row[j];
            if (diag + 1 < best) best = diag + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

static bool near(const char *name, size_t n, const char *option) {
    int d = distance(name, n, option);
    return d <= 2 && (size_t)d + 1 < n;
}

static void unknown_option(const bd_driver_t *d, const char *tok) {
    char text[512] = "";
    const char *name = tok + 2, *eq = strchr(name, '=');
    size_t n = eq ? (size_t)(eq - name) : strlen(name);
    for (int i = 0; d->loop[i]; ++i)
        if (near(name, n, d->loop[i]->name)) bd_cat(text, sizeof text, " --%s", d->loop[i]->name);
    for (size_t i = 0; i < sizeof globals / sizeof *globals; ++i)
        if (near(name, n, globals[i].name)) bd_cat(text, sizeof text, " --%s", globals[i].name);
    if (*text) bd_cat(text, sizeof text, "?");
    bd_die(BD_EXIT_USAGE, "Error: unknown option for '%s' driver: '%s'.%s%s", d->name, tok,
           *text ? " Did you mean" : "", text);
}

void bd_driver_help(const bd_driver_t *d) {
    printf("Usage: benchdnn [global options] --%s [options and problem descriptors]\n\nOptions of %s "
           "(default):\n",
           d->name, d->name);
    for (int i = 0; d->loop[i]; ++i) printf("  --%s=  (%s)\n", d->loop[i]->name, d->loop[i]->def);
    printf("  --perf-template=  (def)\n  --batch=FILE\n  --reset\n\nGlobal options (default):\n");
    for (size_t i = 0; i < sizeof globals / sizeof *globals; ++i)
        printf("  --%s=  (%s)  %s\n", globals[i].name, globals[i].def, globals[i].help);
}

void bd_driver_token(const bd_driver_t *d, const char *tok) {
    settings_t *s = settings_of(d);
    if (bd_global_option(tok)) return;
    if (!strcmp(tok, "--help")) {
        bd_driver_help(d);
        exit(BD_EXIT_OK);
    }
    if (!strncmp(tok, "--batch=", 8)) {
        bd_batch(d, tok + 8);
        return;
    }
    if (!strcmp(tok, "--reset") || !strcmp(tok, "--reset=true")) {
        reset(s);
        return;
    }
    if (!strncmp(tok, "--perf-template=", 16)) {
        const char *v = tok[16] ? tok + 16 : "def";
        if (strlen(v) >= sizeof bd_perf_template) bad_value(tok);
        strcpy(bd_perf_template, v);
        return;
    }
    if (!strncmp(tok, "--", 2)) {
        const char *eq = strchr(tok, '=');
        for (int i = 0; eq && d->loop[i]; ++i) {
            const char *name = d->loop[i]->name;
            size_t n = strlen(name);
            bool same = (size_t)(eq - tok - 2) == n;
            for (size_t k = 0; same && k < n; ++k) /* --bia_dt and --bia-dt are one option */
                same = tok[2 + k] == name[k] || (strchr("-_", tok[2 + k]) && strchr("-_", name[k]));
            if (!same) continue;
            if (list_set(&s->list[i], d->loop[i], eq + 1)) bad_value(tok);
            return;
        }
        unknown_option(d, tok);
    }
    run_descriptor(s, tok);
}
