#include "attn/io/json_text.hpp"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "attn/io/file_bytes.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

constexpr int deepest = 64;

std::string place(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, offset);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = start == before.npos ? before.size() : before.size() - start - 1;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& label) {
    using Json = nlohmann::json;
    std::vector<std::unordered_set<std::string>> keys;
    const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > deepest) {
            throw InputError(label + ": lists or objects nested more than " +
                             std::to_string(deepest) + " deep: give plain nested lists");
        }
        if (event == Json::parse_event_t::object_start) keys.emplace_back();
        if (event == Json::parse_event_t::object_end) keys.pop_back();
        if (event == Json::parse_event_t::key) {
            const std::string& key = parsed.get_ref<const std::string&>();
            if (!keys.back().insert(key).second) {
                throw InputError(label + ": the key " + shown(key) +
                                 " occurs twice in one object: keep one of them");
            }
        }
        return true;
    };
    try {
        return Json::parse(text, check);
    } catch (const Json::parse_error& error) {
        throw InputError(label + ": this is no JSON at " + place(text, error.byte) +
                         ": mend it there (nan and inf are written \"nan\" and \"inf\")");
    } catch (const Json::out_of_range&) {
        throw InputError(label +
                         ": a number is beyond the range of float64: write \"inf\" or \"-inf\"");
    }
}

}  // namespace attn
