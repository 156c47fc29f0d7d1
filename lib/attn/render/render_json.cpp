#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attn/render/document.hpp"
#include "attn/render/number_text.hpp"
#include "attn/render/text_pieces.hpp"
#include "attn/version.hpp"

namespace attn {
namespace {

std::string quoted(const std::string& text) {
    using nlohmann::json;
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class T>
void write_number(TextPieces& out, T value) {
    if constexpr (std::is_same_v<T, bool>) {
        out << (value ? "true" : "false");
    } else if constexpr (std::is_integral_v<T>) {
        out.keep(write_integer(out.room(std::tuple_size_v<NumberBuffer>), value));
    } else if (std::isfinite(value)) {
        out.keep(write_scalar(out.room(std::tuple_size_v<NumberBuffer>), value));
    } else {
        out << (std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
    }
}

/// Writes one axis of the data and what is inside it as nested lists.
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

void write_tensor(TextPieces& out, const Tensor& tensor) {
    out << ",\"axes\":[";
    for (std::size_t i = 0; i < tensor.axes().size(); ++i) {
        out << (i > 0 ? "," : "") << quoted(tensor.axes()[i]);
    }
    out << "],\"shape\":[";
    const Shape shape = tensor.shape();
    for (std::size_t i = 0; i < shape.size(); ++i) {
        out << (i > 0 ? "," : "") << std::to_string(shape[i]);
    }
    out << "],\"dtype\":\"" << dtype_name(tensor.dtype()) << "\",\"data\":";
    std::visit([&](const auto& array) { write_axis(out, array.data(), shape, 0); },
               tensor.values());
}

void write_section(TextPieces& out, const Section& section) {
    out << "{\"name\":" << quoted(section.name) << ",\"title\":" << quoted(section.title)
        << ",\"formula\":" << quoted(section.formula);
    if (!section.note.empty()) out << ",\"note\":" << quoted(section.note);
    if (!section.margin.empty()) out << ",\"margin\":" << quoted(section.margin);
    if (!section.code.empty()) out << ",\"code\":" << quoted(section.code);
    if (const auto* tensor = std::get_if<Tensor>(&section.content)) {
        write_tensor(out, *tensor);
    } else {
        out << ",\"text\":" << quoted(std::get<std::string>(section.content));
    }
    out << "}";
}

}  // namespace

void render_json(const Document& document, const Sink& sink) {
    TextPieces out(sink);
    out << "{\"attn_explain\":" << quoted(std::string(version())) << ",\n\"config\":{";
    for (std::size_t i = 0; i < document.config.size(); ++i) {
        const auto& [name, value] = document.config[i];
        out << (i > 0 ? "," : "") << quoted(name) << ":" << value;
    }
    out << "},\n\"steps\":[\n";
    for (std::size_t i = 0; i < document.sections.size(); ++i) {
        if (i > 0) out << ",\n";
        write_section(out, document.sections[i]);
    }
    out << "\n]}\n";
    out.flush();
}

}  // namespace attn
