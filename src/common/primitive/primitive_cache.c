/* Process-wide cache of primitives; see primitive_cache.h.
 *
 * One lock guards the table, for a few instructions. Nothing is allocated, made or freed under it,
 * and no thread waits for another one's primitive, since a program's allocator may wait for a thread
 * that makes primitives. So two threads that miss the same may both make it; the second finds the
 * first one's entry then, and drops its own. Eviction takes the least recently used entry. */
#include "common/primitive/primitive_cache.h"

#include <pthread.h>
#include <limits.h>
#include <stdlib.h>

#include "common/primitive/primitive_desc.h"

typedef struct entry {
    struct entry *chain;         /* bucket */
    struct entry *older, *newer; /* LRU list */
    uint64_t hash;
    uint8_t *key;
    size_t key_size;
    dtp_primitive_t *primitive; /* retained */
    const struct dnnl_tp_engine *engine, *peer;
} entry_t;

enum { BUCKETS = 1024, DEFAULT_CAPACITY = 1024 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static entry_t *bucket[BUCKETS];
static entry_t *newest, *oldest;
static int count, capacity = -1;

/* ---- Forks ------------------------------------------------------------------------------------------- */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void watch_forks(void) { pthread_atfork(before_fork, after_fork, after_fork); }

static int capacity_locked(void) {
    if (capacity < 0) {
        const char *text = dtp_getenv("PRIMITIVE_CACHE_CAPACITY");
        char *end = NULL;
        long value = text && *text ? strtol(text, &end, 10) : DEFAULT_CAPACITY;
        const bool good = (!end || !*end) && value >= 0 && value <= INT_MAX;
        if (!good && dtp_verbose_on(~0u))
            dtp_verbose_line(
                "error,%d,DNNL_TP_PRIMITIVE_CACHE_CAPACITY=%.40s is ignored: it is no number of primitives",
                (int)dnnl_tp_invalid_arguments, text);
        capacity = good ? (int)value : DEFAULT_CAPACITY;
    }
    return capacity;
}

/* What a primitive does: the problem, the implementation and the attributes, the same in every process. */
static void put_work(dtp_bytes_t *b, const dtp_pd_t *pd) {
    const dtp_attr_t *a = pd->attr;
    dtp_op_serialise(b, pd->user);
    int32_t head[] = {pd->impl_index,   a->scratchpad_mode, a->fpmath_mode,      a->fpmath_apply_to_int,
                      a->acc_mode,      a->deterministic,   a->refuse_reference, a->n_scales,
                      a->n_zero_points, a->post_ops->len};
    dtp_bytes_put(b, head, sizeof head);
    for (int i = 0; i < a->n_scales + a->n_zero_points; ++i) {
        const dtp_quant_t *q = i < a->n_scales ? &a->scales[i] : &a->zero_points[i - a->n_scales];
        int64_t fields[] = {q->arg,       q->mask,      q->group_ndims, q->groups[0],
                            q->groups[1], q->data_type, q->on_host};
        dtp_bytes_put(b, fields, sizeof fields);
    }
    for (int i = 0; i < a->post_ops->len; ++i) {
        const dtp_post_op_t *e = &a->post_ops->entry[i];
        int32_t ints[] = {e->kind, e->alg, e->zero_point, e->sum_dt};
        float floats[] = {e->alpha, e->beta, e->scale};
        dtp_bytes_put(b, ints, sizeof ints);
        dtp_bytes_put(b, floats, sizeof floats);
        dtp_md_serialise(b, &e->src1);
        dtp_md_serialise(b, &e->src2);
    }
}

static void make_key(dtp_bytes_t *b, const dtp_pd_t *pd) {
    const int32_t head[] = {pd->num_threads, (int32_t)pd->pool_flags, pd->peer_arg};
    dtp_bytes_init(b);
    dtp_bytes_put(b, head, sizeof head);
    dtp_bytes_put(b, &pd->engine, sizeof pd->engine);
    dtp_bytes_put(b, &pd->peer, sizeof pd->peer);
    put_work(b, pd);
}

dnnl_tp_status_t dtp_cache_blob(dtp_bytes_t *blob, const struct dnnl_tp_primitive_desc *pd) {
    static const char magic[8] = "dtpblob1";
    const int32_t version[] = {DNNL_TP_LIBRARY_VERSION_MAJOR, DNNL_TP_LIBRARY_VERSION_MINOR,
                               DNNL_TP_LIBRARY_VERSION_PATCH, (int32_t)pd->engine->v->kind};
    dtp_bytes_init(blob);
    dtp_bytes_put(blob, magic, sizeof magic);
    dtp_bytes_put(blob, version, sizeof version);
    dtp_bytes_put(blob, pd->impl->name, strlen(pd->impl->name));
    put_work(blob, pd);
    if (!blob->failed) return dnnl_tp_success;
    const size_t size = blob->size;
    dtp_bytes_free(blob);
    return dtp_no_memory(size);
}

static void lru_unlink(entry_t *e) {
    *(e->newer ? &e->newer->older : &newest) = e->older;
    *(e->older ? &e->older->newer : &oldest) = e->newer;
    e->newer = e->older = NULL;
}

static void lru_push(entry_t *e) {
    e->older = newest;
    e->newer = NULL;
    *(newest ? &newest->newer : &oldest) = e;
    newest = e;
}

/* Out of the table; the caller releases the primitive without the lock. */
static void unlink_entry(entry_t *e) {
    entry_t **at = &bucket[e->hash % BUCKETS];
    while (*at != e) at = &(*at)->chain;
    *at = e->chain;
    lru_unlink(e);
    --count;
}

static void free_entry(entry_t *e) {
    dtp_free(NULL, e->key);
    dtp_free(NULL, e);
}

/* Takes entries off the table and returns them chained: the oldest beyond the limit; engine not NULL: only its own. */
static entry_t *take(int limit, const struct dnnl_tp_engine *engine) {
    entry_t *taken = NULL;
    for (entry_t *e = oldest, *next; e && count > limit; e = next) {
        next = e->newer;
        if (engine && e->engine != engine && e->peer != engine) continue;
        unlink_entry(e);
        e->chain = taken;
        taken = e;
    }
    return taken;
}

static void release_taken(entry_t *taken) {
    while (taken) {
        entry_t *next = taken->chain;
        dtp_object_release(taken->primitive);
        free_entry(taken);
        taken = next;
    }
}

/* Under the lock: the primitive with this key, retained, and used last now; or NULL. */
static dtp_primitive_t *find(uint64_t hash, const void *key, size_t size) {
    entry_t *e = bucket[hash % BUCKETS];
    while (e && !(e->hash == hash && e->key_size == size && !memcmp(e->key, key, size))) e = e->chain;
    if (!e) return NULL;
    lru_unlink(e);
    lru_push(e);
    return dtp_object_retain(e->primitive);
}

static entry_t *new_entry(const dtp_bytes_t *key, uint64_t hash, const struct dnnl_tp_primitive_desc *pd) {
    entry_t *e = dtp_zalloc(NULL, sizeof *e, 16);
    if (e && !(e->key = dtp_alloc(NULL, key->size, 16))) {
        dtp_free(NULL, e);
        e = NULL;
    }
    if (!e) {
        (void)dtp_no_memory(key->size);
        return NULL;
    }
    memcpy(e->key, key->data, key->size);
    e->key_size = key->size;
    e->hash = hash;
    e->engine = pd->engine;
    e->peer = pd->peer;
    return e;
}

/* Enters made, or finds another thread's; true: that one. */
static bool add(entry_t *e, dtp_primitive_t *made, dtp_primitive_t **primitive) {
    entry_t *taken = NULL;
    pthread_mutex_lock(&lock);
    *primitive = find(e->hash, e->key, e->key_size);
    const bool found = *primitive != NULL;
    if (!found) {
        *primitive = dtp_object_retain(made);
        e->primitive = made;
        e->chain = bucket[e->hash % BUCKETS];
        bucket[e->hash % BUCKETS] = e;
        lru_push(e);
        ++count;
        taken = take(capacity_locked(), NULL);
    }
    pthread_mutex_unlock(&lock);
    release_taken(taken);
    return found;
}

dnnl_tp_status_t dtp_cache_get(struct dnnl_tp_primitive **primitive, const struct dnnl_tp_primitive_desc *pd,
                               dnnl_tp_status_t (*create)(struct dnnl_tp_primitive **,
                                                          const struct dnnl_tp_primitive_desc *),
                               bool *hit) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    *hit = false;
    *primitive = NULL;
    pthread_mutex_lock(&lock);
    int limit = capacity_locked();
    pthread_mutex_unlock(&lock);
    if (limit == 0) return create(primitive, pd);
    dtp_bytes_t key;
    make_key(&key, pd);
    if (key.failed) {
        dtp_bytes_free(&key);
        return dtp_no_memory(key.size);
    }
    uint64_t hash = dtp_hash_bytes(key.data, key.size);
    pthread_mutex_lock(&lock);
    *primitive = find(hash, key.data, key.size);
    pthread_mutex_unlock(&lock);
    *hit = *primitive != NULL;
    entry_t *e = *hit ? NULL : new_entry(&key, hash, pd);
    dtp_bytes_free(&key);
    if (*hit) return dnnl_tp_success;
    if (!e) return dnnl_tp_out_of_memory;
    dtp_primitive_t *made = NULL;
    const dnnl_tp_status_t status = create(&made, pd);
    if (status == dnnl_tp_success) *hit = add(e, made, primitive);
    if (status == dnnl_tp_success && !*hit) return status;
    dtp_object_release(made);
    free_entry(e);
    return status;
}

void dtp_cache_purge(const struct dnnl_tp_engine *engine) {
    pthread_mutex_lock(&lock);
    entry_t *taken = take(0, engine);
    pthread_mutex_unlock(&lock);
    release_taken(taken);
}

dnnl_tp_status_t dnnl_tp_get_primitive_cache_capacity(int *value) {
    DTP_REQUIRE(value, NULL_ARG, "capacity");
    pthread_mutex_lock(&lock);
    *value = capacity_locked();
    pthread_mutex_unlock(&lock);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_set_primitive_cache_capacity(int value) {
    DTP_REQUIRE(value >= 0, BAD_COUNT, "capacity %d", value);
    pthread_mutex_lock(&lock);
    capacity = value;
    entry_t *taken = take(value, NULL);
    pthread_mutex_unlock(&lock);
    release_taken(taken);
    return dnnl_tp_success;
}
