
#include <algorithm>
#include <array>

#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/models/contributions.hpp"
#include "attn/models/open_model.hpp"
#include "attn/render/page/page_files.hpp"
#include "attn/render/render.hpp"
#include "attn/text/json.hpp"

namespace app {
namespace {

constexpr std::array inputs{"--text", "--ids", "--seq-len"};

/// A flag that has a field on a live page; what an empty field says where a model decides, nothing
/// where such a page has no field for it.
struct Knob {
    std::string_view name;
    const char* with_model = "";
};
constexpr auto of_the_model = "the model's";
constexpr Knob knobs[]{{"--text"},
                       {"--ids"},
                       {"--seq-len"},
                       {"--layer"},
                       {"--heads"},
                       {"--mask", of_the_model},
                       {"--scale", of_the_model},
                       {"--seed"},
                       {"--variant"},
                       {"--rope", of_the_model},
                       {"--position-embedding", nullptr},
                       {"--position-bias", of_the_model},
                       {"--softcap", of_the_model},
                       {"--bug"},
                       {"--rule"}};

/// What a live page cannot do.
struct Refusal {
    std::string_view flag, reason;
    std::string_view but_for{};  ///< what it can do
};
constexpr std::array refusals{
    Refusal{"--html-compare", "--live has one walk on its page: leave --html-compare out"},
    Refusal{"--hide-mistake", "--live shows which mistake is made: leave --hide-mistake out"},
    Refusal{"--notebook",
            "--live takes flags alone: attn-explain notebook --as-flags prints those of "
            "--notebook"},
    Refusal{"--model-file",
            "--live has stories on its page and no other model: pass --model-file stories, or "
            "leave it out",
            "stories"}};

/// Whether the page has a field for it: of the inputs for the one that is said, by default a text.
bool is_knob(const Arguments& arguments, const std::string& name) {
    const auto knob = std::ranges::find(knobs, name, &Knob::name);
    const bool has_model = arguments.has("--model-file");
    if (knob == std::end(knobs) || arguments.all(name).size() > 1) return false;
    if (has_model ? knob->with_model == nullptr : name == "--layer") return false;
    const Flag& flag = *arguments.find(name);
    if (has_model && (flag.is(of_model) || flag.is(of_draws))) return false;
    if (std::ranges::find(inputs, name) == inputs.end() || arguments.has(name)) return true;
    const bool is_drawn = arguments.has("--batch") || arguments.has("--embed-dim");
    return name == inputs.front() && !arguments.has(says_x) && !arguments.has("--seq-len") &&
           !is_drawn;
}

std::string knob_json(const Arguments& arguments, const Flag& flag) {
    const Takes& takes = flag.takes;
    const bool counts = takes.kind == Takes::Kind::integer || takes.kind == Takes::Kind::number;
    const bool is_long = flag.name == "--text" || flag.name == "--rule";
    const char* kind = counts ? "number" : is_long ? "text" : "word";
    if (takes.only_these && takes.kind == Takes::Kind::word) kind = "choice";
    std::string usual = flag.name == "--text" ? default_sentence : flag.usual;
    if (arguments.has("--model-file")) {
        const std::string decided = std::ranges::find(knobs, flag.name, &Knob::name)->with_model;
        if (!decided.empty()) usual = decided;
    }
    std::string json = "{\"name\":" + attn::json_string(flag.name) +
                       ",\"help\":" + attn::json_string(flag.help) + ",\"takes\":\"" + kind +
                       "\",\"choices\":" +
                       attn::json_list(takes.words ? takes.words() : std::vector<std::string>()) +
                       ",\"usual\":" + attn::json_string(usual);
    if (arguments.has(flag.name))
        json += ",\"said\":" + attn::json_string(arguments.text(flag.name));
    return json + "}";
}

/// What the model of the flags writes behind their text: the likeliest tokens, and what each part
/// of it adds to their logits.
std::string next_json(const Arguments& arguments) {
    constexpr std::size_t shown = 6;
    const attn::models::Model model = model_of(arguments);
    const std::vector<std::int64_t> ids = prompt_of(arguments, model);
    const attn::models::NextTokens next(model, nullptr, ids);
    std::string json;
    for (const std::int64_t id : next.likeliest(shown)) {
        const attn::models::NextToken token = next.of(id);
        json += std::string(json.empty() ? "[" : ",\n") + "{\"id\":" + std::to_string(id) +
                ",\"token\":" + attn::json_string(model.tokenizer->label(id)) +
                ",\"piece\":" + attn::json_string(model.tokenizer->piece(id, ids.back())) +
                ",\"probability\":" + attn::json_number(token.probability) +
                ",\"logit\":" + attn::json_number(token.logit) + ",\"parts\":{";
        for (const attn::models::Contribution& part : token.parts) {
            json += (&part == token.parts.data() ? "" : ",") + attn::json_string(part.part) + ":" +
                    attn::json_number(part.logit);
        }
        json += "}}";
    }
    return json + "]";
}

/// Whether a flag says where the walk goes, not what it is.
bool is_apart(const Flag& flag) {
    return flag.never_in_files || flag.is(of_output) || flag.is_positional() ||
           flag.name == "--preset";
}

/// The flags that the page can turn, and the words of all others. A page of a model asks its core
/// for what comes next too, as only live pages do.
std::string knobs_json(const Arguments& arguments) {
    std::vector<std::string> words{"--format=html"};
    if (arguments.has("--model-file")) words.emplace_back("--live");
    for (const auto& [flag, text, implied] : arguments.said()) {
        if (is_apart(*flag) || is_knob(arguments, flag->name)) continue;
        words.push_back(text.empty() ? flag->name : flag->name + "=" + text);
    }
    std::string fields;
    for (const Knob& knob : knobs) {
        const std::string name(knob.name);
        if (!is_knob(arguments, name)) continue;
        fields += (fields.empty() ? "" : ",\n") + knob_json(arguments, *arguments.find(name));
    }
    return "{\"words\":" + attn::json_list(words) + ",\n\"knobs\":[" + fields + "]}";
}

}  // namespace

Flag live_flag() {
    return Flag{"--live", "",
                "lay the program's core beside the page of --format html: words, mask, scale, "
                "positions and mistakes become fields, and each change walks again"}
        .in_group("Output")
        .typed_only()
        .needing({[](const Arguments& said) { return format_of(said).answers; }, nullptr,
                  "--format html"});
}

bool is_live(const Arguments& arguments) {
    return arguments.has("--live") && format_of(arguments).answers;
}

Arguments as_live(const Arguments& arguments) {
    for (const auto& [flag, text, implied] : arguments.said()) {
        const auto refusal = std::ranges::find(refusals, flag->name, &Refusal::flag);
        if (refusal != refusals.end()) {
            if (!text.empty() && text == refusal->but_for) continue;
            throw attn::ConfigError(std::string(refusal->reason));
        }
        const bool is_file = flag->takes.kind == Takes::Kind::file || names_a_file(text);
        if (!is_apart(*flag) && flag->may_name_file() && is_file) {
            throw attn::ConfigError("--live has no files on its page: leave " + flag->name +
                                    " out, or make the page without --live");
        }
    }
    return arguments.has("--variant") ? arguments : with_flags(arguments, {"--variant=loop"});
}

std::vector<std::pair<std::string, std::string>> live_scripts(const Arguments& arguments) {
    std::vector<std::pair<std::string, std::string>> scripts{
        {"knobs", knobs_json(arguments)}, {"core", attn::as_letters(attn::page_core)}};
    if (arguments.has("--model-file")) {
        scripts.emplace_back("next", next_json(arguments));
        scripts.emplace_back("model", attn::as_letters(attn::models::packed_stories()));
    }
    return scripts;
}

}  // namespace app
