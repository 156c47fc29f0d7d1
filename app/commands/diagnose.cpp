#include "attn/explain/diagnose.hpp"

#include <map>

#include "app/commands/commands.hpp"
#include "app/flags/ledger_file.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/cards/step_table.hpp"
#include "attn/explain/power.hpp"
#include "attn/explain/replay.hpp"
#include "attn/explain/their_tensors.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

/// Something of theirs has no verdict: no known mistake matches, or it was not compared.
constexpr int no_verdict = 3;

const attn::Step* step_called(const std::string& name) {
    for (const attn::Step& step : attn::step_table()) {
        if (step.name == name) return &step;
    }
    return nullptr;
}

/// Whether the flags describe an x to draw, or parameters.
bool says_sizes(const Arguments& arguments) {
    for (const char* flag : {"--batch", "--seq-len", "--embed-dim", "--weights", "--seed"}) {
        if (arguments.has(flag)) return true;
    }
    return false;
}

bool is_parameter(const std::string& name) {
    const attn::Step* step = step_called(name);
    return step != nullptr && step->kind == attn::Step::Kind::parameter;
}

/// What a file of inputs says of the walk besides its tensors; `probe` writes it.
struct Settings {
    std::optional<std::int64_t> heads;
    std::optional<bool> causal;
    std::vector<std::int64_t> lengths;
};

Settings settings_in(const attn::Ledger& file) {
    Settings settings;
    if (const attn::Tensor* heads = file.find("heads"); heads != nullptr && heads->size() == 1) {
        settings.heads = static_cast<std::int64_t>(heads->at(0));
    }
    if (const attn::Tensor* causal = file.find("causal");
        causal != nullptr && causal->size() == 1) {
        settings.causal = causal->at(0) != 0;
    }
    if (const attn::Tensor* lengths = file.find("lengths"); lengths != nullptr) {
        for (std::size_t i = 0; i < lengths->size(); ++i) {
            settings.lengths.push_back(static_cast<std::int64_t>(lengths->at(i)));
        }
    }
    return settings;
}

/// What the given file says and no flag does.
void take_settings(const Arguments& arguments, const attn::Ledger& given,
                   attn::WalkConfig& config) {
    const Settings settings = settings_in(given);
    if (!arguments.has("--heads") && settings.heads) config.heads = *settings.heads;
    if (config.lengths.empty()) config.lengths = settings.lengths;
    if (!arguments.has("--mask") && !arguments.has("--mask-file")) {
        config.mask.causal = settings.causal.value_or(false);
        config.mask.padding = !settings.lengths.empty();
    }
    if (!arguments.has("--projection") && given.has("w_qkv")) {
        config.projection = attn::Projection::fused;
    }
    config.bias = config.bias || given.has("b_query") || given.has("b_qkv");
    config.output_projection = config.output_projection || given.has("w_output");
    config.output_bias = config.output_bias || given.has("b_output");
}

/// Takes x, memory and parameters from the file that was given for that.
void take_given(const attn::Ledger& given, attn::WalkConfig& config) {
    for (const auto& [name, tensor] : given.entries()) {
        if (name == "x") {
            config.input = tensor;
            config.query_len.reset();
        } else if (name == "memory") {
            config.memory = tensor;
            config.key_len.reset();
        } else if (is_parameter(name)) {
            config.parameters.record(name, tensor);
        }
    }
}

/// A given mask, true where it hides, for a walk whose flags name none.
void take_mask(const attn::Ledger& given, attn::WalkConfig& config) {
    const attn::Tensor* mask = given.find("mask");
    if (mask == nullptr || config.mask.any()) return;
    attn::Array<bool> hidden = attn::empty_array<bool>(mask->shape());
    for (std::size_t i = 0; i < mask->size(); ++i) hidden.data()[i] = mask->at(i) != 0;
    config.mask.given = attn::Tensor(mask->axes(), std::move(hidden));
}

/// The walk to compare with, and what of their file is compared.
struct Asked {
    attn::WalkConfig config;
    attn::Ledger theirs;
    bool takes_projections = false;
};

/// Whether the flags, without a word about x, draw the very x that the file has.
bool draws_this_x(const attn::WalkConfig& config, const attn::Tensor& x) {
    try {
        const attn::Plan plan = attn::resolve(config);
        attn::Replay replay(plan, attn::draw(plan));
        const attn::Tensor* ours = replay.step("x");
        return ours != nullptr && attn::judged(x, *ours, {1e-6, 1e-6}).right();
    } catch (const attn::Error&) {
        return false;  // these flags are for the file's x
    }
}

