/* The f32 gemm call and what all gemm calls share. No engine: instruction set and caches are the process's.
 */
#include "cpu/engine/cpu_engine.h"
#include "cpu/blas/gemm_api.h"
#include "cpu/gemm/gemm.h"
#include "threading/streams/stream_attr.h"

/* ---- Shared ------------------------------------------------------------------------------------------ */

static dnnl_tp_status_t gemm_letter(char letter, const char *what, bool *trans) {
    *trans = letter == 'T' || letter == 't';
    DTP_REQUIRE(*trans || letter == 'N' || letter == 'n', BAD_ENUM, "%s is '%c', needed is N or T", what,
                letter);
    return dnnl_tp_success;
}

static dnnl_tp_status_t gemm_leading(int64_t ld, int64_t columns, const char *what) {
    DTP_REQUIRE(ld >= dtp_max64(columns, 1), BAD_STRIDES, "%s is %lld, needed are %lld", what, (long long)ld,
                (long long)dtp_max64(columns, 1));
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_gemm_check(dtp_gemm_sizes_t *s, char transa, char transb, int64_t m, int64_t n,
                                int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb,
                                const void *c, int64_t ldc) {
    DTP_REQUIRE(a && b && c, NULL_ARG, "%s is NULL", !a ? "A" : !b ? "B" : "C");
    DTP_TRY(gemm_letter(transa, "transa", &s->trans_a));
    DTP_TRY(gemm_letter(transb, "transb", &s->trans_b));
    DTP_REQUIRE(m >= 0 && n >= 0 && k >= 0, BAD_DIMS, "M %lld, N %lld, K %lld", (long long)m, (long long)n,
                (long long)k);
    DTP_TRY(gemm_leading(lda, s->trans_a ? m : k, "lda"));
    DTP_TRY(gemm_leading(ldb, s->trans_b ? k : n, "ldb"));
    DTP_TRY(gemm_leading(ldc, n, "ldc"));
    s->m = m, s->n = n, s->k = k;
    s->lda = lda, s->ldb = ldb, s->ldc = ldc;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_gemm_on_pool(const dnnl_tp_threadpool_iface_t *pool, dtp_gemm_body_t body, void *arg) {
    dtp_parallel_t par = {.num_threads = 1};
    if (!pool) return body(arg, &par);
    dnnl_tp_stream_attr_t attr;
    DTP_TRY(dnnl_tp_stream_attr_create(&attr, dnnl_tp_cpu));
    dtp_pool_t *record = NULL;
    dnnl_tp_status_t status = dnnl_tp_stream_attr_set_threadpool(attr, pool);
    if (status == dnnl_tp_success) status = dtp_pool_acquire(&record, attr);
    if (status == dnnl_tp_success) {
        par.pool = record;
        par.num_threads = record ? dtp_pool_num_threads(record) : 1;
        status = body(arg, &par);
    }
    dtp_pool_release(record);
    if (dnnl_tp_stream_attr_destroy(attr) != dnnl_tp_success) return dnnl_tp_runtime_error;
    return status;
}

/* ---- sgemm ------------------------------------------------------------------------------------------- */

typedef struct {
    dtp_gemm_sizes_t s;
    float alpha, beta;
    const float *a, *b;
    float *c;
    const dtp_vops_t *vops;
} sgemm_t;

/* alpha other than 1: C = alpha * tile + beta * C. */
static void sgemm_finish(const void *arg, int64_t batch, float *tile, int64_t ld, int64_t row0, int64_t rows,
                         int64_t col0, int64_t cols) {
    const sgemm_t *x = arg;
    (void)batch;
    for (int64_t i = 0; i < rows; ++i) {
        float *c = x->c + (row0 + i) * x->s.ldc + col0, *t = tile + i * ld;
        x->vops->scale_shift(t, cols, x->alpha, 0);
        if (x->beta != 0) x->vops->axpy(t, ld, c, x->s.ldc, 1, cols, x->beta, 0);
        memcpy(c, t, sizeof(float) * (size_t)cols);
    }
}

static dnnl_tp_status_t sgemm_body(void *arg, const dtp_parallel_t *par) {
    sgemm_t *x = arg;
    const dtp_gemm_sizes_t *s = &x->s;
    const unsigned isa = dtp_cpu_process_isa();
    x->vops = dtp_vops(isa);
    dtp_gemm_t g;
    memset(&g, 0, sizeof g);
    g.ukr = dtp_ukr_set(dnnl_tp_f32, dnnl_tp_f32, dnnl_tp_f32, isa);
    g.l2_bytes = dtp_cpu_cache_bytes(2);
    g.num_threads = par->num_threads;
    const bool a_columns = s->trans_a && s->k > 1 && s->m > 1;
    g.a_form = a_columns ? DTP_GEMM_A_TRANS : DTP_GEMM_A_DIRECT;
    g.sam = (s->trans_a ? 1 : s->lda) * 4;
    g.sak = (s->trans_a ? s->lda : 1) * 4;
    if (s->trans_a && s->m == 1) g.a_form = s->k > 1 && s->lda > 1 ? DTP_GEMM_A_ANY : DTP_GEMM_A_DIRECT;
    g.b_form = s->trans_b ? DTP_GEMM_B_TRANS : DTP_GEMM_B_PLAIN;
    g.sbk = (s->trans_b ? 1 : s->ldb) * 4;
    g.sbn = (s->trans_b ? s->ldb : 1) * 4;
    g.scm = s->ldc * 4;
    g.tiled = x->alpha != 1 && x->alpha != 0 && s->k > 0;
    if (!g.tiled && x->beta != 0) {
        g.has_add = g.add_is_c = true;
        g.add_scale = x->beta;
    }
    dtp_gemm_set_shape(&g, s->m, s->n, x->alpha == 0 ? 0 : s->k);
    const size_t per_slot = dtp_round_up_size(dtp_gemm_scratch_per_slot(&g), DTP_CACHE_LINE);
    const size_t slots = g.alone ? 1 : (size_t)par->num_threads;
    char *scratch = NULL;
    if (per_slot) {
        scratch = dtp_alloc(NULL, per_slot * slots, DTP_CACHE_LINE);
        if (!scratch) return dtp_no_memory(per_slot * slots);
    }
    const dtp_gemm_ptrs_t p = {(const char *)x->a, (const char *)x->b, (char *)x->c, NULL, NULL};
    dtp_gemm_run(&g, &p, par, scratch, per_slot, sgemm_finish, x);
    dtp_free(NULL, scratch);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_sgemm_tp(char transa, char transb, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K,
                                  float alpha, const float *A, dnnl_tp_dim_t lda, const float *B,
                                  dnnl_tp_dim_t ldb, float beta, float *C, dnnl_tp_dim_t ldc,
                                  const dnnl_tp_threadpool_iface_t *pool) {
    sgemm_t x = {.alpha = alpha, .beta = beta, .a = A, .b = B, .c = C};
    DTP_TRY(dtp_gemm_check(&x.s, transa, transb, M, N, K, A, lda, B, ldb, C, ldc));
    if (M == 0 || N == 0) return dnnl_tp_success;
    DTP_RETURN(dtp_gemm_on_pool(pool, sgemm_body, &x));
}

dnnl_tp_status_t dnnl_tp_sgemm(char transa, char transb, dnnl_tp_dim_t M, dnnl_tp_dim_t N, dnnl_tp_dim_t K,
                               float alpha, const float *A, dnnl_tp_dim_t lda, const float *B,
                               dnnl_tp_dim_t ldb, float beta, float *C, dnnl_tp_dim_t ldc) {
    DTP_RETURN(dnnl_tp_sgemm_tp(transa, transb, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc, NULL));
}
