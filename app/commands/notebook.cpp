#include "attn/learn/notebooks/notebook.hpp"
#include "attn/explain/document/document.hpp"

#include <algorithm>
#include <array>

#include "app/commands/commands.hpp"
#include "app/commands/notebook_changes.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/stepper/step_commands.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

void write_notebooks(const Arguments& arguments) {
    std::string text;
    std::vector<attn::JsonText> rows;
    for (const attn::Notebook& each : attn::notebooks()) {
        text += list_entry(arguments, each.number + "  " + each.name, 20, each.summary);
        rows.push_back({{"number", each.number}, {"name", each.name}, {"summary", each.summary}});
    }
    write_text_or_json(arguments, text, rows);
}

attn::ReplayOptions replay_of(const Arguments& arguments) {
    attn::ReplayOptions replay;
    if (arguments.has(flags::seed)) replay.seed = arguments[flags::seed];
    replay.variant = arguments[flags::variant];
    if (replay.variant == attn::Variant::fused) {
        throw attn::ConfigError(
            "a notebook shows its scores and weights, which --variant fused does not keep: use "
            "loop or vectorized");
    }
    replay.torch_build = arguments[flags::torch_build];
    replay.corrected = arguments.has(flags::corrected);
    const bool is_page = format_of(arguments).answers && !changes_settings(arguments);
    replay.code = wants_code(arguments) || arguments.has(flags::step) || is_page;
    return replay;
}

/// Refuses a language other than the notebook's.
void check_language(const Arguments& arguments, const attn::Notebook& notebook) {
    if (code_language(arguments, notebook.language) == notebook.language) return;
    const bool torch = notebook.language == attn::CodeLanguage::torch;
    throw attn::ConfigError("the notebook " + notebook.name + " is written for " +
                            (torch ? "PyTorch" : "NumPy") + ": use --code " +
                            (torch ? "torch" : "numpy"));
}

/// Refuses flags that the chosen way to show a notebook does not have.
void check_stepping(const Arguments& arguments) {
    const bool steps = arguments.has(flags::step);
    if (!steps && arguments.has_any({flags::lines, flags::full_screen, flags::script})) {
        throw attn::ConfigError("--script, --lines and --full-screen set how to step: add --step");
    }
    if (steps && (!arguments.has(flags::name) ||
                  arguments.has_any({flags::format, flags::json, flags::output, flags::save_dir,
                                     flags::heatmap, flags::code}))) {
        throw attn::ConfigError(
            "--step needs the name of a notebook, and none of --format, --output, --save-dir, "
            "--heatmap and --code");
    }
}

/// Refuses to write code for changed settings: the lines are those of the original page.
void check_changes(const Arguments& arguments) {
    if (!changes_settings(arguments) || !wants_code(arguments)) return;
    throw attn::ConfigError(
        "a notebook's lines of code compute its own numbers: leave --code and --format ipynb out, "
        "or pass the line of --as-flags with your settings");
}

/// Returns the command of a walk that gives a cell's numbers, without line break. Settings that
/// cannot be typed are those of the notebook's cell, which it names then.
std::string flags_line(const Arguments& arguments, const attn::Notebook& notebook, bool corrected,
                       attn::NotebookWalk walk, const attn::Section& cell) {
    Arguments typed =
        arguments.narrowed_to({walk_flags, bug_flags, print_flags, notebook_walk_flags});
    if (changes_settings(arguments)) {
        const Arguments all = walk_arguments(arguments, walk);
        const std::vector<std::string> bugs = bugs_of(all, attn::resolve(config_of(all)));
        std::erase_if(walk.mistakes, [&](const std::string& id) {
            return std::find(bugs.begin(), bugs.end(), id) == bugs.end();
        });
    }
    std::vector<Arguments::SpecifiedFlag> specified = flags_of(walk);
    if (std::erase_if(specified, [](const auto& each) { return each.flag->is(of_pages); }) > 0) {
        typed.set(flags::notebook, notebook.number + ":" + cell.name);
        if (corrected) typed.set(flags::corrected, "");
    }
    Arguments base(typed.tables());
    base.specify(specified);
    set_default_settings(typed, std::move(base));
    typed.set(flags::only, cell.parts);
    return command_line("", typed);
}

