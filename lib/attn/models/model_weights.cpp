#include <optional>
#include <set>

#include "attn/files/io/number_lists.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/hugging_face.hpp"

namespace attn::models {
namespace {

/// Returns the number of the layer if a name ends with its parameter `theirs`.
std::optional<std::int64_t> layer_number(std::string_view name, const AttentionNames& names,
                                         std::string_view theirs) {
    if (!name.ends_with(theirs)) return std::nullopt;
    name.remove_suffix(theirs.size());
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    const auto number = parse_whole<std::int64_t>(name.substr(digits));
    name = name.substr(0, digits);
    if (!name.ends_with(names.before_number)) return std::nullopt;
    name.remove_suffix(names.before_number.size());
    return name.empty() || name.back() == '.' ? number : std::nullopt;
}

[[noreturn]] void refuse_layer(const std::vector<StoredArray>& arrays, const AttentionNames& names,
                               std::int64_t layer, const std::string& label) {
    const std::string first = names.parts.front().second + ".weight";
    std::set<std::int64_t> layers;
    for (const StoredArray& each : arrays) {
        if (const auto number = layer_number(each.name, names, first)) layers.insert(*number);
    }
    if (layers.empty()) {
        throw InputError(label + ": no tensor is named like those of " + names.word + ", " +
                         names.before_number + "0" + first + ": choose another $model"_message);
    }
    throw InputError(label + ": there is no layer " + std::to_string(layer) + ": choose one of " +
                     std::to_string(*layers.begin()) + " to " + std::to_string(*layers.rbegin()));
}

}  // namespace

std::vector<NamedTensor> pick_layer(const std::vector<StoredArray>& arrays,
                                    const AttentionNames& names, std::int64_t layer,
                                    const std::string& label) {
    std::vector<NamedTensor> parameters;
    const auto add = [&](const std::string& ours, const std::string& theirs) {
        const StoredArray* found = nullptr;
        for (const StoredArray& each : arrays) {
            if (layer_number(each.name, names, theirs) != layer) continue;
            if (found != nullptr) {
                throw InputError(label + ": both " + quoted_text(found->name) + " and " +
                                 quoted_text(each.name) + " would be " + ours +
                                 ": save one of the two models alone");
            }
            found = &each;
        }
        if (found != nullptr) {
            parameters.push_back(found->read());
            parameters.back().name = ours;
        }
        if (found != nullptr || ours.starts_with("b_")) return;
        if (parameters.empty()) refuse_layer(arrays, names, layer, label);
        throw InputError(label + ": layer " + std::to_string(layer) + " lacks " +
                         names.before_number + std::to_string(layer) + theirs +
                         ": give the whole model's file");
    };
    for (const auto& [ours, theirs] : names.parts) {
        add("w_" + ours, theirs + ".weight");
        add("b_" + ours, theirs + ".bias");
    }
    return parameters;
}

}  // namespace attn::models
