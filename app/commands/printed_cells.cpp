#include "app/commands/printed_cells.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "app/flags/pasted_tensors.hpp"
#include "attn/explain/bounds/bounds.hpp"
#include "attn/files/io/document_names.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/their_tensors.hpp"

namespace app {
namespace {

/// A number as printed in a document.
struct PrintedNumber {
    double value = 0;
    std::string text;
    std::size_t at = 0;
    attn::Printed digits{};
};

/// Returns the numbers of a text, in its order, except for those in names, such as `q_1`.
std::vector<PrintedNumber> numbers_in(const std::string& text) {
    std::vector<PrintedNumber> numbers;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t digits = text[at] == '-' || text[at] == '+' ? at + 1 : at;
        const bool is_after_name = at > 0 && attn::is_letter_of_name(text[at - 1]);
        const bool begins =
            digits < text.size() &&
            (is_digit(text[digits]) ||
             (text[digits] == '.' && digits + 1 < text.size() && is_digit(text[digits + 1])));
        if (is_after_name || !begins) {
            ++at;
            continue;
        }
        std::size_t end = digits;
        while (end < text.size() && is_digit(text[end])) ++end;
        const std::size_t point = end;
        if (end < text.size() && text[end] == '.') {
            do ++end;
            while (end < text.size() && is_digit(text[end]));
        }
        const int decimals = static_cast<int>(end - std::min(point + 1, end));
        const bool has_power = end + 2 < text.size() && (text[end] == 'e' || text[end] == 'E') &&
                               (is_digit(text[end + 1]) || is_digit(text[end + 2]));
        if (has_power) {
            end += 2;
            while (end < text.size() && is_digit(text[end])) ++end;
        }
        const std::string number = text.substr(at, end - at);
        if (const auto value = attn::parse_number(number)) {
            const int before = static_cast<int>(std::min(point, end) - digits);
            numbers.push_back(
                {*value, number, at,
                 has_power ? attn::Printed{before + decimals, true} : attn::Printed{decimals}});
        }
        at = std::max(end, at + 1);
    }
    return numbers;
}

/// The document's own numbers for each cell of a tensor; empty if they are not found.
using PrintedCells = std::vector<const PrintedNumber*>;

/// Finds a sequence of numbers in a document, with row numbers and the like between them.
PrintedCells found_in(const std::vector<PrintedNumber>& numbers,
                      const std::vector<double>& wanted) {
    constexpr std::size_t most_between = 2;
    const auto is_it = [&](std::size_t i, double value) {
        return std::abs(numbers[i].value - value) <= 1e-6 * std::max(1.0, std::abs(value));
    };
    for (std::size_t start = 0; start < numbers.size(); ++start) {
        PrintedCells cells;
        std::size_t at = start;
        for (const double value : wanted) {
            if (!std::isfinite(value)) {
                cells.push_back(nullptr);
                continue;
            }
            const bool is_first = at == start;
            std::size_t next = at;
            const std::size_t last =
                std::min(numbers.size(), at + (is_first ? 1 : most_between + 1));
            while (next < last && !is_it(next, value)) ++next;
            if (next == last) break;
            cells.push_back(&numbers[next]);
            at = next + 1;
        }
        if (cells.size() == wanted.size()) return cells;
    }
    return {};
}

PrintedCells printed_cells(const std::vector<PrintedNumber>& numbers, const attn::Tensor& tensor) {
    const std::vector<double> wanted = tensor.numbers();
    PrintedCells cells = found_in(numbers, wanted);
    const attn::Shape shape = tensor.shape();
    if (!cells.empty() || shape.size() < 2) return cells;
    // The document may print the transpose.
    const std::size_t columns = shape.back(),
                      rows = tensor.size() / std::max<std::size_t>(columns, 1);
    std::vector<double> turned(wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
        turned[i % columns * rows + i / columns] = wanted[i];
    const PrintedCells found = found_in(numbers, turned);
    for (std::size_t i = 0; i < found.size(); ++i) {
        cells.push_back(found[i % columns * rows + i / columns]);
    }
    return cells;
}

/// Returns the line of a text around a place.
std::string line_around(const std::string& text, std::size_t at) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    return std::string(attn::trimmed(std::string_view(text).substr(begin, end - begin)));
}

class Proofreader {
public:
    Proofreader(const std::string& text, const attn::Ledger& file, const attn::Diagnosis& diagnosis,
                const std::vector<std::string>& tokens)
        : text_(text),
          numbers_(numbers_in(text)),
          diagnosis_(diagnosis),
          table_(attn::step_table(*diagnosis.plan)),
          tokens_(tokens),
          ordered_(diagnosis, file) {
        for (const auto& [name, tensor] : ordered_.theirs.entries()) {
            const PrintedCells& cells = cells_[name] = printed_cells(numbers_, tensor);
            attn::Printed& digits = digits_[name];
            if (cells.empty()) digits = attn::printed_alone(tensor);
            // A tensor with powers has as many digits everywhere.
            const bool has_powers = std::ranges::any_of(cells, [](const PrintedNumber* each) {
                return each != nullptr && each->digits.are_significant;
            });
            for (const PrintedNumber* each : cells) {
                if (each == nullptr || each->digits.are_significant != has_powers) continue;
                digits = {std::max(digits.count, each->digits.count), has_powers};
            }
            if (!digits.are_significant) most_ = std::max(most_, digits.count);
        }
    }

