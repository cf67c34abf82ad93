/* Devices and contexts of the fake driver; see fake_cuda.h. A device has its primary context and no other. */
#include <string.h>
#include <unistd.h>

#include "gpu/fake/calls.h"
#include "gpu/fake/kernels.h"

static const struct {
    dtp_cu_result_t result;
    const char *name, *text;
} errors[] = {
    {DTP_CU_SUCCESS, "CUDA_SUCCESS", "no error"},
    {DTP_CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {DTP_CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {DTP_CU_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {DTP_CU_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {DTP_CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {DTP_CU_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {DTP_CU_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {DTP_CU_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {DTP_CU_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {DTP_CU_NVLINK_UNCORRECTABLE, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error"},
    {DTP_CU_CONTAINED, "CUDA_ERROR_CONTAINED", "a contained memory error of a peer or of hardware"},
    {DTP_CU_TENSOR_MEMORY_LEAK, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "tensor memory not completely freed"},
    {DTP_CU_MPS_CONNECTION_FAILED, "CUDA_ERROR_MPS_CONNECTION_FAILED",
     "the MPS client could not connect to the MPS control daemon or server"},
    {DTP_CU_MPS_RPC_FAILURE, "CUDA_ERROR_MPS_RPC_FAILURE",
     "a remote call between the MPS server and client failed"},
    {DTP_CU_MPS_SERVER_NOT_READY, "CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server is not ready"},
    {DTP_CU_MPS_MAX_CLIENTS_REACHED, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED",
     "the MPS server has its most clients"},
    {DTP_CU_MPS_MAX_CONNECTIONS_REACHED, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED",
     "the device has its most MPS connections"},
    {DTP_CU_MPS_CLIENT_TERMINATED, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS client was terminated"},
    {DTP_CU_EXTERNAL_DEVICE, "CUDA_ERROR_EXTERNAL_DEVICE", "an error in an external device"},
    {DTP_CU_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {DTP_CU_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
     "capturing stream has unjoined work"},
    {DTP_CU_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {DTP_CU_CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {DTP_CU_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {DTP_CU_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {DTP_CU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {DTP_CU_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {DTP_CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {DTP_CU_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {DTP_CU_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {DTP_CU_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {DTP_CU_ASSERT, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {DTP_CU_HARDWARE_STACK_ERROR, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {DTP_CU_ILLEGAL_INSTRUCTION, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {DTP_CU_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {DTP_CU_INVALID_ADDRESS_SPACE, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
     "operation not supported on global/shared address space"},
    {DTP_CU_INVALID_PC, "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {DTP_CU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {DTP_CU_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {DTP_CU_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {DTP_CU_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {DTP_CU_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
enum { ERRORS = sizeof errors / sizeof *errors };

dtp_cu_result_t fake_cuGetErrorName(dtp_cu_result_t result, const char **text) {
    for (int i = 0; i < ERRORS; ++i)
        if (errors[i].result == result) {
            *text = errors[i].name;
            return DTP_CU_SUCCESS;
        }
    *text = NULL;
    return DTP_CU_INVALID_VALUE;
}

dtp_cu_result_t fake_cuGetErrorString(dtp_cu_result_t result, const char **text) {
    for (int i = 0; i < ERRORS; ++i)
        if (errors[i].result == result) {
            *text = errors[i].text;
            return DTP_CU_SUCCESS;
        }
    *text = NULL;
    return DTP_CU_INVALID_VALUE;
}

/* ---- Devices ----------------------------------------------------------------------------------------- */

dtp_cu_result_t fake_cuInit(unsigned flags) {
    const dtp_cu_result_t result = fake_enter("cuInit", FAKE_CAN_FAIL);
    if (result) return result;
    if (flags) return fake_leave(DTP_CU_INVALID_VALUE);
    if (!fake.devices) return fake_leave(DTP_CU_NO_DEVICE);
    atomic_store(&fake.pid, getpid());
    fake.initialised = true;
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuDriverGetVersion(int *version) {
    *version = fake_cuda_driver_version();
    return DTP_CU_SUCCESS;
}

dtp_cu_result_t fake_cuDeviceGetCount(int *count) {
    const dtp_cu_result_t result = fake_enter("cuDeviceGetCount", FAKE_NEEDS_INIT | FAKE_CAN_FAIL);
    if (result) return result;
    *count = fake.devices;
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuDeviceGet(dtp_cu_device_t *device, int ordinal) {
    const dtp_cu_result_t result = fake_enter("cuDeviceGet", FAKE_NEEDS_INIT | FAKE_CAN_FAIL);
    if (result) return result;
    if (ordinal < 0 || ordinal >= fake.devices) return fake_leave(DTP_CU_INVALID_DEVICE);
    *device = ordinal;
    return fake_leave(DTP_CU_SUCCESS);
}

/* As fake_enter, for a call about a device. */
static dtp_cu_result_t enter_device(const char *call, dtp_cu_device_t device, unsigned more) {
    const dtp_cu_result_t result = fake_enter(call, FAKE_NEEDS_INIT | more);
    if (result) return result;
    return device < 0 || device >= fake.devices ? fake_leave(DTP_CU_INVALID_DEVICE) : DTP_CU_SUCCESS;
}

dtp_cu_result_t fake_cuDeviceGetName(char *name, int bytes, dtp_cu_device_t device) {
    const dtp_cu_result_t result = enter_device("cuDeviceGetName", device, FAKE_CAN_FAIL);
    if (result) return result;
    snprintf(name, (size_t)bytes, "Fake GPU %d.%d", fake.major, fake.minor);
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuDeviceGetUuid(dtp_cu_uuid_t *uuid, dtp_cu_device_t device) {
    const dtp_cu_result_t result = enter_device("cuDeviceGetUuid", device, FAKE_CAN_FAIL);
    if (result) return result;
    memcpy(uuid->bytes, "fake-cuda-device", sizeof uuid->bytes);
    uuid->bytes[15] = (char)device;
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuDeviceTotalMem(size_t *bytes, dtp_cu_device_t device) {
    const dtp_cu_result_t result = enter_device("cuDeviceTotalMem", device, FAKE_CAN_FAIL);
    if (result) return result;
    *bytes = fake.memory_bytes;
    return fake_leave(DTP_CU_SUCCESS);
}

/* A value of a H200, but for the capability; < 0: this attribute is not known here. */
static int attribute_value(dtp_cu_device_attribute_t attribute) {
    switch (attribute) {
    case DTP_CU_ATTR_MULTIPROCESSORS: return fake.multiprocessors;
    case DTP_CU_ATTR_L2_BYTES: return 60 << 20;
    case DTP_CU_ATTR_MAJOR: return fake.major;
    case DTP_CU_ATTR_MINOR: return fake.minor;
    case DTP_CU_ATTR_SHARED_OPTIN: return (int)fake_shared_optin();
    case DTP_CU_ATTR_STREAM_WAIT_VALUE:
    case DTP_CU_ATTR_POOLS: return 1;
    default: return -1;
    }
}

dtp_cu_result_t fake_cuDeviceGetAttribute(int *value, dtp_cu_device_attribute_t attribute,
                                          dtp_cu_device_t device) {
    const dtp_cu_result_t result = enter_device("cuDeviceGetAttribute", device, FAKE_CAN_FAIL);
    if (result) return result;
    const int known = attribute_value(attribute);
    if (known < 0) {
        fake_tell_locked("cuDeviceGetAttribute: attribute %d is not known here", attribute);
        return fake_leave(DTP_CU_INVALID_VALUE);
    }
    *value = known;
    return fake_leave(DTP_CU_SUCCESS);
}

/* ---- Contexts ---------------------------------------------------------------------------------------- */

/* The handles are numbers that nobody can read through. */
enum { FIRST_CTX = 0x100 };
dtp_cu_ctx_t fake_ctx_handle(const fake_ctx_t *ctx) {
    return (dtp_cu_ctx_t)(uintptr_t)(FIRST_CTX + ctx->device);
}
static fake_ctx_t *ctx_of(dtp_cu_ctx_t handle) {
    const uintptr_t i = (uintptr_t)handle - FIRST_CTX;
    return i < FAKE_MAX_DEVICES && fake.ctx[i].retained ? &fake.ctx[i] : NULL;
}

dtp_cu_result_t fake_cuDevicePrimaryCtxRetain(dtp_cu_ctx_t *ctx, dtp_cu_device_t device) {
    const dtp_cu_result_t result = enter_device("cuDevicePrimaryCtxRetain", device, FAKE_CAN_FAIL);
    if (result) return result;
    ++fake.ctx[device].retained;
    *ctx = fake_ctx_handle(&fake.ctx[device]);
    return fake_leave(DTP_CU_SUCCESS);
}

/* The last release waits for all that is enqueued; the next context is healthy. What was left in it stays, as a leak. */
dtp_cu_result_t fake_cuDevicePrimaryCtxRelease(dtp_cu_device_t device) {
    dtp_cu_result_t result = enter_device("cuDevicePrimaryCtxRelease", device, 0);
    if (result) return result;
    fake_ctx_t *ctx = &fake.ctx[device];
    if (!ctx->retained) {
        fake_wrong_locked("cuDevicePrimaryCtxRelease: the context of device %d is not retained", device);
        return fake_leave(DTP_CU_INVALID_CONTEXT);
    }
    result = ctx->sticky;
    if (ctx->retained > 1) {
        --ctx->retained;
        return fake_leave(result);
    }
    fake_unlock();
    fake_cuda_drain();
    fake_lock();
    --ctx->retained;
    ctx->sticky = DTP_CU_SUCCESS;
    return fake_leave(result);
}

dtp_cu_result_t fake_cuCtxPushCurrent(dtp_cu_ctx_t handle) {
    const dtp_cu_result_t result = fake_enter("cuCtxPushCurrent", FAKE_NEEDS_INIT | FAKE_CAN_FAIL);
    if (result) return result;
    fake_ctx_t *ctx = ctx_of(handle);
    if (!ctx) {
        fake_wrong_locked("cuCtxPushCurrent: %p is no context", (void *)handle);
        return fake_leave(DTP_CU_INVALID_CONTEXT);
    }
    if (fake_thread.n == FAKE_MAX_CURRENT) {
        fake_wrong_locked("cuCtxPushCurrent: %d contexts are current; none is popped", FAKE_MAX_CURRENT);
        return fake_leave(DTP_CU_INVALID_CONTEXT);
    }
    fake_thread.current[fake_thread.n++] = ctx;
    fake_watch_thread();
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuCtxPopCurrent(dtp_cu_ctx_t *handle) {
    const dtp_cu_result_t result = fake_enter("cuCtxPopCurrent", FAKE_NEEDS_INIT);
    if (result) return result;
    if (!fake_thread.n) {
        fake_wrong_locked("cuCtxPopCurrent: no context is current");
        return fake_leave(DTP_CU_INVALID_CONTEXT);
    }
    const fake_ctx_t *ctx = fake_thread.current[--fake_thread.n];
    if (handle) *handle = fake_ctx_handle(ctx);
    return fake_leave(DTP_CU_SUCCESS);
}
