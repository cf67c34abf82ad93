/* See store.h. */
#include "exec/graph/store.h"

#include <string.h>

_Static_assert(sizeof(dtp_block_t) <= DTP_CACHE_LINE && sizeof(dtp_source_t) <= DTP_CACHE_LINE,
               "data lies behind");

/* Before a pointer that makes what was written visible: a child that was forked here sees the
 * one with the other. */
static void publish(void) { atomic_signal_fence(memory_order_release); }

static unsigned bucket_of(uint64_t hash) { return (unsigned)(hash >> 32) % DTP_STORE_BUCKETS; }

dtp_store_t *dtp_store_create(const dnnl_tp_allocator_t *allocator) {
    dtp_store_t *s = dtp_object_create(allocator, sizeof *s, DTP_OBJ_OWN, NULL);
    if (!s) (void)dtp_no_memory(sizeof *s);
    return s;
}

void *dtp_store_alloc(const dtp_store_t *s, size_t size) {
    void *p = dtp_alloc(s->obj.allocator, size, size < DTP_LARGE_PAGE ? DTP_CACHE_LINE : DTP_LARGE_PAGE);
    if (!p) (void)dtp_no_memory(size);
    return p;
}

/* ---- Sources ----------------------------------------------------------------------------------------- */

/* Under the lock: the source like this one, which has one user more then. */
static dtp_source_t *hold_locked(dtp_store_t *s, const dtp_source_t *like) {
    dtp_source_t *c = s->sources[bucket_of(like->hash)];
    for (; c; c = c->next)
        if (c->hash == like->hash && c->bytes == like->bytes && c->is_copy == like->is_copy &&
            (c->is_copy ? !c->bytes || !memcmp(c->data, like->data, c->bytes) : c->data == like->data))
            break;
    if (c) ++c->users;
    return c;
}

dtp_source_t *dtp_store_hold(dtp_store_t *s, const void *data, size_t bytes, bool copy) {
    const uint64_t hash = copy ? dtp_hash_bytes(data, bytes) : dtp_hash_bytes(&data, sizeof data);
    const dtp_source_t like = {.hash = hash, .data = data, .bytes = bytes, .users = 1, .is_copy = copy};
    dtp_lock(&s->lock);
    dtp_source_t *c = hold_locked(s, &like);
    dtp_unlock(&s->lock);
    if (c) return c;
    dtp_source_t *made = dtp_store_alloc(s, DTP_CACHE_LINE + (copy ? bytes : 0));
    if (!made) return NULL;
    *made = like;
    if (copy) {
        made->data = (char *)made + DTP_CACHE_LINE;
        if (bytes) memcpy((char *)made + DTP_CACHE_LINE, data, bytes);
    }
    made->id = atomic_fetch_add_explicit(&s->next_id, 1, memory_order_relaxed);
    dtp_lock(&s->lock);
    c = hold_locked(s, &like); /* another thread was faster */
    if (!c) {
        dtp_source_t **bucket = &s->sources[bucket_of(hash)];
        made->next = *bucket;
        publish();
        *bucket = made;
    }
    dtp_unlock(&s->lock);
    if (c) dtp_free(s->obj.allocator, made);
    return c ? c : made;
}

void dtp_store_let_go(dtp_store_t *s, dtp_source_t *source) {
    dtp_lock(&s->lock);
    const bool ends = --source->users == 0;
    dtp_source_t **at = &s->sources[bucket_of(source->hash)];
    while (ends && *at != source) at = &(*at)->next;
    if (ends) *at = source->next;
    dtp_unlock(&s->lock);
    if (ends) dtp_free(s->obj.allocator, source);
}

/* ---- Derived constants
 * ------------------------------------------------------------------------------- */

/* Under the lock. */
static dtp_derived_t *find_locked(const dtp_store_t *s, uint64_t hash, const void *key, size_t size) {
    dtp_derived_t *d = s->derived[bucket_of(hash)];
    while (d && (d->hash != hash || d->key_size != size || memcmp(d->key, key, size))) d = d->next;
    return d;
}

dnnl_tp_status_t dtp_store_find(dtp_store_t *s, const void *user, const void *key, size_t size,
                                dtp_derived_t **found) {
    const uint64_t hash = dtp_hash_bytes(key, size);
    dtp_block_use_t *use = NULL;
    for (bool again = true; again;) {
        dtp_lock(&s->lock);
        dtp_derived_t *d = find_locked(s, hash, key, size);
        const dtp_block_use_t *u = d ? d->block->uses : NULL;
        while (u && u->user != user) u = u->next;
        again = d && !u && !use;
        if (d && !u && use) {
            *use = (dtp_block_use_t){d->block->uses, user};
            publish();
            d->block->uses = use;
            use = NULL;
        }
        if (d && !again) d->pins += d->is_apart;
        dtp_unlock(&s->lock);
        *found = again ? NULL : d;
        if (again && !(use = dtp_store_alloc(s, sizeof *use))) return dnnl_tp_out_of_memory;
    }
    dtp_free(s->obj.allocator, use);
    return dnnl_tp_success;
}

