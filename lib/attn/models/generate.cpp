#include "attn/models/generate.hpp"

#include <algorithm>

namespace attn::models {

template <class Real>
void generate(Runtime<Real>& runtime, std::vector<std::int64_t> prompt, std::size_t count,
              Sampler& sampler, std::size_t likeliest,
              const std::function<void(const WrittenToken&)>& written) {
    const Architecture& architecture = runtime.model().architecture;
    const std::vector<std::int64_t>& ends = architecture.end_ids;
    std::vector<std::int64_t> next = std::move(prompt);
    for (std::size_t n = 0; n < count; ++n) {
        if (runtime.tokens() + next.size() > architecture.most_tokens) return;
        const Array<Real> logits = runtime.last_logits(runtime.advance(next));
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

/// Where two tensors of the same shape first differ: (head, token, feature) or (token, feature).
std::optional<Parting> difference(const Passing& right, const Passing& wrong) {
    for (std::size_t i = 0; i < right.tensor.size(); ++i) {
        const double a = right.tensor.at(i);
        const double b = wrong.tensor.at(i);
        if (a == b || (a != a && b != b)) continue;
        Parting parting;
        parting.layer = right.layer;
        parting.step = right.name;
        parting.right = a;
        parting.wrong = b;
        if (right.tensor.has_axis("head")) {
            parting.head = i / (right.tensor.size() / right.tensor.extent("head"));
        }
        return parting;
    }
    return std::nullopt;
}

}  // namespace

std::optional<Parting> first_parting(const std::shared_ptr<const Parameters<double>>& parameters,
                                     const AttentionSettings& right, const AttentionSettings& wrong,
                                     const std::vector<std::int64_t>& ids) {
    Runtime<double> first(parameters, right);
    Runtime<double> second(parameters, wrong);
    std::vector<Passing> rights, wrongs;
    first.watch([&](Passing passing) { rights.push_back(std::move(passing)); });
    second.watch([&](Passing passing) { wrongs.push_back(std::move(passing)); });
    for (std::size_t token = 0; token < ids.size(); ++token) {
        rights.clear();
        wrongs.clear();
        first.advance({&ids[token], 1});
        second.advance({&ids[token], 1});
        for (std::size_t i = 0; i < rights.size(); ++i) {
            if (auto parting = difference(rights[i], wrongs[i])) {
                parting->token = token;
                return parting;
            }
        }
    }
    return std::nullopt;
}

template void generate(Runtime<float>&, std::vector<std::int64_t>, std::size_t, Sampler&,
                       std::size_t, const std::function<void(const WrittenToken&)>&);
template void generate(Runtime<double>&, std::vector<std::int64_t>, std::size_t, Sampler&,
                       std::size_t, const std::function<void(const WrittenToken&)>&);

}  // namespace attn::models
