#include <fmt/format.h>

#include <algorithm>

#include "app/commands/commands.hpp"
#include "app/commands/walk.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/explain/notes/notes.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace app {
namespace {

constexpr double most_on_page = 4e6;  // numbers: about 50 MB

/// Returns the steps of a walk, without their numbers.
std::vector<attn::Section> steps_of(const attn::Plan& plan, const attn::StepTable& table) {
    std::vector<attn::Section> sections;
    for (const attn::Step& step : table) {
        if (!step.applies(plan)) continue;
        attn::Section& section = sections.emplace_back();
        section.name = step.name;
        section.title = step.title;
        section.shown = step.shown;
    }
    return sections;
}

/// Returns the flags without those of a hidden mistake.
Arguments without_mistake(Arguments arguments) {
    arguments.forget_any({flags::bugs, flags::hide_mistake});
    return arguments;
}

/// Returns the steps of a walk. A hidden mistake changes only numbers.
std::shared_ptr<const attn::StepTable> shown_table(const Arguments& arguments,
                                                   const attn::Plan& plan) {
    const auto table = table_of(arguments, plan);
    if (!arguments.has(flags::hide_mistake)) return table;
    return std::make_shared<const attn::StepTable>(
        with_mistakes_hidden(*table_of(without_mistake(arguments), plan), *table));
}

/// Writes the rules of the computed steps of a walk, as displayed or, in JSON, completed.
void write_rules(const Arguments& arguments, const attn::Plan& plan, const attn::StepTable& table) {
    std::string text;
    std::vector<attn::JsonText> rows;
    for (const attn::Step& step : table) {
        const attn::PlannedStep of{plan, table, step};
        const std::string rule = step.applies(plan) ? displayed_rule(of) : std::string();
        if (rule.empty()) continue;
        text += rule + "\n";
        rows.push_back({{"name", step.name}, {"rule", attn::rule_text(*attn::rule_of(of))}});
    }
    write_text_or_json(arguments, text, rows);
}

/// Refuses a page with more numbers than a browser can open.
void check_page(double numbers) {
    constexpr double bytes_each = 12;
    if (numbers < most_on_page) return;
    throw attn::ConfigError(
        fmt::format("--format html: this page would be about {:.0f} MB, and browsers open {:.0f}: "
                    "pass --only 'weights[...,:50,:50]', or fewer tokens",
                    bytes_each * numbers / 1e6, bytes_each * most_on_page / 1e6));
}

std::size_t numbers_of(const attn::Document& document) {
    std::size_t numbers = document.other == nullptr ? 0 : numbers_of(*document.other);
    for (const attn::Section& section : document.sections) {
        const auto* tensor = std::get_if<attn::Tensor>(&section.content);
        if (tensor != nullptr) numbers += tensor->size();
    }
    return numbers;
}

/// True if the sections need rounding bounds.
bool wants_bounds(const Arguments& arguments) {
    return arguments.has(flags::bounds) || arguments[flags::digits] == "certain";
}

/// True if only the selected parts are computed. A small walk is computed whole, for its sentences.
bool walks_in_parts(const Arguments& arguments, const attn::Plan& plan, const attn::Ledger& given,
                    const attn::StepTable& table) {
    constexpr double small = 5e7;
    return arguments.has(flags::only) && !wants_bounds(arguments) && !wants_code(arguments) &&
           attn::memory_needs(plan).bytes > small && attn::can_walk_parts(plan, given, table);
}

/// True if the output has a place for notes.
bool prints_notes(const Arguments& arguments) {
    const Format& format = format_of(arguments);
    const bool is_quiet = format.has_words && arguments.has(flags::no_notes);
    return arguments.has(flags::save_dir) || format.has_rules || (format.is_text() && !is_quiet);
}

/// Returns the dtype that a program prints without a note: that of the walk, if it has only one.
attn::DType default_dtype_of(const attn::Plan& plan) {
    return plan.dtype == plan.compute_dtype ? plan.default_dtype() : attn::DType::float32;
}

/// Errors  ConfigError if there is no mistake to hide, or if the output would name it.
void check_hidden(const Arguments& arguments, const attn::Plan& plan) {
    if (!arguments.has(flags::hide_mistake)) return;
    if (bugs_of(arguments, plan).empty()) {
        throw attn::ConfigError(
            "--hide-mistake hides the mistake of --bug: add --bug scale-missing");
    }
    for (const Name& flag : {flags::code, flags::save_config}) {
        if (!arguments.has(flag)) continue;
        throw attn::ConfigError(std::string(flag) +
                                " shows how the numbers were made, which --hide-mistake hides: "
                                "leave one out");
    }
    if (format_of(arguments).is_program) {
        throw attn::ConfigError(
            "--format python shows how the numbers were made, which --hide-mistake hides: use "
            "ipynb, whose cells contain the numbers, or leave one out");
    }
}

/// Adds code lines to a document or, with a hidden mistake, the numbers themselves.
void add_lines(const Arguments& arguments, const attn::Plan& plan, const attn::StepTable& table,
               attn::Document& document) {
    const attn::CodeLanguage usual = language_of(form_of(plan));
    attn::PrintOptions options = print_options(arguments);
    if (arguments.has(flags::hide_mistake)) return attn::add_literals(document, usual, options);
    if (format_of(arguments).is_program) options.default_dtype = default_dtype_of(plan);
    attn::add_code(document, plan, table, code_language(arguments, usual), options);
}

/// Returns the matrices that a page leaves out without --detail: those of more than 1 MB.
std::vector<std::string> left_out_of_page(const Arguments& arguments, const attn::StepTable& table,
                                          const attn::Ledger& ledger) {
    constexpr std::size_t large = 125'000;
    std::vector<std::string> left_out;
    for (const attn::Step& step : table) {
        const attn::Tensor* const tensor = ledger.find(step.name);
        const bool is_matrix = step.kind == attn::Step::Kind::parameter && tensor != nullptr;
        if (is_matrix && tensor->size() > large && !arguments.has(flags::detail)) {
            left_out.push_back(step.name);
        }
    }
    return left_out;
}

/// Adds derivations to a page; cells computed from a matrix that it leaves out name the command
/// that derives them.
void answer(const std::vector<std::string>& left_out, const attn::Plan& plan,
            const attn::StepTable& table, const attn::Ledger& ledger, attn::Document& document) {
    std::erase_if(document.sections, [&](const attn::Section& section) {
        return std::ranges::find(left_out, section.name) != left_out.end();
    });
    attn::add_derivations(document, plan, table, ledger, left_out);
}

/// Returns the document of a walk, or of the selected parts of it.
attn::Document walk_document(const Arguments& typed, const attn::Plan& plan,
                             const attn::StepTable& table) {
    const bool hides = typed.has(flags::hide_mistake);
    const Arguments arguments = hides ? without_mistake(typed) : typed;
    const bool is_page = format_of(arguments).answers;
    const attn::Ledger given = attn::draw(plan);
    double numbers = is_page ? attn::memory_needs(plan).bytes / plan.number_bytes() : 0;
    const std::vector<std::string> left_out =
        is_page ? left_out_of_page(arguments, table, given) : std::vector<std::string>();
    for (const std::string& name : left_out) numbers -= static_cast<double>(given[name].size());
    const bool is_large = numbers > most_on_page;
    if (is_page && !arguments.has(flags::only)) check_page(numbers);
    attn::Document document;
    if (walks_in_parts(arguments, plan, given, table)) {
        const std::vector<attn::WantedPart> wanted = wanted_parts(arguments);
        document =
            document_of_parts(plan, table, wanted, attn::walk_parts(plan, given, table, wanted));
        document.config = config_entries(arguments, plan);
        note_changes(plan);
        return document;
    }
    const attn::Ledger ledger = attn::walk(plan, given, table);
    note_empty_rows(plan, ledger);
    document = attn::document_of(plan, ledger, table, prints_notes(arguments));
    if (arguments.has(flags::detail)) attn::add_rounding(document, plan, table, ledger);
    document.config = config_entries(arguments, plan);
    if (arguments.has(flags::summary) && !arguments.has(flags::only)) {
        document.counts = attn::counts_text(plan, table);
        attn::add_costs(document, plan, table);
    }
    if (bugs_of(arguments, plan).empty()) note_equal_rules(plan, given, ledger, document);
    add_verdict(ledger, document);
    if (plan.config.models_own) mark_changes(arguments, plan, ledger, document);
    if (wants_bounds(arguments)) attn::add_bounds(document, plan, table, ledger);
    if (wants_code(arguments)) add_lines(typed, plan, table, document);
    if (is_page && !is_large && !hides) answer(left_out, plan, table, ledger, document);
    if (!plan.config.attentions.empty())
        add_forms(arguments, plan, given, ledger, is_page, document);
    // The page of the right walk has derivations for its cells.
    for (attn::Section& section : document.sections) {
        if (hides && is_page) section.derived_by = command_line("", arguments);
    }
    const auto note_of_part = [&](const attn::Section& section,
                                  const std::vector<attn::AxisPart>& part) {
        if (!prints_notes(arguments)) return std::string();
        const attn::Step& step = attn::find_step(table, section.name);
        return attn::step_note({plan, table, step}, ledger, part);
    };
    select_sections(arguments, document, note_of_part,
                    format_of(arguments).keeps_all() && !is_large);
    if (!hides && takes_hints(arguments)) document.next = next_command(arguments, plan, ledger);
    return document;
}

/// Adds the flags of --html-compare to the others.
Arguments others_of(const Arguments& arguments) {
    return with_flags(arguments, shell_words(arguments[flags::html_compare]));
}

/// Returns the walk of --html-compare.
std::shared_ptr<const attn::Document> other_document(const Arguments& arguments) {
    const Arguments others = others_of(arguments);
    const attn::Plan plan = attn::resolve(config_of(others));
    attn::Document other = walk_document(others, plan, *shown_table(others, plan));
    other.name = arguments[flags::html_compare];
    return std::make_shared<const attn::Document>(std::move(other));
}

/// Marks the steps of --blank.
void leave_blank(const Arguments& arguments, attn::Document& document) {
    if (!arguments.has(flags::blank)) return;
    for (const std::string& name : split(arguments[flags::blank], ',')) {
        const auto found = std::ranges::find(document.sections, name, &attn::Section::name);
        if (found == document.sections.end() || found->completed == nullptr) {
            throw attn::ConfigError(
                "--blank: '" + name +
                "' is not a computed step of this walk: --list-steps lists them");
        }
        found->blank = true;
    }
    // Notes of these steps and of later ones contain the answers.
    auto section = std::ranges::find(document.sections, true, &attn::Section::blank);
    for (; section != document.sections.end(); ++section) section->note = {};
}

/// Computes and prints one walk.
attn::Document print_walk(const Arguments& arguments, const attn::Plan& plan,
                          std::shared_ptr<const attn::Document> before) {
    const auto shown = shown_table(arguments, plan);
    const attn::StepTable& table = *shown;
    attn::Document document = walk_document(arguments, plan, table);
    if (format_of(arguments).has_rules || arguments.has(flags::save_dir))
        attn::add_rules(document, plan, table);
    if (format_of(arguments).answers && static_cast<double>(numbers_of(document)) < most_on_page)
        add_memory(arguments, plan, document);
    document.command = command_line(
        "", arguments.has(flags::hide_mistake) ? without_mistake(arguments) : arguments);
    leave_blank(arguments, document);
    if (before == nullptr) document.opening = opening_of(arguments, plan);
    if (takes_hints(arguments)) document.word_columns = terminal_columns(arguments).value_or(0);
    document.before = std::move(before);
    if (arguments.has(flags::html_compare) && format_of(arguments).answers) {
        document.name = "this walk";
        document.other = other_document(arguments);
    }
    if (format_of(arguments).answers) check_page(static_cast<double>(numbers_of(document)));
    const bool is_program = format_of(arguments).is_program;
    write_document(arguments, document, form_of(plan),
                   is_program ? default_dtype_of(plan) : plan.default_dtype());
    const Format& format = format_of(arguments, form_of(plan));
    const bool is_numpys =
        format.name == "numpy" || format.name.starts_with("np") || arguments.has(flags::save_dir);
    if (is_numpys && plan.compute_dtype == attn::DType::bfloat16) {
        report_note("NumPy has no bfloat16: these are the same numbers in float32");
    }
    if (format.printed == nullptr && format.name != "json" && !document.verdict.empty()) {
        report_note(document.verdict);
    }
    document.before = nullptr;
    return document;
}

std::shared_ptr<const attn::Document> walk_once(const Arguments& arguments,
                                                std::shared_ptr<const attn::Document> before) {
    const attn::Plan plan = attn::resolve(config_of(arguments));
    return std::make_shared<const attn::Document>(print_walk(arguments, plan, std::move(before)));
}

int run_walk(const Arguments& typed) {
    const Arguments arguments = is_live(typed) ? as_live(typed) : typed;
    if (arguments.has(flags::list_presets)) {
        note_unused_flags(arguments,
                          {flags::list_presets, flags::output, flags::json, flags::format},
                          "a walk: leave --list-presets out");
        write_presets(arguments);
        return 0;
    }
    check_output_flags(arguments);
    if (arguments.has(flags::list_layers)) {
        if (!arguments.has(flags::model_file)) {
            throw attn::ConfigError("--list-layers needs a model: pass --model-file stories");
        }
        note_unused_flags(arguments,
                          {flags::list_layers, flags::output, flags::json, flags::format,
                           flags::model_file, flags::tokenizer},
                          "a walk: leave --list-layers out");
        write_layers(arguments);
        return 0;
    }
    attn::WalkConfig config = config_of(arguments);
    if (wants_code(arguments)) require_all_steps(config, "--code");
    const attn::Plan plan = attn::resolve(std::move(config));
    if (arguments.has(flags::html_compare)) {
        const Arguments others = others_of(arguments);
        const attn::Plan other = attn::resolve(config_of(others));
        note_useless_flags({{arguments, &plan}, {others, &other}});
    } else {
        note_useless_flags(arguments, &plan);
    }
    check_hidden(arguments, plan);
    note_unread_input(arguments);
    if (plan.config.projection == attn::Projection::mha && !plan.config.bias)
        report_note("nn.MultiheadAttention has biases that start at 0: --bias --output-bias");
    for (const Name& list : {flags::list_steps, flags::list_rules}) {
        if (!arguments.has(list)) continue;
        note_unused_flags(arguments.narrowed_to({output_flags, print_flags}),
                          {flags::format, flags::color},
                          "a walk: leave " + std::string(list) + " out");
        const auto shown = shown_table(arguments, plan);
        const attn::StepTable& table = *shown;
        list.text == flags::list_rules.text
            ? write_rules(arguments, plan, table)
            : write_steps(arguments, steps_of(plan, table), "--detail");
        return 0;
    }
    if (arguments.has(flags::watch)) watch(arguments, walk_once);
    return print_walk(arguments, plan, nullptr).is_wrong ? 1 : 0;
}

}  // namespace

Command walk_command() {
    return {"",
            "attention, step by step, correct to the last digit",
            {walk_flags, notebook_walk_flags, config_flags, bug_flags, walk_own_flags, output_flags,
             file_flags, json_flags, print_flags},
            run_walk,
            {{"attn-explain", "Computes attention over the default sentence with one small head."},
             {"attn-explain --text 'the cat sat' --heads 2 --mask causal --output-projection",
              "Your words, two heads, no token sees later ones."},
             {"attn-explain --batch 2 --seq-len 4 --embed-dim 8 --format json",
              "Drawn numbers, every tensor and setting as JSON."},
             {"attn-explain --only 'weights[0,:],context' --precision 6",
              "One row of the weights and the context, with six decimals."}}};
}

}  // namespace app
