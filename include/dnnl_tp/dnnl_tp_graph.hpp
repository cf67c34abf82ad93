/** @file
 * C++17 over the C API of dnnl_tp: graphs, executables, runs.
 *
 * Included by dnnl_tp.hpp, which has the rules. Values are numbers, as in C. */
#ifndef DNNL_TP_GRAPH_HPP
#define DNNL_TP_GRAPH_HPP

#include <deque>
#include <memory>
#include <new>
#include <type_traits>

#include "dnnl_tp/dnnl_tp.hpp"
#include "dnnl_tp/dnnl_tp_graph_file.h"

namespace dnnl_tp {

/** A value of a graph; no_value = an absent optional input. */
using value = dnnl_tp_value_t;
/** An absent optional input. */
constexpr value no_value = -1;

/** Tells a closure whether its run is over; a long closure calls it at least once in a millisecond.
 */
class should_stop {
  public:
    /** Takes the argument of dnnl_tp_host_fn_t. */
    explicit should_stop(const volatile int *word) noexcept : word_(word) {}
    /** True if the run is over. */
    bool operator()() const noexcept { return dnnl_tp_should_stop(word_) != 0; }
    /** Makes the operator of the closure (DNNL_TP_HOST_MAY_WAIT) wait for an event without a
     * thread; the closure returns after this call. */
    void wait_event(dnnl_tp_event_t event) const { check(dnnl_tp_host_wait_event(word_, event)); }
    /** Runs a loop of the closure on the threads of its run: calls f(begin, end) for ranges that
     * cover 0..n-1 once; f must not throw. Throws an error with the status cancelled if the run
     * ended meanwhile. */
    template <typename F>
    void parallel_for(std::int64_t n, F &&f, std::int64_t ns_per_iteration = 0) const {
        using body = std::remove_reference_t<F>;
        check(dnnl_tp_host_parallel_for(
            word_, n, ns_per_iteration,
            [](void *arg, std::int64_t begin, std::int64_t end) noexcept {
                (*static_cast<body *>(arg))(begin, end);
            },
            const_cast<void *>(static_cast<const volatile void *>(std::addressof(f)))));
    }

  private:
    const volatile int *word_;
};

/** Attributes of an operator. set() returns the object, so that calls can be chained. */
class op_attrs {
  public:
    /** An integer. */
    op_attrs &set(dnnl_tp_op_attr_key_t key, std::int64_t v) {
        return set(key, std::vector<std::int64_t>{v});
    }
    /** An integer. */
    op_attrs &set(dnnl_tp_op_attr_key_t key, int v) {
        return set(key, static_cast<std::int64_t>(v));
    }
    /** Integers. */
    op_attrs &set(dnnl_tp_op_attr_key_t key, std::vector<std::int64_t> v) {
        ints_.push_back(std::move(v));
        return add(key, dnnl_tp_op_attr_s64, ints_.back().size(), ints_.back().data());
    }
    /** A number. */
    op_attrs &set(dnnl_tp_op_attr_key_t key, float v) {
        floats_.push_back(v);
        return add(key, dnnl_tp_op_attr_f32, 1, &floats_.back());
    }
    /** A switch. */
    op_attrs &set(dnnl_tp_op_attr_key_t key, bool v) {
        bools_.push_back(v ? 1 : 0);
        return add(key, dnnl_tp_op_attr_bool, 1, &bools_.back());
    }
    /** A word. */
    op_attrs &set(dnnl_tp_op_attr_key_t key, const char *v) {
        strings_.emplace_back(v);
        return add(key, dnnl_tp_op_attr_string, strings_.back().size(), strings_.back().data());
    }
    /** How many. */
    int size() const { return static_cast<int>(attrs_.size()); }
    /** The C form, borrowed from this object. */
    const dnnl_tp_op_attr_t *data() const { return attrs_.data(); }

    op_attrs() = default;
    op_attrs(const op_attrs &) = delete;
    op_attrs &operator=(const op_attrs &) = delete;

