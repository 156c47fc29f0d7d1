#pragma once
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/core/plan/ledger.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/rules/rule.hpp"
#include "attn/ground/text/prose.hpp"

namespace attn {

struct AttentionStep;
struct Step;
struct StepLines;
struct CardText;
namespace notes {
struct Subject;
}

/// The steps in order. A mistake is a function from one table to another.
using StepTable = std::vector<Step>;

/// One input of a step: the latest of a chain, or a step by name if the walk has it.
struct Input {
    Input(Chain latest_of) : chain(latest_of) {}
    Input(std::string name) : step(std::move(name)) {}
    Input(const char* name) : step(name) {}

    Chain chain = Chain::none;
    std::string step;
};

/// True if the table has a step with that name that applies to the plan.
bool has_step(const StepTable& table, const Plan& plan, std::string_view name);

/// A step of a planned walk, before it is computed.
struct PlannedStep {
    const Plan& plan;
    const StepTable& table;
    const Step& step;

    /// Returns the name of the last step of the chain before this one.
    ///
    /// Errors  ConfigError if the walk has none.
    const std::string& latest(Chain chain) const;
    /// Returns the name for the step's own chain: the step that it changes.
    const std::string& before() const;
    /// Returns the name of an input's step, whether the walk has it or not.
    const std::string& name_of(const Input& input) const {
        return input.chain == Chain::none ? input.step : latest(input.chain);
    }
    /// True if it reads that tensor, directly or as the latest of its chain.
    bool reads(const std::string& tensor) const;
    /// True if a step with that name is part of this walk, before this one or after.
    bool has(std::string_view name) const { return has_step(table, plan, name); }
};

/// A function of a card. A table is copied for each mistake that is tried: the copies share them.
template <class Signature>
class CardFunction;
template <class Result, class... Arguments>
class CardFunction<Result(Arguments...)> {
    using Function = std::function<Result(Arguments...)>;

public:
    CardFunction() = default;
    template <class Other>
    requires(!std::is_same_v<Other, CardFunction> && std::is_constructible_v<Function, Other>)
        CardFunction(Other other) {
        Function whole(std::move(other));
        if (whole) function_ = std::make_shared<const Function>(std::move(whole));
    }

    Result operator()(Arguments... arguments) const {
        return (*function_)(std::forward<Arguments>(arguments)...);
    }
    explicit operator bool() const { return function_ != nullptr; }
    /// As std::function::target.
    template <class Other>
    const Other* target() const {
        return function_ ? function_->template target<Other>() : nullptr;
    }

private:
    std::shared_ptr<const Function> function_;
};

/// Where a step rounds its numbers to 16 bits: nowhere, once per result, or after each operation.
enum class RoundedAt { nothing, result, operations };

/// The id in `mistake_ids` of a step that a rule of the user computes.
inline constexpr const char* users_rule = "your rule";

/// The card of one step of attention: one entry of the ledger, one section of the output, with all
/// properties of the step.
struct Step {
    enum class Kind {
        input,      ///< ids, embedding, x, memory: inputs of the walk
        parameter,  ///< weights and biases of the projections
        computed,   ///< computed by attention
        detail,     ///< a part of softmax, shown on request
    };
    using Compute = CardFunction<Tensor(const Plan&, const Ledger&)>;

    std::string name{};
    Prose title{};
    std::string called{};  ///< aliases in other libraries: lower case, separated by spaces
    Kind kind = Kind::computed;
    /// The type of its cells in rules: positions are integers, the mask is boolean.
    RuleType holds = RuleType::number;
    bool shown = true;  ///< printed by default
    /// The positions that a `token` axis counts: those of the queries, or of the keys.
    std::string tokens = "query";
    /// The chain that it begins or extends.
    Chain chain = Chain::none;
    CardFunction<bool(const Plan&)> applies = [](const Plan&) { return true; };
    CardFunction<std::vector<Input>(const Plan&)> reads = [](const Plan&) {
        return std::vector<Input>();
    };
    /// The outline of its tensor. A mistake may change it.
    CardFunction<Outline(const Plan&)> outline{};
    /// In 16-bit walks, as in libraries: after each operation; once, if they compute it in float32;
    /// never, if it stays float32, since positions need more digits than 16 bits have.
    CardFunction<RoundedAt(const Plan&)> rounds = [](const Plan&) { return RoundedAt::operations; };
    bool stays_float32(const Plan& plan) const { return rounds(plan) == RoundedAt::nothing; }
    /// Values under the mask are implementation-defined, such as ALiBi's of later keys.
    bool varies_where_hidden = false;
    /// The step mixes features: they no longer correspond to those of its input in the chain.
    bool mixes_features = false;
    /// The step whose gradient this is.
    std::string gradient_of{};
    /// True if its rule names steps directly, not by chains.
    bool names_steps() const { return !gradient_of.empty(); }
    /// Its equation in index notation (attn/core/rules/rule.hpp), with names of settings and chains
    /// and without the leading axes that all tensors share; empty for inputs of the walk.
    CardFunction<Rule(const PlannedStep&)> rule{};
    /// The usual notation, printed next to the rule: `query @ key^T`. Without a rule, the origin of
    /// the tensor.
    CardFunction<std::string(const PlannedStep&)> formula{};
    /// Computes the tensor from the plan and earlier steps. Drawn and given tensors are not
    /// computed; steps that can only be given have no function.
    Compute compute{};
    /// Computed even if the tensor is given, which `compute` then reads from the ledger: this is
    /// how a mistake changes an input of the walk.
    bool replaces_given = false;
    /// The first mistake in this step and its effect; empty in the reference.
    Prose mistake{};
    std::string mistake_ids{};  ///< `scale-missing, k-dot-k`
    std::string file{};         ///< the attention file that defines it
    /// Its paragraph in that file; null for its parameters.
    std::shared_ptr<const AttentionStep> stated{};
    /// True if it has a rule of the user, or of an attention file.
    bool of_user() const { return stated != nullptr || mistake_ids == users_rule; }
    /// Its paragraphs in the text of attention (attn/core/cards/card_text.hpp); null if it is
    /// defined in C++, or another rule has replaced them.
    const CardText* text = nullptr;
    /// True if the note in attn/explain/notes is true of its numbers.
    bool is_reported = true;
    std::string remarks{};  ///< on a rule of the user
    /// One or two sentences on the numbers of a step that only some walks have, such as a gradient.
    CardFunction<std::string(const notes::Subject&)> note{};
    /// Its Python code, in place of that from attn/explain/codegen.
    CardFunction<std::string(const StepLines&)> code{};
};

/// Returns the step with that name.  Errors  ConfigError, listing the existing names.
const Step& find_step(const StepTable& table, std::string_view name);

/// Returns the steps of each chain.
Chains chains_of(const StepTable& table);

/// Returns a given tensor with the axis names of its step, if the number of axes is the same.
Tensor with_axes_of(const Step& step, const Plan& plan, const Tensor& given);

}  // namespace attn
