#pragma once
#include <string>
#include <vector>

#include "attn/core/plan/plan.hpp"

// Infers settings from names and shapes of given tensors, unless the user has set them.

namespace attn {

/// Returns the lengths of a tensor's axes as signed integers, the type of settings.
std::vector<std::int64_t> lengths_of(const Tensor& tensor);

/// The settings that the user has set, among those that always have a value in the configuration.
/// Optional ones show this themselves.
struct SpecifiedSettings {
    bool heads = false, projection = false, mask = false;
    bool source = false;  ///< x
    bool weight_layout = false, causal_align = false, form = false;
};

/// Sets the properties that names of given parameters imply: one weight for query, key and value,
/// weights with an axis of heads and their number, biases, an output projection, a sink.
void take_names(const Ledger& given, const SpecifiedSettings& specified, WalkConfig& config);

/// Uses x (or token_embedding), memory, mask and parameters, and the settings heads, causal and
/// lengths next to them, as written by `probe`.
///
/// Shapes  heads and causal one number; lengths one per sequence; mask any, 0 for visible cells.
void take_given(const Ledger& given, const SpecifiedSettings& specified, WalkConfig& config);

/// Starts the walk from query, key and value that are given directly, if it has no projection, or
/// the user has set none and no parameter is given. Three axes begin with the heads unless there is
/// a batch; a single head has no axis.
///
/// Shapes  (batch, head, token, feature), (head, token, feature), (batch, token, feature) or
///         (token, feature).
void take_direct(Ledger& given, const SpecifiedSettings& specified, WalkConfig& config);

/// Sets all sizes of a walk that starts with the user's query, key and value, in any layout:
/// (batch, head, token, feature) unless weights, scores or w_output imply another one, such as
/// (batch, token, head, feature), (batch * head, token, feature) or heads side by side.
void take_direct_sizes(const Ledger& user_tensors, const SpecifiedSettings& specified,
                       WalkConfig& config);

/// True if a square mask has one value up to the diagonal and another after it: booleans, or 0 and
/// a number that hides a key if added.
bool is_causal(const Tensor& mask);

/// Sets the properties that shapes imply, given x: the layout of weights that fit it in one layout
/// only; the number of heads and the mask, from the user's results.
///
/// Returns  the assumptions: `weight-layout in-out, by the shape of w_query`.
std::vector<std::string> take_shapes(const Ledger& user_tensors, const SpecifiedSettings& specified,
                                     WalkConfig& config);

/// Returns the sizes of a plan that given parameters imply and that are not the default, as in
/// take_shapes. `config` is the configuration of the plan.
std::vector<std::string> size_remarks(const WalkConfig& config, const Plan& plan);

/// Returns the number of key and value heads by the rows of given w_query and w_key; that of the
/// queries if unknown.
std::int64_t given_kv_heads(const WalkConfig& config, WeightLayout layout);

/// Fills in unset sizes from the shapes of given parameters: features, head and value dimensions,
/// the vocabulary, and the lengths of query and key given directly. The plan needs no sizes yet,
/// only the storage of parameters. Sizes that are set are kept; draw() refuses shapes that do not
/// fit.
///
/// Errors  ShapeError if the features of a matrix are not divisible by the heads.
void take_given_sizes(Plan& plan);

}  // namespace attn
