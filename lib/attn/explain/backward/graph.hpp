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

/// A step of a walk in the backward pass.
struct BackwardNode {
    const Step* step = nullptr;
    Outline outline{};
    std::optional<Rule> rule{};     ///< nullopt for inputs of the walk
    std::set<std::string> reads{};  ///< the tensors that its numbers depend on
    std::vector<std::string> readers{};
    bool has_gradient = false;  ///< it depends on inputs or parameters, and the loss on it
};

/// The dependencies in a walk, starting from the table's last step, the loss.
class BackwardGraph {
public:
    /// Errors  ConfigError for a table without steps, and for a mistake without a rule.
    BackwardGraph(const StepTable& table, const Plan& plan);

    const std::vector<BackwardNode>& nodes() const { return nodes_; }
    /// Errors  ConfigError for a step that the walk does not have.
    const BackwardNode& operator[](const std::string& name) const;
    bool has_gradient(const std::string& name) const;
    /// Returns the tensors with a gradient, each after all its readers.
    std::vector<std::string> order() const;
    /// Returns the letters of a tensor's axes, as in the walk: `h,q,k`.
    static std::vector<std::string> indices_of(const Outline& outline);

private:
    std::vector<BackwardNode> nodes_;  ///< in the order of the table
    std::map<std::string, std::size_t> places_;
};

/// Appends the steps of the loss: `target` or `upstream` if the loss has one, and `loss`.
void add_loss(StepTable& table, const Plan& plan, const Loss& loss);

}  // namespace attn
