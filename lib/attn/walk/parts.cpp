#include "attn/walk/parts.hpp"

#include <algorithm>

#include "attn/tensor/error.hpp"
#include "attn/walk/memory.hpp"
#include "attn/walk/row_blocks.hpp"
#include "attn/walk/walk.hpp"

namespace attn {
namespace {

std::vector<std::size_t> indices_of(const AxisPart& part) {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < part.count; ++i) {
        indices.push_back(
            static_cast<std::size_t>(part.first + static_cast<std::ptrdiff_t>(i) * part.step));
    }
    return indices;
}

/// So many cells of a step are held at a time when only some of them are wanted: 64 MB of float32.
constexpr std::size_t most_cells = std::size_t{1} << 24;

/// The rows in pieces of at most most_cells, in the order in which they lie in a tensor.
std::vector<QueryRows> pieces_of(const QueryRows& rows, std::size_t row_cells) {
    const std::size_t matrices = rows.batches.size() * rows.heads.size();
    if (matrices * rows.queries.size() * row_cells <= most_cells) return {rows};
    const std::size_t most_rows = std::max<std::size_t>(1, most_cells / row_cells);
    std::vector<QueryRows> pieces;
    for (const std::size_t batch : rows.batches) {
        for (const std::size_t head : rows.heads) {
            for (std::size_t first = 0; first < rows.queries.size(); first += most_rows) {
                const auto begin = rows.queries.begin() + static_cast<std::ptrdiff_t>(first);
                const std::size_t count = std::min(most_rows, rows.queries.size() - first);
                pieces.push_back(
                    {{batch}, {head}, {begin, begin + static_cast<std::ptrdiff_t>(count)}});
            }
        }
    }
    return pieces;
}

/// Whether the step can be evaluated for some rows of queries alone.
bool works_on_rows(const Step& step, const Plan& plan) {
    return step.applies(plan) && step.rows && step.rows(plan);
}

/// The place in the table of the first step that works on rows, or the end.
std::size_t first_row_step(const Plan& plan, const StepTable& table) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const Step& step) { return works_on_rows(step, plan); });
    return static_cast<std::size_t>(found - table.begin());
}

/// The steps on blocks of rows that `name` needs.
RowSteps steps_to(const Plan& plan, const StepTable& table, const std::string& name) {
    return row_steps_from(plan, {}, table, first_row_step(plan, table),
                          [&](const Step& step) { return step.name == name; });
}

/// A part of a step that works on rows, from the rows that it touches alone.
WalkPart part_of_rows(const Plan& plan, const Ledger& ledger, const StepTable& table,
                      const WantedPart& wanted) {
    const Outline outline = find_step(table, wanted.name).outline(plan);
    const RowSteps steps = steps_to(plan, table, wanted.name);
    WalkPart result;
    result.place = slice_parts(outline.axes, outline.shape, wanted.indices);
    QueryRows rows{{0}, {0}, {}};
    std::size_t row_cells = 1;
    Axes axes;
    Shape shape;
    for (std::size_t axis = 0; axis < outline.axes.size(); ++axis) {
        const std::string& name = outline.axes[axis];
        if (name == "batch") rows.batches = indices_of(result.place[axis]);
        if (name == "head") rows.heads = indices_of(result.place[axis]);
        if (name == "query") rows.queries = indices_of(result.place[axis]);
        if (name == "key" || name == "feature") row_cells = outline.shape[axis];
        if (result.place[axis].drops_axis) continue;
        axes.push_back(name);
        shape.push_back(result.place[axis].count);
    }
    const bool none = rows.batches.empty() || rows.heads.empty() || rows.queries.empty();
    if (none) {
        throw ConfigError("--only " + wanted.name + "[" + wanted.indices + "] is an empty part");
    }

    // The rows of a piece are picked already: what is left of their axes is taken whole.
    const auto made = [&](const QueryRows& piece) {
        std::vector<AxisPart> compact = result.place;
        const auto whole = [&](std::string_view name, std::size_t count) {
            const auto axis = std::find(outline.axes.begin(), outline.axes.end(), name);
            if (axis == outline.axes.end()) return;
            AxisPart& part = compact[static_cast<std::size_t>(axis - outline.axes.begin())];
            part = {0, 1, count, part.drops_axis};
        };
        whole("batch", piece.batches.size());
        whole("head", piece.heads.size());
        whole("query", piece.queries.size());
        return slice(evaluate_row_blocks(plan, ledger, steps, piece)[wanted.name], compact);
    };
    const std::vector<QueryRows> pieces = pieces_of(rows, row_cells);
    if (pieces.size() == 1) {
        result.tensor = made(rows);
        return result;
    }
    result.tensor = with_floating(plan.compute_dtype, [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> all = empty_array<T>(shape);
        T* end = all.data();
        for (const QueryRows& piece : pieces) {
            const Tensor tensor = made(piece);
            end = std::copy_n(tensor.as<T>().data(), tensor.size(), end);
        }
        return {axes, std::move(all)};
    });
    return result;
}

bool asks_for(const std::vector<WantedPart>& wanted, std::string_view name) {
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](const WantedPart& part) { return part.name == name; });
}

