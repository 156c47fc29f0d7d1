#pragma once
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "attn/files/io/elements.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/model.hpp"

namespace attn::models {

/// A configuration, with its name for messages.
class Config {
public:
    Config(nlohmann::json json, std::string label,
           std::string advice = "give the config.json of the model",
           std::map<std::string, std::string> original_names = {})
        : json_(std::move(json)),
          label_(std::move(label)),
          advice_(std::move(advice)),
          original_names_(std::move(original_names)) {}

    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(label_ + ": " + what + ": " + advice_);
    }
    /// Refuses a setting that no supported model has.
    [[noreturn]] void not_known(const std::string& what) const {
        throw InputError(label_ + ": " + what + ": give another model");
    }
    /// Returns another part of the same file.
    Config with(nlohmann::json json) const {
        return {std::move(json), label_, advice_, original_names_};
    }
    const nlohmann::json& json() const { return json_; }
    const std::string& label() const { return label_; }

    /// Returns the first of these keys that exists and is not null; nullptr if there is none.
    const nlohmann::json* find(std::initializer_list<const char*> keys) const {
        for (const char* key : keys) {
            const auto found = json_.find(key);
            if (found != json_.end() && !found->is_null()) return &*found;
        }
        return nullptr;
    }
    /// Returns the file's own name for these keys: the one that exists, or all alternatives.
    std::string named(std::initializer_list<const char*> keys) const {
        for (const char* key : keys) {
            if (original_names_.contains(key)) return original_names_.at(key);
        }
        for (const char* key : keys) {
            if (find({key}) != nullptr) return key;
        }
        return joined({keys.begin(), keys.end()}, " or ");
    }
    /// Returns the value of keys that are synonyms; those that exist must agree.
    const nlohmann::json* agreed(std::initializer_list<const char*> keys) const {
        const nlohmann::json* value = find(keys);
        for (const char* key : keys) {
            const nlohmann::json* other = find({key});
            if (other == nullptr || *other == *value) continue;
            refuse(named(keys) + " and " + key +
                   " are two names of one setting with different values");
        }
        return value;
    }
    std::size_t size(std::initializer_list<const char*> keys, std::size_t default_value = 0) const {
        constexpr std::uint64_t most = 1U << 22U;
        const nlohmann::json* value = agreed(keys);
        if (value == nullptr && default_value > 0) return default_value;
        const std::string key = named(keys);
        if (value == nullptr) refuse("lacks " + key);
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() < 1 ||
            value->get<std::uint64_t>() > most) {
            refuse(
                key + " is not a size: " +
                quoted_text(value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
        }
        return value->get<std::size_t>();
    }
    double number(std::initializer_list<const char*> keys,
                  std::optional<double> default_value = {}) const {
        const nlohmann::json* value = agreed(keys);
        if (value == nullptr && default_value) return *default_value;
        if (value == nullptr) refuse("lacks " + named(keys));
        if (!value->is_number() || !std::isfinite(value->get<double>())) {
            refuse(named(keys) + " is not a number");
        }
        return value->get<double>();
    }
    /// Returns `none` if the key is null or missing.
    double above_zero(const char* key, double none) const {
        const double value = number({key}, none);
        if (find({key}) != nullptr && !(value > 0)) refuse(std::string(key) + " is not above 0");
        return value;
    }
    bool flag(const char* key, bool default_value) const {
        const nlohmann::json* value = find({key});
        if (value == nullptr) return default_value;
        if (!value->is_boolean()) refuse(std::string(key) + " is neither true nor false");
        return value->get<bool>();
    }
    std::string word(std::initializer_list<const char*> keys,
                     const std::string& default_value) const {
        const nlohmann::json* value = agreed(keys);
        if (value == nullptr) return default_value;
        if (!value->is_string()) refuse(named(keys) + " is not a string");
        return value->get<std::string>();
    }
    std::vector<double> numbers(const char* key) const {
        const nlohmann::json* value = find({key});
        if (value == nullptr || !value->is_array()) refuse(std::string(key) + " is not a list");
        std::vector<double> all;
        for (const nlohmann::json& each : *value) {
            if (!each.is_number() || !(each.get<double>() > 0)) {
                refuse(std::string(key) + " contains something other than numbers above 0");
            }
            all.push_back(each.get<double>());
        }
        return all;
    }
    Config part(const char* key) const {
        const nlohmann::json* value = find({key});
        if (value != nullptr && !value->is_object()) refuse(std::string(key) + " is not an object");
        return with(value != nullptr ? *value : nlohmann::json::object());
    }
    bool operator==(const Config& other) const { return json_ == other.json_; }
    bool empty() const { return json_.empty(); }

private:
    nlohmann::json json_;
    std::string label_, advice_;
    std::map<std::string, std::string>
        original_names_;  ///< the file's names for keys of config.json
};

/// The bias next to one of the file's tensors: none, always, or set by the configuration. Names
/// that are `whole` have no .weight suffix either.
enum class Bias { none, always, attention, mlp, whole };

/// Our name of a parameter, the file's name after the layer's number and before .weight, its layout
/// in the file, and its bias: b_query for w_query.
struct Name {
    std::string ours;
    std::string theirs;
    std::string part{};    ///< of the file's [query | key | value] or [gate | up]; empty: all
    bool columns = false;  ///< stored as (in, out): our rows are its columns
    bool by_head = false;  ///< its rows are grouped by head, [q | k | v]
    bool experts = false;  ///< (expert, in, out), or in blocks of 32 numbers of 4 bits with a scale
    std::string beside{};  ///< the matrix whose rows alternate with these
    bool neighbours = false;  ///< its features are ordered for a rotation of neighbours
    Bias bias = Bias::none;
    std::string plus{};  ///< a table in the file whose first row is added to each row

    /// True if each expert has a tensor of its own; # is the expert's number.
    bool by_expert() const { return theirs.find('#') != theirs.npos; }
    /// Returns the file's name with .weight or .bias.
    std::string named(const char* end) const { return theirs + (bias == Bias::whole ? "" : end); }
};

/// A family of models in families.json.
struct Family {
    std::string word;
    Config facts;       ///< properties of its classes
    std::string layer;  ///< before the layer's number
    std::vector<Name> outside, inside;
    std::vector<std::string> beside{};  ///< prefixes of tensors read separately or not at all

    bool is(const char* fact) const { return facts.flag(fact, false); }
};

/// Returns the family of a configuration.  Errors  InputError, listing the supported ones.
Family family_in(const Config& config);
/// Returns the entries of families.json for GGUF files.
const nlohmann::json& facts_of_gguf();

/// Returns a list of families.json.
std::vector<std::string> listed(const char* key);

/// Fills in the defaults that the class in transformers has for missing keys.
///
/// Errors  InputError naming an unsupported key that changes the model's computation, unless it has
///         the value that changes nothing.
Config completed(const Config& config, const Family& family);

/// Returns the architecture in a config.json.
///
/// Errors  InputError, starting with the label, naming the key: sizes that are missing or
///         contradict each other, an unknown frequency scaling.
/// Source  the configurations and modeling files of transformers.
Architecture architecture_of(const Config& config, const Family& family);

/// Adds all tensors of a model under our names, whatever prefix their names have.
///
/// Errors  InputError naming a tensor that is missing and its expected shape, or an unknown
///         tensor that would change the model's computation.
void add_tensors(Model& model, const Family& family, const std::vector<StoredArray>& arrays);

}  // namespace attn::models
