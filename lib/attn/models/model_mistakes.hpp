#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "attn/judge/mistakes/mistake.hpp"
#include "attn/models/layer.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// A mistake in how every layer of a model is run: an entry of the catalogue, or another setting.
struct ModelMistake {
    std::string id;
    const Mistake* entry = nullptr;
    Prose title{};
    void (*change)(WalkConfig&) = nullptr;
    /// Why the setting changes nothing in such a layer; empty when it can.
    std::string (*no_effect)(const WalkConfig&) = nullptr;

    /// It is made of the past too, which the catalogue takes to be right.
    bool is_of_past = false;

    /// Why it changes nothing where such a layer goes on after a text; empty when it does.
    std::string why_not(const WalkConfig& layer) const;
    /// Why it changes nothing in any layer.
    std::string why_not(const Model& model) const;
};

/// Those that a table of mistakes shows. The others of the catalogue can be asked for by their ids.
const std::vector<ModelMistake>& model_mistakes();

/// Errors  ConfigError for an unknown id, naming the nearest.
ModelMistake find_model_mistake(std::string_view id);

/// The same, for a model in which it can show.  Errors  ConfigError when it cannot.
ModelMistake find_model_mistake(std::string_view id, const Model& model);

/// How much likelier a text is, in nats a token, when the other features rotate together: above 0
/// by a half or more, the rows of w_query and w_key were probably not put into the order of this
/// file. 0 for models that do not rotate, and for fewer than 8 tokens.
double gain_of_other_pairing(const Model& model, const std::vector<std::int64_t>& ids);

}  // namespace attn::models
