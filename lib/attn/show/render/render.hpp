#pragma once
#include <functional>
#include <string>
#include <vector>

#include "attn/explain/document/document.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/show/render/figures.hpp"

namespace attn {

/// The printed form of tensors.
enum class TextForm { torch, numpy, plain };

/// Whether the words around the tensors are printed.
enum class Words { all, none };

/// Formats the content of a section: its tensor in that form, or its text.
std::string content_text(const Section& section, TextForm form, const PrintOptions& options);

/// Writes it in pieces, with memory that does not grow with the tensor.
void write_content(TextPieces& text, const Section& section, TextForm form,
                   const PrintOptions& options);

/// Writes the shown sections as text, one blank line apart. The memory of the renderers does not
/// grow with the tensors; pieces of text are at most about 256 kB long.
void render_text(const Document& document, TextForm form, const PrintOptions& options, Words words,
                 const Sink& sink);

/// Writes the sections with another form of their content, which must end without a line break.
using ContentForm = std::function<std::string(const Section&)>;
void render_text(const Document& document, const ContentForm& form, const PrintOptions& options,
                 Words words, const Sink& sink);

/// Writes the shown sections as a Markdown page: each with a heading, the formula as code, the
/// notes as prose and the tensors in fences.
void render_markdown(const Document& document, TextForm form, const PrintOptions& options,
                     Words words, const Sink& sink);

/// Writes the document as one JSON object: version, config and every section with its tensor.
/// Numbers are the shortest text that reads back to the same bits, in float32 if they have 16; nan,
/// inf and -inf are strings.
void render_json(const Document& document, const Sink& sink);

/// `[0,4,1]`
template <class Numbers>
std::string json_numbers(const Numbers& numbers) {
    std::string text;
    for (const auto number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return "[" + text + "]";
}
/// Returns the settings of a walk: `{"heads":2,...}`.
std::string json_config(const Document& document);
/// Returns the tokens of queries and keys, one list per sequence:
/// `{"query":[["a","b"]],"key":...}`.
std::string json_tokens(const Document& document, std::string (*shown)(std::string_view) = nullptr);

/// Writes a document whose sections have code as a Jupyter notebook (nbformat 4): a cell with the
/// settings, then for every printed section a text cell and a cell with its code and output.
///
/// `form` is the printed form of the code's library.
void render_ipynb(const Document& document, TextForm form, const PrintOptions& options,
                  const Sink& sink);

/// A cell of a notebook: words as Markdown, or code with its output.
struct NotebookCell {
    std::string text;
    bool is_code = false;
    std::string printed{};
};
void write_notebook(const std::vector<NotebookCell>& cells, const Sink& sink);

/// Writes the document as one self-contained HTML page: no network, no other file.
///
/// The page shows every section's tensor as a table, shaded as in figures, and the derivation of
/// the selected cell. It contains the walk as `--format json` writes it, and the derivations;
/// page/*.js and page/*.css, which are embedded, build the page from them. With `document.other`
/// the page shows both and marks the differences.
void render_html(const Document& document, const FigureChoices& choices, const Sink& sink);

/// A page of one table, or of text, in the frame of a walk's page: a heading, the command that made
/// it, dark and light, keyboard, print.
struct PlainPage {
    std::string title;
    std::string command;
    std::string body;  ///< HTML; a `td` has an id, data-told and data-command
};
std::string plain_page(const PlainPage& page);

/// Writes the document as a workbook whose cells are formulas made from the rules of its sections
/// (attn/explain/codegen/sheet_formula.hpp). Inputs, parameters, and rules that no formula can
/// express are values; an input that is not in the document makes a rule a value, too. Returns a
/// sentence about such rules; empty if there are none.
///
/// Range  spreadsheets compute in double precision. -inf is -1E+300, displayed as -inf; nan is the
///        error #N/A, which passes through sums as nan does.
/// Errors  ConfigError if a workbook would be too large to open.
std::string render_workbook(const Document& document, OutputFile& file);

/// Encodes bytes as characters for a page: 13 bits as two digits of base 91, the smaller one first:
/// printable ASCII without `"`, `&` and `<`.
std::string as_letters(std::string_view bytes);

/// A trained model with a text: the figures of its heads, and the walk through each layer.
struct ModelPage {
    std::string command;  ///< the command line that produces it
    std::string heads;    ///< as printed by `heads --json`
    std::vector<Document> layers;
};

/// Writes all heads of a model as one such page: small pictures of their weights, each of which
/// opens the walk through its layer.
void render_model_html(const ModelPage& model, const FigureChoices& choices, const Sink& sink);

}  // namespace attn
