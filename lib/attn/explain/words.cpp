#include "attn/explain/words.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attn {

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string json_number(double number) {
    if (std::isfinite(number)) return fmt::format("{}", number);
    return fmt::format("\"{}\"", std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

std::string json_string(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace attn
