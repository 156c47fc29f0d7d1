#include <cmath>
#include <limits>

#include "attn/explain/diagnose.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

/// Every floating cell of a tensor passed through `f`.
template <class F>
Tensor mapped(const Tensor& tensor, F&& f) {
    return with_floating(tensor.dtype(), [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> cells = tensor.as<T>();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells.data()[i] = static_cast<T>(f(static_cast<double>(cells.data()[i])));
        }
        return {tensor.axes(), std::move(cells)};
    });
}

Mistake large_negative_fill(double fill, const std::string& word) {
    Mistake entry;
    entry.id = "finite-fill=" + word;
    entry.step = "masked_scores";
    entry.title = "Hidden scores hold " + word + " instead of -inf";
    entry.effect = "after softmax there is no difference as long as a row keeps one visible key";
    entry.learner = "A number far below every score hides a key as well as -inf does.";
    entry.obstacle = unless([](const Plan& plan) { return plan.masks(); }, "nothing is masked");
    entry.apply = made(rework(
        {"masked_scores"}, [fill](const Plan& plan, const Ledger& ledger, const Compute& before) {
            return mapped(before(plan, ledger), [fill](double score) {
                return score == -std::numeric_limits<double>::infinity() ? fill : score;
            });
        }));
    return entry;
}

Mistake added_fill(double fill, const std::string& word) {
    Mistake entry;
    entry.id = "added-fill=" + word;
    entry.step = "masked_scores";
    entry.title = word + " was added to hidden scores";
    entry.effect = "after softmax there is no difference as long as a row keeps one visible key";
    entry.learner = "A number far below every score hides a key as well as -inf does.";
    entry.obstacle = unless([](const Plan& plan) { return plan.masks(); }, "nothing is masked");
    entry.apply = made(rework(
        {"masked_scores"}, [fill](const Plan& plan, const Ledger& ledger, const Compute& before) {
            const Tensor& scores = unmasked(ledger);
            std::size_t cell = 0;
            return mapped(before(plan, ledger), [&](double masked) {
                const double added = scores.at(cell++) + fill;
                return masked == -std::numeric_limits<double>::infinity() ? added : masked;
            });
        }));
    return entry;
}

Mistake scaled_query() {
    Mistake entry;
    entry.id = "query-scaled-first";
    entry.step = "query";
    entry.title = "The query was scaled before it met the keys";
    entry.effect = "the scores come out scaled already";
    entry.learner = "Scaling the query or scaling the scores is the same product.";
    entry.obstacle = unless([](const Plan& plan) { return plan.scales(); }, "nothing is scaled");
    entry.apply = made(
        all_of({rework({"query"},
                       [](const Plan& plan, const Ledger& ledger, const Compute& before) {
                           const ScaleFactor factor = plan.scale;
                           return mapped(before(plan, ledger), [factor](double value) {
                               return factor.operation == ScaleFactor::Operation::divide
                                          ? value / factor.number
                                          : value * factor.number;
                           });
                       }),
                rework({"scaled_scores"}, [](const Plan&, const Ledger& ledger, const Compute&) {
                    return ledger.latest(Chain::scores, "scaled_scores");
                })}));
    return entry;
}

}  // namespace

const std::vector<Mistake>& harmless_differences() {
    static const std::vector<Mistake> all{
        large_negative_fill(-1e9, "-1e9"),
        large_negative_fill(-1e10, "-1e10"),
        large_negative_fill(-std::numeric_limits<float>::max(), "the lowest float"),
        added_fill(-1e4, "-1e4"),
        added_fill(-1e9, "-1e9"),
        scaled_query()};
    return all;
}

}  // namespace attn
