#include "app/flags/notebook_walk.hpp"

#include <algorithm>
#include <map>

#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/compare.hpp"
#include "attn/judge/diagnose/user_tensors.hpp"

namespace app {
namespace {

/// Returns the page without code, replayed once because it never changes.
const attn::Document& page_of(const attn::Notebook& notebook, bool corrected) {
    static std::map<std::pair<std::string, bool>, attn::Document> pages;
    const std::pair key{notebook.number, corrected};
    auto page = pages.find(key);
    if (page == pages.end()) {
        page = pages.emplace(key, notebook.replay({.corrected = corrected, .code = false})).first;
    }
    return page->second;
}

/// True if the walk has none of the notebook's mistakes, or cannot have them.
bool is_corrected(const Arguments& arguments) {
    return arguments.find(flags::bugs) == nullptr || arguments.has(flags::corrected);
}

struct NamedNotebook {
    const attn::Notebook& notebook;
    std::string cell;  ///< empty without one
    bool corrected;

    const attn::Document& page() const { return page_of(notebook, corrected); }
    std::vector<attn::NotebookWalk> walks() const {
        return notebook.walks({.corrected = corrected});
    }
};

std::optional<NamedNotebook> named(const Arguments& arguments) {
    // `practice --notebook` writes a notebook, and has none of these flags.
    if (!arguments.has(flags::notebook) || arguments.find(flags::corrected) == nullptr) return {};
    const std::string specified = arguments[flags::notebook];
    const attn::Notebook& notebook = attn::find_notebook(before(specified, ':'));
    NamedNotebook result{notebook,
                         specified.substr(std::min(specified.size(), specified.find(':'))),
                         is_corrected(arguments)};
    if (result.cell == ":") cells_named(notebook, result.page(), "");
    if (!result.cell.empty()) result.cell.erase(0, 1);
    return result;
}

/// Returns the section with that name, else all sections of the notebook's cell with that number or
/// name.
std::vector<const attn::Section*> sections_of(const attn::Document& page, const std::string& name) {
    std::vector<const attn::Section*> found;
    for (const attn::Section& section : page.sections) {
        if (section.name == name) return {&section};
        const bool is_number = section.title.raw().starts_with("cell " + name + ",");
        const bool is_called = !name.empty() && attn::has_name(section.called, name);
        if (is_number || is_called) found.push_back(&section);
    }
    return found;
}

/// Returns the section that a cell is derived from: the first with a walk.
const attn::Section* find_section(const attn::Document& page, const std::string& cell) {
    const std::vector<const attn::Section*> found = sections_of(page, before(cell, '['));
    const auto outcome = std::ranges::find_if(found, [](auto* one) { return !one->walk.empty(); });
    return outcome != found.end() ? *outcome : found.empty() ? nullptr : found.front();
}

/// Returns the name of the requested walk: that of --notebook's cell, or of CELL; else empty.
std::string intended_walk(const Arguments& arguments, const NamedNotebook& specified) {
    if (specified.cell.empty()) {
        if (arguments.find(flags::cell) == nullptr) return {};
        const attn::Section* section = find_section(specified.page(), arguments[flags::cell]);
        return section == nullptr ? "" : section->walk;
    }
    for (const attn::Section& section :
         cells_named(specified.notebook, specified.page(), specified.cell)) {
        if (!section.walk.empty()) return section.walk;
    }
    throw attn::ConfigError("--notebook " + arguments[flags::notebook] +
                            ": no walk computes this cell; attn-explain notebook " +
                            specified.notebook.number + " --as-flags lists those of others");
}

std::string indices_of(const attn::WantedPart& part) { return part.sliced ? part.indices : "..."; }

/// Returns the index in the part for a cell of the page, given its place on each axis.
std::string index_text(const std::vector<attn::AxisPart>& part,
                       const std::vector<std::string>& words) {
    std::string text;
    std::size_t axis = 0;
    for (const attn::AxisPart& one : part) {
        std::string word = one.drops_axis ? "0" : words[axis++];
        if (word.find_first_not_of("0123456789") == std::string::npos) {
            const std::int64_t index = parse_integer("CELL", word, 0, 1'000'000'000);
            word = std::to_string(one.first + index * one.step);
        }
        text += (text.empty() ? "" : ",") + word;
    }
    return text;
}

/// Returns the cell of a tensor that concatenates parts, one number of each: the same offset in
/// each part. Empty if it is computed in another way.
std::string cell_of_parts(const std::vector<attn::WantedPart>& parts, const attn::Ledger& ledger,
                          const attn::Tensor& outcome, std::vector<std::size_t> indices) {
    std::vector<attn::Shape> shapes;
    std::size_t count = 0;
    for (const attn::WantedPart& part : parts) {
        shapes.push_back(attn::slice(ledger[part.name], indices_of(part)).shape());
        count += attn::element_count(shapes.back());
    }
    if (count != outcome.size()) return {};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        attn::Shape side = outcome.shape();
        side.back() = side.back() * attn::element_count(shapes[i]) / count;
        if (indices.back() >= side.back()) {
            indices.back() -= side.back();
            continue;
        }
        const auto there = collected(attn::indices_of(attn::flat_index(indices, side), shapes[i]),
                                     [](std::size_t index) { return std::to_string(index); });
        return parts[i].name + "[" +
               index_text(attn::slice_parts(ledger[parts[i].name], indices_of(parts[i])), there) +
               "]";
    }
    return {};
}

}  // namespace

std::vector<std::string> notebook_names() {
    std::vector<std::string> all;
    for (const attn::Notebook& notebook : attn::notebooks()) {
        all.push_back(notebook.number);
        all.push_back(notebook.name);
    }
    return all;
}

const std::vector<Flag>& notebook_walk_flags() {
    static const std::vector<Flag> all = grouped(
        "Input (one source; default: a sentence)",
        {Flag{flags::notebook, "NAME[:CELL]",
              "the settings of a replayed notebook, or of one of its cells: 002:weights; other "
              "flags override them",
              such_as(notebook_names)},
         Flag{flags::corrected, "", "with --notebook: the walk without the notebook's mistakes"}
             .needing(with<flags::notebook>("--notebook"))
             .in_group("Mistakes")});
    return all;
}

std::vector<Arguments::SpecifiedFlag> flags_of(const attn::NotebookWalk& walk) {
    // Without a source the program walks through a sentence, but the library draws x.
    const auto* drawn = std::get_if<attn::RandomInput>(&walk.config.input);
    std::vector<Arguments::SpecifiedFlag> specified;
    for (const Flag& flag : walk_flags()) {
        for (const std::vector<std::string>& names : walk.config.names) {
            if (flag.is(flags::tokens)) specified.push_back({&flag, attn::joined(names, ",")});
        }
        if (flag.setting == nullptr) continue;
        std::optional<std::string> text = attn::specified(*flag.setting, walk.config);
        if (drawn != nullptr && flag.is(flags::random)) text = attn::word(drawn->distribution);
        if (text) specified.push_back({&flag, flag.takes_value() ? *text : ""});
    }
    for (const std::string& id : walk.mistakes) specified.push_back({&bug_flags().front(), id});
    return specified;
}

std::vector<attn::Section> cells_named(const attn::Notebook& notebook, const attn::Document& page,
                                       const std::string& name) {
    std::vector<attn::Section> found;
    for (const attn::Section* section : sections_of(page, name)) found.push_back(*section);
    if (!found.empty()) return found;
    const std::vector<std::string> names = collected(page.sections, &attn::Section::name);
    const std::string lists =
        ": attn-explain notebook " + notebook.number + " --as-flags lists them";
    throw attn::ConfigError("notebook " + notebook.number + " has no cell '" + name + "'" +
                            attn::did_you_mean(name, names, lists));
}

std::string sections_named(const attn::Document& page, const std::string& only) {
    std::string text;
    for (const attn::WantedPart& part : parts_in(only)) {
        std::vector<std::string> names;
        for (const attn::Section* section : sections_of(page, part.name)) {
            const bool fits =
                !part.sliced || std::holds_alternative<attn::Tensor>(section->content);
            if (fits || section->name == part.name) names.push_back(section->name);
        }
        if (names.empty()) names = {part.name};
        for (const std::string& name : names) {
            text +=
                (text.empty() ? "" : ",") + name + (part.sliced ? "[" + part.indices + "]" : "");
        }
    }
    return text;
}

std::optional<attn::Section> page_section(const Arguments& arguments, const std::string& cell) {
    const std::optional<NamedNotebook> specified = named(arguments);
    if (!specified) return {};
    const attn::Section* section = find_section(specified->page(), cell);
    // If --notebook names a cell, steps of other cells' walks are not on the page.
    if (section == nullptr ||
        (!specified->cell.empty() && section->walk != intended_walk(arguments, *specified))) {
        return {};
    }
    return *section;
}

void set_walk_defaults(Arguments& arguments, const attn::NotebookWalk& walk) {
    if (arguments.has(flags::model_file)) {
        throw attn::ConfigError("--model-file and a notebook are two sources: leave one out");
    }
    Arguments base(arguments.tables());
    base.specify(flags_of(walk));
    set_default_settings(arguments, std::move(base), true);
}

void set_notebook_defaults(Arguments& arguments) {
    const std::optional<NamedNotebook> specified = named(arguments);
    if (!specified) return;
    arguments.drop_implied();
    const std::vector<attn::NotebookWalk> walks = specified->walks();
    const std::string name = intended_walk(arguments, *specified);
    set_walk_defaults(arguments, name.empty() ? walks.front() : attn::find_walk(walks, name));
}

std::map<std::string, std::string> set_defaults_from_tensors(Arguments& arguments,
                                                             const attn::Ledger& tensors) {
    const std::optional<NamedNotebook> specified = named(arguments);
    if (!specified || !specified->cell.empty()) return {};
    std::map<std::string, std::string> steps;
    for (const auto& [name, tensor] : tensors.entries()) {
        const attn::Section* const section = find_section(specified->page(), name);
        const bool is_whole = section != nullptr && !section->parts.empty() &&
                              section->parts.find_first_of("[,") == std::string::npos;
        if (is_whole && attn::known_steps(name).empty()) steps[name] = section->parts;
    }
    const std::vector<attn::NotebookWalk> walks = specified->walks();
    std::vector<std::ptrdiff_t> fitting;
    for (const attn::NotebookWalk& walk : walks) {
        const attn::Plan plan = attn::resolve(walk.config);
        const auto fits = [&](const attn::Ledger::Entry& each) {
            std::vector<std::string> may_be = attn::steps_called(each.name, plan);
            if (steps.contains(each.name)) may_be = {steps.at(each.name)};
            return std::ranges::any_of(may_be, [&](const std::string& step) {
                const attn::StepTable& table = attn::kept_table(plan);
                return attn::has_step(table, plan, step) &&
                       attn::find_step(table, step).outline(plan).shape == each.tensor.shape();
            });
        };
        fitting.push_back(std::ranges::count_if(tensors.entries(), fits));
    }
    const auto best = walks.begin() + (std::ranges::max_element(fitting) - fitting.begin());
    if (best == walks.begin()) return steps;
    const auto cell =
        std::ranges::find_if(specified->page().sections, [&](const attn::Section& each) {
            return each.walk == best->name && tensors.has(each.name);
        });
    report_note("assumed: --notebook " + specified->notebook.number +
                (cell == specified->page().sections.end() ? "" : ":" + cell->name) +
                ", the walk of your tensors' shapes");
    arguments.drop_implied();
    set_walk_defaults(arguments, *best);
    return steps;
}

std::string cell_of_walk(const attn::Section& section, const attn::Plan& plan,
                         const attn::Ledger& ledger, const std::string& cell) {
    const std::size_t open = cell.find('[');
    std::vector<std::string> words;
    if (open != std::string::npos && !cell.ends_with(']')) return cell;
    if (open != std::string::npos) {
        words = split(cell.substr(open + 1, cell.rfind(']') - open - 1), ',');
        if (words == std::vector<std::string>{""}) words.clear();
    }
    const std::vector<attn::WantedPart> parts = parts_in(section.parts);
    const attn::Tensor& first = ledger[parts.front().name];
    const std::vector<attn::AxisPart> place = attn::slice_parts(first, indices_of(parts.front()));
    const auto kept = std::ranges::count(place, false, &attn::AxisPart::drops_axis);
    if (!section.remake || kept == 0) {
        if (words.empty() && kept > 0 && std::holds_alternative<std::string>(section.content)) {
            return {};
        }
        // The cell has as many indices as the step: take them as the step's.
        if (words.size() != static_cast<std::size_t>(kept)) return cell;
        return parts.front().name + "[" + index_text(place, words) + "]";
    }
    const auto outcome = section.remake(plan, ledger);
    const auto* tensor = std::get_if<attn::Tensor>(&outcome);
    if (tensor == nullptr || words.empty()) return {};
    if (words.size() != tensor->dimension()) {
        throw attn::ConfigError(
            cell + " has " + std::to_string(words.size()) +
            (words.size() == 1 ? " index but " : " indices but ") + section.name + " is " +
            tensor->described() +
            (tensor->dimension() == 0 ? ": leave the brackets out" : ": give one for each axis"));
    }
    std::vector<std::size_t> indices;
    for (std::size_t axis = 0; axis < words.size(); ++axis) {
        const auto most = static_cast<std::int64_t>(tensor->shape()[axis]) - 1;
        indices.push_back(static_cast<std::size_t>(parse_integer(cell, words[axis], 0, most)));
    }
    return cell_of_parts(parts, ledger, *tensor, std::move(indices));
}

}  // namespace app
