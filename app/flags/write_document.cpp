#include <algorithm>
#include <csignal>
#include <functional>

#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"
#include "app/tour/tour.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/files/io/array_files.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

/// Renders a document as text, on whichever sink.
using Render = std::function<void(const attn::Document&, const attn::Sink&)>;

/// Prints a document with a pause between its steps.
void print_at_a_pace(const attn::Document& document, const Render& render, bool is_separated) {
    Pace pace;
    attn::Document part = document;
    bool first = true;
    for (const attn::Section& section : document.sections) {
        if (!section.shown) continue;
        if (!first) pace.wait();
        StandardOutput output;
        if (!first && is_separated) output.write("\n");
        first = false;
        part.sections = {section};
        render(part, [&output](std::string_view text) { output.write(text); });
        part.command.clear();
        part.opening.clear();
        output.flush();
    }
}

/// Writes text by `render`, or data, to a file or, without a path, to standard output.
void write_to(const std::string& path, const attn::Document& document, const Format& format,
              const Render& render) {
    if (path.empty() && format.is_text()) {
        StandardOutput output;
        render(document, [&output](std::string_view text) { output.write(text); });
        output.flush();
        return;
    }
    // If the reader closes the pipe, end the program quietly here too.
    if (path.empty()) std::signal(SIGPIPE, SIG_DFL);
    attn::OutputFile file(path.empty() ? "/dev/stdout" : path);
    if (format.is_text()) {
        render(document, [&file](std::string_view text) { file.write(text); });
    } else {
        format.write(document, file);
    }
    file.commit();
}

/// Writes the shown sections as labelled grids, shaded if the output takes colours.
void render_heatmap(const Arguments& arguments, const attn::Document& document,
                    const TextChoices& choices, const attn::Sink& sink) {
    const std::size_t columns =
        choices.options.linewidth.value_or(terminal_columns(arguments).value_or(80));
    const Shading shades = shading(arguments);
    const HeatmapChoices heatmap{choices.options,
                                 color_depth(arguments[flags::color], is_to_terminal(arguments)),
                                 columns, shades.end, shades.compact};
    const attn::ContentForm form = [&](const attn::Section& section) {
        return heatmap_text(section, document, heatmap);
    };
    attn::render_text(document, form, choices.options, choices.words, sink);
}

/// Writes the sections and marks the numbers that changed.
void render_marked(const attn::Document& document, attn::TextForm form, const TextChoices& choices,
                   const attn::Sink& sink) {
    const attn::Document& before = *document.before;
    const attn::ContentForm content = [&](const attn::Section& section) {
        const std::string text = attn::content_text(section, form, choices.options);
        const auto old = std::ranges::find(before.sections, section.name, &attn::Section::name);
        if (old == before.sections.end()) return text;
        return attn::marked(text, attn::content_text(*old, form, choices.options),
                            choices.options.ink);
    };
    attn::render_text(document, content, choices.options, choices.words, sink);
}

/// Returns `03_query.npy`: sorted by name, a folder is in the order of the walk.
std::string step_file_name(std::size_t number, const std::string& name) {
    const std::string digits = std::to_string(number);
    return (digits.size() < 2 ? "0" : "") + digits + "_" + name + ".npy";
}

void save_folder(const std::string& path, const attn::Document& document) {
    attn::OutputFolder folder(path);
    std::size_t number = 0;
    for (const attn::Section& section : document.sections) {
        const auto* tensor = std::get_if<attn::Tensor>(&section.content);
        if (tensor == nullptr || !section.shown) continue;
        attn::OutputFile file(folder.file(step_file_name(++number, section.name)));
        attn::write_npy(file, *tensor);
        file.commit();
    }
    attn::OutputFile file(folder.file("walk.json"));
    attn::render_json(document, [&file](std::string_view text) { file.write(text); });
    file.commit();
    folder.commit();
}

}  // namespace

