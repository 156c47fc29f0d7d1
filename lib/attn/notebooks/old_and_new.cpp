#include <algorithm>

#include "attn/notebooks/notebook.hpp"
#include "attn/render/document.hpp"

namespace attn {
namespace {

constexpr std::string_view ending = "_corrected";

const Section* find(const Document& document, const std::string& name) {
    for (const Section& section : document.sections) {
        if (section.name == name) return &section;
    }
    return nullptr;
}

/// The same text, or the same numbers: nan equals nan.
bool same_content(const Section& a, const Section& b) {
    if (a.content.index() != b.content.index()) return false;
    if (const auto* text = std::get_if<std::string>(&a.content)) {
        return *text == std::get<std::string>(b.content);
    }
    const Tensor& left = std::get<Tensor>(a.content);
    const Tensor& right = std::get<Tensor>(b.content);
    if (left.shape() != right.shape() || left.dtype() != right.dtype()) return false;
    for (std::size_t i = 0; i < left.size(); ++i) {
        const double x = left.at(i);
        const double y = right.at(i);
        if (x != y && !(x != x && y != y)) return false;
    }
    return true;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines{""};
    for (const char c : text) {
        if (c == '\n') {
            lines.emplace_back();
        } else {
            lines.back() += c;
        }
    }
    return lines;
}

/// Both texts under their headings: in two columns where they fit.
std::string beside(const std::string& old_text, const std::string& new_text, std::size_t columns) {
    std::vector<std::string> left = lines_of("as on the page\n" + old_text);
    std::vector<std::string> right = lines_of("corrected\n" + new_text);
    const auto width_of = [](const std::vector<std::string>& lines) {
        std::size_t width = 0;
        for (const std::string& line : lines) width = std::max(width, line.size());
        return width;
    };
    const std::size_t width = width_of(left);
    if (width + 3 + width_of(right) > columns) {
        return "as on the page\n" + old_text + "\ncorrected\n" + new_text;
    }
    left.resize(std::max(left.size(), right.size()));
    right.resize(left.size());
    std::string text;
    for (std::size_t i = 0; i < left.size(); ++i) {
        left[i].resize(width, ' ');
        std::string line = left[i] + " | " + right[i];
        line.erase(line.find_last_not_of(' ') + 1);
        text += (i == 0 ? "" : "\n") + line;
    }
    return text;
}

}  // namespace

Document old_and_new(const Document& faithful, const Document& corrected) {
    Document both;
    both.config = corrected.config;
    for (const Section& section : faithful.sections) {
        both.sections.push_back(section);
        const Section* mended = find(corrected, section.name);
        if (mended == nullptr || same_content(section, *mended)) continue;
        both.sections.back().shown = true;
        both.sections.push_back(*mended);
        both.sections.back().name += ending;
        both.sections.back().shown = true;
    }
    for (const Section& section : corrected.sections) {
        if (find(faithful, section.name) == nullptr) both.sections.push_back(section);
    }
    return both;
}

Document in_columns(const Document& document, TextForm form, const PrintOptions& options,
                    std::size_t columns) {
    Document result;
    result.config = document.config;
    for (const Section& section : document.sections) {
        const bool is_new = !result.sections.empty() &&
                            section.name == result.sections.back().name + std::string(ending);
        if (!is_new || !result.sections.back().shown || !section.shown) {
            result.sections.push_back(section);
            continue;
        }
        Section& pair = result.sections.back();
        pair.content = beside(content_text(pair, form, options),
                              content_text(section, form, options), columns);
        if (section.formula != pair.formula) pair.formula += "; corrected: " + section.formula;
        if (!section.note.empty() && section.note != pair.note) {
            pair.note += (pair.note.empty() ? "Corrected: " : " Corrected: ") + section.note;
        }
        pair.margin += (pair.margin.empty() ? "" : " ") + section.margin;
        if (!section.code.empty()) pair.code += "\n# corrected\n" + section.code;
    }
    return result;
}

}  // namespace attn
