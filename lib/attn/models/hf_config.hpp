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

/// A configuration and how messages call it.
class Config {
public:
    Config(nlohmann::json json, std::string label,
           std::string advice = "give the config.json of the model",
           std::map<std::string, std::string> spelled = {})
        : json_(std::move(json)),
          label_(std::move(label)),
          advice_(std::move(advice)),
          spelled_(std::move(spelled)) {}

    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(label_ + ": " + what + ": " + advice_);
    }
    /// Refuses what another model would not have.
    [[noreturn]] void not_known(const std::string& what) const {
        throw InputError(label_ + ": " + what + ": give another model");
    }
    /// The same, of this.
    Config with(nlohmann::json json) const { return {std::move(json), label_, advice_, spelled_}; }
    const nlohmann::json& json() const { return json_; }
    const std::string& label() const { return label_; }

    /// The first of these keys that is there and not null.
    const nlohmann::json* find(std::initializer_list<const char*> keys) const {
        for (const char* key : keys) {
            const auto found = json_.find(key);
            if (found != json_.end() && !found->is_null()) return &*found;
        }
        return nullptr;
    }
    /// The file's own name for these keys, the one of them that is there, or all that may be.
    std::string named(std::initializer_list<const char*> keys) const {
        for (const char* key : keys) {
            if (spelled_.contains(key)) return spelled_.at(key);
        }
        for (const char* key : keys) {
            if (find({key}) != nullptr) return key;
        }
        return joined({keys.begin(), keys.end()}, " or ");
    }
    /// The same of keys that are spellings of one thing and say the same where several are there.
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
    std::size_t size(std::initializer_list<const char*> keys, std::size_t usual = 0) const {
        constexpr std::uint64_t most = 1U << 22U;
        const nlohmann::json* value = agreed(keys);
        if (value == nullptr && usual > 0) return usual;
        const std::string key = named(keys);
        if (value == nullptr) refuse("lacks " + key);
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() < 1 ||
            value->get<std::uint64_t>() > most) {
            refuse(key + " is not a size: " +
                   shown(value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
        }
        return value->get<std::size_t>();
    }
    double number(std::initializer_list<const char*> keys, std::optional<double> usual = {}) const {
        const nlohmann::json* value = agreed(keys);
        if (value == nullptr && usual) return *usual;
        if (value == nullptr) refuse("lacks " + named(keys));
        if (!value->is_number() || !std::isfinite(value->get<double>())) {
            refuse(named(keys) + " is not a number");
        }
        return value->get<double>();
    }
    /// None where the key is null or not there.
    double above_zero(const char* key, double none) const {
        const double value = number({key}, none);
        if (find({key}) != nullptr && !(value > 0)) refuse(std::string(key) + " is not above 0");
        return value;
    }
    bool flag(const char* key, bool usual) const {
        const nlohmann::json* value = find({key});
        if (value == nullptr) return usual;
        if (!value->is_boolean()) refuse(std::string(key) + " is neither true nor false");
        return value->get<bool>();
    }
    std::string word(std::initializer_list<const char*> keys, const std::string& usual) const {
        const nlohmann::json* value = agreed(keys);
        if (value == nullptr) return usual;
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
    std::map<std::string, std::string> spelled_;  ///< what the file calls keys of config.json
};

/// What is beside a tensor of theirs: no bias, one always, or one where the configuration says
/// so. Names that are `whole` have no .weight after them either.
enum class Bias { none, always, attention, mlp, whole };

/// Our name of a parameter, theirs after the layer's number and in front of .weight, how it lies
/// there, and its bias: b_query beside w_query.
struct Name {
    std::string ours;
    std::string theirs;
    std::string part{};    ///< of [query | key | value] or [gate | up] in theirs; empty: all
    bool columns = false;  ///< theirs is (in, out): our rows are its columns
    bool by_head = false;  ///< its rows go head by head [q | k | v]
    bool experts = false;  ///< (expert, in, out), or in blocks of 32 numbers of 4 bits with a scale
    std::string beside{};  ///< the matrix whose rows go by turns with these
    bool neighbours = false;  ///< its heads' features are in the order in which neighbours turn
    Bias bias = Bias::none;
    std::string plus{};  ///< a table of theirs whose first row is added to each row

    /// Each expert, whose number # is, has a tensor of its own.
    bool by_expert() const { return theirs.find('#') != theirs.npos; }
    /// What they call it: .weight, or .bias, after the name.
    std::string named(const char* end) const { return theirs + (bias == Bias::whole ? "" : end); }
};

/// A family of models: what families.json says of it.
struct Family {
    std::string word;
    Config facts;       ///< what its classes do
    std::string layer;  ///< in front of the layer's number
    std::vector<Name> outside, inside;
    std::vector<std::string> beside{};  ///< beginnings of tensors that are read otherwise or not

    bool is(const char* fact) const { return facts.flag(fact, false); }
};

/// The family of a configuration.  Errors  InputError, listing those that are known.
Family family_in(const Config& config);
/// What families.json says of GGUF files.
const nlohmann::json& facts_of_gguf();

/// A list of families.json.
std::vector<std::string> listed(const char* key);

/// A configuration with what its class in transformers takes for the keys that it leaves out.
///
/// Errors  InputError naming a key that changes what the model computes and that is not read here,
///         where its value is not the one that changes nothing.
Config completed(const Config& config, const Family& family);

/// What config.json says of a model.
///
/// Errors  InputError, starting with the label, naming the key: sizes that are missing or
///         contradict each other, a frequency scaling that is not known.
/// Source  the configurations and modeling files of transformers.
Architecture architecture_of(const Config& config, const Family& family);

/// States all tensors of a model under our names, whatever prefix theirs have.
///
/// Errors  InputError naming a tensor that is missing and the shape that it should have, or one
///         that nothing reads and that would change what the model computes.
void add_tensors(Model& model, const Family& family, const std::vector<StoredArray>& arrays);

}  // namespace attn::models
