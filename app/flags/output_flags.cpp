#include "app/flags/output_flags.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/flags/formats.hpp"
#include "app/flags/parse.hpp"
#include "app/terminal/color.hpp"
#include "attn/tensor/slice.hpp"

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

std::size_t section_index(const attn::Document& document, const std::string& flag,
                          const std::string& name) {
    std::string names;
    for (std::size_t i = 0; i < document.sections.size(); ++i) {
        if (document.sections[i].name == name) return i;
        names += " " + document.sections[i].name;
    }
    throw attn::ConfigError(flag + ": there is no step '" + name + "' here; there are:" + names);
}

/// Whether the section is of that name, or is what becomes of it in a corrected notebook.
bool shows(const attn::Section& section, const std::string& name) {
    return section.name == name || section.name == name + "_corrected";
}

/// Says in the words of a section that it is a part.
void name_the_part(attn::Section& section, const std::string& indices) {
    section.title += ", [" + indices + "]";
    section.expression =
        (section.expression.empty() ? section.name : section.expression) + "[" + indices + "]";
}

/// Leaves a part of a section, which says so.
void cut_out(attn::Section& section, const std::string& indices) {
    const auto* tensor = std::get_if<attn::Tensor>(&section.content);
    if (tensor == nullptr) {
        throw attn::ConfigError("--only: " + section.name + " is no tensor: leave the slice out");
    }
    section.part = attn::slice_parts(*tensor, indices);
    section.content = attn::slice(*tensor, indices);
    name_the_part(section, indices);
}

std::vector<attn::Section> only(const attn::Document& document, const std::string& text) {
    std::vector<attn::WantedPart> all;
    for (const std::string& part : split(text, ',')) all.push_back(parse_wanted(part));
    std::vector<attn::Section> sections;
    for (const attn::WantedPart& wanted : all) {
        section_index(document, "--only", wanted.name);
        for (const attn::Section& section : document.sections) {
            const bool asked_by_name =
                std::ranges::find(all, section.name, &attn::WantedPart::name) != all.end();
            if (asked_by_name ? section.name != wanted.name : !shows(section, wanted.name))
                continue;
            sections.push_back(section);
            sections.back().shown = true;
            if (wanted.sliced) cut_out(sections.back(), wanted.indices);
        }
    }
    return sections;
}

/// Whether the output is a program, which needs the lines of what it does not print too.
bool runs(const OutputFlags& flags) { return flags.format == "ipynb"; }

/// Puts the sections of `whole` that were not selected back in their places, not printed.
void keep_lines_of(const attn::Document& whole, attn::Document& selected) {
    std::vector<attn::Section> sections;
    for (const attn::Section& section : whole.sections) {
        bool printed = false;
        for (attn::Section& one : selected.sections) {
            if (one.name != section.name) continue;
            if (printed) one.code.clear();
            printed = true;
            sections.push_back(one);
        }
        if (printed) continue;
        sections.push_back(section);
        sections.back().shown = false;
    }
    selected.sections = std::move(sections);
}

}  // namespace

attn::PrintOptions print_options(const OutputFlags& flags) {
    attn::PrintOptions options;
    const auto at_least = [](const char* flag, std::int64_t value, std::int64_t least) {
        if (value < least) {
            throw attn::ConfigError(std::string(flag) + " must be at least " +
                                    std::to_string(least) + ", not " + std::to_string(value));
        }
        return static_cast<std::size_t>(value);
    };
    options.precision = flags.precision;
    if (flags.precision && (*flags.precision < 0 || *flags.precision > 1074)) {
        throw attn::ConfigError("--precision must be between 0 and 1074, not " +
                                std::to_string(*flags.precision));
    }
    if (flags.threshold == "inf") {
        options.threshold = attn::no_threshold;
    } else if (!flags.threshold.empty()) {
        options.threshold =
            at_least("--threshold", parse_integer("--threshold", flags.threshold), 0);
    }
    if (flags.edgeitems) options.edgeitems = at_least("--edgeitems", *flags.edgeitems, 0);
    if (flags.linewidth) options.linewidth = at_least("--linewidth", *flags.linewidth, 1);
    if (flags.sci_mode == "on") {
        options.sci_mode = attn::SciMode::on;
    } else if (flags.sci_mode == "off") {
        options.sci_mode = attn::SciMode::off;
    } else if (flags.sci_mode != "auto") {
        throw attn::ConfigError("--sci-mode does not know '" + flags.sci_mode +
                                "': use auto, on or off");
    }
    return options;
}

void setup_print_flags(CLI::App& cli, OutputFlags& flags) {
    const std::string group = "Output";
    const auto add = [&](const char* name, auto& value, const std::string& help) {
        return cli.add_option(name, value, help)->group(group);
    };
    cli.add_flag("--detail", flags.detail, "show parameters and the parts of softmax too")
        ->group(group);
    add("--color", flags.color, "auto, always or never (auto)")->type_name("WHEN");
    add("--only", flags.only, "these steps only, parts too: weights[0,:,1:3],output")
        ->type_name("STEPS");
    add("--from", flags.from, "from this step on")->type_name("STEP");
    add("--until", flags.until, "up to and with this step")->type_name("STEP");
    add("--precision", flags.precision, "decimals (4; NumPy 8)");
    add("--threshold", flags.threshold, "summarise above so many elements, or inf (1000)")
        ->type_name("N");
    add("--edgeitems", flags.edgeitems, "elements shown at each end of a summary (3)");
    add("--linewidth", flags.linewidth, "columns (80; NumPy 75)");
    add("--sci-mode", flags.sci_mode, "auto, on or off (auto)")->type_name("WHEN");
    cli.add_flag("-q,--no-notes", flags.no_notes, "tensors only, no words")->group(group);
}

