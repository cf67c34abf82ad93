/* The calls of the fake cuBLASLt; see fake_lt.h. They have the library's names, so that a libcublasLt.so.13 can be made of them. */
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/lt_images.h"

#define DTP_LT_CALL(result, name, args) __attribute__((visibility("default"))) result name args;
#include "gpu/driver/lt_calls.inc"

struct cublasLtContext {
    struct cublasLtContext *next;
    fake_ctx_t *ctx;
};

/* Under the driver's lock. */
static struct {
    struct cublasLtContext *handles;
    int64_t fail_at;
    dtp_lt_status_t fail_with;
    bool finds_nothing;
    fake_lt_last_t last;
} lt = {.fail_at = -1};

/* ---- How calls begin and end ---------------------------------------------------------------------------- */

static dtp_lt_status_t leave(dtp_lt_status_t status) {
    fake_unlock();
    return status;
}
static dtp_lt_status_t wrong(dtp_lt_status_t status, const char *call, const char *what) {
    fake_wrong_locked("%s: %s", call, what);
    return leave(status);
}

/* Takes the lock and answers success, or does not. handle: of a context, which must be current; NULL: the call has none. */
static dtp_lt_status_t enter(const char *call, bool has_handle, const struct cublasLtContext *handle) {
    fake_lock();
    if (fake_thread.in_host_fn) return wrong(DTP_LT_INTERNAL_ERROR, call, "is called inside a host function");
    const struct cublasLtContext *known = lt.handles;
    while (known && known != handle) known = known->next;
    if (has_handle && !known) return wrong(DTP_LT_NOT_INITIALIZED, call, "no such handle");
    if (has_handle && fake_current() != handle->ctx)
        return wrong(DTP_LT_INVALID_VALUE, call, "the handle's context is not current");
    if (lt.fail_at >= 0 && lt.fail_at-- == 0) return leave(lt.fail_with);
    return DTP_LT_SUCCESS;
}

/* ---- The library ---------------------------------------------------------------------------------------- */

size_t cublasLtGetVersion(void) { return (size_t)DTP_LT_MAJOR * DTP_LT_VERSION_OF_MAJOR + 100; }

const char *cublasLtGetStatusName(dtp_lt_status_t status) {
    switch (status) {
    case DTP_LT_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case DTP_LT_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case DTP_LT_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case DTP_LT_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case DTP_LT_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case DTP_LT_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case DTP_LT_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case DTP_LT_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    default: return "an unknown status";
    }
}
const char *cublasLtGetStatusString(dtp_lt_status_t status) {
    (void)status;
    return "told by the fake cuBLASLt";
}

dtp_lt_status_t cublasLtCreate(dtp_lt_handle_t *handle) {
    const dtp_lt_status_t status = enter("cublasLtCreate", false, NULL);
    if (status) return status;
    if (!fake_current() || fake_current()->sticky) return leave(DTP_LT_NOT_INITIALIZED);
    struct cublasLtContext *made = fake_zalloc(sizeof *made);
    *made = (struct cublasLtContext){lt.handles, fake_current()};
    *handle = lt.handles = made;
    ++fake.stats.lt_handles;
    return leave(DTP_LT_SUCCESS);
}

dtp_lt_status_t cublasLtDestroy(dtp_lt_handle_t handle) {
    fake_lock();
    struct cublasLtContext **link = &lt.handles;
    while (*link && *link != handle) link = &(*link)->next;
    if (!*link) return wrong(DTP_LT_NOT_INITIALIZED, "cublasLtDestroy", "no such handle");
    *link = handle->next;
    free(handle);
    --fake.stats.lt_handles;
    return leave(DTP_LT_SUCCESS);
}

/* ---- Descriptors ---------------------------------------------------------------------------------------- */

/* A descriptor that holds this image. */
static dtp_lt_status_t create(const char *call, void **made, size_t bytes, const void *image,
                              size_t image_bytes) {
    const dtp_lt_status_t status = enter(call, false, NULL);
    if (status) return status;
    *made = fake_zalloc(bytes);
    memcpy(*made, image, image_bytes);
    ++fake.stats.lt_descriptors;
    return leave(DTP_LT_SUCCESS);
}

static dtp_lt_status_t destroy(void *descriptor) {
    fake_lock();
    free(descriptor);
    --fake.stats.lt_descriptors;
    return leave(DTP_LT_SUCCESS);
}

/* An attribute of an image: where it lies, and its size. */
typedef struct {
    int attribute;
    size_t at, bytes;
} attribute_t;

