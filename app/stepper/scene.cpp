#include "app/stepper/scene.hpp"

#include "app/flags/parse.hpp"
#include "attn/walk/walk.hpp"

namespace app {
namespace {

/// `scale=none bias` as `--scale=none --bias`. A quoted value may hold blanks.
std::string flags_text(const std::string& settings) {
    std::string text;
    char quote = 0;
    bool at_start = true;
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const char c = settings[i];
        if (quote != 0) {
            if (c == quote) quote = 0;
            text += c;
            continue;
        }
        if (at_start && c != ' ') text += c == '-' ? "" : "--";
        at_start = c == ' ';
        const bool opens = c == '=' && i + 1 < settings.size() &&
                           (settings[i + 1] == '"' || settings[i + 1] == '\'');
        if (c == '"' || c == '\'') quote = c;
        text += opens ? ' ' : c;
    }
    return text;
}

}  // namespace

Scene walk_scene(const WalkFlags& flags) {
    Scene scene;
    scene.plan = attn::resolve(config_of(flags));
    const attn::Plan& plan = *scene.plan;
    scene.ledger = attn::walk(plan, attn::draw(plan));
    scene.document = attn::document_of(plan, scene.ledger);
    scene.form =
        plan.config.rng == attn::Rng::torch ? attn::TextForm::torch : attn::TextForm::numpy;
    scene.default_dtype = plan.compute_dtype;
    scene.flags = flags;
    return scene;
}

Scene changed_scene(const Scene& scene, const std::string& settings) {
    if (!scene.flags) {
        throw attn::ConfigError(
            "a notebook's page cannot be changed: attn-explain step takes the same settings");
    }
    if (settings.find_first_not_of(' ') == std::string::npos) {
        throw attn::ConfigError("set what? write set mask=causal, set scale=none, set heads=2");
    }
    return walk_scene(with_flags(*scene.flags, flags_text(settings)));
}

}  // namespace app
