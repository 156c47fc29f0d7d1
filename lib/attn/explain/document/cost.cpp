#include "attn/explain/document/cost.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/explain/document/resized.hpp"
#include "attn/ground/tensor/error.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;
using Names = std::set<std::string>;
/// A number of a rule at each size of the walk; Nodes are one node of its tree at each.
using AtSizes = std::vector<double>;
using Nodes = std::vector<const RuleNode*>;

/// Evaluates an expression of indices.
///
/// Errors  ConfigError if it depends on numbers.
double number_at(const RuleNode& node, const Sizes& indices) {
    if (node.kind == Kind::number) return node.number;
    if (node.kind == Kind::name) return indices.at(node.word);
    if (node.kind == Kind::cell || node.kind == Kind::reduce) {
        throw ConfigError("a range that depends on numbers has no cost");
    }
    const double x = number_at(*node.parts[0], indices);
    if (node.kind == Kind::choose) return number_at(*node.parts[x != 0 ? 1 : 2], indices);
    const double y = node.parts.size() > 1 ? number_at(*node.parts[1], indices) : x;
    return find_rule_function(node.word, node.parts.size())->value(x, y);
}

/// An index of a rule around a node.
struct IndexRange {
    std::string index;
    Nodes first{}, end{};  ///< of a sum; empty for an index of the result
    AtSizes lengths{};
    SizePolynomial size{};
    Names follows{};  ///< the indices that its ends depend on, and itself
};

class CostCounter {
public:
    explicit CostCounter(std::vector<Resized> walks) : walks_(std::move(walks)) {
        for (const auto& [x, size] : walks_[0].sizes) {
            terms_.insert(terms_.begin(), {{x, 1}});
            terms_.push_back({{x, 2}});
            for (const auto& [y, other] : walks_[0].sizes) {
                if (x < y) terms_.push_back({{x, 1}, {y, 1}});
                if (x != y) terms_.push_back({{x, 1}, {y, -1}});
            }
        }
    }

    /// Counts the operations of a step, and notes the rows that it reads.
    StepCost of(const Step& step, const StepTable& table) {
        ranges_.clear();
        step_ = &step;
        counted_.clear();
        axes_ = step.outline(walks_[0].plan).axes;
        std::vector<Rule> rules;
        Nodes roots;
        for (const Resized& each : walks_) {
            std::optional<Rule> rule = rule_of({each.plan, table, step});
            if (!rule) return {step.name};
            roots.push_back(rule->value.get());
            rules.push_back(std::move(*rule));
        }
        for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
            const std::string& index = rules[0].indices[axis];
            const AtSizes lengths = lengths_of(step, axis);
            ranges_.push_back(
                {index, {}, {}, lengths, polynomial(lengths, step.name + "." + index), {index}});
        }
        orders_ = orders_of(rules.back());
        StepCost cost{step.name};
        count(roots, cost);
        // Heads that share keys keep them once.
        const RuleNode& root = *roots[0];
        const bool is_copy =
            root.kind == Kind::cell &&
            element_count(root.outline->shape) < element_count(step.outline(own().plan).shape);
        if (is_copy) copied_[step.name] = root.word;
        return cost;
    }

    /// Returns the number of cells of a step, or of one row along an axis.
    SizePolynomial cells(const Step& step, std::size_t row_axis = ~std::size_t{0}) {
        SizePolynomial all = 1;
        const Axes axes = step.outline(walks_[0].plan).axes;
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            if (axis != row_axis)
                all = all * polynomial(lengths_of(step, axis), step.name + "." + axes[axis]);
        }
        return all;
    }

    /// Returns the number of cells that later tokens read again.
    SizePolynomial cache(const Step& step) {
        const auto read = rows_read_.find(step.name);
        if (read == rows_read_.end() || step.holds != RuleType::number) return 0;
        const auto& [axis, rows] = read->second;
        const SizePolynomial all = cells(step), count = polynomial(rows, "");
        if (!all.has(own().tokens)) return 0;
        const bool grows = count.has("T") || count.has("Tq") || count.has("Tk") || count.has("");
        return grows ? all : count * cells(step, axis);
    }

    const Resized& own() const { return walks_[0]; }

