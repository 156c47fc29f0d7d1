#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/explain/notes/notes.hpp"

namespace attn::notes {

/// Tensors with more cells are described by their first matrix only, or not at all.
inline constexpr std::size_t most_cells = 10'000'000;

/// The cells of a tensor in row-major order as double, without a type dispatch per cell.
class Cells {
public:
    explicit Cells(const Tensor& tensor);

    double operator[](std::size_t i) const {
        if (singles_ != nullptr) return static_cast<double>(singles_[i]);
        return doubles_ != nullptr ? doubles_[i] : tensor_->at(i);
    }

private:
    const Tensor* tensor_;
    const float* singles_ = nullptr;
    const double* doubles_ = nullptr;
};

/// A tensor as a list of matrices, one per batch and head; tensors with one axis are one row.
struct Matrices {
    explicit Matrices(const Tensor& tensor);

    std::size_t cells() const { return rows * columns; }
    bool readable() const { return cells() > 0 && cells() <= most_cells; }
    bool all_readable() const { return readable() && count * cells() <= most_cells; }

    std::size_t count = 1, rows = 1, columns = 1;
};

/// Returns the sequence that matrix number `group` belongs to.
std::size_t batch_of(const Subject& subject, std::size_t group);

/// Names matrix `group`, `sequence 0, head 1`, omitting axes of length 1.
std::string matrix_name(const Excerpt& excerpt, const Tensor& tensor, std::size_t group);

/// Returns `In sequence 0, head 1, `, or an empty text, for the beginning of a sentence, and for
/// its middle.
std::string in_matrix(const Subject& subject, std::size_t group = 0);
std::string within_matrix(const Subject& subject, std::size_t group = 0);
/// Returns it for the first matrix of another tensor of the subject.
std::string within_matrix(const Subject& subject, const Tensor& tensor);
/// Returns a sentence about the first matrix, and names that matrix if there are several.
std::string of_first_matrix(const Subject& subject, const std::string& sentence);

/// Returns the difference of two numbers of this tensor that rounding may cause.
double rounding(const Tensor& tensor);

/// A cell of one matrix.
struct MatrixCell {
    std::size_t row = 0, column = 0;
    double value = 0;
    bool alone = true;  ///< no other cell is equal
};

/// Returns the largest cell of a matrix that is neither nan nor -inf; nullopt if there is none.
std::optional<MatrixCell> largest_cell(const Tensor& tensor, std::size_t group);

/// Returns the row with the largest norm (square root of the sum of squares); nullopt unless it is
/// finite, positive and unique.
std::optional<MatrixCell> longest_row(const Tensor& tensor, std::size_t group);

/// The rows of a matrix for which a fact is true: their number, and the first.
struct Rows {
    std::size_t count = 0, first = 0;

    void add(std::size_t row) {
        if (count++ == 0) first = row;
    }
};

/// Returns the rows that are all zero.
Rows zero_rows(const Tensor& tensor, std::size_t group);

/// Names queries: `'a'`, `'a' and 1 other`, `'a' and 3 others`.
std::string named(const Subject& subject, const Rows& rows);

/// Returns the heads in an excerpt of a tensor with its heads side by side, `width` features each.
std::vector<std::size_t> heads_in(const Subject& subject, std::size_t width);

/// Describes the features of the first two of these heads: `features 0 to 3 come from head 0,
/// features 4 to 7 from head 1 and so on`.
std::string features_of_heads(const std::vector<std::size_t>& heads, std::size_t width,
                              const std::string& verb, const std::string& preposition);

/// Describes nan and infinite numbers in a tensor; empty if all are finite.
std::string not_finite(const Tensor& tensor);

/// Returns `Chunk 0 is rows 0 to 2, chunk 1 rows 3 to 5.` for a walk in chunks; empty otherwise.
std::string chunk_rows(const Subject& subject);

/// Compares the context of chunks that went through the cache with that of the whole walk.
std::string chunk_check(const Subject& subject);

}  // namespace attn::notes
