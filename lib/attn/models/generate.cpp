#include "attn/models/generate.hpp"

#include <algorithm>

#include "attn/tensor/error.hpp"

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
        if (std::any_of(logits.begin(), logits.end(), [](Real each) { return each != each; })) {
            throw InputError(runtime.model().label + ": the logits behind token " +
                             std::to_string(runtime.tokens() - 1) +
                             (runtime.is_mistaken()
                                  ? " are nan with this mistake: choose another"
                                  : " are nan: its weights hold nan or inf, or are too large: "
                                    "check the file"));
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

/// The first token at which two tensors of the same shape differ: (head, token, feature) or
/// (token, feature).
std::optional<Parting> difference(const Passing& right, const Passing& wrong) {
    const Shape shape = right.tensor.shape();
    std::optional<Parting> first;
    if (wrong.tensor.shape() != shape) return first;  // what is made of it tells
    for (std::size_t i = 0; i < right.tensor.size(); ++i) {
        const double a = right.tensor.at(i);
        const double b = wrong.tensor.at(i);
        const std::size_t token = i / shape.back() % shape[shape.size() - 2];
        if (a == b || (a != a && b != b) || (first && first->token <= token)) continue;
        Parting parting;
        parting.token = token;
        parting.layer = right.layer;
        parting.step = right.name;
        parting.right = a;
        parting.wrong = b;
        if (right.tensor.has_axis("head")) {
            parting.head = i / (right.tensor.size() / right.tensor.extent("head"));
        }
        first = parting;
    }
    return first;
}

}  // namespace

std::optional<Parting> first_parting(const std::shared_ptr<const Parameters<double>>& parameters,
                                     const ModelMistake* mistake,
                                     const std::vector<std::int64_t>& ids, std::size_t prompt) {
    Runtime<double> first(parameters);
    Runtime<double> second(parameters, mistake);
    std::vector<Passing> rights, wrongs;
    first.watch([&](Passing passing) { rights.push_back(std::move(passing)); });
    second.watch([&](Passing passing) { wrongs.push_back(std::move(passing)); });
    for (std::size_t token = 0; token < ids.size();) {
        const std::size_t count = token == 0 ? std::clamp<std::size_t>(prompt, 1, ids.size()) : 1;
        rights.clear();
        wrongs.clear();
        first.advance({&ids[token], count});
        second.advance({&ids[token], count});
        std::optional<Parting> earliest;
        for (std::size_t i = 0; i < rights.size(); ++i) {
            const auto parting = difference(rights[i], wrongs[i]);
            if (parting && (!earliest || parting->token < earliest->token)) earliest = parting;
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

}  // namespace attn::models
