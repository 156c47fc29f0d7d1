#include "app/flags/setting.hpp"
#include "attn/core/plan/example_file.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::WalkConfig;

/// True if x or memory comes from tokens, or from the tokens of a text.
template <bool of_text>
bool has_tokens(const Plan& plan) {
    const auto is_it = [](const attn::Source& source) {
        const auto* tokens = std::get_if<attn::Tokens>(&source);
        return tokens != nullptr && !(of_text && tokens->vocabulary.empty());
    };
    return is_it(plan.config.input) || (plan.config.memory && is_it(*plan.config.memory));
}
bool pads(const Plan& plan) { return plan.config.mask.padding; }

}  // namespace

std::vector<Flag> input_rows() {
    constexpr std::string_view text =
        "--text or --text-file, and no --model-file, whose tokenizer splits the text";
    return {
        setting(flags::text, "TEXT", "words to attend over; repeat for a batch")
            .being(of_arithmetic | sets_x | of_source)
            .repeatable(),
        Flag{flags::example, "NAME",
             "attend over an example whose features have names, with integer matrices set by hand, "
             "or your own file: attn-explain examples lists them",
             such_as(attn::shipped_example_names, Takes::Kind::file)}
            .being(of_model | sets_x | of_source)
            .recorded("example"),
        Flag{flags::text_file, "FILE",
             "text to attend over, one sequence per line (- is standard input)", file()}
            .being(of_model | sets_x),
        Flag{flags::split, "HOW",
             "how text is split into tokens: words, chars, or a regular expression that matches "
             "each token",
             such_as("words chars"), "words"}
            .being(of_model)
            .needing({has_tokens<true>, text}),
        Flag{flags::keep_case, "", "keep capital letters of text"}.being(of_model).needing(
            {has_tokens<true>, text}),
        setting(flags::ids, "IDS",
                "token ids to attend over, ';' between sequences: \"1,2,0,0;1,2,3,4\"")
            .being(of_arithmetic | sets_x | of_source),
        Flag{flags::tokens, "NAMES",
             "names of the tokens or rows of x, in their order: the,cat,_ (_ keeps the id or "
             "number); ';' between sequences"}
            .being(of_arithmetic),
        setting(flags::vocab, "HOW",
                "source of each word's vector: words, drawn from a seed that depends on the word; "
                "text, one table of random rows in alphabetical order; or a file, one word and its "
                "numbers per line")
            .being(of_model | of_source)
            .needing({has_tokens<true>, text}),
        setting(flags::vocab_size, "N", "rows of the embedding table").being(of_model | of_source),
        setting(flags::pad_id, "ID", "padding token id, or none")
            .being(of_model | of_source)
            .needing({has_tokens<false>, "tokens: pass --text or --ids"}),
        setting(flags::random, "HOW", "draw x directly, normal or uniform numbers")
            .being(of_model | sets_x | of_source),
        Flag{flags::x, "FILE[:NAME]",
             "x from a file, (tokens, features) or with a batch axis (- is standard input)", file()}
            .being(of_model | sets_x),
        setting(flags::memory_texts, "TEXT", "cross-attention: words of the keys and values")
            .being(of_model | sets_memory)
            .repeatable(),
        Flag{flags::memory_ids, "IDS", "cross-attention: token ids of the keys and values"}.being(
            of_model | sets_memory),
        Flag{flags::memory, "FILE[:NAME]",
             "cross-attention: a file with the input of keys and values; with --model-file, the "
             "most memory to use, such as 8G",
             file()}
            .being(of_model | sets_memory),
        setting(flags::batch, "N", "number of sequences of a random x; adds a batch axis")
            .being(of_model),
        setting(flags::seq_len, "N", "tokens of a random x, drawn instead of the sentence")
            .being(of_model),
        setting("--memory-len", "N", "cross-attention: random memory of N tokens")
            .being(of_model | sets_memory),
        setting("--lengths", "N,N", "true lengths of the key sequences, for the padding mask: 4,2")
            .needing({pads, "a padding mask: add --mask padding"}),
    };
}

}  // namespace app
