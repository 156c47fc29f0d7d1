#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attn/core/rules/rule.hpp"
#include "attn/core/walk/step.hpp"
#include "attn/explain/backward/backward.hpp"

namespace attn {

/// A step of a walk as the way back sees it.
struct BackwardNode {
    const Step* step = nullptr;
    Outline outline{};
    std::optional<Rule> rule{};     ///< nothing where the walk starts from it
    std::set<std::string> reads{};  ///< the tensors whose numbers it is made of
    std::vector<std::string> readers{};
    bool has_gradient = false;  ///< it is made of what is learned or given, and the loss of it
};

/// The dependencies in a walk, from the table's last step, which is the loss.
class BackwardGraph {
public:
    /// Errors  ConfigError for a table without steps, and for a mistake without a rule.
    BackwardGraph(const StepTable& table, const Plan& plan);

    const std::vector<BackwardNode>& nodes() const { return nodes_; }
    /// Errors  ConfigError for a step that the walk has not.
    const BackwardNode& operator[](const std::string& name) const;
    bool has_gradient(const std::string& name) const;
    /// The tensors with a gradient, each after all that read it.
    std::vector<std::string> order() const;
    /// A letter for each axis of a tensor, those of the walk: `h,q,k`.
    static std::vector<std::string> indices_of(const Outline& outline);

private:
    std::vector<BackwardNode> nodes_;  ///< in the order of the table
    std::map<std::string, std::size_t> places_;
};

/// Adds the steps that bring a walk to one number: `target` or `upstream` where the loss has one,
/// and `loss`.
void add_loss(StepTable& table, const Plan& plan, const Loss& loss);

}  // namespace attn
