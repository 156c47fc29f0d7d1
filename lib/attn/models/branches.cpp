#include "attn/models/branches.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attn/ground/tensor/error.hpp"
#include "attn/judge/mistakes/change.hpp"
#include "attn/models/generate.hpp"

namespace attn::models {
namespace {

/// Changes the contexts of a batch of texts, one branch each.
TableEdit changed_contexts(const std::vector<const Branch*>& branches) {
    WrongRule rule;
    rule.step = "context";
    rule.compute = [&branches](const Plan& plan, const Ledger& ledger, const Compute& before) {
        const Tensor right = before(plan, ledger);
        Array<double> cells = right.as<double>();
        const std::size_t each = cells.size() / branches.size();
        for (std::size_t b = 0; b < branches.size(); ++b) {
            branches[b]->of_context(std::span(cells.data() + b * each, each));
        }
        return Tensor(right.axes(), std::move(cells));
    };
    return follows(std::move(rule));
}

/// Returns the difference of the logits of two tokens, per row of x.
std::vector<double> differences(const Parameters<double>& parameters, const Array<double>& x,
                                std::int64_t id, std::int64_t other) {
    Array<double> logits = parameters.vocabulary_of(
        parameters.final_norm(x), {static_cast<std::size_t>(id), static_cast<std::size_t>(other)});
    parameters.cap(logits);
    std::vector<double> all;
    for (std::size_t r = 0; r < x.shape(0); ++r) all.push_back(logits(r, 0) - logits(r, 1));
    return all;
}

}  // namespace

Array<double> run_branches(const Model& model, const std::vector<std::int64_t>& ids,
                           const std::vector<Without>& without,
                           const std::vector<Branch>& branches) {
    refuse_unless(!ids.empty(), "there is no token to continue from: give one");
    constexpr std::size_t tokens_at_once = 256;
    const auto parameters = parameters_of<double>(model, KeepWeights::nothing);
    const std::size_t layers = parameters->layers();
    for (const Branch& branch : branches) {
        refuse_unless(branch.layer < layers, "there is no layer " + std::to_string(branch.layer) +
                                                 " for a branch to begin at");
    }
    std::vector<const Branch*> beginning;  // the texts that start at their first layer
    const std::vector<LayerEdit> common = edits_of(without, model.architecture);
    std::vector<LayerEdit> changed = common;
    for (std::size_t n = 0; n < layers; ++n) changed.push_back({n, changed_contexts(beginning)});
    Runtime<double> whole(parameters, nullptr, common), later(parameters, nullptr, common),
        first(parameters, nullptr, changed);
    Array<double> x = whole.begin(ids);
    std::vector<Array<double>> of_branches(branches.size());
    const auto run = [&](Runtime<double>& runtime, std::size_t n,
                         const std::vector<std::size_t>& all) {
        const std::size_t at_once = std::max<std::size_t>(1, tokens_at_once / ids.size());
        for (std::size_t begin = 0; begin < all.size(); begin += at_once) {
            const std::span some =
                std::span(all).subspan(begin, std::min(at_once, all.size() - begin));
            beginning.clear();
            Array<double> texts = empty_array<double>({some.size(), ids.size(), x.shape(1)});
            for (std::size_t i = 0; i < some.size(); ++i) {
                beginning.push_back(&branches[some[i]]);
                std::ranges::copy(of_branches[some[i]], &texts(i, 0, 0));
            }
            texts = runtime.through_layer(n, std::move(texts));
            for (std::size_t i = 0; i < some.size(); ++i) {
                std::copy_n(&texts(i, 0, 0), x.size(), of_branches[some[i]].data());
            }
        }
    };
    for (std::size_t n = 0; n < layers; ++n) {
        std::vector<std::size_t> begun, here;
        for (std::size_t b = 0; b < branches.size(); ++b) {
            if (branches[b].layer > n) continue;
            (branches[b].layer == n && branches[b].of_context ? here : begun).push_back(b);
            if (branches[b].layer < n) continue;
            of_branches[b] = x;
            if (branches[b].of_x) branches[b].of_x(of_branches[b]);
            refuse_unless(of_branches[b].shape() == x.shape(), "a branch gave x another shape");
        }
        // The unchanged text goes first: its means replace those of all branches.
        x = whole.through_layer(n, std::move(x));
        run(later, n, begun);
        run(first, n, here);
    }
    Array<double> rows = empty_array<double>({1 + branches.size(), x.shape(1)});
    const auto take_last = [&](const Array<double>& from, std::size_t row) {
        std::copy_n(from.end() - rows.shape(1), rows.shape(1), &rows(row, 0));
    };
    take_last(x, 0);
    for (std::size_t b = 0; b < branches.size(); ++b) take_last(of_branches[b], b + 1);
    return rows;
}

HeadEffects effects_of_heads(const Model& model, const std::vector<std::int64_t>& ids,
                             std::optional<std::int64_t> id, const std::vector<Without>& without) {
    const Architecture& a = model.architecture;
    require_next_token(model);
    if (id) model.check_ids({*id});
    std::vector<Branch> branches;
    HeadEffects effects;
    for (std::size_t layer = 0; layer < a.layers.size(); ++layer) {
        for (std::size_t head = 0; head < a.heads; ++head) {
            effects.heads.push_back({layer, head});
            branches.push_back({layer, {}, [head, &a](std::span<double> context) {
                                    const std::size_t each = context.size() / a.heads;
                                    std::ranges::fill(context.subspan(head * each, each), 0.0);
                                }});
        }
    }
    const Array<double> x = run_branches(model, ids, without, branches);
    const auto parameters = parameters_of<double>(model, KeepWeights::nothing);
    constexpr std::size_t at_a_time = 64;  // limits the memory for rows of logits
    for (std::size_t first = 0; first < x.shape(0); first += at_a_time) {
        Array<double> some =
            empty_array<double>({std::min(at_a_time, x.shape(0) - first), a.embed_dim});
        std::copy_n(&x(first, 0), some.size(), some.data());
        Array<double> logits = parameters->vocabulary(parameters->final_norm(some));
        parameters->cap(logits);
        for (std::size_t r = 0; r < some.shape(0); ++r) {
            const std::span<const double> row(&logits(r, 0), logits.shape(1));
            if (!id) id = candidates<double>(row, 1, 1)[0].id;
            const double probability =
                distribution<double>(row)[static_cast<std::size_t>(*id)].probability;
            (first + r == 0 ? effects.probability : effects.heads[first + r - 1].without) =
                probability;
        }
    }
    effects.id = *id;
    return effects;
}

Patching patch(const Model& model, const std::vector<std::int64_t>& here,
               const std::vector<std::int64_t>& there, std::int64_t id, std::int64_t other,
               bool heads, const std::vector<Without>& without) {
    const Architecture& a = model.architecture;
    require_next_token(model);
    model.check_ids({id, other});
    refuse_unless(here.size() == there.size(), "the texts have different lengths in tokens");
    // Activations of the other text, per layer: the heads side by side, or x.
    std::vector<Array<double>> carried;
    const auto parameters = parameters_of<double>(model, KeepWeights::nothing);
    Runtime<double> runtime(parameters, nullptr, edits_of(without, a));
    runtime.watch([&](const LayerPass& passing) { carried.push_back(passing.tensor.as<double>()); },
                  {heads ? "merged" : "x"});
    const Array<double> end = runtime.advance(there);

    std::vector<Branch> branches;
    Patching found;
    for (std::size_t layer = 0; layer < a.layers.size(); ++layer) {
        const Array<double>& theirs = carried[layer];
        for (std::size_t place = 0; place < (heads ? a.heads : here.size()); ++place) {
            Branch& branch = branches.emplace_back(Branch{layer});
            found.carried.push_back({layer, place});
            if (heads) {
                branch.of_context = [&theirs, place, dim = a.head_dim](std::span<double> context) {
                    const std::size_t tokens = theirs.shape(0);
                    for (std::size_t t = 0; t < tokens; ++t) {
                        std::copy_n(&theirs(t, place * dim), dim,
                                    &context[(place * tokens + t) * dim]);
                    }
                };
            } else {
                branch.of_x = [&theirs, place](Array<double>& x) {
                    std::copy_n(&theirs(place, 0), x.shape(1), &x(place, 0));
                };
            }
        }
    }
    const Array<double> x = run_branches(model, here, without, branches);
    found.there = differences(*parameters, end, id, other).back();
    const std::vector<double> all = differences(*parameters, x, id, other);
    found.here = all[0];
    for (std::size_t i = 0; i < branches.size(); ++i) {
        found.carried[i].difference = all[i + 1];
        found.carried[i].share = (all[i + 1] - found.here) / (found.there - found.here);
    }
    return found;
}

}  // namespace attn::models
