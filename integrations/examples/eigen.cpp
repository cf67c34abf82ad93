#include "eigen/dnnl_tp_eigen.hpp"
#include "examples/matmul_on.hpp"

int main() {
    Eigen::ThreadPool pool(4); // the program's own, or a framework's Eigen::ThreadPoolInterface
    return matmul_on(dnnl_tp::make_iface(pool));
}
