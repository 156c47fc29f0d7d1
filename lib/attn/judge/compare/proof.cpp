#include "attn/judge/compare/proof.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/rules/indices.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Kind = RuleNode::Kind;

/// A few seconds of work.
constexpr std::size_t most_work = 20'000'000, work_of_function = 20;
/// A recurrence evaluated backwards needs one level of recursion per token.
constexpr std::size_t most_tokens = 512;
constexpr const char* too_large = "the walk is too large: use fewer tokens";

/// True if a node reads floating-point numbers, not only ids, positions or masks.
bool reads_numbers(const BoundRule& node) {
    return (node.tensor != nullptr && node.node->type == RuleType::number) ||
           std::ranges::any_of(node.parts, reads_numbers);
}

bool all_differ(const Tensor& numbers) {
    std::set<double> all;
    for (std::size_t i = 0; i < numbers.size(); ++i) all.insert(numbers.at(i));
    return all.size() == numbers.size();
}

/// Converts an infinite number or nan to a float; a finite one to 0, which orders it between the
/// infinities.
double beyond(const ExactNumber& number) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (number.is_finite()) return 0;
    return number.state == ExactNumber::State::infinite ? number.sign * infinity : std::nan("");
}

}  // namespace

/// A rule that is evaluated cell by cell.
class ExactWalk::ExactRule : RuleIndices {
public:
    ExactRule(ExactWalk& walk, const Rule& rule, BoundTree tree)
        : RuleIndices(rule, tree.indices), step_(rule.step), walk_(walk), tree_(std::move(tree)) {
        require_known_places(tree_.root);
    }

    ExactNumber at(std::size_t place) {
        const std::vector<Index> around = index_;  // a recurrence calls itself
        for (std::size_t axis = tree_.lengths.size(); axis-- > 0;) {
            index_[axis] = static_cast<Index>(place % tree_.lengths[axis]);
            place /= tree_.lengths[axis];
        }
        const ExactNumber result = number(tree_.root);
        index_ = around;
        return result;
    }

    Conditions conditions{};  ///< of its own nodes

private:
    /// A condition; `holds` is empty if it depends on the order of numbers, which are then in the
    /// hash.
    struct Truth {
        std::optional<bool> holds{};
        ExactNumber hash{};
    };

    /// Errors  Undecided if an index depends on numbers.
    void require_known_places(const BoundRule& node) {
        const Kind kind = node.node->kind;
        for (const BoundRule& part : node.parts) {
            require_known_places(part);
            const bool is_place =
                kind == Kind::cell || (kind == Kind::reduce && &part != &node.parts.back());
            if (is_place && reads_numbers(part)) {
                throw Undecided("in " + step_ + " numbers choose an index of " + node.node->word);
            }
        }
        const bool is_whole = kind != Kind::cell && node.node->type == RuleType::whole;
        if (is_whole && reads_numbers(node))
            throw Undecided(step_ + " depends on comparisons of numbers");
        if (node.tensor == nullptr || node.node->type == RuleType::number) return;
        // Tokens that all differ have independent rows of x.
        if (step_ == "x" && all_differ(*node.tensor)) return;
        if (walk_.follows_from_numbers(node.node->word, conditions.inputs)) {
            throw Undecided(node.node->word + " depends on comparisons of numbers");
        }
    }

    ExactNumber number(const BoundRule& node) {
        if (++walk_.work_ > most_work) throw Undecided(too_large);
        switch (node.node->kind) {
            case Kind::cell:
                if (node.node->type != RuleType::number) return exact_constant(value(node));
                return walk_.cell(walk_.tensor(node.node->word), place_in(node));
            case Kind::choose:
                return chosen(node);
            case Kind::reduce:
                return reduced(node);
            case Kind::number:
                return walk_.constant(node.node->number);
            case Kind::name:
                return exact_constant(value(node));
            default:
                break;
        }
        if (gives_truth(*node.node)) {
            const Truth truth = this->truth(node);
            return truth.holds ? exact_constant(*truth.holds ? 1 : 0) : truth.hash;
        }
        if (node.node->type == RuleType::whole) return exact_constant(value(node));
        const ExactNumber x = number(node.parts[0]);
        if (node.parts.size() == 2) return joined(node, x, number(node.parts[1]));
        if (node.node->word == "-") return -x;
        if (node.node->word != "exp" && !x.is_finite()) {
            return exact_constant(node.function->value(beyond(x), beyond(x)));
        }
        walk_.work_ += work_of_function;
        const std::string name = node.function->name;
        if (name == "log" || name == "sqrt") note_call(name, x, 0);
        return with_constant(node, exact_call(node.function->name, x), x, x);
    }

    /// Notes a call that is undefined for negative numbers, unless its argument is positive.
    void note_call(const std::string& name, const ExactNumber& x, std::uint64_t other) {
        if (x.sign <= 0 && !x.is_zero()) conditions.calls.emplace(name, x.value ^ other);
    }

