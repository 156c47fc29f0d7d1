#include <algorithm>
#include <cmath>

#include "app/commands/diagnose_setup.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

// Finds x in a file in which no tensor has that name.

namespace app {
namespace {

/// True if the tensor has tokens with features, as many as the matrices that multiply x have rows
/// or columns; without matrices, as many numbers as the query. No mask has numbers of both signs.
bool has_shape_of_x(const attn::Ledger& named, const attn::Tensor& tensor) {
    const attn::Shape shape = tensor.shape();
    if (shape.size() != 2 && shape.size() != 3) return false;
    const attn::Tensor* matrix = named.find(named.has("w_qkv") ? "w_qkv" : "w_query");
    const attn::Shape sides = matrix != nullptr ? matrix->shape() : attn::Shape();
    const bool fits = matrix != nullptr
                          ? sides.size() == 2 && std::ranges::count(sides, shape.back()) > 0
                          : named["query"].size() == tensor.size();
    bool is_below = false, is_above = false;
    attn::each_number(tensor, [&](std::size_t, double number) {
        is_below = is_below || (number < 0 && std::isfinite(number));
        is_above = is_above || number > 0;
    });
    return fits && is_below && is_above;
}

}  // namespace

MayBeX::MayBeX(const attn::Ledger& named, const attn::Ledger& file,
               const std::map<std::string, std::string>& step_of) {
    for (const auto& [name, step] : step_of) {
        if (!has_shape_of_x(named, file[name])) continue;
        const std::vector<std::string> steps = attn::known_steps(name);
        // A query may be x before its projection, but does not have the name x.
        const bool is_side = step == "query" || step == "key" || step == "value";
        if (!is_side && std::ranges::count(steps, "x") > 0) {
            // `embedding` is also the table of all words.
            const bool may_be_table = step == name && (named.has("w_query") || named.has("w_qkv"));
            (may_be_table ? others : called).push_back(name);
        } else if (step.empty() || step == "mask") {
            nameless.push_back(name);
        } else if (step != name) {
            others.push_back(name);
        }
    }
}

std::string MayBeX::only() const {
    const std::vector<std::string>& likely = called.empty() ? nameless : called;
    return likely.size() == 1 ? likely.front() : "";
}

std::map<std::string, std::string> bare_parameters(const attn::Ledger& named,
                                                   const attn::Ledger& file) {
    std::map<std::string, std::string> read;
    const attn::Tensor* x = named.find("x");
    if (x == nullptr || x->dimension() < 2) return read;
    const std::size_t features = x->shape().back(), tokens = x->shape()[x->dimension() - 2];
    for (const auto& [name, tensor] : file.entries()) {
        const attn::Shape sides = tensor.shape();
        const bool is_matrix = sides.size() == 2 && std::ranges::count(sides, features) > 0 &&
                               std::ranges::count(sides, tokens) == 0;
        const std::string parameter = attn::parameter_called(name + ".weight");
        if (is_matrix && !parameter.empty() && !named.has(parameter)) read[name] = parameter;
    }
    std::size_t sides = 0;
    for (const auto& [name, parameter] : read) {
        sides += parameter == "w_query" || parameter == "w_key" || parameter == "w_value" ? 1 : 0;
    }
    return sides == 3 ? read : std::map<std::string, std::string>();
}

bool corrects_others(const DiagnosedWalk& requested) {
    try {
        const attn::Plan plan = attn::resolve(requested.config);
        const attn::DiagnoseOptions options;
        const attn::Judge judge(plan, attn::draw(plan), options);
        std::vector<attn::Skipped> skipped;
        const auto tensors =
            attn::read_user_tensors(plan, judge, requested.user_tensors, options, skipped);
        return std::ranges::any_of(tensors, &attn::UserTensor::is_right);
    } catch (const attn::Error&) {
        return false;  // these parameters cannot multiply it
    }
}

}  // namespace app
