/* The int8 gemm calls. Without AVX-512 VNNI (gemm_u8s8.c) and for very long sums: offsets are subtracted
 * while packing to s16, products are summed in s32, passes over k in s64, so no sum overflows; then one
 * rounding from double. Tiles of C are the units of work. */
#include "cpu/engine/cpu_engine.h"
#include "cpu/blas/gemm_int8.h"
#include "common/base/scalar.h"
#include "cpu/ukr/ukr_s16.h"

enum {
    TILE_M = 128,
    TILE_N = 128,
    K_PASS = 1024, /* 2 * 255 * 255 * 512 fits s32 */
    A_BYTES = TILE_M * K_PASS * 2,
    B_BYTES = TILE_N * K_PASS * 2,
    SUM_BYTES = TILE_M * TILE_N * 8,
    SLOT_BYTES = A_BYTES + B_BYTES + SUM_BYTES
};

/* What a tile is computed with. */
typedef struct {
    const dtp_gemm8_t *x;
    dtp_ukr_s16_fn_t fn;
    int64_t tiles_n;
    char *scratch;
} gemm8_t;

static void gemm8_pack_a(const dtp_gemm8_t *x, int16_t *to, int64_t m0, int64_t rows, int64_t k0, int64_t k) {
    const int64_t pairs = dtp_div_up(k, 2);
    const int64_t sm = x->s.trans_a ? 1 : x->s.lda, sk = x->s.trans_a ? x->s.lda : 1;
    for (int64_t i = 0; i < rows; ++i, to += 2 * pairs) {
        const uint8_t *from = x->a + (m0 + i) * sm + k0 * sk;
        if (x->a_signed)
            for (int64_t j = 0; j < k; ++j) to[j] = (int16_t)((int8_t)from[j * sk] - x->ao);
        else
            for (int64_t j = 0; j < k; ++j) to[j] = (int16_t)(from[j * sk] - x->ao);
        if (k % 2) to[k] = 0;
    }
}

static void gemm8_pack_b(const dtp_gemm8_t *x, int16_t *to, int64_t n0, int64_t cols, int64_t k0, int64_t k) {
    const int64_t pairs = dtp_div_up(k, 2);
    const int64_t sk = x->s.trans_b ? 1 : x->s.ldb, sn = x->s.trans_b ? x->s.ldb : 1;
    for (int64_t n = 0; n < cols; n += 16, to += 32 * pairs) {
        const int64_t width = dtp_min64(16, cols - n);
        if (width < 16 || k % 2) memset(to, 0, (size_t)pairs * 64);
        const int8_t *from = x->b + (n0 + n) * sn + k0 * sk;
        for (int64_t j = 0; j < k; ++j)
            for (int64_t l = 0; l < width; ++l)
                to[j / 2 * 32 + 2 * l + j % 2] = (int16_t)(from[j * sk + l * sn] - x->bo);
    }
}

static void gemm8_store(const dtp_gemm8_t *x, const int64_t *sum, int64_t m0, int64_t rows, int64_t n0,
                        int64_t cols) {
    for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) {
            int32_t *c = x->c + (m0 + i) * x->s.ldc + n0 + j;
            double v = (double)x->alpha * (double)sum[i * TILE_N + j];
            if (x->beta != 0) v += (double)x->beta * *c;
            v += x->offsetc == 'F' ? x->co[0] : x->offsetc == 'C' ? x->co[m0 + i] : x->co[n0 + j];
            *c = (int32_t)dtp_saturate(v, INT32_MIN, INT32_MAX);
        }
}

/* for each tile of C: sum over the passes, then round */
static void gemm8_loop(void *arg, int slot, int64_t begin, int64_t end) {
    const gemm8_t *g = arg;
    const dtp_gemm8_t *x = g->x;
    char *scratch = g->scratch + (size_t)slot * SLOT_BYTES;
    int16_t *a = (int16_t *)(void *)scratch, *b = (int16_t *)(void *)(scratch + A_BYTES);
    int64_t *sum = (int64_t *)(void *)(scratch + A_BYTES + B_BYTES);
    for (int64_t t = begin; t < end; ++t) {
        const int64_t m0 = t / g->tiles_n * TILE_M, n0 = t % g->tiles_n * TILE_N;
        const int64_t rows = dtp_min64(TILE_M, x->s.m - m0), cols = dtp_min64(TILE_N, x->s.n - n0);
        for (int64_t k0 = 0; k0 < x->s.k; k0 += K_PASS) {
            const int64_t k = dtp_min64(K_PASS, x->s.k - k0), pairs = dtp_div_up(k, 2);
            gemm8_pack_a(x, a, m0, rows, k0, k);
            gemm8_pack_b(x, b, n0, cols, k0, k);
            for (int64_t n = 0; n < cols; n += 16)
                for (int64_t i = 0; i < rows; i += DTP_UKR_S16_MR) {
                    int32_t part[DTP_UKR_S16_MR * 16];
                    const int mr = (int)dtp_min64(DTP_UKR_S16_MR, rows - i);
                    g->fn(mr, (const char *)(a + i * 2 * pairs), 4 * pairs, b + n / 16 * 32 * pairs, pairs,
                          part);
                    for (int r = 0; r < mr; ++r) {
                        int64_t *to = sum + (i + r) * TILE_N + n;
                        for (int j = 0; j < 16; ++j) to[j] = part[16 * r + j] + (k0 ? to[j] : 0);
                    }
                }
        }
        gemm8_store(x, sum, m0, rows, n0, cols);
    }
}