    /// Adds the float64 value of a function of constants, which determines its sign.
    static ExactNumber with_constant(const BoundRule& node, ExactNumber result,
                                     const ExactNumber& x, const ExactNumber& y) {
        if (!std::isnan(result.constant) || !result.is_finite()) return result;
        result.constant = node.function->value(x.constant, y.constant);
        if (std::abs(result.constant) > 1e-9) result.sign = result.constant < 0 ? -1 : 1;
        return result;
    }

    ExactNumber joined(const BoundRule& node, const ExactNumber& x, const ExactNumber& y) {
        const std::string& word = node.node->word;
        if (word == "+") return x + y;
        if (word == "-") return x + -y;
        if (word == "*") return x * y;
        walk_.work_ += work_of_function;
        if (word == "/") return x / y;
        if (word == "^") {
            const bool is_whole = y.constant == std::round(y.constant);
            if (!is_whole && x.is_finite()) note_call(word, x, y.value);
            return with_constant(node, exact_power(x, y), x, y);
        }
        if (word == "max" || word == "min") return extreme(word, {x, y});
        if (const auto down = exact_floor(x / y)) return word == "%" ? x + -(*down * y) : *down;
        return with_constant(node, exact_opaque(node.function->name, std::vector{x, y}), x, y);
    }

    ExactNumber chosen(const BoundRule& node) {
        const Truth condition = truth(node.parts[0]);
        if (condition.holds) return number(node.parts[*condition.holds ? 1 : 2]);
        return exact_opaque(
            "if", std::vector{condition.hash, number(node.parts[1]), number(node.parts[2])});
    }

    Truth truth(const BoundRule& node) {
        if (!reads_numbers(node)) return {value(node) != 0};
        const std::string& word = node.node->word;
        if (node.node->kind == Kind::choose) {
            const Truth condition = truth(node.parts[0]);
            if (condition.holds) return truth(node.parts[*condition.holds ? 1 : 2]);
            return {{}, chosen(node)};
        }
        if (word == "and" || word == "or") {
            const Truth left = truth(node.parts[0]);
            if (left.holds == (word == "or")) return left;
            const Truth right = truth(node.parts[1]);
            if (left.holds || right.holds == (word == "or")) return right;
            if (right.holds) return left;
            return {{}, exact_opaque(node.function->name, std::vector{left.hash, right.hash})};
        }
        if (word == "not") {
            const Truth truth = this->truth(node.parts[0]);
            if (truth.holds) return {!*truth.holds};
            return {{}, exact_opaque("not", {&truth.hash, 1})};
        }
        const ExactNumber x = number(node.parts[0]), y = number(node.parts[1]);
        if (const auto order = exact_order(x, y)) return {node.function->value(*order, 0) != 0};
        if (x.is_finite() && y.is_finite()) {
            return {{}, exact_opaque(node.function->name, std::vector{x, y})};
        }
        return {node.function->value(beyond(x), beyond(y)) != 0};
    }

    ExactNumber reduced(const BoundRule& node) {
        const std::string& word = node.node->word;
        if (word == "argmax") return exact_constant(value(node));
        const Index first = whole(node.parts[0]), end = whole(node.parts[1]);
        const bool is_extreme = word == "max" || word == "min";
        ExactNumber result = exact_constant(start_of(word));
        std::vector<ExactNumber> compared;
        for (Index i = first; i < end; ++i) {
            index_[node.index] = i;
            const ExactNumber next = number(node.parts[2]);
            if (word == "prod") {
                result = result * next;
            } else if (!is_extreme) {
                result = result + next;
            } else if (next != exact_constant(start_of(word))) {
                compared.push_back(next);
            }
        }
        if (is_extreme && compared.empty()) return result;
        if (is_extreme) return extreme(word, compared);
        return word == "mean" ? result / exact_constant(static_cast<double>(end - first)) : result;
    }

    /// Returns the largest or smallest of some numbers, whose order may be unknown.
    ExactNumber extreme(const std::string& word, const std::vector<ExactNumber>& of) {
        ExactNumber best = of[0];
        for (const ExactNumber& each : of) {
            const std::optional<int> order = exact_order(each, best);
            if (!order) return unknown_extreme(word, of);
            if (word == "max" ? *order > 0 : *order < 0) best = each;
        }
        return best;
    }

    ExactNumber unknown_extreme(const std::string& word, const std::vector<ExactNumber>& of) {
        const auto beyond = std::ranges::find(of, false, &ExactNumber::is_finite);
        if (beyond != of.end()) return *beyond;
        const ExactNumber unknown = exact_opaque(joins(word).name, of);
        return walk_.draw_ == 0 ? unknown : exact_variable(word, unknown.value ^ walk_.draw_);
    }

    const std::string step_;
    ExactWalk& walk_;
    BoundTree tree_;
};

