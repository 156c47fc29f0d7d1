#include "attn/walk/windows.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "attn/cards/step_table.hpp"
#include "attn/steps/stepped_attention.hpp"

namespace attn {
namespace {

using Compute = Tensor (*)(const Plan&, const Ledger&);

constexpr std::array<std::string_view, 8> attention_steps_known{
    "scores",       "scaled_scores", "masked_scores", "row_max",
    "exponentials", "row_sum",       "weights",       "context"};

/// Whether the step computes what the table of attention as it should be computes there.
bool is_as_it_should_be(const Step& step) {
    const Compute* here = step.compute.target<Compute>();
    const Compute* right = find_step(step_table(), step.name).compute.target<Compute>();
    return here != nullptr && right != nullptr && *here == *right;
}

/// One contiguous run of queries of one batch entry and head, and its place in the result.
struct Run {
    std::size_t batch, head, first, count, place;
};

/// The rows cut into runs: neighbours that follow each other in the whole and in the result.
std::vector<Run> runs_of(const QueryRows& rows) {
    std::vector<Run> runs;
    std::size_t place = 0;
    for (const std::size_t batch : rows.batches) {
        for (const std::size_t head : rows.heads) {
            const std::size_t start = runs.size();
            for (const std::size_t query : rows.queries) {
                const bool follows =
                    runs.size() > start && query == runs.back().first + runs.back().count;
                if (follows) {
                    ++runs.back().count;
                } else {
                    runs.push_back({batch, head, query, 1, place});
                }
                ++place;
            }
        }
    }
    return runs;
}

template <class T>
class Evaluation {
public:
    Evaluation(const Plan& plan, const Ledger& ledger, const QueryRows& rows)
        : plan_(plan), ledger_(ledger), rows_(rows), hidden_(plan) {}

    Ledger evaluate(const std::vector<std::string>& wanted) {
        for (const std::string& name : wanted) results_.push_back({name, empty_result(name)});
        SteppedOptions options;
        options.scale = plan_.scale;
        options.empty_row = plan_.config.empty_row;
        options.threads = static_cast<std::size_t>(plan_.config.threads);
        const AttentionShape whole = attention_shape(plan_);
        if (rows_ == all_rows(plan_)) {
            options.mask = hidden_.mask();
            attend(0, 0, 0, whole, 0, options);
        } else {
            evaluate_runs(whole, options);
        }
        Ledger ledger;
        for (auto& [name, array] : results_) {
            ledger.record(name,
                          Tensor(outline_of_attention_step(plan_, name).axes, std::move(array)));
        }
        return ledger;
    }

private:
    void evaluate_runs(AttentionShape shape, SteppedOptions& options) {
        shape.batch = shape.heads = 1;
        for (const Run& run : runs_of(rows_)) {
            shape.query_len = run.count;
            options.first_row = (run.batch * plan_.heads + run.head) * plan_.query_len + run.first;
            options.mask = hidden_.mask_from(run.batch, run.head, run.first);
            attend(run.batch, run.head, run.first, shape, run.place, options);
        }
    }

    void attend(std::size_t batch, std::size_t head, std::size_t first, const AttentionShape& shape,
                std::size_t place, const SteppedOptions& options) {
        const std::size_t group = batch * plan_.heads + head;
        KeptSteps<T> kept;
        for (auto& [name, array] : results_) {
            const std::size_t row =
                array.size() / rows_.batches.size() / rows_.heads.size() / rows_.queries.size();
            place_of(kept, name) = array.data() + place * row;
        }
        stepped_attention(
            ledger_.latest(Chain::queries).as<T>().data() +
                (group * plan_.query_len + first) * plan_.head_dim,
            ledger_.latest(Chain::keys).as<T>().data() + group * plan_.key_len * plan_.head_dim,
            ledger_.latest(Chain::values).as<T>().data() + group * plan_.key_len * plan_.value_dim,
            shape, options, kept);
    }

    static T*& place_of(KeptSteps<T>& kept, std::string_view name) {
        const std::array<T**, 8> places{&kept.scores,  &kept.scaled_scores, &kept.masked_scores,
                                        &kept.row_max, &kept.exponentials,  &kept.row_sum,
                                        &kept.weights, &kept.context};
        const auto found =
            std::find(attention_steps_known.begin(), attention_steps_known.end(), name);
        return *places[static_cast<std::size_t>(found - attention_steps_known.begin())];
    }

    /// An array for a step of these rows alone.
    Array<T> empty_result(std::string_view name) const {
        StepOutline outline = outline_of_attention_step(plan_, name);
        for (std::size_t i = 0; i < outline.axes.size(); ++i) {
            if (outline.axes[i] == "batch") outline.shape[i] = rows_.batches.size();
            if (outline.axes[i] == "head") outline.shape[i] = rows_.heads.size();
            if (outline.axes[i] == "query") outline.shape[i] = rows_.queries.size();
        }
        return empty_array<T>(outline.shape);
    }

    const Plan& plan_;
    const Ledger& ledger_;
    const QueryRows& rows_;
    HiddenKeys hidden_;
    std::vector<std::pair<std::string, Array<T>>> results_;
};

}  // namespace

bool is_attention_step(std::string_view name) {
    return std::find(attention_steps_known.begin(), attention_steps_known.end(), name) !=
           attention_steps_known.end();
}

StepOutline outline_of_attention_step(const Plan& plan, std::string_view name) {
    const bool context = name == "context";
    StepOutline outline{
        plan.per_head_axes("query", context ? "feature" : "key"),
        plan.per_head_shape(plan.query_len, context ? plan.value_dim : plan.key_len)};
    if (name == "row_max" || name == "row_sum") {
        outline.axes.pop_back();
        outline.shape.pop_back();
    }
    return outline;
}

bool runs_in_windows(const Plan& plan, const Ledger& given, const StepTable& table) {
    if (plan.config.variant != Variant::vectorized ||
        plan.config.softmax_axis != SoftmaxAxis::key) {
        return false;
    }
    std::size_t found = 0;
    for (const Step& step : table) {
        if (!is_attention_step(step.name) && step.name != "mask") continue;
        if (!is_as_it_should_be(step) || given.has(step.name)) return false;
        ++found;
    }
    return found == attention_steps_known.size() + 1;
}

QueryRows all_rows(const Plan& plan) {
    QueryRows rows{std::vector<std::size_t>(plan.batch), std::vector<std::size_t>(plan.heads),
                   std::vector<std::size_t>(plan.query_len)};
    for (auto* axis : {&rows.batches, &rows.heads, &rows.queries}) {
        std::iota(axis->begin(), axis->end(), std::size_t{0});
    }
    return rows;
}

Ledger evaluate_windows(const Plan& plan, const Ledger& ledger, const QueryRows& rows,
                        const std::vector<std::string>& wanted) {
    return with_floating(plan.compute_dtype, [&](auto zero) {
        return Evaluation<decltype(zero)>(plan, ledger, rows).evaluate(wanted);
    });
}

}  // namespace attn
