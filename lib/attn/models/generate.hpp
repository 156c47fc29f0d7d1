#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/ground/random/generator.hpp"
#include "attn/models/runtime.hpp"

namespace attn::models {

/// A candidate for the next token.
struct Candidate {
    std::int64_t id = 0;
    double logit = 0;
    double probability = 0;
};

/// Returns all tokens with their probabilities, in the order of their ids.
///
///     probability = exp(logit / temperature) / sum over all tokens
template <class Real>
std::vector<Candidate> distribution(std::span<const Real> logits, double temperature = 1);

/// Returns the `count` likeliest, the likeliest first; among equals, the lower id first.
template <class Real>
std::vector<Candidate> candidates(std::span<const Real> logits, double temperature,
                                  std::size_t count);

/// The choice of the next token.
struct Sampling {
    double temperature = 0;  ///< 0: always the likeliest token
    std::size_t top_k = 0;   ///< choose among the k likeliest; 0: among all
    double top_p = 1;        ///< choose among the likeliest with this total probability
    std::uint64_t seed = 42;
};

/// Chooses tokens, one after another.
class Sampler {
public:
    explicit Sampler(const Sampling& sampling);

    /// Returns the largest number of candidates that it chooses among.
    std::size_t most_candidates() const;
    /// Chooses one of at least most_candidates() candidates, at the sampling's temperature (1 if
    /// that is 0); returns its index.
    std::size_t choose(const std::vector<Candidate>& candidates);

    double temperature() const { return sampling_.temperature > 0 ? sampling_.temperature : 1; }

private:
    Sampling sampling_;
    std::unique_ptr<Generator> generator_;
};

/// One token of a generated text.
struct WrittenToken {
    std::int64_t id = 0;
    double probability = 0;
    std::vector<Candidate> likeliest;  ///< the first candidates()
};

/// Continues `prompt` by up to `count` tokens, and calls `written` for each as soon as it is
/// chosen, with its `likeliest` candidates. Stops before a token that ends a text, or at the
/// largest number of tokens that the model supports.
template <class Real>
void generate(Runtime<Real>& runtime, std::vector<std::int64_t> prompt, std::size_t count,
              Sampler& sampler, std::size_t likeliest,
              const std::function<void(const WrittenToken&)>& written);

/// The first place where the numbers of a model with a mistake differ from the right ones.
struct Divergence {
    std::size_t token = 0;  ///< position of the token
    std::size_t layer = 0;
    std::string step;
    std::optional<std::size_t> head;
    double right = 0;
    double wrong = 0;
};

/// Runs a model right and with a mistake on the same tokens, the first `prompt` of them at once as
/// in generation, and compares the tensors of every layer, in float64; nullopt if all are equal.
std::optional<Divergence> find_divergence(
    const std::shared_ptr<const Parameters<double>>& parameters, const ModelMistake* mistake,
    const std::vector<std::int64_t>& ids, std::size_t prompt = 1);

}  // namespace attn::models
