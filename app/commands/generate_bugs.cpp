#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "app/commands/written_text.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/model_mistakes.hpp"

namespace app {

using attn::models::Model;
using attn::models::ModelMistake;
using attn::models::Parameters;
using attn::models::Parting;

namespace {

/// The text of a model with a mistake, and where it and the numbers part from the right ones.
struct Compared {
    const ModelMistake* mistake;
    WrittenText written;
    std::optional<std::size_t> first_other;  ///< place of the first token that differs
    std::optional<Parting> parting;
    std::vector<std::string> same;  ///< mistakes that are this one in such a model
};

/// The output of a layer for the same tokens with each mistake.
using Samples = std::map<std::string, std::vector<double>>;

Samples samples_of(const Parameters<double>& parameters) {
    Samples samples;
    for (const ModelMistake& mistake : attn::models::model_mistakes()) {
        std::vector<double> sample = attn::models::sample_of(parameters, &mistake);
        if (!sample.empty()) samples[mistake.id] = std::move(sample);
    }
    return samples;
}

/// The text of a model as it was trained, and what its mistakes are compared with.
struct Right {
    const Model& model;
    Writer writer;
    std::shared_ptr<const Parameters<double>> parameters = writer.precise();
    WrittenText written = writer.write();
    std::vector<double> sample = attn::models::sample_of(*parameters, nullptr);
    Samples samples = samples_of(*parameters);
};

bool are_alike(const std::vector<double>& one, const std::vector<double>& other) {
    return std::ranges::equal(one, other, [](double a, double b) {
        return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(a));
    });
}

/// The other mistakes of the table that are this one in such a model; none where it changes
/// nothing.
std::vector<std::string> same_mistakes(const Right& right, const ModelMistake& mistake) {
    const std::vector<double> sample = attn::models::sample_of(*right.parameters, &mistake);
    std::vector<std::string> same;
    if (are_alike(sample, right.sample)) return same;
    for (const ModelMistake& other : attn::models::model_mistakes()) {
        const auto found = right.samples.find(other.id);
        if (other.id == mistake.id || found == right.samples.end()) continue;
        if (are_alike(sample, found->second)) same.push_back(other.id);
    }
    return same;
}

Compared compare_with(const Right& right, const ModelMistake& mistake) {
    Compared compared{
        &mistake, right.writer.write(&mistake), {}, {}, same_mistakes(right, mistake)};
    const TokenIds ids = right.written.ids();
    const TokenIds others = compared.written.ids();
    const auto parted = std::mismatch(ids.begin(), ids.end(), others.begin(), others.end()).first;
    if (ids != others) compared.first_other = static_cast<std::size_t>(parted - ids.begin());
    TokenIds read = right.written.prompt;
    read.insert(read.end(), ids.begin(), parted);
    compared.parting = first_parting(right.parameters, &mistake, read, right.written.prompt.size());
    return compared;
}

std::string place_of(const Parting& parting) {
    std::string text = fmt::format("{} of layer {}", parting.step, parting.layer);
    if (parting.head) text += fmt::format(", head {}", *parting.head);
    return text + fmt::format(", at token {}", parting.token);
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
        text += fmt::format("# The texts part at token {}: {} where it should be {}.\n",
                            right.prompt.size() + *compared.first_other,
                            token_at(model, compared.written, *compared.first_other),
                            token_at(model, right, *compared.first_other));
    } else {
        text += fmt::format("# All {} tokens are the same.\n", right.tokens.size());
    }
    if (compared.parting) {
        text += fmt::format(
            "# The numbers part earlier, in {}: {:.6g} where it should be {:.6g}.\n",
            place_of(*compared.parting), compared.parting->wrong, compared.parting->right);
    } else {
        text += "# No number differs.\n";
    }
    for (const std::string& other : compared.same)
        text += "# " + other + " is the same mistake in this model.\n";
    return text +
           "# Fluent text is no test: a model can be run with a mistake and still write "
           "sentences. Compare numbers.\n";
}

