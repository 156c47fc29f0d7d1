#pragma once
#include <map>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/core/plan/config.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/judge/diagnose/other_settings.hpp"

namespace app {

/// Exit code if some tensor has no verdict: no known mistake matches, or it was not compared.
inline constexpr int no_verdict = 3;

/// The walk to compare the user's tensors with, and remarks about it.
struct DiagnosedWalk : attn::RequestedWalk {
    /// Starts from the user's query, key and value, because their projection is unknown.
    bool takes_projections = false;
    /// Settings inferred from shapes, without flags or files, in words.
    std::vector<std::string> assumed{};
    /// Tensors with names of parameters that the walk does not have.
    std::vector<std::string> unread_parameters{};
    /// Their file has parameters, but neither the x that they multiply nor the result.
    bool lacks_x = false;
    /// The walk starts from the user's x, but the file has no parameters for query, key and value.
    bool lacks_parameters = false;
};

/// Returns the reason why a verdict could blame correct code: its parameters, or most of its
/// tensors, are not read. Empty if there is none.
std::string why_not_judged(const DiagnosedWalk& requested);
std::string why_not_judged(const DiagnosedWalk& requested, const attn::Diagnosis& diagnosis);

/// Returns the walk set by --given, then the flags, then the user's own file, in this order of
/// precedence. `specified` has the steps that --map names. If `may_begin_later` is true the walk
/// may start from the user's scores or weights, which are otherwise compared.
///
/// Errors  ConfigError and InputError, as config_of.
DiagnosedWalk requested_walk(const Arguments& arguments, const attn::Ledger& file,
                             std::map<std::string, std::string> specified,
                             bool may_begin_later = false);

/// The tensors that may be x if none has that name: those whose names can mean x, those without the
/// name of a step, and others. `step_of` has the step of each name, or the name itself for one that
/// cannot be x.
struct MayBeX {
    std::vector<std::string> called{}, nameless{}, others{};

    MayBeX(const attn::Ledger& named, const attn::Ledger& file,
           const std::map<std::string, std::string>& step_of);
    /// The one that must be x, by its name or its shape; empty if there are none or several.
    std::string only() const;
};

/// Returns the parameters that are named after their results, `query_proj`, and by their shapes can
/// only multiply x: they have its features, but no tokens. Empty unless all three exist.
std::map<std::string, std::string> bare_parameters(const attn::Ledger& named,
                                                   const attn::Ledger& file);

/// True if the walk computes one of the user's tensors exactly.
bool corrects_others(const DiagnosedWalk& requested);

/// Reports how long trying all mistakes takes if rules make a walk slow.
///
/// Errors  ConfigError if it takes minutes.
void note_cost_of_mistakes(const attn::Plan& plan);

/// The user's tensors, separated into forward pass and gradients.
struct SplitGradients {
    attn::Ledger forward{}, gradients{};
};

/// Errors  ConfigError for --backward and --loss if no tensor is a gradient.
SplitGradients split_gradients(const Arguments& arguments, const attn::Ledger& file);

/// Returns the loss that the flags choose, or the gradient that a probe starts from; nullopt if
/// there is neither.
std::optional<attn::Loss> specified_loss(const Arguments& arguments, const attn::Plan& plan);

/// Formats the gradients as text (empty if there are none), as JSON, and as an exit code.
std::string gradients_text(const attn::GradientDiagnosis& back);
attn::JsonText gradients_json(const attn::GradientDiagnosis& back);
int gradients_code(const attn::GradientDiagnosis& back);

}  // namespace app
