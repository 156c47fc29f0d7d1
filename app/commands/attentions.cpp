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
#include "attn/explain/document/cost.hpp"
#include "attn/files/io/output_files.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/derive.hpp"
#include "attn/judge/compare/forms.hpp"
#include "attn/judge/compare/precision.hpp"

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
  title  how much of a key is left when a query reads it

# The name of a step that is there replaces it. --list-rules shows those that are.
step  weights[h,q,k] = gain[h] * scaled_scores[h,q,k] * fade[q,k]
)";

std::vector<Flag> attentions_flags() {
    return {
        {flags::name, "NAME", "the attention to show, or your own file",
         such_as(attn::shipped_attention_names, Takes::Kind::file)},
        Flag{flags::forms, "",
             "compute every form of the attention, report how much the results differ, and prove "
             "that they are the same function"},
        Flag{flags::backward, "", "compare the gradients of inputs and parameters, too"}.needing(
            with<flags::forms>("the forms of an attention: add --forms")),
        Flag{flags::cost, "",
             "count the products and functions of each step, the numbers kept for the backward "
             "pass and those cached, in letters: H heads, T tokens, D features"},
        Flag{flags::derive, "FORM",
             "write its file with one more form, recurrent or chunked:8, and prove that they are "
             "the same",
             such_as("recurrent chunked:8")},
        Flag{flags::fresh, "FILE",
             "write a file to start from: an example with comments, or a copy of NAME; existing "
             "files are kept",
             file()}
            .writing({".attn", "*"}),
        output_flag({".attn", ".txt", ".text", ".log", ".out", ".json"}).in_group("Output")};
}

attn::JsonText json_of(const attn::AttentionFile& file) {
    return {{"name", file.name},         {"title", file.title}, {"source", file.source},
            {"walk_flags", file.begins}, {"forms", file.forms}, {"same", file.same},
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
    write_text_or_json(arguments, text, rows);
}

/// Writes the digits that each form loses, one line per step, and adds them as JSON.
std::string precision_text(const attn::Plan& plan, const attn::AttentionFile& file,
                           std::vector<attn::JsonText>& json) {
    std::string text =
        fmt::format("{} digits lost, against float64\n", attn::dtype_name(plan.compute_dtype));
    for (const attn::FormPrecision& each : attn::precision_of_forms(plan, file)) {
        std::string head = fmt::format("  {:<20}", each.form);
        attn::JsonText tokens{{"form", each.form}, {"steps", each.steps}};
        for (const auto& [count, lost] : each.lost) {
            head += fmt::format("{:>8}", count);
            tokens = tokens.with(std::to_string(count), {{lost.begin(), lost.end()}, ", "});
        }
        text += head + " tokens\n";
        for (std::size_t i = 0; i < each.steps.size(); ++i) {
            text += fmt::format("    {:<18}", each.steps[i]);
            for (const auto& [count, lost] : each.lost) text += fmt::format("{:>8.1f}", lost[i]);
            text += "\n";
        }
        for (const auto& [count, why] : each.skipped) {
            text += fmt::format("    {} tokens are skipped: {}\n", count, why);
            tokens = tokens.with(std::to_string(count), why);
        }
        json.push_back(tokens);
    }
    return text;
}

/// Writes the tensors of each form, and the comparisons that the file lists.
int write_forms(const Arguments& arguments, const attn::AttentionFile& file) {
    const Arguments walk = with_flags(arguments, {std::string(flags::attentions), file.text});
    const attn::Plan plan = attn::resolve(config_of(walk));
    attn::require_comparable(plan);
    const attn::Ledger given = attn::draw(plan);
    std::string text;
    std::vector<attn::JsonText> forms, promises;
    for (const std::string& form : file.forms) {
        const attn::Plan own = attn::with_form(plan, file, form);
        text += "form " + form + "\n";
        std::vector<std::string> names;
        for (const attn::Step& step : attn::step_table(own)) {
            if (step.file.empty() || !step.applies(own)) continue;
            const attn::Outline result_outline = step.outline(own);
            text += "  " + step.name + "  " +
                    attn::described(result_outline.axes, result_outline.shape) + "\n";
            names.push_back(step.name);
        }
        forms.push_back({{"form", form}, {"steps", names}});
    }
    bool is_right = true;
    const attn::Ledger ledger = attn::walk(plan, given);
    std::vector<attn::FormComparison> compared =
        attn::compare_forms(plan, given, ledger, attn::FormBounds::all);
    if (arguments.has(flags::backward)) {
        std::ranges::move(attn::compare_gradients(plan, given), std::back_inserter(compared));
    }
    for (const attn::FormComparison& each : compared) {
        is_right = is_right && each.equal();
        text += each.text() + "\n";
        promises.push_back(attn::json_of(each));
    }
    std::vector<attn::JsonText> precision;
    if (compared.empty()) text += "this file names no tensors that should be the same\n";
    if (arguments.has(flags::compute_dtype)) text += precision_text(plan, file, precision);
    const attn::JsonText json{{"forms", forms}, {"comparisons", {promises, ",\n "}}};
    write_text_or_json(arguments, text,
                       precision.empty() ? json : json.with("precision", precision));
    return is_right ? 0 : 1;
}

std::string cost_line(const attn::StepCost& cost) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < cost.numbers.size(); ++i) {
        if (cost.numbers[i].terms().empty()) continue;
        words.push_back(cost.numbers[i].text() + " " + attn::StepCost::words[i]);
    }
    return words.empty() ? "" : fmt::format("  {:<18} {}\n", cost.step, attn::joined(words));
}