/// The sizes of a walk that starts with their query, key and value: nothing else says them.
void take_sizes(const attn::Ledger& named, bool says_heads, attn::WalkConfig& config) {
    config.projection = attn::Projection::none;
    config.input = attn::RandomInput{};
    const attn::Shape query = named["query"].shape();
    const attn::Tensor* cells = named.find("weights");
    if (cells == nullptr) cells = named.find("scores");
    // (batch, head, token, feature), unless a tensor over queries and keys says where the heads
    // are.
    std::size_t samples = query.size() > 2 ? query.front() : 0;
    std::size_t heads = query.size() == 4 ? query[1] : static_cast<std::size_t>(config.heads);
    std::size_t tokens = query[query.size() - 2];
    if (cells != nullptr && cells->dimension() == 4) {
        samples = cells->shape()[0];
        heads = cells->shape()[1];
        tokens = cells->shape()[2];
    }
    if (says_heads) heads = static_cast<std::size_t>(config.heads);
    // (batch * head, token, feature) beside (batch * head, query, key).
    const bool joined = query.size() == 3 && cells != nullptr && cells->dimension() == 3 &&
                        cells->shape()[0] == samples && samples % heads == 0;
    if (joined) samples /= heads;
    const std::size_t all = std::max<std::size_t>(samples, 1) * heads * tokens;
    if (samples != 0 && !config.batch) config.batch = static_cast<std::int64_t>(samples);
    config.heads = static_cast<std::int64_t>(heads);
    config.query_len = static_cast<std::int64_t>(tokens);
    config.head_dim =
        static_cast<std::int64_t>(named["query"].size() / std::max<std::size_t>(all, 1));
    const attn::Shape key = named["key"].shape();
    if (key.size() == 4 && key[1] < heads && !config.kv_heads) {
        config.kv_heads = static_cast<std::int64_t>(key[1]);
    }
    const auto kv_heads =
        static_cast<std::size_t>(std::max<std::int64_t>(config.kv_heads.value_or(config.heads), 1));
    config.value_dim = static_cast<std::int64_t>(named["value"].size() /
                                                 std::max<std::size_t>(all / heads * kv_heads, 1));
}

/// Their tensors under the steps' names, where these leave no doubt.
attn::Ledger by_step(const attn::Ledger& file, const std::map<std::string, std::string>& said) {
    attn::Ledger named;
    for (const auto& [name, tensor] : file.entries()) {
        const auto found = said.find(name);
        const std::vector<std::string> steps = attn::known_steps(name);
        const std::string step = found != said.end() ? found->second
                                 : steps.empty()     ? name
                                                     : steps.front();
        if (!named.has(step) && tensor.dimension() >= 1) named.record(step, tensor);
    }
    return named;
}

/// The walk by --given, then the flags, then their own file.
Asked asked_walk(const Arguments& arguments, const attn::Ledger& file,
                 const std::map<std::string, std::string>& said) {
    const attn::Ledger given =
        arguments.has("--given") ? read_ledger(arguments.text("--given")) : attn::Ledger();
    const attn::Ledger named = by_step(file, said);
    Asked asked{config_of(arguments), {}, false};
    take_settings(arguments, given, asked.config);
    require_all_steps(asked.config, "diagnose");
    take_given(given, asked.config);
    take_mask(given, asked.config);
    bool has_source = says_a_source(arguments) || given.has("x");
    const attn::Tensor* x = named.find("x");
    if (x != nullptr && !has_source) has_source = draws_this_x(asked.config, *x);
    const bool has_memory = asked.config.memory.has_value();
    attn::Ledger inputs;
    for (const auto& [name, tensor] : file.entries()) {
        const auto found = said.find(name);
        const std::vector<std::string> steps = attn::known_steps(name);
        const std::string step = found != said.end() ? found->second
                                 : steps.empty()     ? ""
                                                     : steps.front();
        const bool missing = (step == "x" && !has_source) || (step == "memory" && !has_memory) ||
                             (is_parameter(step) && !asked.config.parameters.has(step) &&
                              !(step.ends_with("embedding") && has_source));
        const bool setting = name == "heads" || name == "causal" || name == "lengths";
        if (missing && !inputs.has(step)) {
            inputs.record(step, tensor);
        } else if (!setting) {
            asked.theirs.record(name, tensor);
        }
    }
    take_given(inputs, asked.config);
    const auto is_matrix = [&named](const char* step) {
        const attn::Tensor* tensor = named.find(step);
        return tensor != nullptr && tensor->dimension() >= 2;
    };
    const bool projected = is_matrix("query") && is_matrix("key") && is_matrix("value");
    const bool from_files = given.has("x") || inputs.has("x") || (!has_source && x == nullptr);
    asked.takes_projections = projected && from_files && !says_a_source(arguments) &&
                              asked.config.parameters.entries().empty() && !says_sizes(arguments);
    if (asked.takes_projections && !given.has("x") && !inputs.has("x")) {
        take_sizes(named, arguments.has("--heads"), asked.config);
    }
    return asked;
}

