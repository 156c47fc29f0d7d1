#include <algorithm>

#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/io/input_file.hpp"
#include "attn/io/read_tensor.hpp"
#include "attn/models/hugging_face.hpp"
#include "attn/tensor/slice.hpp"

namespace app {
namespace {

using attn::Projection;
using attn::Tensor;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool has(const std::vector<attn::NamedTensor>& tensors, std::string_view name) {
    return std::ranges::find(tensors, name, &attn::NamedTensor::name) != tensors.end();
}

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

/// Sets what the names in the file tell of the model, where no flag has said it.
void set_model_by_names(const Arguments& arguments, const std::vector<attn::NamedTensor>& tensors,
                        attn::WalkConfig& config) {
    const bool projects = config.projection != Projection::none;
    if (!arguments.has(flags::projection) && !arguments.has(flags::model) &&
        has(tensors, "w_qkv") && !has(tensors, "w_query")) {
        config.projection = Projection::fused;
    }
    for (const attn::NamedTensor& each : tensors) {
        if (projects && is_one_of(each.name, {"b_query", "b_key", "b_value", "b_qkv"})) {
            config.bias = true;
        }
        if (is_one_of(each.name, {"w_output", "b_output"})) config.output_projection = true;
        if (each.name == "b_output") config.output_bias = true;
        if (each.name == "sink" && !config.sink) config.sink = attn::SinkLogit::given;
        const bool per_head =
            config.projection == Projection::stacked || config.projection == Projection::per_head;
        if (per_head && !arguments.has(flags::heads) && each.name.starts_with("w_") &&
            each.tensor.dimension() == 3) {
            config.heads = static_cast<std::int64_t>(each.tensor.shape()[0]);
        }
    }
}

/// Reads the leading axes of query, key and value given directly: (batch, head, tokens, features),
/// where three axes begin with the heads unless there is a word of a batch.
void set_leading_axes(const Arguments& arguments, std::vector<attn::NamedTensor>& tensors,
                      attn::WalkConfig& config) {
    if (config.projection != Projection::none ||
        !std::holds_alternative<attn::RandomInput>(config.input)) {
        return;
    }
    std::vector<attn::NamedTensor*> direct;
    for (const char* name : {"query", "key", "value"}) {
        for (attn::NamedTensor& each : tensors) {
            if (each.name == name) direct.push_back(&each);
        }
    }
    for (attn::NamedTensor* const one : direct) {
        attn::NamedTensor& each = *one;
        const attn::Shape shape = each.tensor.shape();
        const bool batched = shape.size() == 4 || arguments.has(flags::batch) ||
                             each.tensor.has_axis("batch") ||
                             (shape.size() == 3 && config.heads == 1 &&
                              arguments.has(flags::heads) && shape[0] != 1);
        const std::size_t head_axis = batched ? 1 : 0;
        if (shape.size() < 3 || shape.size() > 4) continue;
        if (batched && !config.batch) config.batch = static_cast<std::int64_t>(shape[0]);
        if (head_axis + 3 > shape.size()) continue;
        const auto heads = static_cast<std::int64_t>(shape[head_axis]);
        // The first of them tells the heads; keys and values may be shared.
        if (one == direct.front() && !arguments.has(flags::heads)) config.heads = heads;
        if (each.name != "query" && heads != config.heads && !arguments.has(flags::kv_heads)) {
            config.kv_heads = heads;
        }
        // One head has no axis of its own.
        if (config.heads == 1 && heads == 1)
            each.tensor = attn::slice(each.tensor, batched ? ":,0" : "0");
    }
}

}  // namespace

void set_given_weights(const Arguments& arguments, attn::WalkConfig& config) {
    const std::string weights = arguments[flags::weights];
    const bool has_model = arguments.has(flags::model);
    if (weights.empty()) {
        if (has_model || arguments.has(flags::layer)) {
            throw attn::ConfigError(
                "--model and --layer say how to read --weights, which is missing");
        }
        return;
    }
    if (!has_model && arguments.has(flags::layer)) {
        throw attn::ConfigError("--layer needs --model gpt2 or bert");
    }
    const std::string label = attn::file_label(weights);
    std::vector<attn::NamedTensor> tensors =
        has_model ? read_model(arguments, config) : attn::read_tensors(weights, report_note);
    set_model_by_names(arguments, tensors, config);
    const bool direct = config.projection == Projection::none &&
                        (has(tensors, "query") || has(tensors, "key") || has(tensors, "value"));
    if (direct && !arguments.has(says_x)) config.input = attn::RandomInput{};
    set_leading_axes(arguments, tensors, config);

    // Take what this walk has, and say what it has not.
    attn::WalkConfig with_all = config;
    for (const attn::NamedTensor& each : tensors) {
        // Only who asks for earlier keys reads them, though a walk's file may hold them.
        const bool asked = config.past || !each.name.starts_with("past_");
        if (!each.name.empty() && asked) with_all.parameters.record(each.name, each.tensor);
    }
    const std::vector<std::string> needed = attn::parameter_names(std::move(with_all));
    std::vector<std::string> unused;
    for (attn::NamedTensor& each : tensors) {
        if (std::find(needed.begin(), needed.end(), each.name) != needed.end()) {
            config.parameters.record(each.name, std::move(each.tensor));
        } else {
            unused.push_back(each.name.empty() ? "an array without a name" : each.name);
        }
    }
    std::vector<std::string> drawn;
    for (const std::string& name : needed) {
        if (!config.parameters.has(name)) drawn.push_back(name);
    }
    if (config.parameters.entries().empty()) {
        throw attn::InputError(label + ": holds none of the parameters of this walk, " +
                               attn::some_of(needed) + ": it has " +
                               (unused.empty() ? "no array" : attn::some_of(unused)) +
                               " (--model gpt2 or bert reads the names of those models)");
    }
    config.weights_file = weights;
    std::string note;
    if (!drawn.empty())
        note = (has_model ? "not read, so drawn: " : "drawn, as it does not hold them: ") +
               attn::some_of(drawn);
    if (!unused.empty())
        note += (note.empty() ? "" : "; ") + ("not used: " + attn::some_of(unused));
    if (!note.empty()) report_note(label + ": " + note);
}

}  // namespace app
