/* Runs a graph from a file: random inputs; results against those of the graph without fusion, and the same
 * bits on 1, 2, 3 and 7 threads; in performance modes its time. Host closures of any name compute numbers
 * from their inputs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/exec.h"
#include "common/fill.h"
#include "common/options.h"
#include "common/parse.h"
#include "common/side.h"
#include "dnnl_tp/dnnl_tp_graph_file.h"
#include "graph/graph.h"

enum {
    MAX_FILLS = 32,
    MAX_TENSORS = 256,
    MAX_SAMPLES = 1 << 16,
    COUNT_TO = 4,
    MARKER_LINES = 64,
    TRACED_RUNS = 10
};

typedef struct {
    char name[64], text[64];
    bool ramp;
    double lo, hi; /* ramp: lo = step */
} fill_t;
static struct {
    int64_t dim; /* of sizes that the file leaves open; 0 = default */
    fill_t fill[MAX_FILLS];
    int nfill;
    char trace[BD_TEXT]; /* file, "" = none */
} given;
static const int64_t default_dim = 8;

typedef struct {
    dnnl_tp_graph_t graph;
    int nin, nout;
    dnnl_tp_tensor_info_t in_info[MAX_TENSORS], out_info[MAX_TENSORS];
    void *in[MAX_TENSORS], *out[MAX_TENSORS], *ref[MAX_TENSORS];
    int nmem; /* of far engines: copies of in and out */
    dnnl_tp_memory_t mem[2 * MAX_TENSORS];
    void *far_in[MAX_TENSORS], *far_out[MAX_TENSORS];
    int nodes; /* that a run executes */
    char repro[BD_TEXT];
    const char *why; /* what failed */
} run_t;

/* ---- Tokens ------------------------------------------------------------------------------------------ */

/* NAME:LO:HI or NAME:ramp:STEP */
static int add_fill(const char *v) {
    if (!*v) return given.nfill = 0, 0;
    if (given.nfill == MAX_FILLS || strlen(v) >= sizeof given.fill->text) return 1;
    fill_t *f = &given.fill[given.nfill];
    char lo[32], hi[32];
    float x;
    strcpy(f->text, v);
    const char *rest = bd_cut(v, ':', f->name, sizeof f->name);
    if (!rest || !(rest = bd_cut(rest, ':', lo, sizeof lo)) || bd_cut(rest, ':', hi, sizeof hi)) return 1;
    f->ramp = !strcmp(lo, "ramp");
    f->lo = f->hi = 0;
    if (!f->ramp && (bd_parse_float(lo, &x) || ((f->lo = (double)x), false))) return 1;
    if (bd_parse_float(hi, &x)) return 1;
    if (f->ramp) f->lo = (double)x;
    else f->hi = (double)x;
    if (!f->ramp && !(f->lo <= f->hi)) return 1;
    ++given.nfill;
    return 0;
}

static int option(const char *tok) {
    long n;
    if (!strncmp(tok, "--dim=", 6)) {
        if (tok[6] && (bd_parse_int(tok + 6, &n) || n < 1))
            bd_die(BD_EXIT_FAIL, "Error: bad value in '%s'.", tok);
        given.dim = tok[6] ? n : 0;
        return 1;
    }
    if (strncmp(tok, "--fill=", 7)) return 0;
    if (add_fill(tok + 7)) bd_die(BD_EXIT_FAIL, "Error: bad value in '%s'.", tok);
    return 1;
}

/* ---- Values: f16 by hand, normal numbers only -------------------------------------------------------- */

static double from_half(uint16_t h) {
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h >> 15 ? -v : v;
}
static uint16_t to_half(double v) {
    uint16_t sign = v < 0 ? 0x8000 : 0;
    int e;
    double m = frexp(fabs(v), &e);
    if (!(m > 0) || e < -13) return sign;
    if (e > 16) return sign | 0x7bff;
    return (uint16_t)(sign | (e + 14) << 10 | ((int)(m * 2048) & 1023));
}