/// Adds to each section the command that derives its numbers.
void name_the_walks(const Arguments& arguments, const attn::Notebook& notebook,
                    attn::ReplayOptions replay, attn::Document& page) {
    const std::vector<attn::NotebookWalk> walks = notebook.walks(replay);
    for (attn::Section& section : page.sections) {
        if (section.walk.empty()) continue;
        const attn::NotebookWalk& walk = attn::find_walk(walks, section.walk);
        section.derived_by =
            flags_line(arguments, notebook, replay.corrected, walk, section) + " --format html";
    }
}

/// Returns the replay next to the other one: as printed and corrected.
attn::Document on_one_page(const Arguments& arguments, const attn::Notebook& notebook,
                           attn::ReplayOptions replay, attn::Document document) {
    static constexpr std::array<const char*, 2> names{"as printed", "corrected"};
    document.name = names[replay.corrected ? 1 : 0];
    name_the_walks(arguments, notebook, replay, document);
    replay.corrected = !replay.corrected;
    attn::Document other = changed_page(arguments, notebook, replay);
    other.name = names[replay.corrected ? 1 : 0];
    name_the_walks(arguments, notebook, replay, other);
    document.other = std::make_shared<const attn::Document>(std::move(other));
    return document;
}

/// Returns the page, or both versions if it is corrected or the format shows derivations.
attn::Document replayed(const Arguments& arguments, const attn::Notebook& notebook,
                        attn::ReplayOptions replay, const Format& format) {
    attn::Document document = changed_page(arguments, notebook, replay);
    if (format.answers) return on_one_page(arguments, notebook, replay, std::move(document));
    if (!replay.corrected) return document;
    replay.corrected = false;
    // A program runs once: the corrected notebook follows the original one.
    const auto both = format.runs ? attn::one_after_the_other : attn::both_replays;
    return both(changed_page(arguments, notebook, replay), document);
}

/// Writes for each cell, or for those that CELL names, the command of a walk that gives its
/// numbers. The whole text is a shell script.
void write_as_flags(const Arguments& arguments, const attn::Notebook& notebook,
                    attn::ReplayOptions replay) {
    replay.code = false;
    const std::vector<attn::NotebookWalk> walks = notebook.walks(replay);
    const attn::Document page = notebook.replay(replay);
    const bool one = arguments.has(flags::cell);
    std::vector<attn::Section> cells = page.sections;
    if (one) cells = cells_named(notebook, page, arguments[flags::cell]);
    if (!one) std::erase_if(cells, [](const attn::Section& cell) { return !cell.shown; });
    std::string text, trouble;
    std::vector<attn::JsonText> rows;
    for (const attn::Section& cell : cells) {
        std::optional<std::string> line;
        if (!cell.walk.empty()) {
            line = flags_line(arguments, notebook, replay.corrected,
                              attn::find_walk(walks, cell.walk), cell);
        }
        rows.push_back({{"cell", cell.name}, {"title", cell.title.raw()}, {"command", line}});
        if (cells.size() > 1)
            text += "# " + cell.name + ": " + cell.title.visible() +
                    (cell.remake ? "; after it:" : "") + "\n";
        if (line) {
            text += *line + "\n";
        } else {
            text += "# no walk computes it\n";
            trouble = "no walk computes " + cell.name + " of notebook " + notebook.number +
                      ": it is " + cell.formula;
        }
    }
    const auto as_text = [&] {
        if (cells.size() == 1 && !trouble.empty()) throw attn::ConfigError(trouble);
        return text;
    };
    write_text_or_json(arguments, as_text, [&] { return attn::JsonText(rows).text; });
}

