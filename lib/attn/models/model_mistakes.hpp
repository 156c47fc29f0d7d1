#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/models/runtime.hpp"

namespace attn::models {

/// A mistake in how a model is run, as a change of its settings.
struct ModelMistake {
    std::string id;  ///< that of the catalogue of mistakes where a walk can make it too
    std::string title;
    void (*change)(const Architecture&, AttentionSettings&);
    /// Why it changes nothing in such a model; empty when it can.
    std::string (*no_effect)(const Architecture&);
};

const std::vector<ModelMistake>& model_mistakes();

/// Errors  ConfigError for an unknown id, naming the nearest.
const ModelMistake& find_model_mistake(std::string_view id);

/// How much likelier a text is, in nats a token, when the other features rotate together: above 0
/// by a half or more, the rows of w_query and w_key were probably not put into the order of this
/// file. 0 for models that do not rotate, and for fewer than 8 tokens.
double gain_of_other_pairing(const Model& model, const std::vector<std::int64_t>& ids);

/// The settings of a model with this mistake.  Errors  ConfigError when it cannot show.
AttentionSettings settings_with(const ModelMistake& mistake, const Architecture& architecture);

/// The other mistakes that change the settings of such a model alike, but for rounding.
std::vector<std::string> same_mistakes(const ModelMistake& mistake,
                                       const Architecture& architecture);

}  // namespace attn::models
