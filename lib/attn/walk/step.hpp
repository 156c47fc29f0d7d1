#pragma once
#include <functional>
#include <string>
#include <vector>

#include "attn/walk/ledger.hpp"
#include "attn/walk/plan.hpp"

namespace attn {

/// One step of attention: one entry of the ledger, one section of the output.
struct Step {
    enum class Kind {
        input,      ///< ids, embedding, x, memory: where the walk starts
        parameter,  ///< weights and biases of the projections
        computed,   ///< what attention computes
        detail,     ///< a part of softmax, shown on request
    };

    std::string name;
    std::string title;
    Kind kind = Kind::computed;
    bool shown = true;  ///< printed without being asked for
    std::function<bool(const Plan&)> applies;
    std::function<std::string(const Plan&)> formula;
    /// The tensor, from the plan and what came before. Steps whose tensor was drawn or given are
    /// not computed; those that can only be given have none.
    std::function<Tensor(const Plan&, const Ledger&)> compute;
    /// Computed even when the tensor was given, which `compute` then finds in the ledger: how a
    /// mistake reaches what a walk starts from.
    bool replaces_given = false;
};

/// The steps in order. A mistake is a function from one table to another.
using StepTable = std::vector<Step>;

/// Attention as it should be.
const StepTable& step_table();

/// The step of that name.  Errors  ConfigError, listing the names there are.
const Step& find_step(const StepTable& table, std::string_view name);

}  // namespace attn
