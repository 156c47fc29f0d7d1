#include "attn/core/plan/plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "attn/core/plan/draw_list.hpp"
#include "attn/core/plan/mask_kinds.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

std::string bytes_text(double bytes) {
    static constexpr std::array<const char*, 7> units{"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
    std::size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < units.size()) {
        bytes /= 1000;
        ++unit;
    }
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text.data();
}

double element_bytes(const Plan& plan) { return plan.compute_dtype == DType::float64 ? 8 : 4; }

}  // namespace

double bytes_needed(const Plan& plan, Kept kept) {
    const double batch = static_cast<double>(plan.batch);
    const double heads = static_cast<double>(plan.heads);
    const double queries = static_cast<double>(plan.query_len);
    const double keys = static_cast<double>(plan.key_len);
    // repeated keys and values are as many as the heads
    const std::size_t kv_heads = plan.fused() ? plan.kv_heads : plan.heads;
    const auto width = static_cast<double>(plan.heads * plan.key_dim() +
                                           kv_heads * (plan.key_dim() + plan.mixed_dim()));

    // scores, scaled, capped, biased, masked, exponentials and weights are kept, bias and mask
    const bool squares = kept == Kept::everything && !plan.fused();
    const double kinds = 5.0 + (plan.caps() ? 1 : 0) + (plan.biases() ? 2 : 0);
    const double mixing =
        plan.context_heads() < plan.heads ? static_cast<double>(plan.context_heads()) : 0;
    const double score_cells =
        squares ? batch * queries * keys * (heads * kinds + mixing) + queries * keys : 0;
    // what a rule of the mask that is no range of keys hides, a byte each
    Shape hidden;
    for (const MaskKind& kind : mask_kinds()) {
        if (kind.limit || !kind.chosen(plan.config.mask)) continue;
        hidden = broadcast_shape(hidden, kind.shape(plan));
    }
    const double hidden_cells = hidden.empty() ? 0 : static_cast<double>(element_count(hidden));
    // query and key once more where they rotate, and where they are normalised
    const double rotated = static_cast<double>((plan.rotates() + plan.norms()) * plan.head_dim *
                                               (plan.heads + plan.kv_heads));
    // x and memory, each projected, split, mixed, merged and projected again
    const double token_cells = batch * (queries + keys) *
                               (static_cast<double>(plan.embed_dim) + 4 * width + rotated +
                                static_cast<double>(plan.output_dim));
    double parameter_cells = 0;
    for (const DrawnTensor& row : draw_list(plan)) {
        if (row.how != Initialisation::embedding && !row.step.starts_with("w_")) continue;
        double cells = 1;
        for (const Extent& extent : row.extents) {
            cells *= static_cast<double>(extent.size) * static_cast<double>(extent.times);
        }
        parameter_cells += cells;
    }
    return element_bytes(plan) * (score_cells + token_cells + parameter_cells) + hidden_cells;
}

void require_bytes(const Plan& plan, double needed, const LargestTensor& largest) {
    const double machine =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    // Nobody reads more than this, however much memory there is.
    constexpr double readable = 32e9;
    if (needed <= std::min(0.8 * machine, readable)) return;
    std::string advice = "make $seq-len, $batch, $heads or the dimensions smaller"_told;
    std::string squares;
    if (!largest.name.empty()) {
        squares = ", " + bytes_text(largest.bytes) + " of it for " + largest.name;
    } else if (!plan.fused() && needed > 2 * bytes_needed(plan, Kept::inputs)) {
        const double cells = static_cast<double>(plan.batch * plan.heads) *
                             static_cast<double>(plan.query_len) *
                             static_cast<double>(plan.key_len);
        squares = ", " + bytes_text(element_bytes(plan) * cells) +
                  " for each tensor of a cell for every query and key";
        advice = "ask for parts ($only 'weights["_told + std::string(plan.has_batch ? "0," : "") +
                 (plan.has_head ? "0," : "") + "5],context'), use $variant fused, or "_told +
                 advice;
    }
    throw ConfigError("this walk would need " + bytes_text(needed) + " for its tensors" + squares +
                      ", and the machine has " + bytes_text(machine) + ": " + advice);
}

void require_memory(const Plan& plan) { require_bytes(plan, bytes_needed(plan, Kept::everything)); }

}  // namespace attn
