#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/written_text.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/branches.hpp"

namespace app {
namespace {

using attn::models::Carried;
using attn::models::Model;
using attn::models::Patching;

/// The user's question: two texts of the same length, and two tokens.
struct RequestedPatch {
    TokenIds here, there;
    std::int64_t id = 0;
    std::int64_t other = 0;
    bool heads = true;
};

/// Splits a text into its tokens.
std::string cut(const Model& model, const TokenIds& ids) {
    std::string text;
    for (const std::int64_t id : ids) text += (text.empty() ? "" : "|") + quoted(model, id);
    return text;
}

/// Returns the flags with the text of --from in the place of the text.
Arguments with_other_text(Arguments arguments) {
    arguments.set(arguments.has(flags::ids) ? Name(flags::ids) : Name(flags::text),
                  arguments[flags::from]);
    return arguments;
}

RequestedPatch requested_patch(const Arguments& arguments, const Model& model) {
    RequestedPatch requested{prompt_of(arguments, model),
                             prompt_of(with_other_text(arguments), model), 0, 0,
                             arguments[flags::what] == "heads"};
    if (requested.here.size() != requested.there.size()) {
        throw attn::ConfigError(fmt::format(
            "--text has {} tokens and --from {}: {} and {}; use texts with the same number",
            requested.here.size(), requested.there.size(), cut(model, requested.here),
            cut(model, requested.there)));
    }
    if (requested.here == requested.there) {
        throw attn::ConfigError(
            "--text and --from are the same tokens: change a word in one of them");
    }
    const std::string pair = arguments[flags::chosen].value_or("");
    const std::size_t dash = pair.find('-', 1);
    if (dash == pair.npos || dash + 1 == pair.size()) {
        throw attn::ConfigError("--token '" + pair +
                                "' is not a pair of tokens: pass --token ' she- he'");
    }
    requested.id = token_of(model, pair.substr(0, dash), "--token " + pair);
    requested.other = token_of(model, pair.substr(dash + 1), "--token " + pair);
    return requested;
}

std::string share_text(double share) {
    if (!std::isfinite(share)) return "-";
    return fmt::format("{:.0f}%", std::round(100 * share) + 0.0);  // never -0%
}

std::string text_of_patch(const Model& model, const RequestedPatch& requested,
                          const Patching& found) {
    std::string text = fmt::format(
        "# {}{} minus {}: {:.3f} here, {:.3f} there; fraction of the difference restored by "
        "patching one {}\n",
        if_left_out(model), quoted(model, requested.id), quoted(model, requested.other), found.here,
        found.there, requested.heads ? "head" : "x");
    std::vector<std::vector<std::string>> rows;
    if (requested.heads) {
        rows.push_back({"layer", "head", "restored"});
        std::vector<Carried> sorted = found.carried;
        std::ranges::stable_sort(sorted, std::greater(),
                                 [](const Carried& each) { return std::abs(each.share); });
        for (const Carried& each : sorted) {
            rows.push_back({fmt::format("{}", each.layer), fmt::format("{}", each.place),
                            share_text(each.share)});
        }
    } else {
        rows.push_back({"layer"});
        for (std::size_t t = 0; t < requested.here.size(); ++t) {
            const std::string word = quoted(model, requested.here[t]);
            rows[0].push_back(requested.here[t] == requested.there[t]
                                  ? word
                                  : word + "/" + quoted(model, requested.there[t]));
        }
        for (const Carried& each : found.carried) {
            if (each.place == 0) rows.push_back({fmt::format("{}", each.layer)});
            rows.back().push_back(share_text(each.share));
        }
    }
    return text + aligned(rows, requested.heads ? 2 : 1) +
           "# each fraction is for one part alone: they need not add up to 100%\n";
}

std::string json_of_patch(const Model& model, const RequestedPatch& requested,
                          const Patching& found) {
    std::vector<attn::JsonText> rows;
    for (const Carried& each : found.carried) {
        rows.push_back({{"layer", each.layer},
                        {requested.heads ? "head" : "token", each.place},
                        {"difference", each.difference},
                        {"restored", each.share}});
    }
    return json_of_model(model, {{"ids", requested.here},
                                 {"source_ids", requested.there},
                                 {"id", requested.id},
                                 {"other_id", requested.other},
                                 {"logit_difference", found.here},
                                 {"source_logit_difference", found.there},
                                 {"patches", rows}})
        .text;
}

/// Renders a table in colour: layers as rows, heads or tokens as columns.
std::string page_of_patch(const Arguments& arguments, const Model& model,
                          const RequestedPatch& requested, const Patching& found) {
    const std::string words =
        quoted(model, requested.id) + " minus " + quoted(model, requested.other);
    const Arguments other = with_other_text(arguments);
    ColoredPage page{
        "What one part of the other text restores",
        if_left_out(model) +
            fmt::format("{}: {:.3f} after the text, {:.3f} after the other; the fraction of the "
                        "difference restored by patching one {}.",
                        words, found.here, found.there, requested.heads ? "head" : "x"),
        {},
        [](std::size_t row) { return fmt::format("layer {}", row); },
        {},
        "what was carried over"};
    for (const Carried& each : found.carried) {
        const std::string place = requested.heads ? fmt::format("head {}", each.place)
                                                  : quoted(model, requested.there[each.place]);
        if (each.layer == 0) page.head.push_back(place);
        const std::string only = requested.heads ? fmt::format("context[{}]", each.place)
                                                 : fmt::format("x[{}]", each.place);
        page.cells.push_back(
            {share_text(each.share), each.share, attn::ScaleKind::around_zero,
             fmt::format("layer {}, {}: {} is {:.3f}", each.layer, place, words, each.difference),
             layer_command(other, each.layer, only)});
    }
    return page_with(page, command_line("patch", arguments));
}

int run_patch(const Arguments& arguments) {
    Model model = model_of(arguments);
    const RequestedPatch requested = requested_patch(arguments, model);
    Run run{requested.here.size()};
    run.passes = 2;
    run.branches = requested.heads ? model.architecture.heads : requested.here.size();
    report_cost(arguments, model, run);
    const Patching found =
        attn::models::patch(model, requested.here, requested.there, requested.id, requested.other,
                            requested.heads, without_of(arguments, model));
    const auto by_layer = [&](double Carried::*of) -> attn::Tensor {
        const std::size_t layers = model.architecture.layers.size();
        attn::Array<double> numbers =
            attn::empty_array<double>({layers, found.carried.size() / layers});
        std::ranges::transform(found.carried, numbers.data(), std::identity(), of);
        return {{"layer", requested.heads ? "head" : "token"}, std::move(numbers)};
    };
    write_form(arguments,
               {.text = [&] { return text_of_patch(model, requested, found); },
                .json = [&] { return json_of_patch(model, requested, found); },
                .page = [&] { return page_of_patch(arguments, model, requested, found); },
                .arrays = [&]() -> std::vector<attn::NamedTensor> {
                    return {{"restored", by_layer(&Carried::share)},
                            {"difference", by_layer(&Carried::difference)},
                            {"logit_difference", {{}, attn::Array<double>(found.here)}},
                            {"source_logit_difference", {{}, attn::Array<double>(found.there)}}};
                }});
    return 0;
}

std::vector<Flag> patch_flags() {
    return grouped(
        "Patch",
        {Flag{flags::from, "TEXT",
              "the other text, with the same number of tokens, whose parts are copied; its ids "
              "with --ids"}
             .demanded(),
         Flag{flags::chosen, "PAIR",
              "the two tokens whose logits are compared, joined by a dash: ' she- he'"}
             .demanded(),
         {flags::what, "WHAT",
          "heads: patch the output of each head, at all tokens; layers: patch x of each token "
          "before each layer",
          one_of("heads layers"), "heads"},
         form_flag("text: a table; json; html: a page in colour; npz: the numbers")});
}

}  // namespace

Command patch_command() {
    return {
        "patch",
        "find which head or layer carries the difference between two texts",
        {table<patch_flags>, model_flags, run_flags, json_flags, file_flags},
        run_patch,
        {{"attn-explain patch --text 'The little girl was sad. One day,' --from 'The little boy "
          "was sad. One day,' --token ' she- he'",
          "The head that carries the gender."}}};
}

}  // namespace app
