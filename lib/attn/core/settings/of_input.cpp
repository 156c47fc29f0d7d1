#include "attn/core/plan/tokenize.hpp"
#include "attn/core/settings/member.hpp"
#include "attn/ground/tensor/error.hpp"

// Where x and memory come from, and how long they are.

namespace attn {
namespace {

const Tokens* tokens_in(const WalkConfig& config) { return std::get_if<Tokens>(&config.input); }

/// The tokens that a setting is of.  Errors  ConfigError without any.
Tokens& tokens_of(WalkConfig& config, std::string_view called) {
    if (auto* tokens = std::get_if<Tokens>(&config.input)) return *tokens;
    throw ConfigError(std::string(called) + " belongs to text or ids: say them first");
}

std::string ids_text(const WalkConfig& config) {
    const Tokens* tokens = tokens_in(config);
    if (tokens == nullptr) return {};
    std::string text;
    for (const std::vector<std::int64_t>& ids : tokens->sequences) {
        text += (text.empty() ? "" : ";") + text_of(ids);
    }
    return tokens->batch_axis && tokens->sequences.size() == 1 ? text + ";" : text;
}

std::string source_json(const Source& source, const Plan& plan) {
    const auto* tokens = std::get_if<Tokens>(&source);
    const auto* random = std::get_if<RandomInput>(&source);
    const std::string word = !plan.has_x() ? "none"
                             : tokens      ? (tokens->vocabulary.empty() ? "ids" : "text")
                             : random      ? "random"
                                           : "given";
    std::string text = "{\"source\":" + json_string(word);
    if (tokens != nullptr) {
        text += ",\"vocab_size\":" + record_of(text_of(tokens->vocab_size), true) +
                ",\"pad_id\":" + record_of(text_of(tokens->pad_id), true);
        if (!tokens->vocabulary.empty()) text += ",\"vocabulary\":" + json_list(tokens->vocabulary);
    } else if (random != nullptr) {
        text += ",\"random\":" + record_of(text_of(random->distribution));
    }
    return text + "}";
}

}  // namespace

std::vector<Setting> input_settings() {
    Setting text{"text"}, ids{"ids"}, vocab_size{"vocab-size"}, pad_id{"pad-id"}, random{"random"};
    text.set = [](WalkConfig& config, std::string_view, const std::string& words) {
        config.input = tokenize({words});
    };
    text.key = "input";
    text.json = [](const Plan& plan) { return source_json(plan.config.input, plan); };

    ids.set = [](WalkConfig& config, std::string_view called, const std::string& said) {
        config.input = parse_ids(called, said);
    };
    ids.text = ids_text;

    vocab_size.takes = {Takes::Kind::integer, 1, largest_id + 1};
    vocab_size.usual = "largest id + 1";
    vocab_size.set = [](WalkConfig& config, std::string_view called, const std::string& said) {
        tokens_of(config, called).vocab_size = parse_integer(called, said);
    };
    vocab_size.text = [](const WalkConfig& config) {
        const Tokens* tokens = tokens_in(config);
        return tokens == nullptr ? std::string() : text_of(tokens->vocab_size);
    };

    pad_id.takes = such_as("none");
    pad_id.usual = "none; 0 for text";
    pad_id.set = [](WalkConfig& config, std::string_view called, const std::string& said) {
        std::optional<std::int64_t>& id = tokens_of(config, called).pad_id;
        id.reset();
        if (said != "none") id = parse_integer(called, said, 0, largest_id);
    };
    pad_id.text = [](const WalkConfig& config) {
        const Tokens* tokens = tokens_in(config);
        return tokens == nullptr ? std::string() : text_of(tokens->pad_id);
    };

    random.takes = taken<Distribution>();
    random.set = [](WalkConfig& config, std::string_view called, const std::string& said) {
        config.input = RandomInput{parse_word<Distribution>(called, said)};
    };
    random.text = [](const WalkConfig& config) {
        const auto* drawn = std::get_if<RandomInput>(&config.input);
        return drawn == nullptr ? std::string() : text_of(drawn->distribution);
    };

    Setting memory{"memory-text"};
    memory.key = "memory";
    memory.json = [](const Plan& plan) {
        const std::optional<Source>& source = plan.config.memory;
        return source ? source_json(*source, plan) : record_of("");
    };
    Setting batch = member_setting<&WalkConfig::batch>("batch");
    batch.json = [](const Plan& plan) {
        return record_of(plan.has_batch ? std::to_string(plan.batch) : "", true);
    };
    Setting key_len = member_setting<&WalkConfig::key_len>("memory-len");
    key_len.set = [](WalkConfig& config, std::string_view called, const std::string& said) {
        config.key_len = parse_integer(called, said);
        const auto* drawn = std::get_if<RandomInput>(&config.input);
        if (!config.memory) config.memory = drawn ? *drawn : RandomInput{};
    };
    Setting lengths{"lengths"};
    lengths.set = [](WalkConfig& config, std::string_view called, const std::string& said) {
        for (const std::string& length : split(said, ',')) {
            config.lengths.push_back(parse_integer(called, length));
        }
    };
    lengths.text = [](const WalkConfig& config) { return text_of(config.lengths); };
    lengths.key = "lengths";
    lengths.json = [](const Plan& plan) { return "[" + text_of(plan.config.lengths) + "]"; };
    return {text,    ids,    vocab_size, pad_id,
            random,  memory, batch,      member_setting<&WalkConfig::query_len>("seq-len", "4"),
            key_len, lengths};
}

}  // namespace attn
