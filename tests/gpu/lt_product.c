/* See lt_product.h. */
#include "gpu/lt_product.h"

#include <math.h>
#include <string.h>

#include "common/primitive/primitive_desc.h"
#include "gpu/driver/cu_api.h"
#include "gpu/driver/lt_api.h"
#include "gpu/fake/fake_lt.h"
#include "support/check.h"
#include "support/upload.h"

static dnnl_tp_primitive_attr_t lt_attr_of(const lt_problem_t *p) {
    dnnl_tp_primitive_attr_t attr;
    dnnl_tp_post_ops_t po;
    CHECK_OK(dnnl_tp_primitive_attr_create(&attr));
    CHECK_OK(dnnl_tp_post_ops_create(&po));
    CHECK_OK(dnnl_tp_primitive_attr_set_fpmath_mode(attr, p->fpmath));
    const lt_chain_t c = p->chain;
    if (c == SUM_HALF || c == SUM_GELU)
        CHECK_OK(dnnl_tp_post_ops_append_sum(po, 0.5f, 0, dnnl_tp_data_type_undef));
    if (c == GELU || c == SUM_GELU || c == GELU_SUM)
        CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_gelu_tanh, 0, 0));
    if (c == RELU) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_relu, 0, 0));
    if (c == TANH) CHECK_OK(dnnl_tp_post_ops_append_eltwise(po, dnnl_tp_eltwise_tanh, 0, 0));
    if (c == GELU_SUM) CHECK_OK(dnnl_tp_post_ops_append_sum(po, 0.5f, 0, dnnl_tp_data_type_undef));
    CHECK_OK(dnnl_tp_primitive_attr_set_post_ops(attr, po));
    CHECK_OK(dnnl_tp_post_ops_destroy(po));
    return attr;
}

static double finish(lt_chain_t c, double x, double old) {
    if (c == SUM_HALF || c == SUM_GELU) x += old / 2;
    if (c == GELU || c == SUM_GELU || c == GELU_SUM)
        x = x / 2 * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
    if (c == RELU) x = x > 0 ? x : 0;
    if (c == TANH) x = tanh(x);
    return c == GELU_SUM ? x + old / 2 : x;
}

/* Small whole numbers. shift: element 0 lies so many elements behind where the memory begins. */
void lt_fill_tensors(lt_product_t *q, const lt_problem_t *p, int64_t shift) {
    test_rng_t r = test_rng(7);
    const bool batched = p->batch > 0;
    const int64_t dims[TENSORS][3] = {
        {p->src_batch, p->m, p->k}, {p->wei_batch, p->k, p->n}, {1, 1, p->n}, {p->batch, p->m, p->n}};
    const int types[TENSORS] = {p->type, p->type, p->bia_type ? p->bia_type : F32, p->dst_type};
    const char *layouts[TENSORS] = {p->src, p->wei, batched ? "abc" : "ab", p->dst};
    for (int i = 0; i < TENSORS; ++i) {
        dtp_md_t md;
        CHECK_OK(dtp_md_init_layout(&md, 2 + batched, dims[i] + !batched, (dnnl_tp_data_type_t)types[i],
                                    layouts[i]));
        md.offset0 = shift;
        tensor_init(&q->tensor[i], &md);
        tensor_fill(&q->tensor[i], &r, -1, 1, true);
    }
}

dnnl_tp_status_t lt_describe(lt_product_t *q, const lt_problem_t *p) {
    const tensor_t *t = q->tensor;
    q->attr = lt_attr_of(p);
    return dnnl_tp_matmul_primitive_desc_create(&q->pd, gpu, &t[SRC].md, &t[WEI].md,
                                                p->bia_type ? &t[BIA].md : NULL, &t[DST].md, q->attr);
}

void lt_upload_tensors(lt_product_t *q) {
    for (int i = 0; i < TENSORS; ++i) {
        const tensor_t *t = &q->tensor[i];
        CHECK_OK(dnnl_tp_memory_create(&q->memory[i], &t->md, gpu, DNNL_TP_MEMORY_ALLOCATE));
        test_upload(q->memory[i], t->data,
                    dtp_md_size(&t->md) + (size_t)t->md.offset0 * dtp_type_size(t->md.data_type));
    }
}

