#include "attn/judge/diagnose/replay.hpp"

#include <algorithm>
#include <memory>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"

namespace attn {
namespace {

/// Wraps a computation in a type of its own: a step that still has this type was not replaced.
struct Untouched {
    std::shared_ptr<const Step::Compute> compute;
    Tensor operator()(const Plan& plan, const Ledger& ledger) const {
        return (*compute)(plan, ledger);
    }
};

bool was_replaced(const Step& step) {
    return step.compute && step.compute.target<Untouched>() == nullptr;
}

StepTable marked(StepTable table) {
    for (Step& step : table) {
        if (!was_replaced(step)) continue;
        step.compute = Untouched{std::make_shared<const Step::Compute>(std::move(step.compute))};
    }
    return table;
}

}  // namespace

Replay::Replay(const Plan& plan, Ledger given)
    : plan_(&plan), given_(std::move(given)), table_(marked(kept_table(plan))), known_(chains_) {
    for (const Step& step : table_) {
        applies_.push_back(step.applies(plan));
        kept_.push_back(kept_step(step.name) != nullptr);
    }
}

void Replay::forget_from(std::size_t place) {
    if (place >= computed_up_to_) return;
    Ledger before(chains_);
    for (const auto& [name, tensor] : known_.entries()) {
        if (place_of(table_, name) < place) before.record(name, tensor);
    }
    known_ = std::move(before);
    computed_up_to_ = place;
}

void Replay::take(const std::string& step, Tensor tensor) {
    given_.record(step, std::move(tensor));
    forget_from(place_of(table_, step));
}

void Replay::make(const Mistake& mistake) {
    table_ = mistake.apply(std::move(table_), *plan_);
    for (const Step& step : table_) {
        if (was_replaced(step)) replaced_steps_.insert(step.name);
    }
    const auto first = std::find_if(table_.begin(), table_.end(), was_replaced);
    forget_from(static_cast<std::size_t>(first - table_.begin()));
    table_ = marked(std::move(table_));
}

/// Computes the steps from one place up to and including another. The parts of softmax are skipped
/// unless the last step is one, because no other step reads them; nor does any step read a
/// KeptStep.
void Replay::run(const StepTable& table, std::size_t from, std::size_t to, Ledger& ledger) const {
    const Details details = table[to].kind == Step::Kind::detail ? Details::kept : Details::skipped;
    for (std::size_t i = from; i <= to; ++i) {
        if (i < to && !kept_[i]) continue;
        const std::size_t end = kept_[i] && i < to ? i : i + 1;
        perform(std::span(table).subspan(from, end - from), table, *plan_, given_, details, ledger);
        from = i + 1;
    }
}

const Tensor* Replay::step(const std::string& name) {
    const std::size_t place = place_of(table_, name);
    if (place == table_.size() || !applies_[place]) return nullptr;
    if (!known_.has(name)) {
        // A part of softmax needs the parts before it, which an earlier call may have skipped.
        const std::size_t from = table_[place].kind == Step::Kind::detail ? 0 : computed_up_to_;
        try {
            run(table_, std::min(from, place), place, known_);
        } catch (const ShapeError&) {
            return nullptr;  // with a mistake the shapes do not fit
        }
        computed_up_to_ = std::max(computed_up_to_, place + 1);
    }
    return known_.find(name);
}

bool Replay::reads_any_of(const Step& step, const std::set<std::string>& names) const {
    const std::vector<Input> inputs = step.reads(*plan_);
    return std::any_of(inputs.begin(), inputs.end(), [&](const Input& input) {
        if (input.chain == Chain::none) return names.contains(input.step);
        const std::vector<std::string>& chain = chains_.at(static_cast<std::size_t>(input.chain));
        return std::any_of(chain.begin(), chain.end(),
                           [&](const std::string& name) { return names.contains(name); });
    });
}

std::optional<Tensor> Replay::step_with(const std::vector<const Mistake*>& cause,
                                        const std::string& name) {
    StepTable table = table_;
    for (const Mistake* mistake : cause) table = mistake->apply(std::move(table), *plan_);
    const std::size_t place = place_of(table_, name);
    const bool details = table.at(place).kind == Step::Kind::detail;
    const auto is_left_out = [&](std::size_t i) {
        return (table[i].kind == Step::Kind::detail && !details) || (kept_[i] && i < place);
    };
    std::set<std::string> changed;
    for (std::size_t i = 0; i <= place; ++i) {
        const Step& step = table[i];
        const bool is_given = given_.has(step.name) && !step.replaces_given;
        const bool is_skipped = is_left_out(i);
        if (!applies_[i] || is_given || is_skipped || !step.compute) continue;
        const bool reads_changed = !changed.empty() && (replaced_steps_.contains(step.name) ||
                                                        reads_any_of(step, changed));
        if (was_replaced(step) || reads_changed) changed.insert(step.name);
    }
    if (!changed.contains(name)) return std::nullopt;
    Ledger ledger(chains_);
    try {
        for (std::size_t i = 0; i <= place; ++i) {
            const Step& step = table[i];
            if (!applies_[i] || is_left_out(i)) continue;
            if (changed.contains(step.name)) {
                run(table, i, i, ledger);
            } else if (const Tensor* known = this->step(step.name)) {
                ledger.record(step.name, *known);
            }
        }
    } catch (const Error&) {
        return std::nullopt;  // with the earlier mistakes the shapes do not fit
    }
    return *ledger.find(name);
}

namespace {

/// Returns the beginning of a tensor along each axis, up to these lengths.
Tensor beginning_of(const Tensor& whole, const Shape& lengths) {
    if (whole.shape() == lengths || whole.dimension() != lengths.size()) return whole;
    std::vector<AxisPart> parts;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        parts.push_back({0, 1, std::min(lengths[i], whole.shape()[i]), false});
    }
    return slice(whole, parts);
}

}  // namespace

std::optional<FirstSamples> first_samples(const Plan& plan, const Ledger& given,
                                          std::size_t samples) {
    WalkConfig config = plan.config;
    config.input = RandomInput{};
    if (plan.has_memory) config.memory = RandomInput{};
    if (plan.has_memory) config.key_len = static_cast<std::int64_t>(plan.key_len);
    if (plan.has_batch) config.batch = static_cast<std::int64_t>(samples);
    config.query_len = static_cast<std::int64_t>(plan.query_len);
    config.names.clear();
    config.memory_names.clear();
    config.parameters = Ledger();
    if (plan.has_batch && config.lengths.size() > samples) config.lengths.resize(samples);
    if (std::optional<Tensor>& mask = config.mask.given; mask && mask->dimension() > 2) {
        Shape shape = mask->shape();
        shape.front() = std::min(shape.front(), samples);
        mask = beginning_of(*mask, shape);
    }
    try {
        FirstSamples first{resolve(std::move(config)), {}};
        first.given = draw(first.plan);
        for (const auto& [name, tensor] : given.entries()) {
            const Tensor* drawn = first.given.find(name);
            const Step& step = find_step(kept_table(plan), name);
            if (drawn == nullptr && step.kind != Step::Kind::computed) continue;
            first.given.record(name, beginning_of(tensor, drawn ? drawn->shape()
                                                                : step.outline(first.plan).shape));
        }
        return first;
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace attn