  private:
    op_attrs &add(int key, int type, std::size_t count, const void *data) {
        attrs_.push_back({key, type, static_cast<int>(count), data});
        return *this;
    }
    std::vector<dnnl_tp_op_attr_t> attrs_;
    std::deque<std::vector<std::int64_t>> ints_;
    std::deque<float> floats_;
    std::deque<std::uint8_t> bools_;
    std::deque<std::string> strings_;
};

/** Shape and type of a value. */
inline dnnl_tp_tensor_info_t tensor_info(detail::either<memory::data_type> type, const dims &d) {
    dnnl_tp_tensor_info_t info = {};
    info.ndims = static_cast<int>(d.size());
    info.data_type = type;
    const detail::c_dims c(d);
    for (std::size_t i = 0; i < d.size() && i < DNNL_TP_MAX_NDIMS; ++i) info.dims[i] = c.v[i];
    return info;
}

/** A graph under construction. */
class graph : public detail::handle<dnnl_tp_graph_t, dnnl_tp_graph_destroy> {
  public:
    using handle::handle;
    /** An empty graph. */
    explicit graph(detail::either<engine::kind> kind = dnnl_tp_cpu) {
        create(dnnl_tp_graph_create, kind);
    }
    /** Sets its name, for error texts and traces, before it is compiled. */
    void set_name(const char *name) { check(dnnl_tp_graph_set_name(get(), name)); }
    /** Shares constants, and data derived from them, with another graph, before this graph has
     * values. */
    void share(const graph &with) { check(dnnl_tp_graph_share(get(), with.get())); }
    /** A graph from a file in text form. */
    static graph read(const char *path, const dnnl_tp_graph_read_opts_t *opts = nullptr) {
        dnnl_tp_graph_t h = nullptr;
        check(dnnl_tp_graph_read_v2(&h, path, opts));
        return graph(h);
    }
    /** A graph from text in memory. */
    static graph read_text(const std::string &text,
                           const dnnl_tp_graph_read_opts_t *opts = nullptr) {
        dnnl_tp_graph_t h = nullptr;
        check(dnnl_tp_graph_read_text(&h, text.data(), text.size(), opts));
        return graph(h);
    }
    /** Writes it to a file. */
    void write(const char *path, int format = DNNL_TP_GRAPH_TEXT) const {
        check(dnnl_tp_graph_write(get(), path, format));
    }
    /** Adds an input. */
    value input(const char *name, detail::either<memory::data_type> type, const dims &d) {
        value v = no_value;
        check(dnnl_tp_graph_input(get(), &v, name, type, static_cast<int>(d.size()),
                                  detail::c_dims(d).v));
        return v;
    }
    /** Adds a constant; the data is copied. */
    value constant(const char *name, detail::either<memory::data_type> type, const dims &d,
                   const void *data) {
        return constant(name, type, d, data, DNNL_TP_CONSTANT_COPY, nullptr, nullptr);
    }
    /** Adds a constant whose data the library borrows until drop(arg). */
    value constant(const char *name, detail::either<memory::data_type> type, const dims &d,
                   const void *data, unsigned mode, void (*drop)(void *), void *arg) {
        value v = no_value;
        check(dnnl_tp_graph_constant(get(), &v, name, type, static_cast<int>(d.size()),
                                     detail::c_dims(d).v, data, mode, drop, arg));
        return v;
    }
    /** Adds an operator with one result. */
    value op(dnnl_tp_op_kind_t kind, const char *name, const std::vector<value> &in,
             const op_attrs &attrs = op_attrs()) {
        return op(kind, name, in, attrs, 1)[0];
    }
    /** Adds an operator with several results. */
    std::vector<value> op(dnnl_tp_op_kind_t kind, const char *name, const std::vector<value> &in,
                          const op_attrs &attrs, int nout) {
        std::vector<value> result(static_cast<std::size_t>(nout), no_value);
        check(dnnl_tp_graph_op(get(), kind, name, static_cast<int>(in.size()), in.data(),
                               attrs.size(), attrs.data(), nout, result.data()));
        return result;
    }
    /** Adds a function of the program, which the library calls as f(inputs, outputs), with arrays
     * of host arguments, or as f(inputs, outputs, should_stop). An exception fails the run: an
     * error with its status, bad_alloc with out_of_memory, any other with runtime_error. flags: 0,
     * DNNL_TP_HOST_MAY_BLOCK or DNNL_TP_HOST_MAY_WAIT. */
    template <typename F>
    std::vector<value> host(const char *name, const std::vector<value> &in,
                            const std::vector<dnnl_tp_tensor_info_t> &results, F f,
                            unsigned flags = 0) {
        std::vector<value> result(results.size(), no_value);
        auto owned = std::make_unique<F>(std::move(f));
        /* The graph takes ownership of the function, also on failure. */
        check(dnnl_tp_graph_host(get(), call_host<F>, owned.release(), drop_host<F>, flags, name,
                                 static_cast<int>(in.size()), in.data(),
                                 static_cast<int>(results.size()), results.data(), result.data()));
        return result;
    }
    /** A region of this graph, region or function; the body of a loop is a region of the loop's
     * condition. */
    graph region() const {
        dnnl_tp_graph_t h = nullptr;
        check(dnnl_tp_graph_create_region(&h, get()));
        return graph(h);
    }
    /** Adds a branch: runs yes if pred is not 0, else no. An empty handle runs nothing. */
    std::vector<value> if_(const char *name, value pred, const graph &yes, const graph &no,
                           const std::vector<value> &yes_out, const std::vector<value> &no_out) {
        std::vector<value> result(yes_out.size(), no_value);
        if (yes_out.size() != no_out.size())
            detail::raise(dnnl_tp_invalid_arguments,
                          "if: branches have different numbers of results");
        check(dnnl_tp_graph_if(get(), name, pred, yes.get(), no.get(),
                               static_cast<int>(result.size()), yes_out.data(), no_out.data(),
                               result.data()));
        return result;
    }
    /** Adds a loop over variables, which are inputs of cond; body is a region of cond. */
    std::vector<value> while_(const char *name, const graph &cond, value cond_out,
                              const graph &body, const std::vector<value> &init,
                              const std::vector<value> &body_in, const std::vector<value> &body_out,
                              int window = 0) {
        std::vector<value> result(init.size(), no_value);
        if (body_in.size() != init.size() || body_out.size() != init.size())
            detail::raise(dnnl_tp_invalid_arguments, "while: numbers of variables differ");
        check(dnnl_tp_graph_while(get(), name, cond.get(), cond_out, body.get(),
                                  static_cast<int>(init.size()), init.data(), body_in.data(),
                                  body_out.data(), window, result.data()));
        return result;
    }
    /** A function of this graph; parameters receives its inputs as values. */
    graph function(const char *name, const std::vector<dnnl_tp_tensor_info_t> &in,
                   std::vector<value> &parameters,
                   const std::vector<dnnl_tp_tensor_info_t> &results) const {
        dnnl_tp_graph_t h = nullptr;
        parameters.assign(in.size(), no_value);
        check(dnnl_tp_graph_create_function(&h, get(), name, static_cast<int>(in.size()), in.data(),
                                            parameters.data(), static_cast<int>(results.size()),
                                            results.data()));
        return graph(h);
    }
    /** Adds a call of a function with nout results. */
    std::vector<value> call(const char *name, const graph &f, const std::vector<value> &in,
                            int nout) {
        std::vector<value> result(static_cast<std::size_t>(nout), no_value);
        check(dnnl_tp_graph_call(get(), name, f.get(), static_cast<int>(in.size()), in.data(), nout,
                                 result.data()));
        return result;
    }
    /** Makes the producer of after start when the producer of before has ended. */
    void control_dependency(value before, value after) {
        check(dnnl_tp_graph_control_dependency(get(), before, after));
    }
    /** Makes the producer of v run even if no output needs it. */
    void target(value v) { check(dnnl_tp_graph_target(get(), v)); }
    /** Gives an estimate of the time of the host function that produces v, in nanoseconds. */
    void host_cost(value v, std::int64_t ns) { check(dnnl_tp_graph_host_cost(get(), v, ns)); }
    /** Makes a value an output. */
    void output(value v, const char *name) { check(dnnl_tp_graph_output(get(), v, name)); }
    /** An input or output: its number and its name, "" if it has none. */
    struct named {
        /** Its number. */
        value number;
        /** Its name. */
        std::string name;
    };
    /** The inputs in the order of their creation. */
    std::vector<named> inputs() const {
        int n = 0;
        check(dnnl_tp_graph_get_counts(get(), &n, nullptr));
        return all(n, dnnl_tp_graph_get_input);
    }
    /** The outputs in the order of their creation. */
    std::vector<named> outputs() const {
        int n = 0;
        check(dnnl_tp_graph_get_counts(get(), nullptr, &n));
        return all(n, dnnl_tp_graph_get_output);
    }
    /** Shape and type of a value. */
    dnnl_tp_tensor_info_t info(value v) const {
        dnnl_tp_tensor_info_t info = {};
        check(dnnl_tp_graph_value_info(get(), v, &info));
        return info;
    }

