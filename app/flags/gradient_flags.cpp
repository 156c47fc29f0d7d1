#include "app/flags/walk_flags.hpp"

#include <algorithm>
#include <cmath>

#include "app/flags/model_flags.hpp"
#include "app/flags/output_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/walk/walk.hpp"
#include "attn/explain/backward/backward.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/files/io/read_tensor.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/models/model_loss.hpp"

namespace app {
namespace {

/// Returns the cross-entropy of a model's next word, as the gradient at the attention of the layer
/// that is shown.
attn::Loss loss_of_word(const Arguments& arguments, const std::string& word, const attn::Plan& plan,
                        const attn::StepTable& table) {
    if (!arguments.has(flags::model_file)) {
        throw attn::ConfigError(
            "--loss cross-entropy:WORD needs a model that predicts the next word: add --model-file "
            "stories");
    }
    const attn::models::Model model = model_of(arguments);
    const std::int64_t id = token_of(model, word, "--loss cross-entropy:" + word);
    const attn::Ledger ledger = attn::walk(plan, attn::draw(plan), table);
    const auto numbers = [&](const char* name) {
        return attn::cast(ledger[name], attn::DType::float64).as<double>();
    };
    const attn::Array<double> output = numbers("output");
    const attn::ModelLoss found = attn::cross_entropy(
        model, static_cast<std::size_t>(plan.config.layer), id, numbers("x"), output);
    attn::Loss loss{attn::Loss::Kind::upstream};
    loss.target = attn::Tensor(ledger["output"].axes(), found.gradient);
    loss.file = "what " + model.label + " does after this attention";
    loss.rest = found.loss;
    for (std::size_t i = 0; i < output.size(); ++i) {
        loss.rest -= output.data()[i] * found.gradient.data()[i];
    }
    loss.note = "It is -log of the probability that the model gives " + attn::quoted_text(word) +
                " next; the rule holds near this output.";
    return loss;
}

}  // namespace

attn::Loss loss_of(const Arguments& arguments, const attn::Plan& plan,
                   const attn::StepTable& table) {
    const std::string text = arguments[flags::loss];
    const std::string of_word = "cross-entropy:";
    if (text.starts_with(of_word)) {
        return loss_of_word(arguments, text.substr(of_word.size()), plan, table);
    }
    attn::Loss loss;
    if (text == "sum") return loss;
    if (text == "mean") {
        loss.kind = attn::Loss::Kind::mean;
    } else if (text.ends_with(']')) {
        loss.kind = attn::Loss::Kind::cell;
        loss.cell = text;
    } else if (std::ranges::count(table, text, &attn::Step::name) > 0) {
        throw attn::ConfigError("--loss " + text + " is a whole step: name one cell, as in " +
                                text + "[0,1]");
    } else {
        const bool is_mse = text.starts_with("mse:");
        loss.kind = is_mse ? attn::Loss::Kind::mse : attn::Loss::Kind::upstream;
        loss.file = is_mse ? text.substr(4) : text;
        loss.target = attn::read_tensor(loss.file, report_note);
    }
    return loss;
}

Flag loss_flag() {
    return Flag{flags::loss, "LOSS",
                "the loss of the gradients: sum or mean of the last step, a cell such as "
                "'weights[0,1]', mse:FILE, FILE with the gradient of the last step, or "
                "cross-entropy:WORD of the next word of a trained model"}
        .with_default("sum")
        .being(or_file);
}

std::vector<Flag> gradient_flags() {
    const Need backward = with<flags::backward>("the backward pass: add --backward");
    return grouped("Gradients",
                   {Flag{flags::backward, "",
                         "backpropagate from a loss through every step, and print each gradient"},
                    loss_flag().needing(backward),
                    Flag{flags::check_gradient, "",
                         "print central differences in float64 next to each gradient, and how far "
                         "apart they are"}
                        .needing(backward),
                    Flag{flags::learn, "RATE",
                         "first take one step of training: subtract RATE times its gradient from "
                         "every parameter"}
                        .taking(number())
                        .repeatable()
                        .needing(backward)});
}

attn::WalkConfig after_learning(const Arguments& arguments, attn::WalkConfig config) {
    Arguments whole = arguments;
    whole.forget_any({flags::only, flags::check_gradient});
    for (const std::string& specified : arguments[flags::learn]) {
        const auto rate = parse_as<double>("--learn", specified);
        if (!std::isfinite(rate)) {
            throw attn::ConfigError("--learn " + specified +
                                    " is not a step size: pass a number such as 0.1");
        }
        const attn::Plan plan = attn::resolve(config);
        const auto table = table_of(whole, plan);
        const attn::Ledger ledger = attn::walk(plan, attn::draw(plan), *table);
        std::string lost;
        for (const attn::Step& step : *table) {
            const attn::Tensor* const gradient = ledger.find("d_" + step.name);
            const bool is_table = step.name == "embedding" || step.name == "position_table";
            const bool is_learned = is_table || step.kind == attn::Step::Kind::parameter;
            if (!is_learned || gradient == nullptr) continue;
            const attn::Tensor& before = ledger[step.name];
            attn::Array<double> moved = attn::cast(before, attn::DType::float64).as<double>();
            for (std::size_t i = 0; i < moved.size(); ++i) {
                moved.data()[i] -= rate * gradient->at(i);
            }
            attn::Tensor after = attn::cast({before.axes(), moved}, before.dtype());
            if (lost.empty() && !attn::notes::not_finite(after).empty()) lost = step.name;
            config.parameters.record(step.name, std::move(after));
        }
        if (!lost.empty()) report_note(lost + " is not finite after --learn " + specified);
    }
    return config;
}

attn::StepTable with_gradients(const Arguments& arguments, const attn::Plan& plan,
                               attn::StepTable table) {
    if (!arguments.has(flags::backward)) return table;
    const bool cuts = arguments.has(flags::only);
    const auto only = cuts ? wanted_parts(arguments) : std::vector<attn::WantedPart>();
    const attn::StepTable forward = table;
    table = attn::with_gradients(table, plan, loss_of(arguments, plan, table));
    const auto is_requested = [&](const std::string& name) {
        return !cuts || std::ranges::any_of(only, [&](const attn::WantedPart& part) {
            return part.name == name || part.name == name + "_central" ||
                   part.name == name + "_error";
        });
    };
    const bool shows_some = std::ranges::any_of(table, [&](const attn::Step& step) {
        return step.names_steps() && is_requested(step.name);
    });
    if (arguments.has(flags::check_gradient)) {
        if (shows_some)
            return attn::with_gradient_checks(table, plan, report_note_now, is_requested);
        report_note("--only shows no gradient, so --check-gradient checks none");
    }
    // Code and pages need the whole walk, and a mistake needs its step.
    const bool whole = cuts && (wants_code(arguments) || format_of(arguments).keeps_all() ||
                                arguments.has(flags::bugs));
    return shows_some || whole ? table : forward;
}

}  // namespace app
