#include <fmt/format.h>

#include <algorithm>

#include "app/commands/written_text.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/models/model_mistakes.hpp"

namespace app {

using attn::models::Divergence;
using attn::models::Model;
using attn::models::ModelMistake;

namespace {

/// The text of a model with a mistake, and where tokens and probabilities first differ.
struct Compared {
    const ModelMistake* mistake;
    WrittenText written;
    std::optional<std::size_t> first_other{};  ///< place of the first token that differs
    std::optional<Divergence> divergence{};
};

Compared compare_with(const Writer& writer, const WrittenText& right, const ModelMistake& mistake) {
    Compared compared{&mistake, writer.write(&mistake)};
    const TokenIds ids = right.ids();
    const TokenIds others = compared.written.ids();
    const auto differs = std::mismatch(ids.begin(), ids.end(), others.begin(), others.end()).first;
    if (ids != others) compared.first_other = static_cast<std::size_t>(differs - ids.begin());
    TokenIds read = right.prompt;
    read.insert(read.end(), ids.begin(), differs);
    compared.divergence = find_divergence(writer.precise(), &mistake, read, right.prompt.size());
    return compared;
}

std::string place_of(const Divergence& divergence) {
    std::string text = fmt::format("{} of layer {}", divergence.step, divergence.layer);
    if (divergence.head) text += fmt::format(", head {}", *divergence.head);
    return text + fmt::format(", at token {}", divergence.token);
}

std::string token_at(const Model& model, const WrittenText& written, std::size_t place) {
    if (place >= written.tokens.size()) return "the end";
    return quoted(model, written.tokens[place].id);
}

std::string bug_text(const Model& model, const WrittenText& right, const Compared& compared) {
    std::string text = "# As the model was trained:\n" + whole_text(model, right) + "\n\n# With " +
                       compared.mistake->id + ": " + compared.mistake->title.visible() + ".\n" +
                       whole_text(model, compared.written) + "\n\n";
    if (compared.first_other) {
        text += fmt::format("# The texts differ from token {} on: {} instead of {}.\n",
                            right.prompt.size() + *compared.first_other,
                            token_at(model, compared.written, *compared.first_other),
                            token_at(model, right, *compared.first_other));
    } else {
        text += fmt::format("# All {} tokens are the same.\n", right.tokens.size());
    }
    if (compared.divergence) {
        text += fmt::format("# The numbers differ earlier, in {}: {:.6g} instead of {:.6g}.\n",
                            place_of(*compared.divergence), compared.divergence->wrong,
                            compared.divergence->right);
    } else {
        text += "# No number differs.\n";
    }
    return text +
           "# Fluent text proves nothing: a model with a mistake can still write "
           "sentences. Compare numbers.\n";
}

attn::JsonText bug_json(const Model& model, const Compared& compared) {
    attn::JsonText json =
        attn::JsonText{{"id", compared.mistake->id}, {"title", compared.mistake->title.raw()}}.with(
            "first_difference", compared.first_other, ",\n ");
    if (compared.divergence) {
        const auto& [token, layer, step, head, right, wrong] = *compared.divergence;
        json = json.with("first_divergence",
                         {{"layer", layer},
                          {"step", step},
                          {"head", head},
                          {"token", token},
                          {"right", right},
                          {"wrong", wrong}},
                         ",\n ");
    }
    return with_text(json, model, compared.written);
}

void refuse(const Arguments& arguments, const Name& flag, const std::string& except) {
    if (!arguments.has(flag)) return;
    throw attn::ConfigError(std::string(flag) + " has no effect on texts with a mistake" + except +
                            ": leave it out");
}

}  // namespace

void generate_with_bug(const Arguments& arguments, Model& model) {
    const ModelMistake mistake = attn::models::find_model_mistake(arguments[flags::bug], model);
    const auto text = [&] {
        refuse(arguments, flags::likeliest, ", except in --json");
        refuse(arguments, flags::no_notes, ", except in --json");
        const Writer writer(arguments, model);
        const WrittenText right = writer.write();
        return bug_text(model, right, compare_with(writer, right, mistake));
    };
    const auto json = [&] {
        refuse(arguments, flags::no_notes, "");
        const Writer writer(arguments, model);
        const WrittenText right = writer.write();
        return with_text(json_of_model(model), model, right)
            .with("bug", bug_json(model, compare_with(writer, right, mistake)), ",\n ")
            .text;
    };
    write_text_or_json(arguments, text, json);
}

}  // namespace app
