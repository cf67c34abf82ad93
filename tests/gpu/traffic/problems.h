/* Problems of each class that the CUDA engine is judged by, twice: small enough for the interpreter, and as large as they are meant. */
#ifndef TESTS_GPU_TRAFFIC_PROBLEMS_H
#define TESTS_GPU_TRAFFIC_PROBLEMS_H

#include "common/layout/memory_desc.h"
#include "dnnl_tp/dnnl_tp.h"

enum { PROBLEM_DIMS = 4, PROBLEM_ARGS = 10 };

/* What to make: the meaning of dims and of the options belongs to the maker. */
typedef struct problem problem_t;
typedef enum { SMALL, LARGE } size_kind_t;

typedef struct {
    dnnl_tp_engine_t engine;
    const int64_t *dims;
    dnnl_tp_primitive_desc_t pd;
    int n;
    int arg[PROBLEM_ARGS];
    dtp_md_t md[PROBLEM_ARGS];
} made_t;

struct problem {
    const char *name;
    void (*make)(const problem_t *p, made_t *m);
    dnnl_tp_data_type_t from, to;
    int64_t dims[2][PROBLEM_DIMS]; /* by size_kind_t */
    int option, more;
};
extern const problem_t problems[];
extern const int n_problems;

/* Multiprocessors of the device that small problems run on, so that they take the kernels that large ones take on a whole device. */
enum { SMALL_MULTIPROCESSORS = 4, MULTIPROCESSORS = 132 };

/* Makes the problem, executes it once and waits. Bytes of its tensors, each once. filled: tensors hold values. */
int64_t problem_run(const problem_t *p, size_kind_t size, dnnl_tp_engine_t engine, bool filled);

#endif
