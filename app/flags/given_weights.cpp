#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/plan/given_sizes.hpp"
#include "attn/files/io/input_file.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/hugging_face.hpp"

namespace app {
namespace {

using attn::Projection;

void contradict(const std::string& flag, const std::string& model, const std::string& has_it) {
    throw attn::ConfigError(flag + " contradicts --model " + model + ", which " + has_it +
                            ": leave " + flag.substr(0, flag.find(' ')) + " out");
}

/// Reads one layer of a model and sets what its family decides.
std::vector<attn::NamedTensor> read_model(const Arguments& arguments, attn::WalkConfig& config) {
    const std::string model = arguments[flags::model];
    const std::string weights = arguments[flags::weights];
    const attn::models::AttentionNames names = attn::models::attention_names(model);
    const std::int64_t layer = arguments[flags::layer];
    if (!arguments.has(flags::heads)) {
        throw attn::ConfigError("--model " + model +
                                " needs --heads: the file does not tell how many there are (12 in "
                                "the small models)");
    }
    const attn::TensorFile file(weights);
    std::vector<attn::NamedTensor> parameters =
        attn::models::pick_layer(file.arrays(), names, layer, file.label());
    const Projection projection = names.fused ? Projection::fused : Projection::split;
    const auto layout = names.in_out ? attn::WeightLayout::in_out : attn::WeightLayout::out_in;
    if (arguments.has(flags::projection) && config.projection != projection) {
        contradict("--projection " + arguments[flags::projection], model,
                   "is " + std::string(attn::word(projection)));
    }
    if (config.weight_layout.value_or(layout) != layout) {
        contradict("--weight-layout " + arguments[flags::weight_layout], model,
                   "is " + std::string(attn::word(layout)));
    }
    if (arguments.has(flags::no_merge)) contradict("--no-merge", model, "has an output projection");
    config.projection = projection;
    config.weight_layout = layout;
    config.model = model;
    config.layer = layer;
    if (names.causal && !config.mask.causal) {
        report_note("GPT-2 is causal: add --mask causal");
    }
    return parameters;
}

/// The parameters of a walk, and which of them a file holds.
struct WalkParameters {
    std::vector<std::string> needed, drawn{};
    std::vector<std::string> unused{};  ///< the file has them, and the walk has not
};

/// Takes what this walk has.
WalkParameters take_parameters(const attn::Ledger& given, attn::WalkConfig& config) {
    attn::WalkConfig with_all = config;
    for (const auto& [name, tensor] : given.entries()) {
        // Only who asks for earlier keys reads them, though a walk's file may hold them.
        const bool asked = config.past || !name.starts_with("past_");
        if (!name.empty() && asked) with_all.parameters.record(name, tensor);
    }
    WalkParameters held{attn::parameter_names(std::move(with_all))};
    for (const auto& [name, tensor] : given.entries()) {
        if (std::ranges::find(held.needed, name) != held.needed.end()) {
            config.parameters.record(name, tensor);
        } else {
            held.unused.push_back(name.empty() ? "an array without a name" : name);
        }
    }
    for (const std::string& name : held.needed) {
        if (!config.parameters.has(name)) held.drawn.push_back(name);
    }
    return held;
}

}  // namespace

attn::SaidSettings said_settings(const Arguments& arguments) {
    return {.heads = arguments.has(flags::heads),
            .projection = arguments.has(flags::projection),
            .mask = arguments.has(flags::mask) || arguments.has(flags::mask_file),
            .source = arguments.has(says_x)};
}

void set_given_weights(const Arguments& arguments, attn::WalkConfig& config) {
    const std::string weights = arguments[flags::weights];
    const bool has_model = arguments.has(flags::model);
    if (weights.empty()) {
        if (has_model || arguments.has(flags::layer)) {
            throw attn::ConfigError(
                arguments.has(flags::layer)
                    ? "--layer is of a model, which is missing: pass --model-file stories, or "
                      "--weights FILE"
                    : "--model says how to read --weights, which is missing");
        }
        return;
    }
    if (!has_model && arguments.has(flags::layer)) {
        throw attn::ConfigError("--layer needs --model gpt2 or bert");
    }
    const std::string label = attn::file_label(weights);
    attn::Ledger given;
    for (attn::NamedTensor& each :
         has_model ? read_model(arguments, config) : attn::read_tensors(weights, report_note)) {
        given.record(each.name, std::move(each.tensor));
    }
    const attn::SaidSettings said = said_settings(arguments);
    attn::take_names(given, said, config);
    attn::take_direct(given, said, config);
    const auto [needed, drawn, unused] = take_parameters(given, config);
    if (config.parameters.entries().empty()) {
        throw attn::InputError(label + ": holds none of the parameters of this walk, " +
                               attn::some_of(needed) + ": it has " +
                               (unused.empty() ? "no array" : attn::some_of(unused)) +
                               " (--model gpt2 or bert reads the names of those models)");
    }
    config.weights_file = weights;
    std::vector<std::string> notes;
    for (const std::string& assumed : attn::take_shapes({}, said, config)) {
        notes.push_back("assumed: " + assumed);
    }
    if (!drawn.empty()) {
        notes.push_back((has_model ? "not read, so drawn: " : "drawn, as it does not hold them: ") +
                        attn::some_of(drawn));
    }
    if (!unused.empty()) notes.push_back("not used: " + attn::some_of(unused));
    if (!notes.empty()) report_note(label + ": " + attn::joined(notes, "; "));
}

}  // namespace app
