#include "attn/explain/why/why.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "attn/core/rules/indices.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/why/rule_cell.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {
namespace {

/// A pattern that is being collected.
struct Gathered {
    std::string arithmetic;
    bool is_sum = false;
    std::vector<std::vector<ReadCell>> terms;  ///< the factors of each term, in the first cell
    std::vector<bool> exponential;             ///< by term
    std::vector<std::size_t> cells;            ///< the index of each
    /// The index of each factor in its own tensor: cell by cell, term by term.
    std::vector<std::size_t> factors;
};

/// Returns the common text of a pattern's cells; equal addends are counted.
std::string key_of(const ComputedCell& computed) {
    std::string key = computed.is_copy ? "copy " : computed.text;
    const auto add = [&](const ReadCell& cell) { (key += ' ') += *cell.step; };
    for (const ReadCell& cell : computed.cells) add(cell);
    const auto reads_same = [](const ReadCell& one, const ReadCell& other) {
        return one.step == other.step;
    };
    const auto are_alike = [&](const ComputedCell::Addend& one, const ComputedCell::Addend& other) {
        return one.form == other.form && std::ranges::equal(one.cells, other.cells, reads_same);
    };
    std::size_t alike = 1;
    for (std::size_t i = 0; i < computed.addends.size(); ++i, ++alike) {
        const ComputedCell::Addend& addend = computed.addends[i];
        if (i > 0 && are_alike(computed.addends[i - 1], addend)) continue;
        key += std::to_string(alike);
        key += addend.form == AddendForm::exponential ? " exp" : " +";
        for (const ReadCell& cell : addend.cells) add(cell);
        alike = 0;
    }
    return key + std::to_string(alike);
}

/// Returns the text for the page to fill in: names for copied cells, values for others.
std::string with_places(const ComputedCell& computed) {
    if (computed.is_copy) return computed.text;
    std::size_t place = 0;
    return filled(computed.text, computed.cells,
                  [&](const ReadCell&) { return "{" + std::to_string(place++) + "v}"; });
}

Gathered begun(const ComputedCell& computed) {
    Gathered pattern{with_places(computed), computed.is_sum, {}, {}, {}, {}};
    for (const ReadCell& cell : computed.cells) pattern.terms.push_back({cell});
    for (const ComputedCell::Addend& addend : computed.addends) {
        pattern.terms.push_back(addend.cells);
        pattern.exponential.push_back(addend.form == AddendForm::exponential);
    }
    return pattern;
}

void gather(Gathered& pattern, std::size_t number, const ComputedCell& computed) {
    pattern.cells.push_back(number);
    for (const ReadCell& cell : computed.cells) pattern.factors.push_back(cell.number);
    for (const ComputedCell::Addend& addend : computed.addends) {
        for (const ReadCell& cell : addend.cells) pattern.factors.push_back(cell.number);
    }
}

/// Sums of terms other than cells, products and exponentials are described by their rule alone.
ComputedCell derivable(ComputedCell computed) {
    const auto is_other = [](const ComputedCell::Addend& each) {
        return each.form == AddendForm::other;
    };
    if (std::ranges::any_of(computed.addends, is_other)) return {};
    // Cells of the condition that chose a side come after the cells of that side.
    computed.cells.insert(computed.cells.end(), computed.conditions.begin(),
                          computed.conditions.end());
    return computed;
}

std::vector<std::string> steps_of(const std::vector<ReadCell>& cells) {
    std::vector<std::string> steps;
    for (const ReadCell& cell : cells) steps.push_back(*cell.step);
    return steps;
}

/// Factors at the same place in each of `count` consecutive terms.
struct FactorRun {
    std::size_t first;     ///< among all factors of a cell
    std::size_t distance;  ///< from one term to the next
    std::size_t count;
};

/// Describes the places of these factors, over all cells of a pattern.
SourceCells source_cells(const Gathered& pattern, const std::string& step, const FactorRun& run,
                         const Shape& shape) {
    const std::vector<std::size_t>& all = pattern.cells;
    const std::size_t of_each = pattern.factors.size() / all.size();
    const auto number = [&](std::size_t i, std::size_t term) {
        return static_cast<std::ptrdiff_t>(
            pattern.factors[i * of_each + run.first + term * run.distance]);
    };
    SourceCells cells{step};
    // Find the stride along each axis, and check it for all cells.
    std::vector<std::ptrdiff_t> strides(shape.size() + 2, 0);
    if (run.count > 1) strides.back() = number(0, 1) - number(0, 0);
    std::size_t length = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; length *= shape[axis]) {
        // The indices ascend, so the neighbour along an axis is found by binary search.
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i] / length % shape[axis] + 1 == shape[axis]) continue;
            const auto next = std::lower_bound(all.begin(), all.end(), all[i] + length);
            if (next == all.end() || *next != all[i] + length) continue;
            strides[axis + 1] =
                number(static_cast<std::size_t>(next - all.begin()), 0) - number(i, 0);
            break;
        }
    }
    const auto guess = [&](std::size_t i, std::size_t term) {
        std::ptrdiff_t place = strides[0] + strides.back() * static_cast<std::ptrdiff_t>(term);
        std::size_t rest = all[i];
        for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
            place += strides[axis + 1] * static_cast<std::ptrdiff_t>(rest % shape[axis]);
        }
        return place;
    };
    strides[0] = number(0, 0) - guess(0, 0);
    const auto is_right = [&](std::size_t i) {
        const std::ptrdiff_t first = guess(i, 0);
        for (std::size_t t = 0; t < run.count; ++t) {
            if (first + strides.back() * static_cast<std::ptrdiff_t>(t) != number(i, t))
                return false;
        }
        return true;
    };
    std::size_t right = 0;
    while (right < all.size() && is_right(right)) ++right;
    if (right == all.size()) {
        cells.strides = std::move(strides);
        return cells;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t t = 0; t < run.count; ++t) {
            cells.numbers.push_back(static_cast<std::size_t>(number(i, t)));
        }
    }
    return cells;
}

