/* The calls of the fake driver's table, fake_<name of the call>, for the files that define them. */
#ifndef TESTS_GPU_FAKE_CALLS_H
#define TESTS_GPU_FAKE_CALLS_H

#include "gpu/fake/fake.h"

#define DTP_CU_CALL(name, version, args) dtp_cu_result_t fake_##name args;
#include "gpu/driver/cu_calls.inc"

#endif
