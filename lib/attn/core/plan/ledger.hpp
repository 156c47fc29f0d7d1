#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// A chain: consecutive versions of one tensor, each a step that begins or extends it: the scores
/// are scaled, then masked. Readers use the latest of a chain.
enum class Chain { none, queries, keys, values, scores, weights, contexts };

/// The names of the steps of each chain, in order.
using Chains = std::array<std::vector<std::string>, 7>;

/// All tensors of a walk by name, in the order of their computation.
class Ledger {
public:
    struct Entry {
        std::string name;
        Tensor tensor;
    };

    Ledger() = default;
    /// Constructs a ledger with the chains of a walk.
    explicit Ledger(Chains chains) : chains_(std::make_shared<Chains>(std::move(chains))) {}

    /// Adds a tensor, or replaces the one with that name in its place.
    void record(std::string name, Tensor tensor);

    bool has(std::string_view name) const { return find(name) != nullptr; }

    /// Returns the tensor with that name, or nullptr.
    const Tensor* find(std::string_view name) const;

    /// Returns the tensor with that name.  Errors  ConfigError, listing the existing names.
    const Tensor& operator[](std::string_view name) const;

    /// Returns the last recorded step of the chain, or nullptr. With `before`, the last one before
    /// that step: the input of masked_scores.
    const Entry* find_latest(Chain chain, std::string_view before = {}) const;

    /// Returns the tensor of that step.  Errors  ConfigError if there is none.
    const Tensor& latest(Chain chain, std::string_view before = {}) const;

    /// Returns a copy without the tensor with that name.
    Ledger without(std::string_view name) const;

    const std::vector<Entry>& entries() const& { return entries_; }
    /// The entries of a temporary, so that a loop over them does not outlive them.
    std::vector<Entry> entries() && { return std::move(entries_); }

private:
    const Entry* entry(std::string_view name) const;

    std::vector<Entry> entries_;
    std::map<std::string, std::size_t, std::less<>> places_;  // of the names in entries_
    std::shared_ptr<const Chains> chains_;
};

}  // namespace attn
