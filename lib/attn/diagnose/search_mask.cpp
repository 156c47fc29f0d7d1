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

}  // namespace

MaskSearch::MaskSearch(const Plan& plan, const Judge& judge, const Replay& replay,
                       const TheirTensor& theirs)
    : plan_(plan), judge_(judge), replay_(replay), theirs_(theirs) {}

std::size_t MaskSearch::explained_with(const Mistake& mistake,
                                       std::span<const TheirTensor> later) const {
    if (!mistake.applies(plan_)) return 0;
    Replay replay = replay_;
    replay.make(mistake);
    return explained_by(std::move(replay), judge_, later);
}

MaskAnswer MaskSearch::answer(std::span<const TheirTensor> later) const {
    const std::vector<MaskReading> ways = mask_readings(theirs_.tensor, plan_);
    const std::vector<Part> parts = parts_of(plan_);
    for (const Part& part : parts) {
        const Grid right = hidden_cells(part.plan);
        for (const MaskReading& reading : ways) {
            if (cells_apart(reading, right) != 0) continue;
            return right_mask(reading, layout_of(reading, part), later);
        }
    }
    MaskAnswer answer;
    std::size_t most = 0;
    for (const Part& part : parts) {
        for (const Mistake& mistake : mistakes()) {
            if (mistake.step != "mask" || !mistake.applies(part.plan)) continue;
            const Grid wrong = hidden_cells(part.plan, mistake);
            for (const MaskReading& reading : ways) {
                if (cells_apart(reading, wrong) != 0) continue;
                const std::size_t explains = explained_with(mistake, later);
                if (!answer.finding || explains > most) {
                    std::vector<const Mistake*> ties;
                    if (answer.finding) {
                        ties = answer.finding->ties;
                        ties.insert(ties.begin(), answer.finding->mistake);
                    }
                    answer.finding = finding_of(&mistake);
                    answer.finding->ties = std::move(ties);
                    answer.layout = layout_of(reading, part);
                    most = explains;
                } else if (&mistake != answer.finding->mistake) {
                    answer.finding->ties.push_back(&mistake);
                }
            }
        }
    }
    if (!answer.finding) {
        const Grid right = hidden_cells(plan_);
        const auto nearest = std::min_element(
            ways.begin(), ways.end(), [&](const MaskReading& a, const MaskReading& b) {
                return cells_apart(a, right) < cells_apart(b, right);
            });
        answer.finding = finding_of(nullptr);
        answer.finding->evidence.push_back(std::to_string(cells_apart(*nearest, right)) + " of " +
                                           std::to_string(right.cells.size()) +
                                           " cells are hidden here and seen there");
        answer.hidden = nearest->hidden;
        answer.layout = nearest->layout;
    }
    return answer;
}

/// A mask that says keep where ours says hidden is harmless, unless the code took it the other way.
MaskAnswer MaskSearch::right_mask(const MaskReading& reading, std::string layout,
                                  std::span<const TheirTensor> later) const {
    MaskAnswer answer;
    answer.right = true;
    answer.layout = std::move(layout);
    if (!reading.says_keep) return answer;
    const Mistake& inverted = find_mistake("mask-inverted");
    answer.right = explained_with(inverted, later) <= explained_by(replay_, judge_, later);
    answer.finding = finding_of(answer.right ? &find_mistake("mask-polarity") : &inverted);
    answer.finding->harmless = answer.right;
    return answer;
}

}  // namespace attn
