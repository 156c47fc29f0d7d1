#include "app/flags/setting.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {
static bool operator==(const Burn& a, const Burn& b) {
    return a.distribution == b.distribution && a.count == b.count;
}
}  // namespace attn

namespace app {
namespace {

using attn::Plan;
using attn::WalkConfig;

template <std::vector<attn::Burn> WalkConfig::*burns>
void set_burn(WalkConfig& config, const Flag& flag, const std::string& text) {
    for (const std::string& part : split(text, ',')) {
        const std::size_t colon = part.find(':');
        if (colon == std::string::npos) {
            throw attn::ConfigError(flag.name + ": '" + part + "' is not like rand:384");
        }
        const std::int64_t count = parse_integer(flag.name, part.substr(colon + 1), 0);
        (config.*burns)
            .push_back({parse_word<attn::Distribution>(flag.name, part.substr(0, colon)),
                        static_cast<std::size_t>(count)});
    }
}

std::vector<std::string> burn_words(const std::vector<attn::Burn>& burns) {
    std::vector<std::string> words;
    for (const attn::Burn& burn : burns) {
        words.push_back(std::string(attn::word(burn.distribution)) + ":" +
                        std::to_string(burn.count));
    }
    return words;
}

/// The row of draws that are spent.
template <std::vector<attn::Burn> WalkConfig::*burns>
Flag burn_row(const std::string& name, const std::string& key, const std::string& help) {
    return Flag{name, "DRAWS", help}
        .being(of_draws)
        .in_group(last_group)
        .set_by(set_burn<burns>)
        .recorded(key,
                  [](const Plan& plan) { return attn::json_list(burn_words(plan.config.*burns)); })
        .said_by([](const WalkConfig& config) { return said_words(burn_words(config.*burns)); })
        .needing({nullptr, changes_draws<burns>, "numbers that are drawn later"});
}

bool is_loop(const Plan& plan) { return plan.config.variant == attn::Variant::loop; }

bool follows_build(const Plan& plan) {
    return is_loop(plan) || changes_draws<&WalkConfig::torch_build>(plan);
}

}  // namespace

bool start_apart(const Plan& a, const Plan& b) {
    constexpr double large = 5e7;
    if (attn::room_of(a).bytes > large) return true;
    const attn::Ledger left = attn::draw(a);
    const attn::Ledger right = attn::draw(b);
    return std::ranges::any_of(left.entries(), [&](const attn::Ledger::Entry& entry) {
        return !attn::same_numbers(entry.tensor, right[entry.name]);
    });
}

std::vector<Flag> number_rows() {
    return {
        setting<&WalkConfig::rng>("--rng", "GENERATOR", "whose random numbers are drawn")
            .being(of_arithmetic),
        setting<&WalkConfig::seed>(flags::seed, "N", "seed of the random numbers")
            .being(of_draws | of_arithmetic | of_replay)
            .taking({})
            .needing({nullptr, changes_draws<&WalkConfig::seed>, "numbers that are drawn"}),
        setting<&WalkConfig::torch_build>(
            flags::torch_build, "BUILD",
            "build of PyTorch, by the processor it was made for, whose last digits are followed")
            .being(of_arithmetic | of_replay)
            .in_group(last_group)
            .needing({nullptr, follows_build,
                      "--variant loop, or numbers that this build draws otherwise"}),
        setting<&WalkConfig::redraw>("--redraw", "N",
                                     "draw the projections N times in vain first, as cells of a "
                                     "notebook that are run again do")
            .being(of_draws)
            .in_group(last_group)
            .taking(integer(0, 1000))
            .needing({nullptr, changes_draws<&WalkConfig::redraw>, "projections that are drawn"}),
        burn_row<&WalkConfig::burn>(
            "--burn", "burn",
            "random numbers drawn and not used, before the projections are: rand:384,randn:7"),
        burn_row<&WalkConfig::burn_before>(
            "--burn-before", "burn_before",
            "random numbers drawn and not used, before all others, as "
            "cells above this one did: randn:1024"),
        setting<&WalkConfig::dtype>(flags::dtype, "TYPE", "type of drawn and loaded tensors",
                                    "float32; NumPy: float64")
            .being(of_arithmetic),
        setting<&WalkConfig::compute_dtype>("--compute-dtype", "TYPE", "type of the arithmetic",
                                            "as --dtype")
            .being(of_arithmetic)
            .in_group(last_group),
        setting<&WalkConfig::variant>(flags::variant, "METHOD", "how attention is computed")
            .being(of_arithmetic | of_replay),
        setting<&WalkConfig::single_chain>(
            "--single-chain", "",
            "loop: add up the products of each score and context one after the other, as PyTorch "
            "does where the query is a vector")
            .being(of_arithmetic)
            .in_group(last_group)
            .needing({nullptr, is_loop, "the loops: add --variant loop"}),
        setting<&WalkConfig::threads>(flags::threads, "N", "threads for large work; 0: all cores")
            .being(of_arithmetic)
            .in_group(last_group)
            .taking(integer(0, 4096)),
    };
}

}  // namespace app
