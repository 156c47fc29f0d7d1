#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/commands/written_text.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/explain/codegen/step_lines.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

/// A program that runs the user's own attention on a probe; correct before the user edits it.
extern "C" const char attn_probe_program[];

namespace app {
namespace {

/// Returns integers as a tensor for a file.
attn::Tensor numbers(const std::vector<std::int64_t>& values) {
    attn::Array<std::int64_t> array = attn::empty_array<std::int64_t>({values.size()});
    std::copy(values.begin(), values.end(), array.data());
    return {{"setting"}, std::move(array)};
}

/// True if a flag of the walk is set.
bool configures_walk(const Arguments& arguments) {
    return std::ranges::any_of(walk_flags(), [&](const Flag& flag) { return arguments.has(flag); });
}

/// Returns the walk of the flags, by default on random tokens; without flags, the standard probe.
attn::WalkConfig probed_walk(const Arguments& arguments) {
    if (!configures_walk(arguments)) return attn::probe_config();
    attn::WalkConfig config = config_of(arguments);
    require_all_steps(config, "probe");
    if (!arguments.has(sets_x)) config.input = attn::RandomInput{};
    return attn::probe_config(std::move(config));
}

/// Replaces the suffix of a path.
std::string beside(const std::string& path, const std::string& ending) {
    return path.substr(0, path.size() - 3) + ending;
}

/// Returns a program of the walk, each step with its own lines.
std::string program_for(const attn::Plan& plan, const attn::Ledger& given,
                        attn::CodeLanguage language, const std::string& start) {
    const bool torch = language == attn::CodeLanguage::torch;
    const attn::StepTable& table = attn::step_table(plan);
    std::string inputs, steps, names, leaves;
    for (const attn::Step& step : table) {
        if (!step.applies(plan)) continue;
        if (given.has(step.name)) {
            const bool learns = torch && !start.empty() && given[step.name].is_floating();
            inputs += step.name + " = p[\"" + step.name + "\"]" +
                      (learns ? ".requires_grad_()" : "") + "\n";
            if (learns) leaves += (leaves.empty() ? "" : ", ") + step.name + "=" + step.name;
        }
        if (given.has(step.name) || step.kind != attn::Step::Kind::computed ||
            !attn::has_lines(step))
            continue;
        steps += attn::lines_of({{plan, table, step}, language}) + "\n";
        names += (names.empty() ? "" : ", ") + step.name + "=" + step.name;
    }
    std::string back;  // from the gradient of the output to those of the inputs
    if (!start.empty()) {
        back = torch ? start.substr(2) + ".backward(p[\"" + start +
                           "\"])\ngradients = {name + \".grad\": t.grad for name, t in dict(" +
                           leaves + ").items()}\n"
                     : "# your backward pass starts from p[\"" + start +
                           "\"]; save its gradients as d_query, dq or q.grad\ngradients = {}\n";
    }
    const std::string all = back.empty() ? "tensors" : "{**tensors, **gradients}";
    const std::string cells = torch && !back.empty() ? "t.detach()" : "t";
    const std::string read = torch ? "torch.from_numpy(file[name])" : "file[name]";
    const std::string imports = torch ? "import torch\nimport torch.nn.functional as F\n" : "";
    return "# Runs attention on a probe and saves its tensors for attn-explain diagnose.\n"
           "import math\nimport pathlib\n\nimport numpy as np\n" +
           imports +
           "\nhere = pathlib.Path(__file__).resolve().parent\nwith np.load(here / \"{probe}\") as "
           "file:\n    p = {name: " +
           read + " for name in file.files}\n" + inputs +
           "\n# ---- your own code from here on; any names and layouts will do ----\n" + steps +
           back +
           "# ---- to here: name everything that your code computes ----\n\ntensors = dict(" +
           names + ")\nnp.savez(here / \"{mine}\", **{name: np.asarray(" + cells +
           ") for name, t in " + all +
           ".items()})\nprint(\"now: attn-explain diagnose {mine} --given {probe}\")\n";
}

/// Writes the program; `{probe}` and `{mine}` become the names of its two files.
void write_program(attn::OutputSet& set, const std::string& path, const std::string& text) {
    const std::string name = path.substr(path.find_last_of('/') + 1);
    attn::write_file(set.file(path), attn::filled(text, {{"probe", beside(name, ".npz")},
                                                         {"mine", beside(name, "_mine.npz")}}));
}

/// True if a file is a probe, which may be overwritten.
bool is_probe(const std::string& path) {
    try {
        const std::vector<attn::NamedTensor> arrays = attn::read_tensors(path);
        return std::ranges::all_of(std::array{"heads", "causal", "mask"}, [&](const char* name) {
            return std::ranges::find(arrays, name, &attn::NamedTensor::name) != arrays.end();
        });
    } catch (const attn::Error&) {
        return false;
    }
}

/// Reports the mistakes that do not show in the numbers of such a walk.
void note_what_stays_hidden(const attn::Plan& plan, const attn::Ledger& drawn) {
    std::string ids;
    for (const attn::Power::Blind& blind : attn::power(plan, drawn).blind) {
        if (blind.mistake->applies(plan)) ids += (ids.empty() ? "" : ", ") + blind.mistake->id;
    }
    if (!ids.empty()) report_note("mistakes that this probe cannot reveal: " + ids);
}

/// Returns the path of the arrays: that of -o, or next to the program if -o is one.
///
/// Errors  ConfigError for a name that cannot be that of arrays.
std::string file_of(const Arguments& arguments) {
    const bool as_program = arguments.has(flags::code);
    const std::string output = arguments[flags::output];
    if (output.empty()) {
        throw attn::ConfigError("a probe is a file: pass -o probe.npz");
    }
    if (as_program && output.find_first_of("\"\\\n") != output.npos) {
        throw attn::ConfigError(
            "-o: the name is written into a Python program: leave quotes out of it");
    }
    if (as_program != (ending_of(output) == ".py")) {
        throw attn::ConfigError(
            "a program is written to a Python file: pass --code torch -o probe.py");
    }
    const bool is_text = isatty(STDOUT_FILENO) != 0 || specified_form(arguments) == "json";
    if (output == "-" && is_text) {
        throw attn::ConfigError("-o -: a probe is not text: pass -o probe.npz or a pipe");
    }
    if (as_program) refuse_edited(output);
    const std::string path = as_program ? beside(output, ".npz") : output;
    if (as_program && std::filesystem::exists(path) && !is_probe(path)) {
        throw attn::ConfigError("-o " + output + ": its inputs would go to " + path +
                                ", which exists: remove that file, or choose another name");
    }
    return path;
}

/// Returns the inputs for the user's attention: settings that no tensor shows, drawn tensors, the
/// mask.
attn::Ledger given_in(const attn::Plan& plan, const attn::Ledger& drawn) {
    attn::Ledger given;
    given.record("heads", numbers({plan.config.heads}));
    given.record("causal", numbers({plan.config.mask.causal ? 1 : 0}));
    if (!plan.config.lengths.empty()) given.record("lengths", numbers(plan.config.lengths));
    const attn::Ledger ledger = attn::walk(plan, drawn);
    for (const auto& [name, tensor] : ledger.entries()) {
        // For tokens, the ids and the embedding table are given: x is computed from them.
        if (drawn.has(name) || name == "mask") given.record(name, tensor);
    }
    return given;
}

/// Adds the start of the backward pass: the gradient of the last step, or the target of the loss;
/// without a loss, an uneven gradient that reveals mistakes. Returns its name.
///
/// Errors  ConfigError for the loss of one cell.
std::string add_start(const Arguments& arguments, const attn::Plan& plan, const attn::Ledger& drawn,
                      attn::Ledger& given) {
    attn::StepTable table = attn::step_table(plan);
    const attn::Loss loss =
        arguments.has(flags::loss) ? loss_of(arguments, plan, table) : attn::Loss();
    if (loss.kind == attn::Loss::Kind::cell) {
        throw attn::ConfigError(
            "--loss " + loss.cell +
            ": the loss of a probe covers the whole output: pass sum, mean, mse:FILE or FILE");
    }
    table = attn::with_gradients(std::move(table), plan, loss);
    const auto first = std::ranges::find_if(
        table, [](const attn::Step& step) { return step.name.starts_with("d_"); });
    const attn::Ledger ledger = attn::walk(plan, drawn, table);
    if (const attn::Tensor* target = ledger.find("target")) {
        given.record("target", *target);
        return "target";
    }
    attn::Tensor start = ledger[first->name];
    if (!arguments.has(flags::loss)) {
        attn::Array<float> cells = attn::empty_array<float>(start.shape());
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells.data()[i] = static_cast<float>((i * i + 37 * i) % 101) / 50 - 1;
        }
        start = attn::Tensor(start.axes(), std::move(cells));
    }
    given.record(first->name, start);
    return first->name;
}

std::string json_of(const std::string& path, const attn::Ledger& given) {
    std::vector<attn::JsonText> rows;
    for (const auto& [name, tensor] : given.entries()) {
        const attn::Shape shape = tensor.shape();
        const std::vector<std::int64_t> extents(shape.begin(), shape.end());
        rows.push_back({{"name", name}, {"shape", extents}});
    }
    return attn::JsonText({{"file", path}, {"arrays", {rows, ",\n  "}}}, ",\n ").text + "\n";
}

int run_probe(const Arguments& arguments) {
    const bool plain = !configures_walk(arguments), as_program = arguments.has(flags::code);
    const std::string output = arguments[flags::output], path = file_of(arguments);
    const attn::Plan plan = attn::resolve(probed_walk(arguments));
    note_cost_of_mistakes(plan);
    const attn::Ledger drawn = attn::draw(plan);
    attn::Ledger given = given_in(plan, drawn);
    const bool back = arguments.has_any({flags::backward, flags::loss});
    const std::string start = back ? add_start(arguments, plan, drawn, given) : "";
    if (start == "target" && as_program) {
        throw attn::ConfigError(
            "--loss mse and --code: write the probe alone, or pass another loss");
    }
    if (path == "-") std::signal(SIGPIPE, SIG_DFL);
    attn::OutputSet set;
    attn::OutputFile file(set.file(path == "-" ? "/dev/stdout" : path));
    const std::string comment = probe_settings(arguments);
    attn::write_npz(file, refs_of(given.entries()), comment);
    file.commit();
    if (as_program) {
        const bool torch = arguments[flags::code] == "torch";
        const auto language = torch ? attn::CodeLanguage::torch : attn::CodeLanguage::numpy;
        write_program(set, output,
                      plain && torch && !back ? attn_probe_program
                                              : program_for(plan, drawn, language, start));
    }
    set.commit();
    note_what_stays_hidden(plan, drawn);
    if (back && !as_program) {
        report_note(start == "target"
                        ? "the loss is the mean squared difference from target"
                        : "start the backward pass from " + start + ", as in out.backward(" +
                              start + "), and save its gradients too, as q.grad");
    }
    if (specified_form(arguments) == "json") StandardOutput::print(json_of(path, given));
    if (as_program) {
        report_note("put your own attention into " + output + " (with its inputs, " + path +
                    "), run it, and then: attn-explain diagnose " + beside(output, "_mine.npz") +
                    " --given " + path);
        return 0;
    }
    report_note("run your own attention on the arrays of " + path +
                " (mask true = hidden), save its tensors, and then: attn-explain diagnose "
                "YOURS.npz --given " +
                path + (plain || !comment.empty() ? "" : " with the same flags"));
    return 0;
}

std::vector<Flag> probe_flags() {
    return {
        Flag{
            flags::backward, "",
            "probe the backward pass too: adds the gradient it starts from (uneven without --loss)"}
            .typed_only(),
        loss_flag().typed_only(),
        {flags::code, "LANGUAGE",
         "also write a program with a place for your own attention, to -o FILE.py",
         one_of("torch numpy")},
        output_flag({".npz", ".py"}),
    };
}

}  // namespace

Command probe_command() {
    return {
        "probe",
        "write inputs for your own code that reveal its mistakes",
        {table<probe_flags>, json_flags, walk_flags},
        run_probe,
        {{"attn-explain probe -o probe.npz", "Writes inputs for your own code."},
         {"attn-explain probe --preset mistral -o probe.npz", "The same for Mistral's attention."},
         {"attn-explain probe --code torch -o probe.py",
          "The same with a PyTorch program to put your own attention into."}}};
}

}  // namespace app
