#include "attn/explain/document/document.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr const char* line_of_summary = "{:<18}{:<16}{:<9}{:>12}{:>12}{:>12}{:>12}{}\n";

/// Returns `1`, or minimum and maximum if they differ by more than rounding.
std::string range_text(double least, double largest) {
    const bool same = largest - least < 1e-5;
    return brief(same ? std::round(least * 1e5) / 1e5 : least) +
           (same ? "" : " to " + brief(largest));
}

/// Describes the row sums of weights, and their mean entropy compared with the largest possible
/// one, over the visible keys.
std::string distribution_text(const Tensor& tensor, bool masked) {
    const std::size_t length = tensor.shape().empty() ? 0 : tensor.shape().back();
    double least = std::numeric_limits<double>::infinity();
    double largest = -least;
    double entropy = 0;
    double most = 0;
    std::size_t rows = 0;
    for (std::size_t start = 0; length > 0 && start < tensor.size(); start += length) {
        double sum = 0;
        double bits = 0;
        double keys = 0;
        for (std::size_t i = start; i < start + length; ++i) {
            const double weight = tensor.at(i);
            sum += weight;
            keys += masked && weight == 0 ? 0 : 1;
            if (weight > 0) bits -= weight * std::log2(weight);
        }
        if (!std::isfinite(sum)) continue;
        least = std::min(least, sum);
        largest = std::max(largest, sum);
        entropy += bits;
        most += keys > 0 ? std::log2(keys) : 0;
        ++rows;
    }
    if (rows == 0) return "";
    return "rows sum to " + range_text(least, largest) + ", entropy " +
           fmt::format("{:.3f} of {:.3f} bits", entropy / static_cast<double>(rows),
                       most / static_cast<double>(rows));
}

std::string line_of(const Section& section, const Tensor& tensor) {
    double least = std::numeric_limits<double>::infinity();
    double largest = -least;
    double sum = 0, squares = 0;
    std::size_t finite = 0;
    std::size_t nans = 0;
    std::size_t negative = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const double number = tensor.at(i);
        if (std::isnan(number)) ++nans;
        if (std::isinf(number) && number < 0) ++negative;
        if (!std::isfinite(number)) continue;
        least = std::min(least, number);
        largest = std::max(largest, number);
        sum += number;
        squares += number * number;
        ++finite;
    }
    std::string shape;
    for (const std::size_t extent : tensor.shape()) {
        shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
    }
    std::string remark;
    const auto add_remark = [&remark](const std::string& text) {
        if (!text.empty()) remark += (remark.empty() ? "  " : "; ") + text;
    };
    if (nans > 0) add_remark(fmt::format("{} nan", nans));
    if (negative > 0) add_remark(fmt::format("{} -inf", negative));
    if (const std::size_t infinite = tensor.size() - finite - nans - negative; infinite > 0) {
        add_remark(fmt::format("{} inf", infinite));
    }
    if (section.name == "weights") {
        const bool masked =
            std::ranges::find(section.reads, "masked_scores") != section.reads.end();
        add_remark(distribution_text(tensor, masked));
    }
    if (!section.cost.empty()) add_remark(section.cost + " products");
    const double count = static_cast<double>(finite), mean = sum / count;
    const double variance = std::max(squares / count - mean * mean, 0.0);
    const auto shown = [&](double number) { return finite > 0 ? brief(number) : "-"; };
    return fmt::format(line_of_summary, section.name, shape, dtype_name(tensor.dtype()),
                       shown(least), shown(largest), shown(mean), shown(std::sqrt(variance)),
                       remark);
}

}  // namespace

std::string summary_text(const Document& document) {
    std::string text =
        fmt::format(line_of_summary, "step", "shape", "type", "min", "max", "mean", "std", "");
    for (const Section& section : document.sections) {
        const auto* tensor = std::get_if<Tensor>(&section.content);
        if (tensor != nullptr && section.shown) text += line_of(section, *tensor);
    }
    return text + document.counts;
}

namespace {

/// Describes the change of one section; empty if there is none.
std::string change_of(const Section& section, const Document& before) {
    const auto old = std::find_if(before.sections.begin(), before.sections.end(),
                                  [&](const Section& each) { return each.name == section.name; });
    if (old == before.sections.end()) return section.name + " is new";
    const auto* now = std::get_if<Tensor>(&section.content);
    const auto* then = std::get_if<Tensor>(&old->content);
    if (now == nullptr || then == nullptr) {
        const auto* words = std::get_if<std::string>(&section.content);
        const auto* old_words = std::get_if<std::string>(&old->content);
        const bool same = words != nullptr && old_words != nullptr && *words == *old_words;
        return same ? "" : section.name;
    }
    if (now->shape() != then->shape()) {
        return section.name + " has shape " + shape_text(now->shape()) + ", had " +
               shape_text(then->shape());
    }
    const std::size_t other = differing_cells(*now, *then);
    if (other == 0) return {};
    return section.name + " " + std::to_string(other) + " of " + std::to_string(now->size()) +
           (now->size() == 1 ? " cell" : " cells");
}

/// Splits printed numbers into words.
std::vector<std::string_view> numbers_in(std::string_view text) {
    constexpr std::string_view between = " \n\t,[]()";
    std::vector<std::string_view> numbers;
    for (std::size_t at = text.find_first_not_of(between); at != text.npos;) {
        const std::size_t end = std::min(text.find_first_of(between, at), text.size());
        numbers.push_back(text.substr(at, end - at));
        at = text.find_first_not_of(between, end);
    }
    return numbers;
}

}  // namespace

std::string changes_of(const Document& document, const Document& before) {
    std::vector<std::string> changes;
    for (const Section& section : document.sections) {
        if (!section.shown) continue;
        const std::string change = change_of(section, before);
        if (!change.empty()) changes.push_back(change);
    }
    return changes.empty() ? "nothing" : joined(changes);
}

std::string marked(std::string_view text, std::string_view before, const Ink& ink) {
    const std::vector<std::string_view> now = numbers_in(text);
    const std::vector<std::string_view> then = numbers_in(before);
    if (ink.differing.empty() || now.size() != then.size()) return std::string(text);
    std::string result;
    const char* done = text.data();
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i] == then[i]) continue;
        result.append(done, now[i].data());
        result += ink.of(ink.differing, now[i]);
        done = now[i].data() + now[i].size();
    }
    return result.append(done, text.data() + text.size());
}

}  // namespace attn
