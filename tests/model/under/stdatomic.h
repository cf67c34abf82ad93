/* C11 atomics for source that runs under the model checker: the type is plain, each operation is a step. */
#ifndef DTP_MODEL_STDATOMIC_H
#define DTP_MODEL_STDATOMIC_H

#include "model/mc.h"

#define _Atomic
#define memory_order_relaxed 0
#define memory_order_acquire 2
#define memory_order_release 3
#define memory_order_acq_rel 4
#define memory_order_seq_cst 5

#define MC_TYPE(p) __typeof__((void)0, *(p))
#define atomic_init(p, v) ((void)(*(p) = (v)))
#define atomic_load_explicit(p, order)                               \
    __extension__({                                                  \
        MC_TYPE(p) mc_value_;                                        \
        mc_load((p), &mc_value_, sizeof(mc_value_), (order), "" #p); \
        mc_value_;                                                   \
    })
#define atomic_store_explicit(p, v, order)                            \
    __extension__({                                                   \
        MC_TYPE(p) mc_value_ = (v);                                   \
        mc_store((p), &mc_value_, sizeof(mc_value_), (order), "" #p); \
    })
#define MC_RMW(p, v, what, order)                                                   \
    __extension__({                                                                 \
        MC_TYPE(p) mc_value_ = (MC_TYPE(p))(v);                                     \
        mc_rmw((void *)(p), &mc_value_, sizeof(mc_value_), (what), (order), "" #p); \
        mc_value_;                                                                  \
    })
#define atomic_exchange_explicit(p, v, order) MC_RMW(p, v, MC_SWAP, order)
#define atomic_fetch_add_explicit(p, v, order) MC_RMW(p, v, MC_ADD, order)
#define atomic_fetch_sub_explicit(p, v, order) MC_RMW(p, v, MC_SUB, order)
#define atomic_fetch_or_explicit(p, v, order) MC_RMW(p, v, MC_OR, order)
#define atomic_fetch_and_explicit(p, v, order) MC_RMW(p, v, MC_AND, order)
#define MC_CAS(p, e, v, order, miss)                                         \
    __extension__({                                                          \
        MC_TYPE(p) mc_new_ = (v);                                            \
        mc_cas((p), (e), &mc_new_, sizeof(mc_new_), (order), (miss), "" #p); \
    })
#define atomic_compare_exchange_strong_explicit(p, e, v, order, miss) MC_CAS(p, e, v, order, miss)
#define atomic_compare_exchange_weak_explicit(p, e, v, order, miss) MC_CAS(p, e, v, order, miss)
#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_exchange(p, v) atomic_exchange_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_sub(p, v) atomic_fetch_sub_explicit(p, v, memory_order_seq_cst)
#define atomic_compare_exchange_weak(p, e, v) MC_CAS(p, e, v, memory_order_seq_cst, memory_order_seq_cst)
#define atomic_compare_exchange_strong(p, e, v) MC_CAS(p, e, v, memory_order_seq_cst, memory_order_seq_cst)
#define atomic_thread_fence(order) mc_fence(order)
#define atomic_signal_fence(order) ((void)(order))

#endif