lt_product_t lt_begin(const lt_problem_t *p, int64_t shift) {
    lt_product_t q = {.primitive = NULL};
    lt_fill_tensors(&q, p, shift);
    CHECK_OK(lt_describe(&q, p));
    CHECK_OK(dnnl_tp_primitive_create(&q.primitive, q.pd));
    lt_upload_tensors(&q);
    return q;
}

const char *lt_impl_of(const lt_product_t *q) { return q->pd->impl->name; }

dnnl_tp_status_t lt_submit(const lt_product_t *q, const lt_problem_t *p, dnnl_tp_stream_t s) {
    const dnnl_tp_exec_arg_t args[] = {{DNNL_TP_ARG_SRC, q->memory[SRC]},
                                       {DNNL_TP_ARG_WEIGHTS, q->memory[WEI]},
                                       {DNNL_TP_ARG_DST, q->memory[DST]},
                                       {DNNL_TP_ARG_BIAS, q->memory[BIA]}};
    return dnnl_tp_primitive_execute(q->primitive, s, p->bia_type ? 4 : 3, args);
}

void lt_check_values(const lt_product_t *q, const lt_problem_t *p) {
    const tensor_t *t = q->tensor;
    const bool batched = p->batch > 0;
    tensor_t got;
    tensor_init(&got, &t[DST].md);
    test_download(q->memory[DST], got.data,
                  dtp_md_size(&got.md) + (size_t)got.md.offset0 * dtp_type_size(got.md.data_type));
    for (int64_t b = 0; b < (batched ? p->batch : 1); ++b)
        for (int64_t i = 0; i < p->m; ++i)
            for (int64_t j = 0; j < p->n; ++j) {
                const int64_t at[] = {b, i, j}, bias_at[] = {0, 0, j};
                double sum = 0;
                for (int64_t l = 0; l < p->k; ++l) {
                    const int64_t s[] = {p->src_batch > 1 ? b : 0, i, l},
                                  w[] = {p->wei_batch > 1 ? b : 0, l, j};
                    sum += tensor_get(&t[SRC], s + !batched) * tensor_get(&t[WEI], w + !batched);
                }
                if (p->bia_type) sum += tensor_get(&t[BIA], bias_at + !batched);
                const double want = finish(p->chain, sum, tensor_get(&t[DST], at + !batched)),
                             is = tensor_get(&got, at + !batched);
                const double step = p->dst_type == F32   ? 1e-6
                                    : p->dst_type == F16 ? 1e-3
                                                         : 8e-3; /* of the type */
                if (!(fabs(is - want) <= step * fmax(1, fabs(want))))
                    fail_msg("dst[%d, %d, %d] is %g, not %g", (int)b, (int)i, (int)j, is, want);
            }
    tensor_free(&got);
}

void lt_end(lt_product_t *q) {
    for (int i = 0; i < TENSORS; ++i) {
        CHECK_OK(dnnl_tp_memory_destroy(q->memory[i]));
        tensor_free(&q->tensor[i]);
    }
    CHECK_OK(dnnl_tp_primitive_destroy(q->primitive));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(q->pd));
    CHECK_OK(dnnl_tp_primitive_attr_destroy(q->attr));
}

void lt_check(const lt_problem_t *p, int64_t shift, const char *impl) {
    lt_product_t q = lt_begin(p, shift);
    dnnl_tp_stream_t s = gpu_stream();
    if (strcmp(lt_impl_of(&q), impl) != 0) fail_msg("%s was chosen, not %s", lt_impl_of(&q), impl);
    CHECK_OK(lt_submit(&q, p, s));
    CHECK_OK(dnnl_tp_stream_wait(s));
    lt_check_values(&q, p);
    CHECK_OK(dnnl_tp_stream_destroy(s));
    lt_end(&q);
}

int lt_setup(void **state) {
    fake_cuda_reset();
    (void)fake_lt_fail(-1, 0);
    dtp_lt_set_for_test(fake_lt_table());
    dtp_cu_set_for_test(fake_cuda_table());
    CHECK_OK(dnnl_tp_engine_create(&gpu, dnnl_tp_gpu, 0));
    (void)state;
    return 0;
}
