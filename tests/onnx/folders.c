/* Files of ONNX test folders, see folders.h. */
#include "folders.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *read_all(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *data = NULL;
    if (!fseek(f, 0, SEEK_END)) {
        const long n = ftell(f);
        rewind(f);
        data = n >= 0 ? malloc((size_t)n + 1) : NULL;
        if (data && fread(data, 1, (size_t)n, f) != (size_t)n) {
            free(data);
            data = NULL;
        }
        *size = (size_t)n;
    }
    (void)fclose(f);
    return data;
}

bool read_pb(const char *path, tensor_t *t) {
    size_t size;
    *t = (tensor_t){.data = NULL};
    void *bytes = read_all(path, &size);
    if (!bytes) return false;
    bool ok = dnnl_tp_onnx_read_tensor(&t->info, NULL, NULL, 0, bytes, size) == dnnl_tp_success;
    if (ok) {
        const size_t room = count_of(&t->info) * dnnl_tp_data_type_size(t->info.data_type);
        t->data = malloc(room + 1);
        ok = t->data &&
             dnnl_tp_onnx_read_tensor(&t->info, NULL, t->data, room, bytes, size) == dnnl_tp_success;
    }
    free(bytes);
    return ok;
}

bool is_float_type(dnnl_tp_data_type_t type) { return type == dnnl_tp_f32 || type == dnnl_tp_f64; }

size_t differences(const void *got, const tensor_t *want, double rtol, double atol, double *worst) {
    size_t bad = 0;
    const dnnl_tp_data_type_t type = want->info.data_type;
    *worst = 0;
    for (size_t i = 0; i < count_of(&want->info); ++i) {
        const double a = element(got, type, i), b = element(want->data, type, i);
        if (a == b || (isnan(a) && isnan(b))) continue;
        const double d = fabs(a - b);
        if (!(d <= *worst)) *worst = d;
        if (!is_float_type(type) || !(d <= atol + rtol * fabs(b))) ++bad;
    }
    return bad;
}