static double load(const dnnl_tp_tensor_info_t *t, const void *p, int64_t i) {
    union {
        uint32_t u;
        float f;
    } b;
    switch (t->data_type) {
    case dnnl_tp_f32: return (double)((const float *)p)[i];
    case dnnl_tp_f64: return ((const double *)p)[i];
    case dnnl_tp_s32: return ((const int32_t *)p)[i];
    case dnnl_tp_s64: return (double)((const int64_t *)p)[i];
    case dnnl_tp_s8: return ((const int8_t *)p)[i];
    case dnnl_tp_u8:
    case dnnl_tp_boolean: return ((const uint8_t *)p)[i];
    case dnnl_tp_bf16: b.u = (uint32_t)((const uint16_t *)p)[i] << 16; return (double)b.f;
    default: return from_half(((const uint16_t *)p)[i]);
    }
}

static void store(const dnnl_tp_tensor_info_t *t, void *p, int64_t i, double v) {
    union {
        uint32_t u;
        float f;
    } b;
    switch (t->data_type) {
    case dnnl_tp_f32: ((float *)p)[i] = (float)v; break;
    case dnnl_tp_f64: ((double *)p)[i] = v; break;
    case dnnl_tp_s32: ((int32_t *)p)[i] = (int32_t)v; break;
    case dnnl_tp_s64: ((int64_t *)p)[i] = (int64_t)v; break;
    case dnnl_tp_s8: ((int8_t *)p)[i] = (int8_t)v; break;
    case dnnl_tp_u8: ((uint8_t *)p)[i] = (uint8_t)v; break;
    case dnnl_tp_boolean: ((uint8_t *)p)[i] = v != 0; break;
    case dnnl_tp_bf16:
        b.f = (float)v;
        ((uint16_t *)p)[i] = (uint16_t)(b.u >> 16);
        break;
    default: ((uint16_t *)p)[i] = to_half(v);
    }
}

static int64_t elements(const dnnl_tp_tensor_info_t *t) {
    int64_t n = 1;
    for (int d = 0; d < t->ndims; ++d) n *= t->dims[d];
    return n;
}
static size_t bytes_of(const dnnl_tp_tensor_info_t *t) {
    return (size_t)elements(t) * dnnl_tp_data_type_size(t->data_type);
}
static bool is_float(const dnnl_tp_tensor_info_t *t) {
    return t->data_type == dnnl_tp_f32 || t->data_type == dnnl_tp_f64 || t->data_type == dnnl_tp_bf16 ||
           t->data_type == dnnl_tp_f16;
}

/* Numbers between -1 and 1; whole ones from 0 to 4 for integers and for what counts or decides: one element.
 */
static void fill_input(const run_t *r, int i, const char *name) {
    const dnnl_tp_tensor_info_t *t = &r->in_info[i];
    const fill_t *f = NULL;
    for (int k = 0; k < given.nfill; ++k)
        if (!strcmp(given.fill[k].name, name)) f = &given.fill[k];
    bool whole = !is_float(t) || elements(t) == 1;
    double lo = f ? f->lo : whole ? 0 : -1, hi = f ? f->hi : whole ? COUNT_TO : 1;
    bd_rng_t rng = bd_rng(i, elements(t));
    for (int64_t k = 0; k < elements(t); ++k) {
        double unit = bd_rng_unit(&rng);
        if (f && f->ramp) store(t, r->in[i], k, f->lo * (double)k);
        else store(t, r->in[i], k, whole ? lo + floor(unit * (hi - lo + 1)) : lo + unit * (hi - lo));
    }
}

/* ---- Host closures ----------------------------------------------------------------------------------- */

