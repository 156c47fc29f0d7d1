#include "attn/learn/bench/bench.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/learn/bench/attend.hpp"

template <>
inline constexpr std::array<std::pair<std::string_view, attn::InstructionSet>, 4>
    attn::words<attn::InstructionSet>{{{"sse2", attn::InstructionSet::sse2},
                                       {"avx2", attn::InstructionSet::avx2},
                                       {"avx512", attn::InstructionSet::avx512},
                                       {"neon64", attn::InstructionSet::neon64}}};

namespace app {
namespace {

constexpr std::int64_t largest_size = 1'000'000'000;

std::size_t parse_size(const char* flag, const std::string& text) {
    return static_cast<std::size_t>(parse_integer(flag, text, 1, largest_size));
}

attn::BenchShape parse_shape(const std::string& text) {
    const std::vector<std::string> sizes = split(text, ',');
    if (sizes.size() != 3) {
        throw attn::ConfigError("--shape takes batch*heads,T,head-dim, such as 12,1024,64, not '" +
                                text + "'");
    }
    return {parse_size("--shape", sizes[0]), parse_size("--shape", sizes[1]),
            parse_size("--shape", sizes[2])};
}

std::vector<attn::BenchShape> shapes_of(const Arguments& arguments) {
    std::vector<attn::BenchShape> shapes;
    for (const std::string& text : arguments[flags::shapes]) shapes.push_back(parse_shape(text));
    const bool has_sizes = arguments.has_any(
        {flags::batch, flags::heads, flags::kv_heads, flags::seq_len, flags::head_dim});
    if (has_sizes && !shapes.empty()) {
        throw attn::ConfigError(
            "--shape sets all sizes: leave out --batch, --heads, --kv-heads, --seq-len and "
            "--head-dim");
    }
    if (!shapes.empty()) return shapes;
    const std::size_t heads = arguments[flags::heads];
    const std::size_t kv_heads = arguments[flags::kv_heads].value_or(heads);
    if (heads % kv_heads != 0) {
        throw attn::ConfigError("--kv-heads " + std::to_string(kv_heads) +
                                " does not divide --heads " + std::to_string(heads) +
                                ": each key and value head needs the same number of query heads");
    }
    for (const std::string& length : split(arguments[flags::seq_len], ',')) {
        shapes.push_back({arguments[flags::batch] * heads, parse_size("--seq-len", length),
                          arguments[flags::head_dim], heads / kv_heads});
    }
    return shapes;
}

/// Returns the instruction sets of the fused variant: those given, or the widest available.
std::vector<attn::InstructionSet> architectures_of(const Arguments& arguments) {
    const std::vector<attn::InstructionSet> available = attn::available_instruction_sets();
    if (!arguments.has(flags::arch)) {
        if (available.empty()) return {};
        return {available.back()};
    }
    std::vector<attn::InstructionSet> architectures;
    for (const std::string& name : split(arguments[flags::arch], ',')) {
        architectures.push_back(parse_word<attn::InstructionSet>("--arch", name));
        if (std::find(available.begin(), available.end(), architectures.back()) ==
            available.end()) {
            throw attn::ConfigError("--arch: this processor cannot run " + name + ": leave it out");
        }
    }
    return architectures;
}

std::vector<attn::BenchSeries> series_of(const Arguments& arguments) {
    constexpr std::int64_t most_threads = 1024;
    const auto threads = collected(split(arguments[flags::threads], ','), [](const auto& text) {
        return static_cast<std::size_t>(parse_integer("--threads", text, 1, most_threads));
    });
    const std::vector<attn::InstructionSet> architectures = architectures_of(arguments);
    std::vector<attn::BenchSeries> all;
    for (const std::string& word : split(arguments[flags::variants], ',')) {
        const auto variant = parse_word<attn::Variant>("--variant", word);
        const bool is_fused = variant == attn::Variant::fused;
        const auto sets = is_fused ? architectures : std::vector{attn::InstructionSet::automatic};
        const auto counts = variant == attn::Variant::loop ? std::vector<std::size_t>{1} : threads;
        for (const attn::InstructionSet set : sets) {
            for (const std::size_t count : counts) {
                const attn::BenchSeries series{variant, set, count};
                if (std::ranges::find(all, series) == all.end()) all.push_back(series);
            }
        }
    }
    if (all.empty()) {
        throw attn::ConfigError(
            "--variant fused is not built for this kind of processor: use vectorized");
    }
    return all;
}

/// Warns of variables that OpenBLAS obeys: a forgotten one can halve its speed.
void warn_of_environment() {
    std::string settings;
    for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}) {
        const char* const value = std::getenv(name);
        if (value != nullptr) settings += (settings.empty() ? "" : " ") + std::string(name);
    }
    if (settings.empty()) return;
    report_note("the environment sets " + settings +
                ", which changes the speed of vectorized: unset it to measure this machine");
}

