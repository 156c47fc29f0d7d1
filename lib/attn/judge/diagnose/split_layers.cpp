#include <algorithm>
#include <regex>

#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

// Separates the layers of a file that has several.

namespace attn {
namespace {

/// A name in two parts: `encoder.layers.1` and `self_attn.q_proj.weight`.
struct LayerName {
    std::string layer, rest;
};

std::optional<LayerName> layer_name(const std::string& name) {
    static const std::regex pattern("(?:.*[./_])?(?:layers?|blocks?|h)[._]?[0-9]{1,3}[./_]",
                                    std::regex::icase);
    constexpr std::size_t longest = 200;  // std::regex recurses once for each letter
    std::smatch match;
    if (name.size() > longest ||
        !std::regex_search(name, match, pattern, std::regex_constants::match_continuous)) {
        return std::nullopt;
    }
    const std::string layer = match.str();
    return LayerName{layer.substr(0, layer.size() - 1), match.suffix()};
}

/// True if a tensor exists once for all heads of a layer.
bool is_of_all_heads(const std::string& name) {
    const std::string parameter = parameter_called(name);
    return parameter == "w_qkv" || parameter == "w_output" || parameter == "g_x" ||
           likeliest_step(name) == "x";
}

}  // namespace

std::vector<FileLayer> split_layers(const Ledger& file) {
    std::vector<FileLayer> layers;
    Ledger others;
    for (const auto& [name, tensor] : file.entries()) {
        const std::optional<LayerName> parts = layer_name(name);
        if (!parts) {
            others.record(name, tensor);
            continue;
        }
        const auto known = std::ranges::find(layers, parts->layer, &FileLayer::name);
        FileLayer& layer =
            known != layers.end() ? *known : layers.emplace_back(FileLayer{parts->layer, {}});
        layer.tensors.record(parts->rest, tensor);
    }
    const auto has = [](const FileLayer& layer, auto&& is_such) {
        return std::ranges::any_of(layer.tensors.entries(),
                                   [&](const auto& each) { return is_such(each.name); });
    };
    // `h.0.q` may also be that of a head.
    const bool are_layers = std::ranges::all_of(layers, [&](const FileLayer& layer) {
        const std::string word =
            layer.name.substr(0, layer.name.find_last_not_of("0123456789") + 1);
        const bool may_be_head = lower(word).ends_with("h.") || lower(word).ends_with("h");
        return has(layer, [](const auto& name) { return !known_steps(name).empty(); }) &&
               (!may_be_head || has(layer, is_of_all_heads));
    });
    if (layers.size() < 2 || !are_layers) return {};
    for (const auto& [name, tensor] : others.entries()) {
        const bool is_shared = likeliest_step(name) == "mask";
        for (FileLayer& layer : layers) {
            const bool is_first = &layer == &layers.front();
            if ((is_shared || is_first) && !layer.tensors.has(name))
                layer.tensors.record(name, tensor);
        }
    }
    return layers;
}

}  // namespace attn
