/* cuBLASLt on the fake driver: a table of its calls, which checks what they are given and leaves the product to the device's thread.
 *
 *   descriptors   images in structs of the real sizes, which may be copied; those that were created and not destroyed are told.
 *                 fake_lt_beside() makes each on the real library, too, in the same way, and reads its attributes back.
 *   ways          of a heuristic belong to that problem, those alignments and that workspace: another use is wrong.
 *   products      are items of their stream: all operands must be there, in bounds, set and ordered, as for kernels. */
#ifndef TESTS_GPU_FAKE_LT_H
#define TESTS_GPU_FAKE_LT_H

#include "gpu/driver/lt_abi.h"
#include "gpu/fake/fake_cuda.h"

const dtp_lt_t *fake_lt_table(void);
/* The k-th call from now (0 = the next) that can fail answers status and does nothing. k < 0: none. True if the last such order has
 * not been carried out. */
bool fake_lt_fail(int64_t k, dtp_lt_status_t status);
/* Heuristics find nothing from now on, until false is given. */
void fake_lt_find_nothing(bool nothing);
/* From now on descriptors are made on the library of this path, too; NULL: no longer. False: it cannot be loaded, or is none. */
bool fake_lt_beside(const char *path);

/* The last product that was submitted, as the library saw it, and how many were. */
typedef struct {
    int64_t products;
    dtp_lt_compute_t compute;
    dtp_lt_type_t type, dst_type;
    int32_t transpose_a, transpose_b, batch;
    uint32_t epilogue;
    uint64_t rows, columns, k; /* of d */
    int64_t a_stride, b_stride, d_stride, a_batch, b_batch, d_batch, bias_batch;
    uint32_t alignment; /* of the way that was taken */
    size_t workspace_bytes;
    float beta;
} fake_lt_last_t;
fake_lt_last_t fake_lt_last(void);

#endif
