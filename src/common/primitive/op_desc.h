/* The description of a kind of primitive: a struct that each kind fills in its own file,
 * common/kinds/<kind>.c; its problem is in common/problems/<kind>.h. Serialiser (cache key),
 * equality, verbose text, queries and checks of attributes are made from it. kinds.inc lists the
 * kinds. A field that is not in the table of its kind does not exist for the cache: add it there.
 */
#ifndef DTP_COMMON_PRIMITIVE_OP_DESC_H
#define DTP_COMMON_PRIMITIVE_OP_DESC_H

#include "common/layout/memory_desc.h"
#include "common/base/elementwise.h"

/* First member of every problem. */
typedef struct {
    dnnl_tp_primitive_kind_t kind;
} dtp_op_desc_t;

/* ---- Kinds -------------------------------------------------------------------------------------------- */

/* DTP_NUMBER_<kind> for every row of kinds.inc; DTP_KIND_<KIND> for the kinds that only graphs
 * reach. */
enum {
#define DTP_KIND(name, number) DTP_NUMBER_##name = number,
#include "common/primitive/kinds.inc"
#define DTP_GRAPH_KIND(name, NAME, number) DTP_KIND_##NAME = number,
#include "common/primitive/kinds.inc"
};

/* ---- Field tables ------------------------------------------------------------------------------------ */

typedef enum {
    DTP_FIELD_S32,
    DTP_FIELD_S64,
    DTP_FIELD_F32,
    DTP_FIELD_F32S, /* float: an array in the problem, of which count elements are used */
    DTP_FIELD_DIMS, /* int64_t: a dnnl_tp_dims_t, of which count elements are used */
    DTP_FIELD_MD,
    DTP_FIELD_MD_ARRAY,
    DTP_FIELD_F32_ARRAY
} dtp_field_type_t;
enum { DTP_ARG_INPUT = 1, DTP_ARG_OUTPUT = 2 };
typedef struct {
    const char *name; /* verbose prefix: "src", "alg", ... */
    dtp_field_type_t type;
    size_t offset;
    /* For arrays: offset of the int with the number of elements; an F32_ARRAY follows the last
     * MD_ARRAY. */
    size_t count_offset;
    /* For descriptors: DNNL_TP_ARG_* of the tensor, or of the first one of an array. */
    int arg;
    /* DTP_ARG_*, or 0: not an argument. */
    unsigned flags;
} dtp_field_t;

/* Execution arguments in dense order. A kind's own arguments come first, at the fixed indices of
 * its enumeration, which are the order of its fields; then scales, zero points and post-op tensors
 * in attribute order. */
typedef struct {
    int arg;            /* DNNL_TP_ARG_* */
    unsigned flags;     /* DTP_ARG_* */
    const dtp_md_t *md; /* zero descriptor: absent in this problem, and its pointer is ignored */
} dtp_pd_arg_t;

/* The work of a problem: operations on numbers, and bytes that are read and written with cold
 * caches. idle: operations of lanes without data of the problem, which take as long. */
typedef struct {
    double flops, bytes, idle;
} dtp_op_work_t;

/* ---- Attributes -------------------------------------------------------------------------------------- */

/* Masks that scales or zero points of an argument may have. */
typedef enum { DTP_MASK_COMMON = 1, DTP_MASK_ANY } dtp_quant_masks_t;
typedef struct {
    int arg; /* DNNL_TP_ARG_*, MULTIPLE_SRC stands for all sources; 0 ends the list */
    dtp_quant_masks_t masks;
} dtp_quant_rule_t;
enum { DTP_MAX_QUANT_RULES = 4 };
enum { DTP_TAKES_ELTWISE = 1, DTP_TAKES_BINARY = 2, DTP_TAKES_SUM = 4, DTP_TAKES_EVERY = 7 };

/* The attributes that a kind takes. Creation refuses all others, with the name of the argument: an
 * ignored attribute would give wrong results without an error. An attribute that is named here may
 * still be refused by every implementation. */
typedef struct {
    dtp_quant_rule_t scales[DTP_MAX_QUANT_RULES], zero_points[DTP_MAX_QUANT_RULES];
    bool real_zero_points; /* zero points of floating-point tensors are allowed, too */
    unsigned post_ops;     /* DTP_TAKES_* */
} dtp_attr_rules_t;

/* ---- The kind ---------------------------------------------------------------------------------------- */

