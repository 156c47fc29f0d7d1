#pragma once
#include <array>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "attn/mistakes/mistake.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/told.hpp"

namespace attn {

// What the entries of the catalogue are made of.

using Compute = std::function<Tensor(const Plan&, const Ledger&)>;
/// A step's new way to compute, given the one it replaces.
using StepEdit = std::function<Tensor(const Plan&, const Ledger&, const Compute& before)>;
/// The ledger that a step is made to read instead of the true one.
using LedgerEdit = std::function<void(Ledger&, const Plan&)>;
/// The plan that a step is made to follow instead of the true one.
using PlanEdit = std::function<void(Plan&)>;

/// Replaces the computation of the named steps, those that the table has.
TableEdit replace_step(std::vector<std::string> steps, StepEdit how);
/// The named steps compute as before, from an altered ledger.
TableEdit with_ledger(std::vector<std::string> steps, LedgerEdit alter);
/// The named steps compute as before, under an altered plan.
TableEdit with_plan(std::vector<std::string> steps, PlanEdit alter);
/// Makes several edits, one after the other.
TableEdit all_of(std::vector<TableEdit> edits);
/// Makes one edit for each of these steps.
TableEdit for_each_step(const std::vector<std::string>& steps,
                        const std::function<TableEdit(const std::string& step)>& edit);

/// The named steps (all without names) are only written as under an altered plan.
TableEdit written_with_plan(std::vector<std::string> steps, PlanEdit alter);
/// The lines and titles of a mistake in a table in which it was made: those that differ from the
/// lines of the table without it are marked.
void write_mistake(StepTable& table, const StepTable& without, const Plan& plan,
                   const Mistake& mistake);

/// Lines from a pattern: `{right}` and `{rhs}` are those of the table and what stands behind their
/// equals sign; `{queries}`, `{keys}`, `{values}`, `{scores}`, `{weights}` and `{contexts}` the
/// latest of a chain; `{B}`, `{H}`, `{context heads}`, `{Tq}`, `{Tk}`, `{C}` sizes, `{bh}` the axes
/// of batch and head in an einsum; `{shape}` that of the step, `{feature by head}` the same with
/// the heads last, `{grid}` that of the scores; `{scale}` what the right scores are scaled by,
/// `{inverse scale}` and `{root of scale}`. NumPy's lines are made of PyTorch's where they are not
/// given.
Lines say(std::string torch, std::string numpy = "");
/// The right lines, and the mask spread over every cell of the scores.
Lines over_the_grid();
/// The right lines with every match of a regular expression replaced.
Lines replaced(std::string expression, std::string by);
/// Whether this is the first step of the walk that multiplies x or memory by a weight.
bool multiplies_first(const StepLines& of);
/// `4:8`: so many indices from the first on.
std::string slice_text(std::size_t first, std::size_t count);
/// A formula, or the right one (`{right}`) with a few words more.
std::function<std::string(const std::string&)> formula(std::string text);
std::function<std::string(const std::string&)> formula_with(std::string expression, std::string by);

/// The same lines for each of these steps, and their formulas with a few words more.
std::vector<WrongLines> lines_of_each(const std::vector<std::string>& steps, const Lines& lines,
                                      const std::string& words);

/// The chain that the step begins or extends.
Chain chain_of(const std::string& step);
/// Leaves the named steps as their chain was in front of them, and the lines of it.
TableEdit left_out(const std::vector<std::string>& steps);
std::vector<WrongLines> left_out_lines(const std::vector<std::string>& steps);

/// Every step that may multiply x or memory by a projection weight.
const std::vector<std::string>& projecting_steps();
/// query, key and value.
const std::vector<std::string>& head_steps();
inline constexpr std::array<const char*, 3> part_names{"query", "key", "value"};
/// Whether query, key and value are x multiplied by weights: not of a latent.
bool projects_x(const Plan& plan);
/// How many features come out of one stored query (or value) matrix.
std::size_t stored_width(const Plan& plan, std::size_t part);

constexpr double infinity = std::numeric_limits<double>::infinity();

// Why a mistake cannot show where a walk has no such thing.
std::string needs_mask(const Plan& plan);
std::string needs_padding(const Plan& plan);
std::string needs_scale(const Plan& plan);
std::string needs_square(const Plan& plan);

/// Where nothing rotates, or something else is missing, why a mistake of the rotation cannot show.
NotApplicable needs_rope();
NotApplicable rope_and(std::function<bool(const Plan&)> possible, std::string reason);

/// A tensor as double numbers on four axes; those that it lacks have length 1.
struct Grid {
    std::size_t batch = 1;
    std::size_t heads = 1;
    std::size_t rows = 1;
    std::size_t columns = 1;
    std::vector<double> cells;

