#include "attn/explain/diagnose.hpp"

#include <CLI/CLI.hpp>
#include <map>

#include "app/commands/commands.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/sources.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/explain/power.hpp"

namespace app {
namespace {

struct DiagnoseCommand {
    std::string file, given;
    std::vector<std::string> map;
    std::optional<int> decimals;
    std::string atol, rtol;
    bool pairs = false, power = false, json = false;
    WalkFlags walk;
};

constexpr int nothing_matches = 3;

/// Their names as ours: what --map says, and q, k and v.
attn::Ledger renamed(const attn::Ledger& file, const std::vector<std::string>& map) {
    std::map<std::string, std::string> names{{"q", "query"}, {"k", "key"}, {"v", "value"}};
    for (const std::string& entry : map) {
        const std::size_t colon = entry.find(':');
        const std::string theirs = entry.substr(0, colon);
        if (colon == std::string::npos || !file.has(theirs)) {
            throw attn::ConfigError("--map '" + entry +
                                    "' is not like theirs:ours with a name that the file has");
        }
        names[theirs] = entry.substr(colon + 1);
        attn::find_step(attn::step_table(), names[theirs]);
    }
    attn::Ledger ledger;
    for (const auto& [name, tensor] : file.entries()) {
        const auto found = names.find(name);
        ledger.record(found == names.end() ? name : found->second, tensor);
    }
    return ledger;
}

attn::Step::Kind kind_of(const std::string& name) {
    return attn::find_step(attn::step_table(), name).kind;
}

bool is_step(const std::string& name) {
    for (const attn::Step& step : attn::step_table()) {
        if (step.name == name) return true;
    }
    return false;
}

/// Takes x, memory and parameters from a file, where no flag says otherwise.
void take_inputs(const attn::Ledger& file, const WalkFlags& flags, attn::WalkConfig& config) {
    for (const auto& [name, tensor] : file.entries()) {
        if (name == "x" && !says_a_source(flags)) {
            config.input = tensor;
            config.query_len.reset();
        } else if (name == "memory" && !config.memory) {
            config.memory = tensor;
            config.key_len.reset();
        } else if (is_step(name) && kind_of(name) == attn::Step::Kind::parameter) {
            config.parameters.record(name, tensor);
        }
    }
}

attn::Ledger computed_steps(const attn::Ledger& file) {
    attn::Ledger steps;
    for (const auto& [name, tensor] : file.entries()) {
        if (!is_step(name)) {
            report_note("'" + name + "' is no step and is left out (--map " + name +
                        ":STEP names it)");
        } else if (kind_of(name) == attn::Step::Kind::computed ||
                   kind_of(name) == attn::Step::Kind::detail) {
            steps.record(name, tensor);
        }
    }
    return steps;
}

attn::DiagnoseOptions options_of(const DiagnoseCommand& command) {
    attn::DiagnoseOptions options;
    options.decimals = command.decimals;
    if (command.decimals && (*command.decimals < 0 || *command.decimals > 17)) {
        throw attn::ConfigError("--decimals must be between 0 and 17, not " +
                                std::to_string(*command.decimals));
    }
    options.pairs = command.pairs;
    if (!command.atol.empty() || !command.rtol.empty()) {
        attn::Tolerance tolerance;
        if (!command.atol.empty()) tolerance.absolute = parse_number("--atol", command.atol);
        if (!command.rtol.empty()) tolerance.relative = parse_number("--rtol", command.rtol);
        options.tolerance = tolerance;
    }
    return options;
}

/// Says which mistakes the input of the flags (and files) can reveal.
int run_power(const DiagnoseCommand& command) {
    attn::WalkConfig config = config_of(command.walk);
    require_all_steps(config, "diagnose");
    for (const std::string& path : {command.given, command.file}) {
        if (!path.empty()) take_inputs(read_ledger(path), command.walk, config);
    }
    const attn::Plan plan = attn::resolve(std::move(config));
    const attn::Power power = attn::power(plan, attn::draw(plan));
    StandardOutput output;
    output.write(command.json ? attn::power_json(power) : attn::power_text(power));
    output.flush();
    return 0;
}

int run_diagnose(const DiagnoseCommand& command) {
    if (command.power) return run_power(command);
    if (command.file.empty()) {
        throw attn::ConfigError("there is nothing to diagnose: name a file, or pass --power");
    }
    const attn::Ledger file = renamed(read_ledger(command.file), command.map);
    attn::WalkConfig config = config_of(command.walk);
    require_all_steps(config, "diagnose");
    if (!command.given.empty()) take_inputs(read_ledger(command.given), command.walk, config);
    take_inputs(file, command.walk, config);
    const attn::Plan plan = attn::resolve(std::move(config));
    const attn::Diagnosis diagnosis =
        attn::diagnose(plan, attn::draw(plan), computed_steps(file), options_of(command));
    StandardOutput output;
    output.write(command.json ? attn::diagnosis_json(diagnosis) : attn::diagnosis_text(diagnosis));
    output.flush();
    if (diagnosis.has_unknown()) return nothing_matches;
    return diagnosis.has_mistake() ? 1 : 0;
}

}  // namespace

void setup_diagnose(CLI::App& cli, int& exit_code) {
    auto command = std::make_shared<DiagnoseCommand>();
    cli.add_option("FILE", command->file,
                   "what your code computed: .npz, .safetensors, .json or a folder of .npy");
    cli.add_option("--given", command->given, "a file with x and parameters, by their names")
        ->type_name("FILE");
    cli.add_option("--map", command->map, "your name for a step: theirs:ours, repeatable")
        ->type_name("NAMES")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    cli.add_option("--decimals", command->decimals,
                   "the numbers were copied with so many decimals");
    cli.add_option("--atol", command->atol, "absolute difference that is let pass (rounding)")
        ->type_name("X");
    cli.add_option("--rtol", command->rtol, "relative difference that is let pass (rounding)")
        ->type_name("X");
    cli.add_flag("--pairs", command->pairs, "try two mistakes at once where one does not match");
    cli.add_flag("--power", command->power, "say which mistakes this input could reveal");
    cli.add_flag("--json", command->json, "as JSON");
    setup_walk_flags(cli, command->walk);
    cli.callback([command, &exit_code] { exit_code = run_diagnose(*command); });
}

}  // namespace app
