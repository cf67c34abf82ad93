/* Primitive descriptors: a checked problem, the implementation that was chosen for it and its plan.
 *
 * Memory: one block = struct + problem as the user gave it + problem with `any` resolved; and the plan of the
 * implementation. Immutable after creation except by next_impl. */
#ifndef DTP_COMMON_PRIMITIVE_PRIMITIVE_DESC_H
#define DTP_COMMON_PRIMITIVE_PRIMITIVE_DESC_H

#include "common/primitive/attr.h"
#include "common/primitive/data_error.h"
#include "common/primitive/engine.h"
#include "common/primitive/op_desc.h"

typedef struct dnnl_tp_primitive_desc dtp_pd_t;
typedef struct dnnl_tp_primitive dtp_primitive_t;

/* Everything an implementation gets at execution. All pointers are to element 0 of the buffers as passed:
 * offset0 of the descriptors is not yet added. */
typedef struct dtp_exec_ctx {
    const struct dtp_parallel *par; /* where loops run (threading/base/parallel.h) */
    void *const *ptr;               /* by dense index; NULL = absent */
    const dtp_md_t *const
        *md;               /* actual descriptors by dense index when the pd has run-time dims, else NULL */
    char *scratch;         /* shared bytes, then scratch_per_slot for each slot; 64-byte aligned */
    int64_t rows;          /* DTP_IMPL_ROWS implementations: leading rows to compute; -1 = all */
    void *const *prepared; /* constants made by prepare, by the implementation's own numbering; may be NULL */
    dnnl_tp_stream_t stream; /* to which kernels are submitted; NULL where threads of the host run them */
    const dtp_run_part_t
        *part; /* where submitted kernels note what is wrong in their data, as they see it; else NULL */
} dtp_exec_ctx_t;

enum {
    /* The implementation honours ctx->rows: with src and dst dense row-major, only the first `rows` of the
     * product of all dims but the last are computed (matmul: of M; batch must be 1). */
    DTP_IMPL_ROWS = 1,
    /* Right for everything, and slow. */
    DTP_IMPL_REFERENCE = 2,
    /* dst may lie in the place of any input of the kind that has its layout and elements of its
     * size: what an element of dst depends on at that place is read before it is written. Without
     * the flag: of the kind's `inplace` alone. */
    DTP_IMPL_IN_PLACE = 4
};

/* Constants of a primitive, made once per cached primitive. */
typedef struct dtp_impl_constants {
    dnnl_tp_status_t (*prepare)(dtp_primitive_t *primitive);
    /* Undoes what is not memory of the host, also after a prepare that failed, and sets it to NULL; may be NULL. */
    void (*unprepare)(dtp_primitive_t *primitive);
} dtp_impl_constants_t;

typedef struct dtp_impl {
    const char *name; /* "ukr:avx512", "simd:avx2", "ref:any" */
    unsigned isa;     /* DTP_ISA_* bits needed */
    unsigned flags;   /* DTP_IMPL_* */
    size_t plan_size; /* bytes of pd->plan while pd_init works */
    /* Plans that end with arrays: bytes before these, which are zeroed (0: plan_size), and bytes that the plan keeps. */
    size_t plan_head;
    size_t (*plan_used)(const void *plan);
    /* Checks in the order direction, types, layouts, attributes, sizes, device; resolves any; books scratch;
     * fixes thread count, split and grain. unimplemented = try the next one; anything else ends the search.
     */
    dnnl_tp_status_t (*pd_init)(dtp_pd_t *pd);
    const dtp_impl_constants_t *constants; /* NULL: none */
    dnnl_tp_status_t (*execute)(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx);
    const char *note; /* what dispatch lines tell of it where it is chosen; NULL: nothing */
} dtp_impl_t;

static inline bool dtp_impl_is_reference(const dtp_impl_t *impl) { return impl->flags & DTP_IMPL_REFERENCE; }

