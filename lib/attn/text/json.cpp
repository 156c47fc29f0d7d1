#include "attn/text/json.hpp"

#include <utf8proc.h>

#include <cmath>

#include <fmt/format.h>

#include "attn/text/strings.hpp"

namespace attn {

std::string json_string(std::string_view text) {
    std::string json = "\"";
    while (!text.empty()) {
        utf8proc_int32_t codepoint = 0;
        const utf8proc_ssize_t length =
            utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                             static_cast<utf8proc_ssize_t>(text.size()), &codepoint);
        const std::size_t bytes = length > 0 ? static_cast<std::size_t>(length) : 1;
        const char c = text.front();
        if (length <= 0) {
            json += "\xEF\xBF\xBD";
        } else if (c == '"' || c == '\\') {
            json += std::string("\\") + c;
        } else if (c == '\n' || c == '\t' || c == '\r') {
            json += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
        } else if (is_disruptive(codepoint)) {
            json += fmt::format("\\u{:04x}", codepoint);
        } else {
            json += text.substr(0, bytes);
        }
        text.remove_prefix(bytes);
    }
    return json + "\"";
}

std::string without_controls(std::string_view json) {
    std::string plain;
    for (const auto& [point, bytes] : points_of(json)) {
        const bool breaks = point != '\n' && is_disruptive(point);
        plain += breaks ? fmt::format("\\u{:04x}", point) : std::string(bytes);
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

}  // namespace attn
