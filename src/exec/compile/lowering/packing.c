/* Constant arguments in the layouts that primitives chose: weights, biases, scales of channels. They are made once
 * and shared by all executables of the store's graphs that want the same. */
#include <math.h>

#include "common/problems/reorder.h"
#include "exec/compile/lowering/lower.h"
#include "threading/base/parallel.h"

/* ---- For classes of operators ------------------------------------------------------------------------ */

dnnl_tp_status_t dtp_pack_arg(dtp_lower_t *l, dtp_step_t *s, int arg, int nparts, dtp_packing_t **packing) {
    dtp_packing_t *p = dtp_arena_alloc(l->ir->arena, sizeof *p + sizeof *p->part * (size_t)nparts);
    if (!p) return dnnl_tp_out_of_memory;
    p->arg = arg;
    p->nparts = nparts;
    dtp_packing_t **last = &s->work->packing;
    while (*last) last = &(*last)->next;
    *last = p;
    *packing = p;
    DTP_TRY(dtp_new_buf(l, 0, &s->arg[arg].buf));
    l->bufs[s->arg[arg].buf].kind = DTP_BUF_CONST;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_make_affine(const dtp_lower_t *l, int n, const dtp_ir_affine_t *steps,
                                 const dtp_affine_t **affine) {
    dtp_affine_t *a = dtp_arena_alloc(l->ir->arena, sizeof *a + sizeof *a->step * (size_t)n);
    if (!a) return dnnl_tp_out_of_memory;
    a->n = n;
    for (int i = 0; i < n; ++i) {
        a->step[i].kind = steps[i].kind;
        a->step[i].epsilon = steps[i].epsilon;
        for (int k = 0; k < DTP_IR_AFFINE_ARGS; ++k) {
            const dtp_ir_value_t *v = steps[i].value[k] < 0 ? NULL : &l->ir->values[steps[i].value[k]];
            a->step[i].cid[k] = v ? v->cid : -1;
            a->step[i].data[k] = v ? v->data : NULL;
            a->step[i].stride[k] = v && dtp_info_nelems(v->info) > 1;
        }
    }
    *affine = a;
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_pack_mapped(dtp_lower_t *l, dtp_step_t *s, int arg, dtp_pack_role_t role,
                                 const dtp_affine_t *affine, int64_t channels, int v, const dtp_md_t *src) {
    dtp_packing_t *p;
    DTP_TRY(dtp_pack_arg(l, s, arg, 1, &p));
    p->role = role;
    p->affine = affine;
    p->channels = channels;
    p->part[0].cid = v < 0 ? -1 : l->ir->values[v].cid;
    p->part[0].data = v < 0 ? NULL : l->ir->values[v].data;
    p->part[0].src = *src;
    return dnnl_tp_success;
}

const dtp_md_t *dtp_step_md(const dtp_step_t *s, const dtp_op_desc_t *op, int arg) {
    enum { MOST = DTP_GRAPH_MAX_ARGS + 8 }; /* with those that are no inputs */
    dtp_pd_arg_t args[MOST];
    if (arg < s->nargs) return arg < dtp_op_args(dtp_op_info(op->kind), op, args) ? args[arg].md : NULL;
    arg -= s->nargs;
    return arg % 2 == 0 && s->work->post[arg / 2].is_binary ? &s->work->post_md[arg / 2] : NULL;
}

/* ---- Keys -------------------------------------------------------------------------------------------- */

/* Parts follow, then the steps of the map. */
typedef struct {
    int32_t tag, role, nparts, naffine;
    int64_t channels;
    dtp_md_t dst;
} pack_key_t;
typedef struct {
    int64_t cid;
    dtp_md_t src;
} part_key_t;
typedef struct {
    int32_t kind;
    float epsilon;
    int64_t cid[DTP_IR_AFFINE_ARGS];
} affine_key_t;
enum { PACK_TAG = 2 };

typedef struct {
    const dtp_packing_t *packing;
    dtp_md_t dst;
    int buf;
    pack_key_t *key;
    size_t key_bytes;
    dtp_derived_t *derived;
    size_t at;
} pack_job_t;

static dnnl_tp_status_t add_job(dtp_lower_t *l, pack_job_t *j, const dtp_packing_t *p, const dtp_md_t *dst,
                                int buf) {
    const int naffine = p->affine ? p->affine->n : 0;
    j->packing = p;
    j->dst = *dst;
    j->buf = buf;
    j->key_bytes =
        sizeof *j->key + sizeof(part_key_t) * (size_t)p->nparts + sizeof(affine_key_t) * (size_t)naffine;
    j->key = dtp_arena_alloc(l->ir->arena, j->key_bytes);
    if (!j->key) return dnnl_tp_out_of_memory;
    j->key->tag = PACK_TAG;
    j->key->role = (int32_t)p->role;
    j->key->nparts = p->nparts;
    j->key->naffine = naffine;
    j->key->channels = p->channels;
    j->key->dst = *dst;
    part_key_t *part = (part_key_t *)(void *)(j->key + 1);
    for (int i = 0; i < p->nparts; ++i) {
        part[i].cid = p->part[i].cid;
        part[i].src = p->part[i].src;
    }
    affine_key_t *map = (affine_key_t *)(void *)(part + p->nparts);
    for (int i = 0; i < naffine; ++i) {
        map[i].kind = (int32_t)p->affine->step[i].kind;
        map[i].epsilon = p->affine->step[i].epsilon;
        memcpy(map[i].cid, p->affine->step[i].cid, sizeof map[i].cid);
    }
    return dnnl_tp_success;
}

/* ---- Packing ----------------------------------------------------------------------------------------- */

static dnnl_tp_status_t reorder_into(dtp_lower_t *l, const dtp_md_t *src, const void *from,
                                     const dtp_md_t *dst, void *to) {
    static const dtp_parallel_t alone = {.num_threads = 1};
    dtp_reorder_desc_t d;
    memset(&d, 0, sizeof d);
    d.base.kind = dnnl_tp_reorder;
    d.src = *src;
    d.dst = *dst;
    dnnl_tp_primitive_attr_t attr = NULL;
    dnnl_tp_primitive_desc_t pd = NULL;
    dnnl_tp_primitive_t prim = NULL;
    char *scratch = NULL;
    dnnl_tp_status_t status = dnnl_tp_primitive_attr_create(&attr);
    if (status != dnnl_tp_success) return status;
    attr->num_threads = 1;
    status = dtp_pd_create(&pd, l->ir->host, &d.base, sizeof d, attr);
    if (status == dnnl_tp_success) status = dnnl_tp_primitive_create(&prim, pd);
    if (status == dnnl_tp_success) {
        size_t bytes = dtp_pd_scratch_size(prim->pd);
        scratch = bytes ? dtp_alloc(l->ir->arena->allocator, bytes, DTP_CACHE_LINE) : NULL;
        if (bytes && !scratch) status = dtp_no_memory(bytes);
    }
    if (status == dnnl_tp_success) {
        void *ptr[DTP_REORDER_NARGS] = {[DTP_REORDER_SRC] = (void *)(uintptr_t)from, [DTP_REORDER_DST] = to};
        status = dtp_primitive_run(prim, &alone, ptr, NULL, scratch, -1);
    }
    dtp_free(l->ir->arena->allocator, scratch);
    if (prim) (void)dnnl_tp_primitive_destroy(prim);
    if (pd) (void)dnnl_tp_primitive_desc_destroy(pd);
    (void)dnnl_tp_primitive_attr_destroy(attr);
    return status;
}

/* Parts side by side in a plain {K, N} of so many columns and this type. */
static dnnl_tp_status_t join_parts(dtp_lower_t *l, const dtp_packing_t *p, int64_t cols,
                                   dnnl_tp_data_type_t type, char *to) {
    const size_t size = dtp_type_size(type);
    for (int i = 0; i < p->nparts; ++i) {
        const dtp_md_t *m = &p->part[i].src;
        const int64_t width = m->dims[1], strides[2] = {cols, 1};
        const size_t row = m->strides[1] == 1 && m->data_type == type ? (size_t)width * size : 0;
        const char *from = p->part[i].data;
        if (row) {
            for (int64_t r = 0; r < m->dims[0]; ++r)
                memcpy(to + (size_t)(r * cols) * size, from + (size_t)(r * m->strides[0]) * size, row);
        } else {
            dtp_md_t place;
            DTP_TRY(dtp_md_init_strides(&place, 2, m->dims, type, strides));
            DTP_TRY(reorder_into(l, m, from, &place, to));
        }
        to += (size_t)width * size;
    }
    return dnnl_tp_success;
}

/* What the map makes of channel c. */
static void map_of(const dtp_affine_t *a, int64_t c, double *scale, double *shift) {
    double s = 1., t = 0.;
    for (int i = 0; i < a->n; ++i) {
        const dtp_affine_step_t *step = &a->step[i];
        double x[DTP_IR_AFFINE_ARGS];
        for (int k = 0; k < DTP_IR_AFFINE_ARGS; ++k)
            x[k] = step->data[k] ? (double)step->data[k][c * step->stride[k]] : 0.;
        switch (step->kind) {
        case DTP_AFFINE_NORMALISE: {
            const double factor = x[0] / sqrt(x[3] + (double)step->epsilon);
            s *= factor;
            t = (t - x[2]) * factor + x[1];
            break;
        }
        case DTP_AFFINE_MULTIPLY: s *= x[0], t *= x[0]; break;
        case DTP_AFFINE_DIVIDE: s /= x[0], t /= x[0]; break;
        case DTP_AFFINE_ADD: t += x[0]; break;
        case DTP_AFFINE_SUBTRACT: t -= x[0]; break;
        }
    }
    *scale = s;
    *shift = t;
}

/* The only part, row-major, mapped. */
static void map_part(const dtp_packing_t *p, int64_t channels, float *to) {
    const dtp_packed_part_t *part = &p->part[0];
    const float *from = part->data;
    const int64_t row = dtp_md_nelems(&part->src) / channels;
    const float standard = p->role == DTP_PACK_SCALED ? 1.f : 0.f;
    for (int64_t c = 0; c < channels; ++c) {
        double scale, shift;
        map_of(p->affine, c, &scale, &shift);
        if (p->role == DTP_PACK_SCALED) shift = 0.;
        for (int64_t i = c * row; i < (c + 1) * row; ++i)
            to[i] = (float)((double)(from ? from[i] : standard) * scale + shift);
    }
}

/* The constant before its layout changes, row-major, in this type; what is mapped is f32. */
static dnnl_tp_status_t make_plain(dtp_lower_t *l, const dtp_packing_t *p, int64_t cols,
                                   dnnl_tp_data_type_t type, char *to) {
    if (p->role == DTP_PACK_AS_IS) return join_parts(l, p, cols, type, to);
    map_part(p, p->channels, (float *)(void *)to);
    return dnnl_tp_success;
}

/* Some columns at a time, each of which is turned in a copy that stays in the caches. */
static dnnl_tp_status_t pack_pixels(dtp_lower_t *l, const pack_job_t *j, char *to) {
    enum { COPY_BYTES = 1 << 20 };
    const dtp_packed_part_t *part = &j->packing->part[0];
    const int64_t *step = part->src.strides, k = part->src.dims[0], n = part->src.dims[1];
    const int64_t channels = j->packing->channels, pixels = k / channels;
    const size_t column = (size_t)k * dtp_type_size(j->dst.data_type);
    const int64_t block = dtp_md_block_of(&j->dst, 1);
    const int64_t cols = dtp_min64(dtp_round_up(COPY_BYTES / (int64_t)column + 1, block), n);
    char *tmp = dtp_alloc(l->ir->arena->allocator, column * (size_t)cols, DTP_CACHE_LINE);
    if (!tmp) return dtp_no_memory(column * (size_t)cols);
    dnnl_tp_status_t status = dnnl_tp_success;
    for (int64_t at = 0; at < n && status == dnnl_tp_success; at += cols) {
        const int64_t width = dtp_min64(cols, n - at), dims[3] = {width, pixels, channels},
                      from[3] = {step[1], step[0], pixels * step[0]}, turned[2] = {1, k};
        const dnnl_tp_dims_t place = {k, width}, offset = {0, at};
        const char *data =
            (const char *)part->data + (size_t)(at * step[1]) * dtp_type_size(part->src.data_type);
        dtp_md_t src, mid;
        dnnl_tp_memory_desc_t dst = NULL;
        status = dtp_md_init_strides(&src, 3, dims, part->src.data_type, from);
        if (status == dnnl_tp_success) status = dtp_md_init_strides(&mid, 3, dims, j->dst.data_type, NULL);
        if (status == dnnl_tp_success) status = reorder_into(l, &src, data, &mid, tmp);
        if (status == dnnl_tp_success) status = dtp_md_init_strides(&mid, 2, place, j->dst.data_type, turned);
        if (status == dnnl_tp_success)
            status = dnnl_tp_memory_desc_create_submemory(&dst, &j->dst, place, offset);
        if (status == dnnl_tp_success) status = reorder_into(l, &mid, tmp, dst, to);
        (void)dnnl_tp_memory_desc_destroy(dst);
    }
    dtp_free(l->ir->arena->allocator, tmp);
    return status;
}

static dnnl_tp_status_t pack_one(dtp_lower_t *l, const pack_job_t *j, char *to) {
    const dtp_packing_t *p = j->packing;
    const dnnl_tp_data_type_t type = p->role == DTP_PACK_AS_IS ? j->dst.data_type : dnnl_tp_f32;
    dtp_md_t plain = p->part[0].src;
    const bool is_matrix = p->role == DTP_PACK_AS_IS && plain.ndims == 2;
    int64_t dims[DNNL_TP_MAX_NDIMS];
    memcpy(dims, plain.dims, sizeof dims);
    for (int i = 1; i < p->nparts; ++i) dims[1] += p->part[i].src.dims[1];
    if (p->role != DTP_PACK_PIXELS && dtp_md_is_dense_row_major(&j->dst) && j->dst.data_type == type &&
        (is_matrix || p->role != DTP_PACK_AS_IS))
        return make_plain(l, p, dims[1], type, to);
    if (dtp_md_is_padded(&j->dst)) memset(to, 0, dtp_md_size(&j->dst));
    if (p->role == DTP_PACK_PIXELS) return pack_pixels(l, j, to);
    if (p->nparts == 1 && p->role == DTP_PACK_AS_IS)
        return reorder_into(l, &plain, p->part[0].data, &j->dst, to);
    DTP_TRY(dtp_md_init_strides(&plain, plain.ndims, dims, type, NULL));
    const size_t bytes = (size_t)dtp_md_nelems(&plain) * dtp_type_size(type);
    char *tmp = dtp_alloc(l->ir->arena->allocator, bytes, DTP_CACHE_LINE);
    if (!tmp) return dtp_no_memory(bytes);
    dnnl_tp_status_t status = make_plain(l, p, dims[1], type, tmp);
    if (status == dnnl_tp_success) status = reorder_into(l, &plain, tmp, &j->dst, to);
    dtp_free(l->ir->arena->allocator, tmp);
    return status;
}

/* ---- Denormal numbers ---------------------------------------------------------------------------------- */

/* Element i of f32 or bf16 as the bits of f32. */
static uint32_t bits_of(const void *x, size_t i, bool is_f32) {
    return is_f32 ? ((const uint32_t *)x)[i] : (uint32_t)((const uint16_t *)x)[i] << 16;
}

/* A product with a denormal number takes 150 cycles on many processors. They count as 0 where the largest element is
 * 2^24 times larger: its rounding error is not smaller than they are. Many trained models have them: weights that
 * decayed. Whether there are such elements. */
static bool has_denormals(const dtp_md_t *md, const void *data) {
    const uint32_t sign = 0x80000000u, normal = 0x00800000u, enough = 0x0c800000u; /* 2^-126, 2^-102 */
    const bool is_f32 = md->data_type == dnnl_tp_f32;
    if (!is_f32 && md->data_type != dnnl_tp_bf16) return false;
    const size_t n = dtp_md_size(md) / dtp_type_size(md->data_type);
    uint32_t most = 0, found = 0;
    for (size_t i = 0; i < n; ++i) {
        const uint32_t bits = bits_of(data, i, is_f32) & ~sign;
        most = bits > most ? bits : most;
        found |= bits - 1 < normal - 1;
    }
    return found && most >= enough;
}

static void drop_denormals(const dtp_md_t *md, void *data) {
    const bool is_f32 = md->data_type == dnnl_tp_f32;
    if (!has_denormals(md, data)) return;
    const size_t n = dtp_md_size(md) / dtp_type_size(md->data_type);
    for (size_t i = 0; i < n; ++i) {
        if (bits_of(data, i, is_f32) & 0x7f800000u) continue;
        if (is_f32) ((uint32_t *)data)[i] &= 0x80000000u;
        else ((uint16_t *)data)[i] &= 0x8000u;
    }
}

/* ---- All of them ----------------------------------------------------------------------------------------- */

/* Those that are in the store; the others will need so many bytes. */
static dnnl_tp_status_t find_jobs(dtp_lower_t *l, pack_job_t *jobs, int n, bool *all, size_t *bytes) {
    dtp_graph_t *g = l->ir->graph;
    *all = true;
    *bytes = 0;
    for (int i = 0; i < n; ++i) {
        DTP_TRY(dtp_store_find(g->store, g, jobs[i].key, jobs[i].key_bytes, &jobs[i].derived));
        if (jobs[i].derived) continue;
        *all = false;
        jobs[i].at = *bytes;
        *bytes += dtp_round_up_size(dtp_md_size(&jobs[i].dst), DTP_CACHE_LINE);
    }
    return dnnl_tp_success;
}

/* The data of all that it is made from is there. */
static bool has_data(const dtp_packing_t *p) {
    bool has = true;
    for (int i = 0; i < p->nparts; ++i) has &= p->part[i].cid < 0 || p->part[i].data;
    for (int i = 0; p->affine && i < p->affine->n; ++i)
        for (int k = 0; k < DTP_IR_AFFINE_ARGS; ++k)
            has &= p->affine->step[i].cid[k] < 0 || p->affine->step[i].data[k];
    return has;
}

/* What is missing goes into one block in the order of execution, each part directly behind the other, so that
 * the prefetch of weights crosses from one operator to the next. */
static dnnl_tp_status_t make_jobs(dtp_lower_t *l, pack_job_t *jobs, int n, size_t bytes, bool *added) {
    dtp_graph_t *g = l->ir->graph;
    enum { PREFETCH_SLACK = 32 * 1024 }; /* kernels prefetch beyond the end; keep that inside our block */
    dtp_block_t *block = dtp_block_create(g->store, bytes + PREFETCH_SLACK);
    dnnl_tp_status_t status = block ? dnnl_tp_success : dnnl_tp_out_of_memory;
    for (int i = 0; i < n && status == dnnl_tp_success; ++i) {
        pack_job_t *j = &jobs[i];
        if (!j->derived) j->derived = dtp_block_find(block, j->key, j->key_bytes); /* used twice */
        if (j->derived) continue;
        char *to = dtp_block_data(block) + j->at;
        l->ir->lacks = !has_data(j->packing);
        status = l->ir->lacks ? dnnl_tp_runtime_error : pack_one(l, j, to);
        if (status != dnnl_tp_success) break;
        drop_denormals(&j->dst, to);
        j->derived = dtp_block_put(g->store, block, j->key, j->key_bytes, to, false);
        if (!j->derived) status = dnnl_tp_out_of_memory;
    }
    if (status == dnnl_tp_success) return dtp_store_add(g->store, g, block, added);
    if (block) dtp_block_free(g->store, block);
    return status;
}

static dnnl_tp_status_t pack_jobs(dtp_lower_t *l, pack_job_t *jobs, int n) {
    for (bool all, has = false; !has;) { /* again where another compilation was faster */
        size_t bytes;
        DTP_TRY(find_jobs(l, jobs, n, &all, &bytes));
        has = all;
        if (!all) DTP_TRY(make_jobs(l, jobs, n, bytes, &has));
    }
    for (int i = 0; i < n; ++i) {
        l->bufs[jobs[i].buf].data = jobs[i].derived->data;
        l->bufs[jobs[i].buf].bytes = dtp_md_size(&jobs[i].dst);
    }
    return dnnl_tp_success;
}

dnnl_tp_status_t dtp_pack_constants(dtp_lower_t *l) {
    int n = 0;
    for (int i = 0; i < l->nsteps && l->nproblems; ++i)
        for (const dtp_packing_t *p = l->steps[i]->work->packing; p; p = p->next) ++n;
    if (n == 0) return dnnl_tp_success;
    pack_job_t *jobs = dtp_arena_alloc(l->ir->arena, sizeof *jobs * (size_t)n);
    if (!jobs) return dnnl_tp_out_of_memory;
    n = 0;
    for (int i = 0; i < l->nsteps; ++i) {
        const dtp_step_t *s = l->steps[i];
        for (const dtp_packing_t *p = s->work->packing; p; p = p->next) {
            const dtp_md_t *dst = dtp_step_md(s, s->work->prim[0]->pd->op, p->arg);
            dtp_buf_t *b = &l->bufs[s->arg[p->arg].buf];
            if (p->nparts == 1 && p->role == DTP_PACK_AS_IS && dtp_md_equal(dst, &p->part[0].src) &&
                !(p->part[0].data && has_denormals(dst, p->part[0].data))) {
                b->data = p->part[0].data;
                b->bytes = dtp_md_size(dst);
            } else {
                DTP_TRY(add_job(l, &jobs[n++], p, dst, s->arg[p->arg].buf));
            }
        }
    }
    return n ? pack_jobs(l, jobs, n) : dnnl_tp_success;
}
