/* What the fake cuBLASLt keeps in descriptors, for the files that make, use and check them. */
#ifndef TESTS_GPU_FAKE_LT_IMAGES_H
#define TESTS_GPU_FAKE_LT_IMAGES_H

#include "gpu/fake/fake.h"
#include "gpu/fake/fake_lt.h"

enum {
    FAKE_LT_LAYOUT = 0x1a707,
    FAKE_LT_PRODUCT = 0x960d,
    FAKE_LT_PREFERENCE = 0x96ef,
    FAKE_LT_ALGO = 0xa190
};

typedef struct {
    uint32_t kind;
    dtp_lt_type_t type;
    uint64_t rows, columns;
    int64_t stride;
    int32_t batch;
    uint32_t set; /* attributes that were set, by bit */
    int64_t batch_stride;
} fake_lt_layout_t;

typedef struct {
    uint32_t kind;
    dtp_lt_compute_t compute;
    dtp_lt_type_t scales;
    uint32_t set;
    int32_t transpose[2];
    uint32_t epilogue;
    int32_t unused;
    int64_t bias_batch;
    uint64_t bias;
} fake_lt_product_t;

typedef struct {
    uint32_t kind, set;
    uint64_t workspace;
    uint32_t schemes, alignment[4];
} fake_lt_preference_t;

typedef struct {
    uint32_t kind, alignment, bias_alignment, unused;
    uint64_t problem, workspace;
} fake_lt_algo_t;

/* What an item computes. */
typedef struct {
    fake_lt_product_t product;
    fake_lt_layout_t a, b, d;
    dtp_cu_ptr_t a_at, b_at, d_at, workspace_at;
    size_t workspace_bytes;
    float alpha, beta;
} fake_lt_work_t;

/* Elements from the first to behind the last of a matrix; of k in the product. */
static inline uint64_t fake_lt_extent(const fake_lt_layout_t *l) {
    return (l->columns - 1) * (uint64_t)l->stride + l->rows;
}
static inline size_t fake_lt_size(dtp_lt_type_t type) { return type == DTP_LT_F32 ? 4 : 2; }
static inline uint64_t fake_lt_k(const fake_lt_work_t *w) {
    return w->product.transpose[0] ? w->a.rows : w->a.columns;
}

/* fake_lt_work.c: the product, where its turn has come. */
dtp_cu_result_t fake_lt_run_locked(fake_stream_t *s, const fake_lt_work_t *work);
/* fake_lt_real.c: makes these on the library that was given, if one was; what it refuses, or NULL. */
const char *fake_lt_real(const fake_lt_product_t *product, const fake_lt_layout_t *const layout[3],
                         const fake_lt_preference_t *preference);

#endif
