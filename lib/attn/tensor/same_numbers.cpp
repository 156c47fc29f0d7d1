#include "attn/tensor/same_numbers.hpp"

#include <cassert>

namespace attn {

std::size_t differing_cells(const Tensor& a, const Tensor& b) {
    assert(a.shape() == b.shape());
    std::size_t cells = 0;
    for (std::size_t i = 0; i < a.size(); ++i) cells += same_number(a.at(i), b.at(i)) ? 0 : 1;
    return cells;
}

bool same_numbers(const Tensor& a, const Tensor& b) {
    return a.shape() == b.shape() && a.dtype() == b.dtype() && differing_cells(a, b) == 0;
}

}  // namespace attn
