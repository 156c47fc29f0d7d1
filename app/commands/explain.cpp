#include <algorithm>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/diagnose_setup.hpp"
#include "app/commands/explained.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/trace/explain.hpp"

namespace app {

using attn::ExplainedLine;
using Verdict = attn::LineVerdict;

std::string Explained::place(const std::string& file, std::size_t line) const {
    if (!file.empty()) {
        return attn::visible(file) + (line > 0 ? ":" + std::to_string(line) : "");
    }
    const std::pair<std::size_t, std::size_t>* cell = nullptr;
    for (const auto& each : program.cells) {
        if (each.first <= line) cell = &each;
    }
    if (cell == nullptr) return std::to_string(line);
    return fmt::format("cell {}, line {}", cell->second, line - cell->first + 1);
}

std::string Explained::question_text(const attn::LineQuestion& question) const {
    if (question.line == 0) return question.text;
    return (question.file.empty() && program.cells.empty() ? "line " : "") +
           place(question.file, question.line) + ": " + question.text;
}

std::vector<std::pair<std::string, std::string>> paragraphs(const attn::Diagnosis& diagnosis,
                                                            const ExplainedLine& line) {
    std::vector<std::pair<std::string, std::string>> all;
    if (!line.reason.empty()) all.emplace_back("", line.reason);
    if (line.finding == nullptr) return all;
    const attn::Mistake* const mistake = line.finding->mistake();
    if (mistake == nullptr) {
        if (line.verdict == Verdict::open) {
            all.emplace_back("", "no known mistake or rule gives these numbers: a variant?");
        } else {
            all.emplace_back("", "no known mistake matches");
            all.emplace_back("rule", attn::followed_rule(*line.finding));
        }
        for (const std::string& each : line.finding->evidence) all.emplace_back("", each);
        return all;
    }
    all.emplace_back("", mistake->id + ": " + attn::described(*mistake));
    for (const std::string& each : line.finding->evidence) all.emplace_back("", each);
    const std::string fix = attn::fix_of(diagnosis, *line.finding);
    if (!fix.empty()) all.emplace_back("fix", fix);
    return all;
}

std::string summary(const Explained& explained) {
    std::size_t wrong = 0, differing = 0, lines = 0;
    std::vector<std::string> places;
    for (const attn::ExplainedAttention& each : explained.found.attentions) {
        for (const ExplainedLine& line : each.lines) {
            ++lines;
            if (line.verdict == attn::LineVerdict::open) ++differing;
            if (!is_wrong(line.verdict)) continue;
            ++wrong;
            places.push_back(explained.place(line.file, line.line));
        }
    }
    if (lines == 0) {
        return "no attention was found: no line multiplies values by a softmax of products";
    }
    std::string text = attn::counted(lines, "step") + " of attention, ";
    if (wrong > 0) {
        return text + fmt::format("{} wrong: line {}", wrong, attn::joined(places));
    }
    if (explained.found.is_right()) {
        return text + (explained.program.raised ? "right as far as the program ran" : "all right");
    }
    const std::string open =
        differing == 0 ? "" : fmt::format("{} differ{}, ", differing, differing == 1 ? "s" : "");
    return text + "no known mistake; " + open + "see above";
}

std::string assumed(const attn::ExplainedAttention& attention) {
    std::string text = attention.settings;
    if (attention.begins_at_query) {
        text += (text.empty() ? "" : "; ") + std::string("it begins at query, key and value");
    }
    if (attention.ends_at_weights) {
        text += (text.empty() ? "" : "; ") + std::string("it ends at the weights");
    }
    return text.empty() ? "" : "assumed: " + text;
}

namespace {

/// The lines of one attention.
std::string lines_text(const Explained& explained, const attn::ExplainedAttention& attention,
                       const attn::Ink& ink) {
    std::string text;
    for (const std::string& remark : attention.diagnosis.remarks) text += remark + "\n";
    if (const std::string settings = assumed(attention); !settings.empty()) text += settings + "\n";
    std::string shown;
    for (const ExplainedLine& line : attention.lines) {
        const std::string place = explained.place(line.file, line.line);
        const std::string source = explained.source(line);
        if (place != shown) {
            text += fmt::format("{:>4}", place) + (source.empty() ? "" : "  ") +
                    attn::visible(attn::trimmed(source)) + "\n";
            shown = place;
        }
        text += fmt::format("        {:<24} {:<16} ", attn::joined(line.steps),
                            attn::shape_text(line.shape));
        const std::string verdict(attn::word(line.verdict));
        text += is_wrong(line.verdict) ? ink.of(ink.mistake, verdict) : verdict;
        if (explained.is_part(line)) text += "   " + attn::visible(attn::cut_to(line.name, 60));
        text += "\n";
        for (const auto& [head, body] : paragraphs(attention.diagnosis, line)) {
            bool is_first = true;
            for (const std::string& part : attn::wrap(attn::visible_lines(body, false), 66)) {
                text += fmt::format("        | {:<4} {}\n", is_first ? head : "", part);
                is_first = false;
            }
        }
    }
    for (const attn::LineQuestion& each : attention.questions) {
        text += "open: " + explained.question_text(each) + "\n";
    }
    return text;
}

/// `3, 7-9`
std::string line_ranges(const std::vector<std::size_t>& lines) {
    std::vector<std::string> ranges;
    for (std::size_t i = 0; i < lines.size();) {
        std::size_t end = i + 1;
        while (end < lines.size() && lines[end] == lines[end - 1] + 1) ++end;
        ranges.push_back(std::to_string(lines[i]) +
                         (end - i > 1 ? "-" + std::to_string(lines[end - 1]) : ""));
        i = end;
    }
    return attn::joined(ranges);
}

std::string as_text(const Explained& explained, const attn::Ink& ink) {
    // The passes of a training loop, and equal layers, are shown once.
    std::vector<std::pair<std::string, std::vector<std::string>>> all;
    std::size_t number = 0;
    for (const attn::ExplainedAttention& attention : explained.found.attentions) {
        const std::string text = lines_text(explained, attention, ink);
        auto same = std::ranges::find(all, text, [](const auto& each) { return each.first; });
        if (same == all.end()) same = all.insert(all.end(), {text, {}});
        same->second.push_back(std::to_string(++number));
    }
    std::string text;
    for (const auto& [lines, numbers] : all) {
        if (number > 1) {
            const char* const head = numbers.size() > 1 ? "attentions " : "attention ";
            text += ink.of(ink.heading, head + attn::some_of(numbers)) + "\n";
        }
        text += lines;
    }
    if (explained.program.raised) {
        text += "line " + explained.place("", explained.program.raised->line) + " raised " +
                raised_text(explained.program);
    }
    const std::vector<std::size_t>& lines = explained.found.skipped_lines;
    if (!lines.empty() && !explained.found.attentions.empty()) {
        text += "skipped, not part of attention: " +
                std::string(lines.size() == 1 ? "line " : "lines ") + line_ranges(lines) + "\n";
    }
    return text + summary(explained) + "\n";
}

attn::JsonText json_of(const Explained& explained, const attn::ExplainedAttention& attention) {
    std::vector<attn::JsonText> lines;
    for (const ExplainedLine& line : attention.lines) {
        const std::vector<std::int64_t> shape(line.shape.begin(), line.shape.end());
        attn::JsonText row{{"line", line.line},
                           {"name", line.name},
                           {"steps", line.steps},
                           {"shape", shape},
                           {"source", explained.source(line)},
                           {"verdict", attn::word(line.verdict)}};
        if (!line.file.empty()) row = row.with("file", line.file);
        if (line.finding != nullptr && line.finding->mistake() != nullptr) {
            row = row.with("mistake", line.finding->mistake()->id)
                      .with("fix", attn::fix_of(attention.diagnosis, *line.finding));
        }
        if (!line.reason.empty()) row = row.with("reason", line.reason);
        lines.push_back(std::move(row));
    }
    const auto questions = collected(attention.questions, [](const attn::LineQuestion& each) {
        attn::JsonText row{{"text", each.text}};
        if (each.line > 0) row = row.with("line", each.line);
        return each.file.empty() ? row : row.with("file", each.file);
    });
    return {
        {"settings", attention.settings}, {"questions", questions}, {"lines", {lines, ",\n   "}}};
}

attn::JsonText as_json(const Explained& explained) {
    const auto attentions = collected(explained.found.attentions,
                                      [&](const auto& each) { return json_of(explained, each); });
    attn::JsonText json{
        {"file", explained.path},
        {"attentions", {attentions, ",\n  "}},
        {"skipped_lines", std::vector<std::int64_t>(explained.found.skipped_lines.begin(),
                                                    explained.found.skipped_lines.end())},
        {"summary", summary(explained)}};
    if (explained.program.raised) {
        const RaisedLine& raised = *explained.program.raised;
        json = json.with("raised", attn::JsonText{{"line", raised.line},
                                                  {"type", raised.type},
                                                  {"message", raised.message},
                                                  {"suggestion", raised.fits}});
    }
    return json;
}

/// Text within a workflow command of GitHub Actions.
std::string escaped(const std::string& text, bool is_property) {
    const std::string plain =
        attn::replaced_all(text, {{"%", "%25"}, {"\r", "%0D"}, {"\n", "%0A"}});
    return is_property ? attn::replaced_all(plain, {{":", "%3A"}, {",", "%2C"}}) : plain;
}

/// An annotation of GitHub Actions for each wrong line, and for each question about a line.
std::string as_github(const Explained& explained) {
    std::string text;
    const auto add = [&](const char* kind, const std::string& file, std::size_t line,
                         const std::string& title, const std::string& message) {
        text += "::" + std::string(kind) +
                " file=" + escaped(file.empty() ? explained.path : file, true) +
                ",line=" + std::to_string(line) + ",title=" + escaped(title, true) +
                "::" + escaped(attn::visible_lines(message, false), false) + "\n";
    };
    for (const attn::ExplainedAttention& attention : explained.found.attentions) {
        for (const ExplainedLine& line : attention.lines) {
            if (!is_wrong(line.verdict)) continue;
            std::string message;
            for (const auto& [head, body] : paragraphs(attention.diagnosis, line)) {
                message += (message.empty() ? "" : "\n") + (head == "fix" ? "fix: " + body : body);
            }
            add("error", line.file, line.line, attn::joined(line.steps), message);
        }
        for (const attn::LineQuestion& each : attention.questions) {
            if (each.line > 0) add("warning", each.file, each.line, "question", each.text);
        }
    }
    if (explained.program.raised) {
        const RaisedLine& raised = *explained.program.raised;
        add("error", "", raised.line, attn::visible(raised.type), raised_text(explained.program));
    }
    return text + summary(explained) + "\n";
}

int exit_code_of(const Explained& explained) {
    if (explained.found.has_mistake() || explained.program.raised) return 1;
    return explained.found.is_right() ? 0 : no_verdict;
}

/// True if a line computes scores, or something after them: inputs may be those of several
/// functions.
bool is_within_attention(const ExplainedLine& line) {
    return std::ranges::any_of(line.steps, [](const std::string& step) {
        return step.ends_with("scores") || step == "weights" || step == "context" ||
               step == "output";
    });
}

/// Leaves out the attentions that are not computed in a function, which may be named by its last
/// part.
///
/// Errors  ConfigError if the program has none of that name.
void keep_function(const std::string& name, Explained& explained) {
    std::vector<std::string> names;
    std::vector<DefinedName> wanted;
    for (const DefinedName& each : explained.program.functions) {
        names.push_back(each.name);
        if (each.name == name || each.name.ends_with("." + name)) wanted.push_back(each);
    }
    if (wanted.empty()) {
        for (std::string& each : names) each = attn::visible(each);
        const std::string all = names.empty() ? "" : ": there are " + attn::joined(names);
        throw attn::ConfigError("--function: " + attn::visible(explained.path) + " defines no " +
                                attn::visible(name) + attn::did_you_mean(name, names, all));
    }
    std::erase_if(explained.found.attentions, [&](const attn::ExplainedAttention& attention) {
        return std::ranges::none_of(attention.lines, [&](const ExplainedLine& line) {
            return line.file.empty() && is_within_attention(line) &&
                   std::ranges::any_of(wanted, [&](const DefinedName& each) {
                       return each.first <= line.line && line.line <= each.last;
                   });
        });
    });
    explained.found.skipped_lines.clear();
}

int write_explained(const Arguments& arguments, TracedProgram program, const std::string& path) {
    Explained explained{path, std::move(program), {}};
    Progress progress;
    attn::DiagnoseOptions options;
    options.progress = [&progress](const std::string& step, double done) {
        progress.show(done, step);
    };
    explained.found = explanation_of(explained.program, walk_by_flags(arguments), options);
    progress.clear();
    if (arguments.has(flags::function)) {
        keep_function(std::string(arguments[flags::function]), explained);
    }
    if (explained.program.left_out > 0) {
        report_note(std::to_string(explained.program.left_out) +
                    " tensors are beyond the limits of the tracer and were left out");
    }
    const std::string form = specified_form(arguments);
    if (form == "github") {
        write_text(arguments, as_github(explained));
    } else if (form == "html") {
        write_text(arguments, page_of(explained, command_line("explain", arguments)));
    } else {
        write_text_or_json(arguments, as_text(explained, ink_of(arguments)), as_json(explained));
    }
    return exit_code_of(explained);
}

int run_explain(const Arguments& arguments) {
    const std::string path(arguments[flags::file]);
    return write_explained(arguments,
                           arguments.has(flags::trace)
                               ? read_trace(std::string(arguments[flags::trace]), path)
                               : traced_program(path, std::string(arguments[flags::python])),
                           path);
}

std::vector<Flag> explain_flags() {
    return {
        Flag{flags::file, "FILE", "your program: .py or .ipynb; with a trace, its source", file()}
            .demanded(),
        {flags::format, "FORMAT", "print text, json, a page, or annotations of GitHub Actions",
         one_of("text json html github"), "from the extension of --output, otherwise text"},
        {flags::function, "NAME", "explain only the attention of this function or class"},
        {flags::trace, "FILE", "read this trace of the program instead of running it", file()},
        python_flag("program"),
    };
}

}  // namespace

std::optional<int> explained_trace(const Arguments& arguments, const attn::Ledger& file) {
    if (!attn::is_trace(file)) return std::nullopt;
    const std::string path(arguments[flags::file]);
    return write_explained(arguments, program_of_trace(file, path, ""), path);
}

Command explain_command() {
    return {"explain",
            "run your own program and name the step and the mistake of each line",
            {table<explain_flags>, json_flags, file_flags, color_flags, config_flags, walk_flags},
            run_explain,
            {{"attn-explain explain my_attention.py",
              "Lists the lines of attention in a program, each with its step and its verdict."}}};
}

}  // namespace app
