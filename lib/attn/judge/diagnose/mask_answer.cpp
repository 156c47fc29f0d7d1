#include <algorithm>

#include "attn/judge/diagnose/search.hpp"
#include "attn/judge/mistakes/change.hpp"

// The verdict on a mask that the user saved.

namespace attn {
namespace {

/// A part of our mask that the user may have saved alone.
struct Part {
    Plan plan;
    std::string words;  ///< empty for the whole mask
};

std::vector<Part> parts_of(const Plan& plan) {
    std::vector<Part> parts{{plan, ""}};
    const MaskChoice& mask = plan.config.mask;
    if (!mask.causal || !(mask.padding || mask.given)) return parts;
    parts.push_back({plan, "the causal part"});
    parts.back().plan.config.mask.padding = false;
    parts.back().plan.config.mask.given.reset();
    parts.push_back({plan, mask.padding ? "the padding part" : "the part without the causal one"});
    parts.back().plan.config.mask.causal = false;
    return parts;
}

std::size_t count_differences(const MaskReading& reading, const Grid& hidden) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < hidden.cells.size(); ++i) {
        count += (reading.hidden.at(i) != 0) != (hidden.cells[i] != 0) ? 1U : 0U;
    }
    return count;
}

const MaskReading* read_as(const Grid& hidden, const std::vector<MaskReading>& ways) {
    const auto found = std::ranges::find_if(
        ways, [&](const MaskReading& each) { return count_differences(each, hidden) == 0; });
    return found != ways.end() ? &*found : nullptr;
}

std::string layout_of(const MaskReading& reading, const Part& part) {
    return part.words + (part.words.empty() || reading.layout.empty() ? "" : ", ") + reading.layout;
}

}  // namespace

MaskAnswer answer_of_mask(const Plan& plan, const Judge& judge, const Replay& replay,
                          const UserTensor& actual, std::span<const UserTensor> later) {
    const auto unexplained = [&](const Mistake* mistake) {
        if (mistake != nullptr && !mistake->applies(plan)) return later.size();
        Replay result = replay;
        if (mistake != nullptr) result.make(*mistake);
        return later.size() - explained_by(std::move(result), judge, later);
    };
    const std::vector<MaskReading> ways = mask_readings(actual.tensor, plan);
    MaskAnswer answer;
    Finding finding;
    finding.step = "mask";
    for (const Part& part : parts_of(plan)) {
        const MaskReading* reading = read_as(hidden_cells(part.plan), ways);
        if (reading == nullptr) continue;
        answer.layout = layout_of(*reading, part);
        answer.right = true;
        if (!reading->true_keeps) return answer;
        // Harmless, unless the code used it with the opposite meaning.
        const Mistake& inverted = find_mistake("mask-inverted");
        answer.right = unexplained(&inverted) >= unexplained(nullptr);
        finding.add(Role::makes, answer.right ? &find_mistake("mask-polarity") : &inverted);
        finding.harmless = answer.right;
        answer.finding = finding;
        return answer;
    }
    std::vector<std::tuple<std::size_t, const Mistake*, std::string>> found;
    for (const Part& part : parts_of(plan)) {
        for (const Mistake& mistake : mistakes()) {
            if (mistake.step != "mask" || !mistake.applies(part.plan)) continue;
            const MaskReading* reading = read_as(hidden_cells(part.plan, mistake), ways);
            if (reading == nullptr) continue;
            found.emplace_back(unexplained(&mistake), &mistake, layout_of(*reading, part));
        }
    }
    std::ranges::stable_sort(found, {}, [](const auto& each) { return std::get<0>(each); });
    for (const auto& [count, mistake, layout] : found) {
        if (finding.mistake() == nullptr) {
            finding.add(Role::makes, mistake);
            answer.layout = layout;
        } else if (mistake != finding.mistake()) {
            finding.add(Role::ties, mistake);
        }
    }
    if (finding.mistake() == nullptr) {
        const Grid right = hidden_cells(plan);
        const auto distance = [&](const MaskReading& each) {
            return count_differences(each, right);
        };
        const MaskReading& nearest = *std::ranges::min_element(ways, {}, distance);
        finding.evidence.push_back(std::to_string(distance(nearest)) + " of " +
                                   std::to_string(right.cells.size()) +
                                   " cells are hidden here and visible in yours");
        answer.hidden = nearest.hidden;
        answer.layout = nearest.layout;
    }
    answer.finding = finding;
    return answer;
}

}  // namespace attn
