#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/learn/bench/attend.hpp"

namespace attn {

/// Conditions of a measurement besides the program.
struct Machine {
    std::string processor;                      ///< its name, or `unknown processor`
    std::size_t cores = 1;                      ///< that this process may see
    std::vector<std::string> instruction_sets;  ///< of those with kernels, narrowest first
    std::string blas_core;                      ///< whose kernels OpenBLAS has chosen
    double memory_bytes = 0;                    ///< the memory of the machine; 0 if unknown
};

Machine this_machine();

/// GFLOP/s of multiply-adds on registers alone, of all threads at the same time: what no product of
/// matrices can exceed. One short measurement; the largest of several is the peak.
///
/// Errors  ConfigError for an instruction set that this processor does not have.
double measure_peak(InstructionSet instruction_set, std::size_t threads);

/// The shapes and variants to time.
struct BenchConfig {
    std::vector<BenchShape> shapes;
    std::vector<BenchSeries> series;
    bool causal = false;
    std::size_t window = 0;  ///< keys that a query sees, with its own; 0: no window
    std::size_t rounds = 5;
    /// Leave out what would take more than a second a run, or more memory than there is, and say
    /// so; otherwise the first is done and the second refused.
    bool leave_out = true;
};

/// One series at one shape.
struct BenchRow {
    BenchShape shape;
    BenchSeries series;
    std::string left_out{};             ///< why it was not timed; empty when it was
    double seconds = 0;                 ///< of one run, the median of the rounds
    double gflops = 0;                  ///< useful ones: hidden cells do not count
    std::optional<double> peak_part{};  ///< of the measured peak of its instruction set and threads
    double held_bytes = 0;              ///< as held_bytes() counts them
    std::optional<double> apart{};      ///< largest difference from the first variant's context
    double tolerance = 0;               ///< rounding explains up to this
};

/// The measured peak of multiply-adds.
struct BenchPeak {
    InstructionSet instruction_set = InstructionSet::automatic;
    std::size_t threads = 1;
    double gflops = 0;
};

using BenchPoints = std::vector<std::pair<double, double>>;

/// The rows of one series that were timed, all but T held still: (T, seconds) and (T, bytes), by T.
struct BenchLine {
    BenchSeries series;
    std::size_t groups = 0, head_dim = 0;
    BenchPoints times{}, memory{};
};
std::vector<BenchLine> lines_of(const std::vector<BenchRow>& rows);
/// Those with more than one T, which show how time and memory grow.
std::vector<BenchLine> growth_of(const std::vector<BenchRow>& rows);

/// How far two contexts lie apart where they are farthest from each other.
struct Disagreement {
    std::size_t index = 0;  ///< flat
    double got = 0;
    double expected = 0;
    double apart = 0;  ///< infinite where only one of them is nan
};

/// The largest distance between two contexts of the same shape.
Disagreement farthest_apart(const Array<float>& got, const Array<float>& expected);

/// How far rounding can set the contexts of two variants apart, which sum in different orders.
///
///     4 eps max|v| (sqrt(d) s + sqrt(T) + 4),   s = max|q| max|k| / sqrt(d), a bound of the scores
///
/// Why     n roundings add up to some sqrt(n) of them. Those of a score are of the size of the
///         products it sums, and the exponential turns them into relative ones of the weight; then
///         the T weights and their products with the values are summed. Both variants do that, each
///         with half an eps a rounding; 4 takes chance to where it does not matter.
/// Source  Higham & Mary, A new approach to probabilistic rounding error analysis, 2019.
double agreement_tolerance(const BenchInput& input);

/// Two variants that do not compute the same.
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
    std::optional<BenchDispute> dispute;  ///< ends the measurement; no row is of its shape
};

/// Told now and then how much is done, from 0 to 1, and what comes next.
using BenchProgress = std::function<void(double done, const std::string& next)>;

/// Checks at each shape that the variants agree, and times them: in rounds, one series after the
/// other, so that a machine that slows down slows all of them. A run too short for the clock is
/// repeated until it takes 20 ms.
///
/// Errors  ConfigError when something asked for is larger than the memory, or an instruction set is
///         not there.
BenchReport run_bench(const BenchConfig& config, const Machine& machine,
                      const BenchProgress& progress = {});

/// The measurements as a table for people, with a head that says on what machine.
std::string bench_text(const BenchReport& report);

/// The same as JSON. Times are seconds, memory is bytes.
std::string bench_json(const BenchReport& report);

/// Time over T as an SVG picture: both axes logarithmic, so that a power law is a straight line;
/// one line for each series, with its name and its exponent at its end.
std::string bench_svg(const BenchReport& report);

/// Which cells of which variants differ, and by how much.
std::string dispute_text(const BenchDispute& dispute);

/// The exponent e of the power law y = c x^e that is nearest to the points: the slope of the
/// straight line through (log x, log y) with the least squared distance in log y.
///
/// Shapes  points (x, y), all of them positive.
/// Range   nothing when fewer than two different x are given.
std::optional<double> fitted_exponent(const BenchPoints& points);

/// The middle one of the numbers in order; the mean of the two in the middle of an even count.
/// There must be at least one.
double median(std::vector<double> numbers);

/// `1.23 ms`: three digits and the unit that suits them, from ns to s.
std::string time_text(double seconds);
/// The same without zeros at its end: `10 ms`.
std::string short_time_text(double seconds);

/// `4.19 MB`: three digits, units of 1000.
std::string bytes_text(double bytes);

}  // namespace attn
