#include "attn/judge/trace/moves.hpp"

#include <algorithm>
#include <optional>

namespace attn {

void move_to_missing_steps(const Diagnosis& diagnosis,
                           std::map<std::size_t, ExplainedLine>& lines) {
    static const std::map<std::string, std::string> before{
        {"scaled_scores", "scores"}, {"rotated_query", "query"}, {"rotated_key", "key"}};
    for (const Finding& finding : diagnosis.findings) {
        const Mistake* const mistake = finding.mistake();
        if (mistake == nullptr || mistake->step == finding.step || finding.harmless) continue;
        if (std::ranges::count(diagnosis.steps, mistake->step, &StepVerdict::name) > 0) continue;
        const auto earlier = before.find(mistake->step);
        ExplainedLine *reported_line = nullptr, *own = nullptr, *last = nullptr;
        for (auto& [place, line] : lines) {
            if (line.finding == &finding) reported_line = &line;
            for (const std::string& step : line.steps) {
                if (step == mistake->step) own = &line;
                if (earlier != before.end() && step == earlier->second) last = &line;
            }
        }
        ExplainedLine* const to = own != nullptr ? own : last;
        if (to == nullptr || reported_line == nullptr || to == reported_line) continue;
        to->finding = reported_line->finding;
        to->verdict = reported_line->verdict;
        reported_line->finding = nullptr;
        reported_line->verdict = LineVerdict::follows;
    }
}

void move_to_causes(const Alignment& alignment, const Trace& trace, ExplainedAttention& result) {
    std::vector<ExplainedLine> added;
    for (ExplainedLine& line : result.lines) {
        if (!is_wrong(line.verdict) || line.finding == nullptr) continue;
        const Mistake* const mistake = line.finding->mistake();
        if (mistake == nullptr) continue;
        std::optional<std::size_t> place;
        if (mistake->id.starts_with("scale-") && mistake->id != "scale-missing") {
            place = alignment.changes.scaled_at;
        }
        const bool is_causal =
            mistake->id.starts_with("causal-") || mistake->id.starts_with("window-");
        const bool is_padding = mistake->id.starts_with("pad");
        for (const auto& [masked, is_by_key] : alignment.changes.masks) {
            const bool is_it = is_by_key ? is_padding : is_causal;
            if (is_it && alignment.changes.masks.size() > 1 && !place) place = masked;
        }
        if (!place || trace[*place].line == line.line) continue;
        const Traced& cause = trace[*place];
        added.push_back({cause.file,
                         cause.line,
                         cause.name,
                         {line.steps.back()},
                         cause.shape,
                         line.verdict,
                         line.finding});
        line.verdict = LineVerdict::follows;
        line.finding = nullptr;
    }
    for (ExplainedLine& each : added) {
        const auto is_later = [&](const ExplainedLine& line) {
            return line.file == each.file && line.line > each.line;
        };
        result.lines.insert(std::ranges::find_if(result.lines, is_later), std::move(each));
    }
}

}  // namespace attn
