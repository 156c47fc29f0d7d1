#include "attn/io/read_tensor.hpp"

#include <charconv>
#include <optional>
#include <set>
#include <span>

#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

/// Our name of a parameter and a family's, which follows the layer's number.
struct Name {
    std::string_view ours;
    std::string_view theirs;
};

/// How one family writes its files. Names without a dot before the number begin the file's name.
struct Family {
    std::string_view word;
    std::string_view before_number;
    std::span<const Name> names;
    bool fused;
    bool in_out;
};

constexpr Name gpt2_names[] = {
    {"w_qkv", ".attn.c_attn.weight"},
    {"b_qkv", ".attn.c_attn.bias"},
    {"w_output", ".attn.c_proj.weight"},
    {"b_output", ".attn.c_proj.bias"},
};
constexpr Name bert_names[] = {
    {"w_query", ".attention.self.query.weight"},    {"b_query", ".attention.self.query.bias"},
    {"w_key", ".attention.self.key.weight"},        {"b_key", ".attention.self.key.bias"},
    {"w_value", ".attention.self.value.weight"},    {"b_value", ".attention.self.value.bias"},
    {"w_output", ".attention.output.dense.weight"}, {"b_output", ".attention.output.dense.bias"},
};
constexpr Family families[] = {
    {"gpt2", "h.", gpt2_names, true, true},
    {"bert", "encoder.layer.", bert_names, false, false},
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

[[noreturn]] void refuse_layer(const std::vector<StoredArray>& arrays, const Family& family,
                               std::int64_t layer, const std::string& label) {
    std::set<std::int64_t> layers;
    for (const StoredArray& each : arrays) {
        if (const auto number = layer_number(each.name, family, family.names[0].theirs)) {
            layers.insert(*number);
        }
    }
    if (layers.empty()) {
        throw InputError(label + ": no tensor is named like those of " + std::string(family.word) +
                         ", " + std::string(family.before_number) + "0" +
                         std::string(family.names[0].theirs) + ": choose another $model"_told);
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
    for (const Name& name : usual.names) {
        const StoredArray* found = nullptr;
        for (const StoredArray& each : arrays) {
            if (layer_number(each.name, usual, name.theirs) != layer) continue;
            if (found != nullptr) {
                throw InputError(label + ": both " + shown(found->name) + " and " +
                                 shown(each.name) + " would be " + std::string(name.ours) +
                                 ": save one of the two models by itself");
            }
            found = &each;
        }
        if (found != nullptr) {
            NamedTensor parameter = found->read();
            parameter.name = name.ours;
            result.parameters.push_back(std::move(parameter));
        }
        if (found != nullptr || name.ours.starts_with("b_")) continue;
        if (result.parameters.empty()) refuse_layer(arrays, usual, layer, label);
        throw InputError(label + ": layer " + std::to_string(layer) + " lacks " +
                         std::string(usual.before_number) + std::to_string(layer) +
                         std::string(name.theirs) + ": give the whole model's file");
    }
    return result;
}

}  // namespace attn
