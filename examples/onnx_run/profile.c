/* See profile.h. */
#include "profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peak.h"
#include "sentence_encoder/output.h"

/* Times are those of the layer itself, on the thread that leads it. */
static void put_layer(FILE *f, const dnnl_tp_trace_stat_t *s, double all_ns, double peak) {
    const double rate = s->total_ns ? s->flops / (double)s->total_ns : 0,
                 bytes = s->count ? s->bytes / (double)s->count : 0;
    char what[96];
    (void)snprintf(what, sizeof what, "%s%s%s", s->op, *s->fused ? " + " : "", s->fused);
    fprintf(f, "%10.2f %6.2f%% %6lld %8.1f ", (double)s->self_ns * 1e-3 / (double)s->count,
            100. * (double)s->self_ns / all_ns, (long long)s->count, rate);
    if (peak > 0 && rate > 0) fprintf(f, "%5.1f%% ", 100. * rate / peak);
    else fprintf(f, "%6s ", "-");
    fprintf(f, "%9.3f %7.1f  %-14s %-28.28s %-40s %s\n", bytes * 1e-6,
            s->total_ns ? s->bytes / (double)s->total_ns : 0, *s->impl ? s->impl : "-", what, s->shape,
            s->name);
}

static void put_table(FILE *f, const job_t *j, const dnnl_tp_trace_stat_t *stat, int n) {
    const options_t *o = j->model->o;
    const double peak = peak_gflops(o->threads), runs = (double)o->repeat * o->clients;
    double all_ns = 0, flops = 0, bytes = 0, run_ns = 0;
    int layers = 0;
    for (int i = 0; i < n; ++i) {
        if (stat[i].kind == dnnl_tp_trace_run) run_ns += (double)stat[i].total_ns;
        if (stat[i].kind != dnnl_tp_trace_node) continue;
        all_ns += (double)stat[i].self_ns;
        flops += stat[i].flops;
        bytes += stat[i].bytes;
        ++layers;
    }
    fprintf(f, "%10s %7s %6s %8s %6s %9s %7s  %-14s %-28s %-40s %s\n", "us", "share", "runs", "GFLOP/s",
            "peak", "MB", "GB/s", "implementation", "operators", "shape", "name");
    for (int i = 0; i < n; ++i)
        if (stat[i].kind == dnnl_tp_trace_node) put_layer(f, &stat[i], all_ns > 0 ? all_ns : 1, peak);
    fprintf(f, "%d layers: %.2f us of a run's %.2f us, %.3f GFLOP, %.1f GFLOP/s", layers,
            all_ns * 1e-3 / runs, run_ns * 1e-3 / runs, flops * 1e-9 / runs, run_ns > 0 ? flops / run_ns : 0);
    if (peak > 0)
        fprintf(f, " (%.1f%% of %.0f, the peak of %d thread%s in f32)",
                run_ns > 0 ? 100. * flops / run_ns / peak : 0, peak, o->threads, o->threads > 1 ? "s" : "");
    fprintf(f, ", %.2f MB moved\n", bytes * 1e-6 / runs);
}

int profile_write(const job_t *j, se_error_t *error) {
    const char *path = j->model->o->profile;
    int n = 0, most;
    if (dnnl_tp_trace_get_stats(j->model->trace, 0, NULL, &most))
        return se_fail(error, "--profile: %s", dnnl_tp_last_error());
    dnnl_tp_trace_stat_t *stat = calloc((size_t)most + 1, sizeof *stat);
    if (!stat) return se_fail_memory(error);
    int status = dnnl_tp_trace_get_stats(j->model->trace, most, stat, &n)
                     ? se_fail(error, "--profile: %s", dnnl_tp_last_error())
                     : 0;
    if (n > most) n = most;
    se_output_t out;
    if (!status && !strcmp(path, "-")) {
        put_table(j->model->o->text, j, stat, n); /* an array may have standard output for itself */
    } else if (!status && !(status = se_output_open(&out, path, error))) {
        put_table(out.file, j, stat, n);
        status = se_output_commit(&out, error);
    }
    free(stat);
    return status;
}

/* Bytes that the process had at most; ru_maxrss also counts what its parent had. */
static double most_held(void) {
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
    if (f) (void)fclose(f);
    return (double)kib * 1024;
}

int profile_memory(const job_t *j, se_error_t *error) {
    const_dnnl_tp_executable_t exe;
    dnnl_tp_executable_memory_t m = {.struct_size = sizeof m};
    if (dnnl_tp_onnx_call_compiled(j->call, NULL, &exe) || dnnl_tp_executable_memory(exe, &m))
        return se_fail(error, "%s: %s", j->model->path, dnnl_tp_last_error());
    fprintf(j->model->o->text,
            "memory: intermediates %.3f MB (side by side %.3f, at least %.3f), a run %.3f MB; the process so "
            "far %.1f MB\n",
            (double)m.peak * 1e-6, (double)m.sum * 1e-6, (double)m.least * 1e-6, (double)m.run * 1e-6,
            most_held() * 1e-6);
    return 0;
}
