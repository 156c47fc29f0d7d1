#include "attn/explain/notes/step_notes.hpp"

#include "attn/core/cards/cards.hpp"
#include "attn/core/plan/merged.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {
namespace {

/// True if the subject has one of `count` indices of an axis, from `first` on.
bool looks_at(const Subject& subject, const std::string& axis, std::size_t first,
              std::size_t count) {
    for (std::size_t i = 0; i < subject.tensor.extent(axis); ++i) {
        const std::size_t index = subject.excerpt.index(axis, i);
        if (index >= first && index < first + count) return true;
    }
    return false;
}

std::string bias_sentence(const PlannedStep& of, const std::string& parameter) {
    const std::string name = "b_" + parameter;
    if (!find_step(of.table, name).applies(of.plan)) return {};
    return "The bias " + name + " adds the same vector to each token.";
}

std::string qkv_order(const Subject& subject, const std::string& what, const std::string& axis) {
    const Plan& plan = subject.plan;
    const std::size_t d = plan.head_dim;
    if (plan.config.projection == Projection::fused_by_head && plan.heads > 1) {
        const std::size_t each = 2 * d + plan.value_dim;
        return capitalised(what) + "s go head by head, " + std::to_string(each) +
               " per head: first " + std::to_string(d) + " for its query, then " +
               std::to_string(d) + " for its key and " + std::to_string(plan.value_dim) +
               " for its value";
    }
    std::string text;
    std::size_t first = 0;
    for (const Projected& part : query_key_value()) {
        const std::size_t count = part.all_features(plan);
        if (looks_at(subject, axis, first, count)) {
            text += (text.empty() ? capitalised(numbered(what, first, count)) +
                                        (count == 1 ? " makes " : " make ")
                                  : ", " + numbered(what, first, count) + " ") +
                    part.name;
        }
        first += count;
    }
    return text;
}

std::string head_features(const Subject& subject, const Projected& part) {
    if (part.heads(subject.plan) == 1) return "all of them belong to the one head";
    const std::size_t width = part.width(subject.plan);
    return features_of_heads(heads_in(subject, width), width, "belong", "to");
}

std::string projected_note(const Subject& subject, const Projected& part) {
    const Plan& plan = subject.plan;
    std::string note = "Each token's " + counted(part.inputs(plan), "feature") + " of " +
                       part.source(plan) + " are mixed into the " + part.name +
                       " features of all heads: " + head_features(subject, part) + ".";
    append_sentence(note, bias_sentence(subject, part.parameter(plan)));
    return note;
}

std::string weight_note(const std::string& part, const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::string line = *plan.config.weight_layout == WeightLayout::out_in ? "row" : "column";
    const std::string source = part == "output"
                                   ? subject.ledger.find_latest(Chain::contexts, "output")->name
                               : part == "qkv" ? plan.projected_x()
                                               : projected_of(part.front()).source(plan);
    const bool headed = subject.tensor.has_axis("head");
    std::string note = "Each " + line + (headed ? " of each head's matrix" : "") +
                       " has the factors that compute one feature of " +
                       (part == "qkv" ? "query, key or value" : part) + " from those of " + source +
                       (part == "qkv" && plan.has_memory ? " or memory" : "") + ".";
    if (part == "qkv") append_sentence(note, qkv_order(subject, line, "out") + ".");
    return note;
}

std::string bias_note(const Subject& subject) {
    const bool headed = subject.tensor.has_axis("head");
    std::string note = std::string("Added to each token alike: one number for each feature") +
                       (headed ? " of each head." : ".");
    const Matrices matrices(subject.tensor);
    if (matrices.all_readable() && zero_rows(subject.tensor, 0).count == matrices.rows) {
        append_sentence(note, "All of them are 0, so nothing changes yet.");
    }
    return note;
}

/// Describes the origin of this part, for any projection.
std::string origin(const Subject& subject, const Projected& part) {
    const Plan& plan = subject.plan;
    const std::string source = part.source(plan);
    const std::size_t width = part.width(plan);
    const std::string mixed = "the " + counted(part.inputs(plan), "feature") + " of " + source +
                              " into " + counted(width, "new one");
    if (splits_projected(plan)) {
        return "Split into " + counted(part.heads(plan), "head") + " of " +
               counted(width, "feature") + ": in projected_" + part.name + ", " +
               head_features(subject, part) + ".";
    }
    if (one_product(plan)) {
        return "A slice of qkv: " + counted(width, "feature") + " for each of " +
               counted(part.heads(plan), "head") + ".";
    }
    if (!projects(plan)) {
        const bool is_given = plan.config.parameters.has(part.name);
        if (!plan.has_x() && is_given) return "Taken as given: there is no x and no projection.";
        if (!plan.has_x()) return "Drawn directly at random: there is no x and no projection.";
        return "No projection: these are the features of " + source + " themselves" +
               (plan.has_head
                    ? ", split into " + counted(plan.heads, "head") + " of " + std::to_string(width)
                    : "") +
               ".";
    }
    if (plan.head_axis_on_weight()) {
        return "Each head has a matrix of its own, which mixes " + mixed + ".";
    }
    return "The matrix w_" + part.parameter(plan) + " mixes " + mixed + ".";
}

/// Names the token with the longest row: its dot products can be largest.
std::string longest_sentence(const Subject& subject, Side side) {
    const std::optional<MatrixCell> longest = longest_row(subject.tensor, 0);
    if (!longest) return {};
    const std::string name =
        side == Side::key ? column_label(subject, longest->row) : row_label(subject, longest->row);
    return of_first_matrix(subject, name + " has the longest " + subject.step.name +
                                        shown_here(subject) + " (" + number(longest->value) +
                                        "): the longer it is, the larger its scores can be.");
}

std::string zero_queries_sentence(const Subject& subject, const Rows& zero) {
    return of_first_matrix(
        subject, named(subject, zero) + (zero.count == 1
                                             ? " has a zero query, so all its scores are 0."
                                             : " have zero queries, so all their scores are 0."));
}

std::string part_note(const Subject& subject, const Projected& part) {
    const Plan& plan = subject.plan;
    std::string note = origin(subject, part);
    if (projects(plan) && !splits_projected(plan) && !one_product(plan)) {
        append_sentence(note, bias_sentence(subject, part.parameter(plan)));
    }
    if (part.letter() == 'v') {
        append_sentence(note, "A query that attended to " + column_label(subject, 0) +
                                  " alone would receive its row unchanged.");
        return note;
    }
    if (!Matrices(subject.tensor).readable() || !subject.excerpt.has_all("feature")) return note;
    const Side side = part.letter() == 'q' ? Side::query : Side::key;
    const Rows zero = zero_rows(subject.tensor, 0);
    if (side == Side::query && zero.count > 0) {
        append_sentence(note, zero_queries_sentence(subject, zero));
    } else {
        append_sentence(note, longest_sentence(subject, side));
    }
    return note;
}

std::string latent_part_note(const Plan& plan, const Projected& part) {
    const bool is_key = part.letter() == 'k';
    if (plan.absorbs()) {
        return is_key
                   ? "One key for all heads: the latent itself, and the part that rotates after "
                     "it. Keys of " +
                         counted(plan.heads, "head") +
                         " are never computed, because the queries were multiplied by their matrix."
                   : "The latent itself, instead of the values of all heads: it becomes values "
                     "after the weighted sum.";
    }
    if (!is_key) {
        return "Split into " + counted(plan.heads, "head") + " of " +
               counted(plan.value_dim, "feature") + ", each stored after the key of its head.";
    }
    return counted(still_dim(plan), "feature") + " of each head's own, then " +
           std::to_string(2 * plan.rotary_pairs()) +
           " that are the same in all heads: the part that will rotate.";
}

std::string merged_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::size_t width = merged_width(plan);
    if (merged_heads(plan) == 1) return "There is one head, so only the head axis is removed.";
    return "The heads of each token side by side: " +
           features_of_heads(heads_in(subject, width), width, "come", "from") +
           ". Nothing is computed: the numbers only change places.";
}

