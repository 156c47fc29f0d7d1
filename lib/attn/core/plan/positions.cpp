#include "attn/core/plan/resolve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attn/core/plan/memory.hpp"
#include "attn/core/plan/plan.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// Fills in one position per token, counted from `first` on, if none are given.
void resolve_tokens(std::vector<std::int64_t>& positions, std::size_t tokens, const char* of,
                    std::size_t first = 0) {
    if (positions.empty()) {
        positions.resize(tokens);
        std::iota(positions.begin(), positions.end(), static_cast<std::int64_t>(first));
    }
    refuse_unless(positions.size() == tokens,
                  "$positions gives "_message + std::to_string(positions.size()) + " for the " +
                      std::to_string(tokens) + " tokens of " + of + ": give one for each");
}

void check_scaling(const RopeScaling& scaling) {
    const auto above_zero = [](double number, const char* what) {
        refuse_unless(std::isfinite(number) && number > 0,
                      "$rope-scaling: the "_message + what + " must be a number above 0");
    };
    using Kind = RopeScaling::Kind;
    above_zero(scaling.factor, "factor");
    if (scaling.kind != Kind::linear) above_zero(scaling.length, "length of the training inputs");
    if (scaling.kind == Kind::llama3) {
        refuse_unless(
            scaling.low < scaling.high,
            "$rope-scaling llama3: the low frequency factor must be below the high one, as in "
            "llama3:8:1:4:8192"_message);
    }
    if (scaling.kind == Kind::longrope) {
        refuse_unless(
            scaling.length > 1,
            "$rope-scaling longrope: the length of the training inputs must be above 1"_message);
        for (const auto* list : {&scaling.short_factors, &scaling.long_factors}) {
            for (const double number : *list) above_zero(number, "factor of each pair");
        }
    }
    if (scaling.kind != Kind::yarn && scaling.kind != Kind::longrope) return;
    above_zero(scaling.cosine_factor(), "attention factor");
    if (scaling.kind != Kind::yarn) return;
    above_zero(scaling.beta_slow, "slow limit");
    refuse_unless(
        scaling.beta_slow <= scaling.beta_fast,
        "$rope-scaling yarn: the fast limit comes first, as in yarn:32:4096:32:1"_message);
}

void resolve_position_table(Plan& plan) {
    WalkConfig& config = plan.config;
    if (!plan.adds_positions()) return;
    refuse_unless(
        plan.has_x(),
        "$position-embedding is added to x, and query and key are drawn directly: leave it "
        "out, or $projection none"_message);
    const auto* tokens = std::get_if<Tokens>(&config.input);
    refuse_unless(
        tokens == nullptr || !tokens->embedded,
        "$position-embedding is for a walk without a model, which has positions of its own: "
        "leave it out"_message);
    const std::int64_t last = *std::ranges::max_element(config.positions);
    if (config.position_embedding != PositionEmbedding::learned) return;
    config.position_rows = config.position_rows.value_or(last + 1);
    refuse_unless(last < *config.position_rows, "position " + std::to_string(last) +
                                                    " has no row in a position_table of " +
                                                    std::to_string(*config.position_rows) +
                                                    ": pass other $positions, or a larger "
                                                    "table"_message);
    require_inputs(plan);
}

void resolve_rotary(Plan& plan) {
    Rotary& rotary = plan.config.rotary;
    refuse_unless(std::isfinite(rotary.theta) && rotary.theta > 0,
                  "$rope-theta must be a number above 0: models use 10000 to 8000000"_message);
    if (rotary.scaling) check_scaling(*rotary.scaling);
    if (!plan.rotates()) return;
    const auto head_dim = static_cast<std::int64_t>(plan.head_dim);
    const std::string width = std::to_string(head_dim);
    refuse_unless(
        rotary.dim || head_dim % 2 == 0,
        "$rope rotates features in pairs, and head-dim "_message + width +
            " is odd: pass another $head-dim"_message +
            (head_dim > 1 ? ", or $rotary-dim "_message + std::to_string(head_dim - 1) : ""));
    rotary.dim = rotary.dim.value_or(head_dim);
    const std::string given = "$rotary-dim "_message + std::to_string(*rotary.dim);
    refuse_unless(*rotary.dim >= 2 && *rotary.dim % 2 == 0,
                  given + " is not a positive even number: features rotate in pairs");
    refuse_unless(*rotary.dim <= head_dim, given + " is more than the " + width +
                                               " features of a head: pass at most " + width);
    refuse_unless(
        *rotary.dim > 2 || !rotary.scaling || rotary.scaling->kind != RopeScaling::Kind::dynamic,
        "$rope-scaling dynamic needs two pairs of features or more: pass $rotary-dim 4"_message);
    if (!rotary.scaling || rotary.scaling->kind != RopeScaling::Kind::longrope) return;
    for (const auto& [name, list] : {std::pair("short", &rotary.scaling->short_factors),
                                     std::pair("long", &rotary.scaling->long_factors)}) {
        refuse_unless(list->size() == plan.rotary_pairs(),
                      "$rope-scaling longrope: the "_message + std::string(name) + " list has " +
                          std::to_string(list->size()) + " factors for the " +
                          std::to_string(plan.rotary_pairs()) +
                          " pairs of features that rotate: give one for each");
    }
}

}  // namespace

void resolve_positions(Plan& plan) {
    WalkConfig& config = plan.config;
    resolve_tokens(config.positions, plan.query_len, "x", plan.past_len);
    refuse_unless(
        plan.has_memory || config.memory_positions.empty(),
        "$positions has a second list, for a memory, and there is none: leave it out"_message);
    if (plan.has_memory) resolve_tokens(config.memory_positions, plan.key_len, "memory");
    resolve_position_table(plan);
    resolve_rotary(plan);
    refuse_unless(std::isfinite(config.qk_norm.eps) && config.qk_norm.eps >= 0,
                  "$norm-eps must be a number from 0 on: models use 1e-6 or 1e-5"_message);
}

std::int64_t Plan::rotary_tokens() const {
    std::int64_t last = 0;
    for (const auto* positions : {&config.positions, &config.memory_positions}) {
        for (const std::int64_t position : *positions) last = std::max(last, position);
    }
    return last + 1;
}

double Plan::rotary_base() const {
    const Rotary& rotary = config.rotary;
    if (!rotary.scaling) return rotary.theta;
    return rotary.scaling->scaled_theta(rotary.theta, 2 * rotary_pairs(), rotary_tokens());
}

}  // namespace attn
