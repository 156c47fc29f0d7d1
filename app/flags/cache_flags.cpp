#include "app/flags/setting.hpp"
#include "app/flags/walk_rows.hpp"
#include "app/terminal/messages.hpp"
#include "attn/io/read_tensor.hpp"
#include "attn/tensor/error.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::WalkConfig;

/// `zero`, `randn`, or a file with one logit for each head.
void set_sink(WalkConfig& config, const Flag& flag, const std::string& text) {
    for (const attn::SinkLogit sink : {attn::SinkLogit::zero, attn::SinkLogit::normal}) {
        if (text == attn::word(sink)) {
            config.sink = sink;
            return;
        }
    }
    if (!names_a_file(text)) {
        refuse_word(flag.name, text, {"zero", "randn", "a file"});
    }
    config.sink = attn::SinkLogit::given;
    // One number for each head, whatever axes of length 1 it was saved with.
    const attn::Tensor read = attn::read_tensor(text, report_note);
    attn::Array<double> logits = attn::empty_array<double>({read.size()});
    for (std::size_t h = 0; h < read.size(); ++h) logits.data()[h] = read.at(h);
    config.parameters.record("sink", {{"head"}, std::move(logits)});
}

/// A number of keys and values, or a file that holds them: those that a walk left in its cache.
void set_past(WalkConfig& config, const Flag& flag, const std::string& text) {
    if (!names_a_file(text)) {
        config.past = parse_integer(flag.name, text, 1, 1'000'000'000);
        return;
    }
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
        throw attn::InputError(text + ": past_key has shape " + attn::shape_text(shape) +
                               ": it must be (heads, keys, features), with a batch axis in front "
                               "where there is one");
    }
    config.past = static_cast<std::int64_t>(shape[shape.size() - 2]);
}

std::vector<std::string> zero_or_randn() { return {"zero", "randn"}; }

}  // namespace

std::vector<Flag> cache_rows() {
    return {
        Flag{"--sink", "WHAT",
             "a logit for each head that joins the sum of softmax and has no value: zero (softmax "
             "off by one), randn, or a file",
             such_as(zero_or_randn), "none"}
            .being(or_file)
            .set_by(set_sink)
            .recorded("sink", [](const Plan& plan) { return json_of(plan.config.sink); }),
        Flag{"--past",
             "N",
             "keys and values of N earlier tokens, drawn, or a file that holds past_key and "
             "past_value",
             {},
             "0"}
            .being(of_model | or_file)
            .set_by(set_past)
            .recorded("past", [](const Plan& plan) { return std::to_string(plan.past_len); }),
        setting<&WalkConfig::prefill>(
            "--prefill", "N",
            "walk the tokens through the cache too, N at a time, and compare: needs --mask causal")
            .being(of_arithmetic),
    };
}

}  // namespace app
