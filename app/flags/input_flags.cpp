#include "app/flags/setting.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::WalkConfig;

const attn::Tokens* tokens_in(const WalkConfig& config) {
    return std::get_if<attn::Tokens>(&config.input);
}

MaybeText ids_said(const WalkConfig& config) {
    const attn::Tokens* tokens = tokens_in(config);
    if (tokens == nullptr) return std::nullopt;
    std::string text;
    for (const std::vector<std::int64_t>& sequence : tokens->sequences) {
        std::string ids;
        for (const std::int64_t id : sequence) ids += (ids.empty() ? "" : ",") + std::to_string(id);
        text += (text.empty() ? "" : ";") + ids;
    }
    return tokens->batch_axis && tokens->sequences.size() == 1 ? text + ";" : text;
}

MaybeText vocab_size_said(const WalkConfig& config) {
    const attn::Tokens* tokens = tokens_in(config);
    if (tokens == nullptr || !tokens->vocab_size) return std::nullopt;
    return std::to_string(*tokens->vocab_size);
}

MaybeText pad_id_said(const WalkConfig& config) {
    const attn::Tokens* tokens = tokens_in(config);
    if (tokens == nullptr || !tokens->pad_id) return std::nullopt;
    return std::to_string(*tokens->pad_id);
}

MaybeText random_said(const WalkConfig& config) {
    const auto* random = std::get_if<attn::RandomInput>(&config.input);
    if (random == nullptr) return std::nullopt;
    return std::string(attn::word(random->distribution));
}

void set_lengths(WalkConfig& config, const Flag& flag, const std::string& text) {
    for (const std::string& length : split(text, ',')) {
        config.lengths.push_back(parse_integer(flag.name, length));
    }
}

std::string lengths_json(const Plan& plan) { return json_of(plan.config.lengths); }

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

/// Whether x or memory comes from tokens, or from those of a text.
template <bool of_text>
bool has_tokens(const Plan& plan) {
    const auto is_it = [](const attn::Source& source) {
        const auto* tokens = std::get_if<attn::Tokens>(&source);
        return tokens != nullptr && !(of_text && tokens->vocabulary.empty());
    };
    return is_it(plan.config.input) || (plan.config.memory && is_it(*plan.config.memory));
}
bool pads(const Plan& plan) { return plan.config.mask.padding; }
std::string without_memory() { return json_of(std::string()); }

}  // namespace

std::vector<Flag> input_rows() {
    constexpr std::string_view text =
        "--text or --text-file, and no --model-file, whose tokenizer cuts the text";
    return {
        Flag{flags::text, "TEXT", "words to attend over; repeat for a batch"}
            .being(of_arithmetic | says_x)
            .repeatable()
            .recorded("input",
                      [](const Plan& plan) { return source_json(plan.config.input, plan); }),
        Flag{flags::text_file, "FILE",
             "text to attend over, one sequence a line (- is standard input)", file()}
            .being(of_model | says_x),
        Flag{flags::split, "HOW",
             "how text is cut into tokens: words, chars, or a regular expression whose matches "
             "they are",
             such_as("words chars"), "words"}
            .being(of_model)
            .needing({nullptr, has_tokens<true>, text}),
        Flag{flags::keep_case, "", "keep capital letters of text"}.being(of_model).needing(
            {nullptr, has_tokens<true>, text}),
        Flag{flags::ids, "IDS",
             "token ids to attend over, ';' between sequences: \"1,2,0,0;1,2,3,4\""}
            .being(of_arithmetic | says_x)
            .said_by(ids_said),
        Flag{flags::tokens, "NAMES",
             "names of the tokens or rows of x, in their order: the,cat,_ (_ leaves the id or "
             "number); ';' between sequences"}
            .being(of_arithmetic),
        Flag{flags::vocab_size, "N", "rows of the embedding table", integer(1, 1'000'000'000),
             "largest id + 1"}
            .being(of_model)
            .said_by(vocab_size_said),
        Flag{flags::pad_id, "ID", "padding token id, or none", such_as("none"), "none; 0 for text"}
            .being(of_model)
            .said_by(pad_id_said)
            .needing({nullptr, has_tokens<false>, "tokens: pass --text or --ids"}),
        Flag{flags::random, "HOW", "draw x directly, normal or uniform numbers",
             one_of<attn::Distribution>()}
            .being(of_model | says_x)
            .said_by(random_said),
        Flag{flags::x, "FILE[:NAME]",
             "x from a file, (tokens, features) or with a batch axis (- is standard input)", file()}
            .being(of_model | says_x),
        Flag{flags::memory_texts, "TEXT", "cross-attention: words that keys and values come from"}
            .being(of_model | says_memory)
            .repeatable()
            .recorded("memory",
                      [](const Plan& plan) {
                          const auto& memory = plan.config.memory;
                          return memory ? source_json(*memory, plan) : without_memory();
                      }),
        Flag{flags::memory_ids, "IDS", "cross-attention: token ids that keys and values come from"}
            .being(of_model | says_memory),
        Flag{flags::memory, "FILE[:NAME]",
             "cross-attention: a file that keys and values come from; with a model the most memory "
             "that it may take, as 8G",
             file()}
            .being(of_model | says_memory),
        setting<&WalkConfig::batch>(flags::batch, "N", "number of sequences; gives a batch axis")
            .being(of_model)
            .recorded("batch",
                      [](const Plan& plan) {
                          return plan.has_batch ? std::to_string(plan.batch) : without_memory();
                      }),
        setting<&WalkConfig::query_len>(flags::seq_len, "N", "tokens of a drawn x", "4")
            .being(of_model),
        setting<&WalkConfig::key_len>("--memory-len", "N",
                                      "cross-attention: random memory of N tokens")
            .being(of_model | says_memory),
        Flag{"--lengths", "N,N", "true lengths of the key sequences, for the padding mask: 4,2"}
            .set_by(set_lengths)
            .recorded("lengths", lengths_json)
            .needing({nullptr, pads, "a padding mask: add --mask padding"}),
    };
}

}  // namespace app
