#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attn/core/plan/words.hpp"
#include "attn/ground/text/collected.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/learn/bench/bench.hpp"
#include "attn/version.hpp"

namespace attn {
namespace {

constexpr std::size_t columns = 80;

std::string bench_mask_text(const BenchReport& report) {
    if (report.window == 0) return report.causal ? "causal" : "none";
    return fmt::format("{}window:{}", report.causal ? "causal," : "", report.window);
}

std::string head_text(const BenchReport& report) {
    const Machine& machine = report.machine;
    std::string text =
        fmt::format("attention in float32, mask {}\n{}, {}, {}, OpenBLAS for {}\n",
                    bench_mask_text(report), machine.processor, counted(machine.cores, "core"),
                    fmt::join(machine.instruction_sets, " "), machine.blas_core);
    for (const BenchPeak& peak : report.peaks) {
        text += fmt::format("measured peak of multiply-adds: {:.0f} GFLOP/s ({}, {})\n",
                            peak.gflops, instruction_set_name(peak.instruction_set),
                            counted(peak.threads, "thread"));
    }
    return text;
}

std::string row_text(const BenchRow& row, std::size_t shape_width, std::size_t name_width) {
    std::string line = fmt::format("{:<{}}  {:<{}}  ", bench_shape_text(row.shape), shape_width,
                                   series_name(row.series), name_width);
    if (!row.left_out.empty()) return line + row.left_out + "\n";
    const std::string part = row.peak_part ? fmt::format("{:.3f}", *row.peak_part) : "-";
    const std::string separated =
        row.max_difference ? fmt::format("{:.1e}", *row.max_difference) : "-";
    return line + fmt::format("{:>8}  {:>7.1f}  {:>7}  {:>8}  {:>7}\n", time_text(row.seconds),
                              row.gflops, part, bytes_text(row.used_bytes), separated);
}

std::string rows_text(const BenchReport& report) {
    std::size_t shape_width = std::string_view("groups,T,d").size();
    std::size_t name_width = std::string_view("variant").size();
    for (const BenchRow& row : report.rows) {
        shape_width = std::max(shape_width, bench_shape_text(row.shape).size());
        name_width = std::max(name_width, series_name(row.series).size());
    }
    std::string text = fmt::format("\n{:<{}}  {:<{}}  {:>8}  {:>7}  {:>7}  {:>8}  {:>7}\n",
                                   "groups,T,d", shape_width, "variant", name_width, "time",
                                   "GFLOP/s", "of peak", "memory", "apart");
    for (const BenchRow& row : report.rows) text += row_text(row, shape_width, name_width);
    return text;
}

std::string growth_text(const std::vector<BenchLine>& growths) {
    if (growths.empty()) return {};
    std::size_t width = 0;
    for (const BenchLine& growth : growths) {
        width = std::max(width, series_name(growth.series).size());
    }
    std::string text = "\n";
    for (const BenchLine& growth : growths) {
        text +=
            fmt::format("{:<{}}  time grows as T^{:.2f}, memory as T^{:.2f} ({},T,{}), {} to {}\n",
                        series_name(growth.series), width, *fitted_exponent(growth.times),
                        *fitted_exponent(growth.memory), growth.groups, growth.head_dim,
                        growth.times.front().first, growth.times.back().first);
    }
    return text;
}

std::string legend_text(const BenchReport& report) {
    double tolerance = 0;
    for (const BenchRow& row : report.rows) tolerance = std::max(tolerance, row.tolerance);
    const std::vector<std::string> paragraphs{
        fmt::format("time: one run, the median of {}, in which the variants take turns; fused "
                    "reuses its memory, the others allocate theirs.",
                    counted(report.rounds, "round")),
        "GFLOP/s: useful operations, one multiplication and one addition for each feature of each "
        "visible cell, once for the scores and once for the context; cells that a causal mask "
        "hides do not count. of peak: share of the measured peak; for fused, the peak of its own "
        "instruction set.",
        "memory: held at the end of a run, computed from the shapes: the context and, for loop and "
        "vectorized, the weights, stored over the scores, or, for fused, the threads' blocks; the "
        "inputs do not count.",
        fmt::format("apart: the largest difference from the context of the first variant; rounding "
                    "explains up to {:.1e}.",
                    tolerance),
    };
    std::string text = "\n";
    for (const std::string& paragraph : paragraphs) {
        for (const std::string& line : wrap(paragraph, columns)) text += line + "\n";
    }
    return text;
}

struct Unit {
    double size;
    const char* name;
};

constexpr std::array<Unit, 4> time_units{{{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}};
constexpr std::array<Unit, 5> byte_units{
    {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};

/// Returns the largest unit not above a number; 999.5 rounds to 1000, and so belongs to the next
/// unit.
const Unit& unit_of(double number, std::span<const Unit> units) {
    std::size_t place = 0;
    while (place + 1 < units.size() && number >= 0.9995 * units[place + 1].size) ++place;
    return units[place];
}

/// Formats a number with three digits.
std::string in_units(double number, std::span<const Unit> units) {
    const Unit& unit = unit_of(number, units);
    const double shown = number / unit.size;
    const int decimals = shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
    return fmt::format("{:.{}f} {}", shown, decimals, unit.name);
}

JsonText series_json(const BenchSeries& series) {
    std::optional<std::string_view> architecture;
    if (series.variant == Variant::fused) {
        architecture = instruction_set_name(series.instruction_set);
    }
    return {{"variant", word(series.variant)},
            {"architecture", architecture},
            {"threads", series.threads}};
}

JsonText shape_json(const BenchShape& shape) {
    return {{shape.groups, shape.length, shape.head_dim}, ", "};
}

/// Formats bytes and lengths as integers.
JsonText whole(double number) { return static_cast<std::uint64_t>(number); }

JsonText row_json(const BenchRow& row) {
    const auto if_timed = [&](double number) {
        return row.left_out.empty() ? std::optional(number) : std::nullopt;
    };
    return series_json(row.series)
        .with("shape", shape_json(row.shape))
        .with("kv_groups", row.shape.kv_groups())
        .with("skip_reason", row.left_out.empty() ? std::nullopt : std::optional(row.left_out))
        .with("seconds", if_timed(row.seconds))
        .with("gflops", if_timed(row.gflops))
        .with("peak_fraction", row.peak_part)
        .with("memory_bytes", whole(row.used_bytes))
        .with("max_difference", row.max_difference)
        .with("tolerance", if_timed(row.tolerance));
}

JsonText growth_json(const BenchLine& growth) {
    return series_json(growth.series)
        .with("groups", growth.groups)
        .with("head_dim", growth.head_dim)
        .with("from", whole(growth.times.front().first))
        .with("to", whole(growth.times.back().first))
        .with("time_exponent", *fitted_exponent(growth.times))
        .with("memory_exponent", *fitted_exponent(growth.memory));
}

JsonText dispute_json(const BenchDispute& dispute) {
    return series_json(dispute.series)
        .with("reference", series_json(dispute.against))
        .with("shape", shape_json(dispute.shape))
        .with("index", dispute.where.index)
        .with("value", dispute.where.got)
        .with("reference_value", dispute.where.expected)
        .with("max_difference", dispute.where.max_difference)
        .with("tolerance", dispute.tolerance);
}

}  // namespace

std::string dispute_text(const BenchDispute& dispute) {
    const std::size_t d = dispute.shape.head_dim;
    const std::size_t row = dispute.where.index / d;
    return fmt::format(
        "{} and {} disagree at {}: context[{},{},{}] is {:.9g} and {:.9g}, {:.3g} apart, where "
        "rounding explains {:.1e}",
        series_name(dispute.series), series_name(dispute.against), bench_shape_text(dispute.shape),
        row / dispute.shape.length, row % dispute.shape.length, dispute.where.index % d,
        dispute.where.got, dispute.where.expected, dispute.where.max_difference, dispute.tolerance);
}

std::string bench_text(const BenchReport& report) {
    std::string text = head_text(report);
    if (!report.rows.empty()) {
        text += rows_text(report) + growth_text(growth_of(report.rows)) + legend_text(report);
    }
    if (report.dispute) text += "\n" + dispute_text(*report.dispute) + "\n";
    return text;
}

std::optional<double> fitted_exponent(const BenchPoints& points) {
    const auto count = static_cast<double>(points.size());
    double mean_x = 0;
    double mean_y = 0;
    for (const auto& [x, y] : points) {
        mean_x += std::log(x) / count;
        mean_y += std::log(y) / count;
    }
    double covariance = 0;
    double variance = 0;
    bool differ = false;
    for (const auto& [x, y] : points) {
        const double from_mean = std::log(x) - mean_x;
        covariance += from_mean * (std::log(y) - mean_y);
        variance += from_mean * from_mean;
        differ = differ || x != points.front().first;
    }
    if (!differ) return std::nullopt;
    return covariance / variance;
}

double median(std::vector<double> numbers) {
    assert(!numbers.empty());
    std::ranges::sort(numbers);
    return (numbers[(numbers.size() - 1) / 2] + numbers[numbers.size() / 2]) / 2;
}

std::string time_text(double seconds) { return in_units(seconds, time_units); }

std::string short_time_text(double seconds) {
    const Unit& unit = unit_of(seconds, time_units);
    return fmt::format("{:g} {}", seconds / unit.size, unit.name);
}

std::string bytes_text(double bytes) {
    return bytes < 999.5 ? fmt::format("{:.0f} B", bytes) : in_units(bytes, byte_units);
}

std::string bench_json(const BenchReport& report) {
    const Machine& machine = report.machine;
    std::vector<JsonText> peaks;
    for (const auto& [instruction_set, threads, gflops] : report.peaks) {
        peaks.push_back({{"architecture", instruction_set_name(instruction_set)},
                         {"threads", threads},
                         {"gflops", gflops}});
    }
    const std::vector<JsonText> rows = collected(report.rows, row_json);
    const std::vector<JsonText> growths = collected(growth_of(report.rows), growth_json);
    std::optional<JsonText> dispute;
    if (report.dispute) dispute = dispute_json(*report.dispute);
    return JsonText({{"attn_explain", version()},
                     {"machine",
                      {{"processor", machine.processor},
                       {"cores", machine.cores},
                       {"instruction_sets", machine.instruction_sets},
                       {"blas_core", machine.blas_core},
                       {"memory_bytes", whole(machine.memory_bytes)}}},
                     {"dtype", "float32"},
                     {"mask", report.causal ? "causal" : "none"},
                     {"window", report.window},
                     {"rounds", report.rounds},
                     {"peaks", {peaks, ",\n  "}},
                     {"agree", !report.dispute},
                     {"results", {rows, ",\n  "}},
                     {"growth", {growths, ",\n  "}},
                     {"disagreement", dispute}},
                    ",\n ")
               .text +
           "\n";
}

}  // namespace attn
