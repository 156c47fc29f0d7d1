#pragma once
#include <optional>
#include <string>

#include "app/flags/walk_flags.hpp"
#include "attn/render/document.hpp"

namespace app {

/// What is stepped through: a walk, or the page of a notebook.
struct Scene {
    attn::Document document;
    attn::TextForm form = attn::TextForm::torch;  ///< the printed form that is usual for it
    attn::DType default_dtype = attn::DType::float32;
    /// Of a walk alone: what its numbers can be derived from, and the flags that made it.
    std::optional<attn::Plan> plan{};
    attn::Ledger ledger{};
    std::optional<WalkFlags> flags{};
};

/// Performs the walk that the flags describe.
///
/// Errors  ConfigError and InputError, as config_of and resolve.
Scene walk_scene(const WalkFlags& flags);

/// The walk with settings changed: `scale=none mask=causal`, each a walk flag without its dashes.
///
/// Errors  ConfigError for a flag that does not exist or does not fit, and for a notebook's page,
///         which has no flags.
Scene changed_scene(const Scene& scene, const std::string& settings);

}  // namespace app
