#include "attn/files/io/json.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "attn/files/io/number_lists.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/collected.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

using Json = nlohmann::json;

constexpr std::size_t deepest = 64;

[[noreturn]] void fail_json(const std::string& label, const std::string& what,
                            const std::string& advice = "give nested lists of numbers") {
    throw InputError(label + ": " + what + ": " + advice);
}

/// The string in place of NaN for the parser, which must have the same length.
constexpr std::string_view nan_letter{"\x7F"};

/// Converts JSON as written by Python to valid JSON, with all characters at the same places.
std::string python_as_json(std::string_view text) {
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"NaN", "\"\x7F\""}, {"Infinity", "\"inf\"   "}, {"-Infinity", "\"-inf\"   "}};
    std::string json(text);
    if (text.find('"') == text.npos) std::ranges::replace(json, '\'', '"');  // a printed dict
    bool quoted = false;
    for (std::size_t i = 0; i < json.size(); ++i) {
        if (json[i] == '"') quoted = !quoted;
        if (quoted && json[i] == '\\') ++i;
        if (quoted || std::string_view("NI-").find(json[i]) == std::string_view::npos) continue;
        for (const auto& [python, instead] : words) {
            if (!text.substr(i).starts_with(python)) continue;
            json.replace(i, python.size(), instead);
            i += python.size() - 1;
            break;
        }
    }
    return json;
}

void collect_leaf(NumberLists& lists, const Json& value, const std::string& label) {
    const bool too_large =
        value.is_number_unsigned() &&
        value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (value.is_boolean()) {
        lists.add_truth(value.get<bool>());
    } else if (value.is_number_integer() && !too_large) {
        lists.add_integer(value.get<std::int64_t>());
    } else if (value.is_number()) {
        lists.add(value.get<double>());
    } else if (value.is_null()) {
        lists.add(std::numeric_limits<double>::quiet_NaN());
    } else if (value.is_string()) {
        lists.add_quoted(value.get_ref<const std::string&>());
    } else {
        throw NotATensor(label, "there is an object where a number is expected",
                         "give nested lists of numbers");
    }
}

void collect(NumberLists& lists, const Json& value, const std::string& label) {
    if (!value.is_array()) return collect_leaf(lists, value, label);
    lists.open();
    for (const Json& each : value) collect(lists, each, label);
    lists.close();
}

bool is_walk(const Json& root) {
    return root.is_object() && root.contains("attn_explain") && root.contains("steps") &&
           root.at("steps").is_array();
}

/// A list of objects is a table: `heads.entropy` becomes the list of each row's value.
Json with_columns(Json root) {
    if (!root.is_object() || is_walk(root)) return root;
    Json flat = Json::object();
    for (auto& [name, value] : root.items()) {
        const auto is_row = [](const Json& row) { return row.is_object(); };
        if (!value.is_array() || value.empty() ||
            !std::all_of(value.begin(), value.end(), is_row)) {
            flat[name] = std::move(value);
            continue;
        }
        for (const Json& row : value) {
            for (const auto& [key, cell] : row.items()) flat[name + "." + key].push_back(cell);
        }
    }
    return flat;
}

/// True for `tokens`, `query_tokens` and BertViz's `left_text`, which name the rows of the arrays
/// next to them, and `right_text`.
bool are_tokens(const std::string& name, const Json& value) {
    const auto is_word = [](const Json& each) { return each.is_string(); };
    const bool is_called = name.ends_with("tokens") || name == "left_text" || name == "right_text";
    return is_called && value.is_array() && std::ranges::all_of(value, is_word);
}

// Reads a key of a step: a missing key and one of the wrong type are the same error.
template <class T>
T step_entry(const Json& step, const char* key, const std::string& label) {
    try {
        if (step.is_object() && step.contains(key)) return step.at(key).get<T>();
    } catch (const Json::exception&) {
    }
    fail_json(label, std::string("a step lacks a proper ") + quoted_text(key),
              "give the output of $format json unchanged"_message);
}

NamedTensor step_tensor(const Json& step, const std::string& file_label) {
    const std::string advice = "give the output of $format json unchanged"_message;
    const auto name = step_entry<std::string>(step, "name", file_label);
    const std::string label = file_label + ": step " + quoted_text(name);

    const auto type_name = step_entry<std::string>(step, "dtype", label);
    std::optional<DType> dtype;
    for (DType each : {DType::float32, DType::float64, DType::int64, DType::boolean, DType::float16,
                       DType::bfloat16}) {
        if (dtype_name(each) == type_name) dtype = each;
    }
    if (!dtype) fail_json(label, "unknown dtype " + quoted_text(type_name), advice);

    // If an axis has length 0, the shape has more information than the lists.
    NumberLists lists(label);
    collect(lists, step_entry<Json>(step, "data", label), label);
    Shape shape = lists.shape();
    if (step.contains("shape")) {
        const auto claimed = step_entry<std::vector<std::uint64_t>>(step, "shape", label);
        const Shape specified(claimed.begin(), claimed.end());
        const std::optional<std::size_t> bytes = byte_count(specified, 1);
        const bool both_empty = bytes == 0U && lists.size() == 0 && specified.size() <= 32;
        if (specified != shape && !both_empty) {
            fail_json(label,
                      "the given shape is " + shape_text(specified) + ", but the data has " +
                          shape_text(shape),
                      advice);
        }
        shape = specified;
    }
    Axes axes = numbered_axes(shape.size());
    if (step.contains("axes")) {
        axes = step_entry<Axes>(step, "axes", label);
        if (axes.size() != shape.size()) fail_json(label, "'axes' does not fit the shape", advice);
    }
    return {name, lists.tensor(*dtype, shape, std::move(axes))};
}

