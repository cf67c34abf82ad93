#include "std_thread/dnnl_tp_std_thread.hpp"
#include "examples/matmul_on.hpp"

int main() {
    dnnl_tp::std_thread_pool pool(4);
    return matmul_on(dnnl_tp::make_iface(pool));
}
