#include "tbb/dnnl_tp_tbb.hpp"
#include "examples/matmul_on.hpp"

int main() {
    tbb::task_arena arena; // the program's own
    dnnl_tp::tbb_pool pool(arena);
    return matmul_on(dnnl_tp::make_iface(pool));
}