    Grid(std::size_t batch_size, std::size_t head_count, std::size_t row_count,
         std::size_t column_count);
    double& at(std::size_t b, std::size_t h, std::size_t r, std::size_t c) {
        return cells[place(b, h, r, c)];
    }
    double at(std::size_t b, std::size_t h, std::size_t r, std::size_t c) const {
        return cells[place(b, h, r, c)];
    }
    /// Errors  ShapeError beyond an axis, as where another mistake has changed the lengths.
    std::size_t place(std::size_t b, std::size_t h, std::size_t r, std::size_t c) const {
        if (b >= batch || h >= heads || r >= rows || c >= columns) {
            throw ShapeError("one of these mistakes reads what another has cut off: make one");
        }
        return ((b * heads + h) * rows + r) * columns + c;
    }
    /// Sets every cell to `f(b, h, r, c)`.
    template <class F>
    void fill(F&& f) {
        for (std::size_t b = 0; b < batch; ++b) {
            for (std::size_t h = 0; h < heads; ++h) {
                for (std::size_t r = 0; r < rows; ++r) {
                    for (std::size_t c = 0; c < columns; ++c) at(b, h, r, c) = f(b, h, r, c);
                }
            }
        }
    }
};

/// Shapes  tensor with two to four axes, the last two rows and columns; a third is the head or the
///         batch, by its name.
Grid grid_of(const Tensor& tensor);

/// The grid as a tensor of type `dtype` with the named axes; an axis that is not named must have
/// length 1.
Tensor tensor_of(const Grid& grid, Axes axes, DType dtype);

struct GridCell {
    std::size_t b, h, r, c;
};

/// The tensor with every cell read from another one: `place(cell, grid)` says from which.
template <class Place>
Tensor rearranged(const Tensor& tensor, Place&& place) {
    const Grid right = grid_of(tensor);
    Grid wrong = right;
    wrong.fill([&](std::size_t b, std::size_t h, std::size_t r, std::size_t c) {
        const GridCell from = place(GridCell{b, h, r, c}, right);
        return right.at(from.b, from.h, from.r, from.c);
    });
    return tensor_of(wrong, tensor.axes(), tensor.dtype());
}

/// Every cell of a floating tensor passed through `f`, in order.
template <class F>
Tensor mapped(const Tensor& tensor, F&& f) {
    return with_floating(tensor.dtype(), [&](auto zero) -> Tensor {
        using T = decltype(zero);
        Array<T> cells = tensor.as<T>();
        for (T& cell : cells) cell = static_cast<T>(f(cell));
        return {tensor.axes(), std::move(cells)};
    });
}

/// `tensor` with the axes `a` and `b` exchanged; the names stay in their places.
Tensor exchanged(const Tensor& tensor, std::size_t a, std::size_t b);

/// The same cells, in order, under another shape.
Tensor reshaped(const Tensor& tensor, Axes axes, const Shape& shape);

/// A 0 for each score of a walk.
Grid score_grid(const Plan& plan);

/// A mask spread over (batch, head, query, key): 1 where hidden, 0 elsewhere. It is that of the
/// walk, or the ledger's own where that has one.
Grid hidden_cells(const Plan& plan, const Tensor& mask);
Grid hidden_cells(const Plan& plan, const Ledger& ledger);
Grid hidden_cells(const Plan& plan);
/// The mask that a walk has with a mistake in it.
Grid hidden_cells(const Plan& plan, const Mistake& mistake);

/// The mask of which these cells are hidden.
Tensor mask_of(const Grid& hidden, const Plan& plan);

/// Puts a tensor in the place of the latest of a chain, which is what the steps behind it read.
void replace_latest(Ledger& ledger, Chain chain, Tensor tensor);

/// What a masked cell becomes, from its score and whether it is hidden.
using CellRule = std::function<double(double score, bool hidden)>;
/// A mask that is used by another rule for each cell.
Mistake in_mask_use(std::string id, std::string title, std::string effect, std::string fix_torch,
                    std::string fix_numpy, std::string lesson, CellRule cell, Lines lines,
                    std::string indistinguishable_from = "");

/// The nearest number that a 16-bit float can hold.
double in_float16(double number);

/// The scores as they are right before the mask.
const Tensor& unmasked(const Ledger& ledger);

/// What a factor multiplies the scores by.
double effect_of(const ScaleFactor& factor);

/// Whether the reference table has a step of that name for this walk.
bool walk_has(const Plan& plan, std::string_view step);

/// Gives `reason` where it is not possible.
NotApplicable unless(std::function<bool(const Plan&)> possible, std::string reason);
/// Gives `reason` where the walk has no step of that name.
NotApplicable needs_step(std::string step, std::string reason);
/// Asks for several things: the first reason that holds.
NotApplicable first_of(std::vector<NotApplicable> reasons);

/// Moves the entries to the end of the list.
template <std::size_t count>
void add(std::vector<Mistake>& list, Mistake (&&entries)[count]) {
    list.insert(list.end(), std::make_move_iterator(entries),
                std::make_move_iterator(entries + count));
}

/// An entry with lines of its own that mend it.
inline Mistake with_fix(Mistake entry, std::string torch, std::string numpy) {
    entry.fix_torch = std::move(torch);
    entry.fix_numpy = std::move(numpy);
    return entry;
}
/// The query rotated so many tokens too far.
Mistake rotated_too_far(double tokens, const std::string& word);
/// An entry with a file of its own.
Mistake shared_head_weight();
/// ALiBi in the form of a number for each key: harmless where later keys are hidden.
Mistake alibi_of_keys(bool harmless);

// The catalogue is written in parts, one file for each place in the walk.
void add_input_mistakes(std::vector<Mistake>& list);
void add_projection_mistakes(std::vector<Mistake>& list);
void add_head_mistakes(std::vector<Mistake>& list);
void add_qk_norm_mistakes(std::vector<Mistake>& list);
void add_position_mistakes(std::vector<Mistake>& list);
void add_pairing_mistakes(std::vector<Mistake>& list);
void add_harmless_pairings(std::vector<Mistake>& list);
void add_rotary_mistakes(std::vector<Mistake>& list);
void add_harmless_rotations(std::vector<Mistake>& list);
void add_frequency_mistakes(std::vector<Mistake>& list);
void add_grouped_mistakes(std::vector<Mistake>& list);
void add_cache_mistakes(std::vector<Mistake>& list);
void add_latent_mistakes(std::vector<Mistake>& list);
void add_score_mistakes(std::vector<Mistake>& list);
void add_scale_mistakes(std::vector<Mistake>& list);
void add_score_bias_mistakes(std::vector<Mistake>& list);
void add_t5_bias_mistakes(std::vector<Mistake>& list);
void add_mask_kind_mistakes(std::vector<Mistake>& list);
void add_mask_use_mistakes(std::vector<Mistake>& list);
void add_mask_shape_mistakes(std::vector<Mistake>& list);
void add_softmax_mistakes(std::vector<Mistake>& list);
void add_context_mistakes(std::vector<Mistake>& list);
void add_output_mistakes(std::vector<Mistake>& list);

}  // namespace attn
