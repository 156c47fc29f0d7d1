#include "app/flags/walk_flags.hpp"

#include <CLI/CLI.hpp>

#include "app/flags/given_weights.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/sources.hpp"

namespace app {
namespace {

void setup_input_flags(CLI::App& cli, WalkFlags& flags) {
    const std::string group = "Input (one source; default: a sentence)";
    const auto add = [&](const char* name, auto& value, const char* help) {
        return cli.add_option(name, value, help)->group(group);
    };
    add("--text", flags.text, "words to attend over; repeat for a batch")
        ->type_name("TEXT")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add("--text-file", flags.text_file, "the same, one sequence a line (- is standard input)")
        ->type_name("FILE");
    add("--ids", flags.ids, "token ids, ';' between sequences: \"1,2,0,0;1,2,3,4\"")
        ->type_name("IDS");
    add("--vocab-size", flags.vocab_size, "rows of the embedding table (largest id + 1)");
    add("--pad-id", flags.pad_id, "the id that fills up, or none (none; 0 for text)")
        ->type_name("ID");
    add("--random", flags.random, "draw x directly: randn or rand")->type_name("HOW");
    add("--x", flags.x, "x from a file, (tokens, features) or with a batch axis (- is stdin)")
        ->type_name("FILE[:NAME]");
    add("--batch", flags.batch, "number of sequences; gives a batch axis");
    add("--seq-len", flags.seq_len, "tokens of a drawn x (4)");
    add("--lengths", flags.lengths, "true lengths of the key sequences: 4,2")->type_name("N,N");
    add("--memory-text", flags.memory_text, "cross-attention: words that key and value come from")
        ->type_name("TEXT")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    add("--memory-ids", flags.memory_ids, "the same as ids")->type_name("IDS");
    add("--memory-len", flags.memory_len, "the same drawn, so many tokens");
    add("--memory", flags.memory, "the same from a file")->type_name("FILE[:NAME]");
}

void setup_model_flags(CLI::App& cli, WalkFlags& flags) {
    const std::string group = "Model";
    const auto add = [&](const char* name, auto& value, const char* help) {
        return cli.add_option(name, value, help)->group(group);
    };
    add("--embed-dim", flags.embed_dim, "features of each token (heads x head-dim)");
    add("--heads", flags.heads, "number of heads (1)");
    add("--head-dim", flags.head_dim, "features of query and key a head (embed-dim / heads, or 4)");
    add("--value-dim", flags.value_dim, "features of value a head (head-dim)");
    add("--output-dim", flags.output_dim, "features of the output projection (embed-dim)");
    add("--projection", flags.projection,
        "split, fused, fused-by-head, matrix, stacked, per-head, mha, none (split)")
        ->type_name("KIND");
    add("--init", flags.init, "linear, uniform or normal, or three of them for q,k,v")
        ->type_name("HOW");
    cli.add_flag("--bias", flags.bias, "biases on the projections")->group(group);
    add("--draw-order", flags.draw_order, "order of drawing (qkv)")->type_name("ORDER");
    add("--weight-layout", flags.weight_layout, "out-in or in-out (NumPy: in-out)")
        ->type_name("LAYOUT");
    cli.add_flag("--output-projection", flags.output_projection, "mix the heads at the end")
        ->group(group);
    cli.add_flag("--output-bias", flags.output_bias, "with a bias")->group(group);
    cli.add_flag("--merge", flags.merge, "put the heads side by side")->group(group);
    cli.add_flag("--no-merge", flags.no_merge, "leave the heads apart")->group(group);
    add("--weights", flags.weights, "parameters from a file, by their names; the rest is drawn")
        ->type_name("FILE");
    add("--model", flags.model, "that file is of a gpt2 or bert model")->type_name("FAMILY");
    add("--layer", flags.layer, "and this layer of it is meant (0)")->type_name("N");
    add("--mask", flags.mask, "none, causal, padding or causal,padding (none)")->type_name("KIND");
    add("--mask-file", flags.mask_file, "a mask of your own")->type_name("FILE[:NAME]");
    add("--mask-true", flags.mask_true, "what true means in that file: keep or drop")
        ->type_name("WHICH");
    add("--causal-align", flags.causal_align,
        "start (query 0 meets key 0) or end (last meets last)")
        ->type_name("WHERE");
    add("--empty-row", flags.empty_row, "a row that hides every key gives nan, zero or error (nan)")
        ->type_name("WHAT");
    add("--scale", flags.scale, "head-dim, embed-dim, none, or a factor (head-dim)")
        ->type_name("HOW");
    add("--softmax-axis", flags.softmax_axis, "key, query, head or batch (key)")->type_name("AXIS");
}

void setup_draw_flags(CLI::App& cli, WalkFlags& flags) {
    const std::string group = "Numbers";
    const auto add = [&](const char* name, auto& value, const char* help) {
        return cli.add_option(name, value, help)->group(group);
    };
    add("--rng", flags.rng, "torch, numpy or numpy-pcg64 (torch)")->type_name("WHOSE");
    add("--seed", flags.seed, "seed of the draws (42)")->type_name("N");
    add("--torch-build", flags.torch_build, "avx2 or portable (avx2)")->type_name("BUILD");
    add("--redraw", flags.redraw, "draw the projections so many times more");
    add("--burn", flags.burn, "draws spent before the projections: rand:384,randn:7")
        ->type_name("DRAWS");
    add("--dtype", flags.dtype, "float32 or float64 (float32; NumPy float64)")->type_name("TYPE");
    add("--compute-dtype", flags.compute_dtype, "type of the arithmetic (dtype)")
        ->type_name("TYPE");
    add("--variant", flags.variant, "loop, vectorized or fused (vectorized)")->type_name("HOW");
    add("--threads", flags.threads, "threads for large work (all cores)");
}

std::array<attn::Init, 3> parse_init(const std::string& text) {
    const std::vector<std::string> names = split(text, ',');
    if (names.size() != 1 && names.size() != 3) {
        throw attn::ConfigError("--init takes one word, or three for q,k,v, not '" + text + "'");
    }
    std::array<attn::Init, 3> init{};
    for (std::size_t i = 0; i < 3; ++i) {
        init[i] = parse_word<attn::Init>("--init", names[names.size() == 1 ? 0 : i]);
    }
    return init;
}

attn::ScaleChoice parse_scale(const std::string& text) {
    using By = attn::ScaleChoice::By;
    for (const auto& [word, by] : attn::words<By>) {
        if (word == text) return {by, 1};
    }
    if (text.find_first_of("0123456789") == std::string::npos) {
        throw attn::ConfigError("--scale does not know '" + text +
                                "': use head-dim, embed-dim, none or a factor");
    }
    return {By::number, parse_number("--scale", text)};
}

std::vector<attn::Burn> parse_burn(const std::string& text) {
    std::vector<attn::Burn> burns;
    if (text.empty()) return burns;
    for (const std::string& part : split(text, ',')) {
        const std::size_t colon = part.find(':');
        const std::int64_t count =
            colon == std::string::npos ? -1 : parse_integer("--burn", part.substr(colon + 1));
        if (count < 0 || count > 100'000'000) {
            throw attn::ConfigError("--burn: '" + part +
                                    "' is not like rand:384 (at most 100000000 draws)");
        }
        burns.push_back({parse_word<attn::Distribution>("--burn", part.substr(0, colon)),
                         static_cast<std::size_t>(count)});
    }
    return burns;
}

attn::MaskChoice parse_mask(const WalkFlags& flags) {
    attn::MaskChoice mask;
    for (const std::string& word : split(flags.mask, ',')) {
        if (word == "causal") {
            mask.causal = true;
        } else if (word == "padding") {
            mask.padding = true;
        } else if (word != "none" || flags.mask != "none") {
            throw attn::ConfigError(
                "--mask does not know '" + flags.mask +
                "': use none, causal, padding or causal,padding, or --mask-file");
        }
    }
    if (!flags.mask_file.empty()) {
        mask.given = read_mask(flags.mask_file, flags.mask_true);
    } else if (!flags.mask_true.empty()) {
        throw attn::ConfigError("--mask-true says how to read --mask-file, which is missing");
    }
    return mask;
}

void set_model(const WalkFlags& flags, attn::WalkConfig& config) {
    config.embed_dim = flags.embed_dim;
    config.heads = flags.heads.value_or(1);
    config.head_dim = flags.head_dim;
    config.value_dim = flags.value_dim;
    config.output_dim = flags.output_dim;
    if (!flags.projection.empty()) {
        config.projection = parse_word<attn::Projection>("--projection", flags.projection);
    }
    if (!flags.init.empty()) config.init = parse_init(flags.init);
    config.bias = flags.bias;
    config.draw_order = flags.draw_order;
    if (!flags.weight_layout.empty()) {
        config.weight_layout =
            parse_word<attn::WeightLayout>("--weight-layout", flags.weight_layout);
    }
    config.output_projection = flags.output_projection;
    config.output_bias = flags.output_bias;
    if (flags.merge && flags.no_merge) {
        throw attn::ConfigError("--merge and --no-merge contradict each other: leave one out");
    }
    if (flags.merge || flags.no_merge) config.merge = flags.merge;
}

void set_numbers(const WalkFlags& flags, attn::WalkConfig& config) {
    config.rng = parse_word<attn::Rng>("--rng", flags.rng);
    config.seed = parse_seed(flags.seed);
    if (config.rng != attn::Rng::torch && flags.seed.find('-') != std::string::npos) {
        throw attn::ConfigError("--seed " + flags.seed +
                                " is negative: NumPy takes seeds from 0 on");
    }
    config.torch_build = parse_word<attn::TorchBuild>("--torch-build", flags.torch_build);
    config.redraw = flags.redraw;
    config.burn = parse_burn(flags.burn);
    if (!flags.dtype.empty()) config.dtype = parse_word<attn::DType>("--dtype", flags.dtype);
    if (!flags.compute_dtype.empty()) {
        config.compute_dtype = parse_word<attn::DType>("--compute-dtype", flags.compute_dtype);
    }
    config.variant = parse_word<attn::Variant>("--variant", flags.variant);
    config.threads = flags.threads;
}

}  // namespace

void setup_walk_flags(CLI::App& cli, WalkFlags& flags) {
    setup_input_flags(cli, flags);
    setup_model_flags(cli, flags);
    setup_draw_flags(cli, flags);
}

WalkFlags with_flags(const WalkFlags& base, const std::string& text) {
    WalkFlags flags = base;
    CLI::App cli;
    setup_walk_flags(cli, flags);
    try {
        cli.parse(text);
    } catch (const CLI::ParseError& error) {
        const std::string message = error.what();
        throw attn::ConfigError("'" + text + "': " + message.substr(0, message.find('\n')));
    }
    return flags;
}

void require_all_steps(const attn::WalkConfig& config, const std::string& who) {
    if (config.variant != attn::Variant::fused) return;
    throw attn::ConfigError(who +
                            " looks at scores and weights, which --variant fused does not "
                            "keep: use --variant vectorized");
}

attn::WalkConfig config_of(const WalkFlags& flags) {
    check_standard_input(flags);
    attn::WalkConfig config;
    set_model(flags, config);
    set_numbers(flags, config);
    set_sources(flags, config);
    config.mask = parse_mask(flags);
    config.causal_align = parse_word<attn::CausalAlign>("--causal-align", flags.causal_align);
    config.empty_row = parse_word<attn::EmptyRow>("--empty-row", flags.empty_row);
    config.scale = parse_scale(flags.scale);
    config.softmax_axis = parse_word<attn::SoftmaxAxis>("--softmax-axis", flags.softmax_axis);
    set_given_weights(flags, config);
    return config;
}

}  // namespace app
