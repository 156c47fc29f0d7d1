#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/written_text.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/explain/why/why.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/contributions.hpp"
#include "attn/models/model_mistakes.hpp"
#include "attn/models/open_model.hpp"

namespace app {
namespace {

using attn::models::Contribution;
using attn::models::Model;
using attn::models::ModelMistake;
using attn::models::NextToken;

/// Finds the cell of the walk that a cell of a notebook's page shows: sets `wanted` to it, or to
/// empty if it depends on many. Returns a line about it; empty if the names are the same.
std::string page_line(const Arguments& arguments, const attn::Walked& walk, std::string& wanted) {
    const auto& [plan, table, ledger] = walk;
    const std::optional<attn::Section> section = page_section(arguments, wanted);
    if (!section) return {};
    if (section->walk.empty()) {
        throw attn::ConfigError(
            section->name +
            " is not computed by any walk, so it cannot be derived: " + section->formula +
            "; attn-explain notebook " + before(arguments[flags::notebook], ':') +
            " --as-flags lists the cells that walks compute");
    }
    const std::string requested = wanted;
    const std::string here = section->name + wanted.substr(before(wanted, '[').size());
    wanted = cell_of_walk(*section, plan, ledger, here);
    if (wanted == requested) return {};
    if (!wanted.empty()) {
        return requested + (section->remake ? ": after it is " : " is ") + wanted +
               " of this walk\n";
    }
    attn::Section shown = *section;
    if (shown.remake) shown.content = shown.remake(plan, ledger);
    shown.suffix.clear();
    attn::PrintOptions options;
    options.default_dtype = plan.default_dtype();
    const std::string all = section->parts;
    const attn::Tensor& tensor = ledger[before(all, '[')];
    std::string indices = "0";
    for (std::size_t axis = 1; axis < tensor.dimension(); ++axis) indices += ",0";
    return section->name + " = " + attn::content_text(shown, form_of(plan), options) + "\n  " +
           section->title.visible() + ": " + section->formula + "\n  computed from all of " + all +
           "; why '" + before(all, '[') + "[" + indices + "]' derives one of them\n";
}

/// Returns the row of the cell under another setting, `mask=none`.
std::string what_if(const Arguments& arguments, const std::string& setting) {
    const std::size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    if (equals == std::string::npos ||
        (name != "mask" && name != "scale" && name != "softmax-axis")) {
        throw attn::ConfigError(
            "--what-if '" + setting +
            "' is not a setting such as mask=none, scale=none or softmax-axis=query");
    }
    const attn::Walked walk = walk_of(with_flags(arguments, {"--" + setting}));
    const auto& [plan, table, ledger] = walk;
    std::string text = arguments[flags::cell];
    page_line(arguments, walk, text);
    const std::string step = before(text, '[');
    if (!ledger.has(step)) return "what if " + setting + ": there is no " + step + " then\n";
    const attn::Cell cell = attn::parse_cell(plan, table, ledger, text);
    if (step == "weights") {
        return "what if " + setting + ": row " + attn::row_text(ledger, cell) + "\n";
    }
    // Weights are a distribution: show the whole row, not just the cell.
    return "what if " + setting + ": " + attn::cell_text(cell) + " = " +
           attn::four_decimals(cell.value) + "\n";
}

/// Refuses flags that apply only to a walk through one layer, not to a question about the whole
/// model.
void refuse_flags_of_walks(const Arguments& arguments) {
    for (const Arguments::SpecifiedFlag& specified : arguments.specified()) {
        const bool goes = std::ranges::any_of(
            std::vector<Name>{flags::cell, flags::model_file, flags::tokenizer, flags::text,
                              flags::ids, flags::top, flags::temperature, flags::bugs,
                              flags::without, flags::memory, flags::json, flags::output,
                              flags::color, flags::config},
            [&](const Name& name) { return specified.flag->is(name); });
        if (goes || specified.implied) continue;
        throw attn::ConfigError(
            specified.flag->name +
            " applies to a walk through one layer, and this is the whole model: leave it out");
    }
    if (arguments[flags::bugs].size() > 1) {
        throw attn::ConfigError("next[...] takes one --bug: leave the others out");
    }
}

/// A question about a whole model: `next[upon]`, `next[she]-next[he]`, or `lens[3][upon]`.
struct RequestedTokens {
    std::string token;
    std::string other{};  ///< empty: one token
    std::string place{};  ///< of a lens
};
RequestedTokens parse_request(const std::string& cell) {
    if (!cell.ends_with(']'))
        throw attn::ConfigError("'" + cell + "' is not of the form next[upon]");
    const std::size_t first = cell.find('[') + 1;
    const std::string within = cell.substr(first, cell.size() - first - 1);
    const bool is_lens = cell.starts_with("lens[");
    const std::string_view between = is_lens ? "][" : "]-next[";
    const std::size_t at = within.find(between);
    if (at == within.npos) {
        if (is_lens) throw attn::ConfigError("'" + cell + "' is not of the form lens[3][upon]");
        if (within.empty())
            throw attn::ConfigError("next[] names no token: write one, as in next[upon]");
        return {within};
    }
    const std::string after = within.substr(at + between.size());
    return is_lens ? RequestedTokens{after, "", within.substr(0, at)}
                   : RequestedTokens{within.substr(0, at), after};
}

std::string next_text(const std::string& head, NextToken next, std::size_t top,
                      const ModelMistake* mistake) {
    std::string text = mistake
                           ? fmt::format("With {}: {}.\n", mistake->id, mistake->title.visible())
                           : std::string();
    text += head;
    std::ranges::stable_sort(next.parts, std::greater(),
                             [](const Contribution& part) { return std::abs(part.logit); });
    double rest = 0;
    for (std::size_t i = 0; i < next.parts.size(); ++i) {
        if (i >= top) {
            rest += next.parts[i].logit;
        } else {
            text += fmt::format("    {:9.4f}   {}\n", next.parts[i].logit, next.parts[i].part);
        }
    }
    if (next.parts.size() > top) {
        text += fmt::format("    {:9.4f}   {} others\n", rest, next.parts.size() - top);
    }
    return text + fmt::format("    {:9.4f}   sum\n", next.sum);
}

attn::JsonText next_json(const Model& model, const NextToken& next,
                         std::optional<std::int64_t> other, double temperature,
                         const ModelMistake* mistake) {
    std::vector<attn::JsonText> parts;
    for (const auto& [part, logit] : next.parts) {
        parts.push_back({{"part", part}, {"logit", logit}});
    }
    attn::JsonText json = json_of_model(model,
                                        {{"id", next.id},
                                         {"token", quoted(model, next.id)},
                                         {"probability", next.probability},
                                         {"logit", next.logit}},
                                        ", ");
    if (other) json = json.with("other_id", *other);
    if (temperature != 1) json = json.with("temperature", temperature);
    if (next.sum != next.logit) json = json.with("sum", next.sum);
    return (mistake != nullptr ? json.with("bug", mistake->id) : json).with("parts", parts, ",\n ");
}

/// Formats the lines above the parts.
std::string head_of(const Model& model, const TokenIds& ids, const RequestedTokens& requested,
                    const NextToken& next, std::optional<std::int64_t> other, double temperature) {
    const std::string word = quoted(model, next.id), last = quoted(model, ids.back());
    const std::string name = requested.place.empty() ? "next" : "lens[" + requested.place + "]";
    std::string text = model.left_out.empty() ? "" : name_of(model) + ":\n";
    text += other ? fmt::format(
                        "next[{}]-next[{}] = {:.6f}   {} and not {} after {}\n"
                        "  = difference of their logits\n",
                        next.id, *other, next.logit, word, quoted(model, *other), last)
                  : fmt::format(
                        "{}[{}] = {:.6f}   {} after {}{}\n"
                        "  = exp({}) / sum over all tokens, logit {:.4f}\n",
                        name, next.id, next.probability, word, last,
                        requested.place.empty() ? "" : ", if the model stopped there",
                        temperature == 1 ? "logit" : fmt::format("logit / {:g}", temperature),
                        next.logit);
    const double cap = model.architecture.logit_softcap;
    if (cap > 0) text += fmt::format("  which is {:.4f} before the cap of {:g}\n", next.sum, cap);
    return text + "  = contributions of the parts of the model to " + (other ? "it" : "the logit") +
           "\n";
}

/// Answers `why next[TOKEN]` and the like: the contribution of each part of a model to the logit of
/// a token, or to the difference of two.
void why_next(const Arguments& arguments) {
    const std::string cell = arguments[flags::cell];
    if (!arguments.has(flags::model_file)) {
        throw attn::ConfigError(before(cell, '[') +
                                "[...] is a token of a trained model: add --model-file stories");
    }
    refuse_flags_of_walks(arguments);
    Model model = model_of(arguments);
    const TokenIds ids = prompt_of(arguments, model);
    const std::string bug = arguments.has(flags::bugs) ? arguments[flags::bugs].front() : "none";
    std::optional<ModelMistake> result;
    if (bug != "none") result = attn::models::find_model_mistake(bug, model);
    const ModelMistake* const mistake = result ? &*result : nullptr;
    const RequestedTokens requested = parse_request(cell);
    const std::int64_t id = token_of(model, requested.token, cell);
    std::optional<attn::models::Place> place;
    if (!requested.place.empty()) place = attn::models::parse_place(requested.place, model);
    std::optional<std::int64_t> other;
    if (!requested.other.empty()) other = token_of(model, requested.other, cell);
    const double temperature = arguments[flags::temperature].value_or(1);
    if (!(temperature > 0)) {
        throw attn::ConfigError(
            "--temperature of why must be above 0: logits are divided by it, and at 0 the "
            "likeliest token has probability 1");
    }
    if (other && temperature != 1) {
        report_note("--temperature has no effect here: it needs one token, as in next[she]");
    }
    report_cost(arguments, model, {ids.size()});
    const attn::models::NextTokens all(model, mistake, ids, place, without_of(arguments, model));
    const NextToken next = other ? all.difference(id, *other) : all.of(id, temperature);
    const auto top = arguments[flags::top];
    const std::string head = head_of(model, ids, requested, next, other, temperature);
    write_text_or_json(arguments, next_text(head, next, top, mistake),
                       next_json(model, next, other, temperature, mistake));
}

/// Returns the walk of a step; another variant if --variant fused does not keep the step.
attn::Walked walk_with(const Arguments& arguments, const std::string& step) {
    attn::Walked walk = walk_of(arguments);
    note_useless_flags(arguments, &walk.plan);
    note_changes(walk.plan);
    if (!walk.plan.fused() || walk.ledger.has(step)) return walk;
    report_note(
        "--variant fused keeps no such step: this is --variant vectorized, which differs by "
        "rounding");
    return walk_of(with_flags(arguments, {"--variant", "vectorized"}));
}

/// Returns the derivation of a cell after `of_page`, as text or JSON. Reports --top and --depth if
/// they have no effect.
std::string derivation(const Arguments& arguments, const attn::Walked& walk,
                       const std::string& wanted, const std::string& of_page) {
    const attn::Plan& plan = walk.plan;
    const attn::StepTable& table = walk.table;
    const attn::Ledger& ledger = walk.ledger;
    const attn::Cell cell = attn::parse_cell(plan, table, ledger, wanted);
    const attn::WhyOptions options{
        .depth = arguments[flags::depth], .top = arguments[flags::top], .ink = ink_of(arguments)};
    const auto derive_text = [&](const attn::WhyOptions& how) {
        return as_text_or_json(
            arguments, [&] { return of_page + attn::why_text(plan, table, ledger, cell, how); },
            [&] {
                if (!arguments.has(flags::what_ifs)) {
                    return attn::why_json(plan, table, ledger, cell, how);
                }
                throw attn::ConfigError("--what-if is not written as JSON: leave --json out");
            });
    };
    const std::string text = derive_text(options);
    const auto note = [&](const Name& flag, std::size_t attn::WhyOptions::*of, const char* what) {
        attn::WhyOptions others = options;
        others.*of = attn::WhyOptions().*of;
        if (!arguments.has(flag) || others.*of == options.*of || derive_text(others) != text)
            return;
        report_note(std::string(flag) + " has no effect here: it needs " + what);
    };
    note(flags::top, &attn::WhyOptions::top, "a sum of more terms");
    note(flags::depth, &attn::WhyOptions::depth, "a number computed from others");
    return text;
}

/// Describes how a quantized block encodes the number of a matrix; empty for files without blocks.
std::string block_line(const Arguments& arguments, const attn::Walked& walk,
                       const std::string& wanted) {
    if (!arguments.has(flags::model_file) || !wanted.starts_with("w_")) return {};
    const attn::Cell cell = attn::parse_cell(walk.plan, walk.table, walk.ledger, wanted);
    const Model model = attn::models::open_model(arguments[flags::model_file]);
    const std::string name =
        attn::models::in_layer(static_cast<std::size_t>(arguments[flags::layer]), cell.step);
    if (!model.has(name) || cell.indices.size() != 2) return {};
    const std::string origin = model.origin(name, cell.indices[0], cell.indices[1]);
    return origin.empty() ? "" : "in the file: " + origin + "\n";
}

/// True if the cell is a token of a trained model.
bool is_of_model(const Arguments& specified) {
    const std::string cell = specified[flags::cell];
    return cell.starts_with("next[") || cell.starts_with("lens[");
}

int run_why(const Arguments& specified) {
    std::string wanted = specified[flags::cell];
    if (is_of_model(specified)) {
        why_next(specified);
        return 0;
    }
    const bool is_gradient = wanted.starts_with("d_") || wanted.starts_with("row_dot[");
    const Arguments arguments = is_gradient && !specified.has(flags::backward)
                                    ? with_flags(specified, {"--backward"})
                                    : specified;
    const attn::Walked walk = walk_with(arguments, before(wanted, '['));
    const std::string of_page = page_line(arguments, walk, wanted);
    if (wanted.empty()) {
        write_text_or_json(
            arguments, [&] { return of_page; },
            [&]() -> std::string {
                throw attn::ConfigError(
                    arguments[flags::cell] +
                    " is computed from many numbers: leave --json out, or name one");
            });
        return 0;
    }
    std::string text = derivation(arguments, walk, wanted, of_page);
    if (!arguments.has(flags::json)) text += block_line(arguments, walk, wanted);
    for (const std::string& setting : arguments[flags::what_ifs]) {
        text += what_if(arguments, setting);
    }
    write_text(arguments, text);
    return 0;
}

/// Returns the settings of --what-if, each as NAME=WORD.
std::vector<std::string> settings() {
    std::vector<std::string> all;
    for (const Flag& flag : walk_flags()) {
        if (!flag.is(flags::mask) && !flag.is(flags::scale) && !flag.is(flags::softmax_axis)) {
            continue;
        }
        for (const std::string& word : flag.takes.words()) {
            all.push_back(flag.name.substr(2) + "=" + word);
        }
    }
    return all;
}

std::vector<Flag> why_flags() {
    return {
        Flag{flags::cell, "CELL",
             "a cell: 'weights[0,1]' or, by words, 'weights[short,eat]'; of a trained model "
             "'next[upon]', 'next[she]-next[he]' or 'lens[3][upon]' too",
             such_as(step_names, Takes::Kind::cell)}
            .demanded(),
        {flags::depth, "N", "derive the sources in turn, N levels deep", integer(1, 20), "1"},
        {flags::top, "N", "number of terms of a sum to print, the largest first", integer(1), "12"},
        Flag{flags::temperature, "X", "divide the logits of next[...] by X", number(), "1"}.needing(
            {is_of_model, "a token of a trained model: next[upon]"}),
        Flag{flags::what_ifs, "SETTING",
             "print the same cell under another setting, such as mask=none; for weights, the row",
             such_as(settings)}
            .repeatable(),
    };
}

}  // namespace

Command why_command() {
    return {"why",
            "derive one number back to the inputs",
            {table<why_flags>, json_flags, file_flags, color_flags, bug_flags, config_flags,
             notebook_walk_flags, walk_flags},
            run_why,
            {{"attn-explain why 'weights[short,eat]' --depth 2",
              "One weight, and in turn the numbers it was computed from."},
             {"attn-explain why 'weights[0,1]' --what-if mask=causal",
              "What the row would be under another mask."}}};
}

}  // namespace app
