#include "attn/walk/parts.hpp"

#include <algorithm>

#include "attn/tensor/error.hpp"
#include "attn/walk/memory.hpp"
#include "attn/walk/row_blocks.hpp"
#include "attn/walk/visibility.hpp"
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

/// So many are held of each step that a note looks at.
constexpr std::size_t most_seen = most_cells / 4;

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

/// The steps on blocks of rows up to `name`, of which that one is kept, or all.
RowSteps steps_to(const Plan& plan, const StepTable& table, const std::string& name,
                  bool keep_all) {
    const Step* last = &find_step(table, name);
    return row_steps_from(plan, {}, table, first_row_step(plan, table), [&](const Step& step) {
        return &step == last || (keep_all && &step < last);
    });
}

/// The mask of some rows of queries, as a tensor.
Tensor mask_of_rows(const Plan& plan, const QueryRows& rows) {
    const Visibility visibility(plan);
    const Outline outline{plan.per_head_axes("query", "key"),
                          plan.per_head_shape(rows.queries.size(), plan.key_len)};
    Shape shape = outline.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (outline.axes[axis] == "batch") shape[axis] = rows.batches.size();
        if (outline.axes[axis] == "head") shape[axis] = rows.heads.size();
    }
    Array<bool> cells = empty_array<bool>(shape);
    bool* cell = cells.data();
    for (const std::size_t batch : rows.batches) {
        for (const std::size_t head : rows.heads) {
            for (const std::size_t query : rows.queries) {
                for (std::size_t key = 0; key < plan.key_len; ++key) {
                    *cell++ = visibility.hides({batch, head, query, key});
                }
            }
        }
    }
    return {outline.axes, std::move(cells)};
}

/// A part of a step that works on rows, by the rows that it touches. Their steps are evaluated for
/// them alone; what is left to take of each row is the same for all.
class RowPart {
public:
    RowPart(const Plan& plan, const StepTable& table, const WantedPart& wanted)
        : plan_(plan),
          table_(table),
          step_(find_step(table, wanted.name)),
          outline_(step_.outline(plan)),
          place_(slice_parts(outline_.axes, outline_.shape, wanted.indices)) {
        for (std::size_t axis = 0; axis < outline_.axes.size(); ++axis) {
            const std::string& name = outline_.axes[axis];
            if (name == "batch") rows_.batches = indices_of(place_[axis]);
            if (name == "head") rows_.heads = indices_of(place_[axis]);
            if (name == "query") rows_.queries = indices_of(place_[axis]);
            if (name == "key" || name == "feature") row_cells_ = outline_.shape[axis];
        }
        if (rows_.batches.empty() || rows_.heads.empty() || rows_.queries.empty()) {
            throw ConfigError("--only " + wanted.name + "[" + wanted.indices +
                              "] is an empty part");
        }
    }

    WalkPart from(const Ledger& ledger) const {
        WalkPart result;
        result.place = place_;
        const std::size_t matrices = rows_.batches.size() * rows_.heads.size();
        if (matrices * rows_.queries.size() * plan_.key_len <= most_seen) {
            result.excerpt = Excerpt(step_, outline_.axes, outline_.shape, place_);
            result.seen = seen(ledger, result.excerpt);
            std::vector<AxisPart> all = place_;
            for (AxisPart& axis : all) axis = {0, 1, axis.count, axis.drops_axis};
            result.tensor = slice(result.seen[step_.name], all);
            return result;
        }
        result.tensor = in_pieces(ledger);
        return result;
    }

private:
    bool is_row_axis(std::size_t axis) const {
        const std::string& name = outline_.axes[axis];
        return name == "batch" || name == "head" || name == "query";
    }

    /// What is taken of rows that are picked already: all of them, and of each row its cells.
    std::vector<AxisPart> within(const QueryRows& rows) const {
        std::vector<AxisPart> place = place_;
        for (std::size_t axis = 0; axis < place.size(); ++axis) {
            if (!is_row_axis(axis)) continue;
            const std::string& name = outline_.axes[axis];
            const auto& picked = name == "batch"  ? rows.batches
                                 : name == "head" ? rows.heads
                                                  : rows.queries;
            place[axis] = {0, 1, picked.size(), place[axis].drops_axis};
        }
        return place;
    }

    /// The steps up to this one, cut to the excerpt.
    Ledger seen(const Ledger& ledger, const Excerpt& excerpt) const {
        Ledger rows =
            evaluate_row_blocks(plan_, ledger, steps_to(plan_, table_, step_.name, true), rows_);
        if (plan_.masks()) rows.record("mask", mask_of_rows(plan_, rows_));
        Shape shape = outline_.shape;
        const std::vector<AxisPart> place = within(rows_);
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if (is_row_axis(axis)) shape[axis] = place[axis].count;
        }
        const Excerpt of_rows(step_, outline_.axes, shape, place);
        Ledger seen = excerpt.cut(ledger, table_);
        const Ledger parts = of_rows.cut(rows, table_);
        for (const auto& [name, tensor] : parts.entries()) seen.record(name, tensor);
        return seen;
    }

    Tensor in_pieces(const Ledger& ledger) const {
        Axes axes;
        Shape shape;
        for (std::size_t axis = 0; axis < place_.size(); ++axis) {
            if (place_[axis].drops_axis) continue;
            axes.push_back(outline_.axes[axis]);
            shape.push_back(place_[axis].count);
        }
        const RowSteps steps = steps_to(plan_, table_, step_.name, false);
        return with_floating(plan_.compute_dtype, [&](auto zero) -> Tensor {
            using T = decltype(zero);
            Array<T> all = empty_array<T>(shape);
            T* end = all.data();
            for (const QueryRows& piece : pieces_of(rows_, row_cells_)) {
                const Ledger made = evaluate_row_blocks(plan_, ledger, steps, piece);
                const Tensor tensor = slice(made[step_.name], within(piece));
                end = std::copy_n(tensor.as<T>().data(), tensor.size(), end);
            }
            return {axes, std::move(all)};
        });
    }

    const Plan& plan_;
    const StepTable& table_;
    const Step& step_;
    Outline outline_;
    std::vector<AxisPart> place_;
    QueryRows rows_{{0}, {0}, {}};
    std::size_t row_cells_ = 1;
};

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
        const Step& step = find_step(table, part.name);
        if (part.sliced && works_on_rows(step, plan)) {
            parts.push_back(RowPart(plan, table, part).from(ledger));
            continue;
        }
        const Tensor* tensor = ledger.find(part.name);
        if (tensor == nullptr) {
            throw ConfigError("there is no step " + part.name +
                              " in this walk: --list-steps shows those there are");
        }
        parts.push_back({*tensor, {}});
        if (!part.sliced) continue;
        const std::vector<AxisPart> place = slice_parts(*tensor, part.indices);
        const Excerpt excerpt(step, tensor->axes(), tensor->shape(), place);
        parts.back() = {slice(*tensor, place), place, excerpt, excerpt.cut(ledger, table)};
    }
    return parts;
}

}  // namespace attn
