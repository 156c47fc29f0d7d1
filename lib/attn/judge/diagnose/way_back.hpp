#pragma once
#include <map>
#include <string>

#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"

namespace attn {

/// A walk in float64 and its way back, which is gone again from other gradients.
class WayBack {
public:
    /// Errors  as with_gradients.
    WayBack(Plan of, const Ledger& given, StepTable forward, const Loss& loss);

    /// The walk with its gradients by `made`, the table or one with mistakes; those in `taken` are
    /// not computed.
    Ledger gradients(const StepTable& made, const Ledger& taken) const;
    /// Goes back with each number rounded, up or down by chance: see noise().
    void shake(const Ledger& taken);
    /// How far roundings of 1 take a gradient at most: what a type's epsilon is multiplied by.
    double noise(const std::string& step) const;
    bool has(const std::string& step) const { return has_step(table, plan, step); }

    Plan plan;
    StepTable table;

private:
    template <class After>
    Ledger go_back(const StepTable& made, const Ledger& taken, Ledger ledger, After&& after) const;

    std::size_t first_ = 0;  ///< the first step after the loss
    Ledger forth_{};
    std::map<std::string, double> noise_{};
};

}  // namespace attn
