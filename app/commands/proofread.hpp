#pragma once
#include <string>
#include <utility>
#include <vector>

#include "attn/judge/diagnose/verdict.hpp"

namespace app {

/// Returns the text of a document: of a page (.html) as a reader sees it, a line per block, tables
/// between bars; of a notebook (.ipynb) its cells and what they printed; of others as it is.
///
/// Errors  InputError naming the file.
std::string document_text(const std::string& path);

/// Returns the sections `Layer 1`, `Layer 2` of a document with their headings, each after the text
/// before the first; one or none if it has no such sections.
std::vector<std::pair<std::string, std::string>> numbered_sections(const std::string& text);

/// Returns a text without the arrays that were shortened by `...`, and adds them to `skipped`.
std::string without_shortened(std::string text, std::vector<attn::Skipped>& skipped);

}  // namespace app
