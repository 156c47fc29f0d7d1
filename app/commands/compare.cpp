#include "attn/explain/compare.hpp"

#include <CLI/CLI.hpp>

#include "app/commands/commands.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/cards/step_table.hpp"

namespace app {
namespace {

struct CompareCommand {
    std::string left, right;
    std::string atol, rtol;
    bool json = false;
    WalkFlags walk;
};

/// One side: a walk, or the steps that a file holds.
struct Side {
    attn::Ledger ledger;
    std::optional<attn::Plan> plan;
};

Side walked(const WalkFlags& flags) {
    Side side;
    side.plan = attn::resolve(config_of(flags));
    side.ledger = attn::walk(*side.plan, attn::draw(*side.plan));
    return side;
}

Side side_of(const std::string& what, const WalkFlags& base) {
    for (const auto& [word, variant] : attn::words<attn::Variant>) {
        if (what == word) return walked(with_flags(base, "--variant " + what));
    }
    if (what.find_first_not_of(' ') == what.find("--")) return walked(with_flags(base, what));
    return {read_ledger(what), std::nullopt};
}

std::optional<attn::Tolerance> tolerance_of(const CompareCommand& command) {
    if (command.atol.empty() && command.rtol.empty()) return std::nullopt;
    attn::Tolerance tolerance;
    if (!command.atol.empty()) tolerance.absolute = parse_number("--atol", command.atol);
    if (!command.rtol.empty()) tolerance.relative = parse_number("--rtol", command.rtol);
    if (!(tolerance.absolute >= 0 && tolerance.relative >= 0)) {
        throw attn::ConfigError("--atol and --rtol must not be negative");
    }
    return tolerance;
}

int run_compare(const CompareCommand& command) {
    const Side left = side_of(command.left, command.walk);
    const Side right = side_of(command.right, command.walk);
    const attn::Plan plan = left.plan    ? *left.plan
                            : right.plan ? *right.plan
                                         : attn::resolve(config_of(command.walk));
    const attn::Comparison comparison =
        attn::compare(plan, attn::step_table(), left.ledger, right.ledger, tolerance_of(command));
    if (comparison.steps.empty()) {
        throw attn::ConfigError(command.left + " and " + command.right +
                                " have no step in common: name the arrays after the steps");
    }
    StandardOutput output;
    output.write(command.json ? attn::comparison_json(comparison)
                              : attn::comparison_text(comparison));
    output.flush();
    return comparison.equal() ? 0 : 1;
}

}  // namespace

void setup_compare(CLI::App& cli, int& exit_code) {
    auto command = std::make_shared<CompareCommand>();
    cli.add_option("A", command->left,
                   "loop, vectorized, fused, flags in one word (\"--scale none\"), or a file")
        ->required();
    cli.add_option("B", command->right, "the other")->required();
    cli.add_option("--atol", command->atol, "absolute difference that is let pass (rounding)")
        ->type_name("X");
    cli.add_option("--rtol", command->rtol, "relative difference that is let pass (rounding)")
        ->type_name("X");
    cli.add_flag("--json", command->json, "as JSON");
    setup_walk_flags(cli, command->walk);
    cli.callback([command, &exit_code] { exit_code = run_compare(*command); });
}

}  // namespace app
