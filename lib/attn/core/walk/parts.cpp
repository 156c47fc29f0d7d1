#include <algorithm>
#include <set>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/plan/words.hpp"
#include "attn/core/walk/memory_needs.hpp"
#include "attn/core/walk/states.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Consecutive queries.
struct QueryRange {
    std::size_t first, count;
};

bool is_row_axis(const Step& step, const std::string& axis) {
    return axis == "query" || (axis == "token" && step.tokens == "query");
}

/// Errors  ConfigError for an empty part.
std::vector<AxisPart> place_of_part(const WantedPart& wanted, const Outline& whole) {
    std::vector<AxisPart> place =
        slice_parts(whole.axes, whole.shape, wanted.sliced ? wanted.indices : "...");
    if (std::ranges::any_of(place, [](const AxisPart& axis) { return axis.count == 0; })) {
        throw ConfigError("$only "_message + wanted.name + "[" + wanted.indices +
                          "] is an empty part");
    }
    return place;
}

/// Returns the range of queries of a part.
QueryRange queries_of(const Plan& plan, const Step& step, const Outline& outline,
                      const std::vector<AxisPart>& place) {
    for (std::size_t axis = 0; axis < outline.axes.size(); ++axis) {
        if (!is_row_axis(step, outline.axes[axis])) continue;
        const AxisPart& part = place[axis];
        const auto last = part.first + (static_cast<std::ptrdiff_t>(part.count) - 1) * part.step;
        const auto [low, high] = std::minmax(part.first, last);
        return {static_cast<std::size_t>(low), static_cast<std::size_t>(high - low + 1)};
    }
    return {0, plan.query_len};
}

/// Returns a tensor's rows for these queries, if it has one per query.
Tensor rows_of_queries(const Tensor& tensor, std::size_t axis, const Plan& plan,
                       const QueryRange& queries) {
    if (tensor.shape()[axis] != plan.query_len) return tensor;
    return slice_of_axis(tensor, axis, queries.first, queries.count);
}

/// Returns the plan of the walk with only these queries; the keys are the same.
Plan plan_of_queries(const Plan& whole, const QueryRange& queries) {
    Plan plan = whole;
    plan.first_query = causal_offset(whole) + static_cast<std::ptrdiff_t>(queries.first);
    plan.query_len = queries.count;
    for (std::optional<Tensor>* file :
         {&plan.config.mask.given, whole.biases() ? &plan.config.position_bias->given : nullptr}) {
        if (file == nullptr || !*file || (*file)->dimension() < 2) continue;
        *file = rows_of_queries(**file, (*file)->dimension() - 2, whole, queries);
    }
    return plan;
}

/// Computes steps for some queries, after the steps that all queries share.
class RowsOfWalk {
public:
    RowsOfWalk(const Plan& plan, const Ledger& given, const StepTable& table)
        : plan_(plan), given_(given), table_(table), begin_(steps_before_rows(table).size()) {}

    /// Returns the part of a step, and the tensors that its note needs.
    WalkPart part(const Step& step, const WantedPart& wanted) {
        const Outline outline = step.outline(plan_);
        const std::vector<AxisPart> place = place_of_part(wanted, outline);
        const bool of_rows_alone = place_of(step) >= begin_;
        const QueryRange queries = of_rows_alone ? queries_of(plan_, step, outline, place)
                                                 : QueryRange{0, plan_.query_len};
        const Ledger rows = walked(step, queries);
        Outline of_rows = outline;
        std::vector<AxisPart> within = place;
        for (std::size_t axis = 0; axis < place.size(); ++axis) {
            if (!of_rows_alone || !is_row_axis(step, outline.axes[axis])) continue;
            within[axis].first -= static_cast<std::ptrdiff_t>(queries.first);
            of_rows.shape[axis] = queries.count;
        }
        if (!wanted.sliced) return {rows[step.name], {}};
        const Excerpt excerpt(step, outline.axes, outline.shape, place);
        Ledger seen = excerpt.cut(shared_, table_);
        const Ledger seen_rows =
            Excerpt(step, of_rows.axes, of_rows.shape, within).cut(rows, table_);
        for (const auto& [name, tensor] : seen_rows.entries()) {
            if (!shared_.has(name)) seen.record(name, tensor);
        }
        return {slice(rows[step.name], within), place, excerpt, seen};
    }

private:
    std::size_t place_of(const Step& step) const {
        return static_cast<std::size_t>(&step - table_.data());
    }

