#include "attn/explain/lint.hpp"
#include "attn/cards/step_table.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/commands/commands.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/tensor/error.hpp"
#include "attn/text/width.hpp"

namespace app {
namespace {

struct LintCommand {
    std::string explain, only;
    bool strict = false, json = false;
    WalkFlags walk;
};

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

std::string counted(std::size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string findings_text(const std::vector<attn::LintFinding>& findings) {
    std::string text;
    std::array<std::size_t, 3> counts{};
    for (const attn::LintFinding& finding : findings) {
        ++counts[static_cast<std::size_t>(finding.rule->severity)];
        std::string head = word_of(finding.rule->severity);
        head.resize(7, ' ');
        head += finding.rule->id;
        head.resize(std::max<std::size_t>(head.size() + 2, 30), ' ');
        text += head + finding.line + "\n";
    }
    text += counted(counts[0], "error") + ", " + counted(counts[1], "warning") + ", " +
            counted(counts[2], "note");
    return text + (findings.empty() ? "\n" : "; --explain ID tells the lesson of one\n");
}

std::string findings_json(const std::vector<attn::LintFinding>& findings) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const attn::LintFinding& finding : findings) {
        json.push_back({{"severity", word_of(finding.rule->severity)},
                        {"id", finding.rule->id},
                        {"line", finding.line},
                        {"lesson", finding.rule->lesson}});
    }
    return json.dump(1) + "\n";
}

int run_lint(const LintCommand& command) {
    StandardOutput output;
    if (!command.explain.empty()) {
        const attn::LintRule& rule = find_rule(command.explain);
        for (const std::string& line :
             attn::wrap(rule.id + " (" + word_of(rule.severity) + "): " + rule.lesson, 80)) {
            output.write(line + "\n");
        }
        output.flush();
        return 0;
    }
    std::vector<std::string> wanted;
    if (!command.only.empty()) wanted = split(command.only, ',');
    for (const std::string& id : wanted) find_rule(id);
    const attn::WalkConfig config = config_of(command.walk);
    require_all_steps(config, "lint");
    const attn::Plan plan = attn::resolve(config);
    std::vector<attn::LintFinding> findings = attn::lint(plan, attn::walk(plan, attn::draw(plan)));
    if (!wanted.empty()) {
        std::erase_if(findings, [&](const attn::LintFinding& finding) {
            return std::find(wanted.begin(), wanted.end(), finding.rule->id) == wanted.end();
        });
    }
    output.write(command.json ? findings_json(findings) : findings_text(findings));
    output.flush();
    return std::any_of(
               findings.begin(), findings.end(),
               [&](const attn::LintFinding& finding) {
                   return finding.rule->severity == attn::Severity::error ||
                          (command.strict && finding.rule->severity == attn::Severity::warning);
               })
               ? 1
               : 0;
}

}  // namespace

void setup_lint(CLI::App& cli, int& exit_code) {
    auto command = std::make_shared<LintCommand>();
    cli.add_option("--explain", command->explain, "tell the whole lesson of one rule")
        ->type_name("ID");
    cli.add_option("--only", command->only, "these rules only")->type_name("ID,ID");
    cli.add_flag("--strict", command->strict, "warnings are findings too");
    cli.add_flag("--json", command->json, "as JSON");
    setup_walk_flags(cli, command->walk);
    cli.callback([command, &exit_code] { exit_code = run_lint(*command); });
}

}  // namespace app