struct dnnl_tp_primitive_desc {
    dtp_object_t obj;
    dnnl_tp_engine_t engine; /* retained */
    dnnl_tp_engine_t
        peer;     /* of a reorder between engines: the one that does not run it, retained; else NULL */
    int peer_arg; /* dense index of the argument in the peer's memory; -1 = none */
    const dtp_op_info_t *info;
    dtp_op_desc_t *user; /* the problem as given: cache key */
    dtp_op_desc_t *op;   /* the problem with layouts resolved; pd_init may write it */
    size_t op_size;
    dtp_attr_t *attr; /* owned copy; binary post-op descriptors of format any get resolved */
    const dtp_impl_t *impl;
    int impl_index;  /* in the engine's order of its list */
    int num_threads; /* resolved, >= 1 */
    uint64_t pool_flags;
    /* plan_bytes bytes, owned. It holds no address in this descriptor, in itself or in the attributes, but dense indices of
     * arguments: clones copy it. */
    void *plan;
    size_t plan_bytes;
    size_t scratch_shared, scratch_per_slot; /* bytes booked; multiples of 64 */
    dtp_md_t scratch_md;                     /* user mode */
    bool has_runtime;                        /* some argument has run-time dims */
    bool is_empty;                           /* every output has 0 elements: execution does nothing */
    bool checks_data;                        /* set by pd_init: kernels may find something (data_error.h) */
    int nargs;
    dtp_pd_arg_t *args;     /* nargs entries; md NULL: a post-op slot that its operation does not use */
    size_t *arg_bytes;      /* dtp_md_size of each, 0 when absent or run-time */
    uint64_t *arg_identity; /* dtp_md_identity of each with its engine's device, 0 when absent or run-time */
    dtp_md_t *quant_md;     /* descriptors of scales and zero points */
    int attr_arg;           /* dense index of the first scale; zero points follow, then 2 slots per post-op */
    int post_op_arg;        /* src1 of post-op i is at post_op_arg + 2 i, src2 behind it */
    uint8_t arg_index[128]; /* dense index + 1 of small argument numbers */
    int n_scalars;          /* of the arguments: host scalars */
    void *_Atomic blob_id;  /* what the query of it gave, NULL; next_impl forgets it */
    int n_present, n_outputs; /* arguments with arg_bytes > 0, and those of them that are outputs */
    uint8_t present[256];     /* their dense indices; outputs are the first n_outputs */
};

/* Upper bound of nargs. */
#define DTP_MAX_PD_ARGS 256

/* Defines the implementation dtp_cpu_<impl>: its name and DTP_ISA_* bits, then the other members by name. */
#define DTP_CPU_IMPL(impl, name_, isa_, ...) \
    const dtp_impl_t dtp_cpu_##impl = {.name = name_, .isa = isa_, __VA_ARGS__}
