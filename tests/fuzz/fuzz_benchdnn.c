/* Fuzzes what benchdnn reads: batch text, descriptors, option values, attributes, layout strings.
 * First byte: which; whatever parses is printed, and the print must parse to the same print again, and makes a
 * problem with its tensors. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/layout.h"
#include "common/options.h"
#include "common/prb.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count(void *arg, const char *tok) { *(size_t *)arg += strlen(tok); }

static void check(bool ok) {
    if (!ok) abort();
}

static void one_descriptor(const bd_driver_t *d, const char *text) {
    static bd_prb_t p, q;
    char a[BD_TEXT] = "", b[BD_TEXT] = "";
    memset(&p, 0, sizeof p);
    p.drv = d;
    for (int i = 0; d->loop[i]; ++i) check(!d->loop[i]->set(&p, d->loop[i]->def));
    if (d->parse(&p, text)) return;
    d->desc(&p, a, sizeof a);
    q = p;
    check(!d->parse(&q, a));
    d->desc(&q, b, sizeof b);
    check(!strcmp(a, b));
    if (!d->init(&p)) (void)bd_attr_tensors(&p);
}

/* A small problem of each driver. */
static const char *small(const bd_driver_t *d) {
    switch (d->kind) {
    case dnnl_tp_matmul: return "2x3x4:1x4x5";
    case dnnl_tp_inner_product: return "ic3ih2oc4";
    case dnnl_tp_convolution: return "ic3ih4oc4oh4kh3ph1";
    case dnnl_tp_deconvolution: return "ic3ih4oc4kh3";
    case dnnl_tp_resampling: return "ic3ih4oh6";
    case dnnl_tp_binary: return "2x3x4:2x3";
    case dnnl_tp_pooling: return "ic3ih4kh2";
    case dnnl_tp_batch_normalization:
    case dnnl_tp_lrn: return "ic3ih4";
    case dnnl_tp_group_normalization: return "g2ic4ih3";
    case dnnl_tp_prelu: return "2x3x4:1x3x1";
    case dnnl_tp_concat: return "2x3x4:2x2x4";
    case dnnl_tp_reduction: return "2x3x4:2x1x4";
    default: return "2x3x4";
    }
}

/* The problem that one option's value makes of it. */
static void one_problem(const bd_driver_t *d, const bd_opt_t *o, const char *text) {
    static bd_prb_t p;
    memset(&p, 0, sizeof p);
    p.drv = d;
    for (int i = 0; d->loop[i]; ++i) check(!d->loop[i]->set(&p, d->loop[i]->def));
    check(!d->parse(&p, small(d)));
    if (o->set(&p, text) || d->init(&p) || bd_attr_tensors(&p)) return;
    check(p.nt > 0 && p.nt <= BD_MAX_TENSORS);
    for (int i = 0; i < p.nt; ++i) check(p.t[i].nd >= 1 && bd_elems(&p.t[i]) >= 0);
}

static void one_option(const bd_driver_t *d, unsigned which, const char *text) {
    static bd_prb_t p, q;
    char a[BD_TEXT] = "", b[BD_TEXT] = "";
    int n = 0;
    while (d->loop[n]) ++n;
    const bd_opt_t *o = d->loop[which % (unsigned)n];
    memset(&p, 0, sizeof p);
    memset(&q, 0, sizeof q);
    p.drv = q.drv = d;
    p.bia_dt = q.bia_dt = dnnl_tp_f32; /* a bias mask is printed with a bias only */
    if (o->set(&p, text)) return;
    o->get(&p, a, sizeof a);
    check(!o->set(&q, a));
    o->get(&q, b, sizeof b);
    check(!strcmp(a, b));
    one_problem(d, o, text);
}

/* A layout that is one for n dimensions names each of them once. */
static void one_tag(int n, const char *text) {
    char out[256];
    bd_tag_t tag;
    if (!bd_tag_syntax(text)) return;
    bd_tag_expand(text, n, out, sizeof out);
    if (bd_tag_decode(out, &tag) || tag.n != n) return; /* "aCx" has one dimension too few for two */
    bool seen[BD_MAX_NDIMS] = {false};
    for (int i = 0; i < n; ++i) {
        check(tag.order[i] < n && !seen[tag.order[i]]);
        seen[tag.order[i]] = true;
    }
    (void)bd_tag_enumerator(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3 || size > 2048) return 0;
    int n = 0;
    while (bd_drivers[n]) ++n;
    const bd_driver_t *d = bd_drivers[data[1] % n];
    size_t len = size - 3;
    char *text = malloc(len + 1);
    if (!text) return 0;
    memcpy(text, data + 3, len);
    text[len] = 0;
    size_t total = 0;
    bd.enum_tags_only = data[1] & 128;
    switch (data[0] % 4) {
    case 0:
        (void)bd_batch_tokens(text, len, count, &total);
        check(total <= len);
        break;
    case 1: one_descriptor(d, text); break;
    case 2: one_option(d, data[2], text); break;
    default: one_tag(1 + data[2] % BD_MAX_NDIMS, text);
    }
    free(text);
    return 0;
}
