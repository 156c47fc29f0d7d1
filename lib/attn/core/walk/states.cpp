#include "attn/core/walk/states.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "attn/core/rules/complete.hpp"
#include "attn/core/rules/evaluate.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/matrix_view.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {
namespace {

/// A rule and the outline of its result.
struct RuleTensor {
    Rule rule;
    Outline outline;
};

/// A state and the only step that reads it.
struct Recurrence {
    RuleTensor state, reader;
    std::size_t along = 0;         ///< the axis of the state's rows
    std::size_t reader_along = 0;  ///< and that of the reader
};

RuleTree moved(const std::string& index, std::ptrdiff_t by) {
    return operate_node("+", {name_node(index), number_node(static_cast<double>(by))});
}

/// Returns how many rows before `index` an index is: 0 for `t`, 1 for `t - 1`; nullopt for any
/// other.
std::optional<std::ptrdiff_t> rows_before(const RuleNode& place, const std::string& index) {
    if (place.kind == RuleNode::Kind::name && place.word == index) return 0;
    const bool is_before = is_operation(place, "-") &&
                           place.parts[0]->kind == RuleNode::Kind::name &&
                           place.parts[0]->word == index && is_number(*place.parts[1], 1);
    return is_before ? std::optional<std::ptrdiff_t>(1) : std::nullopt;
}

/// True if all cells of a tensor are read in the row of `index`, or in the previous one; and no sum
/// binds that letter.
bool reads_near(const RuleNode& node, const std::string& tensor, std::size_t axis,
                const std::string& index) {
    if (node.kind == RuleNode::Kind::reduce && node.index == index) return false;
    if (node.kind == RuleNode::Kind::cell && node.word == tensor &&
        !rows_before(*node.parts[axis], index)) {
        return false;
    }
    return std::ranges::all_of(
        node.parts, [&](const RuleTree& part) { return reads_near(*part, tensor, axis, index); });
}

/// Shifts a rule so that its index counts from row `first`, and reads the state from a few rows in
/// memory: row r there is row r of `index`, shifted by `stored`.
RuleTree from_row(const RuleTree& tree, const std::string& index, std::ptrdiff_t first,
                  std::ptrdiff_t stored, const std::string& state, std::size_t along,
                  const std::shared_ptr<const Outline>& rows) {
    return changed(tree, [&](const RuleNode& node) -> RuleTree {
        if (node.kind == RuleNode::Kind::name && node.word == index) return moved(index, first);
        if (node.kind != RuleNode::Kind::cell || node.word != state) return nullptr;
        RuleNode cell = node;
        cell.outline = rows;
        const std::ptrdiff_t before = *rows_before(*node.parts[along], index);
        for (std::size_t axis = 0; axis < cell.parts.size(); ++axis) {
            RuleTree& part = cell.parts[axis];
            part = axis == along ? moved(index, stored - before)
                                 : from_row(part, index, first, stored, state, along, rows);
        }
        return tree_of(std::move(cell));
    });
}

Outline with_rows(Outline outline, std::size_t axis, std::size_t rows) {
    outline.shape[axis] = rows;
    return outline;
}

/// Copies rows to a tensor with more rows, from row `first` on.
template <class T>
void put_rows(const Tensor& rows, std::size_t axis, std::size_t first, Array<T>& whole) {
    const auto [outer, length, row] = axis_view(whole.shape(), axis);
    const std::size_t block = rows.size() / outer;
    const T* from = rows.as<T>().data();
    for (std::size_t i = 0; i < outer; ++i, from += block) {
        std::copy_n(from, block, whole.data() + (i * length + first) * row);
    }
}

/// Computes rows first, first + 1, ... of both: the state's rows after `before`, preceded by that
/// row.
std::pair<Tensor, Tensor> rows_of_both(const Recurrence& of, const Tensor& before,
                                       std::size_t first, std::size_t count, DType type,
                                       const Ledger& ledger) {
    const auto row = static_cast<std::ptrdiff_t>(first);
    const std::string& name = of.state.rule.step;
    const std::string carried = name + " before";
    const Outline result = with_rows(of.state.outline, of.along, count + 1);
    const auto stored = std::make_shared<const Outline>(result);

    Rule state = of.state.rule;
    const std::string& index = state.indices[of.along];
    std::vector<RuleTree> places;
    for (const std::string& letter : state.indices) places.push_back(name_node(letter));
    places[of.along] = number_node(0);
    RuleNode cell{.kind = RuleNode::Kind::cell, .word = carried, .parts = std::move(places)};
    cell.outline = std::make_shared<const Outline>(with_rows(result, of.along, 1));
    state.text.clear();
    state.value = choose_node(operate_node("==", {name_node(index), number_node(0)}),
                              tree_of(std::move(cell)),
                              from_row(state.value, index, row - 1, 0, name, of.along, stored));
    const auto known = [&](const std::string& called) -> const Tensor& {
        return called == carried ? before : ledger[called];
    };
    Tensor states = evaluate_completed(state, result, type, {known, {}});

    Rule reader = of.reader.rule;
    reader.text.clear();
    reader.value =
        from_row(reader.value, reader.indices[of.reader_along], row, 1, name, of.along, stored);
    const auto with_states = [&](const std::string& called) -> const Tensor& {
        return called == name ? states : ledger[called];
    };
    Tensor read = evaluate_completed(reader, with_rows(of.reader.outline, of.reader_along, count),
                                     type, {with_states, {}});
    return {slice_of_axis(states, of.along, count, 1), std::move(read)};
}

/// Computes the reader's tensor, a few rows at a time.
Tensor read_along(const Recurrence& of, DType type, const Ledger& ledger, std::size_t max_numbers) {
    const std::size_t all = of.state.outline.shape[of.along];
    const Outline one = with_rows(of.state.outline, of.along, 1);
    return with_floating(type, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> nothing = empty_array<T>(one.shape);
        std::fill_n(nothing.data(), nothing.size(), T{});
        const std::size_t at_once =
            std::max<std::size_t>(max_numbers / std::max<std::size_t>(nothing.size(), 1), 1);
        Tensor before(one.axes, std::move(nothing));
        Array<T> whole = empty_array<T>(of.reader.outline.shape);
        for (std::size_t first = 0; first < all; first += at_once) {
            const std::size_t count = std::min(at_once, all - first);
            auto [last, read] = rows_of_both(of, before, first, count, type, ledger);
            put_rows(read, of.reader_along, first, whole);
            before = std::move(last);
        }
        return {of.reader.outline.axes, std::move(whole)};
    });
}

