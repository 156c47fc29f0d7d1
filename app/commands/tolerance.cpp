#include <fmt/format.h>

#include <algorithm>

#include "app/commands/commands.hpp"
#include "app/flags/config_file.hpp"
#include "app/flags/notebook_walk.hpp"
#include "app/flags/output_flags.hpp"
#include "app/flags/walk_flags.hpp"
#include "app/terminal/messages.hpp"
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
    const attn::StepTolerance* step = nullptr;
    attn::Hidden hidden{}, hidden_by_certain{};

    std::string line(const char* function) const {
        return fmt::format("{}(yours, expected, atol={}, rtol={})", function,
                           attn::brief(step->usual.absolute), attn::brief(step->usual.relative));
    }
    std::string torch() const { return line("torch.testing.assert_close"); }
    std::string numpy() const { return line("numpy.testing.assert_allclose"); }
};

std::vector<std::string> ids_in(const attn::Hidden& hidden) {
    return collected(hidden.mistakes, &attn::Mistake::id);
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
                                        ": " + attn::some_of(ids_in(hidden)));
}

std::string tested_text(const Tested& tested, const attn::Ink& ink) {
    constexpr const char* row = "{:<16}{:<8}{:<8}{:<8}{:<8}{:<8}{:<8}{}\n";
    const auto head = [&](const std::string& line) { return ink.of(ink.heading, line); };
    std::string text =
        head(fmt::format("{:<16}{:<16}{:<16}{}\n", attn::dtype_name(tested.dtype), "alone, certain",
                         "whole, certain", "whole, usual")) +
        head(fmt::format(row, "step", "atol", "rtol", "atol", "rtol", "atol", "rtol", "why"));
    for (const attn::StepTolerance& each : tested.steps) {
        text += fmt::format(row, each.step, attn::brief(each.alone.absolute),
                            attn::brief(each.alone.relative), attn::brief(each.whole.absolute),
                            attn::brief(each.whole.relative), attn::brief(each.usual.absolute),
                            attn::brief(each.usual.relative), each.reason);
    }
    text += fmt::format("\nA test of {}, from the inputs:\n  {}\n  {}\n", tested.step->step,
                        tested.torch(), tested.numpy());
    std::string words =
        "Correct code passes it in 99 of 100 cases, and the certain tolerance always. " +
        hidden_text(tested.hidden);
    const std::size_t certain = tested.hidden_by_certain.mistakes.size();
    if (tested.hidden.tries)
        words +=
            fmt::format(" With the certain one, {} {}.", certain, certain == 1 ? "passes" : "pass");
    for (const std::string& line : attn::wrap(words, 80)) text += line + "\n";
    return text;
}

attn::JsonText tested_json(const Tested& tested) {
    std::vector<attn::JsonText> steps;
    for (const attn::StepTolerance& each : tested.steps) {
        steps.push_back({{"name", each.step},
                         {"atol", each.whole.absolute},
                         {"rtol", each.whole.relative},
                         {"atol_alone", each.alone.absolute},
                         {"rtol_alone", each.alone.relative},
                         {"atol_usual", each.usual.absolute},
                         {"rtol_usual", each.usual.relative},
                         {"reason", each.reason}});
    }
    const attn::Hidden& hidden = tested.hidden;
    const attn::JsonText hides{{"factor", 1 + hidden.factor},
                               {"mistakes", ids_in(hidden)},
                               {"detected", static_cast<std::int64_t>(hidden.shown)},
                               {"mistakes_certain", ids_in(tested.hidden_by_certain)},
                               {"droppable_keys", static_cast<std::int64_t>(hidden.dropped)},
                               {"keys", static_cast<std::int64_t>(hidden.keys)}};
    return {{"dtype", attn::dtype_name(tested.dtype)},
            {"step", tested.step->step},
            {"torch", tested.torch()},
            {"numpy", tested.numpy()},
            {"hides", hides},
            {"steps", {steps, ",\n  "}}};
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
    Tested tested{plan.compute_dtype, attn::tolerances(plan, given)};
    const std::string requested = arguments[flags::tested_step];
    const std::string name = requested.empty() ? tested.steps.back().step : requested;
    const auto found = std::ranges::find(tested.steps, name, &attn::StepTolerance::step);
    if (found == tested.steps.end()) {
        throw attn::ConfigError("--step " + attn::visible(name) +
                                " is not a step that is computed here: choose one of " +
                                attn::joined(collected(tested.steps, &attn::StepTolerance::step)));
    }
    tested.step = &*found;
    // A copy needs no test of its own.
    const auto is_copy = [&] { return tested.step->alone.relative == 0; };
    while (requested.empty() && is_copy() && tested.step != &tested.steps.front()) --tested.step;
    const std::vector<attn::Hidden> hidden =
        attn::hidden_by({tested.step->usual, tested.step->whole}, plan, given, tested.step->step);
    tested.hidden = hidden[0];
    tested.hidden_by_certain = hidden[1];
    write_text_or_json(arguments, tested_text(tested, ink_of(arguments)), tested_json(tested));
    return 0;
}

std::vector<Flag> test_tolerance_flags() {
    return {Flag{flags::tested_step, "STEP", "the step to write a test for (default: the last one)"}
                .typed_only()};
}

}  // namespace

Command tolerance_command() {
    return {"tolerance",
            "print which atol and rtol a test of each step should use",
            {table<test_tolerance_flags>, json_flags, file_flags, color_flags, config_flags,
             notebook_walk_flags, walk_flags},
            run_tolerance,
            {{"attn-explain tolerance --heads 8 --seq-len 64 --embed-dim 64 --step context",
              "The atol and rtol of each step, and why."}}};
}

}  // namespace app
