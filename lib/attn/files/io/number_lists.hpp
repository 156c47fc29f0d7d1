#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/elements.hpp"

namespace attn {

/// Collects the numbers of nested lists in order, with the information to choose their type.
/// Errors  InputError, starting with `label`, from every function.
class NumberLists {
public:
    explicit NumberLists(const std::string& label) : label_(label) {}

    /// Begins and ends a list.  Errors  lists of unequal length or depth, more than 32 axes.
    void open();
    void close();
    void add(double number);
    void add_integer(std::int64_t integer);
    void add_truth(bool truth);
    /// Adds a boolean, a number or a fraction, `1/3`; returns false for any other word.
    bool add_word(std::string_view word);
    /// Adds a quoted "nan", "inf" or "-inf", for which JSON has no number.
    /// Errors  NotATensor for any other text.
    void add_quoted(std::string_view text);

    /// The lengths of the lists, once all are closed.
    const Shape& shape() const { return shape_; }
    std::size_t size() const { return leaves_.size(); }

    /// Returns the type of the values: bool, int64 or float64.
    /// Errors  true or false among numbers, which is more likely a mistake than a one or a zero.
    DType natural_dtype() const;

    /// Converts to a type. Printed numbers may have fewer digits than the type: takes the nearest
    /// number.
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
    std::vector<bool> closed_;  // by length in shape_: known, because such a list has ended
    Shape open_;                // number of entries in each open list
    bool depth_is_known_ = false;
    std::vector<Leaf> leaves_;
    std::size_t booleans_ = 0;
    std::size_t integers_ = 0;
};

/// Parses a text that is an integer as a whole.
template <class T>
std::optional<T> parse_whole(std::string_view text) {
    T number{};
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

/// Parses a number or a fraction, `1/3`.
std::optional<double> parse_fraction(std::string_view text);

/// Replaces the decimal comma of a field, `0,5` as `0.5`, which spreadsheets in many languages use
/// if fields are separated otherwise. Other texts are unchanged.
std::string with_decimal_point(std::string field);

/// Replaces Python or Octave code around arrays (comments, imports, ends of statements) by spaces,
/// so that all places are kept. Rows of Octave, `[1 2; 3 4]`, become lists, which changes places.
std::string arrays_alone(std::string_view text);

/// Returns the inside of a list whose lines are rows, as Julia and Octave write `[1 0` above `0
/// 1]`, with brackets around each; empty for other lists, and for a row that NumPy printed on
/// several lines.
std::string rows_on_lines(std::string_view inside);

/// Writes the numbers of `[0,231  0,884]` with points, and the rows of `[1 0, 0 1]` as lists.
std::string with_points_and_rows(std::string text);

/// Returns the place of a byte in a text: `line 1, column 1` for the first.
std::string place_in(std::string_view text, std::size_t offset);

/// True if a text begins like a printed array: with `tensor(`, `array(` or `[`, possibly after a
/// name.
bool looks_like_printed_array(std::string_view text);

/// Reads one array, or several with names (`q = tensor(...)`, `q: [...]`), as written by PyTorch,
/// NumPy, Python and JSON: numbers in brackets, separated by commas or spaces; `nan`, `inf`,
/// `True`, `null` and the like in all spellings. After the numbers, reads only dtype and size.
///
/// Range   bool, int64 or float64 by the numbers; `tensor(` is float32 unless it has a dtype.
/// Errors  InputError, starting with `label` and naming line and column: lists of unequal length,
///         values that are not numbers, an array shortened with `...`. NotATensor for a list of
///         words.
std::vector<NamedTensor> parse_printed_arrays(std::string_view text, const std::string& label);

}  // namespace attn
