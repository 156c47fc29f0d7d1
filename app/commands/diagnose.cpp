#include "attn/explain/diagnose.hpp"

#include <map>

#include "app/commands/commands.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/explain/power.hpp"

namespace app {
namespace {

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
void take_inputs(const attn::Ledger& file, const Arguments& arguments, attn::WalkConfig& config) {
    for (const auto& [name, tensor] : file.entries()) {
        if (name == "x" && !says_a_source(arguments)) {
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

attn::DiagnoseOptions options_of(const Arguments& arguments) {
    attn::DiagnoseOptions options;
    if (const auto decimals = arguments.integer("--decimals")) {
        options.decimals = static_cast<int>(*decimals);
    }
    options.pairs = arguments.has("--pairs");
    options.tolerance = tolerance_of(arguments);
    return options;
}

/// Says which mistakes the input of the flags (and files) can reveal.
int run_power(const Arguments& arguments) {
    attn::WalkConfig config = config_of(arguments);
    require_all_steps(config, "diagnose");
    for (const char* name : {"--given", "FILE"}) {
        if (arguments.has(name)) {
            take_inputs(read_ledger(arguments.text(name)), arguments, config);
        }
    }
    const attn::Plan plan = attn::resolve(std::move(config));
    note_useless_flags(arguments, &plan);
    const attn::Power power = attn::power(plan, attn::draw(plan));
    write_text(arguments,
               arguments.has("--json") ? attn::power_json(power) : attn::power_text(power));
    return 0;
}

int run_diagnose(const Arguments& arguments) {
    if (arguments.has("--power")) return run_power(arguments);
    if (!arguments.has("FILE")) {
        throw attn::ConfigError("there is nothing to diagnose: name a file, or pass --power");
    }
    const attn::Ledger file = renamed(read_ledger(arguments.text("FILE")), arguments.all("--map"));
    attn::WalkConfig config = config_of(arguments);
    require_all_steps(config, "diagnose");
    if (arguments.has("--given")) {
        take_inputs(read_ledger(arguments.text("--given")), arguments, config);
    }
    take_inputs(file, arguments, config);
    const attn::Plan plan = attn::resolve(std::move(config));
    note_useless_flags(arguments, &plan);
    const attn::Diagnosis diagnosis =
        attn::diagnose(plan, attn::draw(plan), computed_steps(file), options_of(arguments));
    write_text(arguments, arguments.has("--json") ? attn::diagnosis_json(diagnosis)
                                                  : attn::diagnosis_text(diagnosis));
    if (diagnosis.has_unknown()) return nothing_matches;
    return diagnosis.has_mistake() ? 1 : 0;
}

const std::vector<Flag>& own_flags() {
    const Need a_file{[](const Arguments& arguments) { return !arguments.has("--power"); }, nullptr,
                      "a file to diagnose: leave --power out"};
    static const std::vector<Flag> all{
        {"FILE", "FILE", "what your code computed: .npz, .safetensors, .json or a folder of .npy",
         file()},
        {"--given", "FILE", "a file with x and parameters, by their names", file()},
        Flag{"--map", "NAMES", "your name for a step: theirs:ours"}.repeatable().needing(a_file),
        Flag{"--decimals", "N", "your numbers are copies with N decimals", integer(0, 17)}.needing(
            a_file),
        Flag{"--pairs", "", "try two mistakes at once where one does not match"}.needing(a_file),
        {"--power", "", "say which mistakes this input could reveal"},
    };
    return all;
}

}  // namespace

Command diagnose_command() {
    return {"diagnose",
            "find the mistake in your own tensors",
            {own_flags, tolerance_flags, json_flags, file_flags, walk_flags},
            run_diagnose,
            {{"attn-explain diagnose mine.npz --given probe.npz --heads 2 --bias "
              "--output-projection --output-bias --mask causal,padding --lengths 5,3,5",
              "Names the mistake in what your code made of a probe."}}};
}

}  // namespace app
