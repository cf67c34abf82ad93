#include "openmp/dnnl_tp_openmp.h"
#include "examples/matmul_on.hpp"

int main() {
    static char team; // an address that tells pools apart: here there is one
    return matmul_on(dnnl_tp_openmp_iface(&team));
}
