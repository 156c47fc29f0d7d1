#include "app/commands/idle_x.hpp"

#include <cmath>

#include "app/flags/walk_flags.hpp"
#include "attn/core/plan/beginnings.hpp"
#include "attn/core/steps/scores.hpp"
#include "attn/ground/tensor/cells.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

/// True if x is query, key and value, as most scores are the products of its rows.
bool is_all_three(const attn::Tensor& x, const attn::Ledger& steps) {
    const attn::Tensor* const scores = steps.find("scores");
    if (x.dimension() != 2 || scores == nullptr || steps.has("query") || steps.has("key") ||
        scores->shape() != attn::Shape{x.shape()[0], x.shape()[0]}) {
        return false;
    }
    const auto rows = attn::tensor_like(x, [&](std::size_t i) { return x.at(i); }).as<double>();
    const attn::Array<double> products = attn::loop::scores(rows, rows);
    std::size_t same = 0;
    attn::each_number(*scores, [&](std::size_t i, double actual) {
        const double product = products.data()[i];
        same += std::abs(product - actual) <= 0.01 * std::abs(product) ? 1U : 0U;
    });
    return 2 * same > products.size();
}

}  // namespace

std::vector<attn::Skipped> drop_idle_x(attn::Ledger& file) {
    std::string x, matrix, value;
    bool has_matrices = false;
    attn::Ledger steps;
    for (const auto& [name, tensor] : file.entries()) {
        const std::string step = given_as(name, tensor);
        if (step == "x") x = name;
        if (step == "w_value") matrix = name;
        if (step == "value") value = name;
        has_matrices = has_matrices || (step.starts_with("w_") && step != "w_value");
        if (!step.empty()) steps.record(step, tensor);
    }
    const bool has_later = !attn::given_beginning(steps).empty() ||
                           (steps.has("query") && steps.has("key") && steps.has("value"));
    const bool makes_value = !matrix.empty() && value.empty();
    if (x.empty() || has_matrices || makes_value || !has_later) return {};
    const attn::Tensor given = file[x];
    file = file.without(x);
    if (matrix.empty() && is_all_three(given, steps)) {
        for (const char* step : {"query", "key", "value"}) file.record(step, given);
        return {};
    }
    const std::string reason = "no matrix computes query and key from x";
    if (matrix.empty()) return {{x, reason}};
    file = file.without(matrix);
    return {{x, reason}, {value, reason + ", so the walk begins after " + attn::visible(value)}};
}

}  // namespace app
