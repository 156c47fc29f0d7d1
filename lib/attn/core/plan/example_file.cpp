#include "attn/core/plan/example_file.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>

#include "attn/core/plan/text_lines.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

std::optional<double> finite_number(std::string_view text) {
    const std::optional<double> number = parse_number(text);
    return number && std::isfinite(*number) ? number : std::nullopt;
}

std::vector<std::string> words_in(std::string_view line) {
    std::vector<std::string> words;
    while (!line.empty()) words.emplace_back(next_token(line));
    return words;
}

/// Reads a file: lines about the example, then one table after another.
class ExampleReader {
public:
    explicit ExampleReader(ExampleFile& file) : file_(file) {}

    void read() {
        std::istringstream lines(file_.text);
        lines.exceptions(std::ios::badbit);  // or a line would be cut if memory runs out
        for (std::string whole; std::getline(lines, whole);) {
            ++line_;
            const std::string_view line = trimmed(without_remark(whole));
            const bool is_remark = line.empty() && !trimmed(whole).empty();
            if (is_remark) continue;
            if (line.empty()) {
                close_table();
            } else if (in_table_ || !is_about(line)) {
                add_row(line);
            }
        }
        close_table();
        require_whole();
    }

private:
    [[noreturn]] void refuse(const std::string& what) const { file_.refuse(line_, what); }

    /// Reads a line about the example; returns false for the first line of a table.
    bool is_about(std::string_view line) {
        const std::string_view word = next_token(line);  // leaves the rest of the line
        if (word == "example") {
            file_.name = line;
        } else if (word == "title") {
            file_.title = line;
        } else if (word == "begins") {
            file_.begins = line;
            file_.begins_line = line_;
        } else if (word == "looks") {
            file_.looks.push_back(look_in(line));
        } else {
            return false;
        }
        return true;
    }

    ExampleLook look_in(std::string_view line) const {
        const std::vector<std::string> words = words_in(line);
        const bool has_head = words.size() == 6 && words[3] == "in" && words[4] == "head";
        const auto head = finite_number(has_head ? words[5] : "0");
        if ((words.size() != 3 && !has_head) || words[1] != "at" || !head || *head < 0) {
            refuse("is not of the form looks dog at big, or looks dog at big in head 1");
        }
        return {words[0], words[2], static_cast<std::size_t>(*head)};
    }

    void add_row(std::string_view line) {
        std::vector<std::string> words = words_in(line);
        if (!in_table_) {
            table_ = {words[0], {}, {words.begin() + 1, words.end()}, {}, line_};
            if (table_.columns.empty()) {
                refuse(
                    "is neither example, title, begins nor looks, nor the first line of a table: x "
                    "and the names of its features");
            }
            in_table_ = true;
            return;
        }
        if (words.size() != table_.columns.size() + 1) {
            refuse("has " + std::to_string(words.size() - 1) + " numbers for the " +
                   std::to_string(table_.columns.size()) + " columns of " + table_.name +
                   ": give its name and a number for each");
        }
        table_.rows.push_back(words[0]);
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::optional<double> number = finite_number(words[i]);
            if (!number) refuse(quoted_text(words[i]) + " is not a number");
            numbers_.push_back(*number);
        }
    }

    void close_table() {
        if (!std::exchange(in_table_, false)) return;
        if (table_.rows.empty()) file_.refuse(table_.line, "begins a table without rows");
        if (file_.find(table_.name) != nullptr) {
            file_.refuse(table_.line, "begins a second table " + table_.name);
        }
        Shape shape{table_.rows.size(), table_.columns.size()};
        if (table_.name.starts_with("b_") && shape[0] == 1) shape.erase(shape.begin());
        Array<double> cells = empty_array<double>(shape);
        std::ranges::copy(numbers_, cells.begin());
        table_.numbers = Tensor(numbered_axes(shape.size()), std::move(cells));
        numbers_.clear();
        file_.tables.push_back(std::move(table_));
    }

    void require_whole() const {
        const ExampleTable* x = file_.find("x");
        if (x == nullptr) {
            file_.refuse(line_, "ends without x: a table with a row for each word");
        }
        for (const ExampleTable& table : file_.tables) {
            const bool reads_x =
                table.name == "w_query" || table.name == "w_key" || table.name == "w_value";
            if (!reads_x || table.columns == x->columns) continue;
            file_.refuse(table.line, "has other columns than x: " + table.name +
                                         " has a column for each feature of x, in that order");
        }
        for (const ExampleLook& look : file_.looks) {
            for (const std::string& word : {look.query, look.key}) {
                if (std::ranges::count(x->rows, word) == 1) continue;
                throw InputError(file_.label + ": looks " + look.query + " at " + look.key + ": " +
                                 quoted_text(word) + " is not one row of x");
            }
        }
    }

    ExampleFile& file_;
    std::size_t line_ = 0;
    bool in_table_ = false;
    ExampleTable table_;
    std::vector<double> numbers_;
};

}  // namespace

const ExampleTable* ExampleFile::find(std::string_view table) const {
    const auto found = std::ranges::find(tables, table, &ExampleTable::name);
    return found == tables.end() ? nullptr : &*found;
}

void ExampleFile::refuse(std::size_t line, const std::string& what) const {
    throw InputError(label + ": line " + std::to_string(line) + " " + what);
}

ExampleFile parse_example(const std::string& text, const std::string& label) {
    ExampleFile file{label, text, {}, {}};
    ExampleReader(file).read();
    return file;
}

}  // namespace attn
