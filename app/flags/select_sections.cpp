#include <algorithm>

#include "app/flags/output_flags.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/tokenize.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/explain/notes/notes.hpp"
#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

attn::WantedPart parse_wanted(const std::string& text) {
    const std::size_t open = text.find('[');
    if (open == std::string::npos) return {text, {}, false};
    if (text.back() != ']') {
        throw attn::ConfigError("--only: '" + text + "' lacks its closing bracket");
    }
    return {text.substr(0, open), text.substr(open + 1, text.size() - open - 2), true};
}

/// Reports that a walk has no such step: another walk has it, or it is a typing error.
[[noreturn]] void refuse_step(const std::string& flag, const std::string& name,
                              const std::vector<std::string>& names) {
    const std::string meant = attn::closest(name, names);
    std::string reason = meant.empty() ? "" : "; did you mean " + meant + "?";
    for (const attn::Step& step : attn::step_table()) {
        const bool is_gradient = name == "d_" + step.name;
        if (step.name != name && !is_gradient) continue;
        const bool masked = name.find("mask") != std::string::npos;
        if (const std::string remedy = attn::remedy_for(name); !remedy.empty()) {
            throw attn::ConfigError(flag + ": there is no step '" + name + "' here: " + remedy);
        }
        reason = is_gradient ? ": add --backward"
                 : masked    ? ": pass --mask causal or padding"
                             : ": this walk does not have it";
    }
    if (meant.empty()) reason += "; there are: " + attn::joined(names, " ");
    throw attn::ConfigError(flag + ": there is no step '" + name + "' here" + reason);
}

std::size_t section_index(const attn::Document& document, const std::string& flag,
                          const std::string& name) {
    const std::vector<std::string> names = collected(document.sections, &attn::Section::name);
    const auto place = std::ranges::find(names, name);
    if (place == names.end()) refuse_step(flag, name, names);
    return static_cast<std::size_t>(place - names.begin());
}

/// True if the section has that name, or is its corrected version in a notebook.
bool shows(const attn::Section& section, const std::string& name) {
    return section.name == name || section.name == name + "_corrected";
}

/// PyTorch's name for a part of a tensor, by the last step of indexing.
std::string index_function(const std::string& indices) {
    std::string last = "Alias";
    for (const std::string& index : split(indices, ',')) {
        if (index == "...") continue;
        last = index.find(':') != std::string::npos ? "Slice" : "Select";
    }
    return "grad_fn=<" + last + "Backward0>";
}

/// Adds the slice to title and expression of a section.
void name_the_part(attn::Section& section, const std::string& indices) {
    section.title += ", [" + indices + "]";
    section.expression =
        (section.expression.empty() ? section.name : section.expression) + "[" + indices + "]";
}

/// Returns the indices with each word of the input replaced by its first position. Other indices
/// stay as they are.
std::string without_words(const attn::Document& document, const attn::Section& section,
                          const attn::Tensor& tensor, const std::string& indices) {
    std::vector<std::string> parts = split(indices, ',');
    const auto ellipsis = std::find(parts.begin(), parts.end(), "...");
    std::size_t sequence = 0, head = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool is_after = ellipsis < parts.begin() + static_cast<std::ptrdiff_t>(i);
        const std::size_t axis = is_after ? tensor.dimension() + i - parts.size() : i;
        if (axis >= tensor.dimension()) break;
        const bool is_number = parts[i].find_first_not_of("+-0123456789") == std::string::npos;
        const std::string& name = tensor.axes()[axis];
        if ((name == "batch" || name == "head") && is_number && !parts[i].empty()) {
            const std::int64_t number = parse_integer(flags::only.text, parts[i]);
            const auto length = static_cast<std::int64_t>(tensor.shape()[axis]);
            const std::int64_t from_begin = number < 0 ? number + length : number;
            (name == "batch" ? sequence : head) = static_cast<std::size_t>(
                std::clamp<std::int64_t>(from_begin, 0, std::max<std::int64_t>(length - 1, 0)));
        }
        if (is_number) continue;
        const auto* words = document.words_on(section, name, sequence, head);
        if (words == nullptr) continue;
        const std::vector<std::size_t> places = attn::places_of(*words, parts[i]);
        if (!places.empty()) parts[i] = std::to_string(places.front());
        const std::string meant = places.empty() && parts[i].find_first_of(":.") == parts[i].npos
                                      ? attn::closest(parts[i], *words)
                                      : "";
        if (!meant.empty()) {
            throw attn::ConfigError("--only: no " + name + " of " + section.name + " is '" +
                                    parts[i] + "'; did you mean " + meant + "?");
        }
    }
    return attn::joined(parts, ",");
}

/// Reduces a section to a part, and marks it.
void cut_out(const attn::Document& document, attn::Section& section, const std::string& words,
             const NoteOfPart& note_of_part) {
    const auto* tensor = std::get_if<attn::Tensor>(&section.content);
    if (tensor == nullptr) {
        throw attn::ConfigError("--only: " + section.name +
                                " is not a tensor: leave the slice out");
    }
    const std::string indices = without_words(document, section, *tensor, words);
    section.part = attn::slice_parts(*tensor, indices);
    const attn::Axes& axes = tensor->axes();
    const auto head = static_cast<std::size_t>(std::ranges::find(axes, "head") - axes.begin());
    if (head < axes.size() && section.part[head].drops_axis) {
        const auto picked = static_cast<std::size_t>(section.part[head].first);
        for (auto& [axis, lists] : section.features)
            if (lists.size() > 1) lists = {lists[picked]};
    }
    section.note = note_of_part(section, section.part);
    section.content = attn::slice(*tensor, indices);
    for (std::optional<attn::Tensor>* beside : {&section.bound, &section.scores}) {
        if (*beside) *beside = attn::slice(**beside, indices);
    }
    if (!section.suffix.empty()) section.suffix = index_function(indices);
    name_the_part(section, indices);
}

