#include "attn/show/render/render.hpp"

#include <nlohmann/json.hpp>

#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/version.hpp"

namespace attn {
namespace {

using Json = nlohmann::ordered_json;

/// Converts text to nbformat's list of lines, each with its line break.
Json lines_of(const std::string& text) {
    Json lines = Json::array();
    std::size_t start = 0;
    while (start < text.size()) {
        const std::size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
        lines.push_back(text.substr(start, end - start));
        start = end;
    }
    return lines;
}

Json words_cell(const std::string& text) {
    return {{"cell_type", "markdown"}, {"metadata", Json::object()}, {"source", lines_of(text)}};
}

Json code_cell(const std::string& code, const std::string& printed, int count) {
    Json outputs = Json::array();
    if (!printed.empty()) {
        outputs.push_back(
            {{"name", "stdout"}, {"output_type", "stream"}, {"text", lines_of(printed + "\n")}});
    }
    return {{"cell_type", "code"},
            {"execution_count", count},
            {"metadata", Json::object()},
            {"outputs", std::move(outputs)},
            {"source", lines_of(code)}};
}

std::string words_of(const Section& section) {
    std::string words = "## " + section.name + ": " + section.title.markdown();
    if (!section.formula.empty()) words += "\n\n    " + visible(section.formula);
    if (const auto* tensor = std::get_if<Tensor>(&section.content)) {
        words += "\n\n" + markdown_prose(tensor->described()) + ", " +
                 std::string(dtype_name(tensor->dtype()));
    }
    if (!section.note.empty()) words += "\n\n" + section.note.markdown();
    if (!section.margin.empty()) words += "\n\n> **A mistake.** " + section.margin.markdown();
    return words;
}

/// Returns the cell before the first section: a title and the command.
std::string head_of(const Document& document) {
    std::string head = "# Attention, step by step";
    for (const auto& [name, value] : document.config) {
        if (name == "notebook") head = "# The notebook " + value + ", replayed";
    }
    if (!document.command.empty()) {
        const std::string ticks = markdown_fence(document.command, 3);
        head += "\n\n" + ticks + "sh\n" + visible(document.command) + "\n" + ticks;
    }
    return head + "\n\nWritten by attn-explain " + std::string(version()) +
           ". Run from the top, each cell prints the numbers below it.";
}

/// Returns all settings in a folded block after the last section.
std::string settings_of(const Document& document) {
    std::string text = "<details><summary>All settings</summary>\n\n";
    for (const auto& [name, value] : document.config) {
        text += "- " + name + ": " + markdown_code(visible(value)) + "\n";
    }
    return text + "\n</details>";
}

}  // namespace

void render_ipynb(const Document& document, TextForm form, const PrintOptions& options,
                  const Sink& sink) {
    Document gathered = document;
    gather_code(gathered);
    PrintOptions as_printed = options;
    as_printed.default_dtype = DType::float32;

    std::vector<NotebookCell> cells{{head_of(document)}};
    for (const Section& section : gathered.sections) {
        if (!section.shown) continue;
        const std::string print = "print(" + printed_expression(section) + ")";
        cells.push_back({words_of(section)});
        cells.push_back({section.code + (section.code.empty() ? "" : "\n") + print, true,
                         content_text(section, form, as_printed)});
    }
    if (!document.config.empty()) cells.push_back({settings_of(document)});
    write_notebook(cells, sink);
}

void write_notebook(const std::vector<NotebookCell>& cells, const Sink& sink) {
    Json all = Json::array();
    int count = 0;
    for (const NotebookCell& cell : cells) {
        all.push_back(cell.is_code ? code_cell(cell.text, cell.printed, ++count)
                                   : words_cell(cell.text));
    }
    const Json notebook{
        {"cells", std::move(all)},
        {"metadata",
         {{"kernelspec",
           {{"display_name", "Python 3"}, {"language", "python"}, {"name", "python3"}}},
          {"language_info", {{"name", "python"}, {"file_extension", ".py"}}}}},
        {"nbformat", 4},
        {"nbformat_minor", 4}};
    sink(json_text(notebook));
}

}  // namespace attn
