#include "app/flags/walk_flags.hpp"

#include "app/flags/setting.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::Projection;
using attn::WalkConfig;
using Kind = Takes::Kind;

// --- settings with a text of their own

void set_init(WalkConfig& config, const Flag& flag, const std::string& text) {
    const std::vector<std::string> names = split(text, ',');
    if (names.size() != 1 && names.size() != 3) {
        throw attn::ConfigError("--init takes one word, or three for q,k,v, not '" + text + "'");
    }
    config.init.emplace();
    for (std::size_t i = 0; i < 3; ++i) {
        (*config.init)[i] = parse_word<attn::Init>(flag.name, names[names.size() == 1 ? 0 : i]);
    }
}

std::string init_json(const Plan& plan) {
    std::vector<std::string> words;
    for (const attn::Init init : *plan.config.init) words.emplace_back(attn::word(init));
    return attn::json_list(words);
}

void set_scale(WalkConfig& config, const Flag& flag, const std::string& text) {
    using By = attn::ScaleChoice::By;
    for (const auto& [word, by] : attn::words<By>) {
        if (word == text) {
            config.scale = {by, 1};
            return;
        }
    }
    if (text.find_first_of("0123456789") == std::string::npos) {
        refuse_word(flag.name, text, {"head-dim", "embed-dim", "none", "a factor"});
    }
    config.scale = {By::number, parse_number(flag.name, text)};
}

std::string scale_json(const Plan& plan) {
    const attn::ScaleChoice& scale = plan.config.scale;
    if (scale.by != attn::ScaleChoice::By::number) return json_of(scale.by);
    const std::string number = attn::json_number(scale.number);
    return number.find_first_not_of("-0123456789") == number.npos ? number + ".0" : number;
}

void set_mask(WalkConfig& config, const Flag& flag, const std::string& text) {
    for (const std::string& word : split(text, ',')) {
        if (word == "causal") {
            config.mask.causal = true;
        } else if (word == "padding") {
            config.mask.padding = true;
        } else if (word != "none" || text != "none") {
            refuse_word(flag.name, text, {"none", "causal", "padding", "causal,padding"});
        }
    }
}

std::string mask_json(const Plan& plan) {
    const attn::MaskChoice& mask = plan.config.mask;
    std::string word = mask.causal ? "causal" : "";
    if (mask.padding) word += word.empty() ? "padding" : ",padding";
    if (mask.given) word += word.empty() ? "file" : ",file";
    return json_of(word);
}

void set_burn(WalkConfig& config, const Flag& flag, const std::string& text) {
    for (const std::string& part : split(text, ',')) {
        const std::size_t colon = part.find(':');
        if (colon == std::string::npos) {
            throw attn::ConfigError(flag.name + ": '" + part + "' is not like rand:384");
        }
        const std::int64_t count = parse_integer(flag.name, part.substr(colon + 1), 0, 100'000'000);
        config.burn.push_back({parse_word<attn::Distribution>(flag.name, part.substr(0, colon)),
                               static_cast<std::size_t>(count)});
    }
}

std::string burn_json(const Plan& plan) {
    std::vector<std::string> burns;
    for (const attn::Burn& burn : plan.config.burn) {
        burns.push_back(std::string(attn::word(burn.distribution)) + ":" +
                        std::to_string(burn.count));
    }
    return attn::json_list(burns);
}

void set_seed(WalkConfig& config, const Flag& flag, const std::string& text) {
    config.seed = parse_seed(flag.name, text);
}

void set_lengths(WalkConfig& config, const Flag& flag, const std::string& text) {
    for (const std::string& length : split(text, ',')) {
        config.lengths.push_back(parse_integer(flag.name, length));
    }
}

std::string lengths_json(const Plan& plan) {
    std::string text;
    for (const std::int64_t length : plan.config.lengths) {
        text += (text.empty() ? "" : ",") + std::to_string(length);
    }
    return "[" + text + "]";
}

