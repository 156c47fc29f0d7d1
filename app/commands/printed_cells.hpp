#pragma once
#include <string>
#include <vector>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/judge/diagnose/diagnose.hpp"

namespace app {

/// The verdicts of a diagnosis in the order of the walk, with the user's tensors by their steps:
/// those that it read, and others from which no later step was computed.
struct OrderedVerdicts {
    std::vector<attn::StepVerdict> rows;
    attn::Ledger theirs;

    OrderedVerdicts(const attn::Diagnosis& diagnosis, const attn::Ledger& file);
};

/// A cell of a document that does not follow from its other matrices.
struct WrongInPrint {
    std::string place;  ///< the document's name of the matrix
    std::string step;
    attn::Shape cell;
    std::string row_word, printed, should_be, line;

    /// Returns `V of "bought", column 2: 0.690 should be 0.950`.
    std::string text() const;
};

/// Returns the cells of each wrong tensor that follow neither from the printed numbers before it
/// nor from the corrected ones, within the printed decimals. `text` is the document, for its lines
/// and digits; it may be empty. `tokens` are the words at rows.
std::vector<WrongInPrint> wrong_in_print(const std::string& text, const attn::Ledger& file,
                                         const attn::Diagnosis& diagnosis,
                                         const std::vector<std::string>& tokens);

}  // namespace app
