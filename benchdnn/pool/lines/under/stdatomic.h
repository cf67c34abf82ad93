/* C11 atomics that count which cache lines change hands: for sources that are compiled into `lines`. */
#ifndef LINES_STDATOMIC_H
#define LINES_STDATOMIC_H

#include_next <stdatomic.h>

void lines_look(const volatile void *p, const char *what);
void lines_write(const volatile void *p, const char *what);

#undef atomic_load_explicit
#undef atomic_load
#undef atomic_store_explicit
#undef atomic_store
#undef atomic_exchange_explicit
#undef atomic_exchange
#undef atomic_compare_exchange_strong_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_weak
#undef atomic_fetch_add_explicit
#undef atomic_fetch_add
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_or_explicit
#undef atomic_fetch_or
#undef atomic_fetch_and_explicit
#undef atomic_fetch_and

#define LINES_TYPE(p) __typeof__((void)0, *(p))
#define atomic_load_explicit(p, order)               \
    __extension__({                                  \
        __auto_type lines_p_ = (p);                  \
        LINES_TYPE(lines_p_) lines_v_;               \
        lines_look(lines_p_, #p);                    \
        __atomic_load(lines_p_, &lines_v_, (order)); \
        lines_v_;                                    \
    })
#define LINES_SET(name, p, v, order)         \
    __extension__({                          \
        __auto_type lines_p_ = (p);          \
        LINES_TYPE(lines_p_) lines_v_ = (v); \
        lines_write(lines_p_, #p);           \
        name(lines_p_, &lines_v_, (order));  \
    })
#define atomic_store_explicit(p, v, order) LINES_SET(__atomic_store, p, v, order)
#define atomic_exchange_explicit(p, v, order)                         \
    __extension__({                                                   \
        __auto_type lines_p_ = (p);                                   \
        LINES_TYPE(lines_p_) lines_v_ = (v), lines_old_;              \
        lines_write(lines_p_, #p);                                    \
        __atomic_exchange(lines_p_, &lines_v_, &lines_old_, (order)); \
        lines_old_;                                                   \
    })
#define LINES_CAS(p, e, v, weak, order, miss)                                       \
    __extension__({                                                                 \
        __auto_type lines_p_ = (p);                                                 \
        LINES_TYPE(lines_p_) lines_v_ = (v);                                        \
        lines_write(lines_p_, #p);                                                  \
        __atomic_compare_exchange(lines_p_, (e), &lines_v_, weak, (order), (miss)); \
    })
#define atomic_compare_exchange_strong_explicit(p, e, v, order, miss) LINES_CAS(p, e, v, 0, order, miss)
#define atomic_compare_exchange_weak_explicit(p, e, v, order, miss) LINES_CAS(p, e, v, 1, order, miss)
#define LINES_RMW(name, p, v, order)  \
    __extension__({                   \
        __auto_type lines_p_ = (p);   \
        lines_write(lines_p_, #p);    \
        name(lines_p_, (v), (order)); \
    })
#define atomic_fetch_add_explicit(p, v, order) LINES_RMW(__atomic_fetch_add, p, v, order)
#define atomic_fetch_sub_explicit(p, v, order) LINES_RMW(__atomic_fetch_sub, p, v, order)
#define atomic_fetch_or_explicit(p, v, order) LINES_RMW(__atomic_fetch_or, p, v, order)
#define atomic_fetch_and_explicit(p, v, order) LINES_RMW(__atomic_fetch_and, p, v, order)
#define atomic_load(p) atomic_load_explicit(p, memory_order_seq_cst)
#define atomic_store(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
#define atomic_exchange(p, v) atomic_exchange_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_add(p, v) atomic_fetch_add_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_sub(p, v) atomic_fetch_sub_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_or(p, v) atomic_fetch_or_explicit(p, v, memory_order_seq_cst)
#define atomic_fetch_and(p, v) atomic_fetch_and_explicit(p, v, memory_order_seq_cst)
#define atomic_compare_exchange_weak(p, e, v) \
    LINES_CAS(p, e, v, 1, memory_order_seq_cst, memory_order_seq_cst)
#define atomic_compare_exchange_strong(p, e, v) \
    LINES_CAS(p, e, v, 0, memory_order_seq_cst, memory_order_seq_cst)

#endif
