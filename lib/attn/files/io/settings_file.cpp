#include "attn/files/io/settings_file.hpp"

#include <map>

#include <nlohmann/json.hpp>

#include "attn/files/io/json.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/json.hpp"

namespace attn {
namespace {

/// Formats a nested list as flags expect it: `1,2;3,4`.
std::string text_of(const nlohmann::json& value) {
    if (!value.is_array()) return value.is_string() ? value.get<std::string>() : value.dump();
    std::string text;
    for (const auto& one : value) text += (text.empty() ? "" : ",") + text_of(one);
    return text;
}

/// Returns the lines of the keys of an object. `place` is the path to it: the keys of the enclosing
/// objects, except for the outermost.
std::map<std::string, std::size_t> lines_of_keys(std::string_view text,
                                                 const std::vector<std::string>& place) {
    std::map<std::string, std::size_t> lines;
    std::vector<std::string> here;
    std::string last;  // last string read, and its place
    std::size_t last_line = 1;
    std::size_t line = 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n') ++line;
        if (text[i] == '{' || text[i] == '[') here.push_back(last);
        if (text[i] == '}' || text[i] == ']') here.pop_back();
        if (text[i] == ':' && here == place) lines[last] = last_line;
        if (text[i] != '"') continue;
        const std::size_t begin = i++;
        while (text[i] != '"') i += text[i] == '\\' ? 2 : 1;
        last = nlohmann::json::parse(text.substr(begin, i + 1 - begin)).get<std::string>();
        last_line = line;
    }
    return lines;
}

FileSetting setting_of(const std::string& key, const nlohmann::json& value, std::size_t line) {
    FileSetting setting{key, {}, line, value.is_string(), value.is_object(), value.is_null()};
    if (value.is_null()) return setting;
    if (value.is_array() && !value.empty() && value.front().is_array()) {
        setting.values.emplace_back();
        for (const auto& row : value)
            setting.values[0] += (&row == &value.front() ? "" : ";") + text_of(row);
    } else if (value.is_array()) {
        for (const auto& one : value) setting.values.push_back(text_of(one));
    } else {
        setting.values.push_back(text_of(value));
    }
    return setting;
}

/// Returns the settings of an object in the file, at a path of keys.
std::vector<FileSetting> settings_at(const std::vector<std::string>& place,
                                     const nlohmann::json& object, std::string_view text) {
    std::vector<FileSetting> settings;
    const std::map<std::string, std::size_t> lines = lines_of_keys(text, place);
    for (const auto& [key, value] : object.items()) {
        settings.push_back(setting_of(key, value, lines.at(key)));
    }
    return settings;
}

}  // namespace

FileSettings read_settings(std::string_view text, const std::string& label) {
    const nlohmann::json file = parse_json(text, label);
    const bool is_print = file.is_object() && file.contains("config") &&
                          (file.contains("attn_explain") || file["config"].is_object());
    const nlohmann::json& walk = is_print ? file["config"] : file;
    if (!walk.is_object()) {
        throw InputError(label + ": contains no settings: write an object, {\"heads\": 2}");
    }
    std::vector<std::string> place{""};
    if (is_print) place.emplace_back("config");
    std::vector<FileSetting> settings = settings_at(place, walk, text);
    const std::string now = "explicit_settings", before(former_name(now));
    const std::string& key = walk.contains(now) ? now : before;
    if (!walk.contains(key) || !walk[key].is_object()) return {std::move(settings)};
    std::erase_if(settings,
                  [&](const FileSetting& each) { return each.key == now || each.key == before; });
    place.push_back(key);
    return {settings_at(place, walk[key], text), std::move(settings)};
}

}  // namespace attn
