#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/learn/bench/attend.hpp"

namespace attn {

/// Conditions of a measurement.
struct Machine {
    std::string processor;                      ///< its name, or `unknown processor`
    std::size_t cores = 1;                      ///< available to this process
    std::vector<std::string> instruction_sets;  ///< with kernels, narrowest first
    std::string blas_core;                      ///< the kernels that OpenBLAS has chosen
    double memory_bytes = 0;                    ///< the memory of the machine; 0 if unknown
};

Machine this_machine();

/// Measures the GFLOP/s of multiply-adds on registers, of all threads at the same time: an upper
/// bound for matrix products. One short measurement; the largest of several is the peak.
///
/// Errors  ConfigError for an instruction set that this processor does not have.
double measure_peak(InstructionSet instruction_set, std::size_t threads);

/// The shapes and variants to time.
struct BenchConfig {
    std::vector<BenchShape> shapes;
    std::vector<BenchSeries> series;
    bool causal = false;
    std::size_t window = 0;  ///< keys that a query sees, including its own; 0: no window
    std::size_t rounds = 5;
    /// Skip and report runs that take more than a second or more memory than there is; otherwise
    /// slow ones are run and large ones refused.
    bool leave_out = true;
};

/// One series at one shape.
struct BenchRow {
    BenchShape shape;
    BenchSeries series;
    std::string left_out{};             ///< why it was not timed; empty if it was
    double seconds = 0;                 ///< of one run, the median of the rounds
    double gflops = 0;                  ///< without hidden cells
    std::optional<double> peak_part{};  ///< share of the measured peak
    double used_bytes = 0;              ///< as by used_bytes()
    std::optional<double>
        max_difference{};  ///< largest difference from the first variant's context
    double tolerance = 0;  ///< largest difference that rounding explains
};

/// The measured peak of multiply-adds.
struct BenchPeak {
    InstructionSet instruction_set = InstructionSet::automatic;
    std::size_t threads = 1;
    double gflops = 0;
};

using BenchPoints = std::vector<std::pair<double, double>>;

/// The timed rows of one series that differ only in T: (T, seconds) and (T, bytes), by T.
struct BenchLine {
    BenchSeries series;
    std::size_t groups = 0, head_dim = 0;
    BenchPoints times{}, memory{};
};
std::vector<BenchLine> lines_of(const std::vector<BenchRow>& rows);
/// Returns the lines with more than one T, which show how time and memory grow.
std::vector<BenchLine> growth_of(const std::vector<BenchRow>& rows);

/// The largest difference of two contexts.
struct Disagreement {
    std::size_t index = 0;  ///< flat
    double got = 0;
    double expected = 0;
    double max_difference = 0;  ///< infinite if only one of them is nan
};

/// Returns the largest difference of two contexts of the same shape.
Disagreement greatest_difference(const Array<float>& got, const Array<float>& expected);

/// Returns the largest rounding difference of two variants, which sum in different orders.
///
///     4 eps max|v| (sqrt(d) s + sqrt(T) + 4),   s = max|q| max|k| / sqrt(d), a bound of the scores
///
/// Why     n rounding errors add up to about sqrt(n) of them. Those of a score have the size of the
///         products that it sums, and the exponential turns them into relative errors of the
///         weight; then the T weights and their products with the values are summed. Both variants
///         do so, with errors of half an eps each; the factor 4 makes an exceedance very unlikely.
/// Source  Higham & Mary, A new approach to probabilistic rounding error analysis, 2019.
double agreement_tolerance(const BenchInput& input);

/// Two variants with different results.
struct BenchDispute {
    BenchShape shape;
    BenchSeries series, against;
    Disagreement where;
    double tolerance = 0;
};

struct BenchReport {
    Machine machine;
    bool causal = false;
    std::size_t window = 0;
    std::size_t rounds = 0;
    std::vector<BenchPeak> peaks;
    std::vector<BenchRow> rows;           ///< shape by shape, in the order of the series
    std::optional<BenchDispute> dispute;  ///< ends the measurement; no row has its shape
};

/// Progress callback: fraction done, from 0 to 1, and the next task.
using BenchProgress = std::function<void(double done, const std::string& next)>;

/// Checks at each shape that the variants agree, and times them: in rounds, one series after
/// another, so that a machine that slows down affects all of them. A run that is too short for the
/// clock is repeated until it takes 20 ms.
///
/// Errors  ConfigError if a requested size exceeds the memory, or an instruction set is missing.
BenchReport run_bench(const BenchConfig& config, const Machine& machine,
                      const BenchProgress& progress = {});

/// Formats the measurements as a table for people, with the machine in its heading.
std::string bench_text(const BenchReport& report);

/// Formats the measurements as JSON. Times are in seconds, memory in bytes.
std::string bench_json(const BenchReport& report);

/// Plots time over T as SVG, with logarithmic axes, so that a power law is a straight line; one
/// line per series, with its name and exponent at the end.
std::string bench_svg(const BenchReport& report);

/// Describes the differing cells and variants, and the difference.
std::string dispute_text(const BenchDispute& dispute);

/// Fits the exponent e of a power law y = c x^e: the slope of the least-squares line through (log
/// x, log y).
///
/// Shapes  points (x, y), all positive.
/// Range   nullopt for fewer than two different x.
std::optional<double> fitted_exponent(const BenchPoints& points);

/// Returns the median; for an even count the mean of the two middle numbers. Requires at least one
/// number.
double median(std::vector<double> numbers);

/// Formats a time with three digits and a unit from ns to s: `1.23 ms`.
std::string time_text(double seconds);
/// Formats it without trailing zeros: `10 ms`.
std::string short_time_text(double seconds);

/// Formats bytes with three digits, in units of 1000: `4.19 MB`.
std::string bytes_text(double bytes);

}  // namespace attn
