/* The part of NVTX 3's binary interface between a program and a tool that ranges need, in our own words; compared with
 * nvtxDetail/nvtxTypes.h as cu_abi.h is with cuda.h.
 *
 * A tool is a library. Its InitializeInjectionNvtx2 gets a function that gives tables: one of them tells where the program's pointers to
 * NVTX's calls stand, module by module, and the tool writes its own functions there. */
#ifndef DTP_GPU_DRIVER_NVTX_ABI_H
#define DTP_GPU_DRIVER_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { DTP_NVTX_VERSION = 3, DTP_NVTX_ASCII = 1 /* NVTX_MESSAGE_TYPE_ASCII */ };
/* NvtxExportTableID */
enum { DTP_NVTX_CALLBACKS = 1, DTP_NVTX_VERSION_INFO = 3 };
/* NvtxCallbackModule, and how many numbers of calls each has (0 is none) */
typedef int dtp_nvtx_module_t;
enum {
    DTP_NVTX_CORE = 1,
    DTP_NVTX_CUDA = 2,
    DTP_NVTX_OPENCL = 3,
    DTP_NVTX_CUDART = 4,
    DTP_NVTX_CORE2 = 5,
    DTP_NVTX_SYNC = 6,
    DTP_NVTX_MODULES = 7
};
enum {
    DTP_NVTX_CORE_CALLS = 16,
    DTP_NVTX_CUDA_CALLS = 9,
    DTP_NVTX_OPENCL_CALLS = 15,
    DTP_NVTX_CUDART_CALLS = 7,
    DTP_NVTX_CORE2_CALLS = 16,
    DTP_NVTX_SYNC_CALLS = 7
};
/* NvtxCallbackIdCore2 */
enum { DTP_NVTX_RANGE_PUSH = 4, DTP_NVTX_RANGE_POP = 5, DTP_NVTX_DOMAIN_CREATE = 12 };

typedef struct nvtxDomainRegistration_st *dtp_nvtx_domain_t;

/* nvtxEventAttributes_v2 */
typedef struct {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const char *message;
} dtp_nvtx_event_t;

/* Types of the calls */
typedef dtp_nvtx_domain_t (*dtp_nvtx_domain_create_t)(const char *name);
typedef int (*dtp_nvtx_range_push_t)(dtp_nvtx_domain_t domain, const dtp_nvtx_event_t *event);
typedef int (*dtp_nvtx_range_pop_t)(dtp_nvtx_domain_t domain);

typedef void (*dtp_nvtx_call_t)(void);
/* NvtxExportTableCallbacks: *table gets pointers to a module's pointers, *n how many there are; 0: there is no such module. */
typedef struct {
    size_t struct_size;
    int (*get_module)(dtp_nvtx_module_t module, dtp_nvtx_call_t ***table, unsigned *n);
} dtp_nvtx_callbacks_t;
/* NvtxExportTableVersionInfo */
typedef struct {
    size_t struct_size;
    uint32_t version, reserved;
    void (*set_tool_version)(uint32_t version);
} dtp_nvtx_version_t;
typedef const void *(*dtp_nvtx_get_table_t)(uint32_t id);
/* InitializeInjectionNvtx2; 0: the tool does not take part */
typedef int (*dtp_nvtx_init_t)(dtp_nvtx_get_table_t get_table);

#endif