  private:
    std::vector<named> all(int n,
                           dnnl_tp_status_t (*get_one)(const_dnnl_tp_graph_t, int,
                                                       dnnl_tp_value_t *, const char **)) const {
        std::vector<named> list;
        for (int i = 0; i < n; ++i) {
            value v = no_value;
            const char *name = "";
            check(get_one(get(), i, &v, &name));
            list.push_back({v, name});
        }
        return list;
    }
    template <typename F>
    static void invoke_host(F &f, const volatile int *stop, const dnnl_tp_host_arg_t *in,
                            const dnnl_tp_host_arg_t *out) {
        if constexpr (std::is_invocable_v<F &, decltype(in), decltype(out), should_stop>)
            f(in, out, should_stop(stop));
        else f(in, out);
    }
    template <typename F>
    static dnnl_tp_status_t call_host(void *arg, const volatile int *stop, int,
                                      const dnnl_tp_host_arg_t *in, int,
                                      const dnnl_tp_host_arg_t *out) noexcept {
#if DNNL_TP_ENABLE_EXCEPTIONS
        try {
            invoke_host(*static_cast<F *>(arg), stop, in, out);
            return dnnl_tp_success;
        } catch (const error &e) {
            return dnnl_tp_fail(e.status, e.what());
        } catch (const std::bad_alloc &e) {
            return dnnl_tp_fail(dnnl_tp_out_of_memory, e.what());
        } catch (const std::exception &e) {
            return dnnl_tp_fail(dnnl_tp_runtime_error, e.what());
        } catch (...) {
            return dnnl_tp_fail(dnnl_tp_runtime_error, "an exception that is no std::exception");
        }
#else
        invoke_host(*static_cast<F *>(arg), stop, in, out);
        return dnnl_tp_success;
#endif
    }
    template <typename F> static void drop_host(void *arg) noexcept {
        delete static_cast<F *>(arg);
    }
};

/** A token that ends runs. */
class cancel : public detail::handle<dnnl_tp_cancel_t, dnnl_tp_cancel_destroy> {
  public:
    using handle::handle;
    /** A token that was not fired. */
    cancel() { create(dnnl_tp_cancel_create); }
    /** Ends all runs with this token. */
    void fire() { check(dnnl_tp_cancel_fire(get())); }
};

/** A compiled graph. */
class executable : public detail::handle<dnnl_tp_executable_t, dnnl_tp_executable_destroy> {
  public:
    using handle::handle;
    /** Owns nothing. */
    executable() noexcept = default;
    /** Compiles for the declared shapes. */
    executable(const graph &g, const engine &e, const dnnl_tp_compile_opts_t *opts = nullptr) {
        create(dnnl_tp_executable_compile, g.get(), e.get(), 0, nullptr, opts);
    }
    /** Compiles for given shapes of the inputs. */
    executable(const graph &g, const engine &e, const std::vector<dnnl_tp_tensor_info_t> &shapes,
               const dnnl_tp_compile_opts_t *opts = nullptr) {
        create(dnnl_tp_executable_compile, g.get(), e.get(), static_cast<int>(shapes.size()),
               shapes.data(), opts);
    }
    /** Compiles for the pool that will run the executable. */
    static executable for_pool(const graph &g, const engine &e,
                               const std::vector<dnnl_tp_tensor_info_t> &shapes,
                               const stream_attr &pool) {
        dnnl_tp_compile_opts_t opts = {};
        opts.struct_size = sizeof opts;
        opts.stream_attr = pool.get();
        return executable(g, e, shapes, &opts);
    }
    /** Shape and type of a value in the executable. */
    dnnl_tp_tensor_info_t query(value v) const {
        dnnl_tp_tensor_info_t info = {};
        check(dnnl_tp_executable_query(get(), v, &info));
        return info;
    }
    /** Memory of a run, as compilation planned it. */
    dnnl_tp_executable_memory_t memory() const {
        dnnl_tp_executable_memory_t planned = {};
        planned.struct_size = sizeof planned;
        check(dnnl_tp_executable_memory(get(), &planned));
        return planned;
    }
    /** Creates run objects for that many concurrent runs. */
    void reserve(int runs) { check(dnnl_tp_executable_reserve(get(), runs)); }
    /** Runs and waits. */
    void run(const stream &s, std::initializer_list<void *> in, std::initializer_list<void *> out,
             const dnnl_tp_run_opts_t *opts = nullptr) const {
        check(dnnl_tp_executable_run(get(), s.get(), static_cast<int>(in.size()), in.begin(),
                                     static_cast<int>(out.size()), out.begin(), opts));
    }
    /** Times runs. */
    dnnl_tp_timing_t timed_run(const stream &s, const std::vector<void *> &in,
                               const std::vector<void *> &out,
                               const dnnl_tp_timed_run_opts_t *opts = nullptr,
                               const dnnl_tp_run_opts_t *run_opts = nullptr) const {
        dnnl_tp_timing_t timing = {};
        timing.struct_size = sizeof timing;
        check(dnnl_tp_executable_timed_run(get(), s.get(), static_cast<int>(in.size()), in.data(),
                                           static_cast<int>(out.size()), out.data(), run_opts, opts,
                                           &timing));
        return timing;
    }
    /** Submits a run. */
    event run_async(const stream &s, std::initializer_list<void *> in,
                    std::initializer_list<void *> out,
                    const dnnl_tp_run_opts_t *opts = nullptr) const {
        dnnl_tp_event_t h = nullptr;
        check(dnnl_tp_executable_run_async(get(), s.get(), static_cast<int>(in.size()), in.begin(),
                                           static_cast<int>(out.size()), out.begin(), opts, &h));
        return event(h);
    }
    /** Submits a run. */
    event run_async(const stream &s, const std::vector<void *> &in, const std::vector<void *> &out,
                    const dnnl_tp_run_opts_t *opts = nullptr) const {
        dnnl_tp_event_t h = nullptr;
        check(dnnl_tp_executable_run_async(get(), s.get(), static_cast<int>(in.size()), in.data(),
                                           static_cast<int>(out.size()), out.data(), opts, &h));
        return event(h);
    }
    /** Runs and waits. */
    void run(const stream &s, const std::vector<void *> &in, const std::vector<void *> &out,
             const dnnl_tp_run_opts_t *opts = nullptr) const {
        check(dnnl_tp_executable_run(get(), s.get(), static_cast<int>(in.size()), in.data(),
                                     static_cast<int>(out.size()), out.data(), opts));
    }
};

} // namespace dnnl_tp

#endif
