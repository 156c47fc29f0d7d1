// The smallest program with the same libraries: one small matrix product by OpenBLAS, printed.
#include <iostream>

#include "attn/ground/simd/matmul.hpp"

int main() {
    const auto a = attn::Array<float>::filled({4, 4}, 1);
    std::cout << attn::matmul(a, a, attn::Second::as_stored)(0, 0) << "\n";
}
