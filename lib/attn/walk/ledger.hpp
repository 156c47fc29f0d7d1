#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor/tensor.hpp"

namespace attn {

/// The record of every tensor of a walk, by name, in the order in which they came to be.
class Ledger {
public:
    struct Entry {
        std::string name;
        Tensor tensor;
    };

    /// Adds a tensor, or replaces the one of that name in its place.
    void record(std::string name, Tensor tensor);

    bool has(std::string_view name) const { return find(name) != nullptr; }

    /// The tensor of that name, or nullptr.
    const Tensor* find(std::string_view name) const;

    /// The tensor of that name.  Errors  ConfigError, listing the names there are.
    const Tensor& operator[](std::string_view name) const;

    /// The last of `names` that is recorded, nullptr when none is: steps that may be absent
    /// (masked_scores, scaled_scores, scores) are read through this.
    const Tensor* latest(std::initializer_list<std::string_view> names) const;

    const std::vector<Entry>& entries() const { return entries_; }

private:
    std::vector<Entry> entries_;
};

}  // namespace attn