/* The image begins with its kind; `set` lies at set_at. */
static dtp_lt_status_t set(const char *call, void *descriptor, uint32_t kind, size_t set_at,
                           const attribute_t *known, size_t n, int attribute, const void *value,
                           size_t bytes) {
    const dtp_lt_status_t status = enter(call, false, NULL);
    if (status) return status;
    uint32_t is;
    memcpy(&is, descriptor, sizeof is);
    if (is != kind) return wrong(DTP_LT_INVALID_VALUE, call, "not such a descriptor");
    size_t i = 0;
    while (i < n && known[i].attribute != attribute) ++i;
    if (i == n || known[i].bytes != bytes || !value)
        return wrong(DTP_LT_INVALID_VALUE, call, i == n ? "an unknown attribute" : "a value of another size");
    memcpy((char *)descriptor + known[i].at, value, bytes);
    memcpy(&is, (char *)descriptor + set_at, sizeof is);
    is |= UINT32_C(1) << attribute;
    memcpy((char *)descriptor + set_at, &is, sizeof is);
    return leave(DTP_LT_SUCCESS);
}
#define MEMBER(type, attribute, member) \
    { attribute, offsetof(type, member), sizeof((type *)NULL)->member }

dtp_lt_status_t cublasLtMatrixLayoutCreate(dtp_lt_layout_t **layout, dtp_lt_type_t type, uint64_t rows,
                                           uint64_t columns, int64_t column_stride) {
    const fake_lt_layout_t image = {FAKE_LT_LAYOUT, type, rows, columns, column_stride, 1, 0, 0};
    return create("cublasLtMatrixLayoutCreate", (void **)layout, sizeof **layout, &image, sizeof image);
}
dtp_lt_status_t cublasLtMatrixLayoutDestroy(dtp_lt_layout_t *layout) { return destroy(layout); }
dtp_lt_status_t cublasLtMatrixLayoutSetAttribute(dtp_lt_layout_t *layout, dtp_lt_of_layout_t attribute,
                                                 const void *value, size_t bytes) {
    static const attribute_t known[] = {MEMBER(fake_lt_layout_t, DTP_LT_BATCH_COUNT, batch),
                                        MEMBER(fake_lt_layout_t, DTP_LT_BATCH_STRIDE, batch_stride)};
    return set("cublasLtMatrixLayoutSetAttribute", layout, FAKE_LT_LAYOUT, offsetof(fake_lt_layout_t, set),
               known, sizeof known / sizeof *known, attribute, value, bytes);
}

dtp_lt_status_t cublasLtMatmulDescCreate(dtp_lt_product_t **product, dtp_lt_compute_t compute,
                                         dtp_lt_type_t scales) {
    const fake_lt_product_t image = {
        .kind = FAKE_LT_PRODUCT, .compute = compute, .scales = scales, .epilogue = DTP_LT_EPILOGUE_NONE};
    return create("cublasLtMatmulDescCreate", (void **)product, sizeof **product, &image, sizeof image);
}
dtp_lt_status_t cublasLtMatmulDescDestroy(dtp_lt_product_t *product) { return destroy(product); }
dtp_lt_status_t cublasLtMatmulDescSetAttribute(dtp_lt_product_t *product, dtp_lt_of_product_t attribute,
                                               const void *value, size_t bytes) {
    static const attribute_t known[] = {MEMBER(fake_lt_product_t, DTP_LT_TRANSPOSE_A, transpose[0]),
                                        MEMBER(fake_lt_product_t, DTP_LT_TRANSPOSE_B, transpose[1]),
                                        MEMBER(fake_lt_product_t, DTP_LT_EPILOGUE, epilogue),
                                        MEMBER(fake_lt_product_t, DTP_LT_BIAS_POINTER, bias),
                                        MEMBER(fake_lt_product_t, DTP_LT_BIAS_BATCH_STRIDE, bias_batch)};
    return set("cublasLtMatmulDescSetAttribute", product, FAKE_LT_PRODUCT, offsetof(fake_lt_product_t, set),
               known, sizeof known / sizeof *known, attribute, value, bytes);
}

