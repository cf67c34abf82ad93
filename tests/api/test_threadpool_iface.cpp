/* The C++ pool class and its adapter: what the library sees of a subclass, exceptions, allocations. */
#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <vector>

extern "C" {
#include <cmocka.h>
}

#include "dnnl_tp/dnnl_tp_threadpool_iface.hpp"

using dnnl_tp::threadpool_interop::make_iface;
using dnnl_tp::threadpool_interop::threadpool_iface;

static int n_news;

void *operator new(std::size_t size) {
    ++n_news;
    void *p = std::malloc(size);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, std::size_t) noexcept { std::free(p); }

namespace {

/* Runs loops on its caller; throws where told to. */
struct serial_pool : threadpool_iface {
    bool throws = false;
    int n_loops = 0, n_waits = 0;
    void maybe_throw() const {
        if (throws) throw std::runtime_error("told to");
    }
    int get_num_threads() const override { return maybe_throw(), 3; }
    bool get_in_parallel() const override { return maybe_throw(), true; }
    void parallel_for(int n, const std::function<void(int, int)> &fn) override {
        maybe_throw();
        ++n_loops;
        for (int i = 0; i < n; ++i) fn(i, n);
    }
    std::uint64_t get_flags() const override { return maybe_throw(), NESTABLE | CALLER_WORKS; }
    void wait() override {
        maybe_throw();
        ++n_waits;
    }
};

/* Keeps a copy of the loop and runs it when waited for: an asynchronous pool. */
struct deferring_pool : threadpool_iface {
    std::function<void(int, int)> kept;
    int kept_n = 0;
    int get_num_threads() const override { return 2; }
    bool get_in_parallel() const override { return false; }
    void parallel_for(int n, const std::function<void(int, int)> &fn) override { kept = fn, kept_n = n; }
    std::uint64_t get_flags() const override { return ASYNCHRONOUS | IN_ORDER; }
    void wait() override {
        for (int i = 0; i < kept_n; ++i) kept(i, kept_n);
        kept_n = 0;
    }
};

/* The least a subclass must have. */
struct minimal_pool : threadpool_iface {
    int get_num_threads() const override { return 1; }
    bool get_in_parallel() const override { return false; }
    void parallel_for(int n, const std::function<void(int, int)> &fn) override {
        for (int i = 0; i < n; ++i) fn(i, n);
    }
    std::uint64_t get_flags() const override { return 0; }
};

struct seen {
    int n_calls = 0, sum = 0, n = 0;
};
void see(void *arg, int i, int n) {
    seen *s = static_cast<seen *>(arg);
    ++s->n_calls, s->sum += i, s->n = n;
}

void test_members(void **) {
    serial_pool pool;
    const dnnl_tp_threadpool_iface_t iface = make_iface(&pool);
    assert_int_equal(iface.struct_size, sizeof iface);
    assert_ptr_equal(iface.ctx, &pool);
    assert_int_equal(iface.get_num_threads(iface.ctx), 3);
    assert_int_equal(iface.get_in_parallel(iface.ctx), 1);
    assert_int_equal(iface.get_flags(iface.ctx), 16 | 8);
    assert_null(iface.schedule);
    assert_null(iface.run_begin);
    assert_null(iface.run_end);
    assert_null(iface.current_slot);
    assert_null(iface.release);
    seen s;
    assert_int_equal(iface.parallel_for(iface.ctx, 5, see, &s), 0);
    assert_int_equal(s.n_calls, 5);
    assert_int_equal(s.sum, 0 + 1 + 2 + 3 + 4);
    assert_int_equal(s.n, 5);
    assert_int_equal(iface.wait(iface.ctx, -1), 0);
    assert_int_equal(pool.n_waits, 1);
    /* The class has no timed wait: the adapter says "timed out" instead of waiting without end. */
    assert_int_equal(iface.wait(iface.ctx, 0), 1);
    assert_int_equal(iface.wait(iface.ctx, 1000), 1);
    assert_int_equal(pool.n_waits, 1);
}

void test_flag_values(void **) {
    assert_int_equal(threadpool_iface::ASYNCHRONOUS, 1);
    assert_int_equal(threadpool_iface::AUTO_BALANCING, 2);
    assert_int_equal(threadpool_iface::IN_ORDER, 4);
    assert_int_equal(threadpool_iface::CALLER_WORKS, 8);
    assert_int_equal(threadpool_iface::NESTABLE, 16);
    assert_int_equal(threadpool_iface::SINGLE_CALLER, 32);
}

void test_null_pool(void **) {
    const dnnl_tp_threadpool_iface_t iface = make_iface(nullptr);
    assert_int_equal(iface.struct_size, 0);
    assert_null(iface.ctx);
    assert_null(iface.parallel_for);
}

void test_same_pool_same_identity(void **) {
    serial_pool pool;
    const dnnl_tp_threadpool_iface_t a = make_iface(&pool), b = make_iface(&pool);
    assert_ptr_equal(a.ctx, b.ctx);
    assert_true(a.parallel_for == b.parallel_for && a.get_num_threads == b.get_num_threads);
    assert_true(a.get_flags == b.get_flags && a.wait == b.wait && a.get_in_parallel == b.get_in_parallel);
}

void test_exceptions_become_failures(void **) {
    serial_pool pool;
    pool.throws = true;
    const dnnl_tp_threadpool_iface_t iface = make_iface(&pool);
    seen s;
    assert_int_equal(iface.get_num_threads(iface.ctx), 0);
    assert_int_equal(iface.get_in_parallel(iface.ctx), 0);
    assert_int_equal(iface.get_flags(iface.ctx), 0);
    assert_true(iface.parallel_for(iface.ctx, 4, see, &s) != 0);
    assert_int_equal(s.n_calls, 0);
    assert_true(iface.wait(iface.ctx, -1) < 0);
}

void test_no_allocation_per_loop(void **) {
    serial_pool serial;
    deferring_pool deferring;
    const dnnl_tp_threadpool_iface_t a = make_iface(&serial), b = make_iface(&deferring);
    seen s;
    const int before = n_news;
    for (int k = 0; k < 100; ++k) {
        if (a.parallel_for(a.ctx, 3, see, &s) != 0 || b.parallel_for(b.ctx, 3, see, &s) != 0) fail();
        if (b.wait(b.ctx, -1) != 0) fail();
    }
    assert_int_equal(n_news, before);
    assert_int_equal(s.n_calls, 600);
}

void test_asynchronous_copy_outlives_the_call(void **) {
    deferring_pool pool;
    const dnnl_tp_threadpool_iface_t iface = make_iface(&pool);
    seen s;
    assert_int_equal(iface.parallel_for(iface.ctx, 7, see, &s), 0);
    assert_int_equal(s.n_calls, 0);
    assert_int_equal(iface.wait(iface.ctx, -1), 0);
    assert_int_equal(s.n_calls, 7);
}

void test_wait_has_a_default(void **) {
    minimal_pool pool;
    const dnnl_tp_threadpool_iface_t iface = make_iface(&pool);
    assert_int_equal(iface.wait(iface.ctx, -1), 0);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_flag_values),
        cmocka_unit_test(test_null_pool),
        cmocka_unit_test(test_same_pool_same_identity),
        cmocka_unit_test(test_exceptions_become_failures),
        cmocka_unit_test(test_no_allocation_per_loop),
        cmocka_unit_test(test_asynchronous_copy_outlives_the_call),
        cmocka_unit_test(test_wait_has_a_default),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
