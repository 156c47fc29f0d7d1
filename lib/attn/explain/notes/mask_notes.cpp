#include "attn/explain/notes/step_notes.hpp"

#include <limits>
#include <set>

#include "attn/core/plan/mask_kinds.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/core/walk/cell.hpp"
#include "attn/explain/notes/attention_rows.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {
namespace {

/// The mask broadcast to the scores.
class MaskCells {
public:
    MaskCells(const Tensor& mask, std::size_t group) : cells_(mask), matrices_(mask) {
        start_ = group * matrices_.cells();
    }

    bool hidden(std::size_t query, std::size_t key) const {
        const std::size_t row = query % matrices_.rows;
        return cells_[start_ + row * matrices_.columns + key % matrices_.columns] != 0;
    }

    std::size_t visible(std::size_t query, std::size_t key_len) const {
        std::size_t count = 0;
        for (std::size_t k = 0; k < key_len; ++k) count += hidden(query, k) ? 0 : 1;
        return count;
    }

private:
    Cells cells_;
    Matrices matrices_;
    std::size_t start_ = 0;
};

/// The number of true cells, and the first matrix with one.
struct Hidden {
    std::size_t count = 0, group = 0;
};

Hidden count_hidden(const Tensor& mask) {
    const Cells cells(mask);
    const Matrices matrices(mask);
    Hidden hidden;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        if (cells[i] == 0) continue;
        if (hidden.count++ == 0) hidden.group = i / matrices.cells();
    }
    return hidden;
}

/// Explains in words why cells are hidden, if the mask of matrix `group` has only such cells.
std::string mask_reason(const Subject& subject, std::size_t group) {
    const Plan& plan = subject.plan;
    if (plan.config.mask.given) return {};
    const Visibility visibility(plan);
    const MaskCells mask(subject.tensor, group);
    const Excerpt& excerpt = subject.excerpt;
    std::vector<std::pair<const MaskKind*, HiddenCells>> kinds;
    for (const MaskKind& kind : mask_kinds()) {
        if (kind.chosen(plan.config.mask)) kinds.emplace_back(&kind, HiddenCells(kind, plan));
    }
    std::set<const MaskKind*> hiding;
    for (std::size_t b = 0; b < excerpt.count("batch", plan.batch); ++b) {
        const bool compared = excerpt.index("batch", b) == batch_of(subject, group);
        for (std::size_t q = 0; q < excerpt.count("query", plan.query_len); ++q) {
            for (std::size_t k = 0; k < excerpt.count("key", plan.key_len); ++k) {
                const ScoreCell cell{excerpt.index("batch", b), 0, excerpt.index("query", q),
                                     excerpt.index("key", k)};
                if (compared && mask.hidden(q, k) != visibility.hides(cell)) return {};
                for (const auto& [kind, cells] : kinds) {
                    if (cells.hides(cell)) hiding.insert(kind);
                }
            }
        }
    }
    std::string reason;
    for (const MaskKind& kind : mask_kinds()) {
        if (!hiding.contains(&kind)) continue;
        reason += (reason.empty() ? "" : ", and ") + kind.keys(plan);
    }
    return reason;
}

/// Describes the keys that one query sees: `only itself`, `no key`, `all 6 keys`, `2 of the 6
/// keys`.
std::string visible_keys_text(const Subject& subject, const MaskCells& mask, std::size_t group,
                              std::size_t query) {
    const std::size_t keys = subject.excerpt.count("key", subject.plan.key_len);
    const std::string shown = subject.excerpt.has_all("key") ? "" : " shown";
    const std::size_t visible = mask.visible(query, keys);
    if (visible == 0) return shown.empty() ? "no key at all" : "none of the keys shown";
    if (visible == 1) {
        std::size_t key = 0;
        while (mask.hidden(query, key)) ++key;
        return (keys == 1 ? "" : "only ") + seen_label(subject, query, key, group);
    }
    if (visible == keys) return "all " + counted(visible, "key") + shown;
    return std::to_string(visible) + " of the " + counted(keys, "key") + shown;
}

/// Describes the queries with the fewest and the most visible keys.
std::string visible_keys_sentence(const Subject& subject, std::size_t group) {
    const MaskCells mask(subject.tensor, group);
    const std::size_t queries = subject.excerpt.count("query", subject.plan.query_len);
    const std::size_t keys = subject.excerpt.count("key", subject.plan.key_len);
    std::size_t least = 0;
    std::size_t most = 0;
    std::size_t fewest = mask.visible(0, keys);
    std::size_t greatest = fewest;
    for (std::size_t q = 1; q < queries; ++q) {
        const std::size_t visible = mask.visible(q, keys);
        if (visible < fewest) fewest = mask.visible(least = q, keys);
        if (visible > greatest) greatest = mask.visible(most = q, keys);
    }
    const std::string where = in_matrix(subject, group);
    const bool same = fewest == greatest;
    const std::string every =
        subject.excerpt.has_all("query") ? "every query" : "every query shown";
    std::string who = same && queries > 1 ? every : row_label(subject, least, group);
    if (where.empty()) who = capitalised(who);
    if (same && fewest == 1 && queries > 1) {
        const bool all = subject.excerpt.has_all("key");
        return where + who + " sees " + (all ? "a single key." : "one of the keys shown.");
    }
    std::string sentence = where + who + " sees " + visible_keys_text(subject, mask, group, least);
    if (!same) {
        sentence += ", " + row_label(subject, most, group) + " sees " +
                    visible_keys_text(subject, mask, group, most);
    }
    return sentence + ".";
}

