#include "app/commands/shown_settings.hpp"

#include <algorithm>
#include <cmath>

#include "attn/core/plan/beginnings.hpp"
#include "attn/core/steps/softmax.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

/// Returns the width d for which most rows of the scaled scores, or of the weights without them,
/// follow from scores divided by sqrt(d), to the precision that all were printed with: a row may
/// have a misprint. Of several, the nearest. 1 if there is no such width. A bias is added before
/// softmax, which leaves out the keys whose weights are 0.
std::size_t width_between(const attn::Tensor& scores, const attn::Tensor* scaled,
                          const attn::Tensor* weights, const attn::Tensor* bias) {
    constexpr double usual = 1e-5;
    const attn::Printed of_scores = attn::printed_alone(scores);
    const attn::Tensor& computed = scaled != nullptr ? *scaled : *weights;
    const attn::Printed of_computed = attn::printed_alone(computed);
    const std::size_t keys = scores.shape().back(), axis = scores.dimension() - 1;
    // The number of rows that follow, and how far all cells are off.
    const auto fit_of = [&](std::size_t width) {
        const double root = std::sqrt(static_cast<double>(width));
        attn::Array<double> result = attn::empty_array<double>(scores.shape());
        std::vector<double> lost(scores.size() / keys, 0);  // of each row
        attn::each_number(scores, [&](std::size_t i, double score) {
            result.data()[i] = score / root;
            if (!std::isfinite(score)) return;
            lost[i / keys] = std::max(lost[i / keys], of_scores.cut(score) / root);
        });
        if (scaled == nullptr) {
            attn::each_number(computed, [&](std::size_t i, double weight) {
                if (bias != nullptr) result.data()[i] += bias->at(i % bias->size());
                if (weight == 0) result.data()[i] = -HUGE_VAL;
            });
            result = attn::loop::softmax(std::move(result), axis);
        }
        std::vector<bool> follows(scores.size() / keys, true);
        double off = 0;
        attn::each_number(computed, [&](std::size_t i, double actual) {
            const double correct = result.data()[i];
            const double slope = scaled != nullptr ? 1 : 2 * correct * (1 - correct);
            const double near = of_computed.count > 0 ? 1.2 * of_computed.cut(actual) : usual;
            const bool is_it = attn::same_number(correct, actual) ||
                               std::abs(correct - actual) <= near + 1.2 * slope * lost[i / keys];
            if (!is_it) follows[i / keys] = false;
            if (std::isfinite(correct - actual)) off += std::abs(correct - actual);
        });
        return std::pair(std::ranges::count(follows, true), -off);
    };
    constexpr std::size_t widest = 1024;
    const auto all = static_cast<std::ptrdiff_t>(scores.size() / keys);
    std::size_t best = 1;
    auto most = fit_of(best);
    for (std::size_t width = 2; width <= widest && keys > 1 && most.first < all; ++width) {
        const auto fit = fit_of(width);
        if (fit.first > 0 && fit > most) best = width, most = fit;
    }
    return best;
}

}  // namespace

void begin_later(const attn::Ledger& named, const attn::SpecifiedSettings& settings,
                 DiagnosedWalk& requested) {
    const std::string step = attn::given_beginning(named);
    attn::Ledger start;
    for (const std::string& name : {step, std::string(step == "query" ? "key" : "value")}) {
        const attn::Tensor* tensor = named.find(name);
        if (tensor != nullptr && tensor->dimension() > 1) start.record(name, *tensor);
    }
    attn::take_direct(start, settings, requested.config);
    attn::Ledger rest;
    for (const auto& actual : requested.user_tensors.entries()) {
        const auto is_in_use = [&](const auto& entry) {
            return attn::same_numbers(named[entry.name], actual.tensor);
        };
        if (std::ranges::none_of(start.entries(), is_in_use)) {
            rest.record(actual.name, actual.tensor);
        }
    }
    requested.user_tensors = std::move(rest);
    for (const auto& [name, tensor] : start.entries()) {
        requested.config.parameters.record(name, tensor);
    }
    if (step != "scores" || requested.config.head_dim) return;
    const attn::Tensor& scores = named["scores"];
    const auto beside = [&](const char* name) {
        const attn::Tensor* const tensor = named.find(name);
        return tensor != nullptr && tensor->shape() == scores.shape() ? tensor : nullptr;
    };
    const attn::Tensor *const scaled = beside("scaled_scores"), *const weights = beside("weights");
    const auto& added = requested.config.position_bias;
    const bool is_like = added && added->given && added->given->dimension() > 1 &&
                         scores.size() % added->given->size() == 0 &&
                         added->given->shape().back() == scores.shape().back();
    const attn::Tensor* const bias = is_like ? &*added->given : nullptr;
    std::size_t width = scaled != nullptr ? width_between(scores, scaled, nullptr, nullptr) : 1;
    if (width == 1 && weights != nullptr) width = width_between(scores, nullptr, weights, bias);
    const auto ratio =
        scaled != nullptr && width == 1 ? attn::ratio_between(*scaled, scores) : std::nullopt;
    requested.config.scale = ratio ? attn::ScaleChoice{attn::ScaleChoice::By::number, *ratio}
                                   : attn::ScaleChoice{attn::ScaleChoice::By::none, 1};
    if (width > 1) {
        requested.config.scale = {};
        requested.config.head_dim = width;
        requested.assumed.push_back("the scores are divided by the square root of " +
                                    std::to_string(width));
    }
}

void take_dropout(const attn::Ledger& named, DiagnosedWalk& requested) {
    const attn::Tensor *const weights = named.find("weights"), *const dropped =
                                                                   named.find("dropped_weights");
    attn::Dropout& dropout = requested.config.dropout;
    if (weights == nullptr || dropped == nullptr || weights->shape() != dropped->shape()) return;
    if (dropout.p > 0 || !weights->is_floating()) return;
    const double near =
        std::max(attn::printed_alone(*weights).cut(1), 4 * attn::epsilon(weights->dtype()));
    const double share = attn::share_dropped(weights->numbers(), dropped->numbers(), near);
    if (share == 0) return;
    attn::set_shown_dropout(share, *dropped, dropout);
    requested.assumed.push_back("dropout of " + attn::brief(share) +
                                ", where the weights became 0");
}

}  // namespace app
