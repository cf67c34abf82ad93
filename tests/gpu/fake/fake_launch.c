/* Launches of the fake driver: what is checked when a kernel is enqueued, and how it runs. */
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/calls.h"
#include "gpu/fake/kernels.h"

enum { KIB = 1024, SHARED_BYTES = 48 * KIB };

unsigned fake_shared_optin(void) {
    switch (10 * fake.major + fake.minor) {
    case 75: return 64 * KIB;
    case 80:
    case 87: return 163 * KIB;
    case 86:
    case 89:
    case 120:
    case 121: return 99 * KIB;
    default: return 227 * KIB;
    }
}

dtp_cu_result_t fake_cuFuncGetAttribute(int *value, dtp_cu_function_attribute_t attribute,
                                        dtp_cu_function_t function) {
    dtp_cu_result_t result = fake_enter("cuFuncGetAttribute", FAKE_CALL);
    if (result) return result;
    fake_kernel_t *kernel = fake_kernel_find_locked((uintptr_t)function, "cuFuncGetAttribute");
    if (!kernel) return fake_leave(DTP_CU_INVALID_HANDLE);
    if ((result = fake_kernel_need_locked(kernel))) return fake_leave(result);
    if (attribute != DTP_CU_FUNC_SHARED) return fake_leave(DTP_CU_INVALID_VALUE);
    *value = (int)ptx_static_shared(kernel->ptx[fake_current()->device]);
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuFuncLoad(dtp_cu_function_t function) {
    dtp_cu_result_t result = fake_enter("cuFuncLoad", FAKE_CALL | FAKE_UNSAFE);
    if (result) return result;
    fake_kernel_t *kernel = fake_kernel_find_locked((uintptr_t)function, "cuFuncLoad");
    if (!kernel) return fake_leave(DTP_CU_INVALID_HANDLE);
    if ((result = fake_kernel_need_locked(kernel))) return fake_leave(result);
    kernel->loaded[fake_current()->device] = true;
    return fake_leave(DTP_CU_SUCCESS);
}

dtp_cu_result_t fake_cuFuncSetAttribute(dtp_cu_function_t function, dtp_cu_function_attribute_t attribute,
                                        int value) {
    dtp_cu_result_t result = fake_enter("cuFuncSetAttribute", FAKE_CALL);
    if (result) return result;
    fake_kernel_t *kernel = fake_kernel_find_locked((uintptr_t)function, "cuFuncSetAttribute");
    if (!kernel) return fake_leave(DTP_CU_INVALID_HANDLE);
    if ((result = fake_kernel_need_locked(kernel))) return fake_leave(result);
    const int device = fake_current()->device;
    const size_t room = fake_shared_optin() - ptx_static_shared(kernel->ptx[device]);
    if (attribute != DTP_CU_FUNC_MAX_DYNAMIC_SHARED || value < 0 || (size_t)value > room)
        return fake_leave(DTP_CU_INVALID_VALUE);
    kernel->more_shared[device] = (unsigned)value;
    return fake_leave(DTP_CU_SUCCESS);
}

/* ---- What is enqueued -------------------------------------------------------------------------------- */

/* Why a launch of this shape is refused; NULL: it is not. */
static const char *shape_refused(const fake_kernel_t *kernel, const fake_item_t *item) {
    enum { MAX_GRID_X = 0x7fffffff, MAX_GRID_YZ = 65535, MAX_THREADS = 1024, MAX_BLOCK_Z = 64 };
    const ptx_kernel_t *ptx = kernel->ptx[fake_current()->device];
    const unsigned *grid = item->grid, *block = item->block;
    if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2]) return "a side is 0";
    if (grid[0] > MAX_GRID_X || grid[1] > MAX_GRID_YZ || grid[2] > MAX_GRID_YZ)
        return "the grid is too large";
    if (block[0] > MAX_THREADS || block[1] > MAX_THREADS || block[2] > MAX_BLOCK_Z)
        return "the block is too large";
    const unsigned threads = block[0] * block[1] * block[2];
    if (threads > MAX_THREADS) return "the block has more than 1024 threads";
    if (threads > (unsigned)ptx_max_threads(ptx)) return "the block has more threads than the kernel allows";
    const size_t fixed = ptx_static_shared(ptx), plain = fixed < SHARED_BYTES ? SHARED_BYTES - fixed : 0;
    if (item->shared > plain && item->shared > kernel->more_shared[fake_current()->device])
        return "the shared memory is more than 48 KiB, and cuFuncSetAttribute has not allowed it";
    return NULL;
}

