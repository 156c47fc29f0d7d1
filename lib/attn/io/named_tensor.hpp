#pragma once
#include <string>
#include <vector>

#include "attn/tensor/tensor.hpp"

namespace attn {

/// A tensor under the name that a file gives it; the name is empty where the format has none.
struct NamedTensor {
    std::string name;
    Tensor tensor;
};

/// A tensor to write and its name in the file; the tensor itself stays where it is.
struct TensorRef {
    std::string name;
    const Tensor& tensor;
};

/// References to all of `tensors`, which must outlive them.
std::vector<TensorRef> references(const std::vector<NamedTensor>& tensors);

/// Errors  OutputError, starting with `label`, when two of `tensors` share a name.
void check_names(const std::string& label, const std::vector<TensorRef>& tensors);

}  // namespace attn