std::string source_json(const attn::Source& source, const Plan& plan) {
    const auto* tokens = std::get_if<attn::Tokens>(&source);
    const auto* random = std::get_if<attn::RandomInput>(&source);
    const std::string word = !plan.has_x() ? "none"
                             : tokens      ? (tokens->vocabulary.empty() ? "ids" : "text")
                             : random      ? "random"
                                           : "given";
    std::string text = "{\"source\":" + attn::json_string(word);
    if (tokens != nullptr) {
        text += ",\"vocab_size\":" + json_of(tokens->vocab_size) +
                ",\"pad_id\":" + json_of(tokens->pad_id);
        if (!tokens->vocabulary.empty()) {
            text += ",\"vocabulary\":" + attn::json_list(tokens->vocabulary);
        }
    } else if (random != nullptr) {
        text += ",\"random\":" + json_of(random->distribution);
    }
    return text + "}";
}

std::string given_json(const Plan& plan) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : plan.config.parameters.entries()) names.push_back(name);
    return attn::json_list(names);
}

// --- what flags need

bool has_tokens(const Plan& plan) {
    const auto is_tokens = [](const attn::Source& source) {
        return std::holds_alternative<attn::Tokens>(source);
    };
    return is_tokens(plan.config.input) || (plan.config.memory && is_tokens(*plan.config.memory));
}
bool has_projection(const Plan& plan) { return plan.config.projection != Projection::none; }
bool has_matrix(const Plan& plan) { return has_projection(plan) || plan.config.output_projection; }
bool draws_parts(const Plan& plan) { return has_projection(plan) || !plan.has_x(); }
bool masks(const Plan& plan) { return plan.masks(); }
bool pads(const Plan& plan) { return plan.config.mask.padding; }
bool aligns(const Plan& plan) { return plan.config.mask.causal && plan.query_len != plan.key_len; }
bool projects_output(const Plan& plan) { return plan.config.output_projection; }
bool has_heads(const Plan& plan) { return plan.has_head; }

/// The words that --mask takes; others come in the same place.
std::vector<std::string> mask_words() { return {"none", "causal", "padding", "causal,padding"}; }
std::vector<std::string> only_none() { return {"none"}; }
std::vector<std::string> keep_or_drop() { return {"keep", "drop"}; }
std::vector<std::string> families() { return {"gpt2", "bert"}; }

/// A row without a member of its own: what it says is put together by its file.
Flag row(const std::string& name, const std::string& value, const std::string& group,
         const std::string& help, Takes takes = {}, const std::string& usual = {}) {
    return {name, value, group, help, takes, usual};
}