/* Copies the parameters; why they are refused, or NULL. */
static const char *take_params(fake_item_t *item, const ptx_kernel_t *ptx, void **params, void **extra) {
    enum { SLACK = 16 }; /* the end of a struct may be padded */
    item->params_bytes = ptx_params_bytes(ptx);
    item->params = fake_zalloc(item->params_bytes);
    if (params && extra) return "params and extra are both given";
    if (!params && !extra)
        return ptx_num_params(ptx) ? "the kernel has parameters, and none are given" : NULL;
    for (int i = 0; params && i < ptx_num_params(ptx); ++i) {
        if (!params[i]) return "a parameter is NULL";
        memcpy((char *)item->params + ptx_param_offset(ptx, i), params[i], ptx_param_size(ptx, i));
    }
    if (params) return NULL;
    const void *from = NULL;
    const size_t *bytes = NULL;
    for (; (uintptr_t)*extra != DTP_CU_LAUNCH_PARAM_END; extra += 2) {
        if ((uintptr_t)*extra == DTP_CU_LAUNCH_PARAM_BUFFER) from = extra[1];
        else if ((uintptr_t)*extra == DTP_CU_LAUNCH_PARAM_BYTES) bytes = extra[1];
        else return "extra holds what is not known";
    }
    if (!from || !bytes) return "extra lacks the buffer or its size";
    if (*bytes < item->params_bytes) return "extra has fewer bytes than the parameters";
    if (*bytes > item->params_bytes + SLACK) return "extra has more bytes than the parameters";
    memcpy(item->params, from, item->params_bytes);
    return NULL;
}

dtp_cu_result_t fake_cuLaunchKernel(dtp_cu_function_t function, unsigned grid_x, unsigned grid_y,
                                    unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                    unsigned shared_bytes, dtp_cu_stream_t stream, void **params,
                                    void **extra) {
    dtp_cu_result_t result = fake_enter("cuLaunchKernel", FAKE_CALL);
    if (result) return result;
    fake_kernel_t *kernel = fake_kernel_find_locked((uintptr_t)function, "cuLaunchKernel");
    fake_stream_t *s = kernel ? fake_stream_use_locked(stream, "cuLaunchKernel") : NULL;
    if (!s) return fake_leave(kernel ? fake.no_stream : DTP_CU_INVALID_HANDLE);
    if ((result = fake_kernel_need_locked(kernel))) return fake_leave(result);
    if (!kernel->loaded[s->ctx->device] && fake_parked_locked(s->ctx))
        fake_wrong_locked(
            "cuLaunchKernel: %s is loaded by its first launch, where a stream waits for a word of the "
            "host",
            ptx_kernel_name(kernel->ptx[s->ctx->device]));
    kernel->loaded[s->ctx->device] = true;
    fake_item_t *item = fake_item_new(FAKE_LAUNCH);
    memcpy(item->grid, (unsigned[]){grid_x, grid_y, grid_z}, sizeof item->grid);
    memcpy(item->block, (unsigned[]){block_x, block_y, block_z}, sizeof item->block);
    item->shared = shared_bytes;
    item->kernel = kernel;
    ++kernel->refs;
    const ptx_kernel_t *ptx = kernel->ptx[s->ctx->device];
    const char *refused = shape_refused(kernel, item);
    if (!refused) refused = take_params(item, ptx, params, extra);
    if (refused) {
        fake_tell_locked("cuLaunchKernel: %s: %s", ptx_kernel_name(ptx), refused);
        fake_item_free_locked(item);
        return fake_leave(DTP_CU_INVALID_VALUE);
    }
    (void)fake_submit_locked(s, item);
    return fake_leave(DTP_CU_SUCCESS);
}

/* ---- What runs --------------------------------------------------------------------------------------- */

/* Marks blocks whose addresses are parameters as used; what is wrong with one that may not be used, or NULL. */
static const char *mark_used_locked(const fake_stream_t *s, const fake_item_t *item) {
    const char *refused = NULL;
    for (size_t i = 0; i + sizeof(uint64_t) <= item->params_bytes; i += sizeof(uint64_t)) {
        uint64_t value;
        memcpy(&value, (const char *)item->params + i, sizeof value);
        fake_block_t *b = fake_block_find_locked(value, 1);
        if (!b) continue;
        const char *why = fake_block_refused_locked(s, b);
        if (why) refused = why;
        else b->used.of[s->slot] = item->seq;
    }
    return refused;
}

