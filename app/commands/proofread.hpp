#pragma once
#include <string>

namespace app {

/// Returns the text of a document: for a page (.html) the visible text, a line per block, tables
/// between bars; for a notebook (.ipynb) its cells and their output; for others the file itself.
///
/// Errors  InputError naming the file.
std::string document_text(const std::string& path);

}  // namespace app
