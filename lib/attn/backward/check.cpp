#include "attn/backward/graph.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "attn/notes/notes.hpp"
#include "attn/plan/draw_list.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/number_text.hpp"
#include "attn/walk/walk.hpp"

namespace attn {
namespace {

constexpr std::size_t most_walks = 100'000;

/// The forward steps in float64, walked once for all gradients.
class Differences {
public:
    explicit Differences(StepTable forward) : forward_(std::move(forward)) {}

    /// (loss(a + h) - loss(a - h)) / 2h for each cell a of a tensor.
    Tensor central(const Plan& plan, const std::string& name) {
        start(plan);
        const Tensor& tensor = walked_[name];
        const std::vector<double> cells = tensor.numbers();
        count_ += 2 * cells.size();
        if (count_ > most_walks) {
            throw ConfigError(
                "central differences walk twice for each cell, and these are more than " +
                std::to_string(most_walks / 2) + " cells: take fewer tokens or features");
        }
        Array<double> result = empty_array<double>(tensor.shape());
        const auto step = std::ranges::find(forward_, name, &Step::name);
        const std::span<const Step> after(std::to_address(step) + 1,
                                          std::to_address(forward_.end()));
        const DrawList drawn = draw_list(plan);
        const DrawnTensor* const row = find_drawn(drawn, name);
        const std::size_t width = tensor.dimension() == 2 ? tensor.shape()[1] : cells.size();
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (row != nullptr && row->zero_row && i / width == *row->zero_row) {
                result.data()[i] = 0;  // padding, which is not learned
                continue;
            }
            if (!std::isfinite(cells[i])) {
                // However little -inf is moved, it stays.
                result.data()[i] = std::isnan(cells[i]) ? cells[i] : 0;
                continue;
            }
            const double h = 6e-6 * std::max(1.0, std::abs(cells[i]));
            const auto moved = [&](double by) {
                Array<double> other = tensor.as<double>();
                other.data()[i] += by;
                Ledger ledger = walked_;
                ledger.record(name, Tensor(tensor.axes(), std::move(other)));
                perform(after, plan_, given_, Details::kept, ledger);
                return ledger["loss"].at(0);
            };
            result.data()[i] = (moved(h) - moved(-h)) / (2 * h);
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
    }

    StepTable forward_;
    Plan plan_;
    Ledger given_, walked_;
    std::size_t count_ = 0;
};

/// Where a tensor's gradients are as good as 0, the rounding of the differences says nothing.
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

std::string error_note(const notes::Subject& subject) {
    double largest = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < subject.tensor.size(); ++i) {
        const double error = subject.tensor.at(i);
        if (error > largest || std::isnan(error)) {
            largest = error;
            at = i;
        }
    }
    if (largest == 0) return "Gradient and central differences are the same.";
    const bool close = largest < 1e-4;
    return "The largest relative error is " + brief(largest) + ", at " +
           index_text(indices_of(at, subject.tensor.shape())) +
           (close ? ": the gradient is right." : ": the gradient is not that of the loss there.");
}

/// A step beside a gradient, made of its tensor and another.
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

StepTable with_gradient_checks(const StepTable& table, const Plan& plan) {
    const auto loss = std::ranges::find(table, "loss", &Step::name);
    const auto differences =
        std::make_shared<Differences>(StepTable(table.begin(), std::next(loss)));
    StepTable checked;
    for (const Step& step : table) {
        checked.push_back(step);
        const bool is_gradient = step.applies(plan) && step.name.starts_with("d_");
        if (!is_gradient || !step.shown) continue;
        checked.push_back(central_step(step, differences));
        checked.push_back(error_step(step));
    }
    return checked;
}

}  // namespace attn
