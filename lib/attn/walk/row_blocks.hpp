#pragma once
#include <span>

#include "attn/walk/step.hpp"

namespace attn {

/// Steps of a table that follow each other and work on blocks of rows.
struct RowSteps {
    std::vector<const Step*> steps;
    std::vector<const Step*> kept;    ///< those whose tensors are wanted
    std::vector<const Step*> before;  ///< what stands between them and follows from the plan
};

/// The steps from place `first` of the table on that can be evaluated over blocks of rows, up to
/// the last one that is wanted; none when the step there cannot be.
RowSteps row_steps_from(const Plan& plan, const Ledger& given, const StepTable& table,
                        std::size_t first, const std::function<bool(const Step&)>& wanted);

/// Which queries of which batch entries and heads are evaluated, in this order.
struct QueryRows {
    std::vector<std::size_t> batches, heads, queries;
};

QueryRows all_rows(const Plan& plan);

/// What the steps start from.
template <class T>
struct RowSources {
    MatrixView<const T> query, key, value;
    MatrixView<const T> cells;  ///< what the step before the first one made; none before the scores
    MaskView mask;
    BiasView<T> bias{};
    std::span<const T> sink{};  ///< one for each head; empty without
};

/// Performs the steps one after the other on some rows at a time, so that these rows of scores and
/// weights stay in the processor's cache from the step that makes them to the one that reads them.
/// What is not kept is never as large as the whole.
///
/// Shapes  the kept tensors: whole ones for all rows, else compact ones, whose batch, head and
/// query
///         axes count the rows.
/// Range   keys that no query of a block sees are left out where that changes nothing. Neither the
///         size of the blocks nor the number of threads changes a digit.
/// Errors  ConfigError for a fully masked row, when the plan refuses such rows.
Ledger evaluate_row_blocks(const Plan& plan, const Ledger& ledger, const RowSteps& steps,
                           const QueryRows& rows);

/// The same from plain memory, into the arrays of the kept steps: those that have the right shape
/// already are written in their place.
template <class T>
void evaluate_row_blocks(const Plan& plan, const RowSources<T>& sources, const RowSteps& steps,
                         const QueryRows& rows, std::vector<Array<T>>& kept);

/// Whether what the steps from `first` on read has the shapes of the plan, which a mistake may have
/// changed.
bool has_planned_shapes(const Plan& plan, const Ledger& ledger, const Step& first);

}  // namespace attn
