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
    attn::Ledger actual;

    OrderedVerdicts(const attn::Diagnosis& diagnosis, const attn::Ledger& file);
};

/// The cell in which two tensors of one shape differ most; nan is farther than any number.
struct FarthestCell {
    std::size_t cell = 0;
    double distance = 0;
};
FarthestCell farthest_cell(const attn::Tensor& actual, const attn::Tensor& correct);

/// A cell of a document that does not follow from its other matrices.
struct WrongPrintedCell {
    std::string place;  ///< the document's name of the matrix
    std::string step;
    attn::Shape cell;
    std::string row_word, printed, should_be, line;

    /// Returns `V of "bought", column 2: 0.690 should be 0.950`.
    std::string text() const;
};

/// The judgement of each tensor that a walk computes.
struct Proof {
    std::vector<WrongPrintedCell> wrong{};
    std::vector<std::string> right{};     ///< the document's names of tensors without a wrong cell
    std::vector<std::string> unjudged{};  ///< those that could not be compared cell by cell

    bool has_wrong(const std::string& step) const;
};

/// Returns the cells of each tensor that follow neither from the numbers before it as they are
/// printed, nor as they should be, within the digits that are printed. `text` is the document, for
/// its lines and digits; it may be empty. `tokens` are the words at rows.
Proof proof_of(const std::string& text, const attn::Ledger& file, const attn::Diagnosis& diagnosis,
               const std::vector<std::string>& tokens);

}  // namespace app