typedef struct {
    dnnl_tp_primitive_kind_t kind;
    const char *name;
    int nfields;
    const dtp_field_t *fields;
    /* Dense index of the source whose buffer every implementation may use for dst; -1: none. See
     * DTP_IMPL_IN_PLACE. */
    int inplace;
    /* NULL: all attributes; for kinds of graphs, whose attributes the library makes. */
    const dtp_attr_rules_t *attr;
    /* Sets work->flops from the arguments in dense order. work->bytes counts every tensor once; a
     * kind that reads less, or reads a tensor several times, corrects it. NULL: elements are only
     * moved. */
    void (*work)(const dtp_op_desc_t *op, const dtp_pd_arg_t *arg, dtp_op_work_t *work);
    /* The following members are optional. */
    /* As dtp_op_args, for kinds with a field that is not an argument. */
    int (*args)(const dtp_op_desc_t *op, dtp_pd_arg_t *out);
    /* Arguments that may have an opaque layout, as bits by dense index. */
    unsigned opaque;
    /* next_impl returns last_impl_reached at once. */
    bool single;
    /* Checks that run-time dimensions fit each other. md: actual descriptors of an execution, by
     * dense index. */
    dnnl_tp_status_t (*check_runtime)(const dtp_md_t *const *md);
    /* Cuts fields that are not arguments and have dimension 0 of the arguments: `units` of `total`
     * are left. */
    void (*cut)(dtp_op_desc_t *op, int64_t units, int64_t total);
    /* Copies the fields on which packed constants depend, from a problem with an implementation to
     * one that shares its packed constants. */
    void (*follow)(dtp_op_desc_t *op, const dtp_op_desc_t *chosen);
    /* Whether implementations with DTP_IMPL_ROWS can compute leading rows of the problem. NULL:
     * always. */
    bool (*takes_rows)(const dtp_op_desc_t *op);
    /* The number of operations in `work` divided by that of the chosen algorithm. NULL: 1. */
    double (*gain)(const dtp_op_desc_t *chosen);
} dtp_op_info_t;

/* Defines the info of a kind from the <kind>_fields of its file. inplace, attributes and work are
 * required; optional members follow by name. */
#define DTP_KIND_INFO(kind_, inplace_, attr_, ...)                                                       \
    const dtp_op_info_t dtp_##kind_##_info = {.kind = (dnnl_tp_primitive_kind_t)DTP_NUMBER_##kind_,      \
                                              .name = #kind_,                                            \
                                              .nfields =                                                 \
                                                  (int)(sizeof kind_##_fields / sizeof *kind_##_fields), \
                                              .fields = kind_##_fields,                                  \
                                              .inplace = inplace_,                                       \
                                              .attr = attr_,                                             \
                                              .work = __VA_ARGS__}
#define DTP_FIELD(type, member, kind) \
    { #member, DTP_FIELD_##kind, offsetof(type, member), 0, 0, 0 }
#define DTP_FIELD_ARRAY(type, member, kind, count) \
    { #member, DTP_FIELD_##kind, offsetof(type, member), offsetof(type, count), 0, 0 }
/* Descriptors of arguments; for an array, arg is that of the first one. */
#define DTP_INPUT(type, member, arg) \
    { #member, DTP_FIELD_MD, offsetof(type, member), 0, arg, DTP_ARG_INPUT }
#define DTP_OUTPUT(type, member, arg) \
    { #member, DTP_FIELD_MD, offsetof(type, member), 0, arg, DTP_ARG_OUTPUT }
#define DTP_INPUTS(type, member, count, arg) \
    { #member, DTP_FIELD_MD_ARRAY, offsetof(type, member), offsetof(type, count), arg, DTP_ARG_INPUT }
/* Number of values of a field in op. */
static inline int dtp_field_count(const dtp_field_t *field, const dtp_op_desc_t *op) {
    return field->count_offset ? *(const int *)(const void *)((const char *)op + field->count_offset) : 1;
}

#define DTP_KIND(name, number) extern const dtp_op_info_t dtp_##name##_info;
#include "common/primitive/kinds.inc"
/* NULL: no such kind. */
const dtp_op_info_t *dtp_op_info(dnnl_tp_primitive_kind_t kind);
/* Writes the kind's own arguments to out (may be NULL); returns their number. The descriptors point
 * into op. */
int dtp_op_args(const dtp_op_info_t *info, const dtp_op_desc_t *op, dtp_pd_arg_t *out);

/* ---- Work -------------------------------------------------------------------------------------------- */

/* Operations of an element: approximately those of exp. */
enum { DTP_ELTWISE_FLOPS = 8 };
/* Bytes of the elements of md; 0 if it is absent (NULL or zero). */
double dtp_md_moved(const dtp_md_t *md);
/* The work of a problem without run-time dimensions. arg: its nargs arguments in dense order,
 * including tensors of attributes. */
dtp_op_work_t dtp_op_work(const dtp_op_info_t *info, const dtp_op_desc_t *op, const dtp_pd_arg_t *arg,
                          int nargs);
/* Adds a post-operation of that kind on dst; src1, src2: its tensors, zero or NULL if it has none.
 */
void dtp_op_work_post_op(dtp_op_work_t *work, dnnl_tp_primitive_kind_t kind, const dtp_md_t *dst,
                         const dtp_md_t *src1, const dtp_md_t *src2);
/* Rough estimate in nanoseconds on one thread of current processors: it only distinguishes long
 * from short. */
double dtp_op_work_ns(const dtp_op_work_t *work);

/* ---- Keys -------------------------------------------------------------------------------------------- */

/* Appends bytes to a key; grows with the process allocator. */
typedef struct {
    uint8_t *data;
    size_t size, capacity;
    bool failed;
    uint8_t room[512];
} dtp_bytes_t;
void dtp_bytes_init(dtp_bytes_t *b);
void dtp_bytes_put(dtp_bytes_t *b, const void *data, size_t size);
void dtp_bytes_free(dtp_bytes_t *b);
void dtp_op_serialise(dtp_bytes_t *b, const dtp_op_desc_t *op);
void dtp_md_serialise(dtp_bytes_t *b, const dtp_md_t *md);

#endif
