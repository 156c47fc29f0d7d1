#include "app/commands/notebook_changes.hpp"

#include <algorithm>
#include <array>
#include <list>
#include <map>

#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/explain/notes/notes.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

/// Prefix of a remark on a cell that could not take the settings.
const std::string still = "As on the page: ";

bool is_replay_setting(const Arguments::SpecifiedFlag& specified) {
    return specified.flag->is(of_replay);
}

bool is_change(const Arguments::SpecifiedFlag& specified) {
    if (is_replay_setting(specified)) return false;
    return std::ranges::any_of(std::array{&walk_flags(), &bug_flags()}, [&](const auto* rows) {
        return specified.flag >= rows->data() && specified.flag < rows->data() + rows->size();
    });
}

std::string changes_text(const Arguments& arguments,
                         bool (*counts)(const Arguments::SpecifiedFlag&) = is_change) {
    std::string text;
    for (const Arguments::SpecifiedFlag& specified : arguments.specified()) {
        if (!counts(specified)) continue;
        text += (text.empty() ? "" : " ") + specified.flag->name;
        if (!specified.text.empty()) text += " " + shell_quoted(specified.text);
    }
    return text;
}

/// A walk of the notebook and the same under the typed settings, or the reason why it cannot take
/// them.
struct ChangedWalk {
    attn::Ledger before;
    std::string trouble;
    attn::Walked now;
    attn::Document steps;
};

ChangedWalk changed_walk(const Arguments& arguments, const attn::NotebookWalk& walk) {
    const Arguments flags = walk_arguments(arguments, walk);
    ChangedWalk changed;
    changed.before = attn::performed(walk).ledger;
    try {
        changed.now.plan = attn::resolve(config_of(flags));
        changed.now.table = *table_of(flags, changed.now.plan);
    } catch (const attn::InputError&) {
        throw;
    } catch (const attn::Error& error) {
        changed.trouble = error.what();
        return changed;
    }
    auto& [plan, table, ledger] = changed.now;
    ledger = attn::walk(plan, attn::draw(plan), table);
    changed.steps = attn::document_of(plan, ledger, table);
    return changed;
}

attn::Tensor extracted(const attn::Ledger& ledger, const attn::WantedPart& part) {
    const attn::Tensor* step = ledger.find(part.name);
    if (step == nullptr) {
        throw attn::ConfigError("there is no " + part.name + " with these settings");
    }
    return part.sliced ? attn::slice(*step, part.indices) : *step;
}

/// True if a cell's numbers are unchanged.
bool is_as_before(const attn::Section& cell, const ChangedWalk& walk) {
    return std::ranges::all_of(parts_in(cell.parts), [&](const attn::WantedPart& part) {
        return attn::same_numbers(extracted(walk.before, part), extracted(walk.now.ledger, part));
    });
}

/// Returns a walk's note on a part of one of its steps, or on a part of that part.
std::string note_of(const attn::Walked& walk, const attn::WantedPart& part,
                    const std::vector<attn::AxisPart>& inner) {
    const attn::Tensor& tensor = walk.ledger[part.name];
    const attn::Step& step = attn::find_step(walk.table, part.name);
    const auto outer = attn::slice_parts(tensor, part.sliced ? part.indices : "...");
    return attn::step_note({walk.plan, walk.table, step}, walk.ledger,
                           inner.empty() ? outer : attn::nested(outer, inner));
}

/// Updates the words of a cell that shows a step. The prefix `cell 39, ` stays.
void describe_change(attn::Section& cell, const ChangedWalk& walk) {
    const std::string step = before(cell.parts, '[');
    const auto displayed_section =
        std::ranges::find(walk.steps.sections, step, &attn::Section::name);
    const std::size_t comma =
        cell.title.raw().starts_with("cell ") ? cell.title.raw().find(", ") + 2 : 0;
    const bool shape = std::holds_alternative<std::string>(cell.content);
    const bool part = step != cell.parts;
    cell.title = cell.title.raw().substr(0, comma) +
                 (shape ? attn::Prose("the shape of " + cell.parts)
                        : displayed_section->title + (part ? ", a part" : ""));
    cell.formula = displayed_section->formula;
    cell.note = shape ? "" : note_of(walk.now, parts_in(cell.parts).front(), {});
    cell.margin = displayed_section->margin;
}

/// Puts the numbers of a changed walk into a cell, and marks it if they differ.
void change(attn::Section& cell, const ChangedWalk& walk, attn::CodeLanguage language,
            const std::string& changes) {
    if (!walk.trouble.empty()) {
        cell.margin =
            still + walk.trouble + (cell.margin.empty() ? attn::Prose() : ". " + cell.margin);
        return;
    }
    attn::Section now = cell;
    std::string gone;
    try {
        if (is_as_before(cell, walk)) return;
        now.content = attn::content_of(cell, walk.now.plan, walk.now.ledger, language);
    } catch (const attn::ConfigError& error) {
        gone = error.what();
    } catch (const attn::ShapeError& error) {
        gone = error.what();
    }
    now.note = now.margin = {};
    now.code = now.suffix = "";
    now.formula = "after it: " + cell.parts + " of the walk";
    if (!gone.empty()) {
        now.content = "none: " + gone;
    } else if (!cell.remake) {
        describe_change(now, walk);
    }
    mark_changed(now, "Differs from the page: " + changes + ".");
    cell = std::move(now);
}

