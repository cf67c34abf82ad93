/* The real cuBLASLt beside the fake one: it makes descriptors without a driver, in the way that plans do. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/fake/lt_images.h"

typedef dtp_lt_status_t (*get_t)(const void *descriptor, int attribute, void *value, size_t bytes,
                                 size_t *written);
static struct {
    void *opened; /* stays: it has memory that it does not give back. NULL: none */
    bool used;
    dtp_lt_t calls;
    get_t get_layout, get_product, get_preference;
} real;

static bool find(const char *name, void *call, size_t bytes) {
    void *found = dlsym(real.opened, name);
    memcpy(call, &found, bytes);
    return found != NULL;
}

bool fake_lt_beside(const char *path) {
    real.used = false;
    if (!path) return true;
    if (!real.opened) real.opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    bool all = real.opened != NULL;
#define DTP_LT_CALL(result, name, args) all = all && find(#name, &real.calls.name, sizeof real.calls.name);
#include "gpu/driver/lt_calls.inc"
    real.used =
        all && find("cublasLtMatrixLayoutGetAttribute", &real.get_layout, sizeof real.get_layout) &&
        find("cublasLtMatmulDescGetAttribute", &real.get_product, sizeof real.get_product) &&
        find("cublasLtMatmulPreferenceGetAttribute", &real.get_preference, sizeof real.get_preference);
    return real.used;
}

/* Is the attribute of a descriptor this? */
static bool is(get_t get, const void *descriptor, int attribute, const void *value, size_t bytes) {
    unsigned char got[sizeof(uint64_t)];
    size_t written = 0;
    return !get(descriptor, attribute, got, bytes, &written) && written == bytes &&
           !memcmp(got, value, bytes);
}

static const char *layout_refused(const fake_lt_layout_t *l) {
    enum { TYPE, ORDER, ROWS, COLUMNS, STRIDE };
    dtp_lt_layout_t *made, copy;
    if (real.calls.cublasLtMatrixLayoutCreate(&made, l->type, l->rows, l->columns, l->stride))
        return "the real library makes no such layout";
    copy = *made;
    (void)real.calls.cublasLtMatrixLayoutDestroy(made);
    bool good = true;
    if (l->set) {
        good = !real.calls.cublasLtMatrixLayoutSetAttribute(&copy, DTP_LT_BATCH_COUNT, &l->batch,
                                                            sizeof l->batch) &&
               !real.calls.cublasLtMatrixLayoutSetAttribute(&copy, DTP_LT_BATCH_STRIDE, &l->batch_stride,
                                                            sizeof l->batch_stride);
    }
    good = good && is(real.get_layout, &copy, TYPE, &l->type, sizeof l->type) &&
           is(real.get_layout, &copy, ROWS, &l->rows, sizeof l->rows) &&
           is(real.get_layout, &copy, COLUMNS, &l->columns, sizeof l->columns) &&
           is(real.get_layout, &copy, STRIDE, &l->stride, sizeof l->stride) &&
           is(real.get_layout, &copy, DTP_LT_BATCH_COUNT, &l->batch, sizeof l->batch) &&
           is(real.get_layout, &copy, DTP_LT_BATCH_STRIDE, &l->batch_stride, sizeof l->batch_stride);
    return good ? NULL : "the real library has another layout";
}

static const char *product_refused(const fake_lt_product_t *p) {
    enum { COMPUTE, SCALES };
    const struct {
        int attribute;
        const void *value;
        size_t bytes;
    } all[] = {{DTP_LT_TRANSPOSE_A, &p->transpose[0], sizeof p->transpose[0]},
               {DTP_LT_TRANSPOSE_B, &p->transpose[1], sizeof p->transpose[1]},
               {DTP_LT_EPILOGUE, &p->epilogue, sizeof p->epilogue},
               {DTP_LT_BIAS_POINTER, &p->bias, sizeof p->bias},
               {DTP_LT_BIAS_BATCH_STRIDE, &p->bias_batch, sizeof p->bias_batch}};
    enum { N = sizeof all / sizeof *all };
    dtp_lt_product_t *made, first, copy;
    if (real.calls.cublasLtMatmulDescCreate(&made, p->compute, p->scales))
        return "the real library makes no such product";
    first = copy = *made;
    (void)real.calls.cublasLtMatmulDescDestroy(made);
    bool good = true;
    for (int i = 0; i < N; ++i)
        if (p->set >> all[i].attribute & 1)
            good = good && !real.calls.cublasLtMatmulDescSetAttribute(&copy, all[i].attribute, all[i].value,
                                                                      all[i].bytes);
    for (int i = 0; i < N; ++i)
        good = good && is(real.get_product, &copy, all[i].attribute, all[i].value, all[i].bytes);
    good = good && is(real.get_product, &copy, COMPUTE, &p->compute, sizeof p->compute) &&
           is(real.get_product, &copy, SCALES, &p->scales, sizeof p->scales);
    /* What is set in a copy is set nowhere else. */
    const uint32_t none = DTP_LT_EPILOGUE_NONE;
    good = good && is(real.get_product, &first, DTP_LT_EPILOGUE, &none, sizeof none);
    return good ? NULL : "the real library has another product";
}

static const char *preference_refused(const fake_lt_preference_t *p) {
    dtp_lt_preference_t *made, copy;
    if (real.calls.cublasLtMatmulPreferenceCreate(&made)) return "the real library makes no preference";
    copy = *made;
    (void)real.calls.cublasLtMatmulPreferenceDestroy(made);
    const struct {
        int attribute;
        const void *value;
        size_t bytes;
    } all[] = {{DTP_LT_MAX_WORKSPACE, &p->workspace, sizeof p->workspace},
               {DTP_LT_REDUCTION_SCHEMES, &p->schemes, sizeof p->schemes},
               {DTP_LT_ALIGNMENT_A, &p->alignment[0], sizeof p->alignment[0]},
               {DTP_LT_ALIGNMENT_A + 1, &p->alignment[1], sizeof p->alignment[1]},
               {DTP_LT_ALIGNMENT_A + 2, &p->alignment[2], sizeof p->alignment[2]},
               {DTP_LT_ALIGNMENT_D, &p->alignment[3], sizeof p->alignment[3]}};
    bool good = true;
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        good = good &&
               !real.calls.cublasLtMatmulPreferenceSetAttribute(&copy, all[i].attribute, all[i].value,
                                                                all[i].bytes) &&
               is(real.get_preference, &copy, all[i].attribute, all[i].value, all[i].bytes);
    return good ? NULL : "the real library has another preference";
}

const char *fake_lt_real(const fake_lt_product_t *product, const fake_lt_layout_t *const layout[3],
                         const fake_lt_preference_t *preference) {
    if (!real.used) return NULL;
    const char *why = product_refused(product);
    for (int i = 0; i < 3 && !why; ++i) why = layout_refused(layout[i]);
    return why ? why : preference_refused(preference);
}