/// Converts ascending numbers to first, count, first, count, ...
std::vector<std::size_t> in_runs(const std::vector<std::size_t>& numbers) {
    std::vector<std::size_t> runs;
    for (const std::size_t number : numbers) {
        if (!runs.empty() && runs[runs.size() - 2] + runs.back() == number) {
            ++runs.back();
        } else {
            runs.insert(runs.end(), {number, 1});
        }
    }
    return runs;
}

DerivationPattern pattern_of(const Gathered& gathered, const std::string& rule,
                             const Shape& shape) {
    DerivationPattern pattern{
        rule, gathered.arithmetic, gathered.is_sum, {}, in_runs(gathered.cells)};
    const auto& terms = gathered.terms;
    std::size_t begin = 0;
    for (std::size_t first = 0; first < terms.size();) {
        const std::vector<std::string> steps = steps_of(terms[first]);
        std::size_t count = 1;
        while (gathered.is_sum && first + count < terms.size() &&
               gathered.exponential[first] == gathered.exponential[first + count] &&
               steps == steps_of(terms[first + count])) {
            ++count;
        }
        TermRun run{count};
        run.is_exponential = gathered.is_sum && gathered.exponential[first];
        for (std::size_t factor = 0; factor < steps.size(); ++factor) {
            run.factors.push_back(source_cells(gathered, steps[factor],
                                               {begin + factor, steps.size(), count}, shape));
        }
        pattern.terms.push_back(std::move(run));
        first += count;
        begin += count * steps.size();
    }
    return pattern;
}

/// True if an expression reads cells whose indices are linear in each index, and does not depend on
/// indices or numbers otherwise: its text is the same for all cells.
bool is_even(const RuleNode& node, const std::vector<std::string>& indices) {
    using Kind = RuleNode::Kind;
    switch (node.kind) {
        case Kind::number:
            return true;
        case Kind::name:
            return std::ranges::find(indices, node.word) == indices.end();
        case Kind::cell:
            return std::ranges::all_of(node.parts, [](const RuleTree& index) {
                const std::optional<Linear> steps = Linear::of(*index, {});
                return steps && std::ranges::all_of(steps->parts(), [](const Linear::Part& part) {
                           return part.atom->kind == Kind::name;
                       });
            });
        case Kind::choose:
        case Kind::reduce:
            return false;
        case Kind::call:
            if (node.word == "max" || node.word == "min") return false;
            [[fallthrough]];
        case Kind::operate:
            return std::ranges::all_of(
                node.parts, [&](const RuleTree& part) { return is_even(*part, indices); });
    }
    return false;
}

/// True if all cells are computed like the first one: from such expressions, and sums of them.
bool makes_cells_alike(const RuleNode& node, const std::vector<std::string>& indices) {
    const auto of_parts = [&](const RuleTree& part) { return makes_cells_alike(*part, indices); };
    if (is_operation(node, "+")) return std::ranges::all_of(node.parts, of_parts);
    if (node.kind != RuleNode::Kind::reduce) return is_even(node, indices);
    const auto is_fixed = [&](const RuleTree& end) {
        return end->parts.empty() && is_even(*end, indices);
    };
    std::vector<std::string> inside = indices;
    inside.push_back(node.index);
    return node.word == "sum" && is_fixed(node.parts[0]) && is_fixed(node.parts[1]) &&
           is_even(*node.parts[2], inside);
}

std::vector<std::size_t> all_cells(std::size_t size) {
    std::vector<std::size_t> cells(size);
    std::iota(cells.begin(), cells.end(), std::size_t{0});
    return cells;
}

/// Returns the first cell of a tensor that is not empty, and its neighbour along each axis.
std::vector<std::size_t> first_cells(const Shape& shape) {
    std::vector<std::size_t> cells{0};
    std::size_t length = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; length *= shape[axis]) {
        if (shape[axis] > 1) cells.push_back(length);
    }
    return cells;
}

}  // namespace

std::vector<DerivationPattern> derivation_patterns(const Plan& plan, const StepTable& table,
                                                   const Ledger& ledger, const std::string& name) {
    const PlannedStep of{plan, table, find_step(table, name)};
    const Tensor& tensor = ledger[name];
    const std::optional<Rule> rule = rule_of(of);
    if (!rule || !fits(*rule, of, ledger) || tensor.size() > most_derived_cells) return {};
    const Shape shape = tensor.shape();
    RuleCell follows(*rule, ledger);
    std::vector<Gathered> gathered;
    std::unordered_map<std::string, std::size_t> known;
    const bool are_alike = tensor.size() > 0 && makes_cells_alike(*rule->value, rule->indices);
    const auto followed = are_alike ? first_cells(shape) : all_cells(tensor.size());
    for (const std::size_t number : followed) {
        const ComputedCell computed = derivable(follows.at(indices_of(number, shape)));
        const auto [place, is_new] = known.try_emplace(key_of(computed), gathered.size());
        if (is_new) gathered.push_back(begun(computed));
        gather(gathered[place->second], number, computed);
    }
    const std::string printed = displayed_rule(of);
    std::vector<DerivationPattern> patterns;
    for (const Gathered& one : gathered) {
        patterns.push_back(pattern_of(one, printed.substr(printed.find(" = ") + 3), shape));
    }
    if (are_alike) patterns.front().cells = {0, tensor.size()};
    return patterns;
}

}  // namespace attn