/// Marks each cell that differs from the notebook with the setting of the replay that caused it.
void mark_replay(const Arguments& arguments, const attn::Notebook& notebook,
                 const attn::ReplayOptions& replay, attn::Document& page) {
    const std::string settings = changes_text(arguments, is_replay_setting);
    if (settings.empty()) return;
    attn::ReplayOptions as_written;
    as_written.corrected = replay.corrected;
    const attn::Document before = notebook.replay(as_written);
    const attn::TextForm form = form_of(notebook.language);
    for (attn::Section& cell : page.sections) {
        const auto old = std::ranges::find(before.sections, cell.name, &attn::Section::name);
        if (old != before.sections.end() &&
            attn::content_text(*old, form, {}) == attn::content_text(cell, form, {})) {
            continue;
        }
        mark_changed(cell, "Differs from the page: " + settings + ".");
    }
}

}  // namespace

bool changes_settings(const Arguments& arguments) {
    return std::ranges::any_of(arguments.specified(), is_change);
}

void note_useless_settings(const Arguments& arguments, const attn::Notebook& notebook,
                           const attn::ReplayOptions& replay) {
    std::list<std::pair<Arguments, attn::Plan>> walks;
    for (const attn::NotebookWalk& walk : notebook.walks(replay)) {
        const Arguments flags = walk_arguments(arguments, walk);
        try {
            walks.emplace_back(flags, attn::resolve(config_of(flags)));
        } catch (const attn::Error&) {  // reported at the cells that these settings do not fit
        }
    }
    std::vector<FlagUse> uses;
    for (const auto& [flags, plan] : walks) uses.push_back({flags, &plan});
    if (uses.empty()) uses.push_back({arguments, nullptr});
    note_useless_flags(uses);
}

void note_no_change(const Arguments& arguments, const attn::Notebook& notebook,
                    const attn::ReplayOptions& replay, const attn::Document& shown) {
    const auto is_reported = [](const attn::Section& cell) {
        return cell.changed || cell.margin.raw().starts_with(still);
    };
    if (!changes_settings(arguments) || std::ranges::any_of(shown.sections, is_reported)) return;
    std::vector<std::string> mistakes;
    for (const attn::NotebookWalk& walk : notebook.walks(replay)) {
        for (const std::string& id : walk.mistakes) {
            if (std::ranges::count(mistakes, id) == 0) mistakes.push_back(id);
        }
    }
    report_note(changes_text(arguments) + " changes no number here: the page's walk " +
                (mistakes.empty() ? "already has it"
                                  : "already has it, or its mistakes (" + attn::joined(mistakes) +
                                        ") hide its effect"));
}

Arguments walk_arguments(const Arguments& arguments, const attn::NotebookWalk& walk) {
    Arguments flags = arguments;
    set_walk_defaults(flags, walk);
    return flags;
}

NoteOfPart notes_of_cells(const Arguments& arguments, const attn::Notebook& notebook,
                          const attn::ReplayOptions& replay) {
    return [arguments, &notebook, replay](const attn::Section& cell,
                                          const std::vector<attn::AxisPart>& inner) -> std::string {
        const std::vector<attn::WantedPart> parts = parts_in(cell.parts);
        if (cell.walk.empty() || cell.remake || parts.size() != 1) return {};
        const auto has_its_numbers = [&](const attn::Ledger& ledger) {
            const attn::Tensor* step = ledger.find(parts.front().name);
            return step != nullptr && attn::same_numbers(extracted(ledger, parts.front()),
                                                         std::get<attn::Tensor>(cell.content));
        };
        // Try the page's own walks first: if they have the numbers, no other walk is needed.
        for (const bool typed : {false, true}) {
            for (const bool corrected : {false, true}) {
                attn::ReplayOptions version = replay;
                version.corrected = corrected;
                for (const attn::NotebookWalk& walk : notebook.walks(version)) {
                    if (walk.name != cell.walk) continue;
                    const ChangedWalk changed =
                        typed ? changed_walk(arguments, walk) : ChangedWalk();
                    const attn::Walked walked = typed ? changed.now : attn::performed(walk);
                    if (!changed.trouble.empty() || !has_its_numbers(walked.ledger)) continue;
                    return note_of(walked, parts.front(), inner);
                }
            }
        }
        return {};
    };
}

attn::Document changed_page(const Arguments& arguments, const attn::Notebook& notebook,
                            const attn::ReplayOptions& replay) {
    attn::Document page = notebook.replay(replay);
    mark_replay(arguments, notebook, replay, page);
    if (!changes_settings(arguments)) return page;

    for (const Arguments::SpecifiedFlag& specified : arguments.specified()) {
        if (!is_change(specified) || (specified.text != "-" && !specified.text.starts_with("-:")))
            continue;
        throw attn::ConfigError(
            specified.flag->name +
            " - would be read by each walk of the notebook: put it into a file");
    }

    // Walk again if the settings fit.
    std::map<std::string, ChangedWalk> walks;
    std::string trouble;
    for (const attn::NotebookWalk& walk : notebook.walks(replay)) {
        const ChangedWalk& changed =
            walks.emplace(walk.name, changed_walk(arguments, walk)).first->second;
        if (trouble.empty()) trouble = changed.trouble;
    }
    if (std::ranges::none_of(walks, [](const auto& walk) { return walk.second.trouble.empty(); })) {
        throw attn::ConfigError(trouble);
    }

    // Fill in the numbers, and label the axes with these tokens.
    const std::string changes = changes_text(arguments);
    for (attn::Section& cell : page.sections) {
        if (!cell.walk.empty()) change(cell, walks.at(cell.walk), notebook.language, changes);
    }
    const attn::Plan& plan = walks.begin()->second.now.plan;
    if (trouble.empty()) {
        page.query_tokens = plan.query_tokens;
        page.key_tokens = plan.key_tokens;
    } else if (plan.query_tokens != page.query_tokens) {
        page.query_tokens = page.key_tokens = {};
    }
    page.config.emplace_back("changed", attn::json_string(changes));
    return page;
}

}  // namespace app
