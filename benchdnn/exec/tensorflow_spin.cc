// An operator of TensorFlow that takes a given time, so that its executor meets the same kernels as the other peers. Built
// by benchdnn/exec/compare against the headers that the package brings; dnnl_tp does not use it.
#include <chrono>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {
int64_t Ticks() {
#if defined(__x86_64__)
  return static_cast<int64_t>(__rdtsc());
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}
double TicksPerNs() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const int64_t ticks = Ticks();
  while (Clock::now() - begin < std::chrono::milliseconds(20)) {
  }
  const int64_t passed = Ticks() - ticks;
  return static_cast<double>(passed) / std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

class Spin : public tensorflow::OpKernel {
 public:
  explicit Spin(tensorflow::OpKernelConstruction* context) : OpKernel(context) {
    static const double per_ns = TicksPerNs();
    int64_t ns = 0;
    OP_REQUIRES_OK(context, context->GetAttr("ns", &ns));
    ticks_ = static_cast<int64_t>(static_cast<double>(ns) * per_ns);
  }
  void Compute(tensorflow::OpKernelContext*) override {
    const int64_t end = Ticks() + ticks_;
    while (Ticks() < end) {
    }
  }

 private:
  int64_t ticks_;
};
REGISTER_OP("Spin").Attr("ns: int").SetIsStateful();
REGISTER_KERNEL_BUILDER(Name("Spin").Device(tensorflow::DEVICE_CPU), Spin);
}  // namespace