    std::vector<WrongInPrint> wrong_cells() {
        attn::Ledger printed = diagnosis_.given;
        // Bounds are for numbers with digits to lose: masks and positions are those of the walk.
        const attn::Ledger walk = attn::walk(*diagnosis_.plan, diagnosis_.given, table_);
        for (const auto& [name, tensor] : walk.entries()) {
            if (!tensor.is_floating()) printed.record(name, tensor);
        }
        attn::Ledger corrected = printed;
        std::vector<WrongInPrint> wrong;
        for (const attn::StepVerdict& row : ordered_.rows) {
            const attn::Tensor* const theirs = ordered_.theirs.find(row.name);
            if (theirs == nullptr) continue;
            attn::Tensor fixed = *theirs;
            // Right in one of two ways: given the printed numbers before it, or the corrected ones.
            // A harmless form has a name; a misprint has none.
            const auto found =
                std::ranges::find(diagnosis_.findings, row.name, &attn::Finding::step);
            const bool is_form =
                row.harmless && found != diagnosis_.findings.end() && found->mistake() != nullptr;
            const bool is_wrong = row.local == attn::Verdict::wrong && !is_form;
            if (is_wrong) judge(row, *theirs, printed, corrected, fixed, wrong);
            printed.record(row.name, *theirs);
            corrected.record(row.name, fixed);
        }
        return wrong;
    }

private:
    /// Returns how far the numbers of printed tensors may be from those used in the computation.
    attn::Ledger radii(const attn::Ledger& used) const {
        return attn::radii_of_printed(used, [&](const attn::Ledger::Entry& entry) {
            const auto own = digits_.find(entry.name);
            attn::Printed digits = own == digits_.end() ? attn::Printed() : own->second;
            // Inputs may be chosen with fewer digits than the results computed from them.
            const bool is_input = digits.count > 0 && diagnosis_.given.has(entry.name);
            if (is_input && !digits.are_significant) digits.count = most_;
            return digits;
        });
    }

    std::optional<attn::Ball> ball(const std::string& step, const attn::Ledger& used) const {
        const attn::Plan& plan = *diagnosis_.plan;
        return attn::Bounds(plan, table_, used, attn::rounding_of(plan.compute_dtype), radii(used))
            .of(step);
    }

