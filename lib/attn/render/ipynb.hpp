#pragma once
#include "attn/document/program.hpp"
#include "attn/render/render.hpp"

namespace attn {

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

}  // namespace attn