    /// Computes the walk up to a step, with only these queries.
    Ledger walked(const Step& step, const QueryRange& queries) {
        const std::span<const Step> steps(table_);
        const bool of_rows = place_of(step) >= begin_;
        const Plan plan = of_rows ? plan_of_queries(plan_, queries) : plan_;
        if (of_rows) require_memory(steps.first(place_of(step) + 1), plan);
        if (shared_.entries().empty()) {
            require_memory(steps.first(begin_), plan_);
            shared_ = Ledger(chains_of(table_));
            perform(steps.first(begin_), table_, plan_, given_, Details::kept, shared_);
        }
        if (!of_rows) return shared_;
        Ledger ledger = shared_;
        const Ledger::Entry& query = *shared_.find_latest(Chain::queries);
        ledger.record(query.name,
                      rows_of_queries(query.tensor, query.tensor.axis("query"), plan_, queries));
        perform(steps.subspan(begin_, place_of(step) + 1 - begin_), table_, plan, given_,
                Details::kept, ledger);
        return ledger;
    }

    const Plan& plan_;
    const Ledger& given_;
    const StepTable& table_;
    std::size_t begin_;
    Ledger shared_;  ///< the steps before begin_
};

bool is_of_file(const StepTable& table) {
    return std::ranges::any_of(table, [](const Step& step) { return !step.file.empty(); });
}

/// Returns the table without the states that are neither requested nor given.
StepTable without_states(const Plan& plan, const Ledger& given, const StepTable& table,
                         const std::vector<WantedPart>& wanted) {
    std::set<std::string> kept;
    for (const WantedPart& part : wanted) kept.insert(part.name);
    for (const Ledger::Entry& each : given.entries()) kept.insert(each.name);
    return without_states(table, plan, kept);
}

/// Returns the parts of a walk with attention files: their queries may depend on each other, but
/// states need not be kept.
std::vector<WalkPart> parts_of_file(const Plan& plan, const Ledger& given, const StepTable& table,
                                    const std::vector<WantedPart>& wanted) {
    const Ledger ledger = walk(plan, given, without_states(plan, given, table, wanted));
    std::vector<WalkPart> parts;
    for (const WantedPart& part : wanted) {
        const Tensor& whole = ledger[part.name];
        if (!part.sliced) {
            parts.push_back({whole, {}});
            continue;
        }
        const std::vector<AxisPart> place = place_of_part(part, {whole.axes(), whole.shape()});
        const Excerpt excerpt(find_step(table, part.name), whole.axes(), whole.shape(), place);
        parts.push_back({slice(whole, place), place, excerpt, excerpt.cut(ledger, table)});
    }
    return parts;
}

}  // namespace

std::span<const Step> steps_before_rows(const StepTable& table) {
    const auto scores = std::ranges::find(table, Chain::scores, &Step::chain);
    return std::span(table).first(static_cast<std::size_t>(scores - table.begin()));
}

bool can_walk_parts(const Plan& plan, const Ledger& given, const StepTable& table) {
    if (plan.config.softmax_axis != SoftmaxAxis::key || plan.config.prefill) return false;
    const std::span<const Step> steps(table);
    // Mistakes may mix rows, and a gradient of keys depends on all queries.
    const auto mixes = [](const Step& step) {
        return !step.mistake.empty() || !step.gradient_of.empty();
    };
    if (std::ranges::any_of(steps, mixes)) return false;
    if (is_of_file(table)) {
        const StepTable without = without_states(plan, given, table, {});
        return std::ranges::any_of(table, [&](const Step& step) {
            return step.applies(plan) && !has_step(without, plan, step.name);
        });
    }
    return std::ranges::none_of(
        steps.subspan(steps_before_rows(table).size()), [&](const Step& step) {
            return step.kind != Step::Kind::parameter && given.has(step.name);
        });
}

std::vector<WalkPart> walk_parts(const Plan& plan, const Ledger& given, const StepTable& table,
                                 const std::vector<WantedPart>& wanted) {
    for (const WantedPart& part : wanted) {
        if (find_step(table, part.name).applies(plan)) continue;
        throw ConfigError("there is no step " + part.name +
                          " in this walk: $list-steps lists them"_message);
    }
    if (is_of_file(table)) return parts_of_file(plan, given, table, wanted);
    RowsOfWalk rows(plan, given, table);
    std::vector<WalkPart> parts;
    for (const WantedPart& part : wanted) {
        parts.push_back(rows.part(find_step(table, part.name), part));
    }
    return parts;
}