int run_bench_command(const Arguments& arguments) {
    note_useless_flags(arguments, nullptr);
    attn::BenchConfig config;
    config.shapes = shapes_of(arguments);
    config.series = series_of(arguments);
    config.causal = arguments[flags::mask] == "causal";
    config.window = arguments[flags::window].value_or(0);
    config.rounds = arguments[flags::rounds];
    config.leave_out = !arguments.has(flags::variants);
    const std::string plot_path = arguments[flags::plot];
    const std::string path = output_file(arguments);
    warn_of_environment();

    // Refuse unwritable output files before anything is measured.
    attn::OutputSet set;
    std::optional<attn::OutputPlace> plot, file;
    if (!plot_path.empty()) plot = set.file(plot_path);
    if (!path.empty()) file = set.file(path);

    Progress progress;
    const attn::BenchReport report = attn::run_bench(
        config, attn::this_machine(),
        [&progress](double done, const std::string& next) { progress.show(done, next); });
    progress.clear();

    const std::string text = as_text_or_json(
        arguments, [&] { return attn::bench_text(report); },
        [&] { return attn::bench_json(report); });
    if (plot && !report.dispute) attn::write_file(*plot, attn::bench_svg(report));
    if (!file) StandardOutput::print(text);
    if (file) attn::write_file(*file, text);
    set.commit();
    return report.dispute ? 1 : 0;
}

bool runs_fused(const Arguments& arguments) {
    return arguments[flags::variants].find("fused") != std::string::npos;
}

std::vector<Flag> bench_flags() {
    return {
        {flags::variants, "METHOD,METHOD", "variants to time, one or several",
         some_of(words_of<attn::Variant>), "loop,vectorized,fused"},
        Flag{flags::shapes, "N,T,D",
             "batch*heads, length and head-dim: 12,1024,64; repeat for more"}
            .repeatable(),
        {flags::batch, "N", "number of sequences", integer(1, largest_size), "1"},
        {flags::heads, "N", "number of heads", integer(1, largest_size), "8"},
        {flags::kv_heads, "N", "heads of key and value, shared by the query heads",
         integer(1, largest_size), "heads"},
        {flags::seq_len,
         "T,T",
         "length of the sequences, one or several",
         {},
         "64,128,256,512,1024"},
        {flags::head_dim, "N", "features of each head", integer(1, largest_size), "64"},
        {flags::mask, "KIND", "cells that are hidden", one_of("none causal"), "none"},
        {flags::window, "W", "sliding window: a query sees W keys including its own",
         integer(1, largest_size)},
        {flags::threads, "N,N", "number of threads, one or several", {}, "1"},
        {flags::rounds, "N", "number of measurements; the median is reported", integer(1, 10000),
         "5"},
        Flag{flags::arch, "SET,SET", "instruction sets of fused",
             some_of(words_of<attn::InstructionSet>), "the widest available"}
            .needing({runs_fused, "--variant fused"}),
        Flag{flags::plot, "FILE", "plot time against length as SVG", file()}.writing({".svg"}),
    };
}

}  // namespace

Command bench_command() {
    return {"bench",
            "time the three variants, and plot time against length",
            {table<bench_flags>, json_flags, file_flags},
            run_bench_command,
            {{"attn-explain bench --seq-len 256", "Times the variants at one length."}}};
}

}  // namespace app
