#include "attn/judge/lint/lint.hpp"
#include "attn/core/cards/step_table.hpp"

#include <algorithm>
#include <array>

#include "app/commands/commands.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"

namespace app {
namespace {

constexpr std::array severity_words{"error", "warn", "info"};

const char* word_of(attn::Severity severity) {
    return severity_words[static_cast<std::size_t>(severity)];
}

const attn::LintRule& find_rule(const std::string& id) {
    std::string ids;
    for (const attn::LintRule& rule : attn::lint_rules()) {
        if (rule.id == id) return rule;
        ids += " " + rule.id;
    }
    throw attn::ConfigError("there is no rule '" + id + "'; the rules are:" + ids);
}

std::string findings_text(const Arguments& arguments,
                          const std::vector<attn::LintFinding>& findings) {
    const attn::Ink ink = ink_of(arguments);
    std::string text;
    std::array<std::size_t, 3> counts{};
    for (const attn::LintFinding& finding : findings) {
        ++counts[static_cast<std::size_t>(finding.rule->severity)];
        std::string word = word_of(finding.rule->severity);
        word.resize(7, ' ');
        const std::string& id = finding.rule->id;
        const bool is_error = finding.rule->severity == attn::Severity::error;
        text += (is_error ? ink.of(ink.mistake, word) : word) + ink.of(ink.heading, id) +
                list_entry(arguments, word + id, 30, finding.line).substr(word.size() + id.size());
    }
    text += attn::counted(counts[0], "error") + ", " + attn::counted(counts[1], "warning") + ", " +
            attn::counted(counts[2], "note");
    return text + (findings.empty()       ? "\n"
                   : findings.size() == 1 ? "; --explain ID explains it\n"
                                          : "; --explain ID explains each of them\n");
}

/// Formats a rule, and its message about the walk if it applies.
attn::JsonText rule_json(const attn::LintRule& rule, const std::string* line) {
    const attn::JsonText json{{"severity", word_of(rule.severity)}, {"id", rule.id}};
    return (line == nullptr ? json : json.with("line", *line)).with("lesson", rule.lesson);
}

std::string lesson_of(const attn::LintRule& rule) {
    std::string text;
    for (const std::string& line :
         attn::wrap(rule.id + " (" + word_of(rule.severity) + "): " + rule.lesson, 80)) {
        text += line + "\n";
    }
    return text;
}

int run_lint(const Arguments& arguments) {
    if (arguments.has(flags::explain)) {
        const attn::LintRule& rule = find_rule(arguments[flags::explain]);
        write_text_or_json(arguments, lesson_of(rule), rule_json(rule, nullptr));
        return 0;
    }
    std::vector<std::string> wanted;
    if (arguments.has(flags::only)) wanted = split(arguments[flags::only], ',');
    for (const std::string& id : wanted) find_rule(id);
    const attn::WalkConfig config = config_of(arguments);
    require_all_steps(config, "lint");
    const attn::Plan plan = attn::resolve(config);
    note_useless_flags(arguments, &plan);
    std::vector<attn::LintFinding> findings =
        attn::lint(plan, attn::walk(plan, attn::draw(plan), *table_of(arguments, plan)));
    for (const std::string& bug : bugs_of(arguments, plan)) {
        report_note("--bug " + bug + " makes a mistake: attn-explain bugs " + bug + " explains it");
    }
    if (!wanted.empty()) {
        std::erase_if(findings, [&](const attn::LintFinding& finding) {
            return std::find(wanted.begin(), wanted.end(), finding.rule->id) == wanted.end();
        });
    }
    write_text_or_json(
        arguments, findings_text(arguments, findings),
        collected(findings, [](const auto& each) { return rule_json(*each.rule, &each.line); }));
    const bool strict = arguments.has(flags::strict);
    const bool is_found = std::ranges::any_of(findings, [&](const attn::LintFinding& finding) {
        return finding.rule->severity == attn::Severity::error ||
               (strict && finding.rule->severity == attn::Severity::warning);
    });
    return is_found ? 1 : 0;
}

std::vector<std::string> rule_ids() { return collected(attn::lint_rules(), &attn::LintRule::id); }

std::vector<Flag> lint_flags() {
    return {
        Flag{flags::explain, "ID", "explain one rule", such_as(rule_ids)}.typed_only(),
        Flag{flags::only, "ID,ID", "these rules only", such_as(rule_ids, Takes::Kind::list)}
            .typed_only(),
        {flags::strict, "", "count warnings as findings too"},
    };
}

}  // namespace

Command lint_command() {
    return {"lint",
            "report pitfalls, such as scores divided by the wrong root",
            {table<lint_flags>, json_flags, file_flags, color_flags, bug_flags, config_flags,
             notebook_walk_flags, walk_flags},
            run_lint,
            {{"attn-explain lint --heads 2 --embed-dim 8 --strict",
              "The pitfalls of a configuration, warnings as findings."}}};
}

}  // namespace app
