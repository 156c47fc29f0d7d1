#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attn/models/contributions.hpp"
#include "attn/models/runtime.hpp"

namespace attn::models {

/// A run that equals another one up to a layer, where it changes either the layer's input x or its
/// context.
struct Branch {
    std::size_t layer = 0;
    std::function<void(Array<double>&)> of_x{};
    std::function<void(std::span<double>)> of_context{};  ///< (heads, tokens, head_dim)
};

/// Runs a text, and each branch from its layer on. Each layer is read once, for all branches that
/// have started.
///
/// Shapes  result (1 + branches, embed_dim): the last row of x for the text itself and each branch.
/// Errors  as Runtime::advance; ConfigError for a branch at a layer that the model does not have,
///         or one that gives x another shape.
Array<double> run_branches(const Model& model, const std::vector<std::int64_t>& ids,
                           const std::vector<Without>& without,
                           const std::vector<Branch>& branches);

/// A head, and the probability of a token after the text without it.
struct HeadEffect {
    std::size_t layer = 0;
    std::size_t head = 0;
    double without = 0;
};
/// The probability of a token after a text, and without each head in turn; by default of the
/// likeliest token.
struct HeadEffects {
    std::int64_t id = 0;
    double probability = 0;
    std::vector<HeadEffect> heads;

    /// Returns the change of the probability without that head.
    double change(const HeadEffect& head) const { return head.without - probability; }
};
HeadEffects effects_of_heads(const Model& model, const std::vector<std::int64_t>& ids,
                             std::optional<std::int64_t> id, const std::vector<Without>& without);

/// An activation patched from one text into another, and its effect.
struct Carried {
    std::size_t layer = 0;
    std::size_t place = 0;  ///< the head, or the token of the text
    double difference = 0;  ///< of the two logits then
    double share = 0;       ///< fraction of the difference between the two texts
};
/// The difference of the logits of two tokens after two texts, and the parts that carry it: the
/// context of each head at all tokens, or x at each token before each layer.
///
///     share = (difference with it - here) / (there - here)
///
/// Range   float64; 1 would be the whole difference, as for x at all tokens.
/// Errors  ConfigError for texts of different lengths in tokens.
/// Source  Wang et al. 2022, arXiv 2211.00593, "activation patching".
struct Patching {
    double here = 0;
    double there = 0;
    std::vector<Carried> carried;
};
Patching patch(const Model& model, const std::vector<std::int64_t>& here,
               const std::vector<std::int64_t>& there, std::int64_t id, std::int64_t other,
               bool heads, const std::vector<Without>& without);

}  // namespace attn::models
