#pragma once
#include "attn/walk/hidden_keys.hpp"
#include "attn/walk/step.hpp"

namespace attn {

/// The steps that stepped_attention knows: scores to context, but for the mask.
bool is_attention_step(std::string_view name);

/// The axes and lengths of such a step, whether it is there yet or not.
struct StepOutline {
    Axes axes;
    Shape shape;
};

StepOutline outline_of_attention_step(const Plan& plan, std::string_view name);

/// Whether the steps from scores to context of this walk may be evaluated over windows of query
/// rows: in arrays, with softmax over the keys, every step as it should be and none given.
bool runs_in_windows(const Plan& plan, const Ledger& given, const StepTable& table);

/// Which queries of which batch entries and heads are evaluated, in this order.
struct QueryRows {
    std::vector<std::size_t> batches, heads, queries;

    bool operator==(const QueryRows&) const = default;
};

QueryRows all_rows(const Plan& plan);

/// The steps named in `wanted`, for these rows alone, from query, key and value in `ledger`: whole
/// tensors for all rows, else compact ones, whose batch, head and query axes count the rows.
///
/// Errors  ConfigError for a row that hides every key, when the plan refuses such rows.
Ledger evaluate_windows(const Plan& plan, const Ledger& ledger, const QueryRows& rows,
                        const std::vector<std::string>& wanted);

}  // namespace attn
