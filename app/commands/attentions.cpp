#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "app/commands/commands.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/cards/walk_text.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/forms.hpp"

namespace app {
namespace {

/// The file that --new writes: an attention that runs and uses each word of the language once.
constexpr const char* beginning =
    R"(# An attention of your own: attn-explain --attention {file}
attention  mine
title      Attention with a memory that fades
begins     --heads 2 --mask causal

# Numbers with a name: --set half=3
setting    half = 2                       # tokens after which half of a key is left

# What training would learn: drawn after all others (linear, normal, normal(0, 0.02), uniform,
# ones, zeros), or an expression of its letters.
parameter  gain[h] = 1 + h

# A step is a rule. The letters h q k t f c b i have the walk's lengths; others take those of what
# they read, or are declared: axis o < H * Dv
step  fade[q,k] = if k > q then 0 else 2 ^ ((k - q) / half)
  title  how much of a key is left when a query meets it

# The name of a step that is there replaces it. --list-rules shows those that are.
step  weights[h,q,k] = gain[h] * scaled_scores[h,q,k] * fade[q,k]
)";

const std::vector<Flag>& attentions_flags() {
    static const std::vector<Flag> all{
        {flags::name, "NAME", "the attention to show, or your own file",
         such_as(attn::shipped_attention_names, Takes::Kind::file)},
        Flag{flags::forms, "",
             "walk every form of the attention, and report how far the results differ"},
        Flag{flags::fresh, "FILE",
             "write a file to start from: an example with remarks, or a copy of NAME; existing "
             "files are kept",
             file()}
            .writing({".attn", "*"}),
        output_flag({".attn", ".txt", ".text", ".log", ".out", ".json"}).in_group("Output")};
    return all;
}

attn::JsonText json_of(const attn::AttentionFile& file) {
    return {{"name", file.name},     {"title", file.title}, {"source", file.source},
            {"begins", file.begins}, {"forms", file.forms}, {"same", file.same},
            {"text", file.text}};
}

void write_attentions(const Arguments& arguments) {
    std::string text;
    std::vector<attn::JsonText> rows;
    for (const std::string& name : attn::shipped_attention_names()) {
        const auto file = attention_of(name);
        text += fmt::format("{:22}{}\n", name, file->title);
        rows.push_back(json_of(*file));
    }
    write_list(arguments, text, rows);
}

/// Writes the tensors of each form, and the comparisons that the file lists.
int write_forms(const Arguments& arguments, const attn::AttentionFile& file) {
    const Arguments walk = with_flags(arguments, {std::string(flags::attentions), file.text});
    const attn::Plan plan = attn::resolve(config_of(walk));
    const attn::Ledger given = attn::draw(plan);
    std::string text;
    std::vector<attn::JsonText> forms, promises;
    for (const std::string& form : file.forms) {
        attn::Plan own = plan;
        own.config.form = form;
        text += "form " + form + "\n";
        std::vector<std::string> names;
        for (const attn::Step& step : attn::step_table(own)) {
            if (step.file.empty() || !step.applies(own)) continue;
            const attn::Outline made = step.outline(own);
            text += "  " + step.name + "  " + attn::described(made.axes, made.shape) + "\n";
            names.push_back(step.name);
        }
        forms.push_back({{"form", form}, {"steps", names}});
    }
    bool is_right = true;
    const attn::Ledger ledger = attn::walk(plan, given);
    for (const attn::FormComparison& each :
         attn::compare_forms(plan, given, ledger, attn::FormBounds::all)) {
        is_right = is_right && each.equal();
        text += each.text() + "\n";
        promises.push_back(attn::json_of(each));
    }
    write_text_or_json(
        arguments, [&] { return text; },
        [&] {
            return attn::JsonText{{"forms", forms}, {"same", {promises, ",\n "}}}.text;
        });
    return is_right ? 0 : 1;
}

/// Returns the path of the attention file to create: that of --new, or of -o if it ends in .attn.
/// Empty if there is none.
std::string fresh_file(const Arguments& arguments) {
    const std::string output = arguments[flags::output];
    const std::string path = arguments[flags::fresh];
    if (path.empty() && ending_of(output) == ".attn") return output;
    std::error_code ignored;
    const bool is_stream = path == "-" || std::filesystem::is_other(path, ignored);
    return path.empty() || is_stream || !ending_of(path).empty() ? path : path + ".attn";
}

/// Errors  OutputError if the file exists.
void write_fresh(const Arguments& arguments, const std::string& path) {
    note_unused_flags(arguments, {flags::name, flags::fresh, flags::output},
                      "an attention to show: leave " + path + " out");
    const std::string shown = path == "-" ? "mine.attn" : shell_quoted(path);
    const std::string text = arguments.has(flags::name)
                                 ? attention_of(arguments[flags::name])->text
                                 : attn::filled(beginning, {{"file", shown}});
    if (path == "-") return StandardOutput::print(text);
    refuse_edited(path);
    attn::write_file(path, text);
    report_note("wrote " + path + ": edit it, and walk it with attn-explain --attention " + shown);
}

/// Shows the text that defines the walk, or that of one of its variants: `standard/sink`.
void write_walk_text(const Arguments& arguments, const std::string& name) {
    const std::string text = attn::text_of_walk(name);
    std::string variants;
    if (name == attn::walk_texts().front()) {
        variants =
            "\n# Its variants are separate texts: attn-explain attentions standard/sink\n#\n";
        for (const std::string& each : attn::walk_texts()) {
            if (each != name) variants += "#   " + each + "\n";
        }
    }
    write_text_or_json(
        arguments, [&] { return text + variants; },
        [&] {
            return attn::JsonText{{"name", name}, {"text", text}}.text;
        });
}

int run_attentions(const Arguments& arguments) {
    if (const std::string path = fresh_file(arguments); !path.empty()) {
        write_fresh(arguments, path);
        return 0;
    }
    if (!arguments.has(flags::name)) {
        if (arguments.has(flags::forms)) {
            throw attn::ConfigError(
                "--forms needs an attention: attn-explain attentions retention "
                "--forms");
        }
        write_attentions(arguments);
        return 0;
    }
    const std::string name = arguments[flags::name];
    const std::vector<std::string> of_walk = attn::walk_texts();
    if (std::ranges::find(of_walk, name) != of_walk.end() && !arguments.has(flags::forms)) {
        write_walk_text(arguments, name);
        return 0;
    }
    const auto file = attention_of(name);
    if (arguments.has(flags::forms)) return write_forms(arguments, *file);
    write_text_or_json(
        arguments, [&] { return file->text; }, [&] { return json_of(*file).text; });
    return 0;
}

}  // namespace

Command attentions_command() {
    return {"attentions",
            "list attentions, show one, or compare its forms",
            {attentions_flags, json_flags, walk_flags, config_flags},
            run_attentions,
            {{"attn-explain attentions", "Lists the names for --attention."},
             {"attn-explain attentions standard", "Shows the text of the ordinary walk."},
             {"attn-explain attentions retention", "Shows its file."},
             {"attn-explain attentions retention -o mine.attn", "Writes it, for you to edit."},
             {"attn-explain attentions retention --forms", "Walks all its forms: do they agree?"}}};
}

}  // namespace app
