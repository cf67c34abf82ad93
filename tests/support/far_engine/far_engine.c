/* The far engine: its table, its engines, its implementations (the CPU's); see far_engine.h. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/problems/matmul.h"
#include "support/far_engine/far_parts.h"

extern const dtp_engine_vtbl_t dtp_cpu_engine_vtbl;

/* ---- Implementations --------------------------------------------------------------------------------- */

/* One of the CPU's, with something of the primitive's in far memory. */
typedef struct {
    dtp_impl_t impl; /* first */
    const dtp_impl_t *cpu;
} far_impl_t;
enum { OURS = 3, CONSTANT_BYTES = 64, CONSTANT = 0x3c, MOST_KINDS = 64, MOST_IMPLS = 32 };

static dnnl_tp_status_t prepare(dtp_primitive_t *p) {
    const far_impl_t *f = (const far_impl_t *)(const void *)p->pd->impl;
    if (f->cpu->constants) {
        dnnl_tp_status_t status = f->cpu->constants->prepare(p);
        if (status) return status;
    }
    if (p->prepared[OURS]) far_wrong("%s has a constant %d", f->cpu->name, OURS);
    p->prepared[OURS] = far_alloc(p->pd->engine, CONSTANT_BYTES, false);
    if (!p->prepared[OURS]) return dtp_no_memory(CONSTANT_BYTES);
    memset(far_translate(p->pd->engine->index, p->prepared[OURS], CONSTANT_BYTES, "constant"), CONSTANT,
           CONSTANT_BYTES);
    return dnnl_tp_success;
}

static void unprepare(dtp_primitive_t *p) {
    const far_impl_t *f = (const far_impl_t *)(const void *)p->pd->impl;
    far_free(p->pd->engine, p->prepared[OURS]);
    p->prepared[OURS] = NULL;
    if (f->cpu->constants && f->cpu->constants->unprepare) f->cpu->constants->unprepare(p);
}

void far_check_constants(const dtp_primitive_t *p) {
    const unsigned char *at =
        far_translate(p->pd->engine->index, p->prepared[OURS], CONSTANT_BYTES, "constant of a primitive");
    for (int i = 0; i < CONSTANT_BYTES; ++i)
        if (at[i] != CONSTANT) far_wrong("the constant of a primitive is gone");
}

static _Atomic bool fuses = true;
void far_fuse(bool can) { atomic_store(&fuses, can); }
static dnnl_tp_status_t pd_init(dtp_pd_t *pd) {
    const bool more =
        pd->attr->post_ops->len ||
        (pd->op->kind == dnnl_tp_matmul && !dtp_md_is_zero(&((dtp_matmul_desc_t *)pd->op)->bia)) ||
        (int)pd->op->kind == DTP_KIND_ATTENTION;
    DTP_DISPATCH(!more || atomic_load(&fuses), UNSUPPORTED_POST_OPS);
    return ((const far_impl_t *)(const void *)pd->impl)->cpu->pd_init(pd);
}

static const dtp_impl_constants_t far_constants = {prepare, unprepare};

typedef struct {
    dnnl_tp_primitive_kind_t kind;
    const dtp_impl_t *list[MOST_IMPLS + 1];
    far_impl_t impl[MOST_IMPLS];
} far_list_t;

static const dtp_impl_t *const *far_impl_list(dnnl_tp_primitive_kind_t kind) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static far_list_t lists[MOST_KINDS];
    static int n;
    const dtp_impl_t *const *cpu = dtp_cpu_engine_vtbl.impl_list(kind);
    if (!cpu) return NULL;
    pthread_mutex_lock(&lock);
    int k = 0;
    while (k < n && lists[k].kind != kind) ++k;
    far_list_t *l = &lists[k];
    if (k == n) {
        if (n++ == MOST_KINDS) far_wrong("more than %d kinds", MOST_KINDS);
        l->kind = kind;
        for (int i = 0; cpu[i]; ++i) {
            if (i == MOST_IMPLS) far_wrong("more than %d implementations", MOST_IMPLS);
            l->impl[i] = (far_impl_t){*cpu[i], cpu[i]};
            l->impl[i].impl.constants = &far_constants;
            l->impl[i].impl.pd_init = pd_init;
            l->list[i] = &l->impl[i].impl;
        }
    }
    pthread_mutex_unlock(&lock);
    return l->list;
}

/* ---- Engines ----------------------------------------------------------------------------------------- */

static size_t far_count(void) { return FAR_DEVICES; }

static void far_destroy(dtp_object_t *obj) { dtp_object_release(((dnnl_tp_engine_t)obj)->stream_attr); }

static dnnl_tp_status_t far_create(dnnl_tp_engine_t *engine, size_t index,
                                   const struct dnnl_tp_engine_attr *attr) {
    dnnl_tp_engine_t cpu;
    far_engine_own_t own;
    DTP_TRY(dtp_own_get(attr ? attr->own : NULL, &own, sizeof own));
    dnnl_tp_status_t status = dtp_cpu_engine_vtbl.create(&cpu, 0, attr);
    if (status) return status;
    dnnl_tp_engine_t e = dtp_object_create(NULL, sizeof(far_engine_t), DTP_OBJ_ENGINE, far_destroy);
    if (e) {
        ((far_engine_t *)(void *)e)->own = own;
        e->v = &far_engine_vtbl;
        e->index = index;
        e->device = dtp_engine_device(dnnl_tp_gpu, index);
        e->isa = cpu->isa;
        e->num_threads = attr && attr->num_threads ? attr->num_threads : 1;
        e->stream_attr = dtp_object_retain(attr ? attr->stream_attr : NULL);
        e->own_allocator = cpu->own_allocator;
        e->allocator = &e->own_allocator;
        e->l2_bytes = cpu->l2_bytes;
        e->l3_bytes = cpu->l3_bytes;
    }
    dtp_object_release(cpu);
    *engine = e;
    return e ? dnnl_tp_success : dnnl_tp_out_of_memory;
}

static int far_num_threads(const struct dnnl_tp_engine *engine, uint64_t *pool_flags) {
    (void)pool_flags;
    return engine->num_threads;
}

const far_traits_t far_traits = {.name = "far", .has_controls = true, .skips = true, .blocked = true};
bool far_agrees(const float *x, const float *want, size_t n, float tolerance) {
    (void)tolerance;
    return !memcmp(x, want, n * sizeof *x);
}

const dtp_engine_vtbl_t far_engine_vtbl = {
    .kind = dnnl_tp_gpu,
    .name = "far",
    .count = far_count,
    .create = far_create,
    .impl_list = far_impl_list,
    .num_threads = far_num_threads,
    .stream_create = far_stream_create,
    .sync = far_sync,
    .alloc = far_alloc,
    .free = far_free,
    .map = far_map,
    .unmap = far_unmap,
    .write = far_write,
    .zero_pad = far_zero_pad,
    .copy = far_copy,
};

/* The table of engines of such programs; it stands before src/engines.c's in the libraries that are linked. */
const dtp_engine_vtbl_t *dtp_engine_vtbl(dnnl_tp_engine_kind_t kind) {
    return kind == dnnl_tp_cpu ? &dtp_cpu_engine_vtbl : kind == dnnl_tp_gpu ? &far_engine_vtbl : NULL;
}
