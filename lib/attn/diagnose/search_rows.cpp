#include <limits>

#include "attn/diagnose/search.hpp"

// Rows of padded queries, which nobody reads.

namespace attn {

bool Judge::right_where_read(const std::string& step, const TheirTensor& theirs,
                             const Tensor& tensor, const Tensor& expected, bool from_theirs) const {
    const Shape shape = tensor.shape();
    const StepTable& table = step_table(plan_);
    // A bias has rows of queries too, but none for each sequence, whose padding differs.
    const bool by_sequence = !plan_.has_batch || expected.has_axis("batch");
    const bool by_query = place_of(table, step) >= place_of(table, "scores") && shape.size() > 1 &&
                          shape == expected.shape() && by_sequence &&
                          shape[shape.size() - 2] == plan_.query_len;
    if (!by_query || !pads_queries(plan_)) return false;
    constexpr double lowest = -std::numeric_limits<double>::infinity();
    // nan, or a row that will be, spreads to what reads this as keys and values later.
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        const bool is_number = tensor.at(i) > lowest;
        if (!is_number && expected.at(i) > lowest) return false;
    }
    return (*this)(step, theirs, without_padded_rows(plan_, tensor),
                   without_padded_rows(plan_, expected), from_theirs)
        .right();
}

bool Search::is_right_where_read(const Tensor& tensor) const {
    return judge_.right_where_read(step_, theirs_, tensor, expected_, uses_theirs_);
}

std::optional<Match> Search::in_padded_rows() const {
    for (const Reading& reading : ways(theirs_, expected_)) {
        if (!is_right_where_read(reading.tensor)) continue;
        Match match = match_of(find_mistake("padded-rows-other"), reading, 0);
        match.finding.harmless = true;
        match.finding.replayed = false;
        return match;
    }
    return std::nullopt;
}

}  // namespace attn
