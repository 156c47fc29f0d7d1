#include "attn/io/read_tensor.hpp"

#include <charconv>
#include <optional>
#include <set>
#include <span>

#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

/// Our name of a weight and its bias, behind w_ and b_, and a family's, which follows the layer's
/// number, in front of .weight and .bias.
struct Part {
    std::string_view ours;
    std::string_view theirs;
};

/// How one family writes its files. Names without a dot before the number begin the file's name.
struct Family {
    std::string_view word;
    std::string_view before_number;
    std::span<const Part> parts;
    bool fused;
    bool in_out;
};

constexpr Part gpt2_parts[] = {{"qkv", ".attn.c_attn"}, {"output", ".attn.c_proj"}};
constexpr Part bert_parts[] = {{"query", ".attention.self.query"},
                               {"key", ".attention.self.key"},
                               {"value", ".attention.self.value"},
                               {"output", ".attention.output.dense"}};
constexpr Family families[] = {
    {"gpt2", "h.", gpt2_parts, true, true},
    {"bert", "encoder.layer.", bert_parts, false, false},
};

const Family& family_of(ModelFamily family) { return families[static_cast<std::size_t>(family)]; }

/// The number of the layer whose parameter `theirs` a name is, whatever stands before it.
std::optional<std::int64_t> layer_number(std::string_view name, const Family& family,
                                         std::string_view theirs) {
    if (!name.ends_with(theirs)) return std::nullopt;
    name.remove_suffix(theirs.size());
    const std::size_t digits = name.find_last_not_of("0123456789") + 1;
    std::int64_t number = 0;
    const auto [end, error] =
        std::from_chars(name.data() + digits, name.data() + name.size(), number);
    if (error != std::errc()) return std::nullopt;
    name = name.substr(0, digits);
    if (!name.ends_with(family.before_number)) return std::nullopt;
    name.remove_suffix(family.before_number.size());
    if (!name.empty() && name.back() != '.') return std::nullopt;
    return number;
}

std::string first_of(const Family& family) {
    return std::string(family.parts[0].theirs) + ".weight";
}

[[noreturn]] void refuse_layer(const std::vector<StoredArray>& arrays, const Family& family,
                               std::int64_t layer, const std::string& label) {
    std::set<std::int64_t> layers;
    for (const StoredArray& each : arrays) {
        if (const auto number = layer_number(each.name, family, first_of(family))) {
            layers.insert(*number);
        }
    }
    if (layers.empty()) {
        throw InputError(label + ": no tensor is named like those of " + std::string(family.word) +
                         ", " + std::string(family.before_number) + "0" + first_of(family) +
                         ": choose another $model"_told);
    }
    throw InputError(label + ": there is no layer " + std::to_string(layer) + ": choose one of " +
                     std::to_string(*layers.begin()) + " to " + std::to_string(*layers.rbegin()));
}

}  // namespace

ModelFamily model_family(std::string_view word) {
    std::string words;
    for (std::size_t i = 0; i < std::size(families); ++i) {
        if (families[i].word == word) return static_cast<ModelFamily>(i);
        words += (i > 0 ? " or " : "") + std::string(families[i].word);
    }
    throw ConfigError("$model does not know '"_told + std::string(word) + "': use " + words);
}

ModelLayer pick_model_layer(const std::vector<StoredArray>& arrays, ModelFamily family,
                            std::int64_t layer, const std::string& label) {
    const Family& usual = family_of(family);
    ModelLayer result;
    result.fused = usual.fused;
    result.in_out = usual.in_out;
    const auto add = [&](const std::string& ours, const std::string& theirs) {
        const StoredArray* found = nullptr;
        for (const StoredArray& each : arrays) {
            if (layer_number(each.name, usual, theirs) != layer) continue;
            if (found != nullptr) {
                throw InputError(label + ": both " + shown(found->name) + " and " +
                                 shown(each.name) + " would be " + ours +
                                 ": save one of the two models by itself");
            }
            found = &each;
        }
        if (found != nullptr) {
            result.parameters.push_back(found->read());
            result.parameters.back().name = ours;
        }
        if (found != nullptr || ours.starts_with("b_")) return;
        if (result.parameters.empty()) refuse_layer(arrays, usual, layer, label);
        throw InputError(label + ": layer " + std::to_string(layer) + " lacks " +
                         std::string(usual.before_number) + std::to_string(layer) + theirs +
                         ": give the whole model's file");
    };
    for (const Part& part : usual.parts) {
        add("w_" + std::string(part.ours), std::string(part.theirs) + ".weight");
        add("b_" + std::string(part.ours), std::string(part.theirs) + ".bias");
    }
    return result;
}

}  // namespace attn