std::optional<std::size_t> terminal_columns(const Arguments& arguments) {
    if (!is_to_terminal(arguments)) return std::nullopt;
    const auto size = terminal_size(STDOUT_FILENO);
    return size ? std::optional(size->columns) : std::nullopt;
}

std::string list_entry(const Arguments& arguments, std::string name, std::size_t indent,
                       const std::string& words) {
    name.resize(std::max(name.size() + 2, indent), ' ');
    const std::optional<std::size_t> columns = terminal_columns(arguments);
    constexpr std::size_t narrowest = 20;
    if (!columns || *columns < name.size() + narrowest) return name + words + "\n";
    std::string text;
    for (const std::string& line : attn::wrap(words, *columns - name.size())) {
        text += (text.empty() ? name : std::string(indent, ' ')) + line + "\n";
    }
    return text;
}

void write_steps(const Arguments& arguments, const std::vector<attn::Section>& sections,
                 const std::string& others) {
    std::string text;
    std::vector<attn::JsonText> rows;
    for (const attn::Section& each : sections) {
        rows.push_back({{"name", each.name}, {"title", each.title.raw()}, {"shown", each.shown}});
        text +=
            list_entry(arguments, each.name, 18,
                       each.title.visible() + (each.shown ? "" : " (printed with " + others + ")"));
    }
    write_text_or_json(arguments, text, rows);
}

void write_text(const Arguments& arguments, const std::string& text) {
    const std::string path = output_file(arguments);
    if (!path.empty()) return attn::write_file(path, text);
    const bool is_json = text.starts_with('{') || text.starts_with('[');
    const auto columns = is_json ? std::nullopt : terminal_columns(arguments);
    // Array and token names must not control a terminal, nor a pager after a pipe.
    const bool colors =
        arguments.find(flags::color) != nullptr && !ink_of(arguments).heading.empty();
    const std::string shown = attn::visible_lines(text, colors);
    StandardOutput::print(columns ? folded(shown, *columns) : shown);
}

void write_document(const Arguments& arguments, const attn::Document& result,
                    attn::TextForm default_value, attn::DType default_dtype) {
    if (arguments.has(flags::summary)) {
        write_text(arguments, attn::summary_text(result));
        return;
    }
    TextChoices choices = text_choices(arguments, default_value, default_dtype);
    if (!choices.figure.live.empty()) choices.figure.live.emplace_back("tour", tour_json());
    const Format& format = format_of(arguments, default_value);
    const auto gathered = with_gathered_code(format, result);
    const attn::Document& document = gathered ? *gathered : result;
    const bool heatmap = arguments.has(flags::heatmap) && format.printed != nullptr;
    const std::string changes =
        document.before == nullptr ? "" : attn::changes_of(document, *document.before);
    if (!changes.empty() && format.printed == nullptr) report_note("changed: " + changes);
    const auto render = [&](const attn::Document& shown, const attn::Sink& sink) {
        const bool is_again = shown.before != nullptr && format.printed != nullptr;
        if (is_again) {
            const attn::Ink& ink = choices.options.ink;
            sink("\n" + ink.of(ink.heading, "# changed: " + changes) + "\n\n");
        }
        if (heatmap) {
            render_heatmap(arguments, shown, choices, sink);
        } else if (is_again) {
            render_marked(shown, *format.printed, choices, sink);
        } else {
            format.render(shown, choices, sink);
        }
    };
    const std::string path = output_file(arguments);
    const std::string folder = arguments[flags::save_dir];
    if (!folder.empty()) save_folder(folder, result);
    const bool prints =
        folder.empty() || arguments.has_any({flags::output, flags::format, flags::json});
    if (path.empty() && prints && arguments.has(flags::pace)) {
        const bool is_separated = choices.words == attn::Words::all || heatmap ||
                                  format.name == "plain" || format.is_program;
        print_at_a_pace(document, render, is_separated);
    } else if (!path.empty() || prints) {
        write_to(path, document, format, render);
    }
}

}  // namespace app
