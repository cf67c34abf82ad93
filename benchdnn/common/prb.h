/* A problem: one combination of option values with one descriptor, the tensors that follow from it,
 * and the driver that knows the primitive. Options are tables, so that parsing, looping and
 * printing exist once.
 *
 * Read next: options.c (the tables' use), drivers/matmul.c (a driver), run.c (the flow). */
#ifndef BD_PRB_H
#define BD_PRB_H

#include "common/api.h"
#include "common/attr.h"
#include "common/bench.h"

#define BD_MAX_SRC 32
#define BD_MAX_TENSORS 96
#define BD_LABEL 96

typedef enum { BD_FWD_D, BD_FWD_I, BD_FWD_B, BD_BWD_D, BD_BWD_W, BD_BWD_WB, BD_BWD_DW } bd_dir_t;

enum {
    BD_IN = 1,
    BD_OUT = 2,
    BD_ATTR = 4,
    BD_WEI = 8,
    BD_OWN = 16 /* the libraries need not agree on its contents */
};

/* A tensor of the problem. Values are kept as f64 in logical row-major order. */
typedef struct {
    int arg;
    const char *name;
    int nd;
    int64_t d[BD_MAX_NDIMS];
    int dt;
    const char *tag;        /* layout string; NULL = row-major */
    const int64_t *strides; /* used instead of the tag when not NULL */
    unsigned rt;            /* bit i: dimension i is a run-time dimension */
    unsigned io;
    int alias; /* index of the tensor whose buffer it shares, -1 = none */
} bd_tensor_t;

typedef struct {
    int max_concurrency; /* 0 = auto */
    char rest[48];       /* core type and threads per core: accepted, no effect */
} bd_ctx_t;

struct bd_driver;

typedef struct bd_prb {
    const struct bd_driver *drv;
    /* Option values. */
    bd_dir_t dir;
    int n_dt, dt[BD_MAX_SRC]; /* source types, or all types if the driver has one option for them */
    int ddt, bia_dt, ss_dt;
    int n_tag;
    char tag[BD_MAX_SRC][BD_TAG];
    char wtag[BD_TAG], dtag[BD_TAG];
    bool has_strides[3];
    int64_t strides[3][BD_MAX_NDIMS];
    int n_strides[3];
    int alg, axis, bia_mask;
    float alpha, beta, p, eps;
    unsigned flags, rt_mask[2];
    int n_rt;
    bool inplace;
    int64_t mb, group;
    int n_scale;
    float scale[BD_MAX_SRC];
    char text[2][2048]; /* options that are parsed but not served: oflag, cross-engine, encoding, grouped */
    bd_attr_t attr;
    bd_ctx_t ctx_init, ctx_exe;
    /* Descriptor. */
    int n_vd, vd_nd[BD_MAX_SRC];
    int64_t vd[BD_MAX_SRC][BD_MAX_NDIMS];
    char label[BD_LABEL];
    /* Derived by the driver's init. */
    int nt;
    bd_tensor_t t[BD_MAX_TENSORS];
    double ops;
} bd_prb_t;

/* One option of a driver. set parses one list entry (0 = good), get prints it canonically. */
typedef struct {
    const char *name, *def;
    int (*set)(bd_prb_t *, const char *);
    void (*get)(const bd_prb_t *, char *, size_t);
    bool always; /* printed even if equal to the default */
} bd_opt_t;

/* The current default of an option: modifiers of the mode change some defaults. */
const char *bd_opt_default(const bd_opt_t *);

