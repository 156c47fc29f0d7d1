#include "attn/io/csv.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "attn/io/csv_fields.hpp"
#include "attn/io/elements.hpp"
#include "attn/io/file_bytes.hpp"
#include "attn/io/long_table.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

[[noreturn]] void fail(const std::string& label, std::size_t line, const std::string& what) {
    throw InputError(label + ": line " + std::to_string(line) + what);
}

bool all_numbers(const std::vector<std::string>& fields) {
    return std::all_of(fields.begin(), fields.end(),
                       [](const std::string& field) { return parse_number(field).has_value(); });
}

}  // namespace

std::vector<NamedTensor> parse_csv(std::string_view bytes, const std::string& label) {
    CsvLines lines(bytes, label);
    std::vector<double> values;
    std::size_t columns = 0;
    std::size_t rows = 0;
    while (const std::vector<std::string>* fields = lines.next()) {
        // The first line fixes the number of columns, and may name them.
        if (columns == 0) {
            columns = fields->size();
            if (is_long_table(*fields)) {
                const std::vector<std::string> names = *fields;
                return parse_long_table(lines, names, label);
            }
            if (!all_numbers(*fields)) continue;
        }
        if (fields->size() != columns) {
            fail(label, lines.line(),
                 " has " + std::to_string(fields->size()) + " columns, not " +
                     std::to_string(columns) + " as the lines before: give every row as many");
        }
        for (std::size_t column = 0; column < columns; ++column) {
            const std::string& field = (*fields)[column];
            const std::optional<double> number = parse_number(field);
            if (!number) {
                fail(label, lines.line(),
                     ", column " + std::to_string(column + 1) + ": " + shown(field) +
                         " is no number of float64: write it as 1.5 or 1e-3");
            }
            values.push_back(*number);
        }
        ++rows;
    }
    if (rows == 0) {
        throw InputError(label + ": no row of numbers: give at least one");
    }
    Array<double> array = empty_array<double>({rows, columns});
    std::copy(values.begin(), values.end(), array.data());
    std::vector<NamedTensor> result;
    result.push_back({"", Tensor(numbered_axes(2), std::move(array))});
    return result;
}

}  // namespace attn
