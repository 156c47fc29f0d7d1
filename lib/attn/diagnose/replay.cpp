#include "attn/diagnose/replay.hpp"

#include <algorithm>
#include <memory>

#include "attn/tensor/error.hpp"
#include "attn/walk/walk.hpp"

namespace attn {
namespace {

/// A computation under a type of its own: a step that still has it was not replaced.
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

std::size_t place_of(const StepTable& table, const std::string& step) {
    return static_cast<std::size_t>(std::ranges::find(table, step, &Step::name) - table.begin());
}

Replay::Replay(const Plan& plan, Ledger given)
    : plan_(&plan), given_(std::move(given)), table_(marked(step_table(plan))), known_(chains_) {
    for (const Step& step : table_) applies_.push_back(step.applies(plan));
}

void Replay::forget_from(std::size_t place) {
    if (place >= upto_) return;
    Ledger before(chains_);
    for (const auto& [name, tensor] : known_.entries()) {
        if (place_of(table_, name) < place) before.record(name, tensor);
    }
    known_ = std::move(before);
    upto_ = place;
}

void Replay::take(const std::string& step, Tensor tensor) {
    given_.record(step, std::move(tensor));
    forget_from(place_of(table_, step));
}

void Replay::make(const Mistake& mistake) {
    table_ = mistake.apply(std::move(table_), *plan_);
    for (const Step& step : table_) {
        if (was_replaced(step)) altered_.insert(step.name);
    }
    const auto first = std::find_if(table_.begin(), table_.end(), was_replaced);
    forget_from(static_cast<std::size_t>(first - table_.begin()));
    table_ = marked(std::move(table_));
    tables_ = std::make_shared<Tables>();
}

/// The steps from one place up to another, this one included. The parts of softmax are left out
/// unless the last step is one: no other step reads them.
void Replay::run(const StepTable& table, std::size_t from, std::size_t to, Ledger& ledger) const {
    const Details details = table[to].kind == Step::Kind::detail ? Details::kept : Details::skipped;
    perform(std::span(table).subspan(from, to + 1 - from), *plan_, given_, details, ledger);
}

const Tensor* Replay::step(const std::string& name) {
    const std::size_t place = place_of(table_, name);
    if (place == table_.size() || !applies_[place]) return nullptr;
    if (!known_.has(name)) {
        // A part of softmax needs those before it, which an earlier call may have left out.
        const std::size_t from = table_[place].kind == Step::Kind::detail ? 0 : upto_;
        try {
            run(table_, std::min(from, place), place, known_);
        } catch (const ShapeError&) {
            return nullptr;  // what was taken under a mistake does not fit together
        }
        upto_ = std::max(upto_, place + 1);
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

StepTable Replay::made_of(StepTable table, std::span<const Mistake* const> made) const {
    for (const Mistake* mistake : made) table = mistake->apply(std::move(table), *plan_);
    return table;
}

const StepTable& Replay::table_with(const Mistake& mistake) {
    const auto [place, is_new] = tables_->try_emplace(&mistake);
    const Mistake* const made[]{&mistake};
    if (is_new) place->second = made_of(table_, made);
    return place->second;
}

std::optional<Tensor> Replay::step_with(const std::vector<const Mistake*>& made,
                                        const std::string& name) {
    const StepTable& first = table_with(*made.front());
    if (made.size() == 1) return step_of(first, name);
    return step_of(made_of(first, std::span(made).subspan(1)), name);
}

std::optional<Tensor> Replay::step_of(const StepTable& table, const std::string& name) {
    const std::size_t place = place_of(table_, name);
    const bool details = table.at(place).kind == Step::Kind::detail;
    std::set<std::string> changed;
    for (std::size_t i = 0; i <= place; ++i) {
        const Step& step = table[i];
        const bool is_given = given_.has(step.name) && !step.replaces_given;
        const bool is_skipped = step.kind == Step::Kind::detail && !details;
        if (!applies_[i] || is_given || is_skipped || !step.compute) continue;
        const bool reads_changed =
            !changed.empty() && (altered_.contains(step.name) || reads_any_of(step, changed));
        if (was_replaced(step) || reads_changed) changed.insert(step.name);
    }
    if (!changed.contains(name)) return std::nullopt;
    Ledger ledger(chains_);
    try {
        for (std::size_t i = 0; i <= place; ++i) {
            const Step& step = table[i];
            if (!applies_[i] || (step.kind == Step::Kind::detail && !details)) continue;
            if (changed.contains(step.name)) {
                run(table, i, i, ledger);
            } else if (const Tensor* known = this->step(step.name)) {
                ledger.record(step.name, *known);
            }
        }
    } catch (const ShapeError&) {
        return std::nullopt;  // together with what was made before, the shapes do not fit
    }
    return *ledger.find(name);
}

}  // namespace attn
