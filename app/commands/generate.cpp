#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/written_text.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/standard_output.hpp"
#include "attn/models/model_mistakes.hpp"
#include "attn/text/strings.hpp"

namespace app {
namespace {

using attn::models::Architecture;
using attn::models::Candidate;
using attn::models::Model;
using attn::models::ModelMistake;
using attn::models::Sampling;
using attn::models::WrittenToken;

std::string heading(const Arguments& arguments, const Model& model) {
    const Architecture& a = model.architecture;
    const Sampling sampling = sampling_of(arguments);
    std::string text =
        fmt::format("# {}: {} layers, {} heads ({} key/value heads), head_dim {}, {} tokens\n",
                    model.label, a.layers.size(), a.heads, a.kv_heads, a.head_dim, a.vocab_size);
    text += sampling.temperature == 0
                ? std::string("# Each token is the likeliest one.\n")
                : fmt::format("# Tokens are drawn: temperature {}, seed {}.\n",
                              sampling.temperature, sampling.seed);
    return text;
}

/// One line of --top: the token, its probability, and the likeliest ones.
std::string line_of(const Model& model, std::size_t position, const WrittenToken& token) {
    std::string line =
        fmt::format("{:4}  {:>10}  {:.4f} |", position, quoted(model, token.id), token.probability);
    for (const Candidate& each : token.likeliest) {
        line += fmt::format("  {} {:.4f}", quoted(model, each.id), each.probability);
    }
    return line + "\n";
}

/// Prints a text while it is written, or the lines of --top.
void stream(const Arguments& arguments, const Model& model) {
    Pager::forbid();
    StandardOutput output;
    const bool table = arguments.has("--top");
    if (!arguments.has("--no-notes")) output.write(heading(arguments, model));
    const TokenIds prompt = prompt_of(arguments, model);
    std::string waiting = table ? "" : text_of_ids(model, prompt);
    std::int64_t previous = prompt.empty() ? -1 : prompt.back();
    std::size_t position = prompt.size();
    const auto flush = [&](std::size_t kept) {
        output.write(attn::visible_lines(waiting.substr(0, waiting.size() - kept), false));
        output.flush();
        waiting.erase(0, waiting.size() - kept);
    };
    Writer(arguments, model).write(nullptr, [&](const WrittenToken& token) {
        waiting += table ? line_of(model, position++, token) : piece_of(model, token.id, previous);
        previous = token.id;
        flush(unfinished(waiting));
    });
    if (!table) waiting += "\n";
    flush(0);
}

int run_generate(const Arguments& arguments) {
    const Model model = model_of(arguments);
    if (arguments.has("--bug") || arguments.has("--all-bugs")) {
        generate_with_bugs(arguments, model);
    } else if (wants_json(arguments)) {
        const WrittenText written = Writer(arguments, model).write();
        write_text(arguments, with_text(json_head(model), model, written).text + "\n");
    } else if (arguments.has("--output")) {
        if (arguments.has("--top")) {
            throw attn::ConfigError("--top has no effect on a text in a file: add --json");
        }
        const WrittenText written = Writer(arguments, model).write();
        write_text(arguments, whole_text(model, written) + "\n");
    } else {
        stream(arguments, model);
    }
    return 0;
}

std::vector<std::string> model_bugs() {
    std::vector<std::string> ids;
    for (const ModelMistake& mistake : attn::models::model_mistakes()) ids.push_back(mistake.id);
    return ids;
}
std::vector<std::string> real_types() { return {"float32", "float64"}; }

const std::vector<Flag>& generate_flags() {
    static const std::vector<Flag> all = grouped(
        "Writing",
        {
            {"--tokens", "N", "tokens to write at most", integer(1, 1'000'000), "100"},
            {"--temperature", "X", "divides the logits before a token is drawn; 0: the likeliest",
             number(), "0; 1 with --top-k, --top-p or --seed"},
            {"--top-k", "N", "draw among the N likeliest tokens", integer(1), "all"},
            {"--top-p", "X", "draw among the likeliest tokens that have the probability X together",
             number(), "1"},
            {"--seed", "N", "seed of the random numbers", integer(0), "42"},
            {"--top", "N", "a line a token, with the N likeliest and their probabilities",
             integer(1, 1000)},
            {"--dtype", "TYPE", "type of the arithmetic", one_of(real_types),
             "float32; float64 with a mistake"},
            {"--bug", "ID", "the text of the model with a mistake, beside the right one",
             such_as(model_bugs)},
            {"--all-bugs", "", "a table of all mistakes: where text and numbers part"},
            Flag{"--no-notes", "", "the text alone"}.spelt("-q"),
        });
    return all;
}

}  // namespace

Command generate_command() {
    return {"generate",
            "write a text with a trained model, right or mistaken",
            {generate_flags, model_flags, json_flags, file_flags},
            run_generate,
            {{"attn-explain generate --text 'Once upon a time'", "Continues a text."},
             {"attn-explain generate --bug rope-theta", "The same model with a mistake."},
             {"attn-explain generate --all-bugs --tokens 40", "Which mistakes show in the text."}}};
}

}  // namespace app