/* Sum of the inputs less one, so that a loop that counts ends; small, so that nothing overflows. */
static dnnl_tp_status_t closure(void *arg, const volatile int *stop, int nin, const dnnl_tp_host_arg_t *in,
                                int nout, const dnnl_tp_host_arg_t *out) {
    (void)arg, (void)stop;
    for (int o = 0; o < nout; ++o)
        for (int64_t k = 0; k < elements(out[o].info); ++k) {
            double v = -1;
            for (int i = 0; i < nin; ++i) {
                int64_t n = elements(in[i].info);
                if (n) v += load(in[i].info, in[i].data, k % n);
            }
            double m = fmod(v, 100);
            store(out[o].info, out[o].data, k, out[o].info->data_type == dnnl_tp_u8 ? fabs(m) : m);
        }
    return dnnl_tp_success;
}

static dnnl_tp_status_t resolve(void *arg, const char *name, int nin, int nout, dnnl_tp_graph_closure_t *c) {
    (void)arg, (void)name, (void)nin, (void)nout;
    c->fn = closure;
    return dnnl_tp_success;
}

/* ---- One graph --------------------------------------------------------------------------------------- */

static dnnl_tp_status_t compile(const run_t *r, int threads, unsigned flags, dnnl_tp_executable_t *e) {
    const_dnnl_tp_stream_attr_t attr;
    dnnl_tp_status_t st = dnnl_tp_stream_get_attr(bd_stream(&bd_ours, threads), &attr);
    dnnl_tp_compile_opts_t o = {.struct_size = sizeof o, .stream_attr = attr, .flags = flags};
    return st ? st : dnnl_tp_executable_compile(e, r->graph, bd_engine(&bd_ours), r->nin, r->in_info, &o);
}

/* A graph that does not end is a result, too. */
static dnnl_tp_status_t execute(run_t *r, dnnl_tp_executable_t e, int threads, void **out,
                                dnnl_tp_run_stats_t *stats, dnnl_tp_trace_t trace) {
    static const int64_t most_ns = (int64_t)60 * 1000000000;
    dnnl_tp_run_opts_t o = {
        .struct_size = sizeof o, .stats = stats, .deadline_ns = bd_now_ns() + most_ns, .trace = trace};
    const bool far = bd_is_far(&bd_ours);
    return dnnl_tp_executable_run(e, bd_stream(&bd_ours, threads), r->nin, far ? r->far_in : r->in, r->nout,
                                  far ? r->far_out : out, &o);
}

/* The tensor in memory of an engine that the host cannot read. */
static dnnl_tp_status_t place_far(int *n, dnnl_tp_memory_t *memory, void **handle, void *data, size_t bytes) {
    dnnl_tp_memory_desc_t md;
    const dnnl_tp_dims_t dims = {(int64_t)bytes};
    dnnl_tp_status_t st = dnnl_tp_memory_desc_create_with_tag(&md, 1, dims, dnnl_tp_u8, dnnl_tp_a);
    if (st) return st;
    st = bd_memory_create(&bd_ours, &memory[*n], md, data, bytes);
    dnnl_tp_memory_desc_destroy(md);
    return st ? st : dnnl_tp_memory_get_data_handle(memory[(*n)++], handle);
}
static dnnl_tp_status_t place_all(run_t *r) {
    dnnl_tp_status_t st = dnnl_tp_success;
    for (int i = 0; i < r->nin && !st; ++i)
        st = place_far(&r->nmem, r->mem, &r->far_in[i], r->in[i], bytes_of(&r->in_info[i]));
    for (int i = 0; i < r->nout && !st; ++i)
        st = place_far(&r->nmem, r->mem, &r->far_out[i], r->out[i], bytes_of(&r->out_info[i]));
    return st;
}
static dnnl_tp_status_t fetch_far(const run_t *r, void **out) {
    dnnl_tp_status_t st = dnnl_tp_success;
    for (int i = 0; i < r->nout && !st; ++i) {
        void *mapped;
        st = dnnl_tp_memory_map_data(r->mem[r->nin + i], &mapped);
        if (st) break;
        memcpy(out[i], mapped, bytes_of(&r->out_info[i]));
        st = dnnl_tp_memory_unmap_data(r->mem[r->nin + i], mapped);
    }
    return st;
}

