/* Tensors of any layout for conformance tests: allocation between canaries, elements as doubles through code
 * of its own, rounding to a type, and the matrix of engines (instruction sets) and pools a case runs on. */
#ifndef DTP_TESTS_TENSOR_H
#define DTP_TESTS_TENSOR_H

#include "common/layout/memory_desc.h"
#include "dnnl_tp/dnnl_tp_threadpool.h"
#include "support/check.h"

typedef struct {
    dtp_md_t md;
    size_t bytes;
    unsigned char *data; /* 64-byte aligned, between two canaries */
} tensor_t;

/* The buffer is spoilt (traps.h): NaN where nobody writes, and arithmetic on it raises an exception. */
void tensor_init(tensor_t *t, const dtp_md_t *md);
/* Spoilt again. */
void tensor_blank(tensor_t *t);
/* The same from a layout text ("ab", "BA16a16b", "acdb"). */
void tensor_layout(tensor_t *t, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt, const char *layout);
/* Elements lo..hi, whole numbers when `whole`; the padding is zeroed. */
void tensor_fill(tensor_t *t, test_rng_t *r, float lo, float hi, bool whole);
void tensor_free(tensor_t *t);
double tensor_get(const tensor_t *t, const int64_t *pos);
/* All values in logical order; malloc. */
double *tensor_values(const tensor_t *t);
void tensor_set(tensor_t *t, const int64_t *pos, double value);
/* Element at pos with broadcast dims (1) pinned to 0. */
double tensor_get_bcast(const tensor_t *t, const int64_t *pos);
/* Padding is zero and the canaries are whole. */
void tensor_check(const tensor_t *t, const char *what);
/* Where the element at pos lies, in elements. */
int64_t tensor_offset(const dtp_md_t *md, const int64_t *pos);
/* Next position in row-major order; false at the end. */
bool tensor_next(const dtp_md_t *md, int64_t *pos);

/* x rounded to nearest even and saturated to the type; NaN to integers is 0. */
double round_to(dnnl_tp_data_type_t dt, double x);
/* got is what some value in want +- err rounds to (NaN matches NaN, infinities their sign). */
bool rounds_near(dnnl_tp_data_type_t dt, double got, double want, double err);

/* What a case runs on: engine limited to an instruction set, stream of n threads on a pool of the library. */
typedef struct {
    dnnl_tp_cpu_isa_t isa;
    int threads;
    const char *name;
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_threadpool_t pool;
} place_t;
/* All places; instruction sets that the processor lacks fall on its best one. Made once, freed by
 * places_free. */
const place_t *places(int *n);
void places_free(void);
int places_teardown(void **state); /* places_free as the teardown of a group of tests */
/* Whether an engine's kernels are the CPU's, in whatever memory: names of implementations, leading rows by hand, and layouts that only
 * the CPU has are tested on these. */
bool runs_cpu_code(dnnl_tp_engine_t engine);
/* Whether a primitive descriptor was created. Engines with kernels of their own may have no such implementation (unimplemented): such cases
 * are left out, and counted by places_free, which fails where all were. Every other failure fails the test. */
bool has_impl(dnnl_tp_engine_t engine, dnnl_tp_status_t status);
/* Fails where a primitive is not of the implementation whose name begins with `impl` (NULL: any will do), on engines that run the CPU's. */
void check_impl(const_dnnl_tp_primitive_desc_t pd, const char *impl, const char *what);
/* Keeps the bytes that one thread made in *first (free it), fails where more threads give others. */
void check_same_bits(const place_t *at, const tensor_t *dst, unsigned char **first, const char *what);

/* Creates a primitive from pd, executes it with plain handles, destroys both; returns the status of execute.
 */
dnnl_tp_status_t run_pd(const place_t *at, dnnl_tp_primitive_desc_t pd, int nargs,
                        const dnnl_tp_exec_handle_t *args);
/* Name of the implementation. */
const char *impl_name(const_dnnl_tp_primitive_desc_t pd);

#endif
