#include "attn/render/config_entries.hpp"

#include <nlohmann/json.hpp>

#include "attn/walk/words.hpp"

namespace attn {
namespace {

using nlohmann::ordered_json;

std::string source_word(const Source& source, bool drawn_directly) {
    if (drawn_directly) return "none";
    if (const auto* tokens = std::get_if<Tokens>(&source)) {
        return tokens->vocabulary.empty() ? "ids" : "text";
    }
    return std::holds_alternative<Tensor>(source) ? "given" : "random";
}

ordered_json source_json(const Source& source, const Plan& plan) {
    ordered_json entry;
    entry["source"] = source_word(source, !plan.has_x());
    if (const auto* tokens = std::get_if<Tokens>(&source)) {
        entry["vocab_size"] = *tokens->vocab_size;
        entry["pad_id"] = tokens->pad_id ? ordered_json(*tokens->pad_id) : ordered_json("none");
        if (!tokens->vocabulary.empty()) entry["vocabulary"] = tokens->vocabulary;
    } else if (const auto* random = std::get_if<RandomInput>(&source)) {
        entry["random"] = random->distribution == Distribution::normal ? "randn" : "rand";
    }
    return entry;
}

ordered_json mask_json(const Plan& plan) {
    const MaskChoice& mask = plan.config.mask;
    std::string word = mask.causal ? "causal" : "";
    if (mask.padding) word += word.empty() ? "padding" : ",padding";
    if (mask.given) word += word.empty() ? "file" : ",file";
    return word.empty() ? "none" : word;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> config_entries(const Plan& plan) {
    const WalkConfig& config = plan.config;
    std::vector<std::pair<std::string, std::string>> entries;
    const auto add = [&entries](const char* name, const ordered_json& value) {
        entries.emplace_back(name,
                             value.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
    };
    add("input", source_json(config.input, plan));
    add("memory", config.memory ? source_json(*config.memory, plan) : ordered_json("none"));
    add("batch", plan.has_batch ? ordered_json(plan.batch) : ordered_json("none"));
    add("seq_len", plan.query_len);
    add("memory_len", plan.key_len);
    add("lengths", config.lengths);
    add("embed_dim", plan.embed_dim);
    add("heads", plan.heads);
    add("head_dim", plan.head_dim);
    add("value_dim", plan.value_dim);
    add("output_dim", plan.output_dim);
    add("projection", word(config.projection));
    const auto& init = *config.init;
    add("init", {word(init[0]), word(init[1]), word(init[2])});
    add("bias", config.bias);
    add("draw_order", config.draw_order);
    add("weight_layout", word(*config.weight_layout));
    add("output_projection", config.output_projection);
    add("output_bias", config.output_bias);
    add("merge", plan.merges);
    std::vector<std::string> given;
    for (const auto& [name, tensor] : config.parameters.entries()) given.push_back(name);
    add("weights", config.weights_file.empty() ? "none" : config.weights_file);
    add("given", given);
    add("model", config.model.empty() ? "none" : config.model);
    add("layer", config.model.empty() ? ordered_json("none") : ordered_json(config.layer));
    add("mask", mask_json(plan));
    add("causal_align", word(config.causal_align));
    add("empty_row", word(config.empty_row));
    add("scale", config.scale.by == ScaleChoice::By::number ? ordered_json(config.scale.number)
                                                            : ordered_json(word(config.scale.by)));
    add("softmax_axis", word(config.softmax_axis));
    add("rng", word(config.rng));
    add("seed", config.seed);
    add("torch_build", word(config.torch_build));
    add("redraw", config.redraw);
    std::vector<std::string> burns;
    for (const Burn& burn : config.burn) {
        burns.push_back(
            std::string(burn.distribution == Distribution::normal ? "randn:" : "rand:") +
            std::to_string(burn.count));
    }
    add("burn", burns);
    add("dtype", dtype_name(plan.dtype));
    add("compute_dtype", dtype_name(plan.compute_dtype));
    add("variant", word(config.variant));
    add("threads", config.threads);
    return entries;
}

}  // namespace attn
