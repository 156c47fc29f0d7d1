#include "attn/models/branches.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "attn/ground/tensor/error.hpp"
#include "attn/judge/mistakes/change.hpp"
#include "attn/models/generate.hpp"

namespace attn::models {
namespace {

/// The edit that puts a head's context of another text, (token, feature of all heads), in its
/// place.
LayerEdit carried_head(std::size_t layer, std::size_t head, std::size_t head_dim,
                       const Array<double>& merged) {
    WrongRule rule;
    rule.step = "context";
    rule.compute = [&merged, head, head_dim](const Plan& plan, const Ledger& ledger,
                                             const Compute& before) {
        const Tensor right = before(plan, ledger);
        Array<double> cells = right.as<double>();
        const std::size_t tokens = merged.shape(0);
        for (std::size_t t = 0; t < tokens; ++t) {
            std::copy_n(&merged(t, head * head_dim), head_dim,
                        cells.data() + (head * tokens + t) * head_dim);
        }
        return Tensor(right.axes(), std::move(cells));
    };
    return {layer, follows(std::move(rule))};
}

/// The difference of the logits of two tokens for each row of x.
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
    refuse_unless(!ids.empty(), "there is no token to go on from: give one");
    struct Running {
        std::size_t row;
        Runtime<double> runtime;
        Array<double> x;
    };
    const auto parameters = parameters_of<double>(model, Hold::nothing);
    const std::vector<LayerEdit> common = edits_of(without, model.architecture);
    std::vector<Running> running;
    running.push_back({0, Runtime<double>(parameters, nullptr, common), {}});
    running[0].x = running[0].runtime.begin(ids);
    for (std::size_t n = 0; n < parameters->layers(); ++n) {
        for (std::size_t b = 0; b < branches.size(); ++b) {
            if (branches[b].layer != n) continue;
            std::vector<LayerEdit> edits = common;
            edits.insert(edits.end(), branches[b].edits.begin(), branches[b].edits.end());
            running.push_back(
                {b + 1, Runtime<double>(parameters, nullptr, std::move(edits)), running[0].x});
            if (branches[b].of_x) branches[b].of_x(running.back().x);
        }
        for (Running& run : running) run.x = run.runtime.through_layer(n, std::move(run.x));
    }
    Array<double> rows = empty_array<double>({1 + branches.size(), model.architecture.embed_dim});
    for (const Running& run : running) {
        std::copy_n(run.x.end() - rows.shape(1), rows.shape(1), &rows(run.row, 0));
    }
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
            branches.push_back({layer, {LayerEdit(Without{layer, Without::Part::head, head}, a)}});
        }
    }
    const Array<double> x = run_branches(model, ids, without, branches);
    const auto parameters = parameters_of<double>(model, Hold::nothing);
    constexpr std::size_t at_a_time = 64;  // logits of a row are many
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
    // What is carried of the other text: the heads side by side, or x, of each layer.
    std::vector<Array<double>> carried;
    const auto parameters = parameters_of<double>(model, Hold::nothing);
    Runtime<double> runtime(parameters, nullptr, edits_of(without, a));
    runtime.watch([&](const Passing& passing) { carried.push_back(passing.tensor.as<double>()); },
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
                branch.edits.push_back(carried_head(layer, place, a.head_dim, theirs));
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
