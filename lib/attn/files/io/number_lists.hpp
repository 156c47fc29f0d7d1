#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/elements.hpp"

namespace attn {

/// Collects the numbers of nested lists in order, with what is needed to choose their type.
/// Errors  InputError, starting with `label`, from every function.
class NumberLists {
public:
    explicit NumberLists(const std::string& label) : label_(label) {}

    /// A list begins, and ends.  Errors  lists of unequal length or depth, more than 32 axes.
    void open();
    void close();
    void add(double number);
    void add_integer(std::int64_t integer);
    void add_truth(bool truth);
    /// Adds what a word says, a truth or a number; false if it says neither.
    bool add_word(std::string_view word);
    /// What is in quotes: "nan", "inf" and "-inf", for which JSON has no number.
    /// Errors  NotATensor for any other text.
    void add_quoted(std::string_view text);

    /// The lengths of the lists, when all are closed.
    const Shape& shape() const { return shape_; }
    std::size_t size() const { return leaves_.size(); }

    /// The type that the values have by themselves: bool, int64 or float64.
    /// Errors  true or false among numbers: more likely a slip than a one or a zero.
    DType natural_dtype() const;

    /// Printed numbers may have fewer digits than the type: the nearest number of it was meant.
    /// Errors  values that are not of the type.
    Tensor tensor(DType dtype, const Shape& shape, Axes axes) const;

private:
    struct Leaf {
        double number = 0.0;
        std::int64_t integer = 0;
    };

    [[noreturn]] void fail(const std::string& what, const std::string& advice) const;
    void add_leaf(Leaf leaf);
    template <class T>
    Array<T> values(const Shape& shape) const;

    const std::string& label_;
    Shape shape_;
    std::vector<bool> closed_;  // which lengths in shape_ are known, as such a list has ended
    Shape open_;                // how much is in each list that is open
    bool depth_is_known_ = false;
    std::vector<Leaf> leaves_;
    std::size_t booleans_ = 0;
    std::size_t integers_ = 0;
};

/// The integer that a text is, all of it.
template <class T>
std::optional<T> parse_whole(std::string_view text) {
    T number{};
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

/// The field of a table with its decimal comma as a point, `0,5` as `0.5`: spreadsheets of half the
/// world write it so where fields are separated otherwise. Any other text stays as it is.
std::string with_decimal_point(std::string field);

/// Python or Octave around arrays, without remarks, imports and the end of a statement, which
/// become blanks, so that every place stays. Rows of Octave, `[1 2; 3 4]`, become lists, which
/// moves places.
std::string arrays_alone(std::string_view text);

/// The place of a byte in a text: `line 1, column 1` for the first.
std::string place_in(std::string_view text, std::size_t offset);

/// Whether a text begins like a printed array: with `tensor(`, `array(` or `[`, or a name and that.
bool looks_like_printed_array(std::string_view text);

/// Reads one array, or several with their names (`q = tensor(...)`, `q: [...]`), as PyTorch, NumPy,
/// Python and JSON write it: numbers in brackets, separated by commas or blanks; `nan`, `inf`,
/// `True`, `null` and the like in any of their spellings. Of what follows the numbers only dtype
/// and size are read.
///
/// Range   bool, int64 or float64 as the numbers are; `tensor(` is float32 unless it has a dtype.
/// Errors  InputError, starting with `label`, naming line and column: lists of unequal length, what
///         is no number, an array shortened with `...`. NotATensor for a list of words.
std::vector<NamedTensor> parse_printed_arrays(std::string_view text, const std::string& label);

}  // namespace attn
