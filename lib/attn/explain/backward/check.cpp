#include "attn/explain/backward/graph.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/notes/notes.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tolerance.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr double of_double = 0x1p-52;  // relative rounding error of a double

/// Computes the forward steps in float64, once for all gradients.
class Differences {
public:
    Differences(StepTable forward, std::vector<std::string> names, const Notifier& notify)
        : forward_(std::move(forward)), names_(std::move(names)), notify_(notify) {}

    /// Returns (loss(a + h) - loss(a - h)) / 2h for each cell a of a tensor; nan if the loss has a
    /// kink or a jump there, so that the slopes on both sides differ.
    Tensor central(const Plan& plan, const std::string& name) {
        start(plan);
        const Tensor& tensor = walked_[name];
        const double loss = walked_["loss"].at(0);
        const std::vector<double> cells = tensor.numbers();
        Array<double> result = empty_array<double>(tensor.shape());
        const auto step = std::ranges::find(forward_, name, &Step::name);
        const std::span<const Step> after(std::to_address(step) + 1,
                                          std::to_address(forward_.end()));
        // Later steps are recomputed, and read the latest of the earlier tensors.
        Ledger earlier(chains_of(forward_));
        for (const Ledger::Entry& entry : walked_.entries()) {
            if (entry.name == name) break;
            earlier.record(entry.name, entry.tensor);
        }
        const DrawList drawn = draw_list(plan);
        const DrawnTensor* const row = find_drawn(drawn, name);
        const std::size_t width = tensor.dimension() == 2 ? tensor.shape()[1] : cells.size();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (row != nullptr && row->zero_row && i / width == *row->zero_row) {
                result.data()[i] = 0;  // padding, which has no gradient
                continue;
            }
            if (!std::isfinite(cells[i])) {
                // -inf cannot be changed by a small step.
                result.data()[i] = std::isnan(cells[i]) ? cells[i] : 0;
                continue;
            }
            const double h = 6e-6 * std::max(1.0, std::abs(cells[i]));
            const auto moved = [&](double by) {
                Array<double> other = tensor.as<double>();
                other.data()[i] += by;
                Ledger ledger = earlier;
                ledger.record(name, Tensor(tensor.axes(), std::move(other)));
                perform(after, forward_, plan_, given_, Details::kept, ledger);
                return ledger["loss"].at(0);
            };
            const double up = (moved(h) - loss) / h, down = (loss - moved(-h)) / h;
            const double size = std::max({std::abs(up), std::abs(down), 1e-2});
            const double rounding = 100 * of_double * std::abs(loss) / h;
            const bool kink = std::abs(up - down) > 1e-2 * size + rounding;
            result.data()[i] = kink ? std::nan("") : (up + down) / 2;
        }
        return {tensor.axes(), std::move(result)};
    }

private:
    void start(const Plan& plan) {
        if (walked_.has("loss")) return;
        plan_ = plan;
        plan_.compute_dtype = DType::float64;
        given_ = draw(plan_);
        walked_ = walk(plan_, given_, forward_);
        // The first walk compiles the rules of its steps; time the second.
        const std::clock_t before = std::clock();
        walk(plan_, given_, forward_);
        const double each = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
        std::size_t walks = 0;
        for (const std::string& name : names_) walks += 2 * walked_[name].size();
        note_cost("central differences, two for each cell", each, walks,
                  "use fewer tokens or features, or one gradient by $only"_message, notify_);
    }

    StepTable forward_;
    std::vector<std::string> names_;  ///< of the tensors that are varied
    Notifier notify_;
    Plan plan_;
    Ledger given_, walked_;
};

/// Returns the size below which gradients are noise: rounding of the differences exceeds them.
double least_of(const Tensor& gradient) {
    double largest = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        if (std::isfinite(gradient.at(i))) largest = std::max(largest, std::abs(gradient.at(i)));
    }
    return std::max(largest / 1000, 1e-3);
}

Tensor relative_error(const Tensor& gradient, const Tensor& central) {
    const double least = least_of(central);
    Array<double> result = empty_array<double>(gradient.shape());
    for (std::size_t i = 0; i < result.size(); ++i) {
        const double a = gradient.at(i);
        const double b = central.at(i);
        const double size = std::max({std::abs(a), std::abs(b), least});
        const bool both = std::isnan(a) && std::isnan(b);
        result.data()[i] = both ? 0 : std::abs(a - b) / size;
    }
    return {gradient.axes(), std::move(result)};
}

