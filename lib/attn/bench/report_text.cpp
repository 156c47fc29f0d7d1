#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "attn/bench/bench.hpp"
#include "attn/text/strings.hpp"

namespace attn {
namespace {

constexpr std::size_t columns = 80;

std::string counted(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

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
    const std::string apart = row.apart ? fmt::format("{:.1e}", *row.apart) : "-";
    return line + fmt::format("{:>8}  {:>7.1f}  {:>7}  {:>8}  {:>7}\n", time_text(row.seconds),
                              row.gflops, part, bytes_text(row.held_bytes), apart);
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

std::string growth_text(const std::vector<BenchGrowth>& growths) {
    if (growths.empty()) return {};
    std::size_t width = 0;
    for (const BenchGrowth& growth : growths) {
        width = std::max(width, series_name(growth.series).size());
    }
    std::string text = "\n";
    for (const BenchGrowth& growth : growths) {
        text += fmt::format(
            "{:<{}}  time grows as T^{:.2f}, memory as T^{:.2f} ({},T,{}), {} to {}\n",
            series_name(growth.series), width, growth.time_exponent, growth.memory_exponent,
            growth.groups, growth.head_dim, growth.from, growth.to);
    }
    return text;
}

std::string legend_text(const BenchReport& report) {
    double tolerance = 0;
    for (const BenchRow& row : report.rows) tolerance = std::max(tolerance, row.tolerance);
    const std::vector<std::string> paragraphs{
        fmt::format(
            "time: of one run, the median of {}, taken in turn; fused writes to memory that "
            "it has already, the others take theirs.",
            counted(report.rounds, "round")),
        "GFLOP/s: useful ones, a multiplication and an addition for each feature of each visible "
        "cell, once for the scores and once for the context; what a causal mask hides does not "
        "count. of peak: their share of the measured peak, fused of its own instruction set's.",
        "memory: what a run holds at its end, computed from the shapes: the context and, for loop "
        "and vectorized, the weights, made where the scores lay, for fused the threads' blocks; "
        "not "
        "the inputs.",
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

}  // namespace

std::string dispute_text(const BenchDispute& dispute) {
    const std::size_t d = dispute.shape.head_dim;
    const std::size_t row = dispute.where.index / d;
    return fmt::format(
        "{} and {} disagree at {}: context[{},{},{}] is {:.9g} and {:.9g}, {:.3g} apart, where "
        "rounding explains {:.1e}",
        series_name(dispute.series), series_name(dispute.against), bench_shape_text(dispute.shape),
        row / dispute.shape.length, row % dispute.shape.length, dispute.where.index % d,
        dispute.where.got, dispute.where.expected, dispute.where.apart, dispute.tolerance);
}

std::string bench_text(const BenchReport& report) {
    std::string text = head_text(report);
    if (!report.rows.empty()) {
        text += rows_text(report) + growth_text(report.growth) + legend_text(report);
    }
    if (report.dispute) text += "\n" + dispute_text(*report.dispute) + "\n";
    return text;
}

}  // namespace attn
