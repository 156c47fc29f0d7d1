#pragma once
#include <optional>

#include "attn/plan/plan.hpp"

namespace attn {

/// The first samples and tokens of a walk, as a walk of their own.
struct Prefix {
    Plan plan;
    Ledger given;

    /// A tensor of the whole walk as far as `like`, one of this walk, goes.
    static Tensor of(const Tensor& whole, const Shape& like);
};

/// Nothing where a walk cannot be cut so: with memory, a past or documents only its samples can.
std::optional<Prefix> prefix_of(const Plan& plan, const Ledger& given, std::size_t samples,
                                std::size_t tokens);

}  // namespace attn
