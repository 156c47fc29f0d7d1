#include "attn/bench/bench.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "app/commands/commands.hpp"
#include "app/flags/bench_words.hpp"
#include "app/flags/parse.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/signals.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/bench/report.hpp"
#include "attn/io/atomic_file.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

struct BenchCommand {
    std::string variant, batch, heads, seq_len, head_dim;
    std::vector<std::string> shapes;
    std::string mask = "none", threads = "1", rounds = "5", architecture;
    bool json = false;
    std::string plot, output;
};

/// A size of a tensor.  Errors  ConfigError naming the flag.
std::size_t parse_size(const char* flag, const std::string& text) {
    constexpr std::int64_t most = 1'000'000'000;
    const std::int64_t size = parse_integer(flag, text);
    if (size < 1 || size > most) {
        throw attn::ConfigError(std::string(flag) + ": " + text +
                                " is no size: use a number from 1 to 1000000000");
    }
    return static_cast<std::size_t>(size);
}

/// A whole number of at least 1 and at most `most`.  Errors  ConfigError naming the flag.
std::size_t parse_count(const char* flag, const std::string& text, std::int64_t most) {
    const std::int64_t count = parse_integer(flag, text);
    if (count < 1 || count > most) {
        throw attn::ConfigError(std::string(flag) + " " + text + " must be from 1 to " +
                                std::to_string(most));
    }
    return static_cast<std::size_t>(count);
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

std::vector<attn::BenchShape> shapes_of(const BenchCommand& command) {
    const bool sizes = !command.batch.empty() || !command.heads.empty() ||
                       !command.seq_len.empty() || !command.head_dim.empty();
    if (sizes && !command.shapes.empty()) {
        throw attn::ConfigError(
            "--shape says all sizes: leave out --batch, --heads, --seq-len and --head-dim");
    }
    std::vector<attn::BenchShape> shapes;
    for (const std::string& text : command.shapes) shapes.push_back(parse_shape(text));
    if (!shapes.empty()) return shapes;

    const auto size = [](const char* flag, const std::string& text, std::size_t usual) {
        return text.empty() ? usual : parse_size(flag, text);
    };
    const std::size_t groups =
        size("--batch", command.batch, 1) * size("--heads", command.heads, 8);
    const std::size_t head_dim = size("--head-dim", command.head_dim, 64);
    const std::string lengths = command.seq_len.empty() ? "64,128,256,512,1024" : command.seq_len;
    for (const std::string& length : split(lengths, ',')) {
        shapes.push_back({groups, parse_size("--seq-len", length), head_dim});
    }
    return shapes;
}

/// Adds a series that is not there yet.
void add_series(std::vector<attn::BenchSeries>& all, const attn::BenchSeries& series) {
    if (std::find(all.begin(), all.end(), series) == all.end()) all.push_back(series);
}

/// The architectures of fused: those asked for, or the widest that is there.
std::vector<attn::InstructionSet> architectures_of(const BenchCommand& command) {
    const std::vector<attn::InstructionSet> available = attn::available_instruction_sets();
    if (command.architecture.empty()) {
        if (available.empty()) return {};
        return {available.back()};
    }
    std::vector<attn::InstructionSet> architectures;
    for (const std::string& name : split(command.architecture, ',')) {
        architectures.push_back(parse_word<attn::InstructionSet>("--arch", name));
        if (std::find(available.begin(), available.end(), architectures.back()) ==
            available.end()) {
            throw attn::ConfigError("--arch: this processor cannot run " + name + ": leave it out");
        }
    }
    return architectures;
}

std::vector<attn::BenchSeries> series_of(const BenchCommand& command) {
    constexpr std::int64_t most_threads = 1024;
    std::vector<std::size_t> threads;
    for (const std::string& text : split(command.threads, ',')) {
        threads.push_back(parse_count("--threads", text, most_threads));
    }
    const std::vector<attn::InstructionSet> architectures = architectures_of(command);
    const std::string variants =
        command.variant.empty() ? "loop,vectorized,fused" : command.variant;
    std::vector<attn::BenchSeries> all;
    for (const std::string& word : split(variants, ',')) {
        const auto variant = parse_word<attn::Variant>("--variant", word);
        if (variant == attn::Variant::loop) {
            add_series(all, {variant, attn::InstructionSet::automatic, 1});
        } else if (variant == attn::Variant::vectorized) {
            for (const std::size_t count : threads) {
                add_series(all, {variant, attn::InstructionSet::automatic, count});
            }
        } else {
            for (const attn::InstructionSet architecture : architectures) {
                for (const std::size_t count : threads) {
                    add_series(all, {variant, architecture, count});
                }
            }
        }
    }
    if (all.empty()) {
        throw attn::ConfigError(
            "--variant fused is not built for this kind of processor: use vectorized");
    }
    return all;
}

bool parse_mask(const std::string& mask) {
    if (mask != "none" && mask != "causal") {
        throw attn::ConfigError("--mask does not know '" + mask + "': use none or causal");
    }
    return mask == "causal";
}

/// OpenBLAS obeys its environment, and a forgotten setting can halve its speed.
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

int run_bench_command(const BenchCommand& command) {
    attn::BenchConfig config;
    config.shapes = shapes_of(command);
    config.series = series_of(command);
    config.causal = parse_mask(command.mask);
    config.rounds = parse_count("--rounds", command.rounds, 10000);
    config.leave_out = command.variant.empty();
    if (!command.plot.empty() && command.plot == command.output) {
        throw attn::ConfigError("--plot and --output both name " + command.plot +
                                ": give each a file of its own");
    }
    warn_of_environment();

    // What cannot be written is told before anything is measured.
    remove_temporaries_on_signals();
    std::optional<attn::OutputFile> plot;
    std::optional<attn::OutputFile> file;
    if (!command.plot.empty()) plot.emplace(command.plot);
    if (!command.output.empty() && command.output != "-") file.emplace(command.output);

    Progress progress;
    const attn::BenchReport report = attn::run_bench(
        config, attn::this_machine(),
        [&progress](double done, const std::string& next) { progress.show(done, next); });
    progress.clear();

    const std::string text = command.json ? attn::bench_json(report) : attn::bench_text(report);
    if (plot && !report.dispute) {
        plot->write(attn::bench_svg(report));
        plot->commit();
    }
    if (file) {
        file->write(text);
        file->commit();
    } else {
        StandardOutput output;
        output.write(text);
        output.flush();
    }
    return report.dispute ? 1 : 0;
}

}  // namespace