dtp_lt_status_t cublasLtMatmulPreferenceCreate(dtp_lt_preference_t **preference) {
    enum { DEFAULT_ALIGNMENT = 256, ALL_SCHEMES = 7 };
    fake_lt_preference_t image = {.kind = FAKE_LT_PREFERENCE, .schemes = ALL_SCHEMES};
    for (int i = 0; i < 4; ++i) image.alignment[i] = DEFAULT_ALIGNMENT;
    return create("cublasLtMatmulPreferenceCreate", (void **)preference, sizeof **preference, &image,
                  sizeof image);
}
dtp_lt_status_t cublasLtMatmulPreferenceDestroy(dtp_lt_preference_t *preference) {
    return destroy(preference);
}
dtp_lt_status_t cublasLtMatmulPreferenceSetAttribute(dtp_lt_preference_t *preference,
                                                     dtp_lt_of_preference_t attribute, const void *value,
                                                     size_t bytes) {
    static const attribute_t known[] = {MEMBER(fake_lt_preference_t, DTP_LT_MAX_WORKSPACE, workspace),
                                        MEMBER(fake_lt_preference_t, DTP_LT_REDUCTION_SCHEMES, schemes),
                                        MEMBER(fake_lt_preference_t, DTP_LT_ALIGNMENT_A, alignment[0]),
                                        MEMBER(fake_lt_preference_t, DTP_LT_ALIGNMENT_A + 1, alignment[1]),
                                        MEMBER(fake_lt_preference_t, DTP_LT_ALIGNMENT_A + 2, alignment[2]),
                                        MEMBER(fake_lt_preference_t, DTP_LT_ALIGNMENT_D, alignment[3])};
    return set("cublasLtMatmulPreferenceSetAttribute", preference, FAKE_LT_PREFERENCE,
               offsetof(fake_lt_preference_t, set), known, sizeof known / sizeof *known, attribute, value,
               bytes);
}

/* ---- Products ------------------------------------------------------------------------------------------- */

/* The images of a problem; the data of an item's come later. */
static const char *read_images(fake_lt_work_t *w, const dtp_lt_product_t *p, const dtp_lt_layout_t *a,
                               const dtp_lt_layout_t *b, const dtp_lt_layout_t *c, const dtp_lt_layout_t *d) {
    if (!p || !a || !b || !c || !d) return "a descriptor is NULL";
    memset(w, 0, sizeof *w);
    memcpy(&w->product, p, sizeof w->product);
    memcpy(&w->a, a, sizeof w->a);
    memcpy(&w->b, b, sizeof w->b);
    memcpy(&w->d, d, sizeof w->d);
    if (w->product.kind != FAKE_LT_PRODUCT || w->a.kind != FAKE_LT_LAYOUT || w->b.kind != FAKE_LT_LAYOUT ||
        w->d.kind != FAKE_LT_LAYOUT)
        return "not such a descriptor";
    return memcmp(c, d, sizeof *c) ? "c is laid out as d here" : NULL;
}

/* What NVIDIA's documentation of cublasLtMatmul() rules out. */
static const char *refused(const fake_lt_work_t *w) {
    const fake_lt_layout_t *const l[] = {&w->a, &w->b, &w->d};
    const fake_lt_product_t *p = &w->product;
    for (int i = 0; i < 3; ++i) {
        if (!l[i]->rows || !l[i]->columns || l[i]->stride < (int64_t)l[i]->rows)
            return "a layout that overlaps";
        if (l[i]->batch != w->d.batch || l[i]->batch < 1) return "batches of different lengths";
        if (l[i]->batch_stride < 0) return "a batch that runs backwards";
    }
    if (w->d.batch > 1 && w->d.batch_stride < (int64_t)fake_lt_extent(&w->d))
        return "matrices of d that overlap";
    if (w->a.type != w->b.type || (w->d.type != w->a.type && w->d.type != DTP_LT_F32))
        return "types that do not go together";
    if (p->scales != DTP_LT_F32 ||
        (p->compute != DTP_LT_COMPUTE_F32 && (p->compute != DTP_LT_COMPUTE_TF32 || w->a.type != DTP_LT_F32)))
        return "a type of computation that does not go with the types";
    const uint64_t m = p->transpose[0] ? w->a.columns : w->a.rows,
                   n = p->transpose[1] ? w->b.rows : w->b.columns,
                   k = p->transpose[1] ? w->b.columns : w->b.rows;
    if (m != w->d.rows || n != w->d.columns || k != fake_lt_k(w)) return "sizes that do not go together";
    switch (p->epilogue & ~(uint32_t)DTP_LT_EPILOGUE_BIAS) {
    case 0:
    case DTP_LT_EPILOGUE_GELU: break;
    case DTP_LT_EPILOGUE_NONE:
        if (p->epilogue == DTP_LT_EPILOGUE_NONE) break; /* fallthrough */
    default: return "an epilogue that does not exist";
    }
    if (!p->epilogue) return "no epilogue";
    if (p->epilogue & DTP_LT_EPILOGUE_BIAS && !p->bias) return "a bias without an address";
    return NULL;
}

