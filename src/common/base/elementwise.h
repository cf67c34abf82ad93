/* Element-wise functions by number: names, types, indices into tables. The functions:
 * elementwise.inc. */
#ifndef DTP_COMMON_BASE_ELEMENTWISE_H
#define DTP_COMMON_BASE_ELEMENTWISE_H

#include <stdbool.h>
#include <stdint.h>

#include "dnnl_tp/dnnl_tp_types.h"

/* Sets of types. DTP_EW_F32_<set>(m, ...) is m(...) where the set has the types that are computed
 * in f32; DTP_EW_EXACT_<set>(m, ...) is m(type, ...) for each type that has an arithmetic of its
 * own. */
#define DTP_EW_BIT(type) (1u << dnnl_tp_##type)
enum {
    DTP_EW_TYPES_FLOAT = DTP_EW_BIT(f32) | DTP_EW_BIT(bf16) | DTP_EW_BIT(f16),
    DTP_EW_TYPES_FLOATS = DTP_EW_TYPES_FLOAT | DTP_EW_BIT(f64),
    DTP_EW_TYPES_NUMBERS =
        DTP_EW_TYPES_FLOATS | DTP_EW_BIT(s64) | DTP_EW_BIT(s32) | DTP_EW_BIT(s8) | DTP_EW_BIT(u8),
    DTP_EW_TYPES_ALL = DTP_EW_TYPES_NUMBERS | DTP_EW_BIT(boolean),
    DTP_EW_TYPES_BOOLEAN = DTP_EW_BIT(boolean)
};
#define DTP_EW_F32_FLOAT(m, ...) m(__VA_ARGS__)
#define DTP_EW_F32_FLOATS(m, ...) m(__VA_ARGS__)
#define DTP_EW_F32_NUMBERS(m, ...) m(__VA_ARGS__)
#define DTP_EW_F32_ALL(m, ...) m(__VA_ARGS__)
#define DTP_EW_F32_BOOLEAN(m, ...)
#define DTP_EW_EXACT_FLOAT(m, ...)
#define DTP_EW_EXACT_FLOATS(m, ...) m(f64, __VA_ARGS__)
#define DTP_EW_EXACT_NUMBERS(m, ...) \
    m(f64, __VA_ARGS__) m(s64, __VA_ARGS__) m(s32, __VA_ARGS__) m(s8, __VA_ARGS__) m(u8, __VA_ARGS__)
#define DTP_EW_EXACT_BOOLEAN(m, ...) m(boolean, __VA_ARGS__)
#define DTP_EW_EXACT_ALL(m, ...) DTP_EW_EXACT_NUMBERS(m, __VA_ARGS__) DTP_EW_EXACT_BOOLEAN(m, __VA_ARGS__)

/* The numbers, DTP_ALG_<name>. */
enum {
#define DTP_EW1(name, number, ...) DTP_ALG_##name = number,
#define DTP_EW2(name, number, ...) DTP_ALG_##name = number,
#define DTP_EW3(name, number, ...) DTP_ALG_##name = number,
#include "common/base/elementwise.inc"
};

/* Indices: functions of one argument, and of two or three. */
enum {
#define DTP_EW1(name, ...) DTP_EW_##name,
#include "common/base/elementwise.inc"
    DTP_EW_NUNARY
};
enum {
#define DTP_EW2(name, ...) DTP_EW_##name,
#define DTP_EW3(name, ...) DTP_EW_##name,
#include "common/base/elementwise.inc"
    DTP_EW_NBINARY
};

/* The index of a number, -1 if it is not that of a function. */
int dtp_ew_unary(int alg);
int dtp_ew_binary(int alg);

/* Whether primitives and post-operations have this algorithm; the other numbers are for graphs. */
bool dtp_alg_is_eltwise(dnnl_tp_alg_kind_t alg);
bool dtp_alg_is_binary(dnnl_tp_alg_kind_t alg);
/* Whether graphs make post-operations of it: those, and maximum and minimum. */
bool dtp_alg_is_binary_post(dnnl_tp_alg_kind_t alg);

/* Whether the function exists in the arithmetic of this type (f32's for bf16 and f16). */
bool dtp_ew_takes(int alg, dnnl_tp_data_type_t dt);

/* The type in which a function of operands of type dt is computed. exact: as graphs want it, in
 * dt's own arithmetic; otherwise as primitives do, where integers of up to 32 bits become f32
 * (doc/decisions/0009-integers-element-wise.md). */
dnnl_tp_data_type_t dtp_ew_arithmetic(dnnl_tp_data_type_t dt, bool exact);

/* z = f(x, y) as kernels compute it on integers of type dt; false where dt is none of theirs, or f
 * has three arguments. */
bool dtp_ew_integers(int alg, dnnl_tp_data_type_t dt, int64_t x, int64_t y, int64_t *z);

/* alpha and beta can be parameters of a function in this arithmetic: integers for integers, or
 * infinite. */
bool dtp_ew_params_fit(dnnl_tp_data_type_t arithmetic, float alpha, float beta);

#endif