static dnnl_tp_status_t run_once(run_t *r, int threads, unsigned flags, void **out) {
    dnnl_tp_executable_t e = NULL;
    dnnl_tp_run_stats_t stats = {.struct_size = sizeof stats};
    dnnl_tp_status_t st = compile(r, threads, flags, &e);
    for (int i = 0; i < r->nout && !st; ++i) memset(out[i], 0xff, bytes_of(&r->out_info[i]));
    if (!st) st = execute(r, e, threads, out, &stats, NULL);
    if (!st && bd_is_far(&bd_ours)) st = fetch_far(r, out);
    r->nodes = stats.num_events;
    dnnl_tp_executable_destroy(e);
    return st;
}

/* Relative L2 distance per output. Fusion changes the order of sums and keeps intermediates in f32: 1e-5 is
 * some hundred roundings of f32 that add up, as networks of this size have; bf16 and f16 round every
 * intermediate. */
static double bound(const dnnl_tp_tensor_info_t *t) {
    return t->data_type == dnnl_tp_bf16 ? 3e-2 : t->data_type == dnnl_tp_f16 ? 4e-3 : is_float(t) ? 1e-5 : 0;
}

static long compare(run_t *r, bool bits) {
    long errors = 0;
    for (int i = 0; i < r->nout; ++i) {
        const dnnl_tp_tensor_info_t *t = &r->out_info[i];
        if (bits) {
            errors += memcmp(r->out[i], r->ref[i], bytes_of(t)) != 0;
            continue;
        }
        double d2 = 0, r2 = 0;
        for (int64_t k = 0; k < elements(t); ++k) {
            double a = load(t, r->out[i], k), b = load(t, r->ref[i], k);
            if ((isnan(a) && isnan(b)) || a == b) a = b = isfinite(b) ? b : 0;
            d2 += (a - b) * (a - b);
            r2 += b * b;
        }
        double d = sqrt(d2) / (r2 > 0 ? sqrt(r2) : 1);
        if (d <= bound(t)) continue;
        ++errors;
        printf("output %d: relative L2 distance %g, allowed %g\n", i, d, bound(t));
    }
    return errors;
}

static dnnl_tp_status_t check(run_t *r, long *errors) {
    static const int counts[] = {1, 2, 3, 7};
    dnnl_tp_status_t st = run_once(r, 1, DNNL_TP_COMPILE_NO_FUSION, r->ref);
    if (!st) st = run_once(r, 1, 0, r->out);
    if (st) return st;
    if ((*errors = compare(r, false))) r->why = "other results than without fusion";
    for (int i = 0; i < r->nout; ++i) memcpy(r->ref[i], r->out[i], bytes_of(&r->out_info[i]));
    for (int k = 0; k < 4 && !*errors; ++k) {
        if (bd.pool == BD_POOL_NONE && counts[k] > 1) break;
        if ((st = run_once(r, counts[k], 0, r->out))) return st;
        if ((*errors = compare(r, true))) {
            r->why = "other bits";
            printf("other bits on %d threads than on 1\n", counts[k]);
        }
    }
    return st;
}

static int by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static dnnl_tp_status_t measure(run_t *r) {
    int threads = bd_threads();
    dnnl_tp_executable_t e = NULL;
    dnnl_tp_status_t st = run_once(r, threads, 0, r->out); /* counts nodes */
    if (!st) st = compile(r, threads, 0, &e);
    int64_t *ns = malloc(sizeof *ns * MAX_SAMPLES), end = bd_now_ns() + (int64_t)(bd.max_ms * 1e6);
    int n = 0, want = bd.fix_times ? bd.fix_times : MAX_SAMPLES;
    if (!ns) bd_die(BD_EXIT_FAIL, "Error: out of memory.");
    if (want > MAX_SAMPLES) want = MAX_SAMPLES;
    if (!st) st = execute(r, e, threads, r->out, NULL, NULL);
    while (!st && n < want && (bd.fix_times || n == 0 || bd_now_ns() < end)) {
        int64_t begin = bd_now_ns();
        st = execute(r, e, threads, r->out, NULL, NULL);
        ns[n++] = bd_now_ns() - begin;
    }
    dnnl_tp_executable_destroy(e);
    if (!st) {
        qsort(ns, (size_t)n, sizeof *ns, by_time);
        printf("perf,graph,%d threads,%d nodes,%d runs,median %.3f us,min %.3f us,%.1f ns per node,%s\n",
               threads, r->nodes, n, (double)ns[n / 2] * 1e-3, (double)ns[0] * 1e-3,
               (double)ns[n / 2] / (r->nodes ? r->nodes : 1), r->repro);
        bd_stat.perf_min_ms += (double)ns[0] * 1e-6;
        bd_stat.perf_avg_ms += (double)ns[n / 2] * 1e-6;
    }
    free(ns);
    return st;
}