/// Returns the tolerance for rounding: in the dtype of the gradients, for numbers of their size,
/// and in the differences of a loss of this size.
Tolerance rounding_in(const Ledger& ledger) {
    double size = 0, type = of_double;
    for (const auto& [name, tensor] : ledger.entries()) {
        if (!name.starts_with("d_") || name.ends_with("_error")) continue;
        for (const double cell : tensor.numbers()) {
            if (std::isfinite(cell)) size = std::max(size, std::abs(cell));
        }
        type = std::max(type, epsilon(tensor.dtype()));
    }
    const double loss = std::abs(ledger["loss"].at(0));
    // In 16 bits, the rounding of each step exceeds that of the sums.
    if (type > 1e-4) return {2 * type * size, 8 * type};
    return {256 * type * size + 1e-9 * (1 + loss), std::max(1e-6, 1e4 * type)};
}

/// Checks one gradient against its central differences.
void check_one(const std::string& name, const Ledger& ledger, const Tolerance& allowed,
               GradientCheck& check) {
    const Tensor &gradient = ledger[name], &central = ledger[name + "_central"];
    const Tensor& error = ledger[name + "_error"];
    for (std::size_t i = 0; i < gradient.size(); ++i) {
        const double a = gradient.at(i), b = central.at(i);
        if (std::isnan(b)) {
            if (!std::isnan(a)) ++check.kinks;
            continue;
        }
        check.largest = std::max(check.largest, error.at(i));
        const double most = std::max(std::abs(a), std::abs(b));
        if (std::abs(a - b) <= allowed.absolute + allowed.relative * most) continue;
        check.off.push_back({name, indices_of(i, gradient.shape()), error.at(i)});
    }
}

std::string kinks_text(std::size_t kinks) {
    return std::to_string(kinks) + (kinks == 1 ? " cell lies" : " cells lie") +
           " at a kink or a jump, as of max, relu or floor, and " + (kinks == 1 ? "has" : "have") +
           " no slope to compare with";
}

std::string error_note(const notes::Subject& subject) {
    GradientCheck check;
    const std::string& name = subject.step.name;
    check_one(name.substr(0, name.size() - std::string("_error").size()), subject.ledger,
              rounding_in(subject.ledger), check);
    const std::string kinks = check.kinks == 0 ? "" : " " + kinks_text(check.kinks) + ".";
    if (check.largest == 0 && check.off.empty()) {
        return "Gradient and central differences are the same." + kinks;
    }
    double largest = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < subject.tensor.size(); ++i) {
        if (subject.tensor.at(i) > largest) largest = subject.tensor.at(at = i);
    }
    return "The largest relative error is " + brief(largest) + ", at " +
           index_text(indices_of(at, subject.tensor.shape())) +
           (check.off.empty() ? ": the gradient is right."
                              : ": the gradient is not that of the loss there.") +
           kinks;
}

/// Returns a step that depends on a gradient and another tensor.
Step step_beside(const Step& gradient, const std::string& end, const std::string& title,
                 const std::vector<Input>& reads, const std::string& formula) {
    Step step;
    step.name = gradient.name + end;
    step.title = title;
    step.gradient_of = gradient.gradient_of;
    step.tokens = gradient.tokens;
    step.outline = gradient.outline;
    step.reads = [reads](const Plan&) { return reads; };
    step.formula = [formula](const PlannedStep& of) { return of.step.name + " = " + formula; };
    return step;
}

Step central_step(const Step& gradient, std::shared_ptr<Differences> differences) {
    const std::string& name = gradient.gradient_of;
    Step step =
        step_beside(gradient, "_central", "the same by central differences, in float64",
                    {name, "loss"}, "(loss(" + name + " + h) - loss(" + name + " - h)) / (2 h)");
    step.compute = [name, differences](const Plan& plan, const Ledger&) {
        return differences->central(plan, name);
    };
    return step;
}