/// The number of cells with -inf, and the fully masked rows of the first matrix.
struct MinusInfinities {
    std::size_t cells = 0;
    Rows rows;
};

MinusInfinities count_minus_infinity(const Tensor& scores) {
    const Cells cells(scores);
    const Matrices matrices(scores);
    MinusInfinities found;
    std::size_t in_row = 0;
    for (std::size_t i = 0; i < matrices.cells(); ++i) {
        if (i % matrices.columns == 0) in_row = 0;
        if (cells[i] != -std::numeric_limits<double>::infinity()) continue;
        ++found.cells;
        if (++in_row == matrices.columns) found.rows.add(i / matrices.columns);
    }
    return found;
}

/// Describes the result of fully masked rows.
std::string empty_rows_sentence(const Subject& subject, const Rows& rows) {
    if (rows.count == 0 || !subject.excerpt.has_all("key")) return {};
    std::string sentence =
        capitalised(named(subject, rows)) + (rows.count == 1 ? " sees" : " see") + " no key";
    if (subject.has("sink")) {
        sentence += ": the sink will take all the weight";
    } else if (subject.plan.config.softmax_axis == SoftmaxAxis::key) {
        const bool zero = subject.plan.config.empty_row == EmptyRow::zero;
        sentence += zero ? ": the weights of such a row will be 0, as set"
                         : ": all its scores are -inf, and softmax computes 0/0 = nan";
    }
    return sentence + ".";
}

std::string mask_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    if (subject.tensor.size() > most_cells || plan.query_len * plan.key_len > most_cells) {
        return "True means that the query may not see the key.";
    }
    const Hidden hidden = count_hidden(subject.tensor);
    if (hidden.count == 0) {
        return subject.excerpt.is_whole()
                   ? "Nothing is hidden: every query may see every key."
                   : "Nothing shown is hidden: each of these queries may see each of these keys.";
    }
    std::string note = "True means hidden: " + std::to_string(hidden.count) + " of " +
                       counted(subject.tensor.size(), "cell") + shown_here(subject);
    const std::string reason = mask_reason(subject, hidden.group);
    note += reason.empty() ? "." : ", " + reason + ".";
    append_sentence(note, visible_keys_sentence(subject, hidden.group));
    for (const MaskKind& kind : mask_kinds()) {
        if (kind.elsewhere && kind.chosen(plan.config.mask))
            append_sentence(note, kind.elsewhere(plan));
    }
    return note;
}

/// Names the kinds of mask that hide a cell, and the reasons.
std::string mask_reason_of_cell(const WalkView& view) {
    const auto index = [&](const char* axis) {
        const auto found = view.place.find(axis);
        return found == view.place.end() ? std::size_t{0} : found->second;
    };
    const ScoreCell cell{index("batch"), index("head"), index("query"), index("key")};
    // A mistake may join the keys of all samples: no kind of mask describes those cells.
    const bool is_of_walk = cell.query < view.plan.query_len && cell.key < view.plan.key_len;
    std::string reason;
    for (const MaskKind& kind : mask_kinds()) {
        if (!is_of_walk || !kind.chosen(view.plan.config.mask)) continue;
        if (!HiddenCells(kind, view.plan, cell.query, 1).hides(cell)) continue;
        reason += (reason.empty() ? "" : " and ") + kind.reason(view.plan, cell);
    }
    const bool hidden = view.at(view.step.name).value != 0;
    if (reason.empty()) reason = hidden ? "this mask hides it" : "nothing hides it";
    return (hidden ? "hidden: " : "visible: ") + reason;
}

std::string masked_note(const Subject& subject) {
    const Matrices matrices(subject.tensor);
    const std::string rule = "Hidden cells become -inf, so that their weights are exactly 0.";
    const Tensor* mask = subject.ledger.find("mask");
    const bool readable = mask != nullptr && mask->size() <= most_cells && matrices.readable() &&
                          has_rows_of_keys(subject.tensor);
    if (!readable) return rule;
    if (count_hidden(*mask).count == 0) {
        return "Nothing" + shown_here(subject) + " was hidden, so the scores stay as they are.";
    }
    const MinusInfinities found = count_minus_infinity(subject.tensor);
    const MaskCells first(*mask, 0);
    std::size_t expected = 0;
    for (std::size_t q = 0; q < matrices.rows; ++q) {
        expected += matrices.columns - first.visible(q, matrices.columns);
    }
    if (found.cells < expected) return "Cells that the mask hides are not all -inf here.";
    std::string note = rule;
    if (const std::optional<MatrixCell> largest = largest_cell(subject.tensor, 0)) {
        append_sentence(note, "The largest score left" +
                                  (subject.excerpt.is_whole() ? std::string() : " here") +
                                  within_matrix(subject) + " is " + number(largest->value) +
                                  (largest->alone ? ": " : ", first at ") +
                                  pair_text(subject, *largest) + ".");
    }
    append_sentence(note, empty_rows_sentence(subject, found.rows));
    return note;
}

}  // namespace

NoteTable mask_notes() {
    return {{"mask", mask_note, mask_reason_of_cell}, {"masked_scores", masked_note}};
}

}  // namespace attn::notes
