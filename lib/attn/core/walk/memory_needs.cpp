#include "attn/core/walk/memory_needs.hpp"

#include <algorithm>

#include "attn/core/plan/attention_file.hpp"
#include "attn/core/plan/memory.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

double cell_bytes(const Step& step, const Plan& plan) {
    return step.holds == RuleType::truth   ? 1
           : step.holds == RuleType::whole ? 8
                                           : plan.number_bytes();
}

bool has_cell_for_each_pair(const Step& step, const Plan& plan) {
    const Axes axes = step.outline(plan).axes;
    const auto has = [&](const char* axis) { return std::ranges::find(axes, axis) != axes.end(); };
    return has("query") && has("key");
}

}  // namespace

MemoryNeeds memory_needs(std::span<const Step> steps, const Plan& plan, Details details) {
    MemoryNeeds room;
    for (const Step& step : steps) {
        const bool is_computed_step = step.kind != Step::Kind::detail || details == Details::kept;
        if (!is_computed_step || !step.outline || !step.applies(plan)) continue;
        const double bytes = cell_bytes(step, plan) * cell_count(step.outline(plan).shape);
        room.bytes += bytes;
        if (bytes <= room.largest_bytes) continue;
        room.largest = &step;
        room.largest_bytes = bytes;
    }
    return room;
}

void require_memory(std::span<const Step> steps, const Plan& plan, Details details) {
    const MemoryNeeds room = memory_needs(steps, plan, details);
    const double needed = room.bytes + token_bytes(plan);
    if (fits_memory(needed)) return;
    std::string most, other_ways;
    if (room.largest != nullptr) {
        const std::string size = ", " + memory_text(room.largest_bytes);
        if (!plan.config.attentions.empty()) {
            most = size + " of it for " + room.largest->name;
            const std::string forms = other_forms(plan);
            if (!forms.empty()) other_ways = "use another form (" + forms + "), or ";
        } else if (has_cell_for_each_pair(*room.largest, plan)) {
            most = size + " for each tensor of a cell for every query and key";
            other_ways = "ask for parts ($only 'weights["_message + (plan.has_batch ? "0," : "") +
                         (plan.has_head ? "0," : "") +
                         "5],context'), use $variant fused, or "_message;
        }
    }
    refuse_bytes(needed, most, other_ways);
}

}  // namespace attn
