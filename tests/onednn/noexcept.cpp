// A program for oneDNN that is compiled without exceptions: calls that succeed need none, those that return a status give
// it, and a failure ends the program with its text.
#define DNNL_ENABLE_EXCEPTIONS 0 // the same as the compiler says
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "oneapi/dnnl/dnnl.hpp"

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#error "compiled with exceptions"
#endif

using namespace dnnl;
using dt = memory::data_type;
using tag = memory::format_tag;

namespace {

bool computes() {
    const engine eng(engine::kind::cpu, 0);
    stream s(eng);
    float x[3] = {-1, 0, 2};
    const memory::desc md({3}, dt::f32, tag::a);
    const memory mem(md, eng, x);
    const eltwise_forward::primitive_desc pd(eng, prop_kind::forward_inference, algorithm::eltwise_relu, md,
                                             md, 0.f, 0.f);
    eltwise_forward(pd).execute(s, {{DNNL_ARG_SRC, mem}, {DNNL_ARG_DST, mem}});
    s.wait();
    return x[0] == 0 && x[1] == 0 && x[2] == 2;
}

// In a child, whose standard error is closed: the call does not return.
bool ends_the_program() {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        close(2);
        engine wrong(engine::kind::cpu, 7);
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

} // namespace

int main() {
    const memory::desc none({2}, dt::f32, tag::abcd, true); // a failure that leaves an empty object
    const bool ok = computes() && ends_the_program() && !none && set_verbose(-1) == status::invalid_arguments;
    std::printf("%s\n", ok ? "as it should be" : "not so");
    return ok ? 0 : 1;
}
