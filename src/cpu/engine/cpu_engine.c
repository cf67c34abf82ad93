/* The CPU engine: instruction sets, caches, implementation lists. */
#include "cpu/engine/cpu_engine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/layout/zero_pad.h"
#include "threading/base/futex.h"
#include "threading/base/topology.h"
#include "threading/streams/stream_attr.h"
#include "threading/streams/sync.h"

/* ---- Instruction sets -------------------------------------------------------------------------------- */

unsigned dtp_cpu_isa_bits(void) {
    unsigned bits = 0;
#if DTP_X64
    __builtin_cpu_init(); /* these tests include what the system enabled */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) bits |= DTP_ISA_AVX2;
    if ((bits & DTP_ISA_AVX2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        bits |= DTP_ISA_AVX512;
    if ((bits & DTP_ISA_AVX512) && __builtin_cpu_supports("avx512vnni")) bits |= DTP_ISA_AVX512_VNNI;
    if ((bits & DTP_ISA_AVX512) && __builtin_cpu_supports("avx512bf16")) bits |= DTP_ISA_AVX512_BF16;
    /* Intel's vdpbf16ps has half the rate of two f32 multiply-adds (doc/performance.md). */
    if ((bits & DTP_ISA_AVX512_BF16) && __builtin_cpu_is("intel")) bits |= DTP_ISA_SLOW_BF16;
#endif
    return bits;
}

/* A set's number has the bits of the sets that it contains. */
static unsigned limit_of(dnnl_tp_cpu_isa_t isa) {
    static const struct {
        dnnl_tp_cpu_isa_t isa;
        unsigned bit;
    } parts[] = {{dnnl_tp_cpu_isa_avx2, DTP_ISA_AVX2},
                 {dnnl_tp_cpu_isa_avx512_core, DTP_ISA_AVX512},
                 {dnnl_tp_cpu_isa_avx512_core_vnni, DTP_ISA_AVX512_VNNI},
                 {dnnl_tp_cpu_isa_avx512_core_bf16, DTP_ISA_AVX512_BF16}};
    unsigned bits = 0;
    if (isa == dnnl_tp_cpu_isa_default) return ~0u;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        if (((unsigned)isa & (unsigned)parts[i].isa) == (unsigned)parts[i].isa) bits |= parts[i].bit;
    /* Asked for by this name alone, products of bf16 come first everywhere. */
    if (bits & DTP_ISA_AVX512_BF16 && isa != dnnl_tp_cpu_isa_avx512_core_bf16) bits |= DTP_ISA_SLOW_BF16;
    return bits;
}

/* Process-wide limit: dnnl_tp_set_max_cpu_isa, else DNNL_TP_MAX_CPU_ISA, until the first engine fixes it. */
static _Atomic int process_isa = -1;
static _Atomic bool isa_fixed;

static dnnl_tp_cpu_isa_t isa_from_environment(void) {
    static const char *const names[] = {"SSE41",
                                        "AVX",
                                        "AVX2",
                                        "AVX2_VNNI",
                                        "AVX2_VNNI_2",
                                        "AVX512_CORE",
                                        "AVX512_CORE_VNNI",
                                        "AVX512_CORE_BF16",
                                        "AVX512_CORE_FP16",
                                        "AVX512_CORE_AMX",
                                        "AVX512_CORE_AMX_FP16",
                                        "AVX10_1_512",
                                        "AVX10_1_512_AMX",
                                        "AVX10_1_512_AMX_FP16",
                                        "AVX10_2",
                                        "AVX10_2_512",
                                        "AVX10_2_AMX_2",
                                        "AVX10_2_512_AMX_2",
                                        "AVX10_2_ACE"};
    static const dnnl_tp_cpu_isa_t isas[] = {dnnl_tp_cpu_isa_sse41,
                                             dnnl_tp_cpu_isa_avx,
                                             dnnl_tp_cpu_isa_avx2,
                                             dnnl_tp_cpu_isa_avx2_vnni,
                                             dnnl_tp_cpu_isa_avx2_vnni_2,
                                             dnnl_tp_cpu_isa_avx512_core,
                                             dnnl_tp_cpu_isa_avx512_core_vnni,
                                             dnnl_tp_cpu_isa_avx512_core_bf16,
                                             dnnl_tp_cpu_isa_avx512_core_fp16,
                                             dnnl_tp_cpu_isa_avx512_core_amx,
                                             dnnl_tp_cpu_isa_avx512_core_amx_fp16,
                                             dnnl_tp_cpu_isa_avx10_1_512,
                                             dnnl_tp_cpu_isa_avx10_1_512_amx,
                                             dnnl_tp_cpu_isa_avx10_1_512_amx_fp16,
                                             dnnl_tp_cpu_isa_avx10_2,
                                             dnnl_tp_cpu_isa_avx10_2_512,
                                             dnnl_tp_cpu_isa_avx10_2_amx_2,
                                             dnnl_tp_cpu_isa_avx10_2_512_amx_2,
                                             dnnl_tp_cpu_isa_avx10_2_ace};
    int i = dtp_getenv_word("MAX_CPU_ISA", names, sizeof names / sizeof *names, -1);
    return i < 0 ? dnnl_tp_cpu_isa_default : isas[i];
}

static dnnl_tp_cpu_isa_t process_limit(void) {
    int isa = atomic_load(&process_isa);
    return isa >= 0 ? (dnnl_tp_cpu_isa_t)isa : isa_from_environment();
}

dnnl_tp_status_t dnnl_tp_set_max_cpu_isa(dnnl_tp_cpu_isa_t isa) {
    DTP_REQUIRE(dtp_cpu_isa_is_known(isa), BAD_ENUM, "isa %d", (int)isa);
    DTP_REQUIRE(!atomic_load(&isa_fixed), NOT_IN_ORDER, "an engine exists already");
    atomic_store(&process_isa, (int)isa);
    return dnnl_tp_success;
}

dnnl_tp_cpu_isa_t dnnl_tp_get_effective_cpu_isa(void) {
    unsigned bits = dtp_cpu_isa_bits() & limit_of(process_limit());
    if (bits & DTP_ISA_AVX512_BF16) return dnnl_tp_cpu_isa_avx512_core_bf16;
    if (bits & DTP_ISA_AVX512_VNNI) return dnnl_tp_cpu_isa_avx512_core_vnni;
    if (bits & DTP_ISA_AVX512) return dnnl_tp_cpu_isa_avx512_core;
    return bits & DTP_ISA_AVX2 ? dnnl_tp_cpu_isa_avx2 : dnnl_tp_cpu_isa_sse41;
}

dnnl_tp_status_t dnnl_tp_set_cpu_isa_hints(dnnl_tp_cpu_isa_hints_t hints) {
    DTP_REQUIRE(hints == dnnl_tp_cpu_isa_no_hints || hints == dnnl_tp_cpu_isa_prefer_ymm, BAD_ENUM, "hint %d",
                (int)hints);
    if (hints == dnnl_tp_cpu_isa_no_hints) return dnnl_tp_success;
    DTP_RETURN(dtp_fail(dnnl_tp_unimplemented, DTP_ISA, "no kernels are chosen by cpu_isa_prefer_ymm"));
}

dnnl_tp_cpu_isa_hints_t dnnl_tp_get_cpu_isa_hints(void) { return dnnl_tp_cpu_isa_no_hints; }

unsigned dtp_cpu_process_isa(void) {
    static _Atomic unsigned known = ~0u; /* racing callers find the same */
    unsigned bits = atomic_load(&known);
    if (bits != ~0u) return bits;
    atomic_store(&isa_fixed, true);
    bits = dtp_cpu_isa_bits() & limit_of(process_limit());
    atomic_store(&known, bits);
    return bits;
}

/* ---- Caches ------------------------------------------------------------------------------------------ */

/* Size of the data or unified cache of a level of CPU 0; fallback where the system does not say. */
static int64_t read_cache_bytes(int level, int64_t fallback) {
    for (int i = 0; i < 8; ++i) {
        char path[96], text[32] = "";
        int got = 0;
        for (int k = 0; k < 3; ++k) {
            static const char *const files[] = {"level", "type", "size"};
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, files[k]);
            FILE *f = fopen(path, "r");
            if (!f) return fallback;
            bool ok = fgets(text, sizeof text, f) != NULL;
            fclose(f);
            if (!ok || (k == 0 && atoi(text) != level) || (k == 1 && text[0] == 'I')) break;
            got = k;
        }
        if (got == 2) {
            long n = strtol(text, NULL, 10);
            int64_t bytes = (int64_t)n * (strchr(text, 'M') ? 1 << 20 : strchr(text, 'K') ? 1 << 10 : 1);
            return bytes > 0 ? bytes : fallback;
        }
    }
    return fallback;
}

