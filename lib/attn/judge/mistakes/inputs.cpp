#include <algorithm>
#include <map>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/ground/tensor/xtensor.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/mistakes/change.hpp"

// Ids counted with repeats, and exchanged axes.

namespace attn {
namespace {

/// Returns the ids that result from numbering the sorted words without dropping repeated ones: each
/// word gets the number of its last repetition.
std::map<std::int64_t, std::int64_t> ids_with_repeats(const Tokens& tokens) {
    std::vector<std::int64_t> sorted;
    for (const auto& sequence : tokens.sequences) {
        for (const std::int64_t id : sequence) {
            if (!tokens.pad_id || id != *tokens.pad_id) sorted.push_back(id);
        }
    }
    std::sort(sorted.begin(), sorted.end());
    std::map<std::int64_t, std::int64_t> numbered;
    if (tokens.pad_id) numbered[*tokens.pad_id] = *tokens.pad_id;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        numbered[sorted[i]] = sorted.front() + static_cast<std::int64_t>(i);
    }
    return numbered;
}

Tensor renumbered(const Plan& plan, const Tensor& ids) {
    const auto numbers = ids_with_repeats(std::get<Tokens>(plan.config.input));
    Array<std::int64_t> result = ids.as<std::int64_t>();
    for (std::int64_t& id : result) id = numbers.contains(id) ? numbers.at(id) : id;
    return {ids.axes(), result};
}

std::string renumbered_lines(const StepLines& of, const std::string&) {
    const DrawList list = draw_list(of.plan);
    const Tensor ids = drawn_tensor(*find_drawn(list, "ids"), of.plan.dtype);
    return "ids = " + tensor_literal(renumbered(of.plan, ids), of.plan.dtype, of.language);
}

StepTable count_repeated_words(StepTable table, const Plan& plan) {
    for (Step& step : table) step.replaces_given = step.replaces_given || step.name == "ids";
    return follows({.step = "ids",
                    .compute = [](const Plan& of, const Ledger& ledger,
                                  const Compute&) { return renumbered(of, ledger["ids"]); },
                    .formula = "the number of each token, repeated ones counted twice",
                    .lines = renumbered_lines})(std::move(table), plan);
}

/// Exchanges the axes `a` and `b` of a tensor, but not their names.
Tensor exchanged(const Tensor& tensor, std::size_t a, std::size_t b) {
    std::vector<std::size_t> order(tensor.dimension());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::swap(order.at(a), order.at(b));
    return std::visit(
        [&](const auto& array) -> Tensor {
            using T = typename std::decay_t<decltype(array)>::value_type;
            return {tensor.axes(), evaluated<T>(xt::transpose(as_xtensor(array), order))};
        },
        tensor.values());
}

/// Exchanges batch and tokens of x and memory, and again in the last tensor.
StepTable exchange_axes(StepTable table, const Plan& plan) {
    std::string last;
    for (const Step& step : table) {
        if (step.chain == Chain::contexts && step.applies(plan)) last = step.name;
    }
    const auto exchange_sources = [](const Plan& of, const Ledger& ledger, const Compute& before) {
        Ledger other = ledger;
        for (const std::string& name : {of.projected_x(), std::string("memory")}) {
            if (const Tensor* source = ledger.find(name)) {
                other.record(name, exchanged(*source, 0, 1));
            }
        }
        return before(of, other);
    };
    const auto exchanged_lines = [](const StepLines& of, const std::string& right) {
        const auto first = std::ranges::find_if(of.table, [&](const Step& step) {
            return step.applies(of.plan) && std::ranges::count(projecting_steps, step.name) > 0;
        });
        if (first->name != of.step.name) return right;
        const std::string x = of.plan.projected_x();
        std::string code = x + " = " + of.swapped(x, "0, 1") + "\n";
        if (of.plan.has_memory) code += "memory = " + of.swapped("memory", "0, 1") + "\n";
        return code + right;
    };
    const auto swap_lengths = [](Plan& other) {
        std::swap(other.batch, other.query_len);
        other.key_len = other.query_len;
    };
    // Positions were already added to x.
    std::vector<std::string> from_projections;
    for (const Step& step : table) {
        const bool projects = std::ranges::count(projecting_steps, step.name) > 0;
        if (projects || !from_projections.empty()) from_projections.push_back(step.name);
    }
    std::vector<TableEdit> edits{
        with_plan(from_projections, swap_lengths),
        follows({.step = last,
                 .outline = find_step(table, last).outline,
                 .compute =
                     [](const Plan& of, const Ledger& ledger, const Compute& before) {
                         const Tensor computed = before(of, ledger);
                         return exchanged(computed, 0, computed.dimension() - 2);
                     },
                 .lines =
                     [last](const StepLines& of, const std::string& right) {
                         return right + "\n" + last + " = " + of.swapped(last, "0, -2");
                     }})};
    for (const std::string& step : projecting_steps) {
        edits.push_back(
            follows({.step = step, .compute = exchange_sources, .lines = exchanged_lines}));
    }
    return all_of(edits)(std::move(table), plan);
}

}  // namespace

std::string repeats_exceed_memory(const Plan& plan) {
    const auto* tokens = std::get_if<Tokens>(&plan.config.input);
    if (tokens == nullptr || !plan.has_x()) return "the input has no token ids";
    bool repeats = false;
    for (const auto& [id, other] : ids_with_repeats(*tokens)) {
        repeats = repeats || id != other;
        if (other >= tokens->vocab_size.value_or(0)) {
            return "the embedding table has no row for id " + std::to_string(other) +
                   ": a larger $vocab-size would hide the mistake"_message;
        }
    }
    return repeats ? "" : "no token repeats";
}

TableEdit count_repeats(const std::string&) { return count_repeated_words; }
TableEdit exchange_batch_and_tokens(const std::string&) { return exchange_axes; }

}  // namespace attn
