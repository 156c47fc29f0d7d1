
#include <algorithm>

#include "app/commands/commands.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/forms.hpp"
#include "attn/show/render/torch_text.hpp"

namespace app {
namespace {

std::vector<Flag> laws_flags() {
    return {{flags::name, "NAME", "the law to show on a walk, or a subject to list: softmax",
             such_as(attn::shipped_law_names)},
            output_flag({".txt", ".text", ".log", ".out", ".json"}).in_group("Output")};
}

/// A law on the walk of a command line.
struct LawOnWalk {
    attn::Plan plan;
    attn::Ledger given;
    std::vector<attn::FormComparison> compared;

    bool holds() const { return std::ranges::all_of(compared, &attn::FormComparison::equal); }
};

LawOnWalk law_on_walk(const Arguments& arguments, const attn::AttentionFile& law) {
    const attn::Plan plan =
        attn::resolve(config_of(with_flags(arguments, {std::string(flags::attentions), law.name})));
    const attn::Ledger given = attn::draw(plan);
    return {plan, given,
            attn::compare_forms(plan, given, attn::walk(plan, given), attn::FormBounds::all)};
}

/// Returns the flags without which the law holds, ` --softcap 30`, each as it was typed; empty if
/// it does not hold without any.
std::vector<std::string> flags_in_the_way(const Arguments& arguments,
                                          const attn::AttentionFile& law) {
    const auto holds_with = [&](const Arguments& some) {
        try {
            return law_on_walk(some, law).holds();
        } catch (const attn::Error&) {
            return false;
        }
    };
    std::vector<Arguments::SpecifiedFlag> typed;
    for (const Arguments::SpecifiedFlag& specified : arguments.specified()) {
        if (specified.implied || specified.flag->is_positional() || specified.flag->is(of_output))
            continue;
        typed.push_back(specified);
    }
    Arguments some = arguments;
    for (const Arguments::SpecifiedFlag& each : typed) some.forget(*each.flag);
    if (!holds_with(some)) return {};
    std::vector<std::string> in_the_way;
    for (const Arguments::SpecifiedFlag& each : typed) {
        Arguments more = some;
        more.set(*each.flag, each.text);
        if (holds_with(more)) {
            some = std::move(more);
        } else {
            in_the_way.push_back(as_typed(each));
        }
    }
    return in_the_way;
}

/// Walks both sides of a law.
///
/// Errors  ConfigError for a walk to which the law does not apply, naming the flags.
LawOnWalk checked_law(const Arguments& arguments, const attn::AttentionFile& law) {
    try {
        return law_on_walk(arguments, law);
    } catch (const attn::Error&) {
        attn::resolve(config_of(arguments));  // An error of the walk itself comes first.
        const std::vector<std::string> flags = flags_in_the_way(arguments, law);
        if (flags.empty()) throw;
        throw attn::ConfigError("the law " + law.name + " does not apply to walks with" +
                                attn::joined(flags, " and") + ": leave " +
                                (flags.size() > 1 ? "them" : "it") + " out");
    }
}

/// One side of a law, computed.
struct LawSide {
    std::string form;
    std::vector<std::string> rules;
    attn::Tensor tensor;
};

std::vector<LawSide> sides_of(const attn::AttentionFile& law, const attn::Plan& plan,
                              const attn::Ledger& given) {
    std::vector<LawSide> sides;
    for (const std::string& form : law.forms) {
        attn::Plan own = plan;
        own.config.form = form;
        const attn::StepTable table = attn::step_table(own);
        LawSide side{form, {}, attn::walk(own, given, table)[law.same.back()]};
        for (const attn::Step& step : table) {
            if (step.file.empty() || !step.applies(own) || !step.rule) continue;
            side.rules.push_back(attn::displayed_rule({own, table, step}));
        }
        sides.push_back(std::move(side));
    }
    return sides;
}

std::string text_of(const Arguments& arguments, const attn::AttentionFile& law,
                    const LawOnWalk& shown, const std::vector<LawSide>& sides) {
    std::string text = list_entry(arguments, law.name, law.name.size() + 2, law.title);
    text += list_entry(arguments, "", 2, law.lesson);
    if (!law.source.empty()) text += list_entry(arguments, "", 2, "Source: " + law.source + ".");
    for (const LawSide& side : sides) {
        text += "\nform " + side.form + "\n";
        for (const std::string& rule : side.rules) text += "  " + rule + "\n";
        text += law.same.back() + ":\n" + attn::torch_text(side.tensor) + "\n";
    }
    text += "\n";
    for (const attn::FormComparison& each : shown.compared) text += each.text() + "\n";
    if (shown.holds()) return text;
    const std::vector<std::string> flags = flags_in_the_way(arguments, law);
    if (!flags.empty()) text += "The law holds without" + attn::joined(flags, " and") + ".\n";
    return text;
}

int write_law(const Arguments& arguments, const attn::AttentionFile& law) {
    const LawOnWalk shown = checked_law(arguments, law);
    const std::vector<LawSide> sides = sides_of(law, shown.plan, shown.given);
    write_text_or_json(
        arguments, [&] { return text_of(arguments, law, shown, sides); },
        [&] {
            std::vector<attn::JsonText> forms, same;
            for (const LawSide& side : sides) {
                forms.push_back({{"form", side.form}, {"rules", side.rules}});
            }
            for (const attn::FormComparison& each : shown.compared) same.push_back(json_of(each));
            return attn::JsonText{{"name", law.name},       {"title", law.title},
                                  {"lesson", law.lesson},   {"source", law.source},
                                  {"forms", {forms, ", "}}, {"comparisons", {same, ",\n "}}}
                .text;
        });
    return shown.holds() ? 0 : 1;
}

int run_laws(const Arguments& arguments) {
    const std::string word = arguments[flags::name];
    const std::vector<std::string> names = attn::shipped_law_names();
    if (std::ranges::count(names, word) > 0) return write_law(arguments, *attention_of(word));
    std::string text;
    std::vector<attn::JsonText> rows;
    for (const std::string& name : names) {
        const auto law = attention_of(name);
        const std::string words = attn::lower(name + " " + law->title + " " + law->lesson);
        if (words.find(attn::lower(word)) == words.npos) continue;
        text += list_entry(arguments, name, 22, law->title);
        rows.push_back({{"name", name}, {"title", law->title}, {"lesson", law->lesson}});
    }
    if (rows.empty()) {
        throw attn::ConfigError("there is no law '" + word + "'" +
                                attn::did_you_mean(word, names, ": attn-explain laws lists them"));
    }
    write_text_or_json(arguments, text, rows);
    return 0;
}

}  // namespace

Command laws_command() {
    return {"laws",
            "list laws of attention, all or on one subject, or prove one",
            {table<laws_flags>, json_flags, walk_flags, config_flags},
            run_laws,
            {{"attn-explain laws", "Lists the laws."},
             {"attn-explain laws softmax", "Lists those on a subject."},
             {"attn-explain laws key-bias",
              "Shows both sides of one, their difference, and the proof."},
             {"attn-explain laws shift --seed 7 --seq-len 3", "The same on your own walk."}}};
}

}  // namespace app