int64_t dtp_cpu_cache_bytes(int level) {
    static const int64_t fallback[] = {32 << 10, 1 << 20, 16 << 20};
    static _Atomic int64_t known[3]; /* files are read once; racing readers find the same */
    int64_t bytes = atomic_load(&known[level - 1]);
    if (bytes == 0) {
        bytes = read_cache_bytes(level, fallback[level - 1]);
        atomic_store(&known[level - 1], bytes);
    }
    return bytes;
}

/* ---- Engine ------------------------------------------------------------------------------------------ */

static size_t cpu_count(void) { return 1; }

static void cpu_engine_destroy(dtp_object_t *obj) {
    dtp_object_release(((dnnl_tp_engine_t)obj)->stream_attr);
}

static dnnl_tp_status_t cpu_engine_create(dnnl_tp_engine_t *engine, size_t index,
                                          const struct dnnl_tp_engine_attr *attr) {
    const dnnl_tp_allocator_t *allocator =
        attr && attr->has_allocator ? &attr->engine_allocator : dtp_process_allocator();
    dnnl_tp_allocator_t own = *allocator;
    dnnl_tp_engine_t e = dtp_object_create(NULL, sizeof *e, DTP_OBJ_ENGINE, cpu_engine_destroy);
    if (!e) return dnnl_tp_out_of_memory;
    dtp_watch_forks();
    atomic_store(&isa_fixed, true);
    e->v = dtp_engine_vtbl(dnnl_tp_cpu);
    e->index = index;
    e->own_allocator = own;
    e->allocator = &e->own_allocator;
    e->isa = dtp_cpu_isa_bits() & limit_of(process_limit());
    if (attr) {
        e->isa &= limit_of(attr->max_isa);
        e->num_threads = attr->num_threads;
        e->stream_attr = dtp_object_retain(attr->stream_attr);
    }
    e->l2_bytes = dtp_cpu_cache_bytes(2);
    e->l3_bytes = dtp_cpu_cache_bytes(3);
    *engine = e;
    return dnnl_tp_success;
}

