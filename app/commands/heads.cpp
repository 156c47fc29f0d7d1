#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/written_text.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/learn/notebooks/notebook.hpp"
#include "attn/models/branches.hpp"
#include "attn/models/contributions.hpp"
#include "attn/models/model_mistakes.hpp"
#include "attn/models/runtime.hpp"

namespace app {
namespace {

using attn::models::HeadFigures;
using attn::models::Model;

constexpr std::size_t least_tokens = 3;  // for figures

/// The figures of a head in JSON and in arrays.
constexpr std::pair<const char*, double HeadFigures::*> figures[] = {
    {"entropy", &HeadFigures::entropy},       {"evenness", &HeadFigures::evenness},
    {"distance", &HeadFigures::distance},     {"self", &HeadFigures::self},
    {"previous", &HeadFigures::previous},     {"first", &HeadFigures::first},
    {"first_lift", &HeadFigures::first_lift}, {"sink", &HeadFigures::sink}};

/// The name of a head for a table.
std::string name_in_table(const std::string& name, std::size_t tokens) {
    if (!name.empty()) return name;
    return tokens < least_tokens ? "unknown" : "mixed";
}

std::string table_of_heads(const Model& model, const std::vector<HeadFigures>& heads,
                           std::size_t tokens) {
    std::string text = fmt::format(
        "# {}: {} layers, {} heads each, over {} tokens\n"
        "# Means over the queries from the third token on: entropy of the weights in\n"
        "# bits, evenness (1: the same on all keys), distance in tokens, shares of the\n"
        "# weights on the token itself, the previous and the first one. lift: the\n"
        "# share of the first token divided by an even share, from the ninth query on;\n"
        "# less: one of tokens 1 to 8 gets more; none: there are fewer than 16 tokens. A\n"
        "# head is named after the tokens that get more than half of its weights, first\n"
        "# token also for a lift of 3; mixed: no such tokens.\n"
        "layer head entropy evenness distance itself previous  first   lift name\n",
        name_of(model), model.architecture.layers.size(), model.architecture.heads, tokens);
    for (const HeadFigures& head : heads) {
        text += fmt::format("{:5} {:4} {:7.3f} {:8.3f} {:8.2f} {:6.3f} {:8.3f} {:6.3f} {:>6}",
                            head.layer, head.head, head.entropy, head.evenness, head.distance,
                            head.self, head.previous, head.first,
                            head.first_lift > 0 ? fmt::format("{:.1f}", head.first_lift)
                            : tokens < 16       ? "none"
                                                : "less");
        text += " " + name_in_table(head.name, tokens) + "\n";
    }
    return text;
}

std::string json_of_heads(const Model& model, const std::vector<HeadFigures>& heads,
                          const std::vector<std::int64_t>& ids) {
    std::vector<attn::JsonText> rows;
    for (const HeadFigures& head : heads) {
        attn::JsonText& row =
            rows.emplace_back(attn::JsonText{{"layer", head.layer}, {"head", head.head}});
        for (const auto& [name, figure] : figures) row = row.with(name, head.*figure);
        row = row.with("name", head.name);
    }
    return json_of_model(model, {{"ids", ids}, {"heads", rows}}).text + "\n";
}

/// Builds a tensor with one number per head.
template <class Head, class Of>
attn::Tensor by_head(const std::vector<Head>& heads, Of of) {
    const std::size_t across = heads.back().head + 1;
    attn::Array<double> cells = attn::empty_array<double>({heads.size() / across, across});
    std::ranges::transform(
        heads, cells.data(), [](const auto& number) { return static_cast<double>(number); }, of);
    return {{"layer", "head"}, std::move(cells)};
}

std::vector<attn::NamedTensor> arrays_of_heads(const std::vector<HeadFigures>& heads,
                                               const TokenIds& ids) {
    std::vector<attn::NamedTensor> arrays{{"ids", array_of(ids)}};
    for (const auto& [name, figure] : figures) arrays.push_back({name, by_head(heads, figure)});
    return arrays;
}

/// Renders a table with layers as rows and heads as columns, each cell coloured by its number.
template <class Head, class Cell>
std::string page_by_head(const Arguments& arguments, const std::string& title,
                         const std::string& words, const std::vector<Head>& heads, Cell cell) {
    ColoredPage page{
        title, words, {}, [](std::size_t row) { return fmt::format("layer {}", row); }, {}};
    for (const Head& each : heads) {
        if (each.layer == 0) page.head.push_back(fmt::format("head {}", each.head));
        page.cells.push_back(cell(each));
        ColoredCell& result = page.cells.back();
        result.description =
            fmt::format("layer {}, head {}: {}", each.layer, each.head, result.description);
    }
    return page_with(page, command_line("heads", arguments));
}

/// The walk through one layer. If it has more than `room` cells, it keeps only the weights.
attn::Document walk_through(const Arguments& arguments, const ModelRun& run, std::size_t layer,
                            std::size_t& room) {
    const Arguments walk = walk_of_layer(arguments, layer);
    const auto [plan, table, ledger] = walk_of(walk, &run);
    attn::Document document = attn::document_of(plan, ledger, table);
    document.config = config_entries(walk, plan);
    document.command = command_line("", walk) + " --format html";
    std::size_t cells = 0;
    for (const attn::Ledger::Entry& entry : ledger.entries()) cells += entry.tensor.size();
    if (cells > room) {
        std::erase_if(document.sections,
                      [](const attn::Section& section) { return section.name != "weights"; });
        return document;
    }
    room -= cells;
    attn::add_rules(document, plan, table);
    attn::add_derivations(document, plan, table, ledger);
    return document;
}

std::string page_of_heads(const Arguments& arguments, const ModelRun& run,
                          const std::string& heads) {
    constexpr std::size_t most_cells = 500'000;  // about 10 MB
    std::size_t room = most_cells;
    attn::ModelPage page{command_line("heads", arguments), heads, {}};
    for (std::size_t layer = 0; layer < run.inputs.size(); ++layer) {
        page.layers.push_back(walk_through(arguments, run, layer, room));
    }
    // Numbers side by side are compared: print them without exponents.
    attn::FigureChoices choices;
    choices.options.sci_mode = attn::SciMode::off;
    std::string text;
    attn::render_model_html(page, choices, [&text](std::string_view piece) { text += piece; });
    return text;
}

std::string page_of_effects(const Arguments& arguments, const Model& model, const TokenIds& ids,
                            const attn::models::HeadEffects& found,
                            const std::vector<std::string>& names) {
    using attn::models::HeadEffect;
    double most = 0;
    for (const HeadEffect& head : found.heads) {
        most = std::max(most, std::abs(found.change(head)));
    }
    const auto cell = [&](const HeadEffect& head) {
        const std::string& name = names[static_cast<std::size_t>(&head - found.heads.data())];
        const double change = found.change(head);
        return ColoredCell{
            fmt::format("{:+.4f}", change), most > 0 ? change / most : 0,
            attn::ScaleKind::around_zero,
            fmt::format("{:.4f} without it{}", head.without, name.empty() ? "" : ", " + name),
            why_token_command(arguments, model,
                              {"next", found.id, {}, fmt::format("{}.{}", head.layer, head.head)})};
    };
    return page_by_head(
        arguments, "Effect of each head",
        if_left_out(model) +
            fmt::format(
                "The probability of {} after {} is {:.4f}. Each number is its change without that "
                "head; press it for the probability without the head, and for the head's name.",
                quoted(model, found.id), quoted(model, ids.back()), found.probability),
        found.heads, cell);
}

/// Returns the name of each head by its figures; empty if there are too few tokens for figures.
std::vector<std::string> names_of_heads(const Model& model, const TokenIds& ids,
                                        const std::vector<attn::models::Without>& without) {
    if (ids.size() < least_tokens) return {};
    const auto survey = attn::models::survey_heads(model, ids, without);
    return collected(survey.heads, &HeadFigures::name);
}

/// Formats the table of --effect: the heads whose removal changes the probability most first.
std::string effects_text(const Model& model, const TokenIds& ids,
                         const attn::models::HeadEffects& found,
                         const std::vector<std::string>& names) {
    std::vector<std::size_t> order(found.heads.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto change = [&](std::size_t n) { return found.change(found.heads[n]); };
    std::ranges::stable_sort(order, std::greater(),
                             [&](std::size_t n) { return std::abs(change(n)); });
    std::vector<std::vector<std::string>> rows{
        {"layer", "head", "what it does", "without it", "change"}};
    for (const std::size_t n : order) {
        const std::string& name = names[n];
        rows.push_back({fmt::format("{}", found.heads[n].layer),
                        fmt::format("{}", found.heads[n].head), name_in_table(name, ids.size()),
                        fmt::format("{:.4f}", found.heads[n].without),
                        fmt::format("{:+.4f}", change(n))});
    }
    return fmt::format("# {}: the probability of {} after {} is {:.4f}; without each head it is:\n",
                       name_of(model), quoted(model, found.id), quoted(model, ids.back()),
                       found.probability) +
           aligned(rows, 3) +
           "# leaving out a head changes the model; effects that other heads compensate for are "
           "not visible\n";
}

std::string effects_json(const Model& model, const TokenIds& ids,
                         const attn::models::HeadEffects& found,
                         const std::vector<std::string>& names) {
    std::vector<attn::JsonText> rows;
    for (std::size_t n = 0; n < found.heads.size(); ++n) {
        const attn::models::HeadEffect& head = found.heads[n];
        rows.push_back({{"layer", head.layer},
                        {"head", head.head},
                        {"name", names[n]},
                        {"without", head.without},
                        {"change", found.change(head)}});
    }
    return json_of_model(model, {{"ids", ids},
                                 {"id", found.id},
                                 {"probability", found.probability},
                                 {"heads", rows}})
        .text;
}

/// Writes the result of --effect.
void write_effects(const Arguments& arguments, const Model& model, const TokenIds& ids) {
    const auto without = without_of(arguments, model);
    const std::optional<std::string> token = arguments[flags::chosen];
    std::optional<std::int64_t> id;
    if (token) id = token_of(model, *token, "--token " + *token);
    const attn::models::HeadEffects found = attn::models::effects_of_heads(model, ids, id, without);
    std::vector<std::string> names = names_of_heads(model, ids, without);
    names.resize(found.heads.size());
    write_form(arguments,
               {.text = [&] { return effects_text(model, ids, found, names); },
                .json = [&] { return effects_json(model, ids, found, names); },
                .page = [&] { return page_of_effects(arguments, model, ids, found, names); },
                .arrays = [&]() -> std::vector<attn::NamedTensor> {
                    return {{"ids", array_of(ids)},
                            {"probability", {{}, attn::Array<double>(found.probability)}},
                            {"without", by_head(found.heads, &attn::models::HeadEffect::without)}};
                }});
}

/// Writes the table of --repeat.
void write_repeated(const Arguments& arguments, const Model& model) {
    const std::size_t count = *arguments[flags::repeat];
    const auto found =
        attn::models::survey_repeated(model, count, 42, without_of(arguments, model));
    const auto text = [&] {
        std::vector<std::vector<std::string>> rows{
            {"layer", "head", "induction", "duplicate", "name"}};
        for (const attn::models::RepeatFigures& head : found.heads) {
            rows.push_back({fmt::format("{}", head.layer), fmt::format("{}", head.head),
                            fmt::format("{:.3f}", head.induction),
                            fmt::format("{:.3f}", head.duplicate), head.name});
        }
        return fmt::format(
                   "# {}: {} random tokens, twice. Means over the second copy: the share of the\n"
                   "# weights on the token after the earlier occurrence of the current one\n"
                   "# (induction), and on that occurrence (duplicate). A head has a name if it is\n"
                   "# more than half.\n",
                   name_of(model), count) +
               aligned(rows, 5);
    };
    const auto json = [&] {
        const auto rows = collected(found.heads, [](const auto& head) -> attn::JsonText {
            return {{"layer", head.layer},
                    {"head", head.head},
                    {"induction", head.induction},
                    {"duplicate", head.duplicate},
                    {"name", head.name}};
        });
        return json_of_model(model, {{"ids", found.ids}, {"heads", rows}}).text;
    };
    using attn::models::RepeatFigures;
    const auto page = [&] {
        const std::string words =
            if_left_out(model) +
            fmt::format(
                "{} random tokens, twice: the share of each head's weights on the token after the "
                "earlier occurrence of the current one (induction). Press a number for its share "
                "on that occurrence.",
                count);
        const auto cell = [](const RepeatFigures& head) {
            return ColoredCell{fmt::format("{:.3f}", head.induction), head.induction,
                               attn::ScaleKind::from_zero,
                               fmt::format("duplicate {:.3f}{}", head.duplicate,
                                           head.name.empty() ? "" : ", " + head.name),
                               ""};
        };
        return page_by_head(arguments, "Heads on repeated tokens", words, found.heads, cell);
    };
    const auto arrays = [&]() -> std::vector<attn::NamedTensor> {
        return {{"ids", array_of(found.ids)},
                {"induction", by_head(found.heads, &RepeatFigures::induction)},
                {"duplicate", by_head(found.heads, &RepeatFigures::duplicate)}};
    };
    write_form(arguments, {text, json, page, arrays});
}

constexpr const char* default_text = "Once upon a time, there was a little girl named Lily.";

/// Adds a default text if the user gave the shipped model none.
Arguments with_text(Arguments arguments) {
    const bool is_shipped = std::ranges::count(shipped_models(), arguments[flags::model_file]) > 0;
    if (!is_shipped || arguments.has_any({flags::text, flags::ids})) return arguments;
    arguments.set(flags::text, default_text);
    report_note("no --text is given: this is '" + std::string(default_text) + "'");
    return arguments;
}

int run_heads(const Arguments& line) {
    const std::optional<std::size_t> repeat = line[flags::repeat];
    const Arguments arguments = repeat ? line : with_text(line);
    Model model = model_of(arguments);
    const bool effect = arguments.has(flags::effect);
    if (repeat && (effect || arguments.has_any({flags::text, flags::ids}))) {
        throw attn::ConfigError(
            "--repeat draws its own text: leave --text, --ids and --effect out");
    }
    if (arguments.has(flags::chosen) && !effect) {
        throw attn::ConfigError("--token belongs to --effect: add --effect, or leave --token out");
    }
    const std::vector<std::int64_t> ids =
        repeat ? std::vector<std::int64_t>() : prompt_of(arguments, model);
    Run run{repeat ? 2 * *repeat : ids.size()};
    if (!repeat) run.passes = effect ? 2 : 3;
    if (effect) run.branches = model.architecture.heads;
    report_cost(arguments, model, run);
    if (repeat) return write_repeated(arguments, model), 0;
    if (effect) return write_effects(arguments, model, ids), 0;
    const double gain = attn::models::gain_of_other_pairing(model, ids);
    if (gain > 0.5) {
        report_note(
            fmt::format("this text would be {:.1f} nats per token likelier if the other features "
                        "rotated together: the rows of w_query and w_key may not be in the order "
                        "of this format (half and interleaved)",
                        gain));
    }
    const attn::models::HeadSurvey survey =
        attn::models::survey_heads(model, ids, without_of(arguments, model));
    const auto json = [&] { return json_of_heads(model, survey.heads, ids); };
    write_form(arguments,
               {.text = [&] { return table_of_heads(model, survey.heads, ids.size()); },
                .json = json,
                .page =
                    [&] {
                        return page_of_heads(arguments, {model, ids, survey.inputs}, json());
                    },
                .arrays = [&] { return arrays_of_heads(survey.heads, ids); }});
    return 0;
}

std::vector<Flag> form_flags() {
    return grouped("Heads",
                   {{flags::effect, "", "print how likely the next word is without each head"},
                    {flags::chosen, "TOKEN", "the word for --effect (default: the likeliest)"},
                    {flags::repeat, "N",
                     "read N random tokens twice, and report which heads attend to the token after "
                     "the earlier copy (induction)",
                     integer(2, 100'000)},
                    form_flag("text: a table; json; html: a page with a picture of every head, "
                              "which opens the walk through its layer, with --effect and --repeat "
                              "a table in colour; npz: the numbers, (layer, head)")});
}

}  // namespace

Command heads_command() {
    return {"heads",
            "describe every head of a trained model in a line or picture",
            {table<form_flags>, model_flags, run_flags, json_flags, file_flags},
            run_heads,
            {{"attn-explain heads --text 'Once upon a time, there was a little girl named Lily.'",
              "What each head of the model attends to in a text."},
             {"attn-explain heads --text 'Once upon a time' -o heads.html",
              "A page with every head, for a browser."}}};
}

}  // namespace app
