/* What a program that only uses the CPU has of the shared library in memory: a product and functions of its elements, then
 * /proc/self/smaps. Kernels of GPUs lie in the same file; their pages must not come with it. All that is
 * mapped, with those kernels compressed, has a bound, too: a program of the CPU maps at most 6 MiB of code for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dnnl_tp/dnnl_tp.h"

/* KiB; with CUDA the size and a tenth, without it 6 MiB. Other compilers and levels of optimization than those of releases
 * make more code. */
enum { MOST_RESIDENT = 6 * 1024, MOST_MAPPED = !RELEASE ? 18 * 1024 : WITH_CUDA ? 12 * 1024 : 6 * 1024 };
enum { N = 64 };

static void ok(dnnl_tp_status_t status, const char *what) {
    if (status == dnnl_tp_success) return;
    printf("%s: %s\n", what, dnnl_tp_last_error());
    exit(1);
}
#define OK(call) ok(call, #call)

static void compute(void) {
    static float x[N * N], y[N * N];
    const dnnl_tp_dims_t dims = {N, N};
    dnnl_tp_engine_t engine;
    dnnl_tp_stream_t stream;
    dnnl_tp_memory_desc_t md;
    dnnl_tp_primitive_desc_t pd[2];
    for (int i = 0; i < N * N; ++i) x[i] = (float)(i % 7);
    OK(dnnl_tp_engine_create(&engine, dnnl_tp_cpu, 0));
    OK(dnnl_tp_stream_create(&stream, engine, 0));
    OK(dnnl_tp_memory_desc_create_with_tag(&md, 2, dims, dnnl_tp_f32, dnnl_tp_ab));
    OK(dnnl_tp_matmul_primitive_desc_create(&pd[0], engine, md, md, NULL, md, NULL));
    OK(dnnl_tp_softmax_forward_primitive_desc_create(&pd[1], engine, dnnl_tp_forward_inference,
                                                     dnnl_tp_softmax_accurate, md, md, 1, NULL));
    for (int i = 0; i < 2; ++i) {
        dnnl_tp_primitive_t p;
        const dnnl_tp_exec_handle_t args[] = {
            {DNNL_TP_ARG_SRC, i ? y : x}, {DNNL_TP_ARG_DST, y}, {DNNL_TP_ARG_WEIGHTS, x}};
        OK(dnnl_tp_primitive_create(&p, pd[i]));
        OK(dnnl_tp_primitive_execute_handles(p, stream, i ? 2 : 3, args));
        OK(dnnl_tp_stream_wait(stream));
        OK(dnnl_tp_primitive_destroy(p));
        OK(dnnl_tp_primitive_desc_destroy(pd[i]));
    }
    OK(dnnl_tp_memory_desc_destroy(md));
    OK(dnnl_tp_stream_destroy(stream));
    OK(dnnl_tp_engine_destroy(engine));
}

int main(void) {
    compute();
    FILE *f = fopen("/proc/self/smaps", "r");
    if (!f) {
        printf("SKIPPED: no /proc/self/smaps\n");
        return 0;
    }
    char line[512];
    long kib, mapped = 0, resident = 0;
    unsigned long from, to;
    int ours = 0, offset = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx %n", &from, &to, &offset) == 2)
            ours = strstr(line, "libdnnl_tp.so") != NULL;
        if (ours && sscanf(line, "Size: %ld kB", &kib) == 1) mapped += kib;
        if (ours && sscanf(line, "Rss: %ld kB", &kib) == 1) resident += kib;
    }
    (void)fclose(f);
    printf("%ld KiB of the library are mapped, %ld KiB are in memory\n", mapped, resident);
    if (!mapped) printf("the library was not found\n");
    return !mapped || mapped > MOST_MAPPED || resident > MOST_RESIDENT;
}
