/* Tensors of any layout for conformance tests; see tensor.h. */
#include "support/tensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/primitive/primitive_desc.h"
#include "support/traps.h"
#include "support/upload.h"

enum { CANARY = 64 };

void tensor_init(tensor_t *t, const dtp_md_t *md) {
    t->md = *md;
    t->bytes = dtp_md_size(md) + (size_t)md->offset0 * dtp_type_size(md->data_type);
    unsigned char *base = aligned_alloc(64, (t->bytes + 2 * CANARY + 63) / 64 * 64);
    assert_non_null(base);
    traps_spoil(base, t->bytes + 2 * CANARY);
    t->data = base + CANARY;
}

void tensor_blank(tensor_t *t) {
    if (t->data) traps_spoil(t->data, t->bytes);
}

void tensor_layout(tensor_t *t, int ndims, const int64_t *dims, dnnl_tp_data_type_t dt, const char *layout) {
    dtp_md_t md;
    CHECK_OK(dtp_md_init_layout(&md, ndims, dims, dt, layout));
    tensor_init(t, &md);
}

void tensor_free(tensor_t *t) {
    if (!t->data) return;
    free(t->data - CANARY);
    t->data = NULL;
}

bool tensor_next(const dtp_md_t *md, int64_t *pos) {
    for (int d = md->ndims - 1; d >= 0; --d) {
        if (++pos[d] < md->dims[d]) return true;
        pos[d] = 0;
    }
    return false;
}

int64_t tensor_offset(const dtp_md_t *md, const int64_t *pos) {
    int64_t rest[DNNL_TP_MAX_NDIMS], at = md->offset0, inner = 1;
    if (!md->inner_nblks) {
        for (int d = 0; d < md->ndims; ++d) at += pos[d] * md->strides[d];
        return at;
    }
    for (int d = 0; d < md->ndims; ++d) rest[d] = pos[d];
    for (int b = md->inner_nblks - 1; b >= 0; --b) {
        int64_t *r = &rest[md->inner_idxs[b]];
        at += *r % md->inner_blks[b] * inner;
        *r /= md->inner_blks[b];
        inner *= md->inner_blks[b];
    }
    for (int d = 0; d < md->ndims; ++d) at += rest[d] * md->strides[d];
    return at;
}

static double half_value(unsigned h, int ebits, int mbits) {
    const unsigned m = h & ((1u << mbits) - 1), e = h >> mbits & ((1u << ebits) - 1);
    const int bias = (1 << (ebits - 1)) - 1;
    double x;
    if (e == (1u << ebits) - 1) x = m ? NAN : INFINITY;
    else if (e == 0) x = ldexp(m, 1 - bias - mbits);
    else x = ldexp((double)m + (1u << mbits), (int)e - bias - mbits);
    return h >> 15 ? -x : x;
}

static double value_at(dnnl_tp_data_type_t dt, const unsigned char *p) {
    float f;
    double d;
    int32_t i;
    uint16_t h;
    switch (dt) {
    case dnnl_tp_f32: memcpy(&f, p, 4); return f;
    case dnnl_tp_f64: memcpy(&d, p, 8); return d;
    case dnnl_tp_s32: memcpy(&i, p, 4); return i;
    case dnnl_tp_bf16: memcpy(&h, p, 2); return half_value(h, 8, 7);
    case dnnl_tp_f16: memcpy(&h, p, 2); return half_value(h, 5, 10);
    case dnnl_tp_s8: return (int8_t)*p;
    default: return *p;
    }
}

/* x to a binary format of mbits and ebits, as a double. */
static double round_float(double x, int ebits, int mbits) {
    if (x == 0 || isnan(x) || isinf(x)) return x;
    const int bias = (1 << (ebits - 1)) - 1;
    int e;
    frexp(x, &e);
    int unit = e - 1 - mbits;
    if (unit < 1 - bias - mbits) unit = 1 - bias - mbits;
    double y = ldexp(nearbyint(ldexp(x, -unit)), unit);
    const double largest = ldexp(2 - ldexp(1, -mbits), bias);
    return y > largest ? INFINITY : y < -largest ? -INFINITY : y;
}

