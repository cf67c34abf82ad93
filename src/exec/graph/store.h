/* The store: constants, what is made from them, and run memory, which the graphs of one model
 * share.
 *
 * A *source* is a constant as a program gave it. It has an identity: of a borrowed one its address,
 * of a copied one its bytes, so that graphs which copy the same bytes hold them once. A *derived*
 * constant is made from others by an operator, a packing or an upload; its key says how, with the
 * identities of what it is made from, and it has an identity itself. A *block* is the memory of the
 * derived constants that one compilation made together. Identities are never given twice, so a key
 * that names something which is gone finds nothing.
 *
 * Large results of folded operators are often only what the next constant is made from: f32 weights
 * that are packed after that. Their entries have data of their own, which is freed when no
 * compilation has it any more, unless an executable reads it. Keys and identities stay, so that
 * what was made from it is still found; a compilation that does need such data makes it again, in
 * the same entry.
 *
 * Lifetimes. A source lives while a graph has it. A block lives while a graph uses one of its
 * entries: a graph begins when one of its compilations finds or makes an entry, and ends with
 * itself, after its executables. So what serves all shapes of a session lives as long as the
 * session, and what one shape needs goes with the graph of that shape.
 *
 * Threads. `lock` guards the lists, for a few instructions; nothing is allocated and nothing made
 * under it, since a program's allocator may call the library or wait for a thread that does. So
 * two threads that miss the same may both make it: whoever comes second to dtp_store_add finds
 * that the store has it, drops its own block, and looks for the other's. Nobody sees an
 * entry that is half made: blocks come into the lists when they are full, and after all their
 * parts. A fork may happen at any store of another thread. The child regards the lock as free
 * and finds lists that make sense (at worst memory that nobody frees); what the parent was
 * making is in none of them, so the child makes it itself. */
#ifndef DTP_EXEC_GRAPH_STORE_H
#define DTP_EXEC_GRAPH_STORE_H

#include "common/base/object.h"
#include "exec/graph/run_memory.h"
#include "threading/base/futex.h"

typedef struct dtp_source {
    struct dtp_source *next;
    int64_t id;
    uint64_t hash; /* of the bytes of a copy, else of the address */
    const void *data;
    size_t bytes;
    int users; /* constants of graphs */
    bool is_copy;
} dtp_source_t;

typedef struct dtp_derived {
    struct dtp_derived *next, *next_of_block;
    struct dtp_block *block;
    int64_t id;
    uint64_t hash; /* of the key */
    const void *_Atomic data;
    bool is_apart; /* the data is an allocation of its own and may go; then, under the lock: */
    bool is_read;  /* by executables: it stays */
    int pins;      /* by compilations: while there are any it stays, too */
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
    /* Memory of a device, which this frees; NULL: the data lies behind the block. */
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

/* Empty; NULL: no memory. Graphs retain it. */
dtp_store_t *dtp_store_create(const dnnl_tp_allocator_t *allocator);

/* The constant with these bytes, until dtp_store_let_go; NULL: no memory. copy: in the store's
 * own memory; otherwise data stays where it is and as it is until then. */
dtp_source_t *dtp_store_hold(dtp_store_t *store, const void *data, size_t bytes, bool copy);
void dtp_store_let_go(dtp_store_t *store, dtp_source_t *source);

/* What has this key, which the graph `user` uses from now on; NULL: it is to be made. Where the
 * data is apart, the caller has one pin more; it may be NULL then. */
dnnl_tp_status_t dtp_store_find(dtp_store_t *store, const void *user, const void *key, size_t size,
                                dtp_derived_t **found);
/* A block that is not in the store yet, with room for so many bytes, 64-byte aligned and not
 * initialised; NULL: no memory. Whoever makes one gives it to add or free. */
dtp_block_t *dtp_block_create(dtp_store_t *store, size_t bytes);
static inline char *dtp_block_data(dtp_block_t *block) { return (char *)block + DTP_CACHE_LINE; }
void dtp_block_free(dtp_store_t *store, dtp_block_t *block);
/* A new entry of a block that is not in the store yet; NULL: no memory. is_apart: data is of
 * dtp_store_alloc, the entry owns it from now on, and the caller has a pin. */
dtp_derived_t *dtp_block_put(dtp_store_t *store, dtp_block_t *block, const void *key, size_t size,
                             const void *data, bool is_apart);
void *dtp_store_alloc(const dtp_store_t *store, size_t bytes);
/* An entry that has lost its data, or another one, gets this; it was alloc'ed, and is freed
 * where it is not needed. With a pin. */
void dtp_store_refill(dtp_store_t *store, dtp_derived_t *entry, void *data);
/* Gives a pin back. is_read: an executable reads the data. */
void dtp_store_unpin(dtp_store_t *store, dtp_derived_t *entry, bool is_read);
/* The entry with this key, NULL. */
dtp_derived_t *dtp_block_find(const dtp_block_t *block, const void *key, size_t size);
/* The block is full: the store owns it, and the graph `user` uses it. *added false: another
 * thread has made all its entries meanwhile (look for them again), or there is no memory; then
 * the block is freed. */
dnnl_tp_status_t dtp_store_add(dtp_store_t *store, const void *user, dtp_block_t *block, bool *added);
/* The graph `user` ends: what it alone used is freed. */
void dtp_store_leave(dtp_store_t *store, const void *user);

#endif