/// Whether the step makes something of the whole context.
bool follows_context(const Step& step, const Plan& plan) {
    return step.chain == Chain::contexts && !works_on_rows(step, plan);
}

/// Whether any step behind the context is wanted.
bool goes_behind_context(const Plan& plan, const StepTable& table,
                         const std::vector<WantedPart>& wanted) {
    return std::any_of(table.begin(), table.end(), [&](const Step& step) {
        return follows_context(step, plan) && asks_for(wanted, step.name);
    });
}

/// Whether the step is needed from end to end.
bool is_wanted_whole(const Step& step, const Plan& plan, const StepTable& table,
                     const std::vector<WantedPart>& wanted) {
    const bool feeds_another =
        step.chain == Chain::contexts && goes_behind_context(plan, table, wanted);
    return feeds_another || std::any_of(wanted.begin(), wanted.end(), [&](const WantedPart& part) {
               return !part.sliced && part.name == step.name;
           });
}

void require_memory_for(const Plan& plan, const StepTable& table,
                        const std::vector<WantedPart>& wanted) {
    double bytes = bytes_needed(plan, Kept::inputs);
    const double element = plan.compute_dtype == DType::float64 ? 8 : 4;
    for (const Step& step : table) {
        const bool shown = step.applies(plan) && step.follows_plan && asks_for(wanted, step.name);
        if (!works_on_rows(step, plan) && !shown) continue;
        const Outline outline = step.outline(plan);
        if (shown || is_wanted_whole(step, plan, table, wanted)) {
            bytes += element * static_cast<double>(element_count(outline.shape));
        }
        for (const WantedPart& part : wanted) {
            if (shown || !part.sliced || part.name != step.name) continue;
            double cells = element;
            for (const AxisPart& axis : slice_parts(outline.axes, outline.shape, part.indices)) {
                cells *= static_cast<double>(axis.count);
            }
            bytes += cells;
        }
    }
    require_bytes(plan, bytes);
}

}  // namespace

bool can_walk_parts(const Plan& plan, const Ledger& given, const StepTable& table) {
    const std::size_t first = first_row_step(plan, table);
    if (first == table.size() || table[first].rows(plan).makes == PerRow::row_max) return false;
    const RowSteps run =
        row_steps_from(plan, given, table, first, [](const Step&) { return true; });
    for (const Step& step : table) {
        const bool in_run = std::find(run.steps.begin(), run.steps.end(), &step) != run.steps.end();
        const bool between = step.chain == Chain::scores || step.kind == Step::Kind::detail ||
                             step.name == "weights" || step.name == "context";
        if (step.applies(plan) && between && !in_run && !step.follows_plan) return false;
    }
    return true;
}

std::vector<WalkPart> walk_parts(const Plan& plan, const Ledger& given, const StepTable& table,
                                 const std::vector<WantedPart>& wanted) {
    for (const WantedPart& part : wanted) {
        const Step& step = find_step(table, part.name);
        if (!step.applies(plan)) {
            throw ConfigError("there is no step " + part.name +
                              " in this walk: --list-steps "
                              "shows those there are");
        }
    }
    require_memory_for(plan, table, wanted);

    // Walk as far as query, key and value, and evaluate what is wanted whole.
    Ledger ledger(chains_of(table));
    const std::size_t first = first_row_step(plan, table);
    for (std::size_t i = 0; i < table.size(); ++i) {
        const Step& step = table[i];
        if (!step.applies(plan)) continue;
        if (step.follows_plan && !asks_for(wanted, step.name)) continue;
        if (follows_context(step, plan) && !goes_behind_context(plan, table, wanted)) continue;
        if (i == first) {
            const RowSteps whole = row_steps_from(plan, given, table, i, [&](const Step& one) {
                return is_wanted_whole(one, plan, table, wanted);
            });
            for (const Step* before : whole.before) {
                if (const Tensor* known = given.find(before->name)) {
                    ledger.record(before->name, *known);
                }
            }
            const Ledger made = evaluate_row_blocks(plan, ledger, whole, all_rows(plan));
            for (const auto& [name, tensor] : made.entries()) ledger.record(name, tensor);
        }
        if (works_on_rows(step, plan)) continue;
        if (const Tensor* known = given.find(step.name)) {
            ledger.record(step.name, with_axes_of(step, plan, *known));
        } else if (step.compute) {
            ledger.record(step.name, step.compute(plan, ledger));
        }
    }

    // Take the parts, those of attention from their own rows.
    std::vector<WalkPart> parts;
    for (const WantedPart& part : wanted) {
        if (const Tensor* tensor = ledger.find(part.name)) {
            parts.push_back({*tensor, {}});
            if (!part.sliced) continue;
            parts.back() = {slice(*tensor, part.indices), slice_parts(*tensor, part.indices)};
        } else if (works_on_rows(find_step(table, part.name), plan)) {
            parts.push_back(part_of_rows(plan, ledger, table, part));
        } else {
            throw ConfigError("there is no step " + part.name +
                              " in this walk: --list-steps shows those there are");
        }
    }
    return parts;
}

}  // namespace attn
