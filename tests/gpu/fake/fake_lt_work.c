/* The host loop of the fake cuBLASLt. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/lt_images.h"
#include "gpu/ptx/internal.h"

/* ---- Memory --------------------------------------------------------------------------------------------- */

/* The blocks of a product, each once, with what it is to see as set. */
enum { MOST_BLOCKS = 5 };
typedef struct {
    fake_stream_t *s;
    int n;
    fake_block_t *block[MOST_BLOCKS];
    unsigned char *seen[MOST_BLOCKS]; /* of fake_before_kernel_locked */
    const char *wrong;                /* NULL: nothing */
} memory_t;

/* The bytes at an address, and what is known of each; NULL: they may not be used. */
static unsigned char *bytes_at(memory_t *m, dtp_cu_ptr_t at, size_t bytes, unsigned char **set) {
    char text[128];
    fake_block_t *b = fake_block_find_locked(at, bytes);
    const char *refused = b ? fake_block_refused_locked(m->s, b) : "is used";
    if (!refused && !b->set) refused = "is no memory of a device";
    if (refused) {
        fake_tell_locked("a product: %s %s", fake_address_text_locked(at, bytes, text, sizeof text), refused);
        m->wrong = "uses memory that is not there";
        return NULL;
    }
    int i = 0;
    while (i < m->n && m->block[i] != b) ++i;
    if (i == m->n) {
        b->used.of[m->s->slot] = m->s->head->seq;
        m->block[m->n] = b;
        m->seen[m->n++] = fake_before_kernel_locked(m->s, b);
    }
    *set = (m->seen[i] ? m->seen[i] : b->set) + (at - b->at);
    return b->data + (at - b->at);
}

static void note_read(memory_t *m, unsigned char *set, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        if (!set[i]) m->wrong = "reads bytes that nobody wrote, or that nothing makes this stream wait for";
        set[i] |= PTX_WAS_READ;
    }
}
static void note_written(unsigned char *set, size_t bytes) {
    enum { WRITTEN = 1 };
    for (size_t i = 0; i < bytes; ++i) set[i] = WRITTEN | (set[i] & PTX_WAS_READ);
}

/* Tells the order of streams what was read and written. */
static dtp_cu_result_t end(memory_t *m) {
    const bool missing = m->wrong && !strcmp(m->wrong, "uses memory that is not there");
    for (int i = 0; i < m->n; ++i) {
        const char *found = fake_after_kernel_locked(m->s, m->block[i], m->seen[i]);
        if (found) m->wrong = found;
    }
    if (!m->wrong) return DTP_CU_SUCCESS;
    fake_tell_locked("a product %s", m->wrong);
    return missing ? DTP_CU_ILLEGAL_ADDRESS : DTP_CU_LAUNCH_FAILED;
}

/* ---- Numbers -------------------------------------------------------------------------------------------- */

static double load(const unsigned char *p, dtp_lt_type_t type) {
    float f;
    uint16_t h;
    if (type == DTP_LT_F32) {
        memcpy(&f, p, sizeof f);
        return (double)f;
    }
    memcpy(&h, p, sizeof h);
    if (type == DTP_LT_BF16) {
        const uint32_t wide = (uint32_t)h << 16;
        memcpy(&f, &wide, sizeof f);
        return (double)f;
    }
    const int exponent = h >> 10 & 31, mantissa = h & 1023;
    const double size = exponent == 31  ? (mantissa ? (double)NAN : (double)INFINITY)
                        : exponent == 0 ? ldexp(mantissa, -24)
                                        : ldexp(1024 + mantissa, exponent - 25);
    return h >> 15 ? -size : size;
}

static void store(unsigned char *p, float x, dtp_lt_type_t type) {
    const uint16_t h = type == DTP_LT_F32
                           ? 0
                           : (uint16_t)ptx_round((double)x, type == DTP_LT_BF16 ? T_BF16 : T_F16, ROUND_RN);
    if (type == DTP_LT_F32) memcpy(p, &x, sizeof x);
    else memcpy(p, &h, sizeof h);
}

