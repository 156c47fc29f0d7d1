#pragma once
#include <cstddef>

#include "attn/simd/architecture.hpp"

namespace attn {

/// What the steps do to one row of numbers in plain memory. `result` may be `row` itself.
template <class Real>
struct RowOperations {
    void (*multiply)(const Real* row, Real number, Real* result, std::size_t count);
    void (*divide)(const Real* row, Real number, Real* result, std::size_t count);
    /// The exponentials as parts of their sum. In vectors by its reciprocal: a division takes ten
    /// times as long as a product.
    void (*normalize)(const Real* row, Real sum, Real* result, std::size_t count);
    /// -inf where hidden is true.
    void (*hide)(const Real* row, const bool* hidden, Real* result, std::size_t count);
    /// Whether no number is inf or nan.
    bool (*finite)(const Real* row, std::size_t count);
    /// The largest number; -inf of none; nan when there is one.
    Real (*maximum)(const Real* row, std::size_t count);
    /// exp(row - maximum), where no number is larger than `maximum`; returns their sum.
    Real (*exponentials)(const Real* row, Real maximum, Real* result, std::size_t count);
    /// The sum. In vectors, zeros behind the row change no bit of it.
    Real (*sum)(const Real* row, std::size_t count);
};

/// From this length on, rows are worked on in vectors.
inline constexpr std::size_t vector_row_length = 64;

/// The operations for rows of `length` numbers, or for parts of such rows.
///
/// Range  Exponentials in vectors are within one and a half units in the last place, and 0 where
///        they would be below the smallest normal number. Shorter rows take the C library's exp()
///        and sums in a fixed order: what people read number by number is the same on every
///        processor.
template <class Real>
const RowOperations<Real>& row_operations(std::size_t length);

/// The operations in vectors of one architecture, which the processor must have.
template <class Real>
RowOperations<Real> vector_row_operations(
    FusedArchitecture architecture = FusedArchitecture::automatic);

}  // namespace attn
