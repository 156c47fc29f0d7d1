#include "attn/learn/bench/attend.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "attn/ground/simd/kernels.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/learn/bench/bench.hpp"

using attn::BenchSeries;
using attn::BenchShape;
using attn::InstructionSet;
using attn::Variant;

namespace {

std::vector<BenchSeries> all_series() {
    std::vector<BenchSeries> all{{Variant::loop, InstructionSet::automatic, 1},
                                 {Variant::vectorized, InstructionSet::automatic, 2}};
    for (const InstructionSet instruction_set : attn::available_instruction_sets()) {
        all.push_back({Variant::fused, instruction_set, 2});
    }
    return all;
}

attn::Array<float> context_of(const BenchSeries& series, const attn::BenchInput& input) {
    attn::Array<float> context = attn::context_buffer(series, input.shape());
    attn::attend(series, input, context);
    return context;
}

}  // namespace

TEST_SUITE("bench: attention") {
    TEST_CASE("equal keys give every query the mean of the values it sees") {
        attn::BenchInput input = attn::draw_bench_input({1, 3, 2}, false);
        for (float& number : input.key) number = 1;
        for (std::size_t i = 0; i < 6; ++i) input.value.data()[i] = static_cast<float>(1 << i);
        for (const BenchSeries& series : all_series()) {
            INFO(attn::series_name(series));
            input.causal = false;
            CHECK(std::abs(context_of(series, input)(0, 0, 0) - 7.0F) < 1e-5F);
            input.causal = true;
            const attn::Array<float> causal = context_of(series, input);
            CHECK(std::abs(causal(0, 0, 1) - 2.0F) < 1e-5F);
            CHECK(std::abs(causal(0, 1, 1) - 5.0F) < 1e-5F);
            CHECK(std::abs(causal(0, 2, 1) - 14.0F) < 1e-5F);
            input.window = 2;
            const attn::Array<float> window = context_of(series, input);
            CHECK(std::abs(window(0, 1, 1) - 5.0F) < 1e-5F);
            CHECK(std::abs(window(0, 2, 1) - 20.0F) < 1e-5F);
            input.window = 0;
        }
    }
    TEST_CASE("all series agree to rounding at awkward sizes") {
        for (const BenchShape& shape : {BenchShape{1, 1, 1}, {2, 7, 3}, {3, 50, 16}, {1, 130, 1}}) {
            for (const auto& [causal, window] :
                 {std::pair(false, 0), {true, 0}, {false, 5}, {true, 3}}) {
                const attn::BenchInput input =
                    attn::draw_bench_input(shape, causal, static_cast<std::size_t>(window));
                const attn::Array<float> expected = context_of(all_series().front(), input);
                const double tolerance = attn::agreement_tolerance(input);
                CHECK(tolerance < 1e-3);
                for (const BenchSeries& series : all_series()) {
                    const attn::Disagreement where =
                        attn::greatest_difference(context_of(series, input), expected);
                    INFO(attn::series_name(series), " at ", attn::bench_shape_text(shape),
                         " element ", where.index, ": ", where.got, " and ", where.expected);
                    CHECK(where.max_difference <= tolerance);
                }
            }
        }
    }
    TEST_CASE("a forgotten mask is beyond the tolerance") {
        attn::BenchInput input = attn::draw_bench_input({2, 5, 4}, true);
        const BenchSeries loop = all_series().front();
        const attn::Array<float> masked = context_of(loop, input);
        input.causal = false;
        CHECK(attn::greatest_difference(context_of(loop, input), masked).max_difference >
              attn::agreement_tolerance(input));
    }
    TEST_CASE("the largest difference is found, and nan on one side is infinitely far") {
        attn::Array<float> one = attn::empty_array<float>({1, 2, 2});
        one.fill(1);
        attn::Array<float> other = one;
        CHECK(attn::greatest_difference(one, other).max_difference == 0);
        other(0, 0, 1) = 1.5F;
        other(0, 1, 0) = -1;
        const attn::Disagreement where = attn::greatest_difference(one, other);
        CHECK(where.index == 2);
        CHECK(where.got == 1);
        CHECK(where.expected == -1);
        CHECK(where.max_difference == 2);
        other(0, 1, 1) = std::numeric_limits<float>::quiet_NaN();
        CHECK(std::isinf(attn::greatest_difference(one, other).max_difference));
        CHECK(attn::greatest_difference(one, other).index == 3);
        one(0, 1, 1) = std::numeric_limits<float>::quiet_NaN();
        CHECK(attn::greatest_difference(one, other).max_difference == 2);
    }
    TEST_CASE("a causal mask counts half, its diagonal whole, a window its own cells") {
        CHECK(attn::useful_operations({2, 3, 5}, false) == 4 * 2 * 5 * 9);
        CHECK(attn::useful_operations({2, 3, 5}, true) == 4 * 2 * 5 * 6);
        CHECK(attn::useful_operations({2, 3, 5}, true, 2) == 4 * 2 * 5 * 5);
        CHECK(attn::useful_operations({2, 3, 5}, false, 2) == 4 * 2 * 5 * 8);
        CHECK(attn::useful_operations({2, 3, 5}, true, 9) == 4 * 2 * 5 * 6);
    }
    TEST_CASE("the memory counts the tensors kept") {
        const BenchSeries loop = all_series().front();
        // weights of 9 cells, and a context of 6; then a mask
        CHECK(attn::used_bytes(loop, {1, 3, 2}, false) == 4 * (9 + 6));
        CHECK(attn::used_bytes(loop, {1, 3, 2}, true) == 4 * (9 + 6) + 9);
        CHECK(attn::used_bytes(loop, {5, 3, 2}, true) == 5 * 4 * (9 + 6) + 9);
        if (attn::available_instruction_sets().empty()) return;
        // At twice the length, the fused variant keeps at most twice the context.
        const BenchSeries fused = all_series().back();
        const double one = attn::used_bytes(fused, {1, 1000, 8}, true);
        CHECK(attn::used_bytes(fused, {1, 2000, 8}, true) - one == 4 * 1000 * 8);
    }
}