static float finish(uint32_t epilogue, float x) {
    if (!(epilogue & DTP_LT_EPILOGUE_GELU)) return x;
    const double v = (double)x;
    return (float)(v / 2 * (1 + tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v))));
}

/* ---- The product ---------------------------------------------------------------------------------------- */

/* The lines of a matrix along k, one behind the other: `lines` of k numbers. NULL: it may not be read. */
static double *gather(memory_t *m, const fake_lt_layout_t *l, dtp_cu_ptr_t at, bool lines_are_columns) {
    const size_t size = fake_lt_size(l->type);
    unsigned char *set, *data = bytes_at(m, at, fake_lt_extent(l) * size, &set);
    if (!data) return NULL;
    double *out = fake_zalloc(l->rows * l->columns * sizeof *out);
    for (size_t c = 0; c < l->columns; ++c) {
        const size_t column = c * (size_t)l->stride * size;
        note_read(m, set + column, l->rows * size);
        for (size_t r = 0; r < l->rows; ++r)
            out[lines_are_columns ? c * l->rows + r : r * l->columns + c] =
                load(data + column + r * size, l->type);
    }
    return out;
}

static void compute(memory_t *m, const fake_lt_work_t *w, size_t batch, const double *a, const double *b) {
    const size_t size = fake_lt_size(w->d.type), k = fake_lt_k(w), rows = w->d.rows;
    const bool has_bias = w->product.epilogue & DTP_LT_EPILOGUE_BIAS;
    unsigned char *bias_set = NULL, *set, *bias = NULL,
                  *d = bytes_at(m, w->d_at + batch * (size_t)w->d.batch_stride * size,
                                fake_lt_extent(&w->d) * size, &set);
    if (has_bias)
        bias = bytes_at(m, w->product.bias + batch * (size_t)w->product.bias_batch * size, rows * size,
                        &bias_set);
    if (!d || (has_bias && !bias)) return;
    if (has_bias) note_read(m, bias_set, rows * size);
    for (size_t c = 0; c < w->d.columns; ++c) {
        const size_t column = c * (size_t)w->d.stride * size;
        if (w->beta != 0) note_read(m, set + column, rows * size);
        for (size_t r = 0; r < rows; ++r) {
            double sum = 0;
            for (size_t i = 0; i < k; ++i) sum += a[r * k + i] * b[c * k + i];
            float x = w->alpha * (float)sum;
            if (w->beta != 0) x += w->beta * (float)load(d + column + r * size, w->d.type);
            if (has_bias) x += (float)load(bias + r * size, w->d.type);
            store(d + column + r * size, finish(w->product.epilogue, x), w->d.type);
        }
        note_written(set + column, rows * size);
    }
}

dtp_cu_result_t fake_lt_run_locked(fake_stream_t *s, const fake_lt_work_t *w) {
    memory_t m = {.s = s};
    unsigned char *set, *workspace = NULL;
    if (w->workspace_bytes && (workspace = bytes_at(&m, w->workspace_at, w->workspace_bytes, &set))) {
        memset(workspace, FAKE_CUDA_POISON, w->workspace_bytes);
        note_written(set, w->workspace_bytes);
    }
    for (size_t i = 0; i < (size_t)w->d.batch && !m.wrong; ++i) {
        double *a = gather(&m, &w->a, w->a_at + i * (size_t)w->a.batch_stride * fake_lt_size(w->a.type),
                           w->product.transpose[0]);
        double *b = gather(&m, &w->b, w->b_at + i * (size_t)w->b.batch_stride * fake_lt_size(w->b.type),
                           !w->product.transpose[1]);
        if (a && b) compute(&m, w, i, a, b);
        free(a);
        free(b);
    }
    ++fake.stats.products;
    return end(&m);
}