void setup_bench(CLI::App& cli, int& exit_code) {
    auto command = std::make_shared<BenchCommand>();
    cli.add_option("--variant", command->variant, "loop, vectorized, fused or some of them (all)")
        ->type_name("HOW,HOW");
    cli.add_option("--shape", command->shapes,
                   "batch*heads,T,head-dim: 12,1024,64; repeat for more")
        ->type_name("N,T,D")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    cli.add_option("--batch", command->batch, "number of sequences (1)")->type_name("N");
    cli.add_option("--heads", command->heads, "number of heads (8)")->type_name("N");
    cli.add_option("--seq-len", command->seq_len, "T, or several (64,128,256,512,1024)")
        ->type_name("T,T");
    cli.add_option("--head-dim", command->head_dim, "features of each head (64)")->type_name("N");
    cli.add_option("--mask", command->mask, "none or causal (none)")->type_name("KIND");
    cli.add_option("--threads", command->threads, "threads, or several numbers: 1,2 (1)")
        ->type_name("N,N");
    cli.add_option("--rounds", command->rounds, "measurements, of which the median counts (5)")
        ->type_name("N");
    cli.add_option("--arch", command->architecture,
                   "instruction sets of fused: sse2, avx2, avx512 (the widest there is)")
        ->type_name("SET,SET");
    cli.add_flag("--json", command->json, "as JSON");
    cli.add_option("--plot", command->plot, "time over T as an SVG picture")->type_name("FILE");
    cli.add_option("-o,--output", command->output, "the table or JSON into a file")
        ->type_name("FILE");
    cli.callback([command, &exit_code] { exit_code = run_bench_command(*command); });
}

}  // namespace app
