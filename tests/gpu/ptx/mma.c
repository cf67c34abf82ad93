/* Matrix instructions of a whole warp: mma, ldmatrix, movmatrix. Sums are exact or in double, rounded once. */
#include <string.h>
#include "internal.h"

enum { M = 16, N = 8, MAX_K = 32, MATRIX_ROWS = 8, MATRIX_ROW_BYTES = 16 };

static bool whole_warp(warp_t *w, const insn_t *in, uint32_t mask) {
    if (mask != ALL_LANES) return ptx_trap(w, in, -1, "not all lanes are there (%08x are)", mask);
    return ptx_sources_set(w, in, mask);
}

static int elements(type_t type) { return type == T_TF32 ? 1 : type == T_S8 || type == T_U8 ? 4 : 2; }

/* Element e of a register. */
static double element(uint32_t r, type_t type, int e) {
    switch (type) {
    case T_F16: return (double)ptx_f16_to_f32(r >> 16 * e & 0xffff);
    case T_BF16: return (double)ptx_bf16_to_f32(r >> 16 * e & 0xffff);
    case T_S8: return (int8_t)(r >> 8 * e);
    case T_U8: return (uint8_t)(r >> 8 * e);
    default: return (double)ptx_bits_f32(r & ~UINT32_C(0x1fff)); /* tf32: the low bits are not read */
    }
}

/* Lane l holds, in register r: of a, row l/4 + 8 (r odd), of b, column l/4; along k from e (l%4) + 4 e (r/2 of a, r of b) on,
 * for e elements in a register. */
static void load_a(const warp_t *w, const insn_t *in, int n_a, double a[M][MAX_K]) {
    type_t type = (type_t)in->type;
    int e = elements(type);
    for (int r = 0; r < n_a; ++r)
        for (int l = 0; l < LANES; ++l)
            for (int i = 0; i < e; ++i)
                a[l / 4 + r % 2 * 8][e * (l % 4) + r / 2 * 4 * e + i] =
                    element(ptx_source(w, in, r)->u32[l], type, i);
}

static void load_b(const warp_t *w, const insn_t *in, int n_a, int n_b, double b[MAX_K][N]) {
    type_t type = (type_t)in->op2;
    int e = elements(type);
    for (int r = 0; r < n_b; ++r)
        for (int l = 0; l < LANES; ++l)
            for (int i = 0; i < e; ++i)
                b[e * (l % 4) + r * 4 * e + i][l / 4] = element(ptx_source(w, in, n_a + r)->u32[l], type, i);
}

/* Element (row, col) of c and d: lane 4 (row%8) + col/2, register 2 (row/8) + col%2, or half col%2 of register row/8. */
static double load_c(const warp_t *w, const insn_t *in, int first, int row, int col) {
    int lane = row % 8 * 4 + col / 2;
    if (in->type2 == T_F16) return element(ptx_source(w, in, first + row / 8)->u32[lane], T_F16, col % 2);
    const lanes_t *c = ptx_source(w, in, first + row / 8 * 2 + col % 2);
    return in->type2 == T_F32 ? (double)c->f32[lane] : c->s32[lane];
}

static uint32_t int_result(double x, bool saturate) {
    if (saturate) return (uint32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int32_t)x);
    return (uint32_t)(int64_t)x;
}

static void store_d(const insn_t *in, lanes_t d[4], int row, int col, double x) {
    int lane = row % 8 * 4 + col / 2, r = row / 8 * 2 + col % 2;
    if (in->type2 == T_F32) d[r].u32[lane] = ptx_round(x, T_F32, ROUND_RN);
    else if (in->type2 == T_S32) d[r].u32[lane] = int_result(x, in->sat);
    else if (col % 2) d[row / 8].u32[lane] |= ptx_round(x, T_F16, ROUND_RN) << 16;
    else d[row / 8].u32[lane] = ptx_round(x, T_F16, ROUND_RN);
}

