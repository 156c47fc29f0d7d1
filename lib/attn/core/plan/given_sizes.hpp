#pragma once
#include <string>
#include <vector>

#include "attn/core/plan/plan.hpp"

// What given tensors tell of a walk by their names and shapes, where nobody has said it.

namespace attn {

/// Which settings were said, of those that a configuration always has a value of. Whether others
/// were said it knows by itself.
struct SaidSettings {
    bool heads = false, projection = false, mask = false;
    bool source = false;  ///< x
    bool weight_layout = false, causal_align = false, form = false;
};

/// Sets what the names of given parameters tell: one weight for query, key and value, weights with
/// an axis of heads and how many these are, biases, an output projection, a sink.
void take_names(const Ledger& given, const SaidSettings& said, WalkConfig& config);

/// Takes x (or token_embedding), memory, mask and parameters, and the settings heads, causal and
/// lengths beside them, as `probe` writes them.
///
/// Shapes  heads and causal one number; lengths one for each sequence; mask any, 0 where it shows.
void take_given(const Ledger& given, const SaidSettings& said, WalkConfig& config);

/// Lets the walk begin with query, key and value that are given directly, where it has no
/// projection, or nobody said one and no parameter is given. Reads their leading axes: three begin
/// with the heads unless there is a word of a batch; a single head loses its axis.
///
/// Shapes  (batch, head, token, feature), (head, token, feature), (batch, token, feature) or
///         (token, feature).
void take_direct(Ledger& given, const SaidSettings& said, WalkConfig& config);

/// Sets every size of a walk that starts with somebody's query, key and value, in whichever layout:
/// (batch, head, token, feature) unless weights, scores or w_output tell another one, as
/// (batch, token, head, feature), (batch * head, token, feature) or heads side by side.
void take_direct_sizes(const Ledger& theirs, const SaidSettings& said, WalkConfig& config);

/// True if a square mask has one value up to the diagonal and another one after it: truths, or 0
/// and a number that hides a key when it is added.
bool is_causal(const Tensor& mask);

/// Sets what shapes tell beside a given x: the layout of weights that fit it in one way alone; the
/// number of heads and the mask by what somebody computed of it.
///
/// Returns  what was assumed: `weight-layout in-out, by the shape of w_query`.
std::vector<std::string> take_shapes(const Ledger& theirs, const SaidSettings& said,
                                     WalkConfig& config);

/// The sizes of a plan that given parameters told and that are not the usual ones, as take_shapes.
/// `config` is what the plan was made of.
std::vector<std::string> sizes_told(const WalkConfig& config, const Plan& plan);

/// The heads of keys and values that given w_query and w_key tell by their rows; those of the
/// queries where they tell none.
std::int64_t given_kv_heads(const WalkConfig& config, WeightLayout layout);

/// Fills in the sizes that are not set and that the shapes of the given parameters tell: features,
/// head and value dimensions, the vocabulary, and the lengths of query and key given directly. Of
/// the plan it needs no size, only how the parameters are stored. What is set stays as it is;
/// draw() refuses shapes that do not fit.
///
/// Errors  ShapeError when the features of a matrix do not divide into the heads.
void take_given_sizes(Plan& plan);

}  // namespace attn
