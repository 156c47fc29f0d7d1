#include "app/flags/model_flags.hpp"
#include "app/flags/setting.hpp"
#include "app/terminal/messages.hpp"
#include "attn/files/io/read_tensor.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::WalkConfig;

bool has_latent(const Plan& plan) { return plan.has_latent(); }

/// Accepts a rule, or a file of rules.
void set_rules(WalkConfig& config, const Flag&, const std::string& text) {
    for (std::string& rule : rules_in(text)) config.rules.push_back(std::move(rule));
}

/// Accepts `zero`, `randn`, or a file with one logit per head.
void set_sink(WalkConfig& config, const Flag& flag, const std::string& text) {
    if (!names_a_file(text)) return flag.setting->set(config, flag.name, text);
    config.sink = attn::SinkLogit::given;
    // One number per head, whatever axes of length 1 the file has.
    const attn::Tensor read = attn::read_tensor(text, report_note);
    attn::Array<double> logits = attn::empty_array<double>({read.size()});
    for (std::size_t h = 0; h < read.size(); ++h) logits.data()[h] = read.at(h);
    config.parameters.record("sink", {{"head"}, std::move(logits)});
}

/// Accepts a number of keys and values, or a file with them: the cache of an earlier walk.
void set_past(WalkConfig& config, const Flag& flag, const std::string& text) {
    if (!names_a_file(text)) return flag.setting->set(config, flag.name, text);
    const std::vector<attn::NamedTensor> tensors = attn::read_tensors(text, report_note);
    const auto take = [&](const std::string& name, std::initializer_list<const char*> saved) {
        for (const char* candidate : saved) {
            for (const attn::NamedTensor& each : tensors) {
                if (each.name != candidate) continue;
                config.parameters.record(name, each.tensor);
                return;
            }
        }
        throw attn::InputError(text + ": has no " + name +
                               ": save the keys and values of earlier tokens as past_key and "
                               "past_value, or give --past a number");
    };
    take("past_key", {"present_key", "past_key", "rotated_key", "normed_key", "key"});
    take("past_value", {"present_value", "past_value", "value"});
    const attn::Shape shape = config.parameters["past_key"].shape();
    if (shape.size() < 2 || shape[shape.size() - 2] == 0) {
        throw attn::InputError(
            text + ": past_key has shape " + attn::shape_text(shape) +
            ": it must be (heads, keys, features), with a leading batch axis if there is one");
    }
    config.past = static_cast<std::int64_t>(shape[shape.size() - 2]);
}

/// Reads a mask for dropout, of booleans or of 1 and 0.
void set_dropout_mask(WalkConfig& config, const Flag&, const std::string& text) {
    config.dropout.keep = attn::read_tensor(text, report_note);
}

bool drops(const Plan& plan) { return plan.drops(); }
/// True if the dropout mask is drawn.
bool draws_dropout(const Plan& plan) {
    return drops(plan) && !plan.config.parameters.has(plan.config.dropout.keep_name());
}

bool has_model(const attn::Plan& plan) { return !plan.config.model_file.empty(); }
bool norms_x(const attn::Plan& plan) { return plan.config.x_norm.has_value(); }

}  // namespace

std::vector<Flag> variant_rows() {
    const Need dropout{drops, "dropout: add --dropout 0.1"};
    const Need mla{has_latent, "latent attention: add --mla 8"};
    return {
        setting("--differential", "DEPTH",
                "differential attention: each head subtracts lambda times a second softmax; lambda "
                "has its initial value for layer DEPTH (default 0)")
            .with_optional_value(),
        setting("--mla", "RANK",
                "multi-head latent attention (DeepSeek): keys and values of all heads from RANK "
                "features of each token, and --rotary-dim rotated features per head"),
        setting("--mla-query-rank", "RANK", "latent attention: compute queries from a latent, too")
            .needing(mla),
        setting("--mla-absorbed", "",
                "latent attention: compare queries with the latents directly, as in generation")
            .needing(mla),
        setting("--weights-by", "HOW",
                "how scores become weights: softmax, or the sigmoid of each score alone"),
        setting("--dropout", "P",
                "dropout as in training: set numbers to 0 with probability P, and divide the "
                "others by 1 - P"),
        setting("--dropout-place", "WHERE",
                "the tensor that dropout is applied to: the weights, the context (after the "
                "product with the values) or the output of the output projection")
            .needing(dropout),
        setting("--dropout-seed", "N",
                "seed from which the mask of dropout is drawn, as by torch.manual_seed(N) before "
                "F.dropout")
            .being(of_draws)
            .needing({draws_dropout, "a dropout whose mask is drawn: add --dropout 0.1"}),
        Flag{"--dropout-mask", "FILE[:NAME]",
             "mask of dropout from a file, of booleans or of 1 and 0: true or 1 keeps a cell",
             file()}
            .set_by(set_dropout_mask)
            .needing(dropout),
        setting(flags::rules, "RULE",
                "compute a step by your own rule, as in 'scaled_scores[q,k] = scores[q,k] / D'; "
                "@FILE: one rule per line")
            .set_by(set_rules)
            .repeatable()
            .in_group("Rules"),
    };
}

std::vector<Flag> trained_rows() {
    const Need model{has_model, "a trained model: add --model-file stories"};
    return {
        setting(flags::model_file, "FILE",
                "walk through a layer of a trained model: stories (built in), a folder of Hugging "
                "Face (config.json and .safetensors files) or the ORG/NAME of one in its cache, a "
                ".gguf file of llama.cpp, or a file of llama2.c")
            .being(of_arithmetic)
            .taking(such_as(shipped_models, Takes::Kind::file)),
        Flag{flags::tokenizer, "FILE", "tokenizer of the trained model", file(),
             "the one next to the model"}
            .being(of_arithmetic)
            .needing(model),
        without_flag().needing(model),
        setting("--x-norm", "KIND", "norm of x before the projections, as in trained models"),
        setting("--x-norm-eps", "X", "added to the mean square in the norm of x")
            .needing({norms_x, "a norm of x: add --x-norm rms"}),
    };
}

std::vector<Flag> cache_rows() {
    return {
        setting(flags::sink, "WHAT",
                "an extra logit for each head in the denominator of softmax, so that weights sum "
                "to less than 1: zero (off-by-one softmax), randn, or a file")
            .set_by(set_sink)
            .being(or_file),
        setting(
            "--past", "N",
            "keys and values of N earlier tokens, drawn, or a file with past_key and past_value")
            .set_by(set_past)
            .being(of_model | or_file),
        setting(
            "--prefill", "N",
            "also pass the tokens through the cache, N at a time, and compare: needs --mask causal")
            .being(of_arithmetic),
    };
}

}  // namespace app
