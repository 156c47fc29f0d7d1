#include <cmath>

#include "attn/ground/text/collected.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/ground/text/text_pieces.hpp"
#include "attn/show/render/render.hpp"
#include "attn/version.hpp"

namespace attn {
namespace {

/// A 16-bit number is written as float32: readers have no such type.
template <class T>
void write_number(TextPieces& out, T value) {
    if constexpr (std::is_same_v<T, bool>) {
        out << (value ? "true" : "false");
    } else if constexpr (std::is_integral_v<T>) {
        out << std::to_string(value);
    } else if (std::isfinite(value)) {
        out << scalar_text(value);
    } else {
        out << (std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
    }
}

/// Writes one axis of the data and everything below it as nested lists.
template <class T>
const T* write_axis(TextPieces& out, const T* cells, const Shape& shape, std::size_t axis) {
    if (axis == shape.size()) {
        write_number(out, *cells);
        return cells + 1;
    }
    out << '[';
    for (std::size_t i = 0; i < shape[axis]; ++i) {
        if (i > 0) out << ',';
        cells = write_axis(out, cells, shape, axis + 1);
    }
    out << ']';
    return cells;
}

void write_cells(TextPieces& out, const Tensor& tensor) {
    std::visit([&](const auto& array) { write_axis(out, array.data(), tensor.shape(), 0); },
               tensor.values());
}

void write_tensor(TextPieces& out, const Tensor& tensor) {
    out << ",\"axes\":" << json_list(tensor.axes()) << ",\"shape\":" << json_numbers(tensor.shape())
        << ",\"dtype\":\"" << dtype_name(tensor.dtype()) << "\",\"data\":";
    write_cells(out, tensor);
}

/// Writes the names of a whole tensor's features: for each axis with names a list of lists, one
/// list per head if their names differ.
void write_features(TextPieces& out, const Section& section) {
    if (section.features.empty() || !section.part.empty()) return;
    std::vector<std::string> axes;
    for (const auto& [axis, lists] : section.features) {
        axes.push_back(json_string(axis) + ":[" + joined(collected(lists, json_list), ",") + "]");
    }
    out << ",\"features\":{" << joined(axes, ",") << "}";
}

void write_section(TextPieces& out, const Section& section) {
    out << "{\"name\":" << json_string(section.name)
        << ",\"title\":" << json_string(section.title.raw())
        << ",\"formula\":" << json_string(section.formula);
    if (!section.kind.empty()) out << ",\"kind\":" << json_string(section.kind);
    if (!section.rule.empty()) out << ",\"rule\":" << json_string(section.rule);
    if (!section.rounded.empty()) out << ",\"rounded\":" << json_string(section.rounded);
    if (!section.part.empty()) out << ",\"part\":true";
    if (!section.note.empty()) out << ",\"note\":" << json_string(section.note.raw());
    if (!section.margin.empty()) out << ",\"margin\":" << json_string(section.margin.raw());
    if (section.changed) out << ",\"changed\":true";
    if (!section.code.empty()) out << ",\"code\":" << json_string(section.code);
    if (const auto* tensor = std::get_if<Tensor>(&section.content)) {
        write_tensor(out, *tensor);
        write_features(out, section);
    } else {
        out << ",\"text\":" << json_string(std::get<std::string>(section.content));
    }
    if (section.bound) write_cells(out << ",\"bound\":", *section.bound);
    out << "}";
}

}  // namespace

std::string json_tokens(const Document& document, std::string (*shown)(std::string_view)) {
    const auto lists = [&](const std::vector<std::vector<std::string>>& sequences) {
        std::vector<std::string> texts;
        for (std::vector<std::string> words : sequences) {
            for (std::string& word : words) word = shown == nullptr ? word : shown(word);
            texts.push_back(json_list(words));
        }
        return "[" + joined(texts, ",") + "]";
    };
    return "{\"query\":" + lists(document.query_tokens) + ",\"key\":" + lists(document.key_tokens) +
           "}";
}

std::string json_config(const Document& document) {
    std::string text;
    for (const auto& [name, value] : document.config) {
        text += (text.empty() ? "{" : ",") + json_member(name, value);
    }
    return text.empty() ? "{}" : text + "}";
}

void render_json(const Document& document, const Sink& sink) {
    TextPieces out(sink);
    out << "{\"attn_explain\":" << json_string(version())
        << ",\n\"config\":" << json_config(document) << ",\n";
    if (!document.command.empty()) out << "\"command\":" << json_string(document.command) << ",\n";
    if (!document.query_tokens.empty() || !document.key_tokens.empty()) {
        out << "\"tokens\":" << json_tokens(document) << ",\n";
    }
    out << "\"steps\":[\n";
    for (std::size_t i = 0; i < document.sections.size(); ++i) {
        if (i > 0) out << ",\n";
        write_section(out, document.sections[i]);
    }
    out << "\n]";
    if (!document.verdict_json.empty()) {
        out << ",\n" << json_string(document.verdict_key) << ":" << document.verdict_json;
    }
    out << "}\n";
    out.flush();
}

}  // namespace attn
