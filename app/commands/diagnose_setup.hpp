#pragma once
#include <map>
#include <string>
#include <vector>

#include "app/flags/flag.hpp"
#include "attn/core/plan/config.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/judge/diagnose/other_settings.hpp"

namespace app {

/// Something of theirs has no verdict: no known mistake matches, or it was not compared.
inline constexpr int no_verdict = 3;

/// The walk to compare the user's tensors with, and what the command says about it.
struct DiagnosedWalk : attn::AskedWalk {
    /// Their query, key and value are where the walk starts: nothing says how they were projected.
    bool takes_projections = false;
    /// Settings known from shapes alone, from neither flags nor files, in words.
    std::vector<std::string> assumed{};
    /// The tensors whose names look like parameters, and that the walk has no place for.
    std::vector<std::string> unread_parameters{};
    /// Their file has parameters, and neither the x that they multiply nor what they make of it.
    bool lacks_x = false;
    /// Their x is where the walk starts, and no parameter of theirs makes query, key and value.
    bool lacks_parameters = false;
};

/// Why a verdict would accuse code whose parameters, or most of whose tensors, are not read; empty
/// if there is no such reason.
std::string why_not_judged(const DiagnosedWalk& asked);
std::string why_not_judged(const DiagnosedWalk& asked, const attn::Diagnosis& diagnosis);

/// The walk by --given, then the flags, then their own file: what the first of them says counts.
/// `said` holds the steps that --map names. Only where it may does it begin at their scores or
/// weights, which else are compared with those of the flags.
///
/// Errors  ConfigError and InputError, as config_of.
DiagnosedWalk asked_walk(const Arguments& arguments, const attn::Ledger& file,
                         std::map<std::string, std::string> said, bool may_begin_later = false);

/// Says what trying every mistake takes where rules make a walk long.
///
/// Errors  ConfigError where it takes minutes.
void tell_cost_of_mistakes(const attn::Plan& plan);

/// Somebody's tensors, those of the way forth and the gradients.
struct GradientsApart {
    attn::Ledger forward{}, gradients{};
};

/// Errors  ConfigError for --backward and --loss where no tensor is a gradient.
GradientsApart gradients_apart(const Arguments& arguments, const attn::Ledger& file);

/// The loss that the flags choose, or the gradient that a probe begins with; nullopt if neither is
/// there.
std::optional<attn::Loss> said_loss(const Arguments& arguments, const attn::Plan& plan);

/// The gradients for people, empty where there are none; as JSON; and as an exit code.
std::string gradients_text(const attn::GradientDiagnosis& back);
attn::JsonText gradients_json(const attn::GradientDiagnosis& back);
int gradients_code(const attn::GradientDiagnosis& back);

}  // namespace app
