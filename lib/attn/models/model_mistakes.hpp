#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/judge/mistakes/mistake.hpp"
#include "attn/models/layer.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// A mistake in every layer of a model: an entry of the catalogue, or another setting.
struct ModelMistake {
    std::string id;
    const Mistake* entry = nullptr;
    Prose title{};
    void (*change)(WalkConfig&) = nullptr;
    /// Returns why the setting changes nothing in such a layer; empty if it changes something.
    std::string (*no_effect)(const WalkConfig&) = nullptr;

    /// The past is computed with the mistake, too; the catalogue assumes a right past.
    bool is_of_past = false;

    /// Returns why it changes nothing if such a layer continues a text; empty if it changes
    /// something.
    std::string why_not(const WalkConfig& layer) const;
    /// Returns why it changes nothing in any layer.
    std::string why_not(const Model& model) const;
};

/// The mistakes in the table of mistakes. Others of the catalogue can be selected by id.
const std::vector<ModelMistake>& model_mistakes();

/// Errors  ConfigError for an unknown id, naming the closest one.
ModelMistake find_model_mistake(std::string_view id);

/// Finds a mistake that can show in this model.  Errors  ConfigError if it cannot.
ModelMistake find_model_mistake(std::string_view id, const Model& model);

/// Returns by how much the text becomes more likely, in nats per token, with the other pairing of
/// rotated features: above 0.5, the rows of w_query and w_key were probably not reordered for this
/// file format. 0 for models that do not rotate, and for fewer than 8 tokens.
double gain_of_other_pairing(const Model& model, const std::vector<std::int64_t>& ids);

}  // namespace attn::models