std::optional<RuleTensor> computed_by(const PlannedStep& of) {
    if (of.step.file.empty() || !of.step.applies(of.plan)) return std::nullopt;
    const std::optional<Rule> rule = rule_of(of);
    if (!rule) return std::nullopt;
    return RuleTensor{*rule, of.step.outline(of.plan)};
}

/// Returns the step that reads a state row by row; nullopt if there are other readers, or none.
std::optional<std::size_t> reader_of(const StepTable& table, const Plan& plan, std::size_t at,
                                     Recurrence& of) {
    std::optional<std::size_t> reader;
    for (std::size_t i = at + 1; i < table.size(); ++i) {
        const PlannedStep step{plan, table, table[i]};
        if (!table[i].applies(plan) || !step.reads(table[at].name)) continue;
        if (reader) return std::nullopt;
        reader = i;
    }
    if (!reader) return std::nullopt;
    const std::optional<RuleTensor> result = computed_by({plan, table, table[*reader]});
    if (!result || !orders_of(result->rule).empty()) return std::nullopt;
    const std::vector<std::string>& letters = result->rule.indices;
    for (std::size_t axis = 0; axis < letters.size(); ++axis) {
        const bool fits = result->outline.shape[axis] == of.state.outline.shape[of.along] &&
                          reads_near(*result->rule.value, table[at].name, of.along, letters[axis]);
        if (!fits) continue;
        of.reader = *result;
        of.reader_along = axis;
        return reader;
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::size_t> state_axis(const Rule& rule) {
    const std::vector<RuleOrder> orders = orders_of(rule);
    if (orders.size() != 1 || orders[0].backwards) return std::nullopt;
    const std::size_t axis = orders[0].axis;
    const bool is_near = reads_near(*rule.value, rule.step, axis, rule.indices[axis]);
    return is_near ? std::optional(axis) : std::nullopt;
}

StepTable without_states(const StepTable& table, const Plan& plan,
                         const std::set<std::string>& kept, std::size_t max_numbers) {
    StepTable without = table;
    if (is_16_bit(plan.compute_dtype)) return without;
    std::set<std::size_t> readers;  // each is computed along with one state
    for (std::size_t at = 0; at < table.size(); ++at) {
        if (kept.contains(table[at].name)) continue;
        std::optional<RuleTensor> state = computed_by({plan, table, table[at]});
        if (!state) continue;
        const std::optional<std::size_t> along = state_axis(state->rule);
        if (!along) continue;
        Recurrence of{*std::move(state), {}, *along, 0};
        const std::optional<std::size_t> reader = reader_of(table, plan, at, of);
        if (!reader || !readers.insert(*reader).second) continue;
        without[*reader].compute = [of, max_numbers](const Plan& now, const Ledger& ledger) {
            return read_along(of, now.compute_dtype, ledger, max_numbers);
        };
        without[at].applies = [](const Plan&) { return false; };
    }
    return without;
}

}  // namespace attn
