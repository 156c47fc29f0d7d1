#include "app/flags/walk_flags.hpp"

#include <algorithm>
#include <set>

#include "app/flags/config_file.hpp"
#include "app/flags/setting.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/judge/mistakes/mistake.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::Projection;
using attn::WalkConfig;

// --- settings with a text of their own

void set_init(WalkConfig& config, const Flag& flag, const std::string& text) {
    const std::vector<std::string> names = split(text, ',');
    if (names.size() != 1 && names.size() != 3) {
        throw attn::ConfigError("--init takes one word, or three for q,k,v, not '" + text + "'");
    }
    config.init.emplace();
    for (std::size_t i = 0; i < 3; ++i) {
        (*config.init)[i] = parse_word<attn::Init>(flag.name, names[names.size() == 1 ? 0 : i]);
    }
}

std::vector<std::string> init_words(const WalkConfig& config) {
    std::vector<std::string> words;
    for (const attn::Init init : *config.init) words.emplace_back(attn::word(init));
    return words;
}

std::string init_json(const Plan& plan) { return attn::json_list(init_words(plan.config)); }

MaybeText init_said(const WalkConfig& config) {
    if (!config.init) return std::nullopt;
    const std::vector<std::string> words = init_words(config);
    const bool alike = words[0] == words[1] && words[1] == words[2];
    return alike ? words[0] : said_words(words);
}

void set_scale(WalkConfig& config, const Flag& flag, const std::string& text) {
    using By = attn::ScaleChoice::By;
    for (const auto& [word, by] : attn::words<By>) {
        if (word == text) {
            config.scale = {by, 1};
            return;
        }
    }
    if (text.find_first_of("0123456789") == std::string::npos) {
        refuse_word(flag.name, text, {"head-dim", "embed-dim", "none", "a factor"});
    }
    config.scale = {By::number, parse_number(flag.name, text)};
}

MaybeText scale_said(const WalkConfig& config) {
    using By = attn::ScaleChoice::By;
    if (config.scale.by == By::head_dim) return std::nullopt;
    return config.scale.by == By::number ? attn::json_number(config.scale.number)
                                         : std::string(attn::word(config.scale.by));
}

std::string scale_json(const Plan& plan) {
    const attn::ScaleChoice& scale = plan.config.scale;
    if (scale.by != attn::ScaleChoice::By::number) return json_of(scale.by);
    const std::string number = attn::json_number(scale.number);
    return number.find_first_not_of("-0123456789") == number.npos ? number + ".0" : number;
}

/// The kinds of mask that --mask takes, those without numbers first.
std::vector<const attn::MaskKind*> typed_masks() {
    std::vector<const attn::MaskKind*> kinds;
    for (const bool has_numbers : {false, true}) {
        for (const attn::MaskKind& kind : attn::mask_kinds()) {
            const bool is_due = (kind.numbers != nullptr) == has_numbers;
            if (is_due && kind.choose != nullptr) kinds.push_back(&kind);
        }
    }
    return kinds;
}

std::vector<std::string> mask_examples() {
    std::vector<std::string> words{"none"}, numbered{"causal,padding", "causal,window:4"};
    for (const attn::MaskKind* kind : typed_masks()) {
        (kind->numbers ? numbered : words).emplace_back(kind->such_as);
    }
    words.insert(words.end(), numbered.begin(), numbered.end());
    return words;
}

std::string mask_help() {
    std::string text = "cells that are hidden: none, ";
    for (const attn::MaskKind* kind : typed_masks()) {
        text += std::string(kind->such_as);
        text += kind->help.empty() ? ", " : " (" + std::string(kind->help) + "), ";
    }
    return text + "or several: causal,padding or causal,window:4";
}