double round_to(dnnl_tp_data_type_t dt, double x) {
    double lo, hi;
    switch (dt) {
    case dnnl_tp_f32: return (float)x;
    case dnnl_tp_f64: return x;
    case dnnl_tp_bf16: return round_float(x, 8, 7);
    case dnnl_tp_f16: return round_float(x, 5, 10);
    case dnnl_tp_s32: lo = INT32_MIN, hi = INT32_MAX; break;
    case dnnl_tp_s8: lo = -128, hi = 127; break;
    default: lo = 0, hi = 255; break;
    }
    if (isnan(x)) return 0;
    x = nearbyint(x);
    return x < lo ? lo : x > hi ? hi : x;
}

bool rounds_near(dnnl_tp_data_type_t dt, double got, double want, double err) {
    if (isnan(want)) return dt <= dnnl_tp_f32 || dt == dnnl_tp_f64 ? isnan(got) : got == 0;
    if (isinf(want)) return got == round_to(dt, want);
    return got >= round_to(dt, want - err) && got <= round_to(dt, want + err);
}

double tensor_get(const tensor_t *t, const int64_t *pos) {
    return value_at(t->md.data_type,
                    t->data + (size_t)tensor_offset(&t->md, pos) * dtp_type_size(t->md.data_type));
}

double *tensor_values(const tensor_t *t) {
    double *all = malloc((size_t)(dtp_md_nelems(&t->md) + 1) * sizeof *all), *v = all;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    assert_non_null(all);
    if (dtp_md_nelems(&t->md) == 0) return all;
    do *v++ = tensor_get(t, pos);
    while (tensor_next(&t->md, pos));
    return all;
}

double tensor_get_bcast(const tensor_t *t, const int64_t *pos) {
    int64_t p[DNNL_TP_MAX_NDIMS];
    for (int d = 0; d < t->md.ndims; ++d) p[d] = t->md.dims[d] == 1 ? 0 : pos[d];
    return tensor_get(t, p);
}

static void set_bytes(dnnl_tp_data_type_t dt, unsigned char *p, double x) {
    x = round_to(dt, x);
    float f = (float)x;
    int32_t i = 0;
    if (dt == dnnl_tp_f32) {
        memcpy(p, &f, 4);
    } else if (dt == dnnl_tp_f64) {
        memcpy(p, &x, 8);
    } else if (dt == dnnl_tp_s32) {
        i = (int32_t)x;
        memcpy(p, &i, 4);
    } else if (dt == dnnl_tp_bf16) {
        uint32_t u;
        memcpy(&u, &f, 4);
        uint16_t h = (uint16_t)(u >> 16);
        memcpy(p, &h, 2);
    } else if (dt == dnnl_tp_f16) {
        unsigned sign = signbit(x) ? 0x8000u : 0, h;
        double a = fabs(x);
        int e;
        if (isnan(x)) h = 0x7e00;
        else if (isinf(x)) h = 0x7c00;
        else if (frexp(a, &e), a < ldexp(1, -14)) h = (unsigned)ldexp(a, 24);
        else h = (unsigned)(((unsigned)(e - 1 + 15) << 10) + (unsigned)(ldexp(a, 11 - e) - 1024));
        uint16_t v = (uint16_t)(sign | h);
        memcpy(p, &v, 2);
    } else {
        *p = (unsigned char)(int)x;
    }
}

void tensor_set(tensor_t *t, const int64_t *pos, double value) {
    set_bytes(t->md.data_type, t->data + (size_t)tensor_offset(&t->md, pos) * dtp_type_size(t->md.data_type),
              value);
}

void tensor_fill(tensor_t *t, test_rng_t *r, float lo, float hi, bool whole) {
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    if (dtp_md_is_padded(&t->md)) memset(t->data, 0, t->bytes);
    if (dtp_md_nelems(&t->md) == 0) return;
    do {
        double x = test_uniform(r, lo, hi);
        tensor_set(t, pos, whole ? floor(x) : x);
    } while (tensor_next(&t->md, pos));
}

void tensor_check(const tensor_t *t, const char *what) {
    unsigned char canary[CANARY] __attribute__((aligned(64)));
    traps_spoil(canary, CANARY);
    if (memcmp(t->data - CANARY, canary, CANARY) != 0) fail_msg("%s: wrote before its buffer", what);
    for (size_t i = t->bytes; i < t->bytes + CANARY; ++i)
        if (t->data[i] != canary[i % CANARY]) fail_msg("%s: wrote behind its buffer", what);
    if (!dtp_md_is_padded(&t->md)) return;
    int64_t pos[DNNL_TP_MAX_NDIMS] = {0};
    dtp_md_t whole = t->md;
    memcpy(whole.dims, whole.padded_dims, sizeof whole.dims);
    do {
        bool inside = true;
        for (int d = 0; d < t->md.ndims; ++d) inside &= pos[d] < t->md.dims[d];
        if (!inside && tensor_get(t, pos) != 0) fail_msg("%s: padding is not zero", what);
    } while (tensor_next(&whole, pos));
}