std::vector<attn::Section> only(const attn::Document& document, const std::string& text,
                                const NoteOfPart& note_of_part) {
    const std::vector<attn::WantedPart> all = parts_in(text);
    std::vector<attn::Section> sections;
    for (const attn::WantedPart& wanted : all) {
        section_index(document, "--only", wanted.name);
        for (const attn::Section& section : document.sections) {
            const bool is_named =
                std::ranges::find(all, section.name, &attn::WantedPart::name) != all.end();
            if (is_named ? section.name != wanted.name : !shows(section, wanted.name)) continue;
            sections.push_back(section);
            sections.back().shown = true;
            if (wanted.sliced) cut_out(document, sections.back(), wanted.indices, note_of_part);
        }
    }
    return sections;
}

/// Restores whole sections for a page, which opens each at its part.
void make_whole(const attn::Document& whole, attn::Document& selected) {
    std::vector<attn::Section> sections;
    for (const attn::Section& section : selected.sections) {
        const auto same = std::ranges::find(sections, section.name, &attn::Section::name);
        if (same != sections.end()) continue;
        sections.push_back(*std::ranges::find(whole.sections, section.name, &attn::Section::name));
        sections.back().shown = true;
        for (const attn::AxisPart& part : section.part) {
            sections.back().opened_at.push_back(static_cast<std::size_t>(part.first));
        }
    }
    selected.sections = std::move(sections);
}

/// Puts the unselected sections of `whole` back in their places, hidden. Selected ones that were
/// reordered come last in programs, and in their original places on pages.
void keep_others_of(const attn::Document& whole, attn::Document& selected, bool is_page) {
    std::vector<attn::Section> sections;
    const auto place = [&](const attn::Section& one) {
        return std::ranges::find(whole.sections, one.name, &attn::Section::name);
    };
    const auto goes_before = [&](const attn::Section& a, const attn::Section& b) {
        return place(a) < place(b);
    };
    const bool in_order =
        is_page || std::is_sorted(selected.sections.begin(), selected.sections.end(), goes_before);
    for (const attn::Section& section : whole.sections) {
        bool printed = false;
        for (attn::Section& one : selected.sections) {
            if (!in_order || one.name != section.name) continue;
            if (printed) one.code.clear();
            printed = true;
            sections.push_back(one);
        }
        if (printed) continue;
        sections.push_back(section);
        sections.back().shown = false;
    }
    for (attn::Section& one : selected.sections) {
        if (in_order) break;
        one.code.clear();
        sections.push_back(one);
    }
    selected.sections = std::move(sections);
}

}  // namespace

std::vector<attn::WantedPart> parts_in(const std::string& text) {
    return collected(split(text, ','), parse_wanted);
}

std::vector<attn::WantedPart> wanted_parts(const Arguments& arguments) {
    return parts_in(arguments[flags::only]);
}

attn::Document document_of_parts(const attn::Plan& plan, const attn::StepTable& table,
                                 const std::vector<attn::WantedPart>& wanted,
                                 std::vector<attn::WalkPart> parts) {
    attn::Ledger nothing;
    attn::Document document = attn::document_of(plan, nothing, table);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const attn::Step& step = attn::find_step(table, wanted[i].name);
        attn::Section section;
        section.name = step.name;
        section.title = attn::displayed_title({plan, table, step});
        section.formula = formula_of(step, plan, table);
        section.note = step_note({plan, table, step}, parts[i].seen, parts[i].excerpt);
        section.margin = step.mistake;
        section.content = std::move(parts[i].tensor);
        section.part = std::move(parts[i].place);
        section.tokens = step.tokens;
        if (wanted[i].sliced) name_the_part(section, wanted[i].indices);
        document.sections.push_back(std::move(section));
    }
    return document;
}

void select_sections(const Arguments& arguments, attn::Document& document,
                     const NoteOfPart& note_of_part, bool keep_all) {
    if (keep_all) {
        const attn::Document whole = document;
        select_sections(arguments, document, note_of_part);
        const bool is_page = format_of(arguments).answers;
        if (is_page) make_whole(whole, document);
        keep_others_of(whole, document, is_page);
        return;
    }
    if (arguments.has(flags::only)) {
        document.sections = only(document, arguments[flags::only], note_of_part);
        return;
    }
    if (arguments.has(flags::detail)) {
        for (attn::Section& section : document.sections) section.shown = true;
    }
    const std::string from = arguments[flags::from];
    const std::string until = arguments[flags::until];
    const std::size_t first = from.empty() ? 0 : section_index(document, "--from", from);
    std::size_t last = document.sections.size();
    if (!until.empty()) {
        last = section_index(document, "--until", until) + 1;
        for (std::size_t i = last; i < document.sections.size(); ++i) {
            if (shows(document.sections[i], until)) last = i + 1;
        }
    }
    if (first >= last) {
        throw attn::ConfigError("--from " + from + " comes after --until " + until + ": swap them");
    }
    document.sections = {document.sections.begin() + static_cast<std::ptrdiff_t>(first),
                         document.sections.begin() + static_cast<std::ptrdiff_t>(last)};
}

}  // namespace app