private:
    /// Finds the letters of a number: a multiple of one term plus a constant, the same at all
    /// sizes. A number without such a term becomes a letter with that name.
    SizePolynomial polynomial(const AtSizes& numbers, const std::string& name) {
        const std::size_t last = numbers.size() - 1;
        const auto first = numbers.begin() + (last > 0 ? 1 : 0);
        if (std::all_of(first, numbers.end(), [&](double n) { return n == *first; })) return *first;
        for (const SizePolynomial::Term& term : terms_) {
            const auto of = [&](std::size_t i) {
                return SizePolynomial(term, 1).at(walks_[i].sizes);
            };
            std::size_t other = 1;
            while (other < last && of(other) == of(last)) ++other;
            const double slope = (numbers[last] - numbers[other]) / (of(last) - of(other));
            const double constant = numbers[last] - slope * of(last);
            bool fits = slope != 0;
            for (std::size_t i = 1; fits && i <= last; ++i) {
                fits = std::abs(slope * of(i) + constant - numbers[i]) <= 1e-9 * numbers[i];
            }
            constexpr double parts = 24;  // of a whole: rounding errors of the division end here
            const double times = std::round(parts * slope) / parts;
            if (fits) return SizePolynomial(term, times) + std::round(constant);
        }
        if (name.empty()) return {{{"", 1}}, 1};
        for (std::size_t i = 0; i <= last; ++i) walks_[i].sizes[name] = numbers[i];
        return {terms_.emplace_back(SizePolynomial::Term{{name, 1}}), 1};
    }

    AtSizes lengths_of(const Step& step, std::size_t axis) const {
        AtSizes lengths;
        for (const Resized& each : walks_) {
            lengths.push_back(static_cast<double>(step.outline(each.plan).shape[axis]));
        }
        return lengths;
    }

    Nodes parts(const Nodes& nodes, std::size_t at) const {
        Nodes found;
        for (const RuleNode* node : nodes) found.push_back(node->parts.at(at).get());
        return found;
    }

    /// Returns the indices that an expression depends on, also by the ends of ranges.
    Names follows(const RuleNode& node) const {
        Names all;
        for (const IndexRange& range : ranges_) {
            if (holds_index(node, range.index))
                all.insert(range.follows.begin(), range.follows.end());
        }
        return all;
    }

    /// Returns the number of combinations of those indices.
    SizePolynomial combinations(const RuleNode& node) const {
        const Names names = follows(node);
        SizePolynomial all = 1;
        for (const IndexRange& range : ranges_) {
            if (names.contains(range.index)) all = all * range.size;
        }
        return all;
    }

    /// Calls `use` for each combination of some indices, from a range on.
    void each_place(std::size_t at, const Names& names, std::size_t from, Sizes& indices,
                    const std::function<void()>& use) const {
        if (from == ranges_.size()) return use();
        const IndexRange& range = ranges_[from];
        if (!names.contains(range.index)) return each_place(at, names, from + 1, indices, use);
        const bool is_sum = !range.first.empty();
        const double end = is_sum ? number_at(*range.end[at], indices) : range.lengths[at];
        for (double i = is_sum ? number_at(*range.first[at], indices) : 0; i < end; ++i) {
            indices[range.index] = i;
            each_place(at, names, from + 1, indices, use);
        }
    }

    /// Returns the largest left - right over all places, at each size from one on.
    AtSizes largest_difference(const Nodes& left, const Nodes& right, std::size_t from = 0) const {
        AtSizes all(walks_.size(), 0);
        for (std::size_t at = from; at < walks_.size(); ++at) {
            Names names = follows(*left[at]);
            names.merge(follows(*right[at]));
            Sizes indices;
            each_place(at, names, 0, indices, [&] {
                const double distance =
                    number_at(*left[at], indices) - number_at(*right[at], indices);
                all[at] = std::max(all[at], distance);
            });
        }
        return all;
    }

    void count(const Nodes& nodes, StepCost& cost) {
        const RuleNode& node = *nodes.back();
        if (node.kind == Kind::cell) return note_rows(nodes);
        std::map<std::string, std::string> letters;
        const bool is_new = counted_.insert(key(node, letters)).second;
        if (!is_new) return;
        if (node.kind == Kind::choose) return count_dearer(nodes, cost);
        const bool is_sum = node.kind == Kind::reduce;
        if (is_sum) add_range(nodes);
        for (std::size_t i = is_sum ? 2 : 0; i < node.parts.size(); ++i)
            count(parts(nodes, i), cost);
        const auto add = [&](StepCost::Kind to, const RuleNode& of) {
            cost.numbers[to] = cost[to] + combinations(of);
        };
        static const Names exact{"abs", "relu", "min", "max", "floor", "sign", "stop", "half"};
        const bool is_function = node.kind == Kind::call && !exact.contains(node.word);
        const bool has_numbers = reads_cells(node) && node.type == RuleType::number;
        const bool is_product =
            is_operation(node, "*") && reads_cells(*node.parts[0]) && reads_cells(*node.parts[1]);
        if (has_numbers && (is_product || node.word == "prod")) {
            add(StepCost::products, is_sum ? *node.parts[2] : node);
        }
        if (is_sum) ranges_.pop_back();
        const bool divides = is_operation(node, "/") || is_operation(node, "^");
        if (has_numbers && (is_function || divides || node.word == "mean")) {
            add(StepCost::functions, node);
        }
    }

    /// Returns a text that two expressions share if they are one table of numbers, such as
    /// `exp(s[q,k])` and `exp(s[q,j])`: with indices by their order and ranges.
    std::string key(const RuleNode& node, std::map<std::string, std::string>& letters) const {
        if (node.kind == Kind::name && !letters.contains(node.word)) {
            const auto range = std::ranges::find(ranges_, node.word, &IndexRange::index);
            std::string& letter = letters[node.word] = "#" + std::to_string(letters.size());
            if (range == ranges_.end()) return letter = node.word;
            const std::string first =
                range->first.empty() ? std::to_string(0.0) : key(*range->first.back(), letters);
            const std::string size = range->size.text();
            return letters[node.word] += ":" + first + "+" + size;
        }
        if (node.kind == Kind::name) return letters[node.word];
        if (node.kind == Kind::number) return std::to_string(node.number);
        std::string text = node.word + "(";
        const bool is_sum = node.kind == Kind::reduce;
        for (std::size_t i = 0; i < node.parts.size(); ++i) {
            if (is_sum && i == 2) letters[node.index] = "#" + std::to_string(letters.size());
            text += key(*node.parts[i], letters) + ",";
        }
        if (is_sum) letters.erase(node.index);
        return text + ")";
    }

    /// Adds the range of a sum.
    void add_range(const Nodes& nodes) {
        const std::string& index = nodes.back()->index;
        IndexRange range{index, parts(nodes, 0), parts(nodes, 1)};
        range.lengths = largest_difference(range.end, range.first);
        range.size = polynomial(range.lengths, step_->name + "." + index);
        range.follows = follows(*range.first.back());
        range.follows.merge(follows(*range.end.back()));
        range.follows.insert(index);
        ranges_.push_back(std::move(range));
    }

    /// Counts one side of an `if`: the one that costs more at the walk's own sizes.
    void count_dearer(const Nodes& nodes, StepCost& cost) {
        count(parts(nodes, 0), cost);
        StepCost yes = cost, no = cost;
        const std::set<std::string> before = counted_;
        count(parts(nodes, 1), yes);
        std::set<std::string> of_yes = std::exchange(counted_, before);
        count(parts(nodes, 2), no);
        const auto total = [&](const StepCost& side) {
            return (side[StepCost::products] + side[StepCost::functions]).at(own().sizes);
        };
        const bool is_no = total(yes) < total(no);
        cost = is_no ? no : yes;
        if (!is_no) counted_ = std::move(of_yes);
    }

    /// Notes how many rows before its own a step reads: of itself along the axes of its recurrence,
    /// and of another tensor along its axis of tokens.
    void note_rows(const Nodes& nodes) {
        const RuleNode& cell = *nodes.back();
        const auto is_query = [](const std::string& axis) {
            return axis == "query" || axis == "token";
        };
        const auto is_token = [&](const std::string& axis) {
            return is_query(axis) || axis == "key";
        };
        const Axes& axes = cell.outline->axes;
        const bool is_itself = cell.word == step_->name;
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            const bool has_query = std::ranges::any_of(axes, is_query);
            const bool may_be_row = is_itself
                                        ? std::ranges::count(orders_, axis, &RuleOrder::axis) > 0
                                        : (has_query ? is_query(axes[axis]) : is_token(axes[axis]));
            if (!may_be_row) continue;
            const std::size_t own =
                is_itself ? axis : std::ranges::find_if(axes_, is_query) - axes_.begin();
            const RuleNode& place = *cell.parts[axis];
            AtSizes rows(walks_.size(), 0);
            if (reads_cells(place)) {  // numbers choose the row
                for (std::size_t i = 0; i < rows.size(); ++i) {
                    rows[i] = static_cast<double>(nodes[i]->outline->shape[axis]);
                }
            } else if (own < axes_.size()) {
                const RuleTree row = name_node(ranges_[own].index);
                // At the walk's own sizes, which may be large, they are not needed.
                rows = largest_difference(Nodes(walks_.size(), row.get()), parts(nodes, axis), 1);
            } else if (std::ranges::none_of(axes_, is_token)) {  // the mean of a block: its rows
                const auto sum = std::ranges::find(ranges_, place.word, &IndexRange::index);
                if (place.kind == Kind::name) rows = sum->lengths;
            }
            if (rows.back() == 0) continue;
            const auto copy = copied_.find(cell.word);
            const std::string& kept = copy == copied_.end() ? cell.word : copy->second;
            auto& [at, most] = rows_read_.try_emplace(kept, axis, rows).first->second;
            for (std::size_t i = 0; i < rows.size(); ++i) most[i] = std::max(most[i], rows[i]);
        }
    }

    std::vector<Resized> walks_;  ///< the walk itself, then others
    std::vector<SizePolynomial::Term> terms_;
    const Step* step_ = nullptr;
    Axes axes_;
    std::vector<IndexRange> ranges_;
    std::vector<RuleOrder> orders_;  ///< of the step, if it reads itself
    std::set<std::string> counted_;  ///< expressions of the step
    std::map<std::string, std::pair<std::size_t, AtSizes>> rows_read_;
    std::map<std::string, std::string> copied_;  ///< the smaller tensor that a step repeats
};