std::vector<Flag> input_rows() {
    const std::string group = "Input (one source; default: a sentence)";
    std::vector<Flag> rows;
    const auto add = [&rows](Flag flag) -> Flag& { return rows.emplace_back(std::move(flag)); };

    Flag& text = add(row("--text", "TEXT", group, "words to attend over; repeat for a batch"));
    text.repeats = true;
    text.key = "input";
    text.json = [](const Plan& plan) { return source_json(plan.config.input, plan); };
    add(row("--text-file", "FILE", group,
            "text to attend over, one sequence a line (- is standard input)", file()));
    add(row("--ids", "IDS", group,
            "token ids to attend over, ';' between sequences: \"1,2,0,0;1,2,3,4\""));
    add(row("--vocab-size", "N", group, "rows of the embedding table", integer(1, 1'000'000'000),
            "largest id + 1"));
    Flag& pad = add(row("--pad-id", "ID", group, "padding token id, or none",
                        {Kind::text, 0, 0, only_none}, "none; 0 for text"));
    pad.need = {nullptr, has_tokens, "tokens: pass --text or --ids"};
    add(row("--random", "HOW", group, "draw x directly, normal or uniform numbers",
            one_of<attn::Distribution>()));
    add(row("--x", "FILE[:NAME]", group,
            "x from a file, (tokens, features) or with a batch axis (- is standard input)",
            file()));

    Flag& words = add(row("--memory-text", "TEXT", group,
                          "cross-attention: words that keys and values come from"));
    words.repeats = true;
    words.key = "memory";
    words.json = [](const Plan& plan) {
        return plan.config.memory ? source_json(*plan.config.memory, plan) : json_of(std::string());
    };
    add(row("--memory-ids", "IDS", group,
            "cross-attention: token ids that keys and values come from"));
    add(row("--memory", "FILE[:NAME]", group,
            "cross-attention: a file that keys and values come from", file()));

    add(setting<&WalkConfig::batch>("--batch", "N", group,
                                    "number of sequences; gives a batch axis"))
        .json = [](const Plan& plan) {
        return plan.has_batch ? std::to_string(plan.batch) : json_of(std::string());
    };
    add(setting<&WalkConfig::query_len>("--seq-len", "N", group, "tokens of a drawn x", "4"));
    add(setting<&WalkConfig::key_len>("--memory-len", "N", group,
                                      "cross-attention: random memory of N tokens"));
    Flag& lengths = add(row("--lengths", "N,N", group,
                            "true lengths of the key sequences, for the padding mask: 4,2"));
    lengths.set = set_lengths;
    lengths.key = "lengths";
    lengths.json = lengths_json;
    lengths.need = {nullptr, pads, "a padding mask: add --mask padding"};
    return rows;
}

std::vector<Flag> model_rows() {
    const std::string group = "Model";
    std::vector<Flag> rows;
    const auto add = [&rows](Flag flag) -> Flag& { return rows.emplace_back(std::move(flag)); };

    add(setting<&WalkConfig::embed_dim>("--embed-dim", "N", group, "features of each token",
                                        "heads x head-dim"));
    add(setting<&WalkConfig::heads>("--heads", "N", group, "number of heads"));
    add(setting<&WalkConfig::head_dim>("--head-dim", "N", group,
                                       "features of query and key in each head",
                                       "embed-dim / heads, or 4"));
    add(setting<&WalkConfig::value_dim>("--value-dim", "N", group, "features of value in each head",
                                        "head-dim"));
    add(setting<&WalkConfig::output_dim>("--output-dim", "N", group,
                                         "features of the output projection", "embed-dim"))
        .need = {nullptr, projects_output, "an output projection: add --output-projection"};
    add(setting<&WalkConfig::projection>("--projection", "KIND", group,
                                         "how query, key and value are made from x"));
    Flag& init =
        add(row("--init", "HOW", group, "how projections are drawn, one word or three for q,k,v",
                {Kind::list, 0, 0, words_of<attn::Init>, true}, "linear; NumPy: normal"));
    init.set = set_init;
    init.key = "init";
    init.json = init_json;
    init.need = {nullptr, has_projection, "a projection: leave --projection none out"};
    add(setting<&WalkConfig::bias>("--bias", "", group,
                                   "biases on the query, key and value projections"));
    add(setting<&WalkConfig::draw_order>("--draw-order", "ORDER", group,
                                         "order in which the projections are drawn"))
        .need = {nullptr, draws_parts, "projections that are drawn"};
    add(setting<&WalkConfig::weight_layout>("--weight-layout", "LAYOUT", group,
                                            "how projection matrices are stored",
                                            "out-in; NumPy: in-out"))
        .need = {nullptr, has_matrix, "a projection: leave --projection none out"};
    add(setting<&WalkConfig::output_projection>("--output-projection", "", group,
                                                "project the heads once more at the end"));
    add(setting<&WalkConfig::output_bias>("--output-bias", "", group,
                                          "bias on the output projection"));
    add(setting<&WalkConfig::merge>("--merge", "", group, "concatenate the heads at the end"))
        .need = {nullptr, has_heads, "several heads: pass --heads 2 or more"};
    Flag& apart = add(row("--no-merge", "", group, "leave the heads apart", nothing()));
    apart.set = [](WalkConfig& config, const Flag&, const std::string&) { config.merge = false; };
    apart.need = rows[rows.size() - 2].need;

    add(setting<&WalkConfig::weights_file>("--weights", "FILE", group,
                                           "parameters from a file, by their names; the rest is "
                                           "drawn"))
        .takes = file();
    Flag& model =
        add(row("--model", "FAMILY", group, "the --weights file is from this model family",
                {Kind::word, 0, 0, families, true}));
    model.key = "model";
    model.json = [](const Plan& plan) { return json_of(plan.config.model); };
    Flag& layer = add(
        row("--layer", "N", group, "layer to read from the model in --weights", integer(0), "0"));
    layer.key = "layer";
    layer.json = [](const Plan& plan) {
        return plan.config.model.empty() ? json_of(std::string()) : json_of(plan.config.layer);
    };

    Flag& mask = add(row("--mask", "KIND", group,
                         "cells that are hidden: none, causal, padding or causal,padding",
                         {Kind::word, 0, 0, mask_words}, "none"));
    mask.set = set_mask;
    mask.key = "mask";
    mask.json = mask_json;
    add(row("--mask-file", "FILE[:NAME]", group, "a mask from a file: bool or 0 and 1 with --mask-true, or 0 and -inf", file()));
    add(row("--mask-true", "WHICH", group, "what true means in --mask-file",
            {Kind::word, 0, 0, keep_or_drop, true}));
    add(setting<&WalkConfig::causal_align>(
            "--causal-align", "WHERE", group,
            "with unequal lengths the causal mask lets the first query meet the first key, or the "
            "last the last"))
        .need = {nullptr, aligns, "--mask causal, and a memory longer or shorter than x"};
    add(setting<&WalkConfig::empty_row>("--empty-row", "WHAT", group,
                                        "what a row becomes that hides every key"))
        .need = {nullptr, masks, "a mask: add --mask causal or padding"};
    Flag& scale = add(row("--scale", "HOW", group,
                          "divide the scores by the root of head-dim or embed-dim, by nothing "
                          "(none), or multiply them by a number",
                          {Kind::word, 0, 0, words_of<attn::ScaleChoice::By>}, "head-dim"));
    scale.set = set_scale;
    scale.key = "scale";
    scale.json = scale_json;
    add(setting<&WalkConfig::softmax_axis>("--softmax-axis", "AXIS", group,
                                           "axis that the weights sum to 1 over"));
    return rows;
}

std::vector<Flag> number_rows() {
    const std::string group = "Numbers";
    std::vector<Flag> rows;
    const auto add = [&rows](Flag flag) -> Flag& { return rows.emplace_back(std::move(flag)); };

    add(setting<&WalkConfig::rng>("--rng", "GENERATOR", group, "whose random numbers are drawn"));
    Flag& seed =
        add(setting<&WalkConfig::seed>("--seed", "N", group, "seed of the random numbers"));
    seed.takes = {};
    seed.set = set_seed;
    add(setting<&WalkConfig::torch_build>("--torch-build", "BUILD", group,
                                          "build of PyTorch whose digits are followed"));
    Flag& redraw = add(setting<&WalkConfig::redraw>(
        "--redraw", "N", group, "draw the projections N times more before they are used"));
    redraw.takes = integer(0, 1000);
    redraw.need = {nullptr, draws_parts, "projections that are drawn"};
    Flag& burn = add(row("--burn", "DRAWS", group,
                         "random numbers spent before the projections are drawn: "
                         "rand:384,randn:7"));
    burn.set = set_burn;
    burn.key = "burn";
    burn.json = burn_json;
    add(setting<&WalkConfig::dtype>("--dtype", "TYPE", group, "type of drawn and loaded tensors",
                                    "float32; NumPy: float64"));
    add(setting<&WalkConfig::compute_dtype>("--compute-dtype", "TYPE", group,
                                            "type of the arithmetic", "as --dtype"));
    add(setting<&WalkConfig::variant>("--variant", "METHOD", group, "how attention is computed"));
    Flag& threads = add(setting<&WalkConfig::threads>("--threads", "N", group,
                                                      "threads for large work; 0: all cores"));
    threads.takes = integer(0, 4096);
    return rows;
}

}  // namespace

const std::vector<Flag>& walk_flags() {
    static const std::vector<Flag> all = [] {
        std::vector<Flag> rows;
        for (const auto& part : {input_rows(), model_rows(), number_rows()}) {
            rows.insert(rows.end(), part.begin(), part.end());
        }
        return rows;
    }();
    return all;
}

std::vector<std::pair<std::string, std::string>> config_entries(const Plan& plan) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const Flag& flag : walk_flags()) {
        if (flag.json != nullptr) entries.emplace_back(flag.key, flag.json(plan));
        if (flag.name == "--weights") entries.emplace_back("given", given_json(plan));
    }
    return entries;
}

}  // namespace app
