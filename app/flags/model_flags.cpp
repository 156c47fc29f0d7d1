#include "app/flags/model_flags.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "app/flags/output_flags.hpp"
#include "app/flags/setting.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/open_model.hpp"
#include "attn/models/runtime.hpp"

namespace app {
namespace {

using attn::Tensor;
using attn::WalkConfig;
using attn::models::Architecture;
using attn::models::LayerKind;
using attn::models::Model;
using attn::models::Without;

[[noreturn]] void refuse_decided(const std::string& flag) {
    throw attn::ConfigError(flag + " contradicts --model-file, which determines it: leave it out");
}

void refuse_decided(const Arguments& arguments) {
    for (const Flag& flag : walk_flags()) {
        if (flag.is(flags::memory)) continue;  // with a model, this flag is the memory limit
        if (flag.is(of_model) && arguments.has(flag)) refuse_decided(flag.name);
    }
    const bool draws = arguments.has(flags::sink) || arguments.has(flags::position_bias);
    for (const Arguments::SpecifiedFlag& specified : arguments.specified()) {
        if (draws || specified.implied || !specified.flag->is(of_draws)) continue;
        throw attn::ConfigError(
            specified.flag->name +
            " has no effect with --model-file: a trained model draws nothing; leave it out");
    }
    if (arguments[flags::texts].size() > 1) {
        throw attn::ConfigError("--model-file takes one --text: leave the others out");
    }
}

std::size_t layer_of(const Arguments& arguments, const Model& model) {
    const auto layer = static_cast<std::size_t>(arguments[flags::layer]);
    const std::size_t layers = model.architecture.layers.size();
    if (layer >= layers) {
        throw attn::ConfigError("--layer " + std::to_string(layer) + ": " + model.label +
                                " has the layers 0 to " + std::to_string(layers - 1));
    }
    return layer;
}

/// Returns the label of a token in rows and columns, without the space before a word.
std::string label_of(const Model& model, std::int64_t id) {
    if (model.tokenizer == nullptr) return std::to_string(id);
    const std::string label = model.tokenizer->label(id);
    const std::string_view word = attn::trimmed(label);
    return word.empty() ? label : std::string(word);
}

attn::Tokens tokens_of(const Model& model, const std::vector<std::int64_t>& ids) {
    attn::Tokens tokens;
    tokens.sequences = {ids};
    tokens.labels.emplace_back();
    for (const std::int64_t id : ids) tokens.labels[0].push_back(label_of(model, id));
    tokens.vocab_size = static_cast<std::int64_t>(model.architecture.vocab_size);
    tokens.embedded = true;
    return tokens;
}

/// Sets the rows that the layer starts from.
void give_inputs(const ModelRun& run, std::size_t layer, WalkConfig& config) {
    const attn::models::Runtime<double> none(
        std::make_shared<attn::models::Parameters<double>>(run.model, 0));
    const attn::models::Embedded<double> rows = none.embedding_of(run.ids);
    const auto give = [&](const char* name, const attn::Array<double>& numbers) {
        config.parameters.record(name, Tensor({"token", "feature"}, numbers));
    };
    give("token_embedding", rows.tokens);
    if (rows.positions.size() > 0) give("position_embedding", rows.positions);
    if (layer > 0 || rows.normed) give("x", run.inputs[layer]);
}

/// Restores the settings of a layer's attention that flags set.
void keep_typed(const Arguments& arguments, const WalkConfig& typed, WalkConfig& config) {
    if (arguments.has(flags::scale)) config.scale = typed.scale;
    if (arguments.has(flags::mask)) config.mask = typed.mask;
    if (arguments.has(flags::softcap)) config.softcap = typed.softcap;
    if (arguments.has(flags::sink)) config.sink = typed.sink;
    if (arguments.has(flags::rope)) {
        config.rotary = typed.rotary;
        return;
    }
    if (arguments.has(flags::rope_theta)) config.rotary.theta = typed.rotary.theta;
    if (arguments.has(flags::rotary_dim)) config.rotary.dim = typed.rotary.dim;
    if (arguments.has(flags::rope_scaling)) config.rotary.scaling = typed.rotary.scaling;
}

/// Makes `config` the walk through this layer.
void set_layer(const Arguments& arguments, const ModelRun& run, std::size_t layer,
               WalkConfig& config) {
    const WalkConfig typed = config;
    config.input = tokens_of(run.model, run.ids);
    attn::models::set_layer(run.model, layer, config);
    keep_typed(arguments, typed, config);
    give_inputs(run, layer, config);
    attn::models::give_parameters(run.model, layer, config);
}

/// Records the flags that changed the walk from the model's own, and keeps the latter. A typed
/// value that is not in effect contradicts the model.
void keep_own(const Arguments& arguments, const ModelRun& run, std::size_t layer,
              const WalkConfig& typed, WalkConfig& config) {
    auto own = std::make_shared<WalkConfig>();
    for (const auto& [flag, text, implied] : arguments.specified()) {
        if (flag->sets() && flag->is(of_arithmetic)) flag->take(*own, text);
    }
    set_layer(Arguments(arguments.tables()), run, layer, *own);
    for (const auto& [flag, text, implied] : arguments.specified()) {
        if (!flag->sets() && !flag->is(flags::mask_file)) continue;
        // A step replaced by a rule is visible anyway.
        if (flag->is(of_arithmetic) || flag->is(of_draws) || flag->is(flags::rules)) continue;
        if (flag->setting != nullptr && flag->setting->text != nullptr) {
            const auto now = flag->setting->text(config);
            if (flag->setting->text(typed) != now) refuse_decided(flag->name);
            if (flag->setting->text(*own) == now) continue;
        }
        config.changes += (config.changes.empty() ? "" : " ") + flag->name;
        if (!text.empty()) config.changes += " " + shell_quoted(text);
    }
    if (!config.changes.empty()) config.models_own = std::move(own);
}

/// Returns the first token of a word that consists of several.
std::string first_piece(const attn::models::Model& model, const std::string& word,
                        std::string requested) {
    if (model.tokenizer == nullptr) return {};
    const std::string text = " " + word;
    std::int64_t longest = -1;
    std::size_t size = 0;
    for (std::size_t id = 0; id < model.architecture.vocab_size; ++id) {
        const std::string label = model.tokenizer->label(static_cast<std::int64_t>(id));
        if (label.size() <= size || label == " " || !text.starts_with(label)) continue;
        longest = static_cast<std::int64_t>(id);
        size = label.size();
    }
    if (longest < 0) return {};
    requested.replace(requested.rfind(word), word.size(), std::to_string(longest));
    return "it is several tokens, the first of which may be '" + model.tokenizer->label(longest) +
           "', " + requested + "; ";
}

/// Reports if the tokenizer next to a file cuts a text into other tokens than the file's own.
void note_other_tokens(const Model& model, const std::string& text,
                       const std::vector<std::int64_t>& ids) {
    if (model.other_tokenizer == nullptr) return;
    std::vector<std::int64_t> others;
    try {
        others = model.other_tokenizer->encode(text);
    } catch (const attn::InputError&) {
        return;  // the tokenizer was not requested
    }
    if (others == ids) return;
    const auto row = [](const attn::models::Tokenizer& tokenizer,
                        const std::vector<std::int64_t>& all) {
        std::vector<std::string> tokens;
        for (const std::int64_t id : all) {
            tokens.push_back(std::to_string(id) + " '" + tokenizer.label(id) + "'");
        }
        return attn::joined(tokens, "  ");
    };
    report_note(
        model.other_tokenizer_label +
        " splits this text differently; the file's own ids, in the first row, are used:\n  " +
        row(*model.tokenizer, ids) + "\n  " + row(*model.other_tokenizer, others));
}

}  // namespace

void set_model_layer(const Arguments& arguments, const ModelRun* run, WalkConfig& config) {
    refuse_decided(arguments);
    if (!arguments.has(flags::text) && !arguments.has(flags::ids)) {
        throw attn::ConfigError(
            "--model-file needs a text: pass --text 'Once upon a time' or --ids");
    }
    if (run == nullptr) {
        Model model = model_of(arguments);
        const std::size_t layer = layer_of(arguments, model);
        const std::vector<std::int64_t> ids = prompt_of(arguments, model);
        const std::vector<Without> without = without_of(arguments, model);
        for (const Without& each : without) {
            const bool is_mlp = each.part == Without::Part::mlp;
            if (each.layer < layer || (each.layer == layer && !is_mlp)) continue;
            report_note("--without " + each.word + " has no effect on the attention of layer " +
                        std::to_string(layer) + ", which comes before it");
        }
        report_cost(arguments, model, {ids.size(), layer});
        const ModelRun own{model, ids, attn::models::inputs_of_layers(model, ids, layer, without)};
        return set_model_layer(arguments, &own, config);
    }
    const WalkConfig typed = config;
    const std::size_t layer = layer_of(arguments, run->model);
    set_layer(arguments, *run, layer, config);
    keep_own(arguments, *run, layer, typed, config);
}

void write_layers(const Arguments& arguments) {
    const Model model = model_of(arguments);
    const Architecture& a = model.architecture;
    std::string text;
    std::vector<attn::JsonText> rows;
    for (const LayerKind& kind : a.layers) {
        const std::string rope(kind.pairing ? attn::word(*kind.pairing) : "none");
        rows.push_back({{"layer", rows.size()},
                        {"heads", a.heads},
                        {"kv_heads", a.kv_heads},
                        {"head_dim", a.head_dim},
                        {"rope", rope},
                        {"window", kind.window}});
        text += fmt::format("layer {}  {} heads on {} key/value heads of {} features",
                            rows.size() - 1, a.heads, a.kv_heads, a.head_dim);
        if (kind.pairing) text += ", rotary positions (" + rope + ")";
        if (kind.window) text += ", a window of " + std::to_string(*kind.window);
        text += "\n";
    }
    write_text_or_json(arguments, text, rows);
}

const std::vector<Flag>& model_flags() {
    static const std::vector<Flag> all =
        grouped("Model and text",
                {
                    Flag{flags::model_file, "FILE",
                         "a trained model: stories (built in), a folder of Hugging Face "
                         "(config.json and .safetensors files) or the ORG/NAME of one in its "
                         "cache, a .gguf file of llama.cpp, or a file of llama2.c",
                         such_as(shipped_models, Takes::Kind::file)}
                        .with_default("stories"),
                    Flag{flags::tokenizer, "FILE", "tokenizer of the model", file()}.with_default(
                        "the one next to the model"),
                    Flag{flags::text, "TEXT", "text that the model reads"},
                    Flag{flags::ids, "IDS", "token ids that the model reads: 1,403,407"},
                });
    return all;
}

Flag without_flag() {
    return Flag{flags::without, "PART",
                "leave a part of the trained model out: 3.7 (head 7 of layer 3), 3.attn or 3.mlp "
                "(everything that it adds); 3.7=mean replaces it by its mean over the tokens"}
        .repeatable()
        .being(of_arithmetic);
}

const std::vector<Flag>& run_flags() {
    static const std::vector<Flag> all = grouped(
        "Model and text", {without_flag(),
                           {flags::most_memory, "SIZE",
                            "the most memory to use: 8G, 500M (default: the free memory)"}});
    return all;
}

std::vector<Without> without_of(const Arguments& arguments, const Model& model) {
    std::vector<Without> all;
    for (const std::string& word : arguments[flags::without]) {
        all.push_back(attn::models::parse_without(word));
        attn::models::check_without(all.back(), model.architecture);
    }
    return all;
}

namespace {

/// Parses a size: 8G, 500M or 1e9.
double bytes_in(const std::string& text) {
    std::string number = text;
    if (attn::lower(number).ends_with("b")) number.pop_back();
    double unit = 1;
    for (const auto& [letter, bytes] :
         {std::pair('k', 1e3), std::pair('m', 1e6), std::pair('g', 1e9), std::pair('t', 1e12)}) {
        if (attn::lower(number).ends_with(letter)) unit = bytes;
    }
    if (unit > 1) number.pop_back();
    const auto size = attn::parse_number(number);
    if (size && *size > 0) return *size * unit;
    throw attn::ConfigError("--memory " + attn::quoted_text(text) +
                            " is not a size: pass it as 8G or 500M");
}

/// Returns the memory available without swapping, in bytes.
double free_memory() {
    std::ifstream lines("/proc/meminfo");
    std::string word;
    while (lines >> word) {
        double kilobytes = 0;
        if (word == "MemAvailable:" && lines >> kilobytes) return 1024 * kilobytes;
    }
    return std::numeric_limits<double>::infinity();
}

std::string size_text(double bytes) {
    return bytes < 1e7   ? fmt::format("{:.2g} MB", bytes / 1e6)
           : bytes < 1e9 ? fmt::format("{:.0f} MB", bytes / 1e6)
                         : fmt::format("{:.1f} GB", bytes / 1e9);
}

}  // namespace

void report_cost(const Arguments& arguments, Model& model, const Run& run) {
    constexpr double much = 1e9;          // bytes
    constexpr double many_numbers = 2e9;  // about two seconds
    const std::size_t layers = run.layers.value_or(model.architecture.layers.size());
    attn::models::Cost cost =
        attn::models::cost_of(model, layers, run.tokens, run.hold, run.size, run.branches);
    cost.read *= run.passes;
    if (run.branches == 0) cost.multiplied *= run.passes;  // there are many more branches
    const bool keeps = run.hold == attn::models::KeepWeights::all;
    const std::optional<std::string> most = arguments[flags::most_memory];
    const double room = most ? bytes_in(*most) : free_memory();
    if (cost.in_memory > room) {
        throw attn::ConfigError("this run would need " + size_text(cost.in_memory) + ", and " +
                                (most ? "--memory allows " : "the machine has free ") +
                                size_text(room) +
                                (keeps ? ": use lens, heads or a walk, which load one layer at a "
                                         "time, or give a smaller model"
                                       : ": give a smaller model, or more memory"));
    }
    if (cost.read > much || cost.in_memory > much || cost.multiplied > many_numbers) {
        // Rates of one laptop core: numbers read from a file, and multiply-adds in float64.
        const double seconds = cost.read / 5e8 + cost.multiplied / 5e9;
        report_note(fmt::format("reads {} layers, {}, holds {}{}, and takes about {}", layers,
                                size_text(cost.read), size_text(cost.in_memory),
                                keeps ? "" : " at a time",
                                seconds < 100 ? fmt::format("{:.0f} s", std::ceil(seconds))
                                              : fmt::format("{:.0f} minutes", seconds / 60)));
        release_notes();
    }
    const auto progress = std::make_shared<Progress>();
    model.begins_layer = [progress, layers](std::size_t n) {
        progress->show(static_cast<double>(n) / static_cast<double>(layers),
                       "layer " + std::to_string(n));
    };
}

attn::models::Model model_of(const Arguments& arguments) {
    attn::models::Model model = attn::models::open_model(arguments[flags::model_file],
                                                         arguments[flags::tokenizer].value_or(""));
    if (!model.note.empty()) report_note(model.note);
    if (arguments.has(flags::without)) model.left_out = arguments[flags::without];
    return model;
}

std::vector<std::int64_t> prompt_of(const Arguments& arguments, const attn::models::Model& model) {
    std::vector<std::int64_t> ids;
    if (arguments.has(flags::ids)) {
        if (arguments.has(flags::text)) {
            throw attn::ConfigError("--text and --ids both set the model's input: leave one out");
        }
        for (const std::string& id : split_ids(arguments[flags::ids])) {
            ids.push_back(parse_integer(flags::ids.text, id));
        }
    } else {
        ids = model.encode(arguments[flags::text]);
        note_other_tokens(model, arguments[flags::text], ids);
    }
    model.check_ids(ids);
    return ids;
}

std::int64_t token_of(const attn::models::Model& model, const std::string& word,
                      const std::string& requested) {
    if (word.empty()) throw attn::ConfigError(requested + " names no token: give a word or an id");
    const auto vocab = static_cast<std::int64_t>(model.architecture.vocab_size);
    // Words in a text begin with a space; the single bytes come first in the vocabulary.
    for (const std::string& wanted : {" " + word, word}) {
        for (std::int64_t id = vocab; model.tokenizer != nullptr && id-- > 0;) {
            if (model.tokenizer->label(id) == wanted) return id;
        }
    }
    if (word.find_first_not_of("0123456789") != std::string::npos) {
        throw attn::ConfigError(requested + ": " + model.label +
                                " has no such token: " + first_piece(model, word, requested) +
                                "give an id, or a token as generate --top 5 shows it");
    }
    return parse_integer(requested, word, 0, vocab - 1);
}

}  // namespace app