void setup_output_flags(CLI::App& cli, OutputFlags& flags) {
    const std::string group = "Output";
    const auto add = [&](const char* name, auto& value, const std::string& help) {
        return cli.add_option(name, value, help)->group(group);
    };
    add("--format", flags.format, format_names() + " (torch; with a NumPy rng numpy)")
        ->type_name("FORM");
    add("-o,--output", flags.output, "write to a file, whole or not at all")->type_name("FILE");
    add("--save-dir", flags.save_dir,
        "write a .npy file for each step and walk.json, whole or not at all")
        ->type_name("DIR");
    cli.add_flag("--heatmap", flags.heatmap, "labelled cells, shaded by value on a terminal")
        ->group(group);
    cli.add_flag("--pace", flags.pace, "wait for Enter between the steps, on a terminal")
        ->group(group);
    add("--code", flags.code, "the torch or numpy lines that make each tensor, above it")
        ->type_name("LANGUAGE");
    setup_print_flags(cli, flags);
}

void check_output_flags(const OutputFlags& flags) {
    print_options(flags);
    if (!flags.format.empty()) {
        const Format& format = find_format(flags.format);
        const bool to_terminal =
            (flags.output.empty() || flags.output == "-") && isatty(STDOUT_FILENO) != 0;
        if (!format.is_text() && to_terminal) {
            throw attn::ConfigError("--format " + flags.format +
                                    " is no text for a terminal: pass -o FILE or a pipe");
        }
    }
    code_language(flags, attn::CodeLanguage::torch);
    color_depth(flags.color, false);
    const bool is_printed_form = flags.format.empty() || flags.format == "torch" ||
                                 flags.format == "numpy" || flags.format == "plain";
    for (const auto& [flag, given] :
         {std::pair{"--heatmap", flags.heatmap}, {"--pace", flags.pace}}) {
        if (given && !is_printed_form) {
            throw attn::ConfigError(std::string(flag) + " is for printed forms and --format " +
                                    flags.format + " is none: leave one out");
        }
    }
    if (!flags.only.empty() && !(flags.from.empty() && flags.until.empty())) {
        throw attn::ConfigError("--only already says which steps: leave --from and --until out");
    }
}

std::vector<attn::WantedPart> wanted_parts(const OutputFlags& flags) {
    std::vector<attn::WantedPart> wanted;
    for (const std::string& part : split(flags.only, ',')) wanted.push_back(parse_wanted(part));
    return wanted;
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
        section.title = step.title;
        section.formula = formula_of(step, plan, table);
        section.note = wanted[i].sliced ? "Only this part was computed." : "";
        section.content = std::move(parts[i].tensor);
        section.part = std::move(parts[i].place);
        section.tokens = step.tokens;
        if (wanted[i].sliced) name_the_part(section, wanted[i].indices);
        document.sections.push_back(std::move(section));
    }
    return document;
}

bool wants_code(const OutputFlags& flags) { return !flags.code.empty() || runs(flags); }

attn::CodeLanguage code_language(const OutputFlags& flags, attn::CodeLanguage usual) {
    if (flags.code.empty()) return usual;
    if (flags.code == "torch") return attn::CodeLanguage::torch;
    if (flags.code == "numpy") return attn::CodeLanguage::numpy;
    throw attn::ConfigError("--code does not know '" + flags.code + "': use torch or numpy");
}

void select_sections(const OutputFlags& flags, attn::Document& document) {
    if (runs(flags)) {
        const attn::Document whole = document;
        OutputFlags as_text = flags;
        as_text.format.clear();
        select_sections(as_text, document);
        keep_lines_of(whole, document);
        return;
    }
    if (!flags.only.empty()) {
        document.sections = only(document, flags.only);
        return;
    }
    if (flags.detail) {
        for (attn::Section& section : document.sections) section.shown = true;
    }
    std::size_t first = 0;
    std::size_t last = document.sections.size();
    if (!flags.from.empty()) first = section_index(document, "--from", flags.from);
    if (!flags.until.empty()) {
        last = section_index(document, "--until", flags.until) + 1;
        for (std::size_t i = last; i < document.sections.size(); ++i) {
            if (shows(document.sections[i], flags.until)) last = i + 1;
        }
    }
    if (first >= last) {
        throw attn::ConfigError("--from " + flags.from + " comes after --until " + flags.until +
                                ": swap them");
    }
    document.sections = {document.sections.begin() + static_cast<std::ptrdiff_t>(first),
                         document.sections.begin() + static_cast<std::ptrdiff_t>(last)};
}

}  // namespace app
