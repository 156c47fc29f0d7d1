#pragma once
#include <string>

#include "attn/codegen/code.hpp"

namespace attn {

/// What a Jupyter notebook says above its first cell.
struct IpynbHead {
    std::string title;
    std::string introduction;  ///< a paragraph; may be empty
};

/// Writes a document whose sections carry code as a Jupyter notebook (nbformat 4): for every
/// printed section a cell of words, then a cell with its lines and the text that they print.
///
/// `form` is the printed form of the language that the lines are written in.
void render_ipynb(const Document& document, const IpynbHead& head, TextForm form,
                  const PrintOptions& options, const Sink& sink);

}  // namespace attn