/* ---- Places ------------------------------------------------------------------------------------------ */

/* best: by name, so that products of bf16 use the processor's own instruction on Intel's, too; tests of graphs and benchdnn
 * run the default. */
static const struct {
    dnnl_tp_cpu_isa_t isa;
    const char *name;
} isas[] = {{dnnl_tp_cpu_isa_sse41, "portable"},
            {dnnl_tp_cpu_isa_avx2, "avx2"},
            {dnnl_tp_cpu_isa_avx512_core_bf16, "best"}};
static const int threads[] = {1, 2, 3, 7};
enum { NISAS = sizeof isas / sizeof *isas, NTHREADS = sizeof threads / sizeof *threads };
static place_t all[NISAS * NTHREADS];
static int n_all;

const place_t *places(int *n) {
    const dnnl_tp_engine_kind_t kind = test_engine_kind();
    const int counts = kind == dnnl_tp_cpu ? NTHREADS : 1; /* other engines' threads are their own */
    if (n_all) {
        *n = n_all;
        return all;
    }
    traps_enter();
    traps_leave();
    for (int i = 0; i < NISAS && (i == 0 || runs_cpu_code(all[0].engine)); ++i)
        for (int k = 0; k < counts; ++k) {
            place_t *p = &all[n_all++];
            dnnl_tp_stream_attr_t sattr;
            dnnl_tp_engine_attr_t eattr;
            p->isa = isas[i].isa;
            p->name = isas[i].name;
            p->threads = threads[k];
            CHECK_OK(dnnl_tp_stream_attr_create(&sattr, kind));
            if (kind != dnnl_tp_cpu) {
                p->threads = 1;
            } else if (p->threads > 1 && DNNL_TP_WITH_THREADPOOL) {
                dnnl_tp_threadpool_opts_t opts = {.struct_size = sizeof opts, .num_threads = p->threads};
                traps_enter(); /* for the threads of the pool */
                CHECK_OK(dnnl_tp_threadpool_create(&p->pool, &opts));
                traps_leave();
                CHECK_OK(dnnl_tp_stream_attr_set_builtin_threadpool(sattr, p->pool));
            } else {
                CHECK_OK(dnnl_tp_stream_attr_set_threadpool(sattr, NULL));
            }
            CHECK_OK(dnnl_tp_engine_attr_create(&eattr));
            CHECK_OK(dnnl_tp_engine_attr_set_max_isa(eattr, p->isa));
            CHECK_OK(dnnl_tp_engine_attr_set_num_threads(eattr, p->threads));
            CHECK_OK(dnnl_tp_engine_create_v2(&p->engine, kind, 0, eattr));
            CHECK_OK(dnnl_tp_stream_create_v2(&p->stream, p->engine, dnnl_tp_stream_default_flags, sattr));
            CHECK_OK(dnnl_tp_engine_attr_destroy(eattr));
            CHECK_OK(dnnl_tp_stream_attr_destroy(sattr));
        }
    *n = n_all;
    return all;
}

bool runs_cpu_code(dnnl_tp_engine_t engine) { return strcmp(engine->v->name, "cuda") != 0; }

static int created, left_out;
bool has_impl(dnnl_tp_engine_t engine, dnnl_tp_status_t status) {
    if (status == dnnl_tp_unimplemented && !runs_cpu_code(engine)) {
        ++left_out;
        return false;
    }
    CHECK_OK(status);
    ++created;
    return true;
}

void places_free(void) {
    if (left_out) printf("%d cases pass, %d are not of this engine\n", created, left_out);
    if (left_out && !created) fail_msg("no case is of this engine");
    created = left_out = 0;
    for (int i = 0; i < n_all; ++i) {
        CHECK_OK(dnnl_tp_stream_destroy(all[i].stream));
        CHECK_OK(dnnl_tp_engine_destroy(all[i].engine));
        if (all[i].pool) CHECK_OK(dnnl_tp_threadpool_destroy(all[i].pool));
    }
    memset(all, 0, sizeof all);
    n_all = 0;
}

int places_teardown(void **state) {
    (void)state;
    places_free();
    return 0;
}

