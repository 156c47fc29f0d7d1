#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attn/random/generator.hpp"

namespace attn::models {

/// A token that may come next.
struct Candidate {
    std::int64_t id = 0;
    double logit = 0;
    double probability = 0;
};

/// All tokens with their probabilities, in the order of their ids.
///
///     probability = exp(logit / temperature) / sum over all tokens
template <class Real>
std::vector<Candidate> distribution(std::span<const Real> logits, double temperature = 1);

/// The `count` likeliest of them, the likeliest first, of equals the lower id.
template <class Real>
std::vector<Candidate> candidates(std::span<const Real> logits, double temperature,
                                  std::size_t count);

/// How the next token is chosen.
struct Sampling {
    double temperature = 0;  ///< 0: always the likeliest token
    std::size_t top_k = 0;   ///< choose among so many; 0: among all
    double top_p = 1;        ///< choose among the likeliest that have this probability together
    std::uint64_t seed = 42;
};

/// Chooses tokens, one after another.
class Sampler {
public:
    explicit Sampler(const Sampling& sampling);

    /// How many of the likeliest tokens it chooses among, at most.
    std::size_t most_candidates() const;
    /// The index of the chosen one among so many candidates(), or more, at the temperature of the
    /// sampling (1 where that is 0).
    std::size_t choose(const std::vector<Candidate>& candidates);

    double temperature() const { return sampling_.temperature > 0 ? sampling_.temperature : 1; }

private:
    Sampling sampling_;
    std::unique_ptr<Generator> generator_;
};

}  // namespace attn::models