dtp_block_t *dtp_block_create(dtp_store_t *s, size_t bytes) {
    dtp_block_t *b = dtp_store_alloc(s, DTP_CACHE_LINE + bytes);
    if (b) *b = (dtp_block_t){.next = NULL};
    return b;
}

void dtp_block_free(dtp_store_t *s, dtp_block_t *b) {
    if (b->drop) b->drop(b);
    for (dtp_derived_t *d = b->entries, *next; d; d = next) {
        next = d->next_of_block;
        if (d->is_apart) dtp_free(s->obj.allocator, (void *)(uintptr_t)atomic_load(&d->data));
        dtp_free(s->obj.allocator, d);
    }
    dtp_free(s->obj.allocator, b->uses);
    dtp_free(s->obj.allocator, b);
}

dtp_derived_t *dtp_block_put(dtp_store_t *s, dtp_block_t *b, const void *key, size_t size, const void *data,
                             bool is_apart) {
    dtp_derived_t *d = dtp_store_alloc(s, sizeof *d + size);
    if (!d) return NULL;
    *d = (dtp_derived_t){.next_of_block = b->entries,
                         .block = b,
                         .id = atomic_fetch_add_explicit(&s->next_id, 1, memory_order_relaxed),
                         .hash = dtp_hash_bytes(key, size),
                         .data = data,
                         .is_apart = is_apart,
                         .pins = is_apart,
                         .key_size = size};
    memcpy(d->key, key, size);
    b->entries = d;
    return d;
}

dtp_derived_t *dtp_block_find(const dtp_block_t *b, const void *key, size_t size) {
    dtp_derived_t *d = b->entries;
    while (d && (d->key_size != size || memcmp(d->key, key, size))) d = d->next_of_block;
    return d;
}

dnnl_tp_status_t dtp_store_add(dtp_store_t *s, const void *user, dtp_block_t *b, bool *added) {
    *added = false;
    b->uses = dtp_store_alloc(s, sizeof *b->uses);
    if (!b->uses) {
        dtp_block_free(s, b);
        return dnnl_tp_out_of_memory;
    }
    *b->uses = (dtp_block_use_t){NULL, user};
    dtp_lock(&s->lock);
    for (const dtp_derived_t *d = b->entries; d && !*added; d = d->next_of_block)
        *added = !find_locked(s, d->hash, d->key, d->key_size);
    if (*added) {
        b->next = s->blocks;
        publish();
        s->blocks = b;
    }
    for (dtp_derived_t *d = b->entries; d && *added; d = d->next_of_block) {
        dtp_derived_t **bucket = &s->derived[bucket_of(d->hash)];
        d->next = *bucket;
        publish();
        *bucket = d;
    }
    dtp_unlock(&s->lock);
    if (!*added) dtp_block_free(s, b);
    return dnnl_tp_success;
}

void dtp_store_refill(dtp_store_t *s, dtp_derived_t *d, void *data) {
    dtp_lock(&s->lock);
    const bool wants = d->is_apart && !atomic_load_explicit(&d->data, memory_order_relaxed);
    if (wants) atomic_store_explicit(&d->data, data, memory_order_release);
    dtp_unlock(&s->lock);
    if (!wants) dtp_free(s->obj.allocator, data);
}

void dtp_store_unpin(dtp_store_t *s, dtp_derived_t *d, bool is_read) {
    const void *gone = NULL;
    dtp_lock(&s->lock);
    d->is_read |= is_read;
    if (--d->pins == 0 && !d->is_read) gone = atomic_exchange_explicit(&d->data, NULL, memory_order_relaxed);
    dtp_unlock(&s->lock);
    dtp_free(s->obj.allocator, (void *)(uintptr_t)gone);
}

static void unlist_entries(dtp_store_t *s, const dtp_block_t *b) {
    for (const dtp_derived_t *d = b->entries; d; d = d->next_of_block) {
        dtp_derived_t **at = &s->derived[bucket_of(d->hash)];
        while (*at && *at != d) at = &(*at)->next;
        if (*at) *at = d->next; /* it is there, but in a child that was forked while the block was added */
    }
}

void dtp_store_leave(dtp_store_t *s, const void *user) {
    dtp_block_t *gone = NULL;
    dtp_block_use_t *uses = NULL;
    dtp_lock(&s->lock);
    for (dtp_block_t **at = &s->blocks, *b; (b = *at) != NULL;) {
        dtp_block_use_t **use = &b->uses, *u;
        while (*use && (*use)->user != user) use = &(*use)->next;
        u = *use;
        if (u && b->uses == u && !u->next) { /* the last: it goes with the block */
            unlist_entries(s, b);
            *at = b->next;
            publish();
            b->next = gone;
            gone = b;
            continue;
        }
        if (u) {
            *use = u->next;
            publish();
            u->next = uses;
            uses = u;
        }
        at = &b->next;
    }
    dtp_unlock(&s->lock);
    for (dtp_block_use_t *next; uses; uses = next) {
        next = uses->next;
        dtp_free(s->obj.allocator, uses);
    }
    for (dtp_block_t *next; gone; gone = next) {
        next = gone->next;
        dtp_block_free(s, gone);
    }
}
