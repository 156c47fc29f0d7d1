#include <algorithm>
#include <sstream>

#include "attn/models/hf_config.hpp"
#include "attn/models/hugging_face.hpp"

/// families.json, embedded: for each family its properties, tensor names, defaults for missing
/// keys, and values of other keys that, like null, change nothing.
extern "C" const char attn_model_families[];

namespace attn::models {
namespace {

using Json = nlohmann::json;

const Json& families() {
    static const Json all = Json::parse(attn_model_families);
    return all;
}

/// Parses `w_query attn.c_attn query columns bias`.
Name name_of(const std::string& row) {
    Name name;
    std::istringstream words(row);
    words >> name.ours >> name.theirs;
    for (std::string word; words >> word;) {
        if (word == "columns") {
            name.columns = true;
        } else if (word == "by_head") {
            name.by_head = true;
        } else if (word == "experts") {
            name.experts = true;
        } else if (word.starts_with("plus:")) {
            name.plus = word.substr(5);
        } else if (word.starts_with("beside:")) {
            name.beside = word.substr(7);
        } else if (word == "whole") {
            name.bias = Bias::whole;
        } else if (word.starts_with("bias")) {
            name.bias = word == "bias?attention" ? Bias::attention
                        : word == "bias?mlp"     ? Bias::mlp
                                                 : Bias::always;
        } else {
            name.part = word;
        }
    }
    return name;
}

/// Returns the family with that name: a Llama with these differences.
Family family_of(const std::string& word, Json facts) {
    if (facts.contains("like")) facts = families()["families"][facts["like"].get<std::string>()];
    Family family{word, Config(facts, "families.json"), "", {}, {}};
    family.beside = facts.value("beside", family.beside);
    family.layer = family.facts.word({"layer"}, "layers.");
    const Json& tensors = families()["tensors"];
    for (const Json& row : tensors[family.facts.word({"outside"}, "llama")]) {
        family.outside.push_back(name_of(row));
    }
    const Json default_value{"attention", "output", "two norms", "gated mlp"};
    for (const Json& part : facts.value("inside", default_value)) {
        for (const Json& row : tensors[part.get<std::string>()]) {
            family.inside.push_back(name_of(row));
        }
    }
    return family;
}

/// Formats a value for messages.
std::string dumped(const Json& value) {
    return visible(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// Describes an unsupported setting of a configuration; empty if there is none.
std::string unknown_in(const Json& config, const Json& default_value, const Family& family) {
    const std::string not_known = " and is not known here: give another model";
    const bool encodes = family.is("encodes");
    if (family.is("own_rope_scaling") && !config.contains("rope_scaling") &&
        !config.contains("rope_parameters")) {
        return "lacks rope_scaling, for which the class of " + family.word +
               " takes one of its own: write it into the file, null for none";
    }
    Json alone = families()["changes_nothing"];
    const Config needs = family.facts.part("needs");
    for (const auto& [key, value] : needs.json().items()) {
        alone[key] = Json::array({value});
    }
    for (const auto& [key, values] : alone.items()) {
        const Json value = config.value(key, Json());
        if (value.is_null() || default_value.contains(key)) continue;
        const bool changes_nothing = std::find(values.begin(), values.end(), value) != values.end();
        if (changes_nothing && (!encodes || value != "rope")) continue;
        return key + " is " + dumped(value) + ", which changes what the model computes" + not_known;
    }
    if (encodes && config.value("is_decoder", Json()) == true) {
        return "is_decoder is true" + not_known;
    }
    const Json heads = config.value("num_attention_heads", config.value("n_head", Json()));
    const Json groups = config.value("num_key_value_heads", Json());
    if (!family.facts.flag("shares_heads", true) && !groups.is_null() && groups != heads) {
        return "num_key_value_heads is " + dumped(groups) + ", not that of all heads" + not_known;
    }
    if (const Json codes = config.value("quantization", Json()); codes.is_object()) {
        return "quantization: MLX has quantized its tensors to " +
               dumped(codes.value("bits", Json())) +
               " bits: dequantize '{folder}' with mlx_lm.convert, and pass its output";
    }
    const Json packed = config.value("quantization_config", Json());
    const Json method = packed.is_object() ? packed.value("quant_method", Json()) : packed;
    if (packed.is_null() || (family.is("clamps_experts") && method == "mxfp4")) return {};
    return "quantization_config says " + dumped(method) +
           ", whose tensors are quantized: give the original model, in float32, float16 "
           "or bfloat16: hf download ORG/NAME";
}

}  // namespace

Family family_in(const Config& config) {
    const std::string word = config.word({"model_type"}, "");
    if (config.find({"_class_name"}) != nullptr) {
        throw InputError(config.label() +
                         ": is part of a pipeline of diffusers, which generates images: give "
                         "the folder of a language model");
    }
    if (word.empty()) config.refuse("lacks model_type, which names its family");
    std::vector<std::string> known;
    for (const auto& [each, default_value] : families()["families"].items()) {
        known.push_back(each);
        if (each != word) continue;
        Json facts = default_value;
        const Json when = default_value.value("when", Json::object());
        for (const auto& [key, other] : when.items()) {
            if (config.flag(key.c_str(), false)) facts.merge_patch(other);
        }
        return family_of(word, facts);
    }
    std::string why = "is not known here";
    for (const auto& [has, words] : families()["not_read"].items()) {
        if (std::ranges::count(words, Json(word)) > 0) why = "is not read: it has " + has;
    }
    throw InputError(config.label() + ": the model_type " + quoted_text(word) + " " + why +
                     ": give a model of " + joined(known));
}

std::vector<std::string> listed(const char* key) { return families()[key]; }

const Json& facts_of_gguf() { return families()["gguf"]; }

std::string name_in_llama(std::string_view ours) {
    const Family llama = family_of("llama", families()["families"]["llama"]);
    for (const auto* names : {&llama.outside, &llama.inside}) {
        for (const Name& name : *names) {
            if (name.ours == ours) return name.named(".weight");
        }
    }
    return {};
}

AttentionNames attention_names(std::string_view word) {
    std::vector<std::string> known;
    for (const auto& [each, facts] : families()["families"].items()) {
        if (!facts.value("by_name", false)) continue;
        known.push_back(each);
        if (each != word) continue;
        const Family family = family_of(each, facts);
        AttentionNames names{each, family.layer};
        names.causal = !family.is("encodes");
        for (const Name& name : family.inside) {
            const std::string ours = name.ours.substr(2);
            if (ours != "query" && ours != "key" && ours != "value" && ours != "output") continue;
            const bool is_fused = !name.part.empty();
            names.fused = names.fused || is_fused;
            names.in_out = names.in_out || name.columns;
            if (is_fused && ours != "query") continue;  // it is part of the query's matrix
            names.parts.emplace_back(is_fused ? "qkv" : ours, "." + name.theirs);
        }
        return names;
    }
    throw ConfigError("$model '"_message + std::string(word) + "' is unknown: use " +
                      joined(known, " or "));
}

Config completed(const Config& specified, const Family& family) {
    Json own = specified.json();
    const Config original_names = family.facts.part("spelled");
    for (const auto& [theirs, ours] : original_names.json().items()) {
        const Json* const value =
            specified.agreed({theirs.c_str(), ours.get<std::string>().c_str()});
        if (value != nullptr) own[ours] = *value;
    }
    const Config config = specified.with(own);
    Json all = families()["defaults"];
    all.update(family.facts.part("defaults").json());
    if (const std::string unknown = unknown_in(config.json(), all, family); !unknown.empty()) {
        const std::string& label = config.label();
        throw InputError(label + ": " +
                         filled(unknown, {{"folder", label.substr(0, label.find_last_of('/'))}}));
    }
    all.update(config.json());
    return config.with(all);
}

}  // namespace attn::models