std::string output_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const Ledger::Entry& before = *subject.ledger.find_latest(Chain::contexts, "output");
    const std::size_t read = before.tensor.shape().back();
    std::string note = plan.has_head && merged_heads(plan) > 1
                           ? "Here the heads are combined: every output feature reads all " +
                                 counted(read, "feature") + " of all heads."
                           : "Every output feature is a mix of the " + counted(read, "feature") +
                                 " of " + before.name + ".";
    if (subject.ledger.has("b_output")) {
        append_sentence(note, "The bias b_output adds the same vector to each token.");
    }
    if (subject.excerpt.length("feature", subject.tensor.shape().back()) == plan.embed_dim) {
        append_sentence(note, "Each token has " + counted(plan.embed_dim, "feature") +
                                  " again, as many as in x.");
    }
    return note;
}

}  // namespace

NoteTable projection_notes() {
    NoteTable table{{"merged", merged_note}, {"output", output_note}};
    for (const Projected& part : query_key_value()) {
        table.push_back({part.name, [part](const Subject& subject) {
                             return subject.plan.has_latent() && part.letter() != 'q'
                                        ? latent_part_note(subject.plan, part)
                                        : part_note(subject, part);
                         }});
        table.push_back({"projected_" + part.name,
                         [part](const Subject& subject) { return projected_note(subject, part); }});
    }
    table.push_back({"qkv", [](const Subject& subject) {
                         std::string note = qkv_order(subject, "feature", "feature") + ".";
                         append_sentence(note, bias_sentence(subject, "qkv"));
                         return note;
                     }});
    for (const std::string part : {"query", "key", "value", "qkv", "output"}) {
        table.push_back(
            {"w_" + part, [part](const Subject& subject) { return weight_note(part, subject); }});
        table.push_back({"b_" + part, bias_note});
    }
    return table;
}

}  // namespace attn::notes