Step error_step(const Step& gradient) {
    const std::string name = gradient.name;
    const std::string central = name + "_central";
    Step step =
        step_beside(gradient, "_error", "how far the gradient is from that", {name, central},
                    "|" + name + " - " + central +
                        "| / the larger of both, or of a thousandth of the largest cell and of 1");
    step.compute = [name, central](const Plan&, const Ledger& ledger) {
        return relative_error(ledger[name], ledger[central]);
    };
    step.note = error_note;
    return step;
}

}  // namespace

std::string GradientCheck::text() const {
    const std::string also = kinks == 0 ? "" : "; " + kinks_text(kinks);
    if (off.empty()) {
        return "all gradients are within " + brief(largest) + " of central differences" + also;
    }
    const auto worst = std::ranges::max_element(
        off, {}, [](const Off& each) { return std::isnan(each.error) ? HUGE_VAL : each.error; });
    std::vector<std::string> names;
    for (const Off& each : off) {
        if (names.empty() || names.back() != each.name) names.push_back(each.name);
    }
    const std::size_t more = off.size() - 1;
    return worst->name + index_text(worst->cell) + " is off by " + brief(worst->error) +
           (more == 0 ? ""
                      : ", and " + std::to_string(more) +
                            (more == 1 ? " more cell" : " more cells") + " of " + joined(names)) +
           also;
}

std::optional<GradientCheck> gradient_check(const Ledger& ledger) {
    std::optional<GradientCheck> check;
    Tolerance allowed;
    for (const auto& [name, tensor] : ledger.entries()) {
        if (!ledger.has(name + "_error")) continue;
        if (!check) {
            check.emplace();
            allowed = rounding_in(ledger);
        }
        check_one(name, ledger, allowed, *check);
    }
    return check;
}

void note_cost(const std::string& what, double seconds, std::size_t walks,
               const std::string& instead, const Notifier& notify) {
    constexpr double most = 120, worth_saying = 3;
    const double all = std::ceil(seconds * static_cast<double>(walks));
    const std::string cost = what + ": " + std::to_string(walks) + " walks, about " + brief(all) +
                             " seconds of one processor";
    if (all > most) throw ConfigError(cost + ": " + instead);
    if (all > worth_saying && notify) notify(cost);
}

namespace {

/// True if an expression has a stop() that matters; that of softmax does not.
bool stops_gradients(const RuleNode& node) {
    const bool stops =
        node.kind == RuleNode::Kind::call && node.word == "stop" && node.parts[0]->word != "max";
    return stops || std::ranges::any_of(
                        node.parts, [](const RuleTree& part) { return stops_gradients(*part); });
}

}  // namespace

StepTable with_gradient_checks(const StepTable& table, const Plan& plan, const Notifier& notify,
                               const std::function<bool(const std::string&)>& wanted) {
    const auto loss = std::ranges::find(table, "loss", &Step::name);
    if (loss == table.end()) {
        throw ConfigError("there are no gradients to check: the table has no backward pass");
    }
    for (const Step& step : table) {
        const bool is_forward = step.applies(plan) && step.gradient_of.empty();
        const std::optional<Rule> rule = is_forward ? rule_of({plan, table, step}) : std::nullopt;
        if (!rule || !stops_gradients(*rule->value)) continue;
        throw ConfigError("stop() in the rule of " + step.name +
                          " hides a part of the loss from gradients, but not from differences of "
                          "the loss: leave $check-gradient out"_message);
    }
    // A varied cell would change later cells of its own step, but the walk takes those as given.
    const auto reads_itself = [&](const std::string& name) {
        const std::optional<Rule> rule = rule_of({plan, table, find_step(table, name)});
        return rule && std::ranges::count(tensors_read(*rule), name) > 0;
    };
    const auto is_checked = [&](const Step& step) {
        return step.applies(plan) && step.name.starts_with("d_") && step.shown &&
               (!wanted || wanted(step.name)) && !reads_itself(step.gradient_of);
    };
    std::vector<std::string> names;
    for (const Step& step : table) {
        if (is_checked(step)) names.push_back(step.gradient_of);
    }
    const auto differences =
        std::make_shared<Differences>(StepTable(table.begin(), std::next(loss)), names, notify);
    StepTable checked;
    for (const Step& step : table) {
        checked.push_back(step);
        if (!is_checked(step)) continue;
        checked.push_back(central_step(step, differences));
        checked.push_back(error_step(step));
    }
    return checked;
}

}  // namespace attn