static int cpu_num_threads(const struct dnnl_tp_engine *engine, uint64_t *pool_flags) {
    int n = engine->num_threads;
    if (!n && engine->stream_attr) n = dtp_stream_attr_num_threads(engine->stream_attr, pool_flags);
    return n ? n : dtp_process_num_threads();
}

/* src/cpu/<kind>/<kind>_list.c: implementations in order, fastest first, reference last, NULL at the end. The
 * first whose pd_init takes the problem wins. */
#define DTP_KIND(name, number) extern const dtp_impl_t *const dtp_cpu_##name##_list[];
#include "common/primitive/kinds.inc"

static const dtp_impl_t *const *cpu_impl_list(dnnl_tp_primitive_kind_t kind) {
#define DTP_KIND(name, number) \
    if ((int)kind == (int)(number)) return dtp_cpu_##name##_list;
#include "common/primitive/kinds.inc"
    return NULL;
}

/* ---- Memory ------------------------------------------------------------------------------------------ */

static void *cpu_alloc(dnnl_tp_engine_t engine, size_t bytes, bool zeroed) {
    enum { PAGE = 4096, BIG = 1 << 20 };
    size_t align = bytes >= BIG ? PAGE : DTP_CACHE_LINE;
    void *p =
        zeroed ? dtp_zalloc(engine->allocator, bytes, align) : dtp_alloc(engine->allocator, bytes, align);
    if (!p) (void)dtp_no_memory(bytes);
    return p;
}
static void cpu_free(dnnl_tp_engine_t engine, void *handle) { dtp_free(engine->allocator, handle); }

static dnnl_tp_status_t cpu_map(dnnl_tp_engine_t engine, void *handle, size_t bytes, void **mapped) {
    (void)engine, (void)bytes;
    *mapped = handle;
    return dnnl_tp_success;
}
static dnnl_tp_status_t cpu_unmap(dnnl_tp_engine_t engine, void *handle, size_t bytes, void *mapped) {
    (void)engine, (void)bytes;
    DTP_REQUIRE(mapped == handle, BAD_PARAM, "not the pointer that map_data gave");
    return dnnl_tp_success;
}

/* The caller does it, once the stream has come so far. */
static dnnl_tp_status_t cpu_zero_pad(dnnl_tp_stream_t stream, const dtp_md_t *md, void *handle) {
    DTP_TRY(stream->v->wait(stream, -1));
    dtp_zero_pad(md, handle);
    return dnnl_tp_success;
}
static dnnl_tp_status_t cpu_copy(dnnl_tp_stream_t stream, dtp_copy_t how, void *to, const void *from,
                                 size_t bytes) {
    (void)how;
    DTP_TRY(stream->v->wait(stream, -1));
    memcpy(to, from, bytes);
    return dnnl_tp_success;
}

const dtp_engine_vtbl_t dtp_cpu_engine_vtbl = {
    .kind = dnnl_tp_cpu,
    .name = "cpu",
    .can = DTP_ENGINE_HOST_READABLE | DTP_ENGINE_ROWS | DTP_ENGINE_CACHES,
    .count = cpu_count,
    .create = cpu_engine_create,
    .impl_list = cpu_impl_list,
    .num_threads = cpu_num_threads,
    .stream_create = dtp_cpu_stream_create,
    .sync = dtp_sync_note_queues,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .map = cpu_map,
    .unmap = cpu_unmap,
    .zero_pad = cpu_zero_pad,
    .copy = cpu_copy,
};
