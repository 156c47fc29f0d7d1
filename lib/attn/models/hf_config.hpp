#pragma once
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attn/models/hugging_face.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/strings.hpp"

namespace attn::models {

/// A configuration and how messages call it.
class Config {
public:
    Config(const nlohmann::json& json, const std::string& label) : json_(json), label_(label) {}

    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(label_ + ": " + what + ": give the config.json of the model");
    }

    /// The first of these keys that is there and not null.
    const nlohmann::json* find(std::initializer_list<const char*> keys) const {
        for (const char* key : keys) {
            const auto found = json_.find(key);
            if (found != json_.end() && !found->is_null()) return &*found;
        }
        return nullptr;
    }
    std::size_t size(std::initializer_list<const char*> keys, std::size_t usual = 0) const {
        constexpr std::uint64_t most = 1U << 22U;
        const nlohmann::json* value = find(keys);
        if (value == nullptr && usual > 0) return usual;
        const std::string key = *keys.begin();
        if (value == nullptr) refuse("lacks " + key);
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() < 1 ||
            value->get<std::uint64_t>() > most) {
            refuse(key + " is no size: " +
                   shown(value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
        }
        return value->get<std::size_t>();
    }
    double number(std::initializer_list<const char*> keys, std::optional<double> usual = {}) const {
        const nlohmann::json* value = find(keys);
        if (value == nullptr && usual) return *usual;
        if (value == nullptr) refuse("lacks " + std::string(*keys.begin()));
        if (!value->is_number() || !std::isfinite(value->get<double>())) {
            refuse(std::string(*keys.begin()) + " is no number");
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
        const nlohmann::json* value = find(keys);
        if (value == nullptr) return usual;
        if (!value->is_string()) refuse(std::string(*keys.begin()) + " is no word");
        return value->get<std::string>();
    }
    std::vector<double> numbers(const char* key) const {
        const nlohmann::json* value = find({key});
        if (value == nullptr || !value->is_array()) refuse(std::string(key) + " is no list");
        std::vector<double> all;
        for (const nlohmann::json& each : *value) {
            if (!each.is_number() || !(each.get<double>() > 0)) {
                refuse(std::string(key) + " holds what is no number above 0");
            }
            all.push_back(each.get<double>());
        }
        return all;
    }
    Config part(const char* key) const {
        static const nlohmann::json nothing = nlohmann::json::object();
        const nlohmann::json* value = find({key});
        if (value != nullptr && !value->is_object()) refuse(std::string(key) + " is no object");
        return {value != nullptr ? *value : nothing, label_};
    }
    bool operator==(const Config& other) const { return json_ == other.json_; }
    bool empty() const { return json_.empty(); }

private:
    const nlohmann::json& json_;
    const std::string& label_;
};

/// The part of a tensor of theirs that is ours: all, or one of those that lie one behind another in
/// [query | key | value] and [gate | up].
enum class Part { all, query, key, value, gate, up };

/// How a parameter lies in a tensor of theirs.
struct Lies {
    Part part = Part::all;
    bool columns = false;  ///< theirs is (in, out): our rows are its columns
    bool by_head = false;  ///< its rows go head by head [q | k | v]
    bool experts = false;  ///< (expert, in, out), or in blocks of 32 numbers of 4 bits with a scale
};

/// What stands beside a tensor of theirs: no bias, one always, or one where the configuration says
/// so. Names that are `whole` have no .weight behind them either.
enum class Bias { none, always, attention, mlp, whole };

/// Our name of a parameter, theirs behind the layer's number and in front of .weight, how it lies
/// there, and its bias: b_query beside w_query.
struct Name {
    const char* ours;
    const char* theirs;
    Lies lies{};
    Bias bias = Bias::none;
    const char* plus = nullptr;  ///< a table of theirs whose first row is added to each row

    /// What they call it: .weight, or .bias, behind the name.
    std::string named(const char* end) const {
        return std::string(theirs) + (bias == Bias::whole ? "" : end);
    }
};

/// The names of one family. Those without a layer stand by themselves.
struct Names {
    const char* layer;  ///< in front of the layer's number
    std::span<const Name> outside;
    std::vector<std::span<const Name>> inside;
};

Names names_of(Family family);

}  // namespace attn::models
