#pragma once
#include <string>
#include <utility>
#include <vector>

namespace app {

/// Returns the text of a document: for a page (.html) the visible text, a line per block, tables
/// between bars; for a notebook (.ipynb) its cells and their output; for others the file itself.
///
/// Errors  InputError naming the file.
std::string document_text(const std::string& path);

/// Returns the sections `Layer 1`, `Layer 2` of a document with their headings, each after the text
/// before the first; one or none if it has no such sections.
std::vector<std::pair<std::string, std::string>> numbered_sections(const std::string& text);

}  // namespace app
