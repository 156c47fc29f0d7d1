#include "app/commands/printed_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "attn/files/io/document_names.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

/// Finds a sequence of numbers in a document, with row numbers and the like between them. A number
/// just before the sequence may equal its first one, so it begins as late as possible.
PrintedCells found_in(const std::vector<PrintedNumber>& numbers,
                      const std::vector<double>& wanted) {
    constexpr std::size_t most_between = 2;
    const auto is_it = [&](std::size_t i, double value) {
        return std::abs(numbers[i].value - value) <= 1e-6 * std::max(1.0, std::abs(value));
    };
    PrintedCells found;
    std::size_t last_start = numbers.size();
    for (std::size_t start = 0; start < last_start; ++start) {
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
        if (cells.size() != wanted.size()) continue;
        if (found.empty()) last_start = std::min(numbers.size(), start + most_between + 1);
        found = std::move(cells);
    }
    return found;
}

}  // namespace

std::vector<PrintedNumber> numbers_in(const std::string& text) {
    std::vector<PrintedNumber> numbers;
    constexpr std::string_view web_minus = "\u2212";
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    for (std::size_t at = 0; at < text.size();) {
        const bool has_web_minus = text.compare(at, web_minus.size(), web_minus) == 0;
        const bool has_sign = text[at] == '-' || text[at] == '+';
        const std::size_t digits = at + (has_web_minus ? web_minus.size() : has_sign ? 1 : 0);
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
        const auto decimals = static_cast<int>(end - std::min(point + 1, end));
        std::string mantissa = text.substr(digits, end - digits);
        const bool has_power = end + 2 < text.size() && (text[end] == 'e' || text[end] == 'E') &&
                               (is_digit(text[end + 1]) || is_digit(text[end + 2]));
        const std::size_t power = end + 1;
        if (has_power) {
            end += 2;
            while (end < text.size() && is_digit(text[end])) ++end;
        }
        const std::string number = text.substr(at, end - at);
        const std::string plain = has_web_minus ? "-" + number.substr(web_minus.size()) : number;
        if (const auto value = attn::parse_number(plain)) {
            const bool is_percent = text.compare(end, 1, "%") == 0;
            const double exponent =
                has_power ? attn::parse_number(text.substr(power, end - power)).value_or(0) : 0;
            std::erase(mantissa, '.');
            mantissa.erase(0, std::min(mantissa.find_first_not_of('0'), mantissa.size()));
            const double share = is_percent ? 0.01 : 1;
            numbers.push_back({*value * share, number + (is_percent ? "%" : ""), at,
                               std::pow(10.0, exponent - decimals) * share,
                               static_cast<int>(mantissa.size()), has_power, is_percent});
        }
        at = std::max(end, at + 1);
    }
    return numbers;
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

PrintedTensor::PrintedTensor(PrintedCells found, const attn::Tensor& tensor)
    : cells(std::move(found)) {
    constexpr double tie = 1 + 1e-9;
    int most = 0;  // significant digits
    double least = 1;
    const attn::Printed alone = attn::printed_alone(tensor);
    attn::Ledger own;
    own.record("its", tensor);
    is_whole = alone.count == 0 && attn::are_whole(own);
    for (const PrintedNumber* const each : cells) {
        if (each == nullptr) continue;
        const std::size_t point = each->text.find('.');
        const bool has_point =
            point != std::string::npos && point + 1 < each->text.size();  // not `2.`
        is_whole = is_whole && !has_point && !each->has_power && !each->is_percent;
        if (each->value == 0 && each->has_power) continue;
        least = std::min(least, each->unit);
        most = std::max(most, each->significant);
    }
    const bool is_by_digits = std::ranges::any_of(cells, [&](const PrintedNumber* each) {
        return each != nullptr && each->unit > 1.5 * least && each->significant == most;
    });
    if (!cells.empty() && !is_by_digits) finest = least;
    if (cells.empty() && !alone.are_significant) finest = std::pow(10.0, -alone.count);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double number = tensor.at(i);
        const PrintedNumber* const printed = cells.empty() ? nullptr : cells[i];
        double unit = 2 * alone.cut(number) / tie;
        if (printed != nullptr) {
            const double size = std::abs(number);
            const double by_digits =
                size > 0 ? std::pow(10.0, std::floor(std::log10(size) + 1e-9) + 1 - most) : 0;
            unit = std::min(printed->unit, std::max(least, by_digits));
        }
        cuts.push_back(!std::isfinite(number) ? 0 : is_whole ? 0.5 * tie : 0.5 * unit * tie);
    }
}

std::string PrintedTensor::shown(std::size_t i, double value) const {
    const PrintedNumber* const printed = cells.empty() ? nullptr : cells[i];
    if (!std::isfinite(value) || cuts[i] == 0) return attn::brief(value);
    if (printed != nullptr && printed->has_power) {
        return fmt::format("{:.{}e}", value, std::max(printed->significant - 1, 0));
    }
    const bool is_percent = printed != nullptr && printed->is_percent;
    const double scale = is_percent ? 100 : 1;
    const long decimals = std::lround(-std::log10(2 * cuts[i] * scale));
    return attn::fixed_text(scale * value, static_cast<int>(std::max(decimals, 0L))) +
           (is_percent ? "%" : "");
}

}  // namespace app
