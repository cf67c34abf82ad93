/* The store: constants, data made from them, and run memory, shared by the graphs of one model.
 *
 * A *source* is a constant as a program gave it. It has an identity: the address of a borrowed
 * constant, the bytes of a copied one, so that graphs which copy the same bytes hold them once. A
 * *derived* constant is made from others by an operator, a packing or an upload; its key describes
 * how, with the identities of the constants that it is made from, and it has an identity itself. A
 * *block* is the memory of the derived constants that one compilation made together. Identities are
 * never reused, so a key with the identity of a deleted constant finds nothing.
 *
 * Large results of folded operators are often only needed to make the next constant, such as f32
 * weights that are packed after that. The data of their entries are separate allocations, which are
 * freed when no compilation uses them any more, unless an executable reads them. Keys and
 * identities stay, so that constants made from them are still found; a compilation that does need
 * such data makes them again, in the same entry.
 *
 * Lifetimes. A source lives while a graph has it. A block lives while a graph uses one of its
 * entries: the use begins when a compilation of the graph finds or makes an entry, and ends with
 * the graph, after its executables. So data for all shapes of a session live as long as the
 * session, and data for one shape go with the graph of that shape.
 *
 * Threads. `lock` protects the lists, for a small number of instructions; nothing is allocated or
 * made under it, because a program's allocator may call the library or wait for a thread that does.
 * So two threads that miss the same entry may both make it: the second one in dtp_store_add finds
 * that the store has it, drops its own block, and looks for the other one. No thread sees an
 * incomplete entry: blocks come into the lists when they are complete, and after all their parts. A
 * fork may happen at any store instruction of another thread. The child regards the lock as free
 * and finds consistent lists (at worst some memory that is never freed); constants that the parent
 * was making are in none of them, so the child makes them itself. */
#ifndef DTP_EXEC_GRAPH_STORE_H
#define DTP_EXEC_GRAPH_STORE_H

#include "common/base/object.h"
#include "exec/graph/run_memory.h"
#include "threading/base/futex.h"

typedef struct dtp_source {
    struct dtp_source *next;
    int64_t id;
    uint64_t hash; /* of the bytes of a copy, otherwise of the address */
    const void *data;
    size_t bytes;
    int users; /* number of constants of graphs */
    bool is_copy;
} dtp_source_t;

typedef struct dtp_derived {
    struct dtp_derived *next, *next_of_block;
    struct dtp_block *block;
    int64_t id;
    uint64_t hash; /* of the key */
    const void *_Atomic data;
    /* The data is a separate allocation and may be freed, unless one of the next two members, which
     * are under the lock, keeps it. */
    bool is_apart;
    bool is_read; /* executables read it */
    int pins;     /* number of compilations that use it */
    size_t key_size;
    uint8_t key[];
} dtp_derived_t;

/* A graph that uses a block. */
typedef struct dtp_block_use {
    struct dtp_block_use *next;
    const void *user;
} dtp_block_use_t;

typedef struct dtp_block {
    struct dtp_block *next;
    dtp_block_use_t *uses;
    dtp_derived_t *entries;
    /* Frees memory of a device; NULL: the data follow the block in memory. */
    void (*drop)(struct dtp_block *block);
    void *arg;
} dtp_block_t;

enum { DTP_STORE_BUCKETS = 256 };

typedef struct dtp_store {
    dtp_object_t obj;
    dtp_lock_t lock;
    _Atomic int64_t next_id;
    dtp_source_t *sources[DTP_STORE_BUCKETS];
    dtp_derived_t *derived[DTP_STORE_BUCKETS];
    dtp_block_t *blocks;
    dtp_run_memory_t run_memory;
} dtp_store_t;

/* Makes an empty store; NULL: no memory. Graphs retain it. */
dtp_store_t *dtp_store_create(const dnnl_tp_allocator_t *allocator);

/* Gives the constant with these bytes, until dtp_store_let_go; NULL: no memory. copy: the store
 * copies the bytes; otherwise data must stay valid and unchanged until then. */
dtp_source_t *dtp_store_hold(dtp_store_t *store, const void *data, size_t bytes, bool copy);
void dtp_store_let_go(dtp_store_t *store, dtp_source_t *source);

/* Finds the entry with this key, which the graph `user` uses from now on; NULL: it must be made. If
 * its data are a separate allocation, the caller gets a pin, and the data may be NULL. */
dnnl_tp_status_t dtp_store_find(dtp_store_t *store, const void *user, const void *key, size_t size,
                                dtp_derived_t **found);
/* Makes a block that is not in the store yet, with room for so many bytes, 64-byte aligned and not
 * initialised; NULL: no memory. The caller passes it to dtp_store_add or dtp_block_free. */
dtp_block_t *dtp_block_create(dtp_store_t *store, size_t bytes);
static inline char *dtp_block_data(dtp_block_t *block) { return (char *)block + DTP_CACHE_LINE; }
void dtp_block_free(dtp_store_t *store, dtp_block_t *block);
/* Makes an entry of a block that is not in the store yet; NULL: no memory. is_apart: data is from
 * dtp_store_alloc, the entry owns it from now on, and the caller gets a pin. */
dtp_derived_t *dtp_block_put(dtp_store_t *store, dtp_block_t *block, const void *key, size_t size,
                             const void *data, bool is_apart);
void *dtp_store_alloc(const dtp_store_t *store, size_t bytes);
/* Gives data from dtp_store_alloc to an entry that has lost its data; frees it if the entry has
 * data. The caller has a pin. */
void dtp_store_refill(dtp_store_t *store, dtp_derived_t *entry, void *data);
/* Returns a pin. is_read: an executable reads the data. */
void dtp_store_unpin(dtp_store_t *store, dtp_derived_t *entry, bool is_read);
/* The entry with this key, or NULL. */
dtp_derived_t *dtp_block_find(const dtp_block_t *block, const void *key, size_t size);
/* Passes a complete block to the store; the graph `user` uses it. *added false: another thread has
 * made all its entries meanwhile (find them again), or there is no memory; then the block is freed.
 */
dnnl_tp_status_t dtp_store_add(dtp_store_t *store, const void *user, dtp_block_t *block, bool *added);
/* Called when the graph `user` ends: frees the blocks that only this graph used. */
void dtp_store_leave(dtp_store_t *store, const void *user);

#endif
