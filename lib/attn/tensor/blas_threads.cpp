// Apart from matmul.cpp, because OpenBLAS's own header and the one inside xtensor-blas declare the
// same functions differently.
#include <cblas.h>

#include <algorithm>
#include <thread>

#include "attn/tensor/matmul.hpp"

namespace attn {

void set_blas_threads(int threads) {
    const int all = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    const int wanted = threads > 0 ? threads : all;
    if (openblas_get_num_threads() != wanted) openblas_set_num_threads(wanted);
}

std::string blas_core_type() { return openblas_get_corename(); }

}  // namespace attn
