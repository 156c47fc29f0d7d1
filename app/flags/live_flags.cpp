
#include <algorithm>
#include <array>

#include "app/flags/output_flags.hpp"
#include "app/flags/parse.hpp"
#include "app/flags/walk_flags.hpp"
#include "attn/text/json.hpp"

namespace app {
namespace {

constexpr std::array inputs{"--text", "--ids", "--seq-len"};
constexpr std::array knobs{
    "--text",          "--ids",     "--seq-len", "--heads", "--mask",
    "--scale",         "--seed",    "--variant", "--rope",  "--position-embedding",
    "--position-bias", "--softcap", "--bug",     "--rule"};

/// What a live page cannot do.
struct Refusal {
    std::string_view flag, reason;
};
constexpr std::array refusals{
    Refusal{"--html-compare", "--live has one walk on its page: leave --html-compare out"},
    Refusal{"--hide-mistake", "--live shows which mistake is made: leave --hide-mistake out"},
    Refusal{"--notebook",
            "--live takes flags alone: attn-explain notebook --as-flags prints those of "
            "--notebook"},
    Refusal{"--model-file", "--live has no trained model on its page: leave --model-file out"}};

/// Whether the page has a field for it: of the inputs for the one that is said, by default a text.
bool is_knob(const Arguments& arguments, const std::string& name) {
    if (std::ranges::find(knobs, name) == knobs.end()) return false;
    if (arguments.all(name).size() > 1) return false;
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
    const std::string usual = flag.name == "--text" ? default_sentence : flag.usual;
    std::string json = "{\"name\":" + attn::json_string(flag.name) +
                       ",\"help\":" + attn::json_string(flag.help) + ",\"takes\":\"" + kind +
                       "\",\"choices\":" +
                       attn::json_list(takes.words ? takes.words() : std::vector<std::string>()) +
                       ",\"usual\":" + attn::json_string(usual);
    if (arguments.has(flag.name))
        json += ",\"said\":" + attn::json_string(arguments.text(flag.name));
    return json + "}";
}

/// Whether a flag says where the walk goes, not what it is.
bool is_apart(const Flag& flag) {
    return flag.never_in_files || flag.is(of_output) || flag.is_positional() ||
           flag.name == "--preset";
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
        if (refusal != refusals.end()) throw attn::ConfigError(std::string(refusal->reason));
        const bool is_file = flag->takes.kind == Takes::Kind::file || names_a_file(text);
        if (!is_apart(*flag) && flag->may_name_file() && is_file) {
            throw attn::ConfigError("--live has no files on its page: leave " + flag->name +
                                    " out, or make the page without --live");
        }
    }
    return arguments.has("--variant") ? arguments : with_flags(arguments, {"--variant=loop"});
}

std::string knobs_json(const Arguments& arguments) {
    std::vector<std::string> words{"--format=html"};
    for (const auto& [flag, text, implied] : arguments.said()) {
        if (is_apart(*flag) || is_knob(arguments, flag->name)) continue;
        words.push_back(text.empty() ? flag->name : flag->name + "=" + text);
    }
    std::string fields;
    for (const std::string name : knobs) {
        if (!is_knob(arguments, name)) continue;
        fields += (fields.empty() ? "" : ",\n") + knob_json(arguments, *arguments.find(name));
    }
    return "{\"words\":" + attn::json_list(words) + ",\n\"knobs\":[" + fields + "]}";
}

}  // namespace app
