#include "attn/io/named_tensor.hpp"

#include <set>

#include "attn/tensor/error.hpp"

namespace attn {

std::vector<TensorRef> references(const std::vector<NamedTensor>& tensors) {
    std::vector<TensorRef> result;
    result.reserve(tensors.size());
    for (const NamedTensor& each : tensors) result.push_back({each.name, each.tensor});
    return result;
}

void check_names(const std::string& label, const std::vector<TensorRef>& tensors) {
    std::set<std::string_view> names;
    for (const TensorRef& each : tensors) {
        if (!names.insert(each.name).second) {
            throw OutputError(label + ": two tensors are called " + each.name +
                              ": give each a name of its own");
        }
    }
}

}  // namespace attn
