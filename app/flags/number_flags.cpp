#include "app/flags/setting.hpp"
#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace app {
namespace {

using attn::Plan;
using attn::WalkConfig;

bool is_loop(const Plan& plan) { return plan.config.variant == attn::Variant::loop; }

bool follows_build(const Plan& plan) {
    return is_loop(plan) || changes_draws<&WalkConfig::torch_build>(plan);
}

}  // namespace

bool start_differently(const Plan& a, const Plan& b) {
    constexpr double large = 5e7;
    if (attn::memory_needs(a).bytes > large) return true;
    const attn::Ledger left = attn::draw(a);
    const attn::Ledger right = attn::draw(b);
    return std::ranges::any_of(left.entries(), [&](const attn::Ledger::Entry& entry) {
        return !attn::same_numbers(entry.tensor, right[entry.name]);
    });
}

std::vector<Flag> number_rows() {
    return {
        setting("--rng", "GENERATOR", "generator of the random numbers").being(of_arithmetic),
        setting(flags::seed, "N", "seed of the random numbers")
            .being(of_draws | of_arithmetic | of_replay)
            .needing({changes_draws<&WalkConfig::seed>, "numbers that are drawn"}),
        setting(flags::torch_build, "BUILD",
                "build of PyTorch, by its processor, whose last digits are reproduced")
            .being(of_arithmetic | of_replay)
            .in_group(last_group)
            .needing(
                {follows_build, "--variant loop, or numbers that this build draws differently"}),
        setting("--redraw", "N", "draw and discard the projections N times first")
            .being(of_draws | of_pages),
        setting("--burn", "DRAWS", "draw and discard numbers before the projections")
            .being(of_draws | of_pages),
        setting("--burn-before", "DRAWS", "draw and discard numbers before all others")
            .being(of_draws | of_pages),
        setting(flags::dtype, "TYPE", "type of drawn and loaded tensors").being(of_arithmetic),
        setting("--compute-dtype", "TYPE", "type of the arithmetic")
            .being(of_arithmetic)
            .in_group(last_group),
        setting(flags::variant, "METHOD", "how attention is computed")
            .being(of_arithmetic | of_replay),
        setting("--single-chain", "",
                "loop: add up the products of each score and context in one chain")
            .being(of_arithmetic | of_pages),
        setting(flags::threads, "N", "threads for large work; 0: all cores")
            .being(of_arithmetic)
            .in_group(last_group),
    };
}

}  // namespace app
