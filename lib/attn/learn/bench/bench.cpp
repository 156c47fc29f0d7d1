#include "attn/learn/bench/bench.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

constexpr double trusted_seconds = 0.02;
constexpr double too_slow_seconds = 1;

/// Measures the seconds of `calls` runs.
double timed(const BenchSeries& series, const BenchInput& input, Array<float>& context,
             std::size_t calls) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < calls; ++i) attend(series, input, context);
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns the number of runs that are long enough to time, if one took `seconds`.
std::size_t enough_calls(const BenchSeries& series, const BenchInput& input, double seconds) {
    std::size_t calls = 1;
    Array<float> context = context_buffer(series, input.shape());
    while (seconds < trusted_seconds) {
        const double missing = 1.2 * trusted_seconds / std::max(seconds, 1e-9);
        calls = static_cast<std::size_t>(
            std::ceil(static_cast<double>(calls) * std::clamp(missing, 1.5, 100.0)));
        seconds = timed(series, input, context, calls);
    }
    return calls;
}

/// Estimates the seconds of loops at `shape`, from their speed at a smaller one.
double foreseen_seconds(const BenchSeries& series, const BenchShape& shape, bool causal) {
    const BenchShape small{1, std::min<std::size_t>(shape.length, 128), shape.head_dim};
    const BenchInput input = draw_bench_input(small, causal);
    Array<float> context;
    const double seconds =
        std::min(timed(series, input, context, 1), timed(series, input, context, 1));
    return seconds * useful_operations(shape, false) / useful_operations(small, false);
}

/// Returns the peak memory of a run: inputs, two contexts to compare, and used_bytes().
double needed_bytes(const BenchSeries& series, const BenchShape& shape, bool causal) {
    const double one = static_cast<double>(shape.groups) * static_cast<double>(shape.length) *
                       static_cast<double>(shape.head_dim) * sizeof(float);
    return 5 * one + used_bytes(series, shape, causal);
}

/// Explains why a series is not timed at a shape; empty if it is.
std::string reason_to_leave_out(const BenchConfig& config, const BenchSeries& series,
                                const BenchShape& shape, const Machine& machine) {
    const double bytes = needed_bytes(series, shape, config.causal);
    if (machine.memory_bytes > 0 && bytes > machine.memory_bytes) {
        const std::string large = fmt::format("{} at {} needs {} and this machine has {}",
                                              series_name(series), bench_shape_text(shape),
                                              bytes_text(bytes), bytes_text(machine.memory_bytes));
        if (!config.leave_out) throw ConfigError(large + ": make the shape smaller");
        return "needs " + bytes_text(bytes) + ": more than there is";
    }
    if (!config.leave_out || series.variant != Variant::loop) return {};
    const double seconds = foreseen_seconds(series, shape, config.causal);
    if (seconds <= too_slow_seconds) return {};
    return "would take about " + time_text(seconds) + ": pass $variant loop to time it"_message;
}

InstructionSet instruction_set_of(const BenchSeries& series) {
    if (series.instruction_set != InstructionSet::automatic) return series.instruction_set;
    return available_instruction_sets().back();
}

/// A complete measurement, and its report.
class Measurement {
public:
    Measurement(const BenchConfig& config, const Machine& machine, const BenchProgress& progress)
        : config_(config), progress_(progress) {
        report_.machine = machine;
        report_.causal = config.causal;
        report_.window = config.window;
        report_.rounds = config.rounds;
        for (const BenchShape& shape : config.shapes) {
            total_ += operations_of(shape);
            // Refuse any invalid shape before the first measurement.
            for (const BenchSeries& series : config.series) {
                if (!config.leave_out) reason_to_leave_out(config, series, shape, machine);
            }
        }
    }

    BenchReport run() {
        for (const BenchShape& shape : config_.shapes) {
            measure(shape);
            if (report_.dispute) break;
            done_ += operations_of(shape);
        }
        // The largest measured peak is known only at the end.
        for (BenchRow& row : report_.rows) {
            if (row.left_out.empty()) row.peak_part = row.gflops / peak_of(row.series).gflops;
        }
        return std::move(report_);
    }

private:
    /// A row to time, and the durations of its runs.
    struct Runner {
        BenchRow* row;
        std::size_t calls;
        std::vector<double> seconds{};
    };

    BenchPeak& peak_of(const BenchSeries& series) {
        const InstructionSet set = instruction_set_of(series);
        for (BenchPeak& peak : report_.peaks) {
            if (peak.instruction_set == set && peak.threads == series.threads) return peak;
        }
        return report_.peaks.emplace_back(BenchPeak{set, series.threads, 0});
    }

    double operations_of(const BenchShape& shape) const {
        return useful_operations(shape, config_.causal, config_.window);
    }

    void notify(const BenchRow& row, double part_of_shape) const {
        if (!progress_) return;
        progress_((done_ + part_of_shape * operations_of(row.shape)) / total_,
                  series_name(row.series) + " " + bench_shape_text(row.shape));
    }

