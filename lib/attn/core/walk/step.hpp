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

struct Step;
struct StepLines;
struct CardText;
namespace notes {
struct Subject;
}

/// The steps in order. A mistake is a function from one table to another.
using StepTable = std::vector<Step>;

/// One input of a step: the latest of a chain, or a step by its name where the walk has it.
struct Input {
    Input(Chain latest_of) : chain(latest_of) {}
    Input(std::string name) : step(std::move(name)) {}
    Input(const char* name) : step(name) {}

    Chain chain = Chain::none;
    std::string step;
};

/// Whether the table has a step of that name that applies to the plan.
bool has_step(const StepTable& table, const Plan& plan, std::string_view name);

/// A step of a walk that is planned, before there are numbers.
struct PlannedStep {
    const Plan& plan;
    const StepTable& table;
    const Step& step;

    /// The name of the last step of the chain before this one.
    ///
    /// Errors  ConfigError when the walk has none.
    const std::string& latest(Chain chain) const;
    /// The same of the step's own chain: what it changes.
    const std::string& before() const;
    /// The name of the step that an input stands for, whether the walk has it or not.
    const std::string& name_of(const Input& input) const {
        return input.chain == Chain::none ? input.step : latest(input.chain);
    }
    /// Whether it reads that tensor, or the latest of a chain that it is.
    bool reads(const std::string& tensor) const;
    /// Whether a step of that name is part of this walk, before this one or after.
    bool has(std::string_view name) const { return has_step(table, plan, name); }
};

/// A function of a card. A table is copied for every mistake that is tried: its copies share them.
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
        if (whole) held_ = std::make_shared<const Function>(std::move(whole));
    }

    Result operator()(Arguments... arguments) const {
        return (*held_)(std::forward<Arguments>(arguments)...);
    }
    explicit operator bool() const { return held_ != nullptr; }
    /// As that of std::function.
    template <class Other>
    const Other* target() const {
        return held_ ? held_->template target<Other>() : nullptr;
    }

private:
    std::shared_ptr<const Function> held_;
};

/// The card of one step of attention: one entry of the ledger, one section of the output. All that
/// is said of a step is looked up here.
struct Step {
    enum class Kind {
        input,      ///< ids, embedding, x, memory: where the walk starts
        parameter,  ///< weights and biases of the projections
        computed,   ///< computed by attention
        detail,     ///< a part of softmax, shown on request
    };
    using Compute = CardFunction<Tensor(const Plan&, const Ledger&)>;

    std::string name{};
    Prose title{};
    std::string called{};  ///< by other code: names in small letters, parted by blanks
    Kind kind = Kind::computed;
    /// What its cells are, in rules: positions are whole numbers, the mask holds truths.
    RuleType holds = RuleType::number;
    bool shown = true;  ///< printed without being asked for
    /// Whose positions a `token` axis counts: those of the queries, or of the keys.
    std::string tokens = "query";
    /// The chain that it begins or extends.
    Chain chain = Chain::none;
    CardFunction<bool(const Plan&)> applies = [](const Plan&) { return true; };
    CardFunction<std::vector<Input>(const Plan&)> reads = [](const Plan&) {
        return std::vector<Input>();
    };
    /// Of its tensor. A mistake may make another.
    CardFunction<Outline(const Plan&)> outline{};
    /// In 16 bits the libraries compute it in float32 and round the result once.
    CardFunction<bool(const Plan&)> at_once = [](const Plan&) { return false; };
    /// It stays in float32 there, as libraries keep it: positions have more digits than 16 bits.
    bool in_float32 = false;
    /// Programs differ in what they write where the mask hides, and may: ALiBi of later keys.
    bool varies_where_hidden = false;
    /// Its features are no longer those of the step of its chain that it reads.
    bool mixes_features = false;
    /// The step whose gradient it is.
    std::string gradient_of{};
    /// Whether its rule names steps as they are called, and no chains.
    bool names_steps() const { return !gradient_of.empty(); }
    /// Its arithmetic in index notation (attn/core/rules/rule.hpp), with names of settings and
    /// chains and without the leading axes that all share; empty where the walk starts from it.
    CardFunction<Rule(const PlannedStep&)> rule{};
    /// Printed beside the rule: how the field writes it, `query @ key^T`. Without a rule where
    /// it comes from.
    CardFunction<std::string(const PlannedStep&)> formula{};
    /// The tensor, from the plan and what came before. Steps whose tensor was drawn or given are
    /// not computed; those that can only be given have none.
    Compute compute{};
    /// Computed even when the tensor was given, which `compute` then finds in the ledger: how a
    /// mistake reaches what a walk starts from.
    bool replaces_given = false;
    /// The first mistake made here and its effect; empty in the reference.
    Prose mistake{};
    std::string mistake_ids{};  ///< `scale-missing, k-dot-k`
    std::string file{};         ///< the attention file that says it
    bool of_user = false;       ///< it follows a rule of the user, or of an attention file
    bool follows_rule = false;  ///< its rule replaced that of its card
    /// Its paragraphs in the text of attention (attn/core/cards/card_text.hpp); null if it is
    /// written in C++, or no longer follows them.
    const CardText* text = nullptr;
    /// Whether what attn/explain/notes has under its name is true of its numbers.
    bool is_told = true;
    /// What its attention file says of them, and what there is to say of a rule of the user.
    Prose file_note{};
    Prose torch_remark{}, numpy_remark{};
    std::string remarks{};
    /// One or two sentences on the numbers of a step that a walk alone has, as a gradient.
    CardFunction<std::string(const notes::Subject&)> note{};
    /// The lines of Python that make it, in the place of those that attn/explain/codegen writes.
    CardFunction<std::string(const StepLines&)> code{};
};

/// The step of that name.  Errors  ConfigError, listing the names there are.
const Step& find_step(const StepTable& table, std::string_view name);

/// The steps of each chain.
Chains chains_of(const StepTable& table);

/// A given tensor under the axis names of its step, where it has as many axes.
Tensor with_axes_of(const Step& step, const Plan& plan, const Tensor& given);

}  // namespace attn