TEST_SUITE("bench: measurement") {
    TEST_CASE("every series is timed at every shape, shape by shape") {
        attn::BenchConfig config;
        config.shapes = {{1, 4, 2}, {1, 8, 2}};
        config.series = all_series();
        config.rounds = 2;
        double done = -1;
        const attn::BenchReport report =
            attn::run_bench(config, attn::this_machine(), [&](double now, const std::string&) {
                CHECK(now >= done);
                CHECK(now < 1);
                done = now;
            });
        CHECK(done > 0);
        CHECK_FALSE(report.dispute.has_value());
        REQUIRE(report.rows.size() == 2 * config.series.size());
        for (std::size_t i = 0; i < report.rows.size(); ++i) {
            const attn::BenchRow& row = report.rows[i];
            CHECK(row.shape == config.shapes[i / config.series.size()]);
            CHECK(row.series == config.series[i % config.series.size()]);
            CHECK(row.left_out.empty());
            CHECK(row.seconds > 0);
            CHECK(row.gflops > 0);
            CHECK(row.max_difference.has_value() == (i % config.series.size() != 0));
        }
        CHECK(attn::growth_of(report.rows).size() == config.series.size());
    }
    TEST_CASE("a shape larger than the memory is left out, or refused if it was requested") {
        attn::BenchConfig config;
        config.shapes = {{1, 4, 2}, {1, 1'000'000'000, 1'000'000'000}};
        config.series = all_series();
        config.rounds = 1;
        attn::Machine machine = attn::this_machine();
        machine.memory_bytes = 1e6;
        const attn::BenchReport report = attn::run_bench(config, machine);
        REQUIRE(report.rows.size() == 2 * config.series.size());
        for (const attn::BenchRow& row : report.rows) {
            CHECK(row.left_out.empty() == (row.shape.length == 4));
        }
        config.leave_out = false;
        CHECK_THROWS_AS(attn::run_bench(config, machine), attn::ConfigError);
    }
    TEST_CASE("growth is given for each series with several lengths") {
        attn::BenchRow row;
        row.shape = {8, 64, 16};
        row.series = all_series().front();
        row.seconds = 1;
        row.used_bytes = 10;
        std::vector<attn::BenchRow> rows{row};
        CHECK(attn::growth_of(rows).empty());
        row.shape.length = 128;
        row.seconds = 8;
        row.used_bytes = 20;
        rows.push_back(row);
        row.shape.groups = 1;  // another series of lengths, with one of them
        rows.push_back(row);
        row.shape = {8, 256, 16};
        row.left_out = "too long";
        rows.push_back(row);
        const std::vector<attn::BenchLine> growth = attn::growth_of(rows);
        REQUIRE(growth.size() == 1);
        CHECK(growth[0].times.front().first == 64);
        CHECK(growth[0].times.back().first == 128);
        CHECK(std::abs(*attn::fitted_exponent(growth[0].times) - 3) < 1e-12);
        CHECK(std::abs(*attn::fitted_exponent(growth[0].memory) - 1) < 1e-12);
    }
    TEST_CASE("the measured multiply-add rounds as the kernels do: one instruction") {
        // (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the product alone loses its last term.
        constexpr float factor = 1 + 0x1p-12F;
        for (const InstructionSet set : attn::available_instruction_sets()) {
            std::vector<float> numbers(attn::simd::peak_floats, -factor);
            attn::simd::kernels_for(set).peak(numbers.data(), factor, 1);
            const bool has_fma = set != InstructionSet::sse2;
            CHECK(numbers[0] == -0x1p-12F - (has_fma ? 0x1p-24F : 0));
        }
    }
    TEST_CASE("a peak is measured for each instruction set of this processor, and for no other") {
        for (const InstructionSet instruction_set : attn::available_instruction_sets()) {
            CHECK(attn::measure_peak(instruction_set, 1) > 0);
            CHECK(attn::measure_peak(instruction_set, 2) > 0);
        }
#if defined(__x86_64__)
        CHECK_THROWS_AS(attn::measure_peak(InstructionSet::neon64, 1), attn::ConfigError);
#endif
    }
}
