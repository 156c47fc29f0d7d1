#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/explain/notes/notes.hpp"

namespace attn::notes {

/// Beyond this many cells a note looks at the first matrix alone, or at no numbers at all.
inline constexpr std::size_t most_cells = 10'000'000;

/// The cells of a tensor in row-major order, widened to double, without a dispatch for each.
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

/// The tensor as a list of matrices, one for each batch and head; tensors of one axis are one row.
struct Matrices {
    explicit Matrices(const Tensor& tensor);

    std::size_t cells() const { return rows * columns; }
    bool readable() const { return cells() > 0 && cells() <= most_cells; }
    bool all_readable() const { return readable() && count * cells() <= most_cells; }

    std::size_t count = 1, rows = 1, columns = 1;
};

/// Which sequence of the walk matrix number `group` belongs to.
std::size_t batch_of(const Subject& subject, std::size_t group);

/// `sequence 0, head 1`: what matrix `group` is, naming only what the walk has more than one of.
std::string matrix_name(const Excerpt& excerpt, const Tensor& tensor, std::size_t group);

/// `In sequence 0, head 1, ` or nothing, as the start of a sentence, and in the middle of one.
std::string in_matrix(const Subject& subject, std::size_t group = 0);
std::string within_matrix(const Subject& subject, std::size_t group = 0);
/// The same for the first matrix of another tensor of the subject.
std::string within_matrix(const Subject& subject, const Tensor& tensor);
/// A sentence about the first matrix, which says so where there are several.
std::string of_first_matrix(const Subject& subject, const std::string& sentence);

/// How far apart two numbers of this tensor may lie that differ by rounding alone.
double rounding(const Tensor& tensor);

/// A cell of one matrix.
struct MatrixCell {
    std::size_t row = 0, column = 0;
    double value = 0;
    bool alone = true;  ///< no other cell is as large
};

/// The largest cell of a matrix that is neither nan nor -inf; nothing when there is none.
std::optional<MatrixCell> largest_cell(const Tensor& tensor, std::size_t group);

/// The row with the greatest length (root of the sum of squares); nothing unless it is finite,
/// positive and greater than all others.
std::optional<MatrixCell> longest_row(const Tensor& tensor, std::size_t group);

/// Rows of a matrix for which a fact holds: how many, and the first.
struct Rows {
    std::size_t count = 0, first = 0;

    void add(std::size_t row) {
        if (count++ == 0) first = row;
    }
};

/// Rows that are all zero.
Rows zero_rows(const Tensor& tensor, std::size_t group);

/// `'a'`, `'a' and 1 other`, `'a' and 3 others`: the queries that `rows` are.
std::string named(const Subject& subject, const Rows& rows);

/// The heads that are looked at: of a tensor with all heads side by side, `width` features each.
std::vector<std::size_t> heads_in(const Subject& subject, std::size_t width);

/// `features 0 to 3 come from head 0, features 4 to 7 from head 1 and so on`: whose features are
/// where, for the first two of these heads.
std::string features_of_heads(const std::vector<std::size_t>& heads, std::size_t width,
                              const std::string& verb, const std::string& preposition);

/// A sentence on nan and infinite numbers in a tensor; empty when all are finite.
std::string not_finite(const Tensor& tensor);

/// `Chunk 0 is rows 0 to 2, chunk 1 rows 3 to 5.` for a walk in chunks; empty otherwise.
std::string chunk_rows(const Subject& subject);

/// The context of the chunks that went through the cache, beside the context of the whole walk.
std::string chunk_check(const Subject& subject);

}  // namespace attn::notes
