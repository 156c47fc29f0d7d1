#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attn {

/// A string as JSON text, quoted and escaped, bidi controls too. Bytes that are not UTF-8 become
/// U+FFFD.
std::string json_string(std::string_view text);

/// JSON text that another writer made, the controls in its strings escaped.
std::string without_controls(std::string_view json);

/// The text of a whole document of that writer's, made as the strings above are.
template <class Json>
std::string json_text(const Json& json, int indent = 1) {
    return without_controls(json.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

/// A number as JSON can say it: the shortest text that reads back, or `"nan"`, `"inf"`, `"-inf"`.
std::string json_number(double number);

/// A list of strings.
std::string json_list(const std::vector<std::string>& texts);

/// The text of a JSON value, made of what it says.
struct JsonText {
    JsonText(const std::string& said) : text(json_string(said)) {}
    JsonText(std::string_view said) : text(json_string(said)) {}
    JsonText(const char* said) : text(json_string(said)) {}
    JsonText(std::integral auto said) : text(std::to_string(said)) {
        if constexpr (std::same_as<decltype(said), bool>) text = said ? "true" : "false";
    }
    JsonText(double said) : text(json_number(said)) {}
    template <class T>
    JsonText(const std::optional<T>& said) : text(said ? JsonText(*said).text : "null") {}
    JsonText(const std::vector<std::string>& said) : text(json_list(said)) {}
    /// An object of these members, in this order.
    JsonText(std::initializer_list<std::pair<std::string_view, JsonText>> members,
             std::string_view between = ", ");
    /// A list, by default a line each.
    JsonText(const std::vector<JsonText>& values, std::string_view between = ",\n ");
    JsonText(const std::vector<std::int64_t>& said) : JsonText({said.begin(), said.end()}, ", ") {}

    /// An object with one member more, after the others.
    JsonText with(std::string_view key, const JsonText& value,
                  std::string_view between = ", ") const;

    std::string text;
};

}  // namespace attn