/// Prints the part of a page that the flags select.
void print_notebook(const Arguments& arguments, const attn::Notebook& notebook,
                    const attn::ReplayOptions& replay, attn::Document document,
                    const NoteOfPart& note_of_part) {
    const attn::PrintOptions options = print_options(arguments);
    const Format& format = format_of(arguments, form_of(notebook.language));
    if (wants_code(arguments) && !document.sections.empty()) {
        attn::add_print_options(document, notebook.language, options);
    }
    select_sections(arguments, document, note_of_part, format.keeps_all());
    note_no_change(arguments, notebook, replay, document);
    if (document.other != nullptr) {
        const auto other = std::make_shared<attn::Document>(*document.other);
        select_sections(arguments, *other, note_of_part, format.keeps_all());
        document.other = other;
    }
    if (arguments.has(flags::corrected) && format.printed != nullptr) {
        // Use the terminal's columns, or as many as two lines need.
        const std::size_t columns =
            terminal_columns(arguments).value_or(2 * options.linewidth.value_or(80) + 3);
        document = attn::side_by_side(document, *format.printed, options, columns);
    }
    document.command = command_line("notebook", arguments);
    write_document(arguments, document, form_of(notebook.language), attn::DType::float32);
}

/// Moves CELL into --only, and replaces the notebook's numbers and names by those of sections.
void choose_cells(Arguments& arguments, const attn::Document& page) {
    std::vector<std::string> chosen;
    if (arguments.has(flags::cell)) chosen.push_back(arguments[flags::cell]);
    if (arguments.has(flags::only)) chosen.push_back(arguments[flags::only]);
    if (chosen.empty()) return;
    arguments.set(flags::only, sections_named(page, attn::joined(chosen, ",")));
}

int run_notebook(const Arguments& typed) {
    Arguments arguments = typed;
    check_output_flags(arguments);
    check_stepping(arguments);
    if (!arguments.has(flags::name)) {
        const bool by_format = arguments[flags::format] == "json";
        note_unused_flags(arguments,
                          {flags::output, flags::json, by_format ? flags::format : flags::output},
                          "the name of a notebook");
        write_notebooks(arguments);
        return 0;
    }
    const attn::Notebook& notebook = attn::find_notebook(arguments[flags::name]);
    check_language(arguments, notebook);
    const attn::ReplayOptions replay = replay_of(arguments);
    note_useless_settings(arguments, notebook, replay);
    if (arguments.has(flags::as_flags)) {
        write_as_flags(arguments, notebook, replay);
        return 0;
    }
    check_changes(arguments);
    attn::Document document =
        replayed(arguments, notebook, replay, format_of(arguments, form_of(notebook.language)));
    choose_cells(arguments, document);
    if (arguments.has(flags::list_steps)) {
        note_unused_flags(arguments.narrowed_to({step_flags, output_flags, print_flags}),
                          {flags::format, flags::color},
                          "the notebook's numbers: leave --list-steps out");
        write_steps(arguments, document.sections, "--only");
        return 0;
    }
    const NoteOfPart note_of_part = notes_of_cells(arguments, notebook, replay);
    if (arguments.has(flags::step)) {
        Arguments walks = arguments.narrowed_to({walk_flags, bug_flags, notebook_walk_flags});
        walks.set(flags::notebook, notebook.number);
        Scene scene{std::move(document), form_of(notebook.language)};
        scene.page = std::move(walks);
        scene.note_of_page_part = note_of_part;
        step_through(std::move(scene), arguments);
        return 0;
    }
    print_notebook(arguments, notebook, replay, std::move(document), note_of_part);
    return 0;
}

std::vector<Flag> notebook_flags() {
    return {
        {flags::name, "NAME", "name or number of a notebook; without one they are listed",
         such_as(notebook_names)},
        {flags::cell, "CELL", "one cell, by its number, its name here or its name in the notebook"},
        {flags::as_flags, "",
         "print for each cell the command of a plain walk that gives its numbers"},
        {flags::list_steps, "", "list its cells by the names that --only takes"},
        {flags::corrected, "",
         "print each cell also with the mistakes corrected, side by side if they differ"},
        {flags::step, "", "step through it with the keyboard or from a script"},
    };
}

}  // namespace

Command notebook_command() {
    return {"notebook",
            "replay a notebook, or list them",
            {table<notebook_flags>, config_flags, step_flags, output_flags, file_flags, json_flags,
             print_flags, bug_flags, walk_flags},
            run_notebook,
            {{"attn-explain notebook", "Lists the notebooks."},
             {"attn-explain notebook 000 --corrected",
              "One of them, with its mistakes and without them."},
             {"attn-explain notebook 002 --as-flags weights",
              "The flags that compute the numbers of one of its cells."}}};
}

}  // namespace app