attn::JsonText bug_json(const Model& model, const Compared& compared) {
    attn::JsonText json =
        attn::JsonText{{"id", compared.mistake->id}, {"title", compared.mistake->title.raw()}}.with(
            "first_difference", compared.first_other, ",\n ");
    if (compared.parting) {
        const auto& [token, layer, step, head, right, wrong] = *compared.parting;
        json = json.with("parting",
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

/// A line of --all-bugs, with the text from the first token on that differs.
std::string bug_line(const Model& model, const WrittenText& right, const Compared& compared,
                     std::size_t place_columns) {
    std::string token = "same";
    std::string text = "the same text";
    if (compared.first_other) {
        const TokenIds ids = compared.written.ids();
        const auto first = static_cast<std::ptrdiff_t>(*compared.first_other);
        token = std::to_string(right.prompt.size() + *compared.first_other);
        text = text_of_ids(model, {ids.begin() + std::min(first, std::ssize(ids)), ids.end()});
        text = text.substr(0, 32);
        std::replace(text.begin(), text.end(), '\n', ' ');
        text.resize(text.size() - unfinished(text));
        text = "..." + std::string(attn::trimmed("_" + text)).substr(1);
    }
    // The first of those that are one shows the text.
    const auto place_of_mistake = [](std::string_view id) {
        return std::ranges::find(attn::models::model_mistakes(), id, &ModelMistake::id);
    };
    if (!compared.same.empty() &&
        place_of_mistake(compared.same.front()) < place_of_mistake(compared.mistake->id)) {
        text = "same as " + compared.same.front();
    }
    return fmt::format("{:20}{:>5}  {:{}}  {}\n", compared.mistake->id, token,
                       compared.parting ? place_of(*compared.parting) : "nowhere", place_columns,
                       text);
}

/// All mistakes that such a model can have.
std::vector<Compared> all_bugs(const Right& right) {
    std::vector<Compared> all;
    for (const ModelMistake& mistake : attn::models::model_mistakes()) {
        if (mistake.why_not(right.model).empty()) all.push_back(compare_with(right, mistake));
    }
    return all;
}

std::string table_of_bugs(const Arguments& arguments, const Right& right) {
    // On a narrow terminal the texts are in lines of their own, each below its mistake.
    const std::size_t place = terminal_columns(arguments).value_or(110) < 110 ? 80 : 46;
    std::string text =
        fmt::format("# {}\n{:20}{:>5}  {:{}}  {}\n", whole_text(right.model, right.written),
                    "mistake", "token", "the numbers part in", place, "the text goes on");
    for (const Compared& compared : all_bugs(right)) {
        text += bug_line(right.model, right.written, compared, place);
    }
    return text;
}

void refuse(const Arguments& arguments, const Name& flag, const std::string& but) {
    if (!arguments.has(flag)) return;
    throw attn::ConfigError(std::string(flag) + " has no effect on texts with a mistake" + but +
                            ": leave it out");
}

}  // namespace

void generate_with_bugs(const Arguments& arguments, Model& model) {
    if (arguments.has(flags::bugs) && arguments.has(flags::all_bugs)) {
        throw attn::ConfigError("--all-bugs makes every mistake already: leave --bug out");
    }
    std::optional<ModelMistake> mistake;
    if (arguments.has(flags::bugs)) {
        mistake = attn::models::find_model_mistake(arguments[flags::bug], model);
    }
    const auto text = [&] {
        refuse(arguments, flags::likeliest, ", but for --json's");
        refuse(arguments, flags::no_notes, ", but for --json's");
        const Right right{model, Writer(arguments, model)};
        return mistake ? bug_text(model, right.written, compare_with(right, *mistake))
                       : table_of_bugs(arguments, right);
    };
    const auto json = [&] {
        refuse(arguments, flags::no_notes, "");
        const Right right{model, Writer(arguments, model)};
        const attn::JsonText head = with_text(json_head(model), model, right.written);
        if (mistake) {
            return head.with("bug", bug_json(model, compare_with(right, *mistake)), ",\n ").text;
        }
        std::vector<attn::JsonText> rows;
        for (const Compared& each : all_bugs(right)) rows.push_back(bug_json(model, each));
        return head.with("bugs", rows, ",\n ").text;
    };
    write_text_or_json(arguments, text, json);
}

}  // namespace app
