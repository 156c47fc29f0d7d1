#pragma once
#include <string>
#include <vector>

#include "attn/render/figures.hpp"

namespace attn {

/// Writes the document as one HTML page that needs nothing else: no network, no other file.
///
/// The page shows every section's tensor as a table, shaded as in figures; a cell that is chosen
/// shows its derivation. The walk stands in it as `--format json` writes it, the derivations beside
/// it; page/*.js and page/*.css, which the build puts in, make the page of them. With
/// `document.other` the page shows both and marks what differs.
void render_html(const Document& document, const FigureChoices& choices, const Sink& sink);

/// Bytes as letters that may stand in a page anywhere: five for four bytes, each a digit of base 85
/// from `(` on without `<`; the last bytes, fewer than four, have one letter more than they are.
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
