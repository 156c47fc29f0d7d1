#pragma once
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "attn/mistakes/edits.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {

// What the entries of the catalogue are made of.

/// What the right scores are scaled by, as a rule says it: ` / sqrt(D)`; the inverse; the root.
std::string scale_rule(const Plan& plan);
std::string inverse_scale_rule(const Plan& plan);
std::string root_of_scale_rule(const Plan& plan);
/// Whether this is the first step of the walk that multiplies x or memory by a weight.
bool multiplies_first(const StepLines& of);
/// The steps compute and write as without a sink.
TableEdit without_sink(const std::vector<std::string>& steps);

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

/// The cells of all scores: true where hidden.
struct Grid {
    std::vector<bool> cells;
};
/// The mask of a walk spread over its scores, and the one that it has with a mistake in it.
Grid hidden_cells(const Plan& plan);
Grid hidden_cells(const Plan& plan, const Mistake& mistake);
/// A tensor with a cell for each score.
Outline score_cells(const Plan& plan);

/// A mask that is used otherwise.
Mistake in_mask_use(std::string id, std::string title, std::string effect, std::string fix_torch,
                    std::string fix_numpy, std::string lesson, TableEdit edit,
                    std::string indistinguishable_from = "");

/// The text with a word in the place of another, wherever it stands.
std::string replaced_all(std::string text, const std::string& word, const std::string& by);

/// The mask of another choice, which also hides where `more` says so.
TableEdit masked_as(std::function<void(MaskChoice&)> change, Text more = {});

/// The nearest number that a 16-bit float can hold.
double in_float16(double number);

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

/// An entry of the catalogue.
Mistake entry(std::string id, std::string step, std::string title, std::string effect,
              std::string fix_torch, std::string fix_numpy, std::string lesson,
              std::string indistinguishable_from, NotApplicable not_applicable, TableEdit apply);

template <class... Parts>
void entry(std::vector<Mistake>& list, Parts&&... parts) {
    list.push_back(entry(std::forward<Parts>(parts)...));
}

/// An entry with lines of its own that mend it.
inline Mistake with_fix(Mistake entry, std::string torch, std::string numpy) {
    entry.fix_torch = std::move(torch);
    entry.fix_numpy = std::move(numpy);
    return entry;
}
/// The query rotated so many tokens too far.
Mistake rotated_too_far(double tokens, const std::string& word);
/// Slots of a cache that hold nothing, and are not hidden.
Mistake slots_that_take_part(double number, const std::string& word);
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
