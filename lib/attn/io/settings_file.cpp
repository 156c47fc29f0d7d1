#include "attn/io/settings_file.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "attn/io/json.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/json.hpp"

namespace attn {
namespace {

std::string text_of(const nlohmann::json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/// The line on which a key stands, behind `start`.
std::size_t line_of(std::string_view text, const std::string& key, std::size_t start) {
    const std::size_t at = text.find(json_string(key), start);
    const std::string_view before = text.substr(0, at == text.npos ? 0 : at);
    return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace

std::vector<FileSetting> read_settings(std::string_view text, const std::string& label) {
    nlohmann::json file = parse_json(text, label);
    std::size_t start = 0;
    if (file.is_object() && file.contains("attn_explain") && file.contains("config")) {
        start = text.find("\"config\"");
        file = nlohmann::json(file["config"]);
    }
    if (!file.is_object()) {
        throw InputError(label + ": holds no settings: write an object, {\"heads\": 2}");
    }
    std::vector<FileSetting> settings;
    for (const auto& [key, value] : file.items()) {
        if (value.is_null()) continue;
        FileSetting setting{key, {}, line_of(text, key, start), value.is_string()};
        if (value.is_object()) {
            setting.is_source = true;
            if (value.contains("random")) setting.values.push_back(text_of(value["random"]));
        } else if (value.is_array()) {
            for (const auto& one : value) setting.values.push_back(text_of(one));
        } else {
            setting.values.push_back(text_of(value));
        }
        settings.push_back(std::move(setting));
    }
    return settings;
}

}  // namespace attn