bool ptx_exec_mma(warp_t *w, const insn_t *in, uint32_t mask) {
    double a[M][MAX_K], b[MAX_K][N];
    lanes_t d[4];
    int e = elements((type_t)in->type), k = in->op, n_a = k / e / 4 * 2, n_b = k / e / 4;
    if (!whole_warp(w, in, mask)) return false;
    if (ptx_counts(w)) ++w->run->launch->traffic->mma;
    load_a(w, in, n_a, a);
    load_b(w, in, n_a, n_b, b);
    for (int row = 0; row < M; ++row) {
        double sum[N] = {0};
        for (int i = 0; i < k; ++i)
            for (int col = 0; col < N; ++col) sum[col] += a[row][i] * b[i][col];
        for (int col = 0; col < N; ++col)
            store_d(in, d, row, col, sum[col] + load_c(w, in, n_a + n_b, row, col));
    }
    for (int i = 0; i < in->n_dst; ++i) ptx_store(w, in, i, &d[i], mask);
    return true;
}

/* Lanes 8 m .. 8 m + 7 give the rows of matrix m. */
bool ptx_exec_ldmatrix(warp_t *w, const insn_t *in, uint32_t mask) {
    uint64_t at[LANES];
    view_t v;
    uint16_t row[MATRIX_ROWS][MATRIX_ROW_BYTES / 2];
    uint32_t used = in->vec == 4 ? ALL_LANES : (UINT32_C(1) << MATRIX_ROWS * in->vec) - 1;
    if (!whole_warp(w, in, mask)) return false;
    ptx_addresses(w, in, 0, in->offset, at);
    if (ptx_counts(w)) ptx_count(w, in, used, at, MATRIX_ROW_BYTES, ACCESS_READ);
    int found = ptx_view(w, in, (space_t)in->space, used, at, MATRIX_ROW_BYTES, &v);
    for (int i = 0; found == 2 && i < LANES; ++i)
        if (used >> i & 1) {
            int one = ptx_view(w, in, (space_t)in->space, UINT32_C(1) << i, at, MATRIX_ROW_BYTES, &v);
            if (one != 1) return false;
        }
    if (found != 1) return found == 2 && ptx_trap(w, in, -1, "rows in several spaces");
    if (!v.shared) return ptx_trap(w, in, -1, "rows that are not in shared memory");
    v.together = true; /* a row goes to other lanes than the one that has its address */
    uint32_t left = ptx_access_lanes(w, &v, used, at, MATRIX_ROW_BYTES, ACCESS_READ);
    for (; left; left &= left - 1) {
        int i = lowest_lane(left);
        if (!ptx_access(w, in, &v, i, at[i], MATRIX_ROW_BYTES, ACCESS_READ, NULL)) return false;
    }
    for (int m = 0; m < in->vec; ++m) {
        lanes_t d;
        for (int i = 0; i < MATRIX_ROWS; ++i)
            memcpy(row[i], v.host + (at[m * MATRIX_ROWS + i] - v.base), sizeof row[i]);
        for (int l = 0; l < LANES; ++l) {
            int i = l / 4, k = l % 4 * 2;
            d.u32[l] = in->op ? row[k][i] | (uint32_t)row[k + 1][i] << 16
                              : row[i][k] | (uint32_t)row[i][k + 1] << 16;
        }
        ptx_store(w, in, m, &d, mask);
    }
    return true;
}

/* Transposes one matrix of 8 x 8 halves. */
bool ptx_exec_movmatrix(warp_t *w, const insn_t *in, uint32_t mask) {
    const lanes_t *a = ptx_source(w, in, 0);
    lanes_t d;
    if (!whole_warp(w, in, mask)) return false;
    for (int l = 0; l < LANES; ++l) {
        uint32_t half[2];
        for (int e = 0; e < 2; ++e) {
            int row = l % 4 * 2 + e, col = l / 4;
            half[e] = a->u32[row * 4 + col / 2] >> 16 * (col % 2) & 0xffff;
        }
        d.u32[l] = half[0] | half[1] << 16;
    }
    ptx_store(w, in, 0, &d, mask);
    return true;
}