attn::JsonText json_of(const attn::StepCost& cost) {
    attn::JsonText json{{"name", cost.step}};
    for (std::size_t i = 0; i < cost.numbers.size(); ++i) {
        json = json.with(attn::StepCost::words[i], cost.numbers[i].text());
    }
    return json;
}

/// Writes the cost of each form, or of a walk without forms, and the numbers of tokens at which two
/// forms cost the same.
void write_costs(const Arguments& arguments, const attn::Plan& plan,
                 const attn::AttentionFile* file) {
    std::vector<std::string> names = file ? file->forms : std::vector<std::string>();
    if (names.empty()) names.emplace_back();
    std::vector<attn::WalkCost> costs;
    std::vector<attn::JsonText> forms, equal;
    attn::Sizes sizes;
    std::string text, points;
    for (const std::string& name : names) {
        const attn::Plan own = name.empty() ? plan : attn::with_form(plan, *file, name);
        const attn::WalkCost& cost = costs.emplace_back(attn::cost_of(own, attn::step_table(own)));
        sizes.insert(cost.sizes.begin(), cost.sizes.end());
        std::vector<attn::JsonText> steps;
        if (!name.empty()) text += "form " + name + "\n";
        for (const attn::StepCost& each : cost.steps) {
            text += cost_line(each);
            steps.push_back(json_of(each));
        }
        text += cost_line(cost.all);
        forms.push_back({{"form", name}, {"steps", {steps, ",\n  "}}, {"all", json_of(cost.all)}});
        for (std::size_t other = 0; other + 1 < costs.size(); ++other) {
            const auto at = attn::equal_at(costs[other].all[attn::StepCost::products],
                                           cost.all[attn::StepCost::products], cost.tokens);
            if (!at) continue;
            const double here = at->over.at(sizes) / at->under.at(sizes);
            points += fmt::format("{} and {} need as many products at {} = {}, here {}\n",
                                  names[other], name, cost.tokens, at->text(), attn::brief(here));
            equal.push_back({{"forms", std::vector{names[other], name}},
                             {cost.tokens, at->text()},
                             {"at_these_sizes", here}});
        }
    }
    std::vector<std::string> here;
    attn::JsonText sizes_json{{"D", sizes.at("D")}};
    for (const auto& [letter, size] : sizes) {
        here.push_back(letter + " = " + attn::brief(size));
        if (letter != "D") sizes_json = sizes_json.with(letter, size);
    }
    write_text_or_json(arguments, text + points + "here " + attn::joined(here) + "\n",
                       {{"forms", {forms, ",\n "}}, {"equal", equal}, {"sizes", sizes_json}});
}

