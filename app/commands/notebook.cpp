#include "attn/notebooks/notebook.hpp"

#include <CLI/CLI.hpp>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/parse.hpp"
#include "app/stepper/step_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"

namespace app {
namespace {

struct NotebookCommand {
    std::string name, seed, variant, torch_build;
    bool corrected = false, step = false;
    OutputFlags output;
    StepFlags stepping;
};

void list_notebooks() {
    StandardOutput output;
    for (const attn::Notebook& notebook : attn::notebooks()) {
        std::string name = notebook.name;
        name.resize(15, ' ');
        output.write(notebook.number + "  " + name + notebook.summary + "\n");
    }
    output.flush();
}

attn::Replay replay_of(const NotebookCommand& command) {
    attn::Replay replay;
    if (!command.seed.empty()) replay.seed = parse_seed(command.seed);
    if (!command.variant.empty()) {
        replay.variant = parse_word<attn::Variant>("--variant", command.variant);
        if (*replay.variant == attn::Variant::fused) {
            throw attn::ConfigError(
                "a notebook shows its scores and weights, which --variant "
                "fused does not keep: use loop or vectorized");
        }
    }
    if (!command.torch_build.empty()) {
        replay.torch_build = parse_word<attn::TorchBuild>("--torch-build", command.torch_build);
    }
    replay.corrected = command.corrected;
    replay.code = wants_code(command.output) || command.step;
    return replay;
}

/// How many columns two printed forms may take: those of the terminal, or what two lines need.
std::size_t columns_for_two(const OutputFlags& flags, const attn::PrintOptions& options) {
    const auto size = terminal_size(STDOUT_FILENO);
    if (flags.output.empty() && size) return size->columns;
    return 2 * options.linewidth.value_or(80) + 3;
}

bool is_text(const std::string& format) {
    return format.empty() || format == "torch" || format == "numpy" || format == "plain";
}

attn::TextForm text_form(const std::string& format, attn::TextForm usual) {
    if (format == "torch") return attn::TextForm::torch;
    if (format == "numpy") return attn::TextForm::numpy;
    return format == "plain" ? attn::TextForm::plain : usual;
}

/// Refuses the language that the notebook is not written in.
void check_language(const OutputFlags& flags, const attn::Notebook& notebook) {
    if (code_language(flags, notebook.language) == notebook.language) return;
    const bool torch = notebook.language == attn::CodeLanguage::torch;
    throw attn::ConfigError("the notebook " + notebook.name + " is written for " +
                            (torch ? "PyTorch" : "NumPy") + ": use --code " +
                            (torch ? "torch" : "numpy"));
}

/// Refuses flags of the one way to show a notebook that the other does not know.
void check_stepping(const NotebookCommand& command) {
    const StepFlags& stepping = command.stepping;
    if (!command.step && (stepping.lines || stepping.full_screen || !stepping.script.empty())) {
        throw attn::ConfigError("--script, --lines and --full-screen say how to step: add --step");
    }
    const OutputFlags& output = command.output;
    if (command.step && (command.name.empty() || !output.format.empty() || !output.output.empty() ||
                         !output.save_dir.empty() || output.heatmap || wants_code(output))) {
        throw attn::ConfigError(
            "--step needs the name of a notebook, and none of --format, --output, --save-dir, "
            "--heatmap and --code");
    }
}

int run_notebook(const NotebookCommand& command) {
    check_output_flags(command.output);
    check_stepping(command);
    if (command.name.empty()) {
        list_notebooks();
        return 0;
    }
    const attn::Notebook& notebook = attn::find_notebook(command.name);
    check_language(command.output, notebook);
    const auto usual = notebook.language == attn::CodeLanguage::torch ? attn::TextForm::torch
                                                                      : attn::TextForm::numpy;
    const attn::PrintOptions options = print_options(command.output);

    const attn::Replay replay = replay_of(command);
    attn::Document document = notebook.replay(replay);
    if (command.corrected) {
        attn::Replay faithful = replay;
        faithful.corrected = false;
        // A program has one course of events: there the corrected notebook runs after the other.
        const auto both = command.output.format == "ipynb" ? attn::one_after_the_other : attn::both_replays;
        document = both(notebook.replay(faithful), document);
    }
    if (command.step) {
        step_through({std::move(document), usual}, command.output, command.stepping);
        return 0;
    }
    if (wants_code(command.output) && !document.sections.empty()) {
        attn::add_print_options(document, notebook.language, options);
    }
    select_sections(command.output, document);
    if (command.corrected && is_text(command.output.format)) {
        document = attn::side_by_side(document, text_form(command.output.format, usual), options,
                                      columns_for_two(command.output, options));
    }
    write_document(command.output, document, usual, attn::DType::float32);
    return 0;
}

}  // namespace

void setup_notebook(CLI::App& cli, int& exit_code) {
    auto command = std::make_shared<NotebookCommand>();
    cli.add_option("NAME", command->name, "its name or number; without one they are listed");
    cli.add_flag("--corrected", command->corrected,
                 "with its mistakes corrected too: both side by side where they differ");
    cli.add_option("--seed", command->seed, "the same cells with other numbers")->type_name("N");
    cli.add_option("--variant", command->variant,
                   "loop or vectorized (the one with the notebook's digits)")
        ->type_name("METHOD");
    cli.add_option("--torch-build", command->torch_build, "avx2 or portable (the notebook's own)")
        ->type_name("BUILD");
    cli.add_flag("--step", command->step, "step through it, by keys or from a script")
        ->group("Stepping");
    setup_step_flags(cli, command->stepping);
    setup_output_flags(cli, command->output);
    cli.callback([command, &exit_code] { exit_code = run_notebook(*command); });
}

}  // namespace app
