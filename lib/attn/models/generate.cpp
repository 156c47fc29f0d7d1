#include "attn/models/generate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/ground/tensor/error.hpp"

namespace attn::models {

template <class Real>
void generate(Runtime<Real>& runtime, std::vector<std::int64_t> prompt, std::size_t count,
              Sampler& sampler, std::size_t likeliest,
              const std::function<void(const WrittenToken&)>& written) {
    refuse_unless(written != nullptr, "a text is written token by token to a function");
    const Architecture& architecture = runtime.model().architecture;
    const std::vector<std::int64_t>& ends = architecture.end_ids;
    std::vector<std::int64_t> next = std::move(prompt);
    for (std::size_t n = 0; n < count; ++n) {
        if (runtime.tokens() + next.size() > architecture.most_tokens) return;
        const Array<Real> logits = runtime.last_logits(runtime.advance(next));
        if (std::any_of(logits.begin(), logits.end(), [](Real each) { return each != each; })) {
            throw InputError(runtime.model().label + ": the logits after token " +
                             std::to_string(runtime.tokens() - 1) +
                             (runtime.is_mistaken() ? " are nan with this mistake: choose another"
                                                    : " are nan: its weights contain nan or inf, "
                                                      "or are too large: check the file"));
        }
        std::vector<Candidate> all =
            candidates<Real>({logits.data(), logits.size()}, sampler.temperature(),
                             std::max(likeliest, sampler.most_candidates()));
        const Candidate chosen = all[sampler.choose(all)];
        if (std::find(ends.begin(), ends.end(), chosen.id) != ends.end()) return;
        all.resize(std::min(all.size(), likeliest));
        written({chosen.id, chosen.probability, std::move(all)});
        next = {chosen.id};
    }
}

namespace {

/// Returns the first token at which two tensors differ, of shape (head, token, feature) or (token,
/// feature).
std::optional<Divergence> difference(const LayerPass& right, const LayerPass& wrong) {
    const Shape shape = right.tensor.shape();
    std::optional<Divergence> first;
    if (wrong.tensor.shape() != shape) return first;  // a later tensor shows the difference
    for (std::size_t i = 0; i < right.tensor.size(); ++i) {
        const double a = right.tensor.at(i);
        const double b = wrong.tensor.at(i);
        const std::size_t token = i / shape.back() % shape[shape.size() - 2];
        if (a == b || (a != a && b != b) || (first && first->token <= token)) continue;
        first = {token, right.layer, std::string(right.name), std::nullopt, a, b};
        if (right.tensor.has_axis("head")) {
            first->head = i / (right.tensor.size() / right.tensor.extent("head"));
        }
    }
    return first;
}

}  // namespace

std::optional<Divergence> find_divergence(
    const std::shared_ptr<const Parameters<double>>& parameters, const ModelMistake* mistake,
    const std::vector<std::int64_t>& ids, std::size_t prompt) {
    Runtime<double> first(parameters);
    Runtime<double> second(parameters, mistake);
    std::vector<LayerPass> rights, wrongs;
    first.watch([&](LayerPass passing) { rights.push_back(std::move(passing)); });
    second.watch([&](LayerPass passing) { wrongs.push_back(std::move(passing)); });
    for (std::size_t token = 0; token < ids.size();) {
        const std::size_t count = token == 0 ? std::clamp<std::size_t>(prompt, 1, ids.size()) : 1;
        rights.clear();
        wrongs.clear();
        first.advance({&ids[token], count});
        second.advance({&ids[token], count});
        std::optional<Divergence> earliest;
        for (std::size_t i = 0; i < rights.size(); ++i) {
            const auto divergence = difference(rights[i], wrongs[i]);
            if (divergence && (!earliest || divergence->token < earliest->token))
                earliest = divergence;
        }
        if (earliest) {
            earliest->token += token;
            return earliest;
        }
        token += count;
    }
    return std::nullopt;
}

template void generate(Runtime<float>&, std::vector<std::int64_t>, std::size_t, Sampler&,
                       std::size_t, const std::function<void(const WrittenToken&)>&);
template void generate(Runtime<double>&, std::vector<std::int64_t>, std::size_t, Sampler&,
                       std::size_t, const std::function<void(const WrittenToken&)>&);

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
    // Keep the likeliest: top_k of them, or until they reach top_p.
    std::size_t kept = 0;
    double total = 0;
    while (kept < std::min(most_candidates(), candidates.size()) &&
           (kept == 0 || total < sampling_.top_p)) {
        total += candidates[kept++].probability;
    }
    // Choose the token whose interval of the cumulative probability contains a uniform number.
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
