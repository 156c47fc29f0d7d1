#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/commands/written_text.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/parse.hpp"
#include "attn/models/contributions.hpp"
#include "attn/models/model_mistakes.hpp"
#include "attn/text/json.hpp"
#include "attn/text/strings.hpp"
#include "attn/version.hpp"

namespace app {
namespace {

using attn::models::Contribution;
using attn::models::Model;
using attn::models::ModelMistake;
using attn::models::NextToken;

/// Refuses flags of a walk through one layer: a token of the whole model takes only the rest.
void refuse_flags_of_walks(const Arguments& arguments) {
    for (const Arguments::Said& said : arguments.said()) {
        const bool goes = std::ranges::any_of(
            std::array{"CELL", "--model-file", "--tokenizer", "--text", "--ids", "--top", "--bug",
                       "--json", "--output", "--color", "--config"},
            [&](const char* name) { return said.flag->name == name; });
        if (goes || said.implied) continue;
        throw attn::ConfigError(said.flag->name +
                                " is of a walk through one layer, and next[...] is of the whole "
                                "model: leave it out");
    }
    if (arguments.all("--bug").size() > 1) {
        throw attn::ConfigError("next[...] takes one --bug: leave the others out");
    }
}

/// The token in `next[upon]` or `next[298]`.
std::int64_t token_in(const Model& model, const std::string& cell) {
    if (!cell.ends_with(']')) throw attn::ConfigError("'" + cell + "' is not like next[upon]");
    const std::string wanted = cell.substr(5, cell.size() - 6);
    if (wanted.empty()) throw attn::ConfigError("next[] names no token: ask as in next[upon]");
    return token_of(model, wanted, cell);
}

std::string next_text(const Model& model, const TokenIds& ids, NextToken next, std::size_t top,
                      const ModelMistake* mistake) {
    std::string text =
        mistake ? fmt::format("With {}: {}.\n", mistake->id, mistake->title) : std::string();
    text += fmt::format(
        "next[{}] = {:.6f}   {} behind {}\n  = exp(logit) / sum over all tokens, logit "
        "{:.4f}\n  = what each part of the model adds to the logit\n",
        next.id, next.probability, quoted(model, next.id), quoted(model, ids.back()), next.logit);
    std::stable_sort(next.parts.begin(), next.parts.end(),
                     [](const Contribution& one, const Contribution& other) {
                         return std::abs(one.logit) > std::abs(other.logit);
                     });
    double rest = 0;
    for (std::size_t i = 0; i < next.parts.size(); ++i) {
        if (i >= top) {
            rest += next.parts[i].logit;
        } else {
            text += fmt::format("    {:9.4f}   {}\n", next.parts[i].logit, next.parts[i].part);
        }
    }
    if (next.parts.size() > top) {
        text += fmt::format("    {:9.4f}   {} others\n", rest, next.parts.size() - top);
    }
    return text + fmt::format("    {:9.4f}   together\n", next.logit);
}

std::string next_json(const Model& model, const NextToken& next, const ModelMistake* mistake) {
    std::vector<attn::JsonText> parts;
    for (const auto& [part, logit] : next.parts) {
        parts.push_back({{"part", part}, {"logit", logit}});
    }
    const attn::JsonText json = json_head(model)
                                    .with("id", next.id)
                                    .with("token", quoted(model, next.id))
                                    .with("probability", next.probability)
                                    .with("logit", next.logit);
    return (mistake != nullptr ? json.with("bug", mistake->id) : json)
               .with("parts", parts, ",\n ")
               .text +
           "\n";
}

}  // namespace

void why_next(const Arguments& arguments) {
    if (!arguments.has("--model-file")) {
        throw attn::ConfigError(
            "next[...] is a token of a trained model: add --model-file stories");
    }
    refuse_flags_of_walks(arguments);
    const Model model = model_of(arguments);
    const TokenIds ids = prompt_of(arguments, model);
    const std::string bug = arguments.has("--bug") ? arguments.all("--bug").front() : "none";
    std::optional<ModelMistake> made;
    if (bug != "none") made = attn::models::find_model_mistake(bug, model);
    const ModelMistake* const mistake = made ? &*made : nullptr;
    const std::int64_t id = token_in(model, arguments.text("CELL"));
    const NextToken next = attn::models::NextTokens(model, mistake, ids).of(id);
    const auto top = static_cast<std::size_t>(*arguments.integer("--top"));
    write_text(arguments, wants_json(arguments) ? next_json(model, next, mistake)
                                                : next_text(model, ids, next, top, mistake));
}

}  // namespace app