WalkCost counted(const Plan& plan, const StepTable& table, bool is_tied) {
    CostCounter counter(resized_walks(plan, table, is_tied));
    const Names kept = tensors_read_backward(plan, table);
    WalkCost cost{{}, {"all"}, counter.own().tokens};
    for (const Step& step : table) {
        const bool is_kept = kept.contains(step.name) && step.kind != Step::Kind::parameter;
        const bool counts = step.kind == Step::Kind::computed && step.applies(plan);
        if (!is_kept && !counts) continue;
        cost.steps.push_back(counts ? counter.of(step, table) : StepCost{step.name});
        if (is_kept) cost.steps.back().numbers[StepCost::kept] = counter.cells(step);
    }
    for (StepCost& each : cost.steps) {
        each.numbers[StepCost::cached] = counter.cache(find_step(table, each.step));
        for (std::size_t i = 0; i < each.numbers.size(); ++i) {
            cost.all.numbers[i] = cost.all.numbers[i] + each.numbers[i];
        }
    }
    cost.sizes = counter.own().sizes;
    return cost;
}

}  // namespace

WalkCost cost_of(const Plan& plan, const StepTable& table) {
    if (plan.config.projection == Projection::none) return counted(plan, table, true);
    try {
        return counted(plan, table, false);
    } catch (const ConfigError&) {
        return counted(plan, table, true);  // such as slots, which are as wide as x
    }
}

double products_of(const PlannedStep& of) {
    return CostCounter({own_size(of.plan)}).of(of.step, of.table)[StepCost::products].at({});
}

}  // namespace attn
