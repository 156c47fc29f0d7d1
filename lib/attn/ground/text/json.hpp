#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// Returns a string as JSON, quoted and escaped, including bidi controls. Invalid UTF-8 becomes
/// U+FFFD.
std::string json_string(std::string_view text);

/// Escapes control characters in the strings of JSON text from another writer.
std::string without_controls(std::string_view json);

/// Returns the text of a whole nlohmann-json document, with strings escaped as above.
template <class Json>
std::string json_text(const Json& json, int indent = 1) {
    return without_controls(json.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

/// Returns a number as JSON: the shortest text that reads back, or `"nan"`, `"inf"`, `"-inf"`.
std::string json_number(double number);

/// Returns a JSON list of strings.
std::string json_list(const std::vector<std::string>& texts);

/// A key of this program's output that had another name before version 2. Each is written under
/// both names in version 2, and under the new one alone afterwards.
struct RenamedKey {
    std::string_view now, before;
};
std::span<const RenamedKey> renamed_keys();
/// Returns the former name of a key; empty if it was not renamed.
std::string_view former_name(std::string_view key);

/// Adds each renamed key of an nlohmann-json document under its former name as well, after the new
/// one.
template <class Json>
Json with_former_names(const Json& json) {
    if (!json.is_structured()) return json;
    Json all = json.is_array() ? Json::array() : Json::object();
    for (const auto& [key, value] : json.items()) {
        const Json inner = with_former_names(value);
        if (json.is_array()) {
            all.push_back(inner);
            continue;
        }
        all[key] = inner;
        const std::string before(former_name(key));
        if (!before.empty()) all[before] = inner;
    }
    return all;
}

/// Returns `"key": value`, with the former name of a renamed key after it.
std::string json_member(std::string_view key, std::string_view value,
                        std::string_view between = ",");

/// The JSON text of a value, converted implicitly.
struct JsonText {
    JsonText(const std::string& source) : text(json_string(source)) {}
    JsonText(std::string_view source) : text(json_string(source)) {}
    JsonText(const char* source) : text(json_string(source)) {}
    JsonText(std::integral auto source) : text(std::to_string(source)) {
        if constexpr (std::same_as<decltype(source), bool>) text = source ? "true" : "false";
    }
    JsonText(double source) : text(json_number(source)) {}
    template <class T>
    JsonText(const std::optional<T>& source) : text(source ? JsonText(*source).text : "null") {}
    JsonText(const std::vector<std::string>& source) : text(json_list(source)) {}
    /// Constructs an object with these members, in this order.
    JsonText(std::initializer_list<std::pair<std::string_view, JsonText>> members,
             std::string_view between = ", ");
    /// Constructs a list, by default one value per line.
    JsonText(const std::vector<JsonText>& values, std::string_view between = ",\n ");
    JsonText(const std::vector<std::int64_t>& source)
        : JsonText({source.begin(), source.end()}, ", ") {}

    /// Returns an object with one more member at its end.
    JsonText with(std::string_view key, const JsonText& value,
                  std::string_view between = ", ") const;

    std::string text;
};

}  // namespace attn