attn::DiagnoseOptions options_of(const Arguments& arguments, const attn::Ledger& file) {
    attn::DiagnoseOptions options;
    if (const auto decimals = arguments.integer("--decimals")) {
        options.decimals = static_cast<int>(*decimals);
    }
    options.pairs = arguments.has("--pairs");
    options.tolerance = tolerance_of(arguments);
    for (const std::string& entry : arguments.all("--map")) {
        const std::size_t colon = entry.find(':');
        const std::string theirs = entry.substr(0, colon);
        if (colon == std::string::npos || !file.has(theirs)) {
            throw attn::ConfigError("--map '" + entry +
                                    "' is not like theirs:ours with a name that the file has");
        }
        options.steps[theirs] = attn::find_step(attn::step_table(), entry.substr(colon + 1)).name;
    }
    return options;
}

/// Says which mistakes the input of the flags (and files) can reveal.
int run_power(const Arguments& arguments) {
    const attn::Ledger file =
        arguments.has("FILE") ? read_ledger(arguments.text("FILE")) : attn::Ledger();
    Asked asked = asked_walk(arguments, file, {});
    const attn::Plan plan = attn::resolve(std::move(asked.config));
    note_useless_flags(arguments, &plan);
    const attn::Power power = attn::power(plan, attn::draw(plan));
    write_text(arguments,
               arguments.has("--json") ? attn::power_json(power) : attn::power_text(power));
    return 0;
}

int exit_code_of(const attn::Diagnosis& diagnosis, bool partial) {
    if (diagnosis.has_unknown()) return no_verdict;
    if (diagnosis.has_mistake()) return 1;
    return diagnosis.skipped.empty() || partial ? 0 : no_verdict;
}

int run_diagnose(const Arguments& arguments) {
    if (arguments.has("--power")) return run_power(arguments);
    if (!arguments.has("FILE")) {
        throw attn::ConfigError("there is nothing to diagnose: name a file, or pass --power");
    }
    const attn::Ledger file = read_ledger(arguments.text("FILE"));
    attn::DiagnoseOptions options = options_of(arguments, file);
    Asked asked = asked_walk(arguments, file, options.steps);
    options.takes_projections = asked.takes_projections;
    Progress progress;
    options.progress = [&progress](const std::string& step, double done) {
        progress.show(done, step);
    };
    const attn::Plan plan = attn::resolve(std::move(asked.config));
    note_useless_flags(arguments, &plan);
    const attn::Diagnosis diagnosis = attn::diagnose(plan, attn::draw(plan), asked.theirs, options);
    progress.clear();
    write_text(arguments, arguments.has("--json") ? attn::diagnosis_json(diagnosis)
                                                  : attn::diagnosis_text(diagnosis));
    return exit_code_of(diagnosis, arguments.has("--partial"));
}

const std::vector<Flag>& diagnose_flags() {
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
        Flag{"--partial", "", "let tensors that are no step be left out: exit code 0 all the same"}
            .needing(a_file),
        {"--power", "", "say which mistakes this input could reveal"},
    };
    return all;
}

}  // namespace

Command diagnose_command() {
    return {"diagnose",
            "find the mistake in your own tensors",
            {diagnose_flags, tolerance_flags, json_flags, file_flags, walk_flags},
            run_diagnose,
            {{"attn-explain diagnose mine.npz --given probe.npz",
              "Names the mistake in what your code made of a probe."}}};
}

}  // namespace app
