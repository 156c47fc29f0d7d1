#include "attn/core/plan/beginnings.hpp"

#include <algorithm>
#include <array>

namespace attn {
namespace {

/// In the order of the walk.
constexpr std::array steps{"scores", "scaled_scores", "masked_scores", "weights"};

}  // namespace

bool is_beginning(std::string_view step) { return std::ranges::count(steps, step) > 0; }

std::string given_beginning(const Ledger& given) {
    if (given.has("query") && given.has("key")) return given.has("value") ? "" : "query";
    const auto* const first =
        std::ranges::find_if(steps, [&](const char* step) { return given.has(step); });
    return first == steps.end() ? "" : *first;
}

std::string beginning_of(const WalkConfig& config) {
    const bool is_direct =
        config.projection == Projection::none && std::holds_alternative<RandomInput>(config.input);
    return is_direct ? given_beginning(config.parameters) : "";
}

void leave_out_before(const std::string& beginning, WalkConfig& config) {
    if (beginning.empty() || beginning == "query") return;
    config.rotary = {};
    config.qk_norm = {};
    if (beginning == "scores") return;
    config.scale = {ScaleChoice::By::none, 0};
    if (beginning == "scaled_scores") return;
    config.softcap = 0;
    config.position_bias.reset();
    config.mask = {};
    if (beginning == "weights") config.sink.reset();
}

}  // namespace attn
