#include <fmt/format.h>

#include <algorithm>

#include "app/commands/commands.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/ground/text/json.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/tolerances.hpp"

namespace app {
namespace {

/// The tolerances of a walk, and the step to write a test for.
struct Tested {
    attn::DType dtype;
    std::vector<attn::StepTolerance> steps;
    const attn::StepTolerance* step;
    /// The expected numbers are computed from the user's own earlier tensors. In 16 bits the worst
    /// case of a whole walk is so wide that a test of it would catch nothing.
    bool by_itself;
    attn::Hidden hidden{};

    const attn::Tolerance& tolerance() const { return by_itself ? step->alone : step->whole; }
    std::string line(const char* function) const {
        return fmt::format("{}(yours, expected, atol={}, rtol={})", function,
                           attn::brief(tolerance().absolute), attn::brief(tolerance().relative));
    }
    std::string torch() const { return line("torch.testing.assert_close"); }
    std::string numpy() const { return line("numpy.testing.assert_allclose"); }
};

std::string ids_of(const attn::Hidden& hidden) {
    std::vector<std::string> ids;
    for (const attn::Mistake* mistake : hidden.mistakes) ids.push_back(mistake->id);
    return attn::some_of(ids);
}

/// Describes the errors that a test with this tolerance would miss.
std::string hidden_text(const attn::Hidden& hidden) {
    std::string text =
        "It still passes if every number is up to " + attn::brief(100 * hidden.factor) + "% off.";
    if (hidden.keys > 0) {
        const std::string count = hidden.dropped == 0 ? "None" : std::to_string(hidden.dropped);
        text += fmt::format(" {} of the {} keys of its heads can be left out unnoticed.", count,
                            hidden.keys);
    }
    if (!hidden.tries) return text;
    const std::size_t count = hidden.mistakes.size();
    return text +
           fmt::format(" Of {} known mistakes that change these numbers, {}.", count + hidden.shown,
                       count == 0 ? "none passes"
                                  : std::to_string(count) + (count == 1 ? " passes" : " pass") +
                                        ": " + ids_of(hidden));
}

std::string tested_text(const Tested& tested, const attn::Ink& ink) {
    std::string text =
        ink.of(ink.heading, fmt::format("{:<18}{:<22}{}", attn::dtype_name(tested.dtype), "alone",
                                        "from the inputs")) +
        "\n" +
        ink.of(ink.heading, fmt::format("{:<18}{:<11}{:<11}{:<10}{:<10}{}", "step", "atol", "rtol",
                                        "atol", "rtol", "why")) +
        "\n";
    for (const attn::StepTolerance& each : tested.steps) {
        text += fmt::format("{:<18}{:<11}{:<11}{:<10}{:<10}{}\n", each.step,
                            attn::brief(each.alone.absolute), attn::brief(each.alone.relative),
                            attn::brief(each.whole.absolute), attn::brief(each.whole.relative),
                            each.reason);
    }
    text += fmt::format(
        "\nA test of {}, {}:\n  {}\n  {}\n", tested.step->step,
        tested.by_itself ? "alone, expected from your own tensors before it" : "from the inputs",
        tested.torch(), tested.numpy());
    for (const std::string& line : attn::wrap(hidden_text(tested.hidden), 80)) text += line + "\n";
    return text;
}

std::string tested_json(const Tested& tested) {
    std::vector<attn::JsonText> steps;
    for (const attn::StepTolerance& each : tested.steps) {
        steps.push_back({{"name", each.step},
                         {"atol", each.whole.absolute},
                         {"rtol", each.whole.relative},
                         {"atol_alone", each.alone.absolute},
                         {"rtol_alone", each.alone.relative},
                         {"reason", each.reason}});
    }
    std::vector<std::string> ids;
    for (const attn::Mistake* mistake : tested.hidden.mistakes) ids.push_back(mistake->id);
    const attn::JsonText hides{{"factor", 1 + tested.hidden.factor},
                               {"mistakes", ids},
                               {"dropped", static_cast<std::int64_t>(tested.hidden.dropped)},
                               {"keys", static_cast<std::int64_t>(tested.hidden.keys)}};
    return attn::JsonText{{"dtype", attn::dtype_name(tested.dtype)},
                          {"step", tested.step->step},
                          {"by_itself", tested.by_itself},
                          {"torch", tested.torch()},
                          {"numpy", tested.numpy()},
                          {"hides", hides},
                          {"steps", {steps, ",\n  "}}}
               .text +
           "\n";
}

int run_tolerance(const Arguments& arguments) {
    const attn::WalkConfig config = config_of(arguments);
    require_all_steps(config, "tolerance");
    const attn::Plan plan = attn::resolve(config);
    note_useless_flags(arguments, &plan);
    const double scores = static_cast<double>(plan.batch * plan.heads * plan.query_len) *
                          static_cast<double>(plan.key_len);
    constexpr double many = 2e6, seconds_each = 1.5e-6;
    if (scores > many) {
        report_note_now(fmt::format("the bounds of {} scores take about {:.0f} seconds",
                                    attn::brief(scores), seconds_each * scores));
    }
    const attn::Ledger given = attn::draw(plan);
    Tested tested{plan.compute_dtype, attn::tolerances(plan, given), nullptr,
                  attn::is_16_bit(plan.compute_dtype)};
    const std::string asked = arguments[flags::tested_step];
    const std::string name = asked.empty() ? tested.steps.back().step : asked;
    const auto found = std::ranges::find(tested.steps, name, &attn::StepTolerance::step);
    if (found == tested.steps.end()) {
        std::vector<std::string> names;
        for (const attn::StepTolerance& each : tested.steps) names.push_back(each.step);
        throw attn::ConfigError("--step " + attn::visible(name) +
                                " is not a step that is computed here: choose one of " +
                                attn::joined(names));
    }
    tested.step = &*found;
    // A copy needs no test of its own.
    const auto is_copy = [&] { return tested.step->alone.relative == 0; };
    while (tested.by_itself && asked.empty() && is_copy() && tested.step != &tested.steps.front()) {
        --tested.step;
    }
    tested.by_itself = tested.by_itself && !is_copy();
    tested.hidden = attn::hidden_by(tested.tolerance(), plan, given, tested.step->step);
    write_text_or_json(
        arguments, [&] { return tested_text(tested, ink_of(arguments)); },
        [&] { return tested_json(tested); });
    return 0;
}

const std::vector<Flag>& test_tolerance_flags() {
    static const std::vector<Flag> all{
        Flag{flags::tested_step, "STEP", "the step to write a test for (default: the last one)"}
            .typed_only()};
    return all;
}

}  // namespace

Command tolerance_command() {
    return {"tolerance",
            "print which atol and rtol a test of each step should use",
            {test_tolerance_flags, json_flags, file_flags, color_flags, config_flags,
             notebook_walk_flags, walk_flags},
            run_tolerance,
            {{"attn-explain tolerance --heads 8 --seq-len 64 --embed-dim 64 --step context",
              "The atol and rtol of each step, and why."}}};
}

}  // namespace app
