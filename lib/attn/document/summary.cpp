#include "attn/document/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/text/numbers.hpp"

namespace attn {
namespace {

constexpr const char* line_of_summary = "{:<18}{:<16}{:<9}{:>12}{:>12}{:>12}{}\n";

/// `1`, or the least and the largest where they differ by more than rounding.
std::string range_text(double least, double largest) {
    const bool same = largest - least < 1e-5;
    return brief(same ? std::round(least * 1e5) / 1e5 : least) +
           (same ? "" : " to " + brief(largest));
}

/// The sums of the rows of weights, and the mean of their entropies beside the largest possible
/// one, over the keys that no mask hides.
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
    double sum = 0;
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
        ++finite;
    }
    std::string shape;
    for (const std::size_t extent : tensor.shape()) {
        shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
    }
    std::string remark;
    const auto say = [&remark](const std::string& text) {
        if (!text.empty()) remark += (remark.empty() ? "  " : "; ") + text;
    };
    if (nans > 0) say(fmt::format("{} nan", nans));
    if (negative > 0) say(fmt::format("{} -inf", negative));
    if (const std::size_t infinite = tensor.size() - finite - nans - negative; infinite > 0) {
        say(fmt::format("{} inf", infinite));
    }
    if (section.name == "weights") {
        const bool masked =
            std::ranges::find(section.reads, "masked_scores") != section.reads.end();
        say(distribution_text(tensor, masked));
    }
    const auto shown = [&](double number) { return finite > 0 ? brief(number) : "-"; };
    return fmt::format(line_of_summary, section.name, shape, dtype_name(tensor.dtype()),
                       shown(least), shown(largest), shown(sum / static_cast<double>(finite)),
                       remark);
}

}  // namespace

std::string summary_text(const Document& document) {
    std::string text =
        fmt::format(line_of_summary, "step", "shape", "type", "min", "max", "mean", "");
    for (const Section& section : document.sections) {
        const auto* tensor = std::get_if<Tensor>(&section.content);
        if (tensor != nullptr && section.shown) text += line_of(section, *tensor);
    }
    return text;
}

}  // namespace attn