    void judge(const attn::StepVerdict& row, const attn::Tensor& theirs,
               const attn::Ledger& printed, const attn::Ledger& corrected, attn::Tensor& fixed,
               std::vector<WrongInPrint>& wrong) const {
        const auto first = ball(row.name, printed), second = ball(row.name, corrected);
        if (!first || !second || first->middle.shape() != theirs.shape()) return;
        const PrintedCells& cells = cells_.at(row.name);
        attn::Array<double> numbers = attn::cast(theirs, attn::DType::float64).as<double>();
        const attn::Printed digits = digits_.at(row.name);
        attn::Ledger alone;
        alone.record(row.name, theirs);
        const bool is_whole = digits.count == 0 && attn::are_whole(alone);
        constexpr double half_of_one = 0.5 * (1 + 1e-9);
        for (std::size_t i = 0; i < theirs.size(); ++i) {
            const double cut = is_whole ? half_of_one : digits.cut(theirs.at(i));
            const auto is_within = [&](const attn::Ball& around) {
                const double middle = around.middle.at(i);
                return attn::same_number(theirs.at(i), middle) ||
                       std::abs(theirs.at(i) - middle) <= around.radius.at(i) + cut;
            };
            if (is_within(*first) || is_within(*second)) continue;
            const attn::Shape cell = attn::indices_of(i, theirs.shape());
            const double right = second->middle.at(i);
            const PrintedNumber* const number = cells.empty() ? nullptr : cells[i];
            const auto shown = [&](double value) {
                if (!std::isfinite(value) || (digits.count == 0 && !is_whole)) {
                    return attn::brief(value);
                }
                return digits.are_significant ? fmt::format("{:.{}e}", value, digits.count - 1)
                                              : attn::fixed_text(value, digits.count);
            };
            const bool has_word =
                is_of_tokens(row.theirs_name, row.name) || row.name == "key" || row.name == "value";
            const std::size_t r = cell.size() < 2 ? tokens_.size() : cell[cell.size() - 2];
            wrong.push_back({row.theirs_name, row.name, cell,
                             has_word && r < tokens_.size() ? tokens_[r] : "",
                             number == nullptr ? shown(theirs.at(i)) : number->text, shown(right),
                             number == nullptr ? "" : line_around(text_, number->at)});
            numbers.data()[i] = right;
        }
        fixed = attn::cast(attn::Tensor(theirs.axes(), std::move(numbers)), theirs.dtype());
    }

    const std::string& text_;
    std::vector<PrintedNumber> numbers_;
    const attn::Diagnosis& diagnosis_;
    const attn::StepTable& table_;
    const std::vector<std::string>& tokens_;
    OrderedVerdicts ordered_;
    std::map<std::string, PrintedCells> cells_;
    std::map<std::string, attn::Printed> digits_;
    int most_ = 0;  ///< decimals
};

}  // namespace

OrderedVerdicts::OrderedVerdicts(const attn::Diagnosis& diagnosis, const attn::Ledger& file)
    : rows(diagnosis.steps), theirs(diagnosis.read) {
    std::ranges::stable_sort(rows, {}, [&](const attn::StepVerdict& row) {
        return attn::place_of(attn::step_table(*diagnosis.plan), row.name);
    });
    for (const attn::StepVerdict& row : rows) {
        const attn::Tensor* const beside = file.find(row.theirs_name);
        const bool is_read = theirs.has(row.name) || !row.layout.empty();
        if (!is_read && beside != nullptr) theirs.record(row.name, *beside);
        // Results that were printed as whole numbers.
        const attn::Tensor* const own = theirs.find(row.name);
        if (own == nullptr || own->dtype() != attn::DType::int64 || row.name == "ids") continue;
        attn::Array<double> cells = attn::empty_array<double>(own->shape());
        attn::each_number(*own, [&](std::size_t i, double cell) { cells.data()[i] = cell; });
        theirs.record(row.name, attn::cast(attn::Tensor(own->axes(), std::move(cells)),
                                           diagnosis.plan->compute_dtype));
    }
}

std::string WrongInPrint::text() const {
    std::string where = attn::visible(place);
    if (!row_word.empty()) where += " of \"" + attn::visible(row_word) + "\"";
    const std::size_t rows = cell.size() < 2 ? 0 : cell.size() - 2;
    if (row_word.empty()) {
        where += attn::index_text(cell);
    } else {
        if (rows > 0) where += ", head " + std::to_string(cell[rows - 1]);
        where += ", column " + std::to_string(cell.back() + 1);
    }
    return where + ": " + printed + " should be " + should_be;
}

std::vector<WrongInPrint> wrong_in_print(const std::string& text, const attn::Ledger& file,
                                         const attn::Diagnosis& diagnosis,
                                         const std::vector<std::string>& tokens) {
    return Proofreader(text, file, diagnosis, tokens).wrong_cells();
}

}  // namespace app
