#pragma once
#include <string>

namespace app {

/// Returns the text of a document: of a page (.html) as a reader sees it, a line per block, tables
/// between bars; of a notebook (.ipynb) its cells and what they printed; of others as it is.
///
/// Errors  InputError naming the file.
std::string document_text(const std::string& path);

}  // namespace app
