#include <algorithm>
#include <set>

#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/settings/member.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

// Heads, projections, and operations on scores: mask, scale, cap, softmax.

namespace attn {
namespace {

void set_init(WalkConfig& config, std::string_view called, const std::string& text) {
    const std::vector<std::string> names = split(text, ',');
    if (names.size() != 1 && names.size() != 3) {
        throw ConfigError(std::string(called) + " takes one word, or three for q,k,v, not '" +
                          text + "'");
    }
    config.init.emplace();
    for (std::size_t i = 0; i < 3; ++i) {
        (*config.init)[i] = parse_word<Init>(called, names[names.size() == 1 ? 0 : i]);
    }
}

std::vector<std::string> init_words(const WalkConfig& config) {
    std::vector<std::string> all;
    for (const Init init : *config.init) all.emplace_back(word(init));
    return all;
}

std::string init_text(const WalkConfig& config) {
    if (!config.init) return {};
    const std::vector<std::string> three = init_words(config);
    const bool alike = three[0] == three[1] && three[1] == three[2];
    return alike ? three[0] : joined(three, ",");
}

std::string init_json(const Plan& plan) { return json_list(init_words(plan.config)); }

std::string layer_json(const Plan& plan) {
    const WalkConfig& config = plan.config;
    const bool layered = !config.model.empty() || !config.model_file.empty();
    return record_of(layered ? std::to_string(config.layer) : "", true);
}

using By = ScaleChoice::By;

void set_scale(WalkConfig& config, std::string_view called, const std::string& text) {
    for (const auto& [word, by] : words<By>) {
        if (word == text) {
            config.scale = {by, 1};
            return;
        }
    }
    if (text.find_first_of("0123456789") == std::string::npos) {
        refuse_word(called, text, {"head-dim", "embed-dim", "none", "a factor"});
    }
    config.scale = {By::number, parse_number(called, text)};
}

std::string scale_text(const WalkConfig& config) {
    return config.scale.by == By::number ? json_number(config.scale.number)
                                         : std::string(word(config.scale.by));
}

std::string scale_json(const Plan& plan) {
    const std::string text = scale_text(plan.config);
    if (plan.config.scale.by != By::number) return record_of(text);
    return text.find_first_not_of("-0123456789") == text.npos ? text + ".0" : text;
}

/// Returns the kinds of mask that are selected by a word, those without numbers first.
std::vector<const MaskKind*> offered_masks() {
    std::vector<const MaskKind*> kinds;
    for (const bool has_numbers : {false, true}) {
        for (const MaskKind& kind : mask_kinds()) {
            const bool is_due = (kind.numbers != nullptr) == has_numbers;
            if (is_due && kind.choose != nullptr) kinds.push_back(&kind);
        }
    }
    return kinds;
}

std::vector<std::string> mask_examples() {
    std::vector<std::string> plain{"none"}, numbered{"causal,padding", "causal,window:4"};
    for (const MaskKind* kind : offered_masks()) {
        (kind->numbers ? numbered : plain).emplace_back(kind->such_as);
    }
    plain.insert(plain.end(), numbered.begin(), numbered.end());
    return plain;
}

/// Selects a kind of mask by its word, with its numbers.
void set_mask_kind(MaskChoice& mask, std::string_view called, const std::string& text) {
    const std::string word = before(text, ':');
    for (const MaskKind& kind : mask_kinds()) {
        const bool has_numbers = word.size() != text.size();
        const bool takes_numbers = kind.numbers != nullptr;
        if (kind.word != word || kind.choose == nullptr || has_numbers != takes_numbers) continue;
        std::vector<std::int64_t> numbers;
        const bool is_list = kind.between == '+';
        const auto count = static_cast<std::size_t>(std::ranges::count(kind.such_as, kind.between));
        const std::vector<std::string> all = has_numbers
                                                 ? split(text.substr(word.size() + 1), kind.between)
                                                 : std::vector<std::string>();
        const std::string named = std::string(called) + " " + word;
        for (const std::string& number : all) {
            numbers.push_back(parse_integer(named, number, kind.least, 1'000'000'000));
        }
        if (is_list || numbers.size() == count) return kind.choose(mask, numbers);
        throw ConfigError(named + " takes " + std::to_string(count) + " numbers, as in " +
                          std::string(kind.such_as));
    }
    std::vector<std::string> all{"none"};
    for (const MaskKind* kind : offered_masks()) all.emplace_back(kind->such_as);
    all.emplace_back("several, separated by commas");
    refuse_word(called, text, all);
}

void set_mask(WalkConfig& config, std::string_view called, const std::string& text) {
    MaskChoice mask;
    mask.given = std::move(config.mask.given);
    config.mask = std::move(mask);
    if (text == "none") return;
    std::set<std::string> kinds;
    for (const std::string& kind : split(text, ',')) {
        set_mask_kind(config.mask, called, kind);
        if (kinds.insert(before(kind, ':')).second) continue;
        throw ConfigError(std::string(called) + " says " + before(kind, ':') +
                          " twice: leave one out");
    }
}

std::string masks_text(const WalkConfig& config) {
    std::vector<std::string> all;
    for (const MaskKind& kind : mask_kinds()) {
        if (kind.chosen(config.mask)) all.push_back(mask_text(kind, config.mask));
    }
    return joined(all, ",");
}

}  // namespace

std::string mask_help() {
    std::string text = "cells that are hidden: none, ";
    for (const MaskKind* kind : offered_masks()) {
        text += std::string(kind->such_as);
        text += kind->help.empty() ? ", " : " (" + std::string(kind->help) + "), ";
    }
    return text + "or several: causal,padding or causal,window:4";
}

std::vector<Setting> model_settings() {
    Setting no_merge{"no-merge"};
    no_merge.alone = true;
    no_merge.set = [](WalkConfig& config, std::string_view, const std::string&) {
        config.merge = false;
    };
    return {
        member_setting<&WalkConfig::embed_dim>("embed-dim", "heads x head-dim"),
        member_setting<&WalkConfig::heads>("heads"),
        member_setting<&WalkConfig::kv_heads>("kv-heads", "heads"),
        member_setting<&WalkConfig::head_dim>("head-dim", "embed-dim / heads, or 4"),
        member_setting<&WalkConfig::value_dim>("value-dim", "head-dim"),
        member_setting<&WalkConfig::output_dim>("output-dim", "embed-dim"),
        member_setting<&WalkConfig::projection>("projection"),
        taking(own_setting("init", set_init, init_text, init_json), some_of(words_of<Init>),
               "linear; NumPy: normal"),
        member_setting<&WalkConfig::bias>("bias"),
        member_setting<&WalkConfig::draw_order>("draw-order"),
        member_setting<&WalkConfig::weight_layout>("weight-layout", "out-in; NumPy: in-out"),
        member_setting<&WalkConfig::output_projection>("output-projection"),
        member_setting<&WalkConfig::output_bias>("output-bias"),
        member_setting<&WalkConfig::merge>("merge"),
        no_merge,
        taking(member_setting<&WalkConfig::weights_file>("weights"), {Takes::Kind::file}),
        record_setting("model", "model",
                       [](const Plan& plan) { return record_of(plan.config.model); }),
        record_setting("layer", "layer", layer_json),
        taking(own_setting("mask", set_mask, masks_text), such_as(mask_examples), "none"),
        member_setting<&WalkConfig::causal_align>("causal-align"),
        member_setting<&WalkConfig::empty_row>("empty-row"),
        taking(own_setting("scale", set_scale, scale_text, scale_json), such_as(words_of<By>),
               "head-dim"),
        member_setting<&WalkConfig::softcap>("softcap"),
        member_setting<&WalkConfig::softmax_axis>("softmax-axis"),
    };
}

}  // namespace attn
