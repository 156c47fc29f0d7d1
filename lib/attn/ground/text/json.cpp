#include "attn/ground/text/json.hpp"

#include <algorithm>
#include <array>
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

std::span<const RenamedKey> renamed_keys() {
    static constexpr std::array all{
        RenamedKey{"after", "behind"},
        RenamedKey{"at_these_sizes", "here"},
        RenamedKey{"comparisons", "same"},
        RenamedKey{"dependents_right", "alone"},
        RenamedKey{"detected", "shown"},
        RenamedKey{"disagreement", "dispute"},
        RenamedKey{"droppable_keys", "dropped"},
        RenamedKey{"exceeding_cells", "beyond"},
        RenamedKey{"expected", "should_be"},
        RenamedKey{"explicit_settings", "said"},
        RenamedKey{"first_divergence", "parting"},
        RenamedKey{"float64_shapes", "held"},
        RenamedKey{"given_parameters", "given"},
        RenamedKey{"harmless_difference", "beside"},
        RenamedKey{"inferred_loss", "assumed"},
        RenamedKey{"logit_difference", "here"},
        RenamedKey{"matrix", "place"},
        RenamedKey{"max_difference", "apart"},
        RenamedKey{"mismatches", "off"},
        RenamedKey{"not_visible", "blind"},
        RenamedKey{"open_questions", "open"},
        RenamedKey{"other_id", "other"},
        RenamedKey{"patches", "carried"},
        RenamedKey{"peak_fraction", "peak_part"},
        RenamedKey{"predicted", "said"},
        RenamedKey{"reference", "against"},
        RenamedKey{"reference_value", "against_value"},
        RenamedKey{"restored", "share"},
        RenamedKey{"second_harmless_difference", "also_beside"},
        RenamedKey{"skip_reason", "left_out"},
        RenamedKey{"skipped_lines", "passed_over"},
        RenamedKey{"source_ids", "from"},
        RenamedKey{"source_logit_difference", "there"},
        RenamedKey{"suggestion", "fits"},
        RenamedKey{"tensor", "theirs"},
        RenamedKey{"undetermined", "open"},
        RenamedKey{"visible_in_step", "inside"},
        RenamedKey{"walk_flags", "begins"}};
    return all;
}

std::string_view former_name(std::string_view key) {
    const auto keys = renamed_keys();
    const auto found = std::ranges::find(keys, key, &RenamedKey::now);
    return found == keys.end() ? std::string_view() : found->before;
}

std::string json_member(std::string_view key, std::string_view value, std::string_view between) {
    const std::string_view colon = between.ends_with(' ') ? ": " : ":", before = former_name(key);
    std::string text = json_string(key) + std::string(colon) + std::string(value);
    if (!before.empty()) text += std::string(between) + json_member(before, value, between);
    return text;
}

JsonText::JsonText(std::initializer_list<std::pair<std::string_view, JsonText>> members,
                   std::string_view between) {
    for (const auto& [key, value] : members) {
        text +=
            (text.empty() ? "{" : std::string(between)) + json_member(key, value.text, between);
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
    object.text += std::string(between) + json_member(key, value.text, between) + "}";
    return object;
}

}  // namespace attn