namespace {

/// Keeps the entries of these rows in a list with one entry per token.
template <class Entry>
void keep(std::vector<Entry>& entries, std::size_t first, std::size_t count) {
    if (entries.size() < first + count) return;
    const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first);
    entries = std::vector<Entry>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

Array<bool> first_columns(const Array<bool>& cells, std::size_t count) {
    Shape shape = cells.shape();
    const std::size_t columns = shape.back();
    shape.back() = count;
    Array<bool> kept = empty_array<bool>(shape);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        kept.data()[i] = cells.data()[i / count * columns + i % count];
    }
    return kept;
}

/// Cuts a bias to the rows of a chunk and the columns up to its end, if it has them.
Tensor bias_of_chunk(const Tensor& bias, const PrefillChunk& chunk) {
    const Shape shape = bias.shape();
    std::string indices;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const bool rows = axis + 2 == shape.size() && shape[axis] > 1;
        const bool columns = axis + 1 == shape.size() && shape[axis] > 1;
        const std::size_t first = rows ? chunk.first : 0;
        const std::size_t end = rows || columns ? chunk.first + chunk.count : shape[axis];
        indices += (indices.empty() ? "" : ",") + std::to_string(first) + ":" + std::to_string(end);
    }
    return slice(bias, indices);
}

/// Returns the plan of one chunk: its queries, and the keys up to its end.
Plan plan_of(const Plan& whole, const PrefillChunk& chunk) {
    Plan plan = whole;
    plan.query_len = chunk.count;
    plan.past_len = chunk.first;
    plan.key_len = chunk.first + chunk.count;
    plan.config.prefill.reset();
    plan.config.past.reset();
    if (chunk.first > 0) plan.config.past = static_cast<std::int64_t>(chunk.first);
    plan.config.query_len = static_cast<std::int64_t>(chunk.count);
    plan.config.causal_align = CausalAlign::end;
    if (plan.biases() && plan.config.position_bias->given) {
        plan.config.position_bias->given = bias_of_chunk(*plan.config.position_bias->given, chunk);
    }
    keep(plan.config.positions, chunk.first, chunk.count);
    for (auto& tokens : plan.query_tokens) keep(tokens, chunk.first, chunk.count);
    for (auto& tokens : plan.key_tokens) keep(tokens, 0, plan.key_len);
    if (plan.key_padding.size() > 0) {
        plan.key_padding = first_columns(plan.key_padding, plan.key_len);
    }
    return plan;
}

/// Returns the rows of a chunk in an input of the walk; an input without tokens is shared by all.
Tensor rows_of_chunk(const Tensor& tensor, const PrefillChunk& chunk) {
    std::string indices;
    for (const std::string& axis : tensor.axes()) {
        indices += indices.empty() ? "" : ",";
        indices += is_token_axis(axis) ? std::to_string(chunk.first) + ":" +
                                             std::to_string(chunk.first + chunk.count)
                                       : ":";
    }
    return slice(tensor, indices);
}

}  // namespace

std::vector<Ledger> walk_chunks(const Plan& plan, const Ledger& whole, const StepTable& table) {
    std::vector<Ledger> ledgers;
    const DrawList drawn = draw_list(plan);
    for (const PrefillChunk& chunk : prefill_chunks(plan)) {
        Ledger given;
        for (const DrawnTensor& row : drawn) {
            if (const Tensor* tensor = whole.find(row.name)) {
                given.record(row.name, rows_of_chunk(*tensor, chunk));
            }
        }
        if (chunk.first > 0) {
            // The cache has each head once: heads are repeated later.
            given.record("past_key", ledgers.back().latest(Chain::keys, "repeated_key"));
            given.record("past_value", ledgers.back().latest(Chain::values, "repeated_value"));
        }
        Plan part = plan_of(plan, chunk);
        part.config.output_projection = plan.config.output_projection && whole.has("w_output");
        ledgers.push_back(walk(part, given, table));
    }
    return ledgers;
}

}  // namespace attn
