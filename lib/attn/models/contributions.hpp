#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "attn/models/runtime.hpp"

namespace attn::models {

/// What one part of a model adds to the logit of a token.
struct Contribution {
    std::string part;  ///< `embedding`, `layer 2, head 3`, `layer 2, MLP`, `biases`
    double logit = 0;
};

/// One token that may come next, and what each part of the model adds to its logit.
struct NextToken {
    std::int64_t id = 0;
    double logit = 0;
    double probability = 0;
    std::vector<Contribution> parts;  ///< they add up to the logit
};

/// Takes the logits behind a text apart. The last x is a sum of what the embedding, every head and
/// every MLP have added, and with the size of its row held fixed the final norm and the output
/// matrix are linear:
///
///     logit = sum over parts of (part / size of x * gain) . row of the output matrix
///
/// Range   float64; the parts add up to the logit but for rounding.
class NextTokens {
public:
    /// Runs the model, which must outlive this, on `ids`.
    /// Errors  ConfigError for models that take a norm of what a layer adds, or cap their logits:
    ///         there the logit is no such sum.
    NextTokens(const Model& model, const ModelMistake* mistake,
               const std::vector<std::int64_t>& ids);

    /// The ids of the `count` likeliest tokens.
    std::vector<std::int64_t> likeliest(std::size_t count) const;
    /// Errors  ConfigError for an id outside of the vocabulary.
    NextToken of(std::int64_t id) const;

private:
    const Model& model_;
    Array<double> x_, logits_;
    std::vector<double> embedding_;                  ///< of the last token
    std::vector<std::vector<double>> merged_, mlp_;  ///< its rows in each layer
};

}  // namespace attn::models