void check_impl(const_dnnl_tp_primitive_desc_t pd, const char *impl, const char *what) {
    if (impl && runs_cpu_code(pd->engine) && strncmp(impl_name(pd), impl, strlen(impl)) != 0)
        fail_msg("%s uses %s, not %s", what, impl_name(pd), impl);
}

void check_same_bits(const place_t *at, const tensor_t *dst, unsigned char **first, const char *what) {
    if (at->threads == 1) {
        *first = realloc(*first, dst->bytes + 1);
        assert_non_null(*first);
        memcpy(*first, dst->data, dst->bytes);
    } else if (memcmp(*first, dst->data, dst->bytes) != 0) {
        fail_msg("%s: %d threads give other bits than one (%s)", at->name, at->threads, what);
    }
}

/* The same place in two objects of so many bytes. Plans have padding, in which anything may stand. */
static bool same_place(uintptr_t a, const void *of, uintptr_t b, const void *of_again, size_t bytes) {
    const uintptr_t at = a - (uintptr_t)of;
    return of != of_again && at < bytes && at == b - (uintptr_t)of_again;
}
/* Clones copy plans. So a plan that is made again, in another descriptor, must not hold an address there, in its
 * problem, in itself or in its attributes: a word that moves as one of these does. What it keeps is a part of the room that it
 * is made in. */
static void check_plan(const_dnnl_tp_primitive_desc_t pd) {
    const dtp_impl_t *impl = pd->impl;
    dnnl_tp_primitive_desc_t again;
    CHECK_OK(dnnl_tp_primitive_desc_clone(&again, pd));
    memcpy(again->op, again->user, again->op_size);
    void *const kept = again->plan, *const room = aligned_alloc(64, (impl->plan_size + 63) / 64 * 64 + 64);
    assert_non_null(room);
    memset(room, 0x5a, impl->plan_size);
    memset(room, 0, impl->plan_head ? impl->plan_head : impl->plan_size);
    again->plan = room;
    again->scratch_shared = again->scratch_per_slot = 0;
    CHECK_OK(impl->pd_init(again));
    bool same = again->scratch_shared == pd->scratch_shared &&
                again->scratch_per_slot == pd->scratch_per_slot && again->checks_data == pd->checks_data;
    same = same && pd->plan_bytes <= impl->plan_size &&
           pd->plan_bytes == (impl->plan_used ? impl->plan_used(room) : impl->plan_size);
    const size_t block = (size_t)((const char *)pd->op - (const char *)pd) + pd->op_size;
    const dtp_post_ops_t *chain = pd->attr->post_ops, *chain_again = again->attr->post_ops;
    for (size_t i = 0; i + sizeof(uintptr_t) <= pd->plan_bytes; i += sizeof(uintptr_t)) {
        uintptr_t a, b;
        memcpy(&a, (const char *)pd->plan + i, sizeof a);
        memcpy(&b, (const char *)again->plan + i, sizeof b);
        if (same_place(a, pd, b, again, block) || same_place(a, pd->plan, b, room, pd->plan_bytes) ||
            same_place(a, pd->attr, b, again->attr, sizeof *pd->attr) ||
            same_place(a, chain, b, chain_again, sizeof *chain) ||
            same_place(a, chain->entry, b, chain_again->entry, (size_t)chain->len * sizeof *chain->entry))
            same = false;
    }
    again->plan = kept;
    free(room);
    if (!same) fail_msg("the plan of %s of %s depends on where it is", impl_name(pd), pd->info->name);
    CHECK_OK(dnnl_tp_primitive_desc_destroy(again));
}

dnnl_tp_status_t run_pd(const place_t *at, dnnl_tp_primitive_desc_t pd, int nargs,
                        const dnnl_tp_exec_handle_t *args) {
    dnnl_tp_primitive_t primitive;
    check_plan(pd);
    CHECK_OK(dnnl_tp_primitive_create(&primitive, pd));
    dnnl_tp_status_t status = test_execute(primitive, at->stream, nargs, args);
    if (status != dnnl_tp_success)
        CHECK_OK(dnnl_tp_stream_reset(at->stream)); /* work may be skipped because of it */
    CHECK_OK(dnnl_tp_primitive_destroy(primitive));
    CHECK_OK(dnnl_tp_primitive_desc_destroy(pd));
    return status;
}

const char *impl_name(const_dnnl_tp_primitive_desc_t pd) {
    const char *name = NULL;
    CHECK_OK(dnnl_tp_primitive_desc_query(pd, dnnl_tp_query_impl_info_str, 0, &name));
    return name;
}
