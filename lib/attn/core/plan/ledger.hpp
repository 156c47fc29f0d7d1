#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// A chain: the steps that attention takes with one thing, each of which begins or extends it: the
/// scores are scaled, then masked. Whoever needs the thing asks for the latest of its chain.
enum class Chain { none, queries, keys, values, scores, weights, contexts };

/// The names of the steps of each chain, in order.
using Chains = std::array<std::vector<std::string>, 7>;

/// The record of every tensor of a walk, by name, in the order in which they came to be.
class Ledger {
public:
    struct Entry {
        std::string name;
        Tensor tensor;
    };

    Ledger() = default;
    /// A ledger that knows which of its steps make a chain: that of a walk.
    explicit Ledger(Chains chains) : chains_(std::make_shared<Chains>(std::move(chains))) {}

    /// Adds a tensor, or replaces the one of that name in its place.
    void record(std::string name, Tensor tensor);

    bool has(std::string_view name) const { return find(name) != nullptr; }

    /// The tensor of that name, or nullptr.
    const Tensor* find(std::string_view name) const;

    /// The tensor of that name.  Errors  ConfigError, listing the names there are.
    const Tensor& operator[](std::string_view name) const;

    /// The last step of the chain that is recorded, or nullptr. With `before`, the last of those
    /// in front of that step: what masked_scores was made from.
    const Entry* find_latest(Chain chain, std::string_view before = {}) const;

    /// Its tensor.  Errors  ConfigError when there is none.
    const Tensor& latest(Chain chain, std::string_view before = {}) const;

    /// The same record without the tensor of that name.
    Ledger without(std::string_view name) const;

    const std::vector<Entry>& entries() const { return entries_; }

private:
    const Entry* entry(std::string_view name) const;

    std::vector<Entry> entries_;
    std::map<std::string, std::size_t, std::less<>> places_;  // of the names in entries_
    std::shared_ptr<const Chains> chains_;
};

}  // namespace attn