/* Some runs after a first one, as they are measured, and what they did when. */
static dnnl_tp_status_t trace(run_t *r) {
    int threads = bd_threads();
    dnnl_tp_executable_t e = NULL;
    dnnl_tp_trace_t t = NULL;
    dnnl_tp_status_t st = compile(r, threads, 0, &e);
    if (!st) st = dnnl_tp_trace_create(&t, NULL);
    for (int i = 0; i <= TRACED_RUNS && !st; ++i) st = execute(r, e, threads, r->out, NULL, i ? t : NULL);
    if (!st) st = dnnl_tp_trace_write(t, given.trace, DNNL_TP_TRACE_BY_NAME);
    dnnl_tp_trace_destroy(t);
    dnnl_tp_executable_destroy(e);
    return st;
}

/* Shapes, buffers, values. */
static dnnl_tp_status_t prepare(run_t *r) {
    int nin, nout;
    const char *name;
    dnnl_tp_value_t v;
    dnnl_tp_status_t st = dnnl_tp_graph_get_counts(r->graph, &nin, &nout);
    if (st) return st;
    if (nin > MAX_TENSORS || nout > MAX_TENSORS)
        bd_die(BD_EXIT_FAIL, "Error: a graph with more than %d inputs or outputs.", MAX_TENSORS);
    for (r->nin = 0; r->nin < nin; ++r->nin) {
        dnnl_tp_tensor_info_t *t = &r->in_info[r->nin];
        if ((st = dnnl_tp_graph_get_input(r->graph, r->nin, &v, &name))) return st;
        if ((st = dnnl_tp_graph_value_info(r->graph, v, t))) return st;
        for (int d = 0; d < t->ndims; ++d)
            if (t->dims[d] == DNNL_TP_RUNTIME_DIM_VAL) t->dims[d] = given.dim ? given.dim : default_dim;
        if (bd.mem_check && (double)bytes_of(t) > bd_ram_bytes() / 4) return dnnl_tp_out_of_memory;
        r->in[r->nin] = bd_alloc(bytes_of(t) + 1, 64);
        fill_input(r, r->nin, name);
    }
    dnnl_tp_executable_t e;
    if ((st = compile(r, 1, DNNL_TP_COMPILE_NO_FUSION, &e))) return st;
    for (; r->nout < nout && !st; ++r->nout) {
        dnnl_tp_tensor_info_t *t = &r->out_info[r->nout];
        if ((st = dnnl_tp_graph_get_output(r->graph, r->nout, &v, NULL))) break;
        if ((st = dnnl_tp_executable_query(e, v, t))) break;
        r->out[r->nout] = bd_alloc(bytes_of(t) + 1, 64);
        r->ref[r->nout] = bd_alloc(bytes_of(t) + 1, 64);
    }
    dnnl_tp_executable_destroy(e);
    return !st && bd_is_far(&bd_ours) ? place_all(r) : st;
}

/* "# benchdnn: --dim=4 --fill=x:0:1" among the first lines: options of the file, unless the command line has
 * some. */