/// Builds the value of a text from python_as_json(), and refuses values that are nested too deeply
/// and duplicate keys. The parser's own callback would visit all values of a list or object after
/// each one that ends.
class Builder : public nlohmann::detail::json_sax_dom_parser<Json> {
public:
    using Base = nlohmann::detail::json_sax_dom_parser<Json>;

    Builder(Json& result, const std::string& label) : Base(result), label_(label) {}

    bool start_object(std::size_t count) {
        enter();
        return Base::start_object(count);
    }
    bool start_array(std::size_t count) {
        enter();
        return Base::start_array(count);
    }
    bool end_object() {
        keys_.pop_back();
        return Base::end_object();
    }
    bool end_array() {
        keys_.pop_back();
        return Base::end_array();
    }
    bool string(std::string& text) {
        if (text == nan_letter) text = "nan";
        return Base::string(text);
    }
    /// Integers have no negative zero, so -0 becomes a float.
    bool number_integer(std::int64_t number) {
        return number == 0 ? Base::number_float(-0.0, "") : Base::number_integer(number);
    }
    bool key(std::string& name) {
        if (!keys_.back().insert(name).second) {
            fail_json(label_, "the key " + quoted_text(name) + " occurs twice in one object",
                      "keep one of them");
        }
        return Base::key(name);
    }

private:
    void enter() {
        keys_.emplace_back();
        if (keys_.size() <= deepest) return;
        fail_json(label_, "lists or objects nested more than " + std::to_string(deepest) + " deep",
                  "give plain nested lists");
    }

    const std::string& label_;
    std::vector<std::unordered_set<std::string>> keys_;  // per enclosing list or object
};

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& label) {
    const auto refuse = [&](std::size_t offset) {
        throw InputError(label + ": this is not JSON at " + place_in(text, offset - 1) +
                         ": correct it there (nan and inf are written \"nan\" and \"inf\")");
    };
    // The parser would treat a NUL as the end of the text.
    const std::size_t nul = text.find('\0');
    if (nul != text.npos) refuse(nul + 1);
    Json parsed;
    try {
        Builder builder(parsed, label);
        Json::sax_parse(python_as_json(text), &builder);
    } catch (const Json::parse_error& error) {
        refuse(error.byte);
    } catch (const Json::out_of_range&) {
        throw InputError(label +
                         ": a number is beyond the range of float64: write \"inf\" or \"-inf\"");
    }
    return parsed;
}

std::optional<Shape> sizes_in(const Json& value) {
    const auto natural = [](const Json& each) { return each.is_number_unsigned(); };
    if (!value.is_array() || !std::ranges::all_of(value, natural)) return std::nullopt;
    return value.get<Shape>();
}

std::vector<std::string> walk_step_names(std::string_view text, const std::string& label) {
    const Json root = parse_json(text, label);
    if (!is_walk(root))
        fail_json(label, "this is not a walk", "give the output of $format json"_message);
    return collected(root.at("steps"), [&](const Json& step) {
        return step_entry<std::string>(step, "name", label);
    });
}

std::vector<StoredArray> json_arrays(std::string_view text, const std::string& label) {
    const auto root = std::make_shared<const Json>(with_columns(parse_json(text, label)));
    if (!root->is_object()) fail_json(label, "this is not a JSON object");
    std::vector<StoredArray> arrays;
    if (is_walk(*root)) {
        std::set<std::string> names;
        for (const Json& step : root->at("steps")) {
            const auto name = step_entry<std::string>(step, "name", label);
            if (!names.insert(name).second) {
                fail_json(label, "the step " + quoted_text(name) + " occurs twice",
                          "keep one of them");
            }
            arrays.push_back({name, [root, &step, label] { return step_tensor(step, label); }});
        }
        return arrays;
    }
    std::vector<std::string> words;  // those of queries come after those of keys
    for (const auto& [name, value] : root->items()) {
        if (name == "right_text" && !words.empty()) continue;  // of keys
        if (are_tokens(name, value)) words = value.get<std::vector<std::string>>();
    }
    for (const auto& [name, value] : root->items()) {
        if (are_tokens(name, value)) continue;
        const auto read = [root, &value = value, name = name, label, words]() -> NamedTensor {
            const std::string array_label = label + ": array " + quoted_text(name);
            NumberLists lists(array_label);
            collect(lists, value, array_label);
            const Shape& shape = lists.shape();
            NamedTensor array{
                name, lists.tensor(lists.natural_dtype(), shape, numbered_axes(shape.size()))};
            name_rows(array, words);
            return array;
        };
        arrays.push_back({name, read});
    }
    return arrays;
}

}  // namespace attn
