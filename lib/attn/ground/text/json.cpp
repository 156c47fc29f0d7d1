#include "attn/ground/text/json.hpp"

#include <cmath>

#include <fmt/format.h>

#include "attn/ground/text/strings.hpp"

namespace attn {

namespace {

/// A code point beyond 16 bits is two escapes in JSON.
std::string json_escape(std::int32_t point) {
    if (point < 0x10000) return fmt::format("\\u{:04x}", point);
    const std::int32_t rest = point - 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
}

}  // namespace

std::string json_string(std::string_view text) {
    std::string json = "\"";
    while (!text.empty()) {
        const auto [point, bytes] = first_point(text);
        const char c = text.front();
        if (point < 0) {
            json += "\xEF\xBF\xBD";
        } else if (c == '"' || c == '\\') {
            json += std::string("\\") + c;
        } else if (c == '\n' || c == '\t' || c == '\r') {
            json += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
        } else if (is_disruptive(point)) {
            json += json_escape(point);
        } else {
            json += bytes;
        }
        text.remove_prefix(bytes.size());
    }
    return json + "\"";
}

std::string without_controls(std::string_view json) {
    std::string plain;
    for (const auto& [point, bytes] : points_of(json)) {
        const bool breaks = point != '\n' && is_disruptive(point);
        plain += breaks ? json_escape(point) : std::string(bytes);
    }
    return plain;
}

std::string json_number(double number) {
    if (std::isfinite(number)) return fmt::format("{}", number);
    return fmt::format("\"{}\"", std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

std::string json_list(const std::vector<std::string>& texts) {
    std::string json;
    for (const std::string& text : texts) json += (json.empty() ? "" : ",") + json_string(text);
    return "[" + json + "]";
}

/// Returns the separator after a key, with a space if there is one before the next.
static const char* colon(std::string_view between) { return between.ends_with(' ') ? ": " : ":"; }

JsonText::JsonText(std::initializer_list<std::pair<std::string_view, JsonText>> members,
                   std::string_view between) {
    for (const auto& [key, value] : members) {
        text += (text.empty() ? "{" : std::string(between)) + json_string(key) + colon(between) +
                value.text;
    }
    text += "}";
}

JsonText::JsonText(const std::vector<JsonText>& values, std::string_view between) {
    for (const JsonText& value : values) {
        text += (text.empty() ? "[" : std::string(between)) + value.text;
    }
    text += values.empty() ? "[]" : "]";
}

JsonText JsonText::with(std::string_view key, const JsonText& value,
                        std::string_view between) const {
    JsonText object = *this;
    object.text.pop_back();
    object.text += std::string(between) + json_string(key) + colon(between) + value.text + "}";
    return object;
}

}  // namespace attn
