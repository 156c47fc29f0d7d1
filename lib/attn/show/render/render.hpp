#pragma once
#include <functional>
#include <string>
#include <vector>

#include "attn/explain/document/document.hpp"
#include "attn/show/render/figures.hpp"

namespace attn {

/// Which printed form tensors take.
enum class TextForm { torch, numpy, plain };

/// Whether the words around the tensors are printed.
enum class Words { all, none };

/// The printed content of a section: its tensor in that form, or its text.
std::string content_text(const Section& section, TextForm form, const PrintOptions& options);

/// The same, written in pieces: the memory it takes does not grow with the tensor.
void write_content(TextPieces& text, const Section& section, TextForm form,
                   const PrintOptions& options);

/// Writes the shown sections as text, one blank line apart. The memory that the renderers take does
/// not grow with the tensors; each piece of text is at most some 256 kB long.
void render_text(const Document& document, TextForm form, const PrintOptions& options, Words words,
                 const Sink& sink);

/// The same with another form for what is between the words, which ends without a line break.
using ContentForm = std::function<std::string(const Section&)>;
void render_text(const Document& document, const ContentForm& form, const PrintOptions& options,
                 Words words, const Sink& sink);

/// Writes the shown sections as a Markdown page: a heading each, the formula as code, the notes as
/// prose and the tensors in fences.
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
/// The tokens of queries and keys, one list for each sequence: `{"query":[["a","b"]],"key":...}`.
std::string json_tokens(const Document& document, std::string (*shown)(std::string_view) = nullptr);

/// Writes a document whose sections carry code as a Jupyter notebook (nbformat 4): a cell that
/// names the settings, then for every printed section a cell of words and one with its lines and
/// the text that they print.
///
/// `form` is the printed form of the language that the lines are written in.
void render_ipynb(const Document& document, TextForm form, const PrintOptions& options,
                  const Sink& sink);

/// One cell of a notebook: words as Markdown, or lines of code with what they print.
struct NotebookCell {
    std::string text;
    bool is_code = false;
    std::string printed{};
};
void write_notebook(const std::vector<NotebookCell>& cells, const Sink& sink);

/// Writes the document as one HTML page that needs nothing else: no network, no other file.
///
/// The page shows every section's tensor as a table, shaded as in figures; a cell that is chosen
/// shows its derivation. The walk is in it as `--format json` writes it, the derivations beside
/// it; page/*.js and page/*.css, which the build puts in, make the page of them. With
/// `document.other` the page shows both and marks what differs.
void render_html(const Document& document, const FigureChoices& choices, const Sink& sink);

/// Bytes as letters that may be in a page: two for 13 bits, digits of base 91, the smaller one
/// first: printable ASCII without `"`, `&` and `<`.
std::string as_letters(std::string_view bytes);

/// A trained model over a text: what is known of its heads, and the walk through each layer.
struct ModelPage {
    std::string command;  ///< the command line that makes it
    std::string heads;    ///< as `heads --json` prints them
    std::vector<Document> layers;
};

/// Writes all heads of a model as one such page: small pictures of their weights, each of which
/// opens the walk through its layer.
void render_model_html(const ModelPage& model, const FigureChoices& choices, const Sink& sink);

}  // namespace attn
