/* State and small services shared by the whole harness: global options, statistics, timers, text
 * buffers.
 *
 * benchdnn uses the public API only. Read next: prb.h (problems), run.c (how a problem is run). */
#ifndef BD_BENCH_H
#define BD_BENCH_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "dnnl_tp/dnnl_tp.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "common/timing.h"

#define BD_MAX_NDIMS DNNL_TP_MAX_NDIMS
#define BD_TEXT 4096 /* longest repro line, template or message */

typedef enum { BD_OK = 0, BD_FAIL = 1 } bd_res_t;

/* Exit codes of the program. */
enum { BD_EXIT_OK = 0, BD_EXIT_FAIL = 1, BD_EXIT_USAGE = 2 };

typedef enum {
    BD_PASSED,
    BD_SKIPPED,
    BD_MISTRUSTED,
    BD_UNIMPLEMENTED,
    BD_INVALID_ARGUMENTS,
    BD_FAILED,
    BD_LISTED,
    BD_EXECUTED,
    BD_INITIALIZED,
    BD_N_STATES
} bd_state_t;

typedef enum { BD_COLD_NONE, BD_COLD_WEI, BD_COLD_ALL, BD_COLD_CUSTOM } bd_cold_t;
typedef enum { BD_POOL_BUILTIN, BD_POOL_ASYNC, BD_POOL_NONE } bd_pool_t;
typedef enum { BD_MEASURE_EXEC, BD_MEASURE_CREATE, BD_MEASURE_HANDLES } bd_measure_t;

typedef enum {
    BD_T_CREATE_PD,
    BD_T_CREATE_PRIM,
    BD_T_FILL,
    BD_T_EXECUTE,
    BD_T_REF,
    BD_T_COMPARE,
    BD_N_TIMERS
} bd_timer_t;

typedef struct {
    char mode; /* one of LIRCPFSB */
    bool mod_parallel, mod_no_ref;
    int verbose;
    double max_ms;
    int fix_times, repeats, num_streams;
    bd_cold_t cold;
    char cold_text[32];
    bool mem_check, enum_tags_only, same_pd_check, check_ref_impl, allow_unimpl, canonical;
    char impl[256], skip_impl[256], global_impl[256], global_skip_impl[256];
    char match[256];
    regex_t match_re;
    double max_gops; /* problems with more operations are skipped; 0 = no limit */
    long start;
    bool sum_failures, sum_impl, sum_impl_csv;
    dnnl_tp_engine_kind_t engine_kind; /* ours; the peer's is the CPU */
    size_t engine_index;
    char buffer_prefix[256], execution_mode[16], isa_hints[16], engine_text[16], memory_kind[32],
        stream_kind[16];
    /* Options that the peer's benchdnn does not have. */
    char isa[16];
    bd_pool_t pool;
    int threads; /* 0 = all threads that the process may use */
    char peer[512], peer_wait[16];
    char klass[64];
    bd_measure_t measure;
    char perf_csv[512];
    bool subject_peer; /* the peer is tested in place of our library, to check the harness */
} bd_options_t;

extern bd_options_t bd;

/* ---- Statistics (summary.c) -------------------------------------------------------------------------- */
typedef struct {
    long tests, n[BD_N_STATES];
    double t[BD_N_TIMERS], perf_min_ms, perf_avg_ms, start_s;
} bd_stat_t;
extern bd_stat_t bd_stat;

void bd_stat_impl(const char *impl);
void bd_stat_failure(const char *line);
/* One row of the comparison with the peer. apart: reason to leave it out of the figures of its
 * class, or NULL. */
void bd_stat_ratio(const char *klass, double ratio, double lo, double hi, double ours_us, double peer_us,
                   const char *apart, const char *prb, const char *peer_impl);
void bd_stat_print(void);
long bd_stat_failures(void); /* problems so far that make the program fail */
/* Prints "N:STATE (reason) ... __REPRO: ..." and counts. */
void bd_report(bd_state_t state, const char *reason, long errors, long total, double ms, const char *repro);

/* ---- Services (util.c) ------------------------------------------------------------------------------- */
void *bd_alloc(size_t bytes, size_t align);
void bd_free(void *p);
void bd_die(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));
/* Appends to a bounded text. */
void bd_cat(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int bd_process_threads(void);
double bd_ram_bytes(void);

#endif
