#include "app/flags/gradient_flags.hpp"

#include "app/flags/parse.hpp"
#include "app/terminal/messages.hpp"
#include "attn/backward/check.hpp"
#include "attn/io/read_tensor.hpp"

namespace app {
namespace {

attn::Loss loss_of(const Arguments& arguments) {
    const std::string text = arguments.text("--loss");
    attn::Loss loss;
    if (text == "sum") return loss;
    if (text == "mean") {
        loss.kind = attn::Loss::Kind::mean;
    } else if (text.ends_with(']')) {
        loss.kind = attn::Loss::Kind::cell;
        loss.cell = text;
    } else {
        const bool is_mse = text.starts_with("mse:");
        loss.kind = is_mse ? attn::Loss::Kind::mse : attn::Loss::Kind::upstream;
        loss.file = is_mse ? text.substr(4) : text;
        loss.target = attn::read_tensor(loss.file, report_note);
    }
    return loss;
}

}  // namespace

std::vector<Flag> gradient_flags() {
    const Need backward{[](const Arguments& said) { return said.has("--backward"); }, nullptr,
                        "the way back: add --backward"};
    return grouped(
        "Gradients",
        {Flag{"--backward", "", "go back from a loss through every step, and print each gradient"},
         Flag{"--loss", "LOSS",
              "what the gradients are of: sum or mean of the last step, a cell as 'weights[0,1]', "
              "mse:FILE, or FILE with the gradient of the last step"}
             .usually("sum")
             .being(or_file)
             .needing(backward),
         Flag{"--check-gradient", "",
              "central differences in float64 beside each gradient, and how far it is from them"}
             .needing(backward)});
}

attn::StepTable with_gradients(const Arguments& arguments, const attn::Plan& plan,
                               attn::StepTable table) {
    if (!arguments.has("--backward")) return table;
    table = attn::with_gradients(std::move(table), plan, loss_of(arguments));
    return arguments.has("--check-gradient") ? attn::with_gradient_checks(table, plan) : table;
}

}  // namespace app
