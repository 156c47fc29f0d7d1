#include "attn/explain/notes/step_notes.hpp"

#include <numbers>

#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/score_bias.hpp"
#include "attn/core/steps/position_bias.hpp"
#include "attn/core/steps/rotate.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"

namespace attn::notes {
namespace {

std::string positions_note(const Subject& subject) {
    return subject.plan.rotates()
               ? "With rotary positions only their differences matter to the scores."
               : "Each position adds its own row to the token there.";
}

/// Explains why the frequencies differ from those of theta.
std::string scaling_sentence(const Plan& plan) {
    const std::optional<RopeScaling>& scaling = plan.config.rotary.scaling;
    if (!scaling) return {};
    const std::string factor = json_number(scaling->factor);
    switch (scaling->kind) {
        case RopeScaling::Kind::linear:
            return "All pairs rotate " + factor + " times slower than without scaling.";
        case RopeScaling::Kind::dynamic:
            if (plan.rotary_base() == plan.config.rotary.theta) {
                return "No position is beyond " + json_number(scaling->length) +
                       ", so the base stays as it was.";
            }
            return "Positions go beyond " + json_number(scaling->length) +
                   ": the base grows from " + json_number(plan.config.rotary.theta) + " to " +
                   brief(plan.rotary_base()) + ".";
        case RopeScaling::Kind::longrope: {
            const bool is_long = scaling->exceeds(plan.rotary_tokens());
            return (is_long ? "Positions go beyond " : "No position is beyond ") +
                   json_number(scaling->length) + ": the " + (is_long ? "long" : "short") +
                   " list of factors sets how much slower each pair rotates.";
        }
        case RopeScaling::Kind::llama3:
        case RopeScaling::Kind::yarn:
            break;
    }
    return "Fast pairs rotate as in training, slow ones " + factor +
           " times slower, and those between are blended.";
}

std::string inverse_frequencies_note(const Subject& subject) {
    const Cells cells(subject.tensor);
    const std::size_t last = subject.tensor.size() - 1;
    const auto rotation = [&](std::size_t pair) {
        return brief(2 * std::numbers::pi / cells[pair]) + " positions";
    };
    const auto pair = [&](std::size_t i) {
        return std::to_string(subject.excerpt.index("pair", i));
    };
    std::string note = "Pair " + pair(0) + " makes a full turn in " + rotation(0);
    if (last > 0) note += ", pair " + pair(last) + " in " + rotation(last);
    note += ".";
    append_sentence(note, scaling_sentence(subject.plan));
    return note;
}

/// Describes the first token that is rotated: its first pair before and after.
std::string rotated_pair(const Subject& subject) {
    const Plan& plan = subject.plan;
    const bool is_key = subject.step.chain == Chain::keys;
    const Standing standing{is_key && plan.has_memory};
    const Ledger::Entry* before = subject.ledger.find_latest(subject.step.chain, subject.step.name);
    if (before == nullptr || before->tensor.shape() != subject.tensor.shape()) return {};
    if (!subject.excerpt.has_all_in_order("feature")) return {};
    const std::vector<std::int64_t>& positions = standing.positions(plan);
    const std::string& rows = subject.tensor.axes()[subject.tensor.dimension() - 2];
    const std::size_t tokens = Matrices(subject.tensor).rows;
    const auto position = [&](std::size_t token) {
        return positions[subject.excerpt.index(rows, token)];
    };
    std::size_t token = 0;
    while (token < tokens && position(token) == 0) ++token;
    if (token == tokens) {
        return tokens > 1 ? "All tokens are at position 0, where nothing rotates."
                          : "The token is at position 0, where nothing rotates.";
    }
    auto [a, b] = feature_pair(*plan.config.rotary.pairing, 0, 2 * plan.rotary_pairs());
    const std::size_t width = subject.tensor.shape().back();
    a += plan.first_rotated(width);
    b += plan.first_rotated(width);
    const std::size_t row = token * width;
    const auto pair = [&, a = a, b = b](const Tensor& tensor) {
        const Cells cells(tensor);
        return "(" + number(cells[row + a]) + ", " + number(cells[row + b]) + ")";
    };
    const std::string who = is_key ? column_label(subject, token) : row_label(subject, token);
    return in_matrix(subject) + "features " + std::to_string(a) + " and " + std::to_string(b) +
           " of " + who + ", at position " + std::to_string(position(token)) + ", rotate from " +
           pair(before->tensor) + " to " + pair(subject.tensor) + ".";
}

std::string rotated_note(const Subject& subject) {
    const double factor = subject.plan.rotary_factor();
    std::string note =
        "Each pair of features rotates by its angle and " +
        (factor == 1 ? "keeps its length." : "becomes " + brief(factor) + " times as long.");
    append_sentence(note, capitalised(rotated_pair(subject)));
    if (subject.step.chain == Chain::keys) {
        append_sentence(
            note,
            "A score now depends on the distance between query and key, not on their positions.");
    }
    return note;
}

std::string position_bias_note(const Subject& subject) {
    if (is_alibi(subject.plan)) {
        return "The further away a key is, the more is subtracted from its score. Nothing is "
               "learned, and query and key do not change.";
    }
    if (is_t5(subject.plan)) {
        return "A learned number for each distance and head. T5 does not scale its scores, and has "
               "no such bias in cross-attention.";
    }
    return "Added to the scores as it was given.";
}

std::string slopes_note(const Subject& subject) {
    const Cells slopes(subject.tensor);
    const Excerpt& excerpt = subject.excerpt;
    const std::size_t last = subject.tensor.size() - 1;
    const std::size_t heads = excerpt.length("head", last + 1);
    const auto head = [&](std::size_t i) {
        return "head " + std::to_string(excerpt.index("head", i)) + " ";
    };
    std::string note =
        capitalised(head(0)) + "loses " + number(slopes[0]) + " for each token of distance";
    if (last > 0) note += ", " + head(last) + number(slopes[last]);
    note += ": a head with a small slope looks far back.";
    if (regular_heads(subject.plan) != heads) {
        append_sentence(note, std::to_string(heads) +
                                  " is not a power of two, so the slopes are not in order.");
    }
    return note;
}

std::string buckets_note(const Subject& subject) {
    const BucketRule rule = bucket_rule(subject.plan);
    return "Distances below " + std::to_string(rule.exact()) +
           " have a bucket each, larger ones share one, and from " +
           std::to_string(rule.max_distance) + " on all are in the last." +
           (rule.bidirectional
                ? " Later keys have buckets of their own."
                : " A causal mask hides later keys, so all buckets are for earlier ones.");
}

}  // namespace

NoteTable position_notes() {
    NoteTable table{
        {"inverse_frequencies", inverse_frequencies_note},
        {"rotated_query", rotated_note},
        {"rotated_key", rotated_note},
        {"slopes", slopes_note},
        {"relative_attention_bias", fixed_note("One row for each bucket of distances. T5 has it in "
                                               "the first layer, and all layers share it.")},
        {"buckets", buckets_note},
        {"position_bias", position_bias_note},
        {"biased_scores", fixed_note("Softmax sees content and position in one number: exp(score + "
                                     "bias) = exp(score) * exp(bias).")},
    };
    for (const Standing standing : {Standing{false}, Standing{true}}) {
        table.push_back({standing.name("positions"), positions_note});
        table.push_back({standing.name("angles"),
                         fixed_note("One row of angles for each token: twice the position, twice "
                                    "the angle. A token at position 0 does not rotate.")});
        table.push_back({standing.name("cos"),
                         fixed_note("How much of itself a feature keeps when its pair rotates.")});
        table.push_back({standing.name("sin"),
                         fixed_note("How much a feature takes from its partner in the pair.")});
    }
    return table;
}

}  // namespace attn::notes
