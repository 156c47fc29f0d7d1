#include <algorithm>

#include "attn/diagnose/search.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

/// A part of our mask that somebody may hold by itself.
struct Part {
    Plan plan;
    std::string words;  ///< empty for the whole mask
};

std::vector<Part> parts_of(const Plan& plan) {
    std::vector<Part> parts{{plan, ""}};
    if (!plan.config.mask.causal || !plan.config.mask.padding) return parts;
    parts.push_back({plan, "the causal part"});
    parts.back().plan.config.mask.padding = false;
    parts.push_back({plan, "the padding part"});
    parts.back().plan.config.mask.causal = false;
    return parts;
}

std::size_t cells_apart(const MaskReading& reading, const Grid& hidden) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < hidden.cells.size(); ++i) {
        count += (reading.hidden.at(i) != 0) != (hidden.cells[i] != 0) ? 1U : 0U;
    }
    return count;
}

std::string layout_of(const MaskReading& reading, const Part& part) {
    return part.words + (part.words.empty() || reading.layout.empty() ? "" : ", ") + reading.layout;
}

Finding finding_of(const Mistake* mistake) {
    Finding finding;
    finding.step = "mask";
    finding.mistake = mistake;
    return finding;
}

/// Tells how much a mistake explains of what comes later.
using Explains = std::function<std::size_t(const Mistake*)>;

/// A mask that says keep where ours says hidden is harmless, unless the code took it the other way.
MaskAnswer right_mask(const MaskReading& reading, std::string layout, const Explains& explains) {
    MaskAnswer answer;
    answer.right = true;
    answer.layout = std::move(layout);
    if (!reading.says_keep) return answer;
    const Mistake& inverted = find_mistake("mask-inverted");
    answer.right = explains(&inverted) <= explains(nullptr);
    answer.finding = finding_of(answer.right ? &find_mistake("mask-polarity") : &inverted);
    answer.finding->harmless = answer.right;
    return answer;
}

}  // namespace

MaskAnswer answer_of_mask(const Plan& plan, const Judge& judge, const Replay& replay,
                          const TheirTensor& theirs, std::span<const TheirTensor> later) {
    const Explains explains = [&](const Mistake* mistake) -> std::size_t {
        if (mistake != nullptr && !mistake->applies(plan)) return 0;
        Replay made = replay;
        if (mistake != nullptr) made.make(*mistake);
        return explained_by(std::move(made), judge, later);
    };
    const std::vector<MaskReading> ways = mask_readings(theirs.tensor, plan);
    const std::vector<Part> parts = parts_of(plan);
    for (const Part& part : parts) {
        const Grid right = hidden_cells(part.plan);
        for (const MaskReading& reading : ways) {
            if (cells_apart(reading, right) != 0) continue;
            return right_mask(reading, layout_of(reading, part), explains);
        }
    }
    MaskAnswer answer;
    struct Fitting {
        std::size_t unexplained;
        const Mistake* mistake;
        std::string layout;
    };
    std::vector<Fitting> found;
    for (const Part& part : parts) {
        for (const Mistake& mistake : mistakes()) {
            if (mistake.step != "mask" || !mistake.applies(part.plan)) continue;
            const Grid wrong = hidden_cells(part.plan, mistake);
            const auto reading = std::ranges::find_if(
                ways, [&](const MaskReading& each) { return cells_apart(each, wrong) == 0; });
            if (reading == ways.end()) continue;
            found.push_back(
                {later.size() - explains(&mistake), &mistake, layout_of(*reading, part)});
        }
    }
    std::ranges::stable_sort(found, {}, &Fitting::unexplained);
    for (const Fitting& each : found) {
        if (!answer.finding) {
            answer.finding = finding_of(each.mistake);
            answer.layout = each.layout;
        } else if (each.mistake != answer.finding->mistake) {
            answer.finding->ties.push_back(each.mistake);
        }
    }
    if (answer.finding) return answer;
    const Grid right = hidden_cells(plan);
    const auto nearest = std::ranges::min_element(
        ways, {}, [&](const MaskReading& each) { return cells_apart(each, right); });
    answer.finding = finding_of(nullptr);
    answer.finding->evidence.push_back(std::to_string(cells_apart(*nearest, right)) + " of " +
                                       std::to_string(right.cells.size()) +
                                       " cells are hidden here and seen there");
    answer.hidden = nearest->hidden;
    answer.layout = nearest->layout;
    return answer;
}

}  // namespace attn
