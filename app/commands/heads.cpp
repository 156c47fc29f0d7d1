#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/models/head_survey.hpp"
#include "attn/models/model_mistakes.hpp"
#include "attn/text/json.hpp"
#include "attn/text/strings.hpp"
#include "attn/version.hpp"

namespace app {
namespace {

using attn::models::HeadFigures;
using attn::models::Model;

std::string table_of_heads(const Model& model, const std::vector<HeadFigures>& heads,
                           std::size_t tokens) {
    std::string text = fmt::format(
        "# {}: {} layers, {} heads each, over {} tokens\n"
        "# Means over the queries from the third token on: entropy of the weights in\n"
        "# bits, evenness (1: the same on all keys), distance in tokens, shares of the\n"
        "# weights on the token itself, the previous and the first one. x even: how\n"
        "# many times an even share the first token gets from the ninth query on, -\n"
        "# where one of tokens 1 to 8 gets more. A name stands for more than half of\n"
        "# the weights; first token also for 3 times an even share.\n"
        "layer  head  entropy  evenness  distance  itself  previous   first  x even  name\n",
        model.label, model.architecture.layers.size(), model.architecture.heads, tokens);
    for (const HeadFigures& head : heads) {
        text += fmt::format(
            "{:5}  {:4}  {:7.3f}  {:8.3f}  {:8.2f}  {:6.3f}  {:8.3f}  {:6.3f}  {:>6}", head.layer,
            head.head, head.entropy, head.evenness, head.distance, head.self, head.previous,
            head.first, head.first_lift > 0 ? fmt::format("{:.1f}", head.first_lift) : "-");
        text += (head.name.empty() ? "" : "  " + head.name) + "\n";
    }
    return text;
}

std::string json_of_heads(const Model& model, const std::vector<HeadFigures>& heads,
                          const std::vector<std::int64_t>& ids) {
    std::string json = "{\"attn_explain\": " + attn::json_string(attn::version()) +
                       ",\n \"model\": " + attn::json_string(model.label) +
                       ",\n \"ids\": " + fmt::format("[{}]", fmt::join(ids, ", ")) +
                       ",\n \"heads\": [";
    for (const HeadFigures& head : heads) {
        json += &head == &heads.front() ? "\n  " : ",\n  ";
        json += fmt::format("{{\"layer\": {}, \"head\": {}", head.layer, head.head);
        for (const auto& [key, number] : {std::pair{"entropy", head.entropy},
                                          {"evenness", head.evenness},
                                          {"distance", head.distance},
                                          {"self", head.self},
                                          {"previous", head.previous},
                                          {"first", head.first},
                                          {"first_lift", head.first_lift},
                                          {"sink", head.sink}}) {
            json += ", " + attn::json_string(key) + ": " + attn::json_number(number);
        }
        json += ", \"name\": " + attn::json_string(head.name) + "}";
    }
    return json + "]}\n";
}

int run_heads(const Arguments& arguments) {
    const Model model = model_of(arguments);
    const std::vector<std::int64_t> ids = prompt_of(arguments, model);
    const double gain = attn::models::gain_of_other_pairing(model, ids);
    if (gain > 0.5) {
        report_note(fmt::format(
            "this text would be {:.1f} nats a token likelier if the other features turned "
            "together: the rows of w_query and w_key may not be in the order of this format "
            "(half and interleaved)",
            gain));
    }
    const std::vector<HeadFigures> heads = attn::models::survey_heads(model, ids);
    write_text(arguments, arguments.has("--json") ? json_of_heads(model, heads, ids)
                                                  : table_of_heads(model, heads, ids.size()));
    return 0;
}

}  // namespace

Command heads_command() {
    return {"heads",
            "describe every head of a trained model in one line",
            {model_flags, json_flags, file_flags},
            run_heads,
            {{"attn-explain heads --text 'Once upon a time, there was a little girl named Lily.'",
              "What each head of the model attends to in a text."}}};
}

}  // namespace app