static uint64_t problem_of(const fake_lt_work_t *w) {
    struct {
        fake_lt_product_t product;
        fake_lt_layout_t layout[3];
    } all = {w->product, {w->a, w->b, w->d}};
    all.product.bias = 0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof all; ++i)
        hash = (hash ^ ((const unsigned char *)&all)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint32_t alignment_of(uint64_t address) { return (uint32_t)(address & -address & 0xff); }

dtp_lt_status_t cublasLtMatmulAlgoGetHeuristic(dtp_lt_handle_t handle, dtp_lt_product_t *product,
                                               dtp_lt_layout_t *a, dtp_lt_layout_t *b, dtp_lt_layout_t *c,
                                               dtp_lt_layout_t *d, dtp_lt_preference_t *preference, int most,
                                               dtp_lt_found_t *found, int *n) {
    static const char call[] = "cublasLtMatmulAlgoGetHeuristic";
    enum { SHARED_FROM_K = 48, STEP = 16 }; /* from which on parts of sums go to the workspace */
    fake_lt_preference_t wish;
    fake_lt_work_t w;
    const dtp_lt_status_t status = enter(call, true, handle);
    if (status) return status;
    const char *why = read_images(&w, product, a, b, c, d);
    memcpy(&wish, preference, sizeof wish);
    if (!why && wish.kind != FAKE_LT_PREFERENCE) why = "not such a descriptor";
    if (!why) why = refused(&w);
    if (!why && (wish.schemes != DTP_LT_REDUCTION_COMPUTE_TYPE || most < 1))
        why = "a preference that products do not have";
    if (!why) why = fake_lt_real(&w.product, (const fake_lt_layout_t *const[]){&w.a, &w.b, &w.d}, &wish);
    if (why) return wrong(DTP_LT_INVALID_VALUE, call, why);
    *n = !lt.finds_nothing;
    if (lt.finds_nothing) return leave(DTP_LT_NOT_SUPPORTED);
    fake_lt_algo_t algo = {.kind = FAKE_LT_ALGO, .alignment = wish.alignment[0], .problem = problem_of(&w)};
    for (int i = 1; i < 4; ++i)
        if (algo.alignment < wish.alignment[i]) algo.alignment = wish.alignment[i];
    if (w.product.epilogue & DTP_LT_EPILOGUE_BIAS) algo.bias_alignment = alignment_of(w.product.bias);
    const uint64_t wants =
        w.d.rows * w.d.columns * (uint64_t)w.d.batch * 2 * sizeof(float) / STEP * STEP + STEP;
    if (fake_lt_k(&w) >= SHARED_FROM_K && wants <= wish.workspace) algo.workspace = wants;
    memset(found, 0, sizeof *found);
    memcpy(&found->algo, &algo, sizeof algo);
    found->workspace_bytes = algo.workspace;
    return leave(DTP_LT_SUCCESS);
}

static const char *way_refused(const fake_lt_work_t *w, const dtp_lt_algo_t *given) {
    fake_lt_algo_t algo;
    if (!given) return "no way is given: the library would ask its heuristic";
    memcpy(&algo, given, sizeof algo);
    if (algo.kind != FAKE_LT_ALGO || algo.problem != problem_of(w)) return "a way of another problem";
    const uint64_t all = w->a_at | w->b_at | w->d_at;
    if (all % algo.alignment || (algo.bias_alignment && w->product.bias % algo.bias_alignment))
        return "an address that is not aligned as the way wants it";
    if (w->workspace_bytes < algo.workspace) return "less workspace than the way wants";
    if (algo.workspace && (!w->workspace_at || w->workspace_at % 16))
        return "a workspace that is not aligned to 16 bytes";
    return NULL;
}

/* Is every operand in a known block? Whether it may be used is known when the item's turn comes. */
static const char *operand_refused_locked(const fake_lt_work_t *w) {
    const fake_lt_layout_t *const l[] = {&w->a, &w->b, &w->d};
    const dtp_cu_ptr_t at[] = {w->a_at, w->b_at, w->d_at};
    for (int i = 0; i < 3; ++i) {
        const uint64_t elements =
            fake_lt_extent(l[i]) + (uint64_t)(l[i]->batch - 1) * (uint64_t)l[i]->batch_stride;
        if (!fake_block_find_locked(at[i], elements * fake_lt_size(l[i]->type)))
            return "an operand outside memory of devices";
    }
    if (w->product.epilogue & DTP_LT_EPILOGUE_BIAS && !fake_block_find_locked(w->product.bias, 1))
        return "a bias outside memory of devices";
    if (w->workspace_bytes && !fake_block_find_locked(w->workspace_at, w->workspace_bytes))
        return "a workspace outside memory of devices";
    return NULL;
}

static void note_last_locked(const fake_lt_work_t *w, const dtp_lt_algo_t *given) {
    fake_lt_algo_t algo;
    memcpy(&algo, given, sizeof algo);
    const fake_lt_product_t *p = &w->product;
    lt.last = (fake_lt_last_t){.products = lt.last.products + 1,
                               .compute = p->compute,
                               .type = w->a.type,
                               .dst_type = w->d.type,
                               .transpose_a = p->transpose[0],
                               .transpose_b = p->transpose[1],
                               .batch = w->d.batch,
                               .epilogue = p->epilogue,
                               .rows = w->d.rows,
                               .columns = w->d.columns,
                               .k = fake_lt_k(w),
                               .a_stride = w->a.stride,
                               .b_stride = w->b.stride,
                               .d_stride = w->d.stride,
                               .a_batch = w->a.batch_stride,
                               .b_batch = w->b.batch_stride,
                               .d_batch = w->d.batch_stride,
                               .bias_batch = p->bias_batch,
                               .alignment = algo.alignment,
                               .workspace_bytes = w->workspace_bytes,
                               .beta = w->beta};
}

dtp_lt_status_t cublasLtMatmul(dtp_lt_handle_t handle, dtp_lt_product_t *product, const void *alpha,
                               const void *a, dtp_lt_layout_t *a_layout, const void *b,
                               dtp_lt_layout_t *b_layout, const void *beta, const void *c,
                               dtp_lt_layout_t *c_layout, void *d, dtp_lt_layout_t *d_layout,
                               const dtp_lt_algo_t *algo, void *workspace, size_t workspace_bytes,
                               dtp_cu_stream_t stream) {
    static const char call[] = "cublasLtMatmul";
    fake_lt_work_t w;
    const dtp_lt_status_t status = enter(call, true, handle);
    if (status) return status;
    if (handle->ctx->sticky) return leave(DTP_LT_EXECUTION_FAILED);
    const char *why = read_images(&w, product, a_layout, b_layout, c_layout, d_layout);
    w.a_at = (uintptr_t)a;
    w.b_at = (uintptr_t)b;
    w.d_at = (uintptr_t)d;
    w.workspace_at = (uintptr_t)workspace;
    w.workspace_bytes = workspace_bytes;
    memcpy(&w.alpha, alpha, sizeof w.alpha);
    memcpy(&w.beta, beta, sizeof w.beta);
    if (!why) why = refused(&w);
    if (!why && c != d) why = "c is d here";
    if (!why) why = way_refused(&w, algo);
    if (!why) why = operand_refused_locked(&w);
    fake_stream_t *s = why ? NULL : fake_stream_use_locked(stream, call);
    if (why) return wrong(DTP_LT_INVALID_VALUE, call, why);
    if (!s) return leave(DTP_LT_INVALID_VALUE);
    note_last_locked(&w, algo);
    fake_item_t *item = fake_item_new(FAKE_PRODUCT);
    item->params = fake_zalloc(sizeof w);
    memcpy(item->params, &w, sizeof w);
    item->params_bytes = sizeof w;
    (void)fake_submit_locked(s, item);
    return leave(DTP_LT_SUCCESS);
}

/* ---- For tests ------------------------------------------------------------------------------------------ */

const dtp_lt_t *fake_lt_table(void) {
    static const dtp_lt_t table = {
#define DTP_LT_CALL(result, name, args) .name = name,
#include "gpu/driver/lt_calls.inc"
    };
    return &table;
}

bool fake_lt_fail(int64_t k, dtp_lt_status_t status) {
    fake_lock();
    const bool pending = lt.fail_at >= 0;
    lt.fail_at = k;
    lt.fail_with = status;
    fake_unlock();
    return pending;
}

void fake_lt_find_nothing(bool nothing) {
    fake_lock();
    lt.finds_nothing = nothing;
    fake_unlock();
}

fake_lt_last_t fake_lt_last(void) {
    fake_lock();
    const fake_lt_last_t last = lt.last;
    fake_unlock();
    return last;
}
