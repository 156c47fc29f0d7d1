
#include <algorithm>
#include <array>
#include <optional>

#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/core/plan/example_file.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/models/contributions.hpp"
#include "attn/models/model_mistakes.hpp"
#include "attn/models/open_model.hpp"
#include "attn/show/render/page/page_files.hpp"

namespace app {
namespace {

constexpr std::array<Name, 3> inputs{flags::text, flags::ids, flags::seq_len};

/// A flag with a field on a live page, and the placeholder of the field if a model decides it;
/// nullopt if pages of a model have no such field.
struct Knob {
    Name name;
    const char* with_model = "";
};
constexpr auto of_the_model = "the model's";
constexpr Knob knobs[]{{flags::text},
                       {flags::ids},
                       {flags::seq_len},
                       {flags::layer},
                       {flags::heads},
                       {flags::mask, of_the_model},
                       {flags::scale, of_the_model},
                       {flags::seed},
                       {flags::variant},
                       {flags::rope, of_the_model},
                       {flags::position_embedding, nullptr},
                       {flags::position_bias, of_the_model},
                       {flags::softcap, of_the_model},
                       {flags::bugs},
                       {flags::rules}};

/// Flags that live pages refuse.
struct Refusal {
    Name flag;
    std::string_view reason, but_for{};  ///< its abilities
};
constexpr std::array refusals{
    Refusal{flags::html_compare, "--live shows one walk on a page: leave --html-compare out"},
    Refusal{flags::hide_mistake, "--live shows which mistake is made: leave --hide-mistake out"},
    Refusal{flags::notebook,
            "--live takes only flags: attn-explain notebook --as-flags prints those of --notebook"},
    Refusal{flags::model_file,
            "--live supports no model except stories: pass --model-file stories, or leave it out",
            "stories"}};

/// Returns the field of the flag, if the page has one; for inputs, the field of the given one, by
/// default the text.
const Knob* knob_of(const Arguments& arguments, const Flag& flag) {
    const auto is_it = [&](const auto& each) { return flag.is(each); };
    const auto* knob = std::ranges::find_if(knobs, is_it, &Knob::name);
    const bool has_model = arguments.has(flags::model_file);
    if (knob == std::end(knobs) || arguments.all(flag).size() > 1) return nullptr;
    if (has_model ? knob->with_model == nullptr : flag.is(flags::layer)) return nullptr;
    if (has_model && (flag.is(of_model) || flag.is(of_draws))) return nullptr;
    if (std::ranges::none_of(inputs, is_it) || arguments.has(flag)) return knob;
    const bool is_drawn = arguments.has_any({flags::batch, flags::embed_dim, flags::seq_len}) ||
                          arguments.has(sets_x);
    return flag.is(flags::text) && !is_drawn ? knob : nullptr;
}

attn::JsonText knob_json(const Arguments& arguments, const Flag& flag, const Knob& knob) {
    const Takes& takes = flag.takes;
    const bool counts = takes.kind == Takes::Kind::integer || takes.kind == Takes::Kind::number;
    const bool is_long = flag.is(flags::text) || flag.is(flags::rules);
    const char* kind = counts ? "number" : is_long ? "text" : "word";
    if (takes.only_these && takes.kind == Takes::Kind::word) kind = "choice";
    std::string default_value = flag.is(flags::text) ? default_sentence : flag.default_value;
    if (arguments.has(flags::model_file) && *knob.with_model != 0) default_value = knob.with_model;
    const attn::JsonText json({{"name", flag.name},
                               {"help", flag.help},
                               {"takes", kind},
                               {"choices", takes.words()},
                               {"default", default_value}},
                              ",");
    return arguments.has(flag) ? json.with("value", arguments.text(flag), ",") : json;
}

/// Returns the mistake of the flags if every layer of the model can make it.
std::optional<attn::models::ModelMistake> mistake_in(const Arguments& arguments,
                                                     const attn::models::Model& model) {
    const std::vector<std::string>& bugs = arguments[flags::bugs];
    const bool is_entry =
        bugs.size() == 1 && std::ranges::count(attn::mistakes(), bugs[0], &attn::Mistake::id) > 0;
    if (!is_entry) return std::nullopt;  // numbered mistakes belong to one layer
    attn::models::ModelMistake mistake = attn::models::find_model_mistake(bugs[0]);
    if (!mistake.why_not(model).empty()) return std::nullopt;
    return mistake;
}

/// Returns the next words of the model after the text: the likeliest tokens, the contribution of
/// each part to their logits, and the mistake of every layer.
attn::JsonText next_json(const Arguments& arguments, std::size_t shown) {
    const attn::models::Model model = model_of(arguments);
    const std::vector<std::int64_t> ids = prompt_of(arguments, model);
    const std::optional<attn::models::ModelMistake> mistake = mistake_in(arguments, model);
    const attn::models::NextTokens next(model, mistake ? &*mistake : nullptr, ids);
    std::vector<attn::JsonText> tokens;
    for (const std::int64_t id : next.likeliest(shown)) {
        const attn::models::NextToken token = next.of(id);
        attn::JsonText parts({{token.parts[0].part, token.parts[0].logit}}, ",");
        for (std::size_t i = 1; i < token.parts.size(); ++i) {
            parts = parts.with(token.parts[i].part, token.parts[i].logit, ",");
        }
        const auto& tokenizer = *model.tokenizer;
        tokens.push_back({{{"id", id},
                           {"token", tokenizer.label(id)},
                           {"piece", tokenizer.piece(id, ids.back())},
                           {"probability", token.probability},
                           {"logit", token.logit},
                           {"parts", parts}},
                          ","});
        if (mistake) tokens.back() = tokens.back().with("bug", mistake->id, ",");
    }
    return {tokens, ",\n"};
}

/// True if a flag sets the output of the walk, not the walk.
bool is_separate(const Flag& flag) {
    return flag.never_in_files || flag.is(of_output) || flag.is_positional() ||
           flag.is(flags::preset);
}

/// Returns the flags that the page can change, and the words of all others. A page of a model also
/// requests the next token, as only live pages do.
attn::JsonText knobs_json(const Arguments& arguments) {
    std::vector<std::string> words{"--format=html"};
    if (arguments.has(flags::model_file)) words.emplace_back("--live");
    for (const auto& [flag, text, implied] : arguments.specified()) {
        if (is_separate(*flag) || knob_of(arguments, *flag) != nullptr) continue;
        // The core has no files, and no shipped examples.
        const std::string specified = flag->is(flags::example) ? example_of(text)->text : text;
        words.push_back(specified.empty() ? flag->name : flag->name + "=" + specified);
    }
    std::vector<attn::JsonText> fields;
    for (const Knob& each : knobs) {
        const Flag& flag = *arguments.find(each.name);
        const Knob* knob = knob_of(arguments, flag);
        if (knob != nullptr) fields.push_back(knob_json(arguments, flag, *knob));
    }
    return {{{"words", words}, {"flag", std::string(flags::live)}, {"knobs", {fields, ",\n"}}},
            ",\n"};
}

}  // namespace

Flag live_flag() {
    return Flag{flags::live, "",
                "embed the program itself in the HTML page: words, mask, scale, positions and "
                "mistakes become fields, and each change recomputes everything"}
        .in_group("Output")
        .typed_only()
        .needing({[](const Arguments& specified) { return format_of(specified).answers; },
                  "--format html"});
}

bool is_live(const Arguments& arguments) {
    return arguments.has(flags::live) && format_of(arguments).answers;
}

Arguments as_live(const Arguments& arguments) {
    for (const auto& [flag, text, implied] : arguments.specified()) {
        const auto refusal = std::ranges::find(refusals, flag->name,
                                               [](const Refusal& each) { return each.flag.text; });
        if (refusal != refusals.end()) {
            if (!text.empty() && text == refusal->but_for) continue;
            throw attn::ConfigError(std::string(refusal->reason));
        }
        const bool is_file = flag->takes.kind == Takes::Kind::file || names_a_file(text);
        const bool is_read = is_separate(*flag) || flag->is(flags::example);
        if (!is_read && flag->may_name_file() && is_file) {
            throw attn::ConfigError("--live supports no files: leave " + flag->name +
                                    " out, or make the page without --live");
        }
    }
    return arguments.has(flags::variant) ? arguments : with_flags(arguments, {"--variant=loop"});
}

std::vector<std::pair<std::string, std::string>> live_scripts(const Arguments& arguments) {
    // The core of a live page has neither: the page around it has both.
    if (attn::page_core.empty() && !attn::page_js.empty()) {
        throw attn::ConfigError("a page cannot write live pages: run attn-explain itself");
    }
    std::vector<std::pair<std::string, std::string>> scripts{
        {"knobs", knobs_json(arguments).text}, {"core", attn::as_letters(attn::page_core)}};
    if (arguments.has(flags::model_file)) {
        scripts.emplace_back("model", attn::as_letters(attn::models::packed_stories()));
    }
    return scripts;
}

std::string next_words(const Arguments& arguments) {
    const bool continues = arguments.has(flags::model_file) &&
                           (arguments.has(flags::text) || arguments.has(flags::ids));
    return continues ? next_json(arguments, is_live(arguments) ? 6 : 1).text : "";
}

}  // namespace app
