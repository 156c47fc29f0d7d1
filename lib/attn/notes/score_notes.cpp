#include <cmath>
#include <limits>

#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/note_parts.hpp"
#include "attn/text/numbers.hpp"

namespace attn::notes {
namespace {

/// True where the last two axes are query and key: only then rows and columns have names.
bool compares_tokens(const Tensor& tensor) {
    const Axes& axes = tensor.axes();
    return axes.size() >= 2 && axes[axes.size() - 2] == "query" && axes.back() == "key";
}

/// `'short' with 'eat'`: the query and the key of a cell.
std::string pair_text(const Plan& plan, std::size_t batch, const Place& place) {
    return row_label(plan, batch, place.row) + " with " +
           seen_label(plan, batch, place.row, place.column);
}

/// Rows of the first matrix whose finite scores are all the same, and rows that hold nan.
struct ScoreRows {
    Rows equal, holding_nan;
};

ScoreRows survey(const Tensor& scores) {
    const Matrices matrices(scores);
    const Cells cells(scores);
    ScoreRows found;
    for (std::size_t row = 0; row < matrices.rows; ++row) {
        bool equal = matrices.columns > 1 && std::isfinite(cells[row * matrices.columns]);
        bool has_nan = false;
        for (std::size_t c = 0; c < matrices.columns; ++c) {
            const double score = cells[row * matrices.columns + c];
            has_nan = has_nan || std::isnan(score);
            equal = equal && score == cells[row * matrices.columns];
        }
        if (equal) found.equal.add(row);
        if (has_nan) found.holding_nan.add(row);
    }
    return found;
}

std::string equal_rows_sentence(const Subject& subject, const Rows& equal) {
    if (equal.count == 0) return {};
    const std::size_t batch = batch_of(subject.tensor, 0);
    const double score = Cells(subject.tensor)[equal.first * Matrices(subject.tensor).columns];
    return "All scores of " + named(subject.plan, batch, equal) + " are equal" +
           (equal.count == 1 ? " (" + number(score) + ")" : "") + ": no key stands out.";
}

std::string nan_rows_sentence(const Subject& subject, const Rows& rows) {
    if (rows.count == 0) return {};
    return "There is nan among the scores of " +
           named(subject.plan, batch_of(subject.tensor, 0), rows) +
           ", carried over from query or key.";
}

/// How the scale is written: `divided by 2 = sqrt(head_dim)`.
std::string scale_text(const Plan& plan) {
    const std::string by = brief(plan.scale.number);
    switch (plan.config.scale.by) {
        case ScaleChoice::By::head_dim:
            return "divided by " + by + ", the root of head_dim " + std::to_string(plan.head_dim);
        case ScaleChoice::By::embed_dim:
            return "divided by " + by + ", the root of embed_dim " +
                   std::to_string(plan.embed_dim) +
                   (plan.embed_dim == plan.head_dim ? "" : " (the paper takes head_dim)");
        default:
            return "multiplied by " + by;
    }
}

double scaled(const Plan& plan, double score) {
    return plan.scale.operation == ScaleFactor::Operation::divide ? score / plan.scale.number
                                                                  : score * plan.scale.number;
}

/// The mask as the scores see it: an axis of length 1 serves every index.
class MaskView {
public:
    MaskView(const Tensor& mask, std::size_t group) : cells_(mask), matrices_(mask) {
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

/// How many cells are true, and the first matrix that has one.
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

/// True where the plan's causal or padding rule hides this cell.
bool rule_hides(const Plan& plan, std::size_t batch, std::size_t query, std::size_t key) {
    const bool shifts = plan.config.causal_align == CausalAlign::end;
    const bool later = shifts ? key + plan.query_len > query + plan.key_len : key > query;
    const std::size_t places = plan.key_padding.size();
    const bool padding =
        places > 0 && plan.key_padding.data()[(batch * plan.key_len + key) % places];
    return (plan.config.mask.causal && later) || (plan.config.mask.padding && padding);
}

/// Why cells are hidden, in words, where the mask holds to it in matrix `group`.
std::string mask_reason(const Subject& subject, std::size_t group) {
    const Plan& plan = subject.plan;
    if (plan.config.mask.given) return {};
    const MaskView mask(subject.tensor, group);
    const std::size_t batch = batch_of(subject.tensor, group);
    for (std::size_t q = 0; q < plan.query_len; ++q) {
        for (std::size_t k = 0; k < plan.key_len; ++k) {
            if (mask.hidden(q, k) != rule_hides(plan, batch, q, k)) return {};
        }
    }
    const bool shifted =
        plan.config.causal_align == CausalAlign::end && plan.key_len != plan.query_len;
    const std::string later = shifted ? "keys that come later than the query, counted from the end"
                                      : "keys that come after the query";
    if (!plan.config.mask.padding) return later;
    return plan.config.mask.causal ? later + ", and padding" : "keys that are padding";
}

/// `only itself`, `no key`, `all 6 keys`, `2 of the 6 keys`: what one query sees.
std::string sight(const Subject& subject, const MaskView& mask, std::size_t batch,
                  std::size_t query) {
    const Plan& plan = subject.plan;
    const std::size_t visible = mask.visible(query, plan.key_len);
    if (visible == 0) return "no key at all";
    if (visible == 1) {
        std::size_t key = 0;
        while (mask.hidden(query, key)) ++key;
        return "only " + seen_label(plan, batch, query, key);
    }
    if (visible == plan.key_len) return "all " + counted(visible, "key");
    return std::to_string(visible) + " of the " + counted(plan.key_len, "key");
}

/// Who sees least and who sees most.
std::string sight_sentence(const Subject& subject, std::size_t group) {
    const Plan& plan = subject.plan;
    const MaskView mask(subject.tensor, group);
    std::size_t least = 0;
    std::size_t most = 0;
    std::size_t fewest = mask.visible(0, plan.key_len);
    std::size_t greatest = fewest;
    for (std::size_t q = 1; q < plan.query_len; ++q) {
        const std::size_t visible = mask.visible(q, plan.key_len);
        if (visible < fewest) fewest = mask.visible(least = q, plan.key_len);
        if (visible > greatest) greatest = mask.visible(most = q, plan.key_len);
    }
    const std::size_t batch = batch_of(subject.tensor, group);
    const std::string where = in_matrix(subject.tensor, group);
    const bool same = fewest == greatest;
    std::string who = same && plan.query_len > 1 ? "every query" : row_label(plan, batch, least);
    if (where.empty()) who = capitalised(who);
    if (same && fewest == 1 && plan.query_len > 1) return where + who + " sees a single key.";
    std::string sentence = where + who + " sees " + sight(subject, mask, batch, least);
    if (!same) {
        sentence +=
            ", " + row_label(plan, batch, most) + " sees " + sight(subject, mask, batch, most);
    }
    return sentence + ".";
}

/// How many cells are -inf, and the rows of the first matrix in which all are.
struct Silenced {
    std::size_t cells = 0;
    Rows rows;
};

Silenced count_silenced(const Tensor& scores) {
    const Cells cells(scores);
    const Matrices matrices(scores);
    Silenced silenced;
    std::size_t in_row = 0;
    for (std::size_t i = 0; i < matrices.cells(); ++i) {
        if (i % matrices.columns == 0) in_row = 0;
        if (cells[i] != -std::numeric_limits<double>::infinity()) continue;
        ++silenced.cells;
        if (++in_row == matrices.columns) silenced.rows.add(i / matrices.columns);
    }
    return silenced;
}

/// What becomes of the rows that see no key.
std::string empty_rows_sentence(const Subject& subject, const Rows& rows) {
    if (rows.count == 0) return {};
    std::string sentence = capitalised(named(subject.plan, batch_of(subject.tensor, 0), rows)) +
                           (rows.count == 1 ? " may see" : " may all see") + " no key";
    if (subject.plan.config.softmax_axis == SoftmaxAxis::key) {
        const bool zero = subject.plan.config.empty_row == EmptyRow::zero;
        sentence += zero ? ": as asked, the weights of such a row will be 0"
                         : ": softmax has nothing to share out and will give nan";
    }
    return sentence + ".";
}

}  // namespace

std::string scores_note(const Subject& subject) {
    const Matrices matrices(subject.tensor);
    std::string note =
        "Each query meets each key in a dot product: the larger, the better they "
        "match.";
    if (!compares_tokens(subject.tensor) || !matrices.readable()) return note;
    const ScoreRows rows = survey(subject.tensor);
    const std::optional<Place> largest = largest_cell(subject.tensor, 0);
    if (largest && rows.equal.count < matrices.rows) {
        const bool only = matrices.cells() == 1;
        say(note, std::string(only ? "The only score" : "The largest") +
                      within_matrix(subject.tensor, 0) + " is " + number(largest->value) +
                      (largest->alone ? ": " : ", first at ") +
                      pair_text(subject.plan, batch_of(subject.tensor, 0), *largest) + ".");
    }
    say(note, equal_rows_sentence(subject, rows.equal));
    say(note, nan_rows_sentence(subject, rows.holding_nan));
    return note;
}

std::string scaled_scores_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    std::string note = "Every score is " + scale_text(plan) + ".";
    if (plan.scale.number == 1) say(note, "That changes nothing here.");
    if (plan.scale.number == 0) say(note, "All become equal, so no key stands out.");
    if (plan.scale.number < 0) say(note, "That turns their order round.");
    const Tensor* before = subject.ledger.find("scores");
    if (before == nullptr || before->shape() != subject.tensor.shape() ||
        !compares_tokens(*before) || !Matrices(*before).readable()) {
        return note;
    }
    const std::optional<Place> largest = largest_cell(*before, 0);
    if (!largest) return note;
    const std::size_t cell = largest->row * Matrices(*before).columns + largest->column;
    const double after = Cells(subject.tensor)[cell];
    const double expected = scaled(plan, largest->value);
    const bool as_told = std::abs(after - expected) <= 1e-3 * std::abs(expected) + 1e-30;
    if (!as_told && std::isfinite(expected)) note.clear();
    if (plan.scale.number == 1 && as_told) return note;
    say(note, "The largest" + within_matrix(*before, 0) + " goes from " + number(largest->value) +
                  " to " + number(after) + ".");
    if (as_told && plan.config.scale.by == ScaleChoice::By::head_dim) {
        say(note, "Without this, long heads would push softmax towards a single key.");
    }
    return note;
}

std::string mask_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    if (subject.tensor.size() > most_cells || plan.query_len * plan.key_len > most_cells) {
        return "Where it says true, the query may not see the key.";
    }
    const Hidden hidden = count_hidden(subject.tensor);
    if (hidden.count == 0) return "Nothing is hidden: every query may see every key.";
    std::string note = "True hides: " + std::to_string(hidden.count) + " of " +
                       counted(subject.tensor.size(), "cell");
    const std::string reason = mask_reason(subject, hidden.group);
    note += reason.empty() ? "." : ", " + reason + ".";
    say(note, sight_sentence(subject, hidden.group));
    return note;
}

std::string masked_scores_note(const Subject& subject) {
    const Matrices matrices(subject.tensor);
    const std::string rule = "Hidden cells become -inf, so that softmax gives them exactly 0.";
    const Tensor* mask = subject.ledger.find("mask");
    const bool readable = mask != nullptr && mask->size() <= most_cells && matrices.readable() &&
                          compares_tokens(subject.tensor);
    if (!readable) return rule;
    if (count_hidden(*mask).count == 0)
        return "Nothing was hidden, so the scores stay as they are.";
    const Silenced silenced = count_silenced(subject.tensor);
    const MaskView first(*mask, 0);
    std::size_t expected = 0;
    for (std::size_t q = 0; q < matrices.rows; ++q) {
        expected += matrices.columns - first.visible(q, matrices.columns);
    }
    if (silenced.cells < expected) return "Cells that the mask hides are not all -inf here.";
    std::string note = rule;
    if (const std::optional<Place> largest = largest_cell(subject.tensor, 0)) {
        say(note, "The largest score left" + within_matrix(subject.tensor, 0) + " is " +
                      number(largest->value) + (largest->alone ? ": " : ", first at ") +
                      pair_text(subject.plan, batch_of(subject.tensor, 0), *largest) + ".");
    }
    say(note, empty_rows_sentence(subject, silenced.rows));
    return note;
}

}  // namespace attn::notes
