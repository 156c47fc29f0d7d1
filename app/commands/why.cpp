#include "attn/explain/why.hpp"
#include "attn/cards/step_table.hpp"

#include <CLI/CLI.hpp>

#include "app/commands/commands.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

struct WhyCommand {
    std::string cell;
    std::int64_t depth = 1, top = 12;
    std::vector<std::string> what_if;
    bool json = false;
    WalkFlags walk;
};

/// The row of the cell under another setting, `mask=none`.
std::string what_if(const WhyCommand& command, const std::string& setting) {
    const std::size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    if (equals == std::string::npos ||
        (name != "mask" && name != "scale" && name != "softmax-axis")) {
        throw attn::ConfigError("--what-if '" + setting +
                                "' is not like mask=none, scale=none or softmax-axis=query");
    }
    const WalkFlags flags =
        with_flags(command.walk, "--" + name + " " + setting.substr(equals + 1));
    const attn::Plan plan = attn::resolve(config_of(flags));
    const attn::Ledger ledger = attn::walk(plan, attn::draw(plan));
    const std::string step = command.cell.substr(0, command.cell.find('['));
    if (!ledger.has(step)) return "what if " + setting + ": there is no " + step + " then\n";
    const attn::Cell cell = attn::parse_cell(plan, attn::step_table(), ledger, command.cell);
    return "what if " + setting + ": row " + attn::row_text(ledger, cell) + "\n";
}

int run_why(const WhyCommand& command) {
    if (command.depth < 1 || command.depth > 20 || command.top < 1) {
        throw attn::ConfigError("--depth goes from 1 to 20, --top from 1 on");
    }
    attn::Plan plan = attn::resolve(config_of(command.walk));
    attn::Ledger ledger = attn::walk(plan, attn::draw(plan));
    if (plan.fused() && !ledger.has(command.cell.substr(0, command.cell.find('[')))) {
        report_note(
            "--variant fused keeps no such step: this is --variant vectorized, which "
            "differs by rounding");
        plan = attn::resolve(config_of(with_flags(command.walk, "--variant vectorized")));
        ledger = attn::walk(plan, attn::draw(plan));
    }
    const attn::Cell cell = attn::parse_cell(plan, attn::step_table(), ledger, command.cell);
    attn::WhyOptions options;
    options.depth = static_cast<std::size_t>(command.depth);
    options.top = static_cast<std::size_t>(command.top);
    std::string text = command.json
                           ? attn::why_json(plan, attn::step_table(), ledger, cell, options)
                           : attn::why_text(plan, attn::step_table(), ledger, cell, options);
    for (const std::string& setting : command.what_if) {
        if (command.json) throw attn::ConfigError("--what-if is for people: leave --json out");
        text += what_if(command, setting);
    }
    StandardOutput output;
    output.write(text);
    output.flush();
    return 0;
}

}  // namespace

void setup_why(CLI::App& cli, int& exit_code) {
    auto command = std::make_shared<WhyCommand>();
    cli.add_option("CELL", command->cell,
                   "a cell: 'weights[0,1]' or, by words, 'weights[short,eat]'")
        ->required();
    cli.add_option("--depth", command->depth, "derive the sources in turn, so many times (1)");
    cli.add_option("--top", command->top, "terms shown, the largest first (12)");
    cli.add_option("--what-if", command->what_if, "the same row under another setting: mask=none")
        ->type_name("SETTING")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    cli.add_flag("--json", command->json, "as JSON");
    setup_walk_flags(cli, command->walk);
    cli.callback([command, &exit_code] { exit_code = run_why(*command); });
}

}  // namespace app
