/* Conformance of inner product: spatial and flat, layouts and `any`, chains, threads, dispatch. */
#include <stdlib.h>
#include <string.h>

#include "support/product_check.h"
#include "support/tensor.h"

typedef struct {
    int nd;
    dnnl_tp_dims_t src; /* mb, ic, spatial */
    int64_t oc;
    const char *src_layout, *wei_layout, *dst_layout; /* NULL = any */
    bool bias;
    const char *impl; /* prefix that the implementation must have */
    pc_step_t chain[PC_MAX_STEPS];
} case_t;

static dnnl_tp_data_type_t type = dnnl_tp_f32; /* of all operands */

static dnnl_tp_memory_desc_t make(int nd, const int64_t *dims, const char *layout) {
    dtp_md_t md;
    dnnl_tp_memory_desc_t out;
    if (layout) CHECK_OK(dtp_md_init_layout(&md, nd, dims, type, layout));
    else CHECK_OK(dtp_md_init_tag(&md, nd, dims, type, dnnl_tp_format_tag_any));
    CHECK_OK(dnnl_tp_memory_desc_clone(&out, &md));
    return out;
}

static void build(pc_problem_t *p, const case_t *c) {
    memset(p, 0, sizeof *p);
    dnnl_tp_dims_t wei, dst = {c->src[0], c->oc};
    memcpy(wei, c->src, sizeof wei);
    wei[0] = c->oc;
    p->inner_product = true;
    p->src = make(c->nd, c->src, c->src_layout);
    /* bf16 is packed in pairs. */
    const char *layout = c->wei_layout;
    if (layout && type == dnnl_tp_bf16 && !strcmp(layout, "AB16b16a")) layout = "AB8b16a2b";
    if (layout && type == dnnl_tp_bf16 && !strcmp(layout, "AcdB16b16a")) layout = "AcdB8b16a2b";
    p->wei = make(c->nd, wei, layout);
    p->dst = make(2, dst, c->dst_layout);
    if (c->bias) p->bia = make(1, &c->oc, "a");
    memcpy(p->chain, c->chain, sizeof p->chain);
}

static const char *flat[] = {NULL, "ab", "ba"};

static void tails(void **state) {
    (void)state;
    static const int64_t ms[] = {1, 7, 8, 17, 31}, ocs[] = {1, 15, 16, 17, 65}, ics[] = {1, 16, 33};
    int n;
    const place_t *at = places(&n);
    for (int i = 0; i < 5; ++i)
        for (int o = 0; o < 5; ++o)
            for (int k = 0; k < 3; ++k)
                for (int l = 0; l < 9; ++l) {
                    const case_t c = {.nd = 2,
                                      .src = {ms[i], ics[k]},
                                      .oc = ocs[o],
                                      .src_layout = flat[l % 3],
                                      .wei_layout = flat[l / 3],
                                      .bias = (i + o + k) % 2,
                                      .chain = {l % 2 ? PC_RELU : PC_END}};
                    pc_problem_t p;
                    build(&p, &c);
                    for (int t = 0; t < n; ++t)
                        if (at[t].threads == 1) pc_check(&p, at[t].engine, at[t].stream, NULL, NULL, NULL);
                    pc_free(&p);
                }
}

/* Every combination that must run on micro-kernels, and one that must not. */
static void layouts(void **state) {
    (void)state;
    static const case_t list[] = {
        {.nd = 2, .src = {20, 50}, .oc = 40, .impl = "ukr"},
        {.nd = 2, .src = {20, 50}, .oc = 40, .src_layout = "ab", .wei_layout = "AB16b16a", .impl = "ukr"},
        {.nd = 2,
         .src = {20, 50},
         .oc = 40,
         .src_layout = "ab",
         .wei_layout = "ab",
         .dst_layout = "ba",
         .impl = "ukr"},
        {.nd = 4, .src = {5, 16, 3, 4}, .oc = 37, .impl = "ukr"},
        {.nd = 4, .src = {5, 12, 3, 4}, .oc = 37, .impl = "ukr"},
        {.nd = 4, .src = {5, 16, 3, 4}, .oc = 37, .src_layout = "abcd", .impl = "ukr"},
        {.nd = 4,
         .src = {5, 16, 3, 4},
         .oc = 37,
         .src_layout = "abcd",
         .wei_layout = "abcd",
         .bias = true,
         .impl = "ukr"},
        {.nd = 4,
         .src = {5, 12, 3, 4},
         .oc = 37,
         .src_layout = "acdb",
         .wei_layout = "acdb",
         .bias = true,
         .impl = "ukr"},
        {.nd = 4,
         .src = {5, 32, 3, 4},
         .oc = 37,
         .src_layout = "acdb",
         .wei_layout = "AcdB16b16a",
         .impl = "ukr"},
        {.nd = 4, .src = {60, 12, 3, 4}, .oc = 37, .wei_layout = "abcd", .impl = "ukr"},
        {.nd = 3, .src = {9, 48, 5}, .oc = 33, .bias = true, .impl = "ukr", .chain = {PC_GELU_TANH}},
        {.nd = 5, .src = {3, 16, 2, 3, 2}, .oc = 18, .impl = "ukr", .chain = {PC_SUM, PC_RELU}},
        {.nd = 4, .src = {5, 16, 3, 4}, .oc = 37, .src_layout = "abcd", .wei_layout = "acdb", .impl = "ref"},
    };
    int n;
    const place_t *at = places(&n);
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        pc_problem_t p;
        build(&p, &list[i]);
        for (int t = 0; t < n; ++t) {
            dnnl_tp_primitive_desc_t pd;
            if (!has_impl(at[t].engine, dnnl_tp_inner_product_forward_primitive_desc_create(
                                            &pd, at[t].engine, dnnl_tp_forward_inference, p.src, p.wei, p.bia,
                                            p.dst, NULL)))
                continue;
            check_impl(pd, list[i].impl, "inner product");
            CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
            pc_check(&p, at[t].engine, at[t].stream, NULL, NULL, NULL);
        }
        pc_free(&p);
    }
}

static void in_bf16(void **state) {
    type = dnnl_tp_bf16;
    tails(state);
    layouts(state);
    type = dnnl_tp_f32;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tails), cmocka_unit_test(layouts),
                                       cmocka_unit_test(in_bf16)};
    return cmocka_run_group_tests(tests, NULL, places_teardown);
}
