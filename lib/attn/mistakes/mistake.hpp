#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/walk/step.hpp"

namespace attn {

/// A well-known way to get attention wrong: a named replacement of one step of the step table, or
/// of the few steps that go wrong together.
///
/// An id may carry a variant after `=`: `softmax-axis=query` and `softmax-axis=head` are two
/// variants of the family `softmax-axis`.
struct Mistake {
    std::string id;
    std::string step;    ///< ledger name where it shows first
    std::string title;   ///< what was done, in a few words
    std::string effect;  ///< what that does to the numbers
    std::string fix_torch;
    std::string fix_numpy;
    std::string learner;    ///< one sentence to remember
    std::string tie_class;  ///< entries of one class give the same numbers; empty without such
    /// Why the mistake cannot show in this walk; empty when it can.
    std::function<std::string(const Plan&)> obstacle;
    /// The table with the mistake made. Mistakes compose: the next one takes this table.
    std::function<StepTable(StepTable, const Plan&)> apply;

    bool applies(const Plan& plan) const { return obstacle(plan).empty(); }
    std::string family() const { return id.substr(0, id.find('=')); }
};

/// Every catalogued mistake, in the order of the steps they replace.
const std::vector<Mistake>& mistakes();

/// The mistake of that id; a family without its variant means the first variant.
///
/// Errors  ConfigError, naming the ids that come close.
const Mistake& find_mistake(std::string_view id);

/// `table` with every mistake of `ids` made, in that order.
///
/// Errors  ConfigError for an unknown id, and for one that cannot show in this walk.
StepTable with_mistakes(StepTable table, const Plan& plan, const std::vector<std::string>& ids);

}  // namespace attn
