/* Stands for tests/gpu/ptx where that is not there yet: nothing can be run. */
#include <stdio.h>

#include "gpu/ptx/ptx.h"

ptx_module_t *ptx_parse(const char *text, char *error, size_t error_bytes) {
    (void)text;
    snprintf(error, error_bytes, "no interpreter");
    return NULL;
}
void ptx_free(ptx_module_t *module) { (void)module; }
const ptx_kernel_t *ptx_find(const ptx_module_t *module, const char *name) {
    (void)module, (void)name;
    return NULL;
}
const char *ptx_kernel_name(const ptx_kernel_t *kernel) {
    (void)kernel;
    return "";
}
int ptx_num_params(const ptx_kernel_t *kernel) {
    (void)kernel;
    return 0;
}
size_t ptx_param_offset(const ptx_kernel_t *kernel, int i) {
    (void)kernel, (void)i;
    return 0;
}
size_t ptx_param_size(const ptx_kernel_t *kernel, int i) {
    (void)kernel, (void)i;
    return 0;
}
size_t ptx_params_bytes(const ptx_kernel_t *kernel) {
    (void)kernel;
    return 0;
}
size_t ptx_static_shared(const ptx_kernel_t *kernel) {
    (void)kernel;
    return 0;
}
int ptx_max_threads(const ptx_kernel_t *kernel) {
    (void)kernel;
    return 0;
}
bool ptx_run(const ptx_kernel_t *kernel, const ptx_launch_t *launch, char *error, size_t error_bytes) {
    (void)kernel, (void)launch;
    snprintf(error, error_bytes, "no interpreter");
    return false;
}