/// Chooses the kind that a word names, with its numbers.
void set_mask_kind(attn::MaskChoice& mask, const Flag& flag, const std::string& text) {
    const std::string word = before(text, ':');
    for (const attn::MaskKind& kind : attn::mask_kinds()) {
        const bool has_numbers = word.size() != text.size();
        const bool takes_numbers = kind.numbers != nullptr;
        if (kind.word != word || kind.choose == nullptr || has_numbers != takes_numbers) continue;
        std::vector<std::int64_t> numbers;
        const bool is_list = kind.between == '+';
        const auto count = static_cast<std::size_t>(std::ranges::count(kind.such_as, kind.between));
        const std::vector<std::string> said =
            has_numbers ? split(text.substr(word.size() + 1), kind.between)
                        : std::vector<std::string>();
        for (const std::string& number : said) {
            numbers.push_back(
                parse_integer(flag.name + " " + word, number, kind.least, 1'000'000'000));
        }
        if (is_list || numbers.size() == count) return kind.choose(mask, numbers);
        throw attn::ConfigError(flag.name + " " + word + " takes " + std::to_string(count) +
                                " numbers, as in " + std::string(kind.such_as));
    }
    std::vector<std::string> all{"none"};
    for (const attn::MaskKind* kind : typed_masks()) all.emplace_back(kind->such_as);
    all.emplace_back("several of them with commas between");
    refuse_word(flag.name, text, all);
}

void set_mask(WalkConfig& config, const Flag& flag, const std::string& text) {
    attn::MaskChoice mask;
    mask.given = std::move(config.mask.given);
    config.mask = std::move(mask);
    if (text == "none") return;
    std::set<std::string> kinds;
    for (const std::string& kind : split(text, ',')) {
        set_mask_kind(config.mask, flag, kind);
        if (kinds.insert(before(kind, ':')).second) continue;
        throw attn::ConfigError(flag.name + " says " + before(kind, ':') + " twice: leave one out");
    }
}

MaybeText mask_said(const WalkConfig& config) {
    std::vector<std::string> words;
    for (const attn::MaskKind& kind : attn::mask_kinds()) {
        if (!kind.chosen(config.mask)) continue;
        words.push_back(mask_text(kind, config.mask));
    }
    return said_words(words);
}

std::string mask_json(const Plan& plan) { return json_of(mask_said(plan.config).value_or("")); }

// --- what flags need

bool has_projection(const Plan& plan) { return plan.config.projection != Projection::none; }
bool has_matrix(const Plan& plan) { return has_projection(plan) || plan.config.output_projection; }
bool masks(const Plan& plan) { return plan.masks(); }
/// Whether a kind of mask goes by the positions of queries, and these could be others.
bool aligns(const Plan& plan) {
    const auto goes_by_position = [&](const attn::MaskKind& kind) {
        return kind.by_position && kind.chosen(plan.config.mask);
    };
    return plan.query_len != plan.key_len &&
           std::ranges::any_of(attn::mask_kinds(), goes_by_position);
}
bool projects_output(const Plan& plan) { return plan.config.output_projection; }
bool has_heads(const Plan& plan) { return plan.has_head; }

std::string none() { return json_of(std::string()); }

std::vector<Flag> model_rows() {
    const Need projection{nullptr, has_projection, "a projection: leave --projection none out"};
    const Need heads{nullptr, has_heads, "several heads: pass --heads 2 or more"};
    return {
        Flag{flags::preset, "NAME",
             "the settings of a family of models, in small (--list-presets); other flags override "
             "them, and --bias=false switches one off",
             one_of(preset_names)}
            .being(of_model),
        setting<&WalkConfig::embed_dim>(flags::embed_dim, "N", "features of each token",
                                        "heads x head-dim")
            .being(of_model),
        setting<&WalkConfig::heads>(flags::heads, "N", "number of heads").being(of_model),
        setting<&WalkConfig::kv_heads>(
            flags::kv_heads, "N",
            "heads of key and value, shared by the query heads: 1 is multi-query attention",
            "heads")
            .being(of_model)
            .needing(heads),
        setting<&WalkConfig::head_dim>(flags::head_dim, "N",
                                       "features of query and key in each head",
                                       "embed-dim / heads, or 4")
            .being(of_model),
        setting<&WalkConfig::value_dim>("--value-dim", "N", "features of value in each head",
                                        "head-dim")
            .being(of_model),
        setting<&WalkConfig::output_dim>("--output-dim", "N", "features of the output projection",
                                         "embed-dim")
            .being(of_model)
            .needing({nullptr, projects_output, "an output projection: add --output-projection"}),
        setting<&WalkConfig::projection>(flags::projection, "KIND",
                                         "how query, key and value are made from x: split and "
                                         "matrix have a weight for each of the three, fused one "
                                         "for all (GPT-2), fused-by-head the same head by head "
                                         "(GPT-NeoX), stacked and per-head weights for each head, "
                                         "mha nn.MultiheadAttention's")
            .being(of_model),
        Flag{"--init", "HOW", "how projections are drawn, one word or three for q,k,v",
             some_of(words_of<attn::Init>), "linear; NumPy: normal"}
            .being(of_model)
            .in_group(last_group)
            .set_by(set_init)
            .recorded("init", init_json)
            .said_by(init_said)
            .needing(projection),
        setting<&WalkConfig::bias>("--bias", "", "biases on the query, key and value projections")
            .being(of_model),
        setting<&WalkConfig::draw_order>("--draw-order", "ORDER",
                                         "order in which the projections are drawn")
            .being(of_model)
            .in_group(last_group)
            .needing({nullptr, changes_draws<&WalkConfig::draw_order>,
                      "projections that are drawn one after the other"}),
        setting<&WalkConfig::weight_layout>(flags::weight_layout, "LAYOUT",
                                            "how projection matrices are stored",
                                            "out-in; NumPy: in-out")
            .being(of_model)
            .in_group(last_group)
            .needing({nullptr, has_matrix, projection.what}),
        setting<&WalkConfig::output_projection>("--output-projection", "",
                                                "project the heads once more at the end")
            .being(of_model),
        setting<&WalkConfig::output_bias>("--output-bias", "", "bias on the output projection")
            .being(of_model),
        setting<&WalkConfig::merge>(flags::merge, "", "concatenate the heads at the end")
            .needing(heads),
        Flag{flags::no_merge, "", "leave the heads apart"}
            .instead_of({flags::merge})
            .being(of_model)
            .set_by(
                [](WalkConfig& config, const Flag&, const std::string&) { config.merge = false; })
            .needing(heads),
        setting<&WalkConfig::weights_file>(
            flags::weights, "FILE", "parameters from a file, by their names; the rest is drawn")
            .being(of_model)
            .taking(file()),
        Flag{flags::model, "FAMILY", "the --weights file is from this model family",
             one_of("gpt2 bert")}
            .being(of_model)
            .recorded("model", [](const Plan& plan) { return json_of(plan.config.model); }),
        Flag{flags::layer, "N", "layer of the model in --model-file or --weights", integer(0), "0"}
            .being(of_arithmetic)
            .recorded("layer",
                      [](const Plan& plan) {
                          const WalkConfig& config = plan.config;
                          const bool layered = !config.model.empty() || !config.model_file.empty();
                          return layered ? json_of(config.layer) : none();
                      }),
        Flag{flags::mask, "KIND", mask_help(), such_as(mask_examples), "none"}
            .set_by(set_mask)
            .recorded("mask", mask_json)
            .said_by(mask_said),
        Flag{flags::mask_file, "FILE[:NAME]",
             "a mask from a file: bool, or 0 and 1, with --mask-true, or 0 and -inf", file()},
        Flag{flags::mask_true, "WHICH", "what true means in --mask-file", one_of("keep drop")},
        setting<&WalkConfig::causal_align>(
            flags::causal_align, "WHERE",
            "with unequal lengths the causal mask lets the first query meet the first key, or the "
            "last the last")
            .needing({nullptr, aligns, "--mask causal, and a memory longer or shorter than x"}),
        setting<&WalkConfig::empty_row>("--empty-row", "WHAT",
                                        "what a row becomes that hides every key")
            .being(of_arithmetic)
            .needing({nullptr, masks, "a mask: add --mask causal or padding"}),
        Flag{flags::scale, "HOW",
             "divide the scores by the root of head-dim or embed-dim, by nothing (none), or "
             "multiply them by a number",
             such_as(words_of<attn::ScaleChoice::By>), "head-dim"}
            .set_by(set_scale)
            .recorded("scale", scale_json)
            .said_by(scale_said),
        setting<&WalkConfig::softcap>(
            flags::softcap, "X",
            "bound the scores softly: X * tanh(score / X), as Gemma 2; 0: none"),
        setting<&WalkConfig::softmax_axis>(flags::softmax_axis, "AXIS",
                                           "axis that the weights sum to 1 over"),
    };
}

}  // namespace

std::vector<std::string> step_names() {
    std::vector<std::string> names;
    for (const attn::Step& step : attn::step_table()) names.push_back(step.name);
    return names;
}

std::vector<std::string> mistake_ids() {
    std::vector<std::string> ids;
    for (const attn::Mistake& mistake : attn::mistakes()) ids.push_back(mistake.id);
    return ids;
}

std::vector<std::string> shipped_models() { return {"stories", "sorter"}; }

const std::vector<Flag>& walk_flags() {
    static const std::vector<Flag> all = [] {
        std::vector<Flag> rows;
        for (const auto& part :
             {grouped("Input (one source; default: a sentence)", input_rows()),
              grouped("Model", model_rows()), grouped("Trained models", trained_rows()),
              grouped("Positions", position_rows()), grouped("Cache and sink", cache_rows()),
              grouped("Other forms of attention", variant_rows()),
              grouped("Rules", attention_rows()), grouped("Numbers", number_rows())}) {
            rows.insert(rows.end(), part.begin(), part.end());
        }
        return rows;
    }();
    return all;
}

}  // namespace app
