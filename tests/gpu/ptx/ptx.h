/* An interpreter of PTX texts: tests run the kernels of the CUDA engine with it where there is no GPU.
 * It computes what NVIDIA's definitions say (approximate functions: the exact value, rounded once, so results are at
 * least as exact as a GPU's) and stops at what a GPU would leave undefined: see ptx_run.
 * Not modelled: time, caches, several blocks at once (a block must not wait for another one).
 * Read on in internal.h. */
#ifndef DNNL_TP_TESTS_GPU_PTX_H
#define DNNL_TP_TESTS_GPU_PTX_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ptx_module ptx_module_t;
typedef struct ptx_kernel ptx_kernel_t;

/* Addresses the interpreter gives out itself: no region of a launch may be at or above the first of them. */
#define PTX_SHARED_WINDOW (UINT64_C(1) << 56) /* generic addresses of shared memory */
#define PTX_LOCAL_WINDOW (UINT64_C(2) << 56)  /* generic addresses of local memory */
#define PTX_PARAM_WINDOW (UINT64_C(3) << 56)  /* generic addresses of parameters */
#define PTX_MODULE_WINDOW (UINT64_C(4) << 56) /* .global and .const variables of the module */

/* Parses one PTX text that ends with a zero byte. NULL and a message if it contains what is not known here. */
ptx_module_t *ptx_parse(const char *text, char *error, size_t error_bytes);
void ptx_free(ptx_module_t *module);
/* Gives its variables their first values. */
void ptx_reset(ptx_module_t *module);

/* The kernel (.entry) of this name, or NULL. The module owns it. */
const ptx_kernel_t *ptx_find(const ptx_module_t *module, const char *name);
int ptx_num_kernels(const ptx_module_t *module);
const ptx_kernel_t *ptx_kernel_at(const ptx_module_t *module, int i);
const char *ptx_kernel_name(const ptx_kernel_t *kernel);

/* Parameters: their number, their places in the parameter block and its size. */
int ptx_num_params(const ptx_kernel_t *kernel);
size_t ptx_param_offset(const ptx_kernel_t *kernel, int i);
size_t ptx_param_size(const ptx_kernel_t *kernel, int i);
size_t ptx_params_bytes(const ptx_kernel_t *kernel);

size_t ptx_static_shared(const ptx_kernel_t *kernel);
size_t ptx_local_bytes(const ptx_kernel_t *kernel); /* of one thread */
int ptx_max_threads(const ptx_kernel_t *kernel);    /* the product of .maxntid or .reqntid, 1024 without */
int ptx_num_registers(
    const ptx_kernel_t *kernel); /* that the text declares: an upper bound of what a GPU would need */

/* A .global or .const variable of the module: its address, size and where its bytes are. False: there is none. */
bool ptx_variable(const ptx_module_t *module, const char *name, uint64_t *address, size_t *bytes,
                  unsigned char **host);

/* Device memory. Addresses are numbers; `host` is where the bytes are. `set` has one byte per byte of the region,
 * nonzero: it was written; a kernel makes it 1 where it writes, and sets PTX_WAS_READ in it where it reads. NULL: all were
 * written. */
enum { PTX_WAS_READ = 0x80 };
typedef struct {
    uint64_t address;
    size_t bytes;
    unsigned char *host, *set;
} ptx_region_t;

/* What the warps of launches asked of memory: traffic.c adds to it. A request is one instruction of one warp. Caches are not
 * modelled: a sector that two requests touch counts twice. */
typedef struct {
    int64_t requests, lanes;            /* lanes: accesses of single lanes */
    int64_t asked;                      /* bytes, of all lanes together */
    int64_t distinct, sectors;          /* bytes and sectors of PTX_SECTOR bytes, each once in a request */
    int64_t footprint, touched_sectors; /* the same, each once in a launch */
} ptx_global_traffic_t;
typedef struct {
    int64_t requests, lanes, asked;
    int64_t wavefronts, ideal; /* ideal: as if no two words lay in one bank */
} ptx_shared_traffic_t;
typedef struct {
    int64_t requests, lanes, sectors, distinct; /* of global memory */
    int64_t shared_requests, wavefronts, ideal;
} ptx_line_traffic_t;
typedef struct {
    ptx_global_traffic_t load, store; /* cp.async loads; atomic operations store */
    ptx_shared_traffic_t shared_load, shared_store;
    int64_t local;             /* accesses of lanes to local memory */
    int64_t warps;             /* that ran */
    int64_t instructions, mma; /* of warps, of the PTX text */
    ptx_line_traffic_t *lines; /* NULL, or an entry for each line of the text */
    size_t num_lines;
} ptx_traffic_t;
enum { PTX_SECTOR = 32 };

typedef struct {
    uint32_t grid[3], block[3];
    uint32_t dynamic_shared;     /* bytes */
    const void *params;          /* laid out as ptx_param_offset says */
    const ptx_region_t *regions; /* sorted by address, disjoint */
    size_t num_regions;
    uint64_t seed;       /* the order of blocks and warps */
    int64_t max_steps;   /* instructions of warps; 0: a generous number. An endless loop ends there. */
    int64_t *lane_steps; /* NULL, or the number of executed instructions, counted by lanes, is added here */
    ptx_traffic_t *traffic; /* NULL, or what the launch asks of memory is added here */
} ptx_launch_t;

/* Runs a kernel to its end. False: it did what it must not; the message names the kernel, the line of the PTX text, the
 * block, the thread and what was wrong: an access outside of all regions, a misaligned one, a read of memory or of a
 * register that nobody wrote, a warp-wide instruction without all its lanes, a barrier that not all threads reach, a data
 * race in shared or global memory (between blocks, warps, or lanes of a warp: race.c), shared memory read before the wait for
 * its asynchronous copy, trap. Thread-safe for launches that write to disjoint memory. */
bool ptx_run(const ptx_kernel_t *kernel, const ptx_launch_t *launch, char *error, size_t error_bytes);
#endif
