#include "attn/core/plan/tokenize.hpp"
#include "attn/core/settings/member.hpp"
#include "attn/ground/tensor/error.hpp"

// The sources of x and memory, and their lengths.

namespace attn {
namespace {

const Tokens* tokens_in(const WalkConfig& config) { return std::get_if<Tokens>(&config.input); }

/// Returns the tokens that a setting changes.  Errors  ConfigError if there are none.
Tokens& tokens_of(WalkConfig& config, std::string_view called) {
    if (auto* tokens = std::get_if<Tokens>(&config.input)) return *tokens;
    throw ConfigError(std::string(called) + " belongs to text or ids: set them first");
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

std::string vocab_text(const Tokens& tokens) { return tokens.by_word ? "words" : "text"; }

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
        if (!tokens->vocabulary.empty()) {
            text += ",\"vocab\":" + json_string(vocab_text(*tokens)) +
                    ",\"vocabulary\":" + json_list(tokens->vocabulary);
        }
    } else if (random != nullptr) {
        text += ",\"random\":" + record_of(text_of(random->distribution));
    }
    return text + "}";
}

void set_text(WalkConfig& config, std::string_view, const std::string& text) {
    config.input = tokenize({text});
}

void set_ids(WalkConfig& config, std::string_view called, const std::string& text) {
    config.input = parse_ids(called, text);
}

void set_vocab_size(WalkConfig& config, std::string_view called, const std::string& text) {
    tokens_of(config, called).vocab_size = parse_integer(called, text);
}

void set_vocab(WalkConfig& config, std::string_view called, const std::string& text) {
    Tokens& tokens = tokens_of(config, called);
    tokens.by_word = text == "words";
    if (!tokens.by_word && text != "text") {
        throw ConfigError(std::string(called) + " takes words, text or a file, not '" + text + "'");
    }
    if (auto* memory = config.memory ? std::get_if<Tokens>(&*config.memory) : nullptr) {
        memory->by_word = tokens.by_word;
    }
}

void set_pad_id(WalkConfig& config, std::string_view called, const std::string& text) {
    tokens_of(config, called).pad_id = parse_pad_id(called, text);
}

/// Returns a member of x's tokens; empty if there are none.
template <auto member>
std::string of_tokens(const WalkConfig& config) {
    const Tokens* tokens = tokens_in(config);
    return tokens == nullptr ? std::string() : text_of(tokens->*member);
}

void set_random(WalkConfig& config, std::string_view called, const std::string& text) {
    config.input = RandomInput{parse_word<Distribution>(called, text)};
}

std::string random_text(const WalkConfig& config) {
    const auto* drawn = std::get_if<RandomInput>(&config.input);
    return drawn == nullptr ? std::string() : text_of(drawn->distribution);
}

std::string memory_json(const Plan& plan) {
    const std::optional<Source>& source = plan.config.memory;
    return source ? source_json(*source, plan) : record_of("");
}

/// Makes a memory of that length, drawn like x.
void set_key_len(WalkConfig& config, std::string_view called, const std::string& text) {
    config.key_len = parse_integer(called, text);
    const auto* drawn = std::get_if<RandomInput>(&config.input);
    if (!config.memory) config.memory = drawn ? *drawn : RandomInput{};
}

void set_lengths(WalkConfig& config, std::string_view called, const std::string& text) {
    for (const std::string& length : split(text, ',')) {
        config.lengths.push_back(parse_integer(called, length));
    }
}

/// Marks a setting whose record is part of `input`.
Setting within_input(Setting setting) {
    setting.key.clear();
    return setting;
}

}  // namespace

std::vector<Setting> input_settings() {
    Setting text = record_setting(
        "text", "input", [](const Plan& plan) { return source_json(plan.config.input, plan); });
    text.set = set_text;
    Setting batch = member_setting<&WalkConfig::batch>("batch");
    batch.json = [](const Plan& plan) {
        return record_of(plan.has_batch ? std::to_string(plan.batch) : "", true);
    };
    Setting key_len = member_setting<&WalkConfig::key_len>("memory-len");
    key_len.set = set_key_len;
    return {
        text,
        within_input(own_setting("ids", set_ids, ids_text)),
        within_input(taking(own_setting("vocab", set_vocab, nullptr),
                            such_as("words text", Takes::Kind::file), "words")),
        within_input(
            taking(own_setting("vocab-size", set_vocab_size, of_tokens<&Tokens::vocab_size>),
                   {Takes::Kind::integer, 1, largest_id + 1}, "largest id + 1")),
        within_input(taking(own_setting("pad-id", set_pad_id, of_tokens<&Tokens::pad_id>),
                            such_as("none"), "none; 0 for text")),
        within_input(
            taking(own_setting("random", set_random, random_text), argument_type<Distribution>())),
        record_setting("memory-text", "memory", memory_json),
        batch,
        member_setting<&WalkConfig::query_len>("seq-len", "4"),
        key_len,
        own_setting(
            "lengths", set_lengths,
            [](const WalkConfig& config) { return text_of(config.lengths); },
            [](const Plan& plan) { return "[" + text_of(plan.config.lengths) + "]"; }),
    };
}

}  // namespace attn
