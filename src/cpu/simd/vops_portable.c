/* Vector operations, portable: see vops.h. */
#include "cpu/simd/vec_portable.h"

#include "cpu/simd/vops_tables.inc"