/* What a kernel may touch. */
typedef struct {
    size_t n;
    ptx_region_t *regions; /* one for each block that the stream may use */
    fake_block_t **blocks;
    unsigned char **seen; /* of fake_before_kernel_locked; of blocks that are parameters */
} view_t;

static view_t view_locked(const fake_stream_t *s, const fake_item_t *item) {
    view_t view = {0, fake_zalloc(fake.n_blocks * sizeof *view.regions),
                   fake_zalloc(fake.n_blocks * sizeof *view.blocks),
                   fake_zalloc(fake.n_blocks * sizeof *view.seen)};
    for (size_t i = 0; i < fake.n_blocks; ++i) {
        fake_block_t *b = fake.blocks[i];
        if (fake_block_refused_locked(s, b)) continue;
        unsigned char *seen =
            b->set && b->used.of[s->slot] == item->seq ? fake_before_kernel_locked(s, b) : NULL;
        view.regions[view.n] = (ptx_region_t){b->at, b->bytes, b->data, seen ? seen : b->set};
        view.blocks[view.n] = b;
        view.seen[view.n++] = seen;
    }
    return view;
}

/* Looks at what was read and written; what is wrong with that, or NULL. */
static const char *end_view_locked(const fake_stream_t *s, const fake_item_t *item, view_t *view,
                                   bool *hidden) {
    const char *wrong = NULL;
    for (size_t i = 0; i < view->n; ++i) {
        fake_block_t *b = view->blocks[i];
        *hidden |= view->seen[i] != NULL;
        if (!b->set || b->used.of[s->slot] != item->seq) continue;
        const char *found = fake_after_kernel_locked(s, b, view->seen[i]);
        if (found) wrong = found;
    }
    free(view->regions);
    free(view->blocks);
    free(view->seen);
    return wrong;
}

static dtp_cu_result_t result_of(const char *error) {
    if (strstr(error, "misaligned")) return DTP_CU_MISALIGNED_ADDRESS;
    if (strstr(error, "outside")) return DTP_CU_ILLEGAL_ADDRESS;
    return DTP_CU_LAUNCH_FAILED;
}

/* Tells what the interpreter says, and what may be behind it. */
static void tell_trap_locked(const char *error, const char *refused, bool hidden) {
    unsigned long long at = 0;
    const char *address = strstr(error, " 0x");
    char freed[128] = "";
    if (address && sscanf(address, " 0x%llx", &at) == 1 && fake_was_freed_locked(at))
        snprintf(freed, sizeof freed, "; that memory is freed");
    if (hidden) refused = "may be written by another stream: nothing makes this stream wait for it";
    fake_tell_locked("%s%s%s%s", error, freed, refused ? "; memory that is a parameter " : "",
                     refused ? refused : "");
}

static bool (*run_kernel)(const ptx_kernel_t *, const ptx_launch_t *, char *, size_t) = ptx_run;
void fake_cuda_run_by(bool (*run)(const ptx_kernel_t *, const ptx_launch_t *, char *, size_t)) {
    run_kernel = run ? run : ptx_run;
}

dtp_cu_result_t fake_run_locked(fake_stream_t *s, fake_item_t *item) {
    const ptx_kernel_t *ptx = item->kernel->ptx[s->ctx->device];
    const char *refused = mark_used_locked(s, item);
    view_t view = view_locked(s, item);
    ptx_launch_t launch = {.dynamic_shared = item->shared,
                           .params = item->params,
                           .regions = view.regions,
                           .num_regions = view.n,
                           .seed = fake_random_locked()};
    memcpy(launch.grid, item->grid, sizeof launch.grid);
    memcpy(launch.block, item->block, sizeof launch.block);
    char error[768] = "";
    fake_unlock();
    const bool done = run_kernel(ptx, &launch, error, sizeof error);
    fake_lock();
    bool hidden = false;
    const char *wrong = end_view_locked(s, item, &view, &hidden);
    ++fake.stats.launches;
    if (done && !wrong) return DTP_CU_SUCCESS;
    if (done) fake_tell_locked("%s %s", ptx_kernel_name(ptx), wrong);
    else tell_trap_locked(error, refused, hidden);
    return done ? DTP_CU_LAUNCH_FAILED : result_of(error);
}
