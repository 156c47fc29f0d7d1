#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <limits>

#include "app/commands/commands.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/codegen/code.hpp"
#include "attn/mistakes/mistake.hpp"
#include "attn/walk/memory.hpp"
#include "attn/walk/parts.hpp"

namespace app {
namespace {

struct WalkCommand {
    WalkFlags walk;
    OutputFlags output;
    bool list_steps = false;
    std::vector<std::string> bugs;
};

void list_steps(const attn::Plan& plan) {
    StandardOutput output;
    for (const attn::Step& step : attn::step_table()) {
        if (!step.applies(plan)) continue;
        std::string line = step.name;
        line.resize(std::max<std::size_t>(line.size() + 2, 18), ' ');
        line += step.title;
        if (!step.shown) line += " (printed with --detail)";
        output.write(line + "\n");
    }
    output.flush();
}

/// How many rows hide every key. Where attention went block by block, the context tells: such a row
/// is nan through and through, or zero.
std::size_t empty_rows(const attn::Ledger& ledger) {
    std::size_t empty = 0;
    if (const attn::Tensor* largest = ledger.find("row_max")) {
        for (std::size_t i = 0; i < largest->size(); ++i) {
            if (largest->at(i) == -std::numeric_limits<double>::infinity()) ++empty;
        }
        return empty;
    }
    const attn::Tensor& context = ledger["context"];
    const std::size_t width = context.shape().back();
    for (std::size_t start = 0; start < context.size(); start += width) {
        bool all = true;
        for (std::size_t i = start; all && i < start + width; ++i) {
            all = std::isnan(context.at(i)) || context.at(i) == 0;
        }
        if (all) ++empty;
    }
    return empty;
}

/// Says on standard error how many rows hide every key and what they give.
void note_empty_rows(const attn::Plan& plan, const attn::Ledger& ledger) {
    if (!plan.masks()) return;
    const std::size_t empty = empty_rows(ledger);
    if (empty == 0) return;
    const bool zero = plan.config.empty_row == attn::EmptyRow::zero;
    report_note(
        std::to_string(empty) + (empty == 1 ? " row hides" : " rows hide") + " every key; " +
        (empty == 1 ? "its" : "their") + " weights are " +
        (zero ? "zero" : "nan, as in PyTorch (--empty-row zero or error for another choice)"));
}

/// Says at the step where each mistake shows what it does. From there on the sentences about the
/// numbers are left out: they speak of attention as it should be.
void mark_mistakes(const std::vector<std::string>& ids, attn::Document& document) {
    std::size_t first_mistaken = document.sections.size();
    for (const std::string& id : ids) {
        const attn::Mistake& mistake = attn::find_mistake(id);
        // Without heads to split, the projection is the query (key, value) itself.
        const std::string itself = mistake.step.substr(mistake.step.find('_') + 1);
        for (const std::string& name : {mistake.step, itself}) {
            const auto place =
                std::find_if(document.sections.begin(), document.sections.end(),
                             [&](const attn::Section& section) { return section.name == name; });
            if (place == document.sections.end()) continue;
            place->margin += (place->margin.empty() ? "[" : " [") + mistake.id + "] " +
                             mistake.title + ": " + mistake.effect + ".";
            first_mistaken = std::min(first_mistaken,
                                      static_cast<std::size_t>(place - document.sections.begin()));
            break;
        }
    }
    for (std::size_t i = first_mistaken; i < document.sections.size(); ++i) {
        document.sections[i].note.clear();
    }
}

/// Whether only what is asked for is computed. The sentences of a small walk are worth the rest of
/// it, which takes no time.
bool walks_in_parts(const WalkCommand& command, const attn::Plan& plan, const attn::Ledger& given,
                    const attn::StepTable& table) {
    constexpr double small = 5e7;
    return !command.output.only.empty() && !wants_code(command.output) &&
           attn::bytes_needed(plan) > small && attn::can_walk_parts(plan, given, table);
}

int run_walk(const WalkCommand& command) {
    check_output_flags(command.output);
    attn::WalkConfig config = config_of(command.walk);
    if (!command.bugs.empty()) require_all_steps(config, "--bug");
    if (wants_code(command.output)) require_all_steps(config, "--code");
    const attn::Plan plan = attn::resolve(std::move(config));
    if (command.list_steps) {
        list_steps(plan);
        return 0;
    }
    const attn::StepTable table = attn::with_mistakes(attn::step_table(), plan, command.bugs);
    const auto usual =
        plan.config.rng == attn::Rng::torch ? attn::TextForm::torch : attn::TextForm::numpy;
    const attn::Ledger given = attn::draw(plan);
    if (walks_in_parts(command, plan, given, table)) {
        const std::vector<attn::WantedPart> wanted = wanted_parts(command.output);
        const attn::Document parts =
            document_of_parts(plan, table, wanted, attn::walk_parts(plan, given, table, wanted));
        write_document(command.output, parts, usual, plan.compute_dtype);
        return 0;
    }
    const attn::Ledger ledger = attn::walk(plan, given, table);
    note_empty_rows(plan, ledger);
    attn::Document document = attn::document_of(plan, ledger, table);
    mark_mistakes(command.bugs, document);
    if (wants_code(command.output)) {
        const auto language = plan.config.rng == attn::Rng::torch ? attn::CodeLanguage::torch
                                                                  : attn::CodeLanguage::numpy;
        attn::add_code(document, plan, table, code_language(command.output, language),
                       print_options(command.output));
    }
    select_sections(command.output, document);
    write_document(command.output, document, usual, plan.compute_dtype);
    return 0;
}

}  // namespace

void setup_walk(CLI::App& cli, int& exit_code) {
    auto command = std::make_shared<WalkCommand>();
    setup_walk_flags(cli, command->walk);
    setup_output_flags(cli, command->output);
    cli.add_flag("--list-steps", command->list_steps, "list the steps of this walk")
        ->group("Output");
    cli.add_option("--bug", command->bugs,
                   "make a catalogued mistake (attn-explain bugs lists them)")
        ->group("Numbers")
        ->type_name("ID")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    cli.callback([command, &exit_code] { exit_code = run_walk(*command); });
}

}  // namespace app