static dnnl_tp_status_t gemm8_body(void *arg, const dtp_parallel_t *par) {
    const dtp_gemm8_t *x = arg;
    const unsigned isa = dtp_cpu_process_isa();
    gemm8_t g = {.x = x, .fn = dtp_ukr_s16__ref, .tiles_n = dtp_div_up(x->s.n, TILE_N)};
#if DTP_X64
    if ((isa & DTP_ISA_AVX512_VNNI) && x->s.k <= DTP_GEMM_U8S8_MAX_K) return dtp_gemm_u8s8(x, par);
    if (isa & DTP_ISA_AVX2) g.fn = dtp_ukr_s16__avx2;
    if (isa & DTP_ISA_AVX512) g.fn = dtp_ukr_s16__avx512;
#else
    (void)isa;
#endif
    const int64_t tiles = dtp_div_up(x->s.m, TILE_M) * g.tiles_n;
    const double ns =
        2e-2 * (double)dtp_min64(x->s.m, TILE_M) * (double)dtp_min64(x->s.n, TILE_N) * (double)x->s.k;
    const bool alone = par->num_threads < 2 || tiles < 2;
    const size_t bytes = (size_t)(alone ? 1 : par->num_threads) * SLOT_BYTES;
    g.scratch = dtp_alloc(NULL, bytes, DTP_CACHE_LINE);
    if (!g.scratch) return dtp_no_memory(bytes);
    if (alone) gemm8_loop(&g, 0, 0, tiles);
    else dtp_parallel_for(par, tiles, -(int64_t)(ns + 1), gemm8_loop, &g);
    dtp_free(NULL, g.scratch);
    return dnnl_tp_success;
}

static dnnl_tp_status_t gemm8(dtp_gemm8_t *x, char transa, char transb, char offsetc, int64_t m, int64_t n,
                              int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                              const dnnl_tp_threadpool_iface_t *pool) {
    DTP_TRY(dtp_gemm_check(&x->s, transa, transb, m, n, k, x->a, lda, x->b, ldb, x->c, ldc));
    DTP_REQUIRE(x->co, NULL_ARG, "co is NULL");
    x->offsetc = offsetc >= 'a' && offsetc <= 'z' ? (char)(offsetc - 'a' + 'A') : offsetc;
    DTP_REQUIRE(x->offsetc == 'F' || x->offsetc == 'C' || x->offsetc == 'R', BAD_ENUM,
                "offsetc is '%c', needed is F, C or R", offsetc);
    if (m == 0 || n == 0 || k == 0) return dnnl_tp_success;
    return dtp_gemm_on_pool(pool, gemm8_body, x);
}

dnnl_tp_status_t dnnl_tp_gemm_u8s8s32_tp(char transa, char transb, char offsetc, dnnl_tp_dim_t M,
                                         dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha, const uint8_t *A,
                                         dnnl_tp_dim_t lda, uint8_t ao, const int8_t *B, dnnl_tp_dim_t ldb,
                                         int8_t bo, float beta, int32_t *C, dnnl_tp_dim_t ldc,
                                         const int32_t *co, const dnnl_tp_threadpool_iface_t *pool) {
    dtp_gemm8_t x = {.alpha = alpha, .beta = beta, .a = A, .b = B, .c = C, .co = co, .ao = ao, .bo = bo};
    DTP_RETURN(gemm8(&x, transa, transb, offsetc, M, N, K, lda, ldb, ldc, pool));
}

dnnl_tp_status_t dnnl_tp_gemm_s8s8s32_tp(char transa, char transb, char offsetc, dnnl_tp_dim_t M,
                                         dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha, const int8_t *A,
                                         dnnl_tp_dim_t lda, int8_t ao, const int8_t *B, dnnl_tp_dim_t ldb,
                                         int8_t bo, float beta, int32_t *C, dnnl_tp_dim_t ldc,
                                         const int32_t *co, const dnnl_tp_threadpool_iface_t *pool) {
    dtp_gemm8_t x = {
        .alpha = alpha, .beta = beta, .a = (const uint8_t *)A, .b = B, .c = C, .co = co, .ao = ao, .bo = bo};
    x.a_signed = true;
    DTP_RETURN(gemm8(&x, transa, transb, offsetc, M, N, K, lda, ldb, ldc, pool));
}

dnnl_tp_status_t dnnl_tp_gemm_u8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t M,
                                      dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha, const uint8_t *A,
                                      dnnl_tp_dim_t lda, uint8_t ao, const int8_t *B, dnnl_tp_dim_t ldb,
                                      int8_t bo, float beta, int32_t *C, dnnl_tp_dim_t ldc,
                                      const int32_t *co) {
    DTP_RETURN(dnnl_tp_gemm_u8s8s32_tp(transa, transb, offsetc, M, N, K, alpha, A, lda, ao, B, ldb, bo, beta,
                                       C, ldc, co, NULL));
}

dnnl_tp_status_t dnnl_tp_gemm_s8s8s32(char transa, char transb, char offsetc, dnnl_tp_dim_t M,
                                      dnnl_tp_dim_t N, dnnl_tp_dim_t K, float alpha, const int8_t *A,
                                      dnnl_tp_dim_t lda, int8_t ao, const int8_t *B, dnnl_tp_dim_t ldb,
                                      int8_t bo, float beta, int32_t *C, dnnl_tp_dim_t ldc,
                                      const int32_t *co) {
    DTP_RETURN(dnnl_tp_gemm_s8s8s32_tp(transa, transb, offsetc, M, N, K, alpha, A, lda, ao, B, ldb, bo, beta,
                                       C, ldc, co, NULL));
}
