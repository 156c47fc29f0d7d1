// The least that a program with our libraries can do: one small matrix product by OpenBLAS,
// printed.
#include <iostream>

#include "attn/tensor/matmul.hpp"

int main() {
    const attn::Array<float> a = xt::ones<float>({4, 4});
    std::cout << attn::matmul(a, a, attn::Second::as_stored)(0, 0) << "\n";
}