/* dtp_cpu_<kind>__ref; the flags are others than DTP_IMPL_REFERENCE. */
#define DTP_CPU_REFERENCE(kind, flags_, ...) \
    DTP_CPU_IMPL(kind##__ref, "ref:any", 0, .flags = DTP_IMPL_REFERENCE | (flags_), __VA_ARGS__)
/* Those of AVX-512 and of AVX2, <label>:avx512 and <label>:avx2; and one more for any processor. They share
 * their members; pd_init asks dtp_pd_isa. */
#define DTP_CPU_IMPLS(impl, label, ...)                                         \
    DTP_CPU_IMPL(impl##__avx512, label ":avx512", DTP_ISA_AVX512, __VA_ARGS__); \
    DTP_CPU_IMPL(impl##__avx2, label ":avx2", DTP_ISA_AVX2, __VA_ARGS__)
#define DTP_CPU_IMPLS_AND_ANY(impl, label, ...) \
    DTP_CPU_IMPLS(impl, label, __VA_ARGS__);    \
    DTP_CPU_IMPL(impl##__any, label ":any", 0, __VA_ARGS__)
/* With one more for products of bf16. */
#define DTP_CPU_IMPLS_AND_BF16(impl, label, ...)     \
    DTP_CPU_IMPLS_AND_ANY(impl, label, __VA_ARGS__); \
    DTP_CPU_IMPL(impl##__avx512_bf16, label ":avx512_bf16", DTP_ISA_AVX512 | DTP_ISA_AVX512_BF16, __VA_ARGS__)
/* The CPU's list of a kind, fastest first, from the X-macro of its implementations: X(softmax__avx512) ... */
#define DTP_CPU_LIST(kind, IMPLS) \
    IMPLS(DTP_CPU_LIST_DECLARE)   \
    const dtp_impl_t *const dtp_cpu_##kind##_list[] = {IMPLS(DTP_CPU_LIST_ENTRY) NULL}
#define DTP_CPU_LIST_DECLARE(impl) extern const dtp_impl_t dtp_cpu_##impl;
#define DTP_CPU_LIST_ENTRY(impl) &dtp_cpu_##impl,
/* The instruction sets that the chosen implementation may use. */
static inline unsigned dtp_pd_isa(const dtp_pd_t *pd) {
    return pd->impl->isa & DTP_ISA_AVX512 ? pd->engine->isa : pd->impl->isa;
}

/* Checks nothing about the problem itself: the kind's own creation function did. Walks the list. */
dnnl_tp_status_t dtp_pd_create(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t engine, const dtp_op_desc_t *op,
                               size_t op_size, const dtp_attr_t *attr);
/* The same where the argument of dense index peer_arg lies in memory of the peer. */
dnnl_tp_status_t dtp_pd_create_between(dnnl_tp_primitive_desc_t *pd, dnnl_tp_engine_t engine,
                                       dnnl_tp_engine_t peer, int peer_arg, const dtp_op_desc_t *op,
                                       size_t op_size, const dtp_attr_t *attr);
static inline dnnl_tp_engine_t dtp_pd_arg_engine(const dtp_pd_t *pd, int i) {
    return i == pd->peer_arg ? pd->peer : pd->engine;
}
/* Books scratch; called by pd_init. */
static inline void dtp_pd_book(dtp_pd_t *pd, size_t shared, size_t per_slot) {
    pd->scratch_shared = dtp_round_up_size(shared, DTP_CACHE_LINE);
    pd->scratch_per_slot = dtp_round_up_size(per_slot, DTP_CACHE_LINE);
}
static inline size_t dtp_pd_scratch_size(const dtp_pd_t *pd) {
    return pd->scratch_shared + pd->scratch_per_slot * (size_t)pd->num_threads;
}
static inline char *dtp_scratch_slot(const dtp_pd_t *pd, const dtp_exec_ctx_t *ctx, int slot) {
    return ctx->scratch + pd->scratch_shared + pd->scratch_per_slot * (size_t)slot;
}
/* What the loops of an execution get, if nothing else. */
typedef struct {
    const dtp_pd_t *pd;
    const dtp_exec_ctx_t *ctx;
} dtp_job_t;
/* The descriptor of the argument of dense index i: the actual one where an execution has some (mds; else NULL). */
static inline const dtp_md_t *dtp_pd_arg_md(const dtp_pd_t *pd, const dtp_md_t *const *mds, int i) {
    return mds && mds[i] ? mds[i] : pd->args[i].md;
}
/* Dense index of an argument number; -1 if the pd does not know it. */
int dtp_pd_big_arg_index(const dtp_pd_t *pd, int arg);
static inline int dtp_pd_arg_index(const dtp_pd_t *pd, int arg) {
    return (unsigned)arg < sizeof pd->arg_index ? (int)pd->arg_index[arg] - 1 : dtp_pd_big_arg_index(pd, arg);
}
/* Elements of a scale or zero point of a tensor: the product of the masked dims, divided by the groups on the
 * last two; DNNL_TP_RUNTIME_DIM_VAL where one of them is that. */
int64_t dtp_quant_count(const dtp_quant_t *q, const dtp_md_t *of);
/* Is the argument of dense index i a scale or zero point that a host scalar holds? */
bool dtp_pd_is_host_scalar(const dtp_pd_t *pd, int i);
/* Copies the host scalars of an execution to values, 8 bytes each, and lets ptrs point at these. */
void dtp_pd_keep_scalars(const dtp_pd_t *pd, void **ptrs, void **values);
/* Dense index of the scale or zero point of an argument; -1 when unset. */
int dtp_pd_scale_index(const dtp_pd_t *pd, int arg);
int dtp_pd_zero_point_index(const dtp_pd_t *pd, int arg);

/* What an execution takes, with its post-operations. mds: actual descriptors, or NULL, of which nothing is known (zeros)
 * where dimensions are run-time. */
dtp_op_work_t dtp_pd_work(const dtp_pd_t *pd, const dtp_md_t *const *mds);

struct dnnl_tp_primitive {
    dtp_object_t obj;
    dtp_pd_t *pd; /* retained; nobody changes it */
    void *prepared
        [4]; /* owned by the primitive, from pd->engine->allocator but for what unprepare takes back */
    _Atomic bool told; /* that a reference serves a large problem */
};

/* A primitive of a descriptor that nobody else has; the reference to it is given up. */
dnnl_tp_status_t dtp_primitive_create_of(dtp_primitive_t **primitive, dtp_pd_t *pd);
/* Runs and writes the verbose lines that are asked for. */
dnnl_tp_status_t dtp_primitive_run_verbose(const dtp_primitive_t *primitive, const dtp_exec_ctx_t *ctx)
    __attribute__((cold));
static inline dnnl_tp_status_t dtp_primitive_run_in(const dtp_primitive_t *primitive,
                                                    const dtp_exec_ctx_t *ctx) {
    if (DTP_UNLIKELY(dtp_verbose_on(DTP_VERBOSE_EXEC | DTP_VERBOSE_DISPATCH)))
        return dtp_primitive_run_verbose(primitive, ctx);
    return primitive->pd->impl->execute(primitive->pd, ctx);
}
/* The body of an execution on threads of the host, after all checks: fills ctx and calls the implementation.
 * scratch must hold dtp_pd_scratch_size(pd) bytes. Called by the CPU's streams and by the executor. */
static inline dnnl_tp_status_t dtp_primitive_run(const dtp_primitive_t *primitive,
                                                 const struct dtp_parallel *par, void *const *ptrs,
                                                 const dtp_md_t *const *mds, char *scratch, int64_t rows) {
    const dtp_exec_ctx_t ctx = {par, ptrs, mds, scratch, rows, primitive->prepared, NULL, NULL};
    return dtp_primitive_run_in(primitive, &ctx);
}

#endif
