#include "attn/core/plan/attention_file.hpp"
#include "attn/core/settings/member.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

// Caches and sinks, other forms of attention, rules and attention files.

namespace attn {
namespace {

/// Sets the index of the layer; without text, 0.
void set_depth(WalkConfig& config, std::string_view called, const std::string& text) {
    config.differential.depth = text.empty() ? 0 : parse_integer(called, text, 0, 1000);
}

constexpr const char* ways[] = {"softmax", "sigmoid"};

void set_sink(WalkConfig& config, std::string_view called, const std::string& text) {
    if (text != "zero" && text != "randn") refuse_word(called, text, {"zero", "randn", "a file"});
    config.sink = parse_word<SinkLogit>(called, text);
}

void set_number(WalkConfig& config, std::string_view called, const std::string& text) {
    const std::size_t at = text.find('=');
    if (at == 0 || at == text.npos) {
        throw ConfigError(std::string(called) + " takes a name and its number, chunk=3, not " +
                          text);
    }
    config.attention_settings.emplace_back(text.substr(0, at),
                                           parse_number(called, text.substr(at + 1)));
}

/// Formats a list for a record; an empty one is omitted.
std::string list_json(const std::vector<std::string>& all) {
    return all.empty() ? std::string() : json_list(all);
}

void set_weights_by(WalkConfig& config, std::string_view, const std::string& text) {
    config.sigmoid = text == ways[1];
}

std::string weights_by(const WalkConfig& config) { return ways[config.sigmoid ? 1 : 0]; }

void set_attention(WalkConfig& config, std::string_view called, const std::string& text) {
    const std::string shipped = shipped_attention(text);
    if (shipped.empty()) refuse_word(called, text, shipped_attention_names());
    config.attentions.push_back(
        std::make_shared<const AttentionFile>(parse_attention(shipped, text)));
}

std::string attentions_json(const Plan& plan) {
    std::vector<std::string> all;
    for (const auto& file : plan.config.attentions) {
        const bool is_shipped = shipped_attention(file->name) == file->text;
        all.push_back(is_shipped ? file->name : file->text);
    }
    return list_json(all);
}

void set_form(WalkConfig& config, std::string_view, const std::string& text) { config.form = text; }
std::string form_text(const WalkConfig& config) { return config.form; }
std::string form_json(const Plan& plan) {
    const std::string& form = plan.config.form;
    return form.empty() ? form : json_string(form);
}

std::string numbers_json(const Plan& plan) {
    std::vector<std::string> all;
    for (const auto& [name, value] : plan.config.attention_settings) {
        all.push_back(name + "=" + json_number(value));
    }
    return list_json(all);
}

}  // namespace

std::vector<Setting> cache_settings() {
    const auto set_past = [](WalkConfig& config, std::string_view called, const std::string& text) {
        config.past = parse_integer(called, text, 1, 1'000'000'000);
    };
    return {
        taking(own_setting("sink", set_sink,
                           [](const WalkConfig& config) { return text_of(config.sink); }),
               such_as("zero randn"), "none"),
        taking(own_setting(
                   "past", set_past, [](const WalkConfig& config) { return text_of(config.past); },
                   [](const Plan& plan) { return std::to_string(plan.past_len); }),
               {}, "0"),
        member_setting<&WalkConfig::prefill>("prefill"),
    };
}

std::vector<Setting> variant_settings() {
    Setting depth =
        taking(member_setting<&WalkConfig::differential, &Differential::depth>("differential"),
               {Takes::Kind::integer, 0, 1000});
    depth.takes.or_nothing = true;
    depth.set = set_depth;
    Setting by = own_setting("weights-by", set_weights_by, weights_by);
    Setting rule = record_setting("rule", "rules",
                                  [](const Plan& plan) { return list_json(plan.config.rules); });
    rule.set = [](WalkConfig& config, std::string_view, const std::string& text) {
        config.rules.push_back(text);
    };
    Setting attention = record_setting("attention", "attentions", attentions_json);
    attention.set = set_attention;
    Setting form = own_setting("form", set_form, form_text, form_json);
    Setting number = record_setting("set", "settings", numbers_json);
    number.set = set_number;
    return {depth,
            member_setting<&WalkConfig::latent, &Latent::rank>("mla"),
            member_setting<&WalkConfig::latent, &Latent::query_rank>("mla-query-rank"),
            member_setting<&WalkConfig::latent, &Latent::absorbed>("mla-absorbed"),
            taking(by, one_of("softmax sigmoid"), ways[0]),
            member_setting<&WalkConfig::dropout, &Dropout::p>("dropout"),
            taking(member_setting<&WalkConfig::dropout, &Dropout::seed>("dropout-seed",
                                                                        "as $seed"_message),
                   {}),
            member_setting<&WalkConfig::dropout, &Dropout::place>("dropout-place"),
            rule,
            taking(attention, such_as(shipped_attention_names)),
            taking(form, such_as("parallel recurrent chunked"), "the first of its file"),
            number,
            taking(member_setting<&WalkConfig::model_file>("model-file"), {Takes::Kind::file}),
            member_setting<&WalkConfig::x_norm>("x-norm", "none"),
            member_setting<&WalkConfig::x_norm_eps>("x-norm-eps")};
}

}  // namespace attn