/* Reason texts of skipped problems. */
#define BD_SKIP_INVALID "Invalid case"
#define BD_SKIP_UNSUPPORTED "Case not supported"
#define BD_SKIP_TYPE "Data type not supported"
#define BD_SKIP_BACKWARD BD_SKIP_UNSUPPORTED ": backward"
#define BD_SKIP_DROPOUT BD_SKIP_UNSUPPORTED ": dropout"
#define BD_SKIP_ROUNDING BD_SKIP_UNSUPPORTED ": rounding mode"
#define BD_SKIP_PRECOMPUTED BD_SKIP_UNSUPPORTED ": precomputed reductions"
#define BD_SKIP_MX BD_SKIP_UNSUPPORTED ": scales that the primitive computes"
#define BD_SKIP_SPARSE BD_SKIP_UNSUPPORTED ": sparse encoding"
#define BD_SKIP_GROUPED BD_SKIP_UNSUPPORTED ": grouped encoding"
#define BD_SKIP_COMPENSATION BD_SKIP_UNSUPPORTED ": compensation"
#define BD_SKIP_ENGINES BD_SKIP_UNSUPPORTED ": two engines"
#define BD_SKIP_WEIGHTS BD_SKIP_UNSUPPORTED ": integer weights of real sources"
#define BD_SKIP_LAYOUT BD_SKIP_UNSUPPORTED ": a layout without enumerator"
#define BD_SKIP_OPS "More operations than --max-gops"
#define BD_SKIP_RAM "Not enough RAM"
#define BD_SKIP_REF "Ref Impl Not Expected"
#define BD_SKIP_IMPL "Skip-impl option hit"
#define BD_SKIP_START "Skip-start option hit"

/* Tolerances for results. */
typedef struct {
    double threshold;     /* relative, absolute below 1e-5 */
    double zero_trust;    /* per cent of zeros above which a result is not trusted; 100 = off */
    bool l2_fallback;     /* accept if the relative L2 norm of the difference is below the threshold */
    double abs_threshold; /* accepted absolute difference, 0 = none */
    bool allow_nan_inf;   /* both sides NaN, or infinities of one sign, are equal */
} bd_cmp_t;

typedef struct bd_driver {
    const char *name;
    dnnl_tp_primitive_kind_t kind;
    const bd_opt_t *const *loop;                /* options, outermost loop first, NULL-terminated */
    const bd_opt_t *const *print;               /* options in the order of the repro line, NULL-terminated */
    const char *perf_csv;                       /* the csv template's own fields */
    int (*parse)(bd_prb_t *, const char *text); /* descriptor; 0 = good */
    void (*desc)(const bd_prb_t *, char *, size_t); /* descriptor, normalised */
    const char *(*init)(bd_prb_t *);                /* tensors and ops; a skip reason or NULL */
    dnnl_tp_status_t (*create_pd)(const bd_prb_t *, const bd_api_t *, dnnl_tp_engine_t,
                                  const dnnl_tp_memory_desc_t *md, dnnl_tp_primitive_attr_t,
                                  dnnl_tp_primitive_desc_t *);
    void (*fill)(const bd_prb_t *, int i, double *v, bool perf);  /* values of input i */
    void (*fill_src)(const bd_prb_t *, double *v, bool perf);     /* of input 0, if fill is bd_fill_src */
    void (*ref)(const bd_prb_t *, double *const *v);              /* computes the outputs from the inputs */
    void (*judge)(const bd_prb_t *, int i, bd_cmp_t *);           /* thresholds of output i */
    bool (*skip_combination)(const bd_prb_t *, const int *index); /* is it a duplicate? index follows loop */
} bd_driver_t;

extern const bd_driver_t *const bd_drivers[]; /* NULL-terminated */

/* ---- drivers.c --------------------------------------------------------------------------------------- */
bool bd_driver_known_elsewhere(const char *name);

/* ---- prb.c ------------------------------------------------------------------------------------------- */
int bd_find_arg(const bd_prb_t *, int arg); /* index of the tensor, -1 = none */
bd_tensor_t *bd_add_tensor(bd_prb_t *, int arg, const char *name, int nd, const int64_t *d, int dt,
                           const char *tag, unsigned io);
int64_t bd_elems(const bd_tensor_t *);
void bd_repro(const bd_prb_t *, const char *impl, char *out, size_t size); /* whole repro line */
void bd_prb_text(const bd_prb_t *, char *out, size_t size);                /* options and descriptor */
bool bd_dir_bwd(bd_dir_t);
dnnl_tp_prop_kind_t bd_prop(bd_dir_t);

/* ---- layout.c ---------------------------------------------------------------------------------------- */
/* Descriptor of a tensor; concrete: sizes instead of run-time dimensions. */
dnnl_tp_status_t bd_md_create(const bd_api_t *, const bd_tensor_t *, bool concrete, dnnl_tp_memory_desc_t *);

/* ---- run.c ------------------------------------------------------------------------------------------- */
void bd_run_problem(bd_prb_t *);

#endif
