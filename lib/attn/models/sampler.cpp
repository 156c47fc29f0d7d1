#include "attn/models/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attn::models {

template <class Real>
std::vector<Candidate> distribution(std::span<const Real> logits, double temperature) {
    std::vector<Candidate> all(logits.size());
    const double largest = logits.empty() ? 0 : *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double logit = logits[i];
        all[i] = {static_cast<std::int64_t>(i), logit, std::exp((logit - largest) / temperature)};
        sum += all[i].probability;
    }
    for (Candidate& each : all) each.probability /= sum;
    return all;
}

template <class Real>
std::vector<Candidate> candidates(std::span<const Real> logits, double temperature,
                                  std::size_t count) {
    std::vector<Candidate> all = distribution(logits, temperature);
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()));
    std::partial_sort(
        all.begin(), first, all.end(), [](const Candidate& left, const Candidate& right) {
            return left.logit != right.logit ? left.logit > right.logit : left.id < right.id;
        });
    all.erase(first, all.end());
    return all;
}

Sampler::Sampler(const Sampling& sampling)
    : sampling_(sampling), generator_(make_generator(Rng::numpy_pcg64, sampling.seed)) {}

std::size_t Sampler::most_candidates() const {
    if (sampling_.temperature <= 0) return 1;
    return sampling_.top_k == 0 ? std::numeric_limits<std::size_t>::max() : sampling_.top_k;
}

std::size_t Sampler::choose(const std::vector<Candidate>& candidates) {
    if (sampling_.temperature <= 0) return 0;
    // Keep the likeliest: so many of them, or until they have the probability asked for.
    std::size_t kept = 0;
    double total = 0;
    while (kept < std::min(most_candidates(), candidates.size()) &&
           (kept == 0 || total < sampling_.top_p)) {
        total += candidates[kept++].probability;
    }
    // The token in whose part of the line from 0 to their probability a uniform number falls.
    double number = 0;
    generator_->rand(std::span<double>(&number, 1));
    number *= total;
    std::size_t chosen = 0;
    while (chosen + 1 < kept && number >= candidates[chosen].probability) {
        number -= candidates[chosen++].probability;
    }
    return chosen;
}

template std::vector<Candidate> distribution(std::span<const double>, double);
template std::vector<Candidate> candidates(std::span<const float>, double, std::size_t);
template std::vector<Candidate> candidates(std::span<const double>, double, std::size_t);

}  // namespace attn::models