/// Writes the file with a derived form, and reports what was proved about it.
int write_derived(const Arguments& arguments, const attn::AttentionFile& file) {
    const Arguments walk = with_flags(arguments, {std::string(flags::attentions), file.text});
    const attn::Plan plan = attn::resolve(config_of(walk));
    const std::string text =
        attn::with_derived_form(file, plan, attn::derived_form(arguments[flags::derive]));
    attn::WalkConfig config = plan.config;
    config.attentions = {std::make_shared<const attn::AttentionFile>(
        attn::parse_attention(text, "the derived form"))};
    config.form.clear();
    const attn::Plan derived = attn::resolve(config);
    attn::require_comparable(derived);
    const attn::Ledger given = attn::draw(derived);
    const std::vector<attn::FormComparison> compared =
        attn::compare_forms(derived, given, attn::walk(derived, given), attn::FormBounds::all);
    const std::string form = config.attentions[0]->forms.back();
    bool is_right = true;
    std::vector<attn::JsonText> same;
    for (const attn::FormComparison& each : compared) {
        if (each.right != form) continue;
        is_right = is_right && each.equal();
        report_note(each.text());
        same.push_back(attn::json_of(each));
    }
    const std::string path = arguments[flags::output];
    if (ending_of(path) == ".attn") refuse_edited(path);
    write_text_or_json(arguments, text,
                       {{"form", form}, {"text", text}, {"comparisons", {same, ",\n "}}});
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
    report_note("wrote " + path + ": edit it, and run it with attn-explain --attention " + shown);
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
    write_text_or_json(arguments, text + variants, {{"name", name}, {"text", text}});
}

int run_attentions(const Arguments& arguments) {
    const bool derives = arguments.has(flags::derive);
    if (arguments.has(flags::cost) && (derives || arguments.has(flags::forms))) {
        throw attn::ConfigError(
            "--cost cannot be combined with --forms or --derive: leave them out");
    }
    if (const std::string path = fresh_file(arguments); !derives && !path.empty()) {
        write_fresh(arguments, path);
        return 0;
    }
    if (!arguments.has(flags::name)) {
        const bool counts = arguments.has(flags::cost);
        const std::string flag = derives ? "--derive" : counts ? "--cost" : "--forms";
        if (derives || counts || arguments.has(flags::forms)) {
            throw attn::ConfigError(flag +
                                    " needs an attention: attn-explain attentions retention " +
                                    flag + (derives ? " recurrent" : ""));
        }
        write_attentions(arguments);
        return 0;
    }
    const std::string name = arguments[flags::name];
    const std::vector<std::string> of_walk = attn::walk_texts();
    if (std::ranges::find(of_walk, name) != of_walk.end() && !arguments.has(flags::forms)) {
        if (arguments.has(flags::cost)) {
            if (name != of_walk.front()) {
                throw attn::ConfigError(attn::visible(name) +
                                        " is not a whole walk: attn-explain attentions " +
                                        of_walk.front() + " --cost, with the flags of the variant");
            }
            write_costs(arguments, attn::resolve(config_of(arguments)), nullptr);
        } else {
            write_walk_text(arguments, name);
        }
        return 0;
    }
    const auto file = attention_of(name);
    if (arguments.has(flags::cost)) {
        const Arguments walk = with_flags(arguments, {std::string(flags::attentions), file->text});
        write_costs(arguments, attn::resolve(config_of(walk)), file.get());
        return 0;
    }
    if (derives) return write_derived(arguments, *file);
    if (arguments.has(flags::forms)) return write_forms(arguments, *file);
    write_text_or_json(arguments, file->text, json_of(*file));
    return 0;
}

}  // namespace

Command attentions_command() {
    return {
        "attentions",
        "list attentions, show one, or compare its forms",
        {table<attentions_flags>, json_flags, walk_flags, config_flags},
        run_attentions,
        {{"attn-explain attentions", "Lists the names for --attention."},
         {"attn-explain attentions standard", "Shows the text of the ordinary walk."},
         {"attn-explain attentions retention", "Shows its file."},
         {"attn-explain attentions retention -o mine.attn", "Writes it, for you to edit."},
         {"attn-explain attentions retention --forms", "Computes all its forms and compares them."},
         {"attn-explain attentions retention --cost",
          "From how many tokens on is a state cheaper?"},
         {"attn-explain attentions alibi --derive recurrent",
          "Names the factor that makes a state of fixed size impossible."}}};
}

}  // namespace app
