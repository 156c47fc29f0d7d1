#pragma once
#include "attn/render/figures.hpp"

namespace attn {

/// Writes the document as one HTML page that needs nothing else: no network, no other file.
///
/// The page shows every section's tensor as a table, shaded as in figures; a cell that is chosen
/// shows its derivation. The walk stands in it as `--format json` writes it, the derivations beside
/// it; page/*.js and page/*.css, which the build puts in, make the page of them. With
/// `document.other` the page shows both and marks what differs.
void render_html(const Document& document, const FigureChoices& choices, const Sink& sink);

}  // namespace attn