/// The cells of a step that are known so far, and its rule.
struct ExactWalk::ExactTensor {
    std::string step;
    std::optional<Rule> rule{};
    std::unique_ptr<ExactRule> evaluates{};
    std::vector<ExactNumber> cells{};
    std::vector<char> known{};
};

ExactWalk::ExactWalk(const Plan& plan, const StepTable& table, const Ledger& given,
                     const Ledger& outcome)
    : plan_(plan), table_(table), given_(given), walked_(outcome) {}
ExactWalk::~ExactWalk() = default;

bool ExactWalk::follows_from_numbers(const std::string& step, std::set<std::string>& inputs) {
    const std::optional<Rule> rule = rule_of({plan_, table_, find_step(table_, step)});
    if (!rule) inputs.insert(step);
    bool follows = false;
    for (const std::string& name : rule ? tensors_read(*rule) : std::vector<std::string>()) {
        const bool is_number = find_step(table_, name).holds == RuleType::number;
        follows = follows || is_number || (name != step && follows_from_numbers(name, inputs));
    }
    return follows;
}

void ExactWalk::add_conditions(const std::string& step, std::set<std::string>& seen,
                               Conditions& all) const {
    const auto found = tensors_.find(step);
    if (found == tensors_.end() || !found->second->evaluates || !seen.insert(step).second) return;
    const Conditions& own = found->second->evaluates->conditions;
    all.inputs.insert(own.inputs.begin(), own.inputs.end());
    all.calls.insert(own.calls.begin(), own.calls.end());
    for (const std::string& name : tensors_read(*found->second->rule))
        add_conditions(name, seen, all);
}

ExactNumber ExactWalk::constant(double number) {
    if (!std::isfinite(number)) return exact_constant(number);
    if (constants_.empty()) {
        constants_[std::numbers::pi] = exact_pi();
        const std::map<std::string, double> settings = rule_settings(plan_);
        const RuleNames names{[](const std::string& name) { return name; },
                              [](const std::string&) { return Outline(); }, settings};
        const RuleScope scope{
            [this](const std::string& name) -> const Tensor& { return walked_[name]; }, {}};
        for (const auto& file : plan_.config.attentions) {
            for (const AttentionNumber& each : file->settings) {
                const double value = settings.at(each.name);
                if (value != number_of(each.value, settings)) continue;  // the user's number
                const Rule rule = completed(Rule("", each.name, {}, each.value), {}, names);
                ExactRule exact(*this, rule, bind_rule(rule, {}, {}, scope));
                constants_.emplace(value, exact.at(0));
            }
        }
    }
    const auto known = constants_.find(number);
    return known == constants_.end() ? exact_constant(number) : known->second;
}

ExactWalk::ExactTensor& ExactWalk::tensor(const std::string& name) {
    std::unique_ptr<ExactTensor>& cached = tensors_[name];
    if (cached) return *cached;
    const Tensor& outcome = walked_[name];
    auto tensor = std::make_unique<ExactTensor>(ExactTensor{name});
    tensor->cells.resize(outcome.size());
    tensor->known.resize(outcome.size(), 0);
    // Parameters that training changes are random, even if they begin as an expression.
    if (!given_.has(name)) tensor->rule = rule_of({plan_, table_, find_step(table_, name)});
    if (tensor->rule) {
        const RuleScope scope{
            [this](const std::string& read) -> const Tensor& { return walked_[read]; }, {}};
        tensor->evaluates = std::make_unique<ExactRule>(
            *this, *tensor->rule, bind_rule(*tensor->rule, outcome.axes(), outcome.shape(), scope));
    }
    cached = std::move(tensor);  // not before its rule is known to be decidable
    return *cached;
}

const ExactNumber& ExactWalk::cell(ExactTensor& tensor, std::size_t place) {
    if (!tensor.known[place]) {
        const ExactNumber outcome =
            tensor.evaluates ? tensor.evaluates->at(place) : exact_variable(tensor.step, place);
        tensor.cells[place] = outcome;
        tensor.known[place] = 1;
    }
    return tensor.cells[place];
}

const std::vector<ExactNumber>& ExactWalk::cells_of(const std::string& step) {
    if (plan_.key_len > most_tokens) throw Undecided(too_large);
    ExactTensor& tensor = this->tensor(step);
    for (std::size_t i = 0; i < tensor.cells.size(); ++i) cell(tensor, i);
    return tensor.cells;
}

void ExactWalk::take(const std::string& step, const std::vector<ExactNumber>& cells) {
    tensor(step).cells = cells;
}

std::vector<ExactNumber> ExactWalk::cells_without_extremes(const std::string& step,
                                                           std::uint64_t draw) const {
    ExactWalk other(plan_, table_, given_, walked_);
    other.draw_ = draw;
    return other.cells_of(step);
}

}  // namespace attn
