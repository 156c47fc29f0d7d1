#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attn/render/document.hpp"
#include "attn/render/number_text.hpp"
#include "attn/version.hpp"

namespace attn {
namespace {

std::string quoted(const std::string& text) {
    using nlohmann::json;
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Gathers small pieces, so that the sink sees few large ones.
class Gatherer {
public:
    explicit Gatherer(const Sink& sink) : sink_(sink) {}
    ~Gatherer() = default;

    Gatherer& operator<<(std::string_view piece) {
        text_ += piece;
        if (text_.size() > limit) flush();
        return *this;
    }
    void flush() {
        sink_(text_);
        text_.clear();
    }

private:
    static constexpr std::size_t limit = std::size_t{1} << 16;
    const Sink& sink_;
    std::string text_;
};

template <class T>
void write_number(Gatherer& out, T value) {
    NumberBuffer buffer;
    char* end = buffer.data();
    if constexpr (std::is_same_v<T, bool>) {
        out << (value ? "true" : "false");
        return;
    } else if constexpr (std::is_integral_v<T>) {
        end = write_integer(buffer.data(), value);
    } else if (std::isfinite(value)) {
        end = write_scalar(buffer.data(), value);
    } else {
        out << (std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"");
        return;
    }
    out << std::string_view(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
}

/// Writes one axis of the data and what is inside it as nested lists.
template <class T>
const T* write_axis(Gatherer& out, const T* cells, const Shape& shape, std::size_t axis) {
    if (axis == shape.size()) {
        write_number(out, *cells);
        return cells + 1;
    }
    out << "[";
    for (std::size_t i = 0; i < shape[axis]; ++i) {
        if (i > 0) out << ",";
        cells = write_axis(out, cells, shape, axis + 1);
    }
    out << "]";
    return cells;
}

void write_tensor(Gatherer& out, const Tensor& tensor) {
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

void write_section(Gatherer& out, const Section& section) {
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
    Gatherer out(sink);
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