static void read_marker(const char *path) {
    char line[BD_TEXT], token[256];
    FILE *f = fopen(path, "r");
    for (int n = 0; f && n < MARKER_LINES && fgets(line, sizeof line, f); ++n) {
        static const char marker[] = "# benchdnn:";
        if (strncmp(line, marker, sizeof marker - 1)) continue;
        int used;
        for (const char *p = line + sizeof marker - 1; sscanf(p, " %255s%n", token, &used) == 1; p += used)
            if (!option(token)) bd_die(BD_EXIT_FAIL, "Error: %s: unknown option '%s'.", path, token);
    }
    if (f) fclose(f);
}

static void find_file(const char *name, char *path, size_t size) {
    *path = 0;
    bd_cat(path, size, "%s", name);
    FILE *f = fopen(path, "r");
    if (!f) {
        *path = 0;
        bd_cat(path, size, "%s/inputs/graph/%s", bd_exe_dir, name);
        f = fopen(path, "r");
    }
    if (f) fclose(f);
    else *path = 0, bd_cat(path, size, "%s", name);
}

static void run_file(const char *name) {
    static run_t r;
    char path[BD_TEXT];
    memset(&r, 0, sizeof r);
    find_file(name, path, sizeof path);
    if (!given.dim && !given.nfill) read_marker(path);
    if (bd.mode != 'C') bd_cat(r.repro, sizeof r.repro, "--mode=%c ", bd.mode);
    if (bd.threads) bd_cat(r.repro, sizeof r.repro, "--threads=%d ", bd.threads);
    if (given.dim) bd_cat(r.repro, sizeof r.repro, "--dim=%lld ", (long long)given.dim);
    for (int k = 0; k < given.nfill; ++k) bd_cat(r.repro, sizeof r.repro, "--fill=%s ", given.fill[k].text);
    bd_cat(r.repro, sizeof r.repro, "--graph=%s", name);
    double start = bd_now();
    long errors = 0;
    dnnl_tp_graph_read_opts_t o = {.struct_size = sizeof o, .resolve = resolve};
    dnnl_tp_status_t st = dnnl_tp_graph_read_v2(&r.graph, path, &o);
    bd_state_t state = BD_PASSED;
    if (bd.mode == 'L') state = BD_LISTED;
    else if (!st) st = prepare(&r);
    if (!st && (bd.mode == 'C' || bd.mode == 'B')) st = check(&r, &errors);
    else if (!st && strchr("PFS", bd.mode)) st = measure(&r);
    else if (!st && bd.mode == 'R') st = run_once(&r, bd_threads(), 0, r.out);
    if (!st && *given.trace && strchr("CBPFSR", bd.mode)) st = trace(&r);
    if (bd.mode == 'I') state = BD_INITIALIZED;
    if (bd.mode == 'R') state = BD_EXECUTED;
    if (st) printf("%s: %s\n", dnnl_tp_status2str(st), dnnl_tp_last_error());
    if (st == dnnl_tp_unimplemented) state = BD_UNIMPLEMENTED;
    else if (st || errors) state = BD_FAILED;
    bd_report(state, st ? dnnl_tp_status2str(st) : r.why, errors, r.nout, (bd_now() - start) * 1e3, r.repro);
    dnnl_tp_graph_destroy(r.graph);
    for (int i = 0; i < r.nmem; ++i) dnnl_tp_memory_destroy(r.mem[i]);
    for (int i = 0; i < r.nin; ++i) bd_free(r.in[i]);
    for (int i = 0; i < r.nout; ++i) bd_free(r.out[i]), bd_free(r.ref[i]);
}

int bd_graph_token(const char *tok) {
    if (option(tok)) return 1;
    if (!strncmp(tok, "--trace=", 8)) { /* never from a file: it names one to write */
        *given.trace = 0;
        bd_cat(given.trace, sizeof given.trace, "%s", tok + 8);
        return 1;
    }
    if (strncmp(tok, "--graph=", 8) || !tok[8]) return 0;
    run_file(tok + 8);
    return 1;
}
