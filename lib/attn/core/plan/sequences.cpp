#include <algorithm>

#include "attn/core/plan/resolve.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Sizes from one source; 0 if unknown.
struct SourceSizes {
    std::size_t sequences = 0;
    std::size_t length = 0;
    std::size_t features = 0;
    bool batch_axis = false;
};

/// Pads shorter sequences with the padding id and checks the ids.
void even_out(Source& source) {
    if (!std::holds_alternative<Tokens>(source)) return;
    auto& tokens = std::get<Tokens>(source);
    std::size_t longest = 0;
    std::int64_t largest = 0;
    for (const auto& sequence : tokens.sequences) {
        longest = std::max(longest, sequence.size());
        for (const std::int64_t id : sequence) {
            refuse_unless(id >= 0,
                          "token id " + std::to_string(id) + " is negative: ids count from 0");
            largest = std::max(largest, id);
        }
    }
    refuse_unless(longest > 0, "there are no tokens: give at least one");
    if (tokens.pad_id) largest = std::max(largest, *tokens.pad_id);
    if (!tokens.vocab_size) tokens.vocab_size = largest + 1;
    refuse_unless(largest < *tokens.vocab_size,
                  "id " + std::to_string(largest) + " is beyond a vocabulary of " +
                      std::to_string(*tokens.vocab_size) + ": pass $vocab-size "_message +
                      std::to_string(largest + 1) + " or more");
    for (auto& sequence : tokens.sequences) {
        refuse_unless(sequence.size() == longest || tokens.pad_id.has_value(),
                      "sequences of " + std::to_string(sequence.size()) + " and " +
                          std::to_string(longest) +
                          " ids cannot be batched: pass $pad-id to pad the shorter one"_message);
        sequence.resize(longest, tokens.pad_id.value_or(0));
    }
}

SourceSizes sizes_of(const Source& source) {
    if (const auto* tokens = std::get_if<Tokens>(&source)) {
        return {tokens->sequences.size(), tokens->sequences.front().size(), 0,
                tokens->batch_axis || tokens->sequences.size() > 1};
    }
    if (const auto* tensor = std::get_if<Tensor>(&source)) {
        const Shape shape = tensor->shape();
        const std::string has = "x has shape " + shape_text(shape) + ": it ";
        require_fit(shape.size() == 2 || shape.size() == 3,
                    has + "must be (tokens, features) or (batch, tokens, features)");
        require_fit(element_count(shape) > 0, has + "has no elements");
        const bool batched = shape.size() == 3;
        return {batched ? shape[0] : 1, shape[shape.size() - 2], shape.back(), batched};
    }
    return {};
}

/// Adds earlier keys before those of x, whose queries continue after them.
void resolve_past(Plan& plan) {
    WalkConfig& config = plan.config;
    if (!config.past) return;
    plan.past_len = positive(*config.past, "past");
    refuse_unless(!plan.has_memory,
                  "past belongs to self-attention, whose keys come from x: leave the memory out");
    plan.key_len += plan.past_len;
    config.causal_align = CausalAlign::end;
}

}  // namespace

std::size_t positive(std::int64_t size, const char* what) {
    if (size < 1) {
        throw ConfigError(std::string(what) + " must be at least 1, not " + std::to_string(size));
    }
    return static_cast<std::size_t>(size);
}

void resolve_sequences(Plan& plan) {
    WalkConfig& config = plan.config;
    even_out(config.input);
    if (config.memory) even_out(*config.memory);
    const SourceSizes x = sizes_of(config.input);
    const SourceSizes memory = config.memory ? sizes_of(*config.memory) : SourceSizes{};

    // A source with a known number of sequences determines it for both.
    std::size_t sequences = config.batch ? positive(*config.batch, "batch") : 1;
    refuse_unless(x.sequences <= 1 || memory.sequences <= 1 || x.sequences == memory.sequences,
                  "x has " + std::to_string(x.sequences) + " sequences and memory " +
                      std::to_string(memory.sequences) + ": give as many, or one for all");
    for (const std::size_t known : {x.sequences, memory.sequences}) {
        if (known <= 1) continue;
        refuse_unless(known == sequences || (!config.batch && sequences == 1),
                      "the input has " + std::to_string(known) + " sequences but batch is " +
                          std::to_string(sequences) + ": they must agree");
        sequences = known;
    }
    plan.batch = sequences;
    plan.has_batch = config.batch.has_value() || x.batch_axis || memory.batch_axis;

    const auto length_of = [](const SourceSizes& source, std::optional<std::int64_t>& wanted,
                              std::int64_t otherwise, const char* what) {
        if (source.length == 0) return positive(wanted.value_or(otherwise), what);
        refuse_unless(!wanted || *wanted == static_cast<std::int64_t>(source.length),
                      std::string(what) + " " + std::to_string(wanted.value_or(0)) +
                          " contradicts the input, which has " + std::to_string(source.length) +
                          (source.length == 1 ? " token" : " tokens") + ": leave " +
                          std::string(setting_prefix) + what + " out");
        return source.length;
    };
    plan.query_len = length_of(x, config.query_len, 4, "seq-len");
    plan.has_memory = config.memory.has_value();
    plan.key_len = plan.has_memory
                       ? length_of(memory, config.key_len,
                                   static_cast<std::int64_t>(plan.query_len), "memory-len")
                       : plan.query_len;
    resolve_past(plan);
    if (plan.has_batch) config.batch = static_cast<std::int64_t>(plan.batch);
    config.query_len = static_cast<std::int64_t>(plan.query_len);
    config.key_len = static_cast<std::int64_t>(plan.new_keys());
    if (x.features != 0) {
        refuse_unless(
            !config.embed_dim || *config.embed_dim == static_cast<std::int64_t>(x.features),
            "embed-dim " + std::to_string(config.embed_dim.value_or(0)) +
                " contradicts the input, which has " + std::to_string(x.features) +
                " features: leave $embed-dim out"_message);
        config.embed_dim = static_cast<std::int64_t>(x.features);
    }
    plan.memory_dim = memory.features;
}

}  // namespace attn
