#include <algorithm>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/written_text.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/models/contributions.hpp"

namespace app {
namespace {

using attn::models::Lens;
using attn::models::Model;
using attn::models::Reading;

constexpr const char* what_it_is =
    "its vector sent straight to the last norm and the output matrix: an interpretation";

/// Returns the first place after which the reading of the last token no longer changes.
std::string settled_at(const Lens& lens) {
    std::size_t first = lens.places.size() - 1;
    const auto predicted = [&](std::size_t n) { return lens.readings[n].back().predicted; };
    while (first > 0 && predicted(first - 1) == predicted(lens.places.size() - 1)) --first;
    return lens.places[first].text();
}

std::string text_of_lens(const Model& model, const Lens& lens, const TokenIds& ids) {
    const bool all = lens.readings[0].size() > 1;
    const std::string chosen = quoted(model, lens.chosen);
    std::vector<std::vector<std::string>> rows;
    std::vector<std::string>& head = rows.emplace_back();
    head = all ? std::vector<std::string>{"after"}
               : std::vector<std::string>{"after", "predicts", "p", chosen, "rank"};
    for (std::size_t t = 0; all && t < ids.size(); ++t) head.push_back(quoted(model, ids[t]));
    for (std::size_t n = 0; n < lens.places.size(); ++n) {
        std::vector<std::string>& row = rows.emplace_back();
        row.push_back(lens.places[n].text());
        for (const Reading& each : lens.readings[n]) {
            row.push_back(quoted(model, each.predicted) +
                          (all ? fmt::format(" {:.2f}", each.probability) : ""));
            if (all) continue;
            row.push_back(fmt::format("{:.4f}", each.probability));
            row.push_back(fmt::format("{:.4f}", each.of_chosen));
            row.push_back(fmt::format("{}", each.rank));
        }
    }
    std::string text =
        fmt::format("# {}the next token after {} if the model stopped at each layer\n# ({})\n",
                    if_left_out(model), all ? "each token" : quoted(model, ids.back()), what_it_is);
    text += aligned(rows, all ? rows[0].size() : 2);
    return text + fmt::format("# from {} on, the prediction is the model's own{}\n",
                              settled_at(lens), all ? " after the last token" : "");
}

attn::JsonText json_of_reading(const Model& model, const Reading& reading) {
    return {{"id", reading.predicted},
            {"token", quoted(model, reading.predicted)},
            {"probability", reading.probability},
            {"chosen_probability", reading.of_chosen},
            {"rank", reading.rank}};
}

std::string json_of_lens(const Model& model, const Lens& lens, const TokenIds& ids) {
    std::vector<attn::JsonText> places;
    for (std::size_t n = 0; n < lens.places.size(); ++n) {
        const auto readings = collected(
            lens.readings[n], [&](const Reading& each) { return json_of_reading(model, each); });
        places.push_back({{"after", lens.places[n].text()}, {"readings", {readings, ", "}}});
    }
    return json_of_model(model, {{"ids", ids},
                                 {"chosen", lens.chosen},
                                 {"token", quoted(model, lens.chosen)},
                                 {"places", places}})
        .text;
}

/// Returns the command that derives a reading: `attn-explain why 'lens[3][upon]' ...`.
std::string lens_command(const Arguments& arguments, const Model& model,
                         const attn::models::Place& place, std::int64_t predicted,
                         const TokenIds& before) {
    const std::string at = place.attention     ? std::to_string(place.layers) + ".attn"
                           : place.layers == 0 ? "embedding"
                                               : std::to_string(place.layers - 1);
    return why_token_command(arguments, model, {"lens[" + at + "]", predicted, before});
}

/// Renders a table with places as rows and tokens as columns, each word coloured by its
/// probability.
std::string page_of_lens(const Arguments& arguments, const Model& model, const Lens& lens,
                         const TokenIds& ids) {
    const std::string chosen = quoted(model, lens.chosen);
    ColoredPage page{"What the model would predict at each layer",
                     if_left_out(model) +
                         fmt::format("The next token after each token if the model stopped at each "
                                     "layer ({}). Press a word for its probability and that of {}.",
                                     what_it_is, chosen),
                     {},
                     [&](std::size_t row) { return lens.places[row].text(); },
                     {}};
    for (std::size_t t = 0; t < ids.size(); ++t) page.head.push_back(quoted(model, ids[t]));
    for (std::size_t n = 0; n < lens.places.size(); ++n) {
        for (std::size_t t = 0; t < ids.size(); ++t) {
            const Reading& each = lens.readings[n][t];
            const bool is_chosen = each.predicted == lens.chosen;
            const TokenIds before(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(t) + 1);
            page.cells.push_back(
                {quoted(model, each.predicted), each.probability, attn::ScaleKind::from_zero,
                 fmt::format("after {}, {}: {} {:.4f}", quoted(model, ids[t]),
                             lens.places[n].text(), quoted(model, each.predicted),
                             each.probability) +
                     (is_chosen ? ""
                                : fmt::format(", {} {:.4f} (rank {})", chosen, each.of_chosen,
                                              each.rank)),
                 lens_command(arguments, model, lens.places[n], each.predicted, before)});
        }
    }
    page.opened = page.cells.size() - 1;
    return page_with(page, command_line("lens", arguments));
}

/// Returns the arrays of a lens: (place, token), and x (place, token, feature).
std::vector<attn::NamedTensor> arrays_of_lens(const Lens& lens, const TokenIds& ids) {
    const attn::Shape shape{lens.places.size(), lens.readings[0].size()};
    const attn::Axes axes{"place", "token"};
    const auto tensor = [&]<class T>(T Reading::*of) -> attn::Tensor {
        using Number = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
        attn::Array<Number> cells = attn::empty_array<Number>(shape);
        for (std::size_t i = 0; i < cells.size(); ++i) {
            cells.data()[i] = static_cast<Number>(lens.readings[i / shape[1]][i % shape[1]].*of);
        }
        return {axes, std::move(cells)};
    };
    attn::Array<double> x = attn::empty_array<double>({shape[0], shape[1], lens.x[0].shape(1)});
    for (std::size_t n = 0; n < shape[0]; ++n) {
        std::ranges::copy(lens.x[n], x.data() + n * lens.x[n].size());
    }
    return {{"ids", array_of(ids)},
            {"predicted", tensor(&Reading::predicted)},
            {"probability", tensor(&Reading::probability)},
            {"chosen_probability", tensor(&Reading::of_chosen)},
            {"rank", tensor(&Reading::rank)},
            {"x", {{"place", "token", "feature"}, std::move(x)}}};
}

int run_lens(const Arguments& arguments) {
    Model model = model_of(arguments);
    const TokenIds ids = prompt_of(arguments, model);
    std::optional<std::int64_t> chosen;
    const std::optional<std::string> token = arguments[flags::chosen];
    if (token) chosen = token_of(model, *token, "--token " + *token);
    report_cost(arguments, model, {ids.size()});
    const bool all = arguments.has(flags::all) || specified_form(arguments) == "html";
    const Lens lens = attn::models::lens_of(model, nullptr, ids, arguments[flags::by] == "part",
                                            all, chosen, without_of(arguments, model));
    write_form(arguments, {.text = [&] { return text_of_lens(model, lens, ids); },
                           .json = [&] { return json_of_lens(model, lens, ids); },
                           .page = [&] { return page_of_lens(arguments, model, lens, ids); },
                           .arrays = [&] { return arrays_of_lens(lens, ids); }});
    return 0;
}

std::vector<Flag> lens_flags() {
    return grouped(
        "Lens",
        {{flags::chosen, "TOKEN",
          "the token whose probability and rank are printed (default: the model's own prediction)"},
         {flags::by, "WHAT", "layer: one row per layer; part: also one after each attention block",
          one_of("layer part"), "layer"},
         {flags::all, "",
          "show the predictions after every token of the text, as a page does, not only the last"},
         form_flag("text: a table; json; html: a page in colour; npz: the numbers and x")});
}

}  // namespace

Command lens_command() {
    return {"lens",
            "show what a trained model would predict if it stopped after each layer",
            {table<lens_flags>, model_flags, run_flags, json_flags, file_flags},
            run_lens,
            {{"attn-explain lens --text 'Once upon a time, there was a little girl named'",
              "The predicted word after each layer, and the probability of the final prediction."},
             {"attn-explain lens --text 'Once upon a time' --all -o lens.html",
              "All layers and tokens as a page in colour."}}};
}

}  // namespace app
