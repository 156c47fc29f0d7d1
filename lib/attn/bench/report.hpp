#pragma once
#include <string>

#include "attn/bench/bench.hpp"

namespace attn {

/// The measurements as a table for people, with a head that says on what machine.
std::string bench_text(const BenchReport& report);

/// The same as JSON. Times are seconds, memory is bytes.
std::string bench_json(const BenchReport& report);

/// Time over T as an SVG picture: both axes logarithmic, so that a power law is a straight line;
/// one line for each series, with its name and its exponent at its end.
std::string bench_svg(const BenchReport& report);

/// Which cells of which variants differ, and by how much.
std::string dispute_text(const BenchDispute& dispute);

}  // namespace attn