    void measure(const BenchShape& shape) {
        // Leave out rows that take too much time or memory.
        std::vector<BenchRow> rows;
        for (const BenchSeries& series : config_.series) {
            BenchRow& row = rows.emplace_back(BenchRow{shape, series});
            notify(row, 0);
            row.left_out = reason_to_leave_out(config_, series, shape, report_.machine);
            row.used_bytes = used_bytes(series, shape, config_.causal || config_.window > 0);
        }

        // Compare every variant with the first, then time them all.
        const auto is_timed = [](const BenchRow& row) { return row.left_out.empty(); };
        if (std::ranges::any_of(rows, is_timed)) {
            const BenchInput input = draw_bench_input(shape, config_.causal, config_.window);
            std::vector<Runner> runners = agreeing_runners(rows, input);
            if (report_.dispute) return;
            time_in_rounds(runners, input);
        }
        report_.rows.insert(report_.rows.end(), rows.begin(), rows.end());
    }

    std::vector<Runner> agreeing_runners(std::vector<BenchRow>& rows, const BenchInput& input) {
        const double tolerance = agreement_tolerance(input);
        Array<float> first;
        std::vector<Runner> runners;
        for (BenchRow& row : rows) {
            if (!row.left_out.empty()) continue;
            notify(row, 0);
            Array<float> context = context_buffer(row.series, row.shape);
            const double seconds = timed(row.series, input, context, 1);
            row.tolerance = tolerance;
            if (runners.empty()) {
                first = std::move(context);
            } else {
                const Disagreement where = greatest_difference(context, first);
                row.max_difference = where.max_difference;
                if (where.max_difference > tolerance) {
                    const BenchSeries& against = runners.front().row->series;
                    report_.dispute = {row.shape, row.series, against, where, tolerance};
                    return {};
                }
            }
            runners.push_back({&row, enough_calls(row.series, input, seconds)});
        }
        return runners;
    }

    void time_in_rounds(std::vector<Runner>& runners, const BenchInput& input) {
        for (std::size_t round = 0; round < config_.rounds; ++round) {
            for (Runner& runner : runners) {
                const BenchRow& row = *runner.row;
                notify(row, static_cast<double>(round) / static_cast<double>(config_.rounds));
                BenchPeak& peak = peak_of(row.series);
                peak.gflops =
                    std::max(peak.gflops, measure_peak(peak.instruction_set, peak.threads));
                Array<float> context = context_buffer(row.series, row.shape);
                runner.seconds.push_back(timed(row.series, input, context, runner.calls) /
                                         static_cast<double>(runner.calls));
            }
        }
        for (const Runner& runner : runners) {
            runner.row->seconds = median(runner.seconds);
            runner.row->gflops = operations_of(runner.row->shape) / runner.row->seconds * 1e-9;
        }
    }

    const BenchConfig& config_;
    const BenchProgress& progress_;
    BenchReport report_;
    double total_ = 0;
    double done_ = 0;
};

/// Returns the norm of the longest row.
double longest(const Array<float>& rows) {
    const std::size_t columns = rows.shape(2);
    double most = 0;
    for (std::size_t i = 0; i < rows.size(); i += columns) {
        double squares = 0;
        for (std::size_t j = 0; j < columns; ++j) {
            const double number = rows.data()[i + j];
            squares += number * number;
        }
        most = std::max(most, squares);
    }
    return std::sqrt(most);
}

}  // namespace

Disagreement greatest_difference(const Array<float>& got, const Array<float>& expected) {
    assert(got.size() == expected.size());
    Disagreement farthest;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double a = got.data()[i];
        const double b = expected.data()[i];
        double distance = a == b ? 0 : std::abs(a - b);
        if (std::isnan(distance)) {
            const bool both = std::isnan(a) && std::isnan(b);
            distance = both ? 0 : std::numeric_limits<double>::infinity();
        }
        if (i == 0 || distance > farthest.max_difference) farthest = {i, a, b, distance};
    }
    return farthest;
}

double agreement_tolerance(const BenchInput& input) {
    const auto head_dim = static_cast<double>(input.query.shape(2));
    const auto length = static_cast<double>(input.query.shape(1));
    const double score = longest(input.query) * longest(input.key) / std::sqrt(head_dim);
    float largest = 0;
    for (const float number : input.value) largest = std::max(largest, std::abs(number));
    return 4.0 * std::numeric_limits<float>::epsilon() * largest *
           (std::sqrt(head_dim) * score + std::sqrt(length) + 4);
}

BenchReport run_bench(const BenchConfig& config, const Machine& machine,
                      const BenchProgress& progress) {
    return Measurement(config, machine, progress).run();
}

std::vector<BenchLine> lines_of(const std::vector<BenchRow>& rows) {
    std::vector<BenchLine> lines;
    for (const BenchRow& row : rows) {
        if (!row.left_out.empty() || !(row.seconds > 0)) continue;
        const auto line = std::ranges::find_if(lines, [&](const BenchLine& known) {
            return known.series == row.series && known.groups == row.shape.groups &&
                   known.head_dim == row.shape.head_dim;
        });
        BenchLine& own =
            line != lines.end()
                ? *line
                : lines.emplace_back(BenchLine{row.series, row.shape.groups, row.shape.head_dim});
        const auto length = static_cast<double>(row.shape.length);
        own.times.emplace_back(length, row.seconds);
        own.memory.emplace_back(length, row.used_bytes);
    }
    for (BenchLine& line : lines) {
        for (auto* points : {&line.times, &line.memory}) {
            std::ranges::stable_sort(*points, {}, [](const auto& point) { return point.first; });
        }
    }
    return lines;
}

std::vector<BenchLine> growth_of(const std::vector<BenchRow>& rows) {
    std::vector<BenchLine> lines = lines_of(rows);
    std::erase_if(lines, [](const BenchLine& line) { return !fitted_exponent(line.times); });
    return lines;
}

}  // namespace attn
