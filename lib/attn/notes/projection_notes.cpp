#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/note_parts.hpp"

namespace attn::notes {
namespace {

/// query, key or value: what stands behind the underscore of a step's name, or the name itself.
std::string part_of(const Subject& subject) {
    const std::size_t underscore = subject.name.rfind('_');
    return std::string(underscore == std::string_view::npos ? subject.name
                                                            : subject.name.substr(underscore + 1));
}

std::size_t width_of(const Plan& plan, const std::string& part) {
    return part == "value" ? plan.value_dim : plan.head_dim;
}

/// The tensor that a part is projected from.
std::string source_name(const Plan& plan, const std::string& part) {
    return part != "query" && plan.has_memory ? "memory" : "x";
}

std::size_t source_width(const Plan& plan, const std::string& part) {
    return part != "query" && plan.has_memory ? plan.memory_dim : plan.embed_dim;
}

/// In which order the features of qkv stand.
std::string fused_order(const Plan& plan, const std::string& what) {
    const std::size_t d = plan.head_dim;
    if (plan.config.projection == Projection::fused_by_head && plan.heads > 1) {
        const std::size_t each = 2 * d + plan.value_dim;
        return capitalised(what) + "s go head by head, " + std::to_string(each) +
               " a head: first " + std::to_string(d) + " for its query, then " + std::to_string(d) +
               " for its key and " + std::to_string(plan.value_dim) + " for its value";
    }
    const std::size_t all = plan.heads * d;
    return capitalised(numbered(what, 0, all)) + (all == 1 ? " makes" : " make") + " query, " +
           numbered(what, all, all) + " key, " +
           numbered(what, 2 * all, plan.heads * plan.value_dim) + " value";
}

/// Which features of a projected tensor are which head's.
std::string head_features(const Plan& plan, std::size_t width) {
    if (plan.heads == 1) return "all of them belong to the one head";
    return numbered("feature", 0, width) + (width == 1 ? " belongs" : " belong") + " to head 0, " +
           numbered("feature", width, width) + " to head 1" + (plan.heads > 2 ? " and so on" : "");
}

/// How this part came to be, whatever the projection.
std::string origin(const Subject& subject, const std::string& part) {
    const Plan& plan = subject.plan;
    const std::string source = source_name(plan, part);
    const std::size_t width = width_of(plan, part);
    const std::string mixed = "the " + counted(source_width(plan, part), "feature") + " of " +
                              source + " into " + std::to_string(width);
    if (subject.ledger.has("projected_" + part)) {
        return "Cut into " + counted(plan.heads, "head") + " of " + counted(width, "feature") +
               ": of projected_" + part + ", " + head_features(plan, width) + ".";
    }
    if (subject.ledger.has("qkv")) {
        return "Taken out of qkv: " + counted(width, "feature") + " for each of " +
               counted(plan.heads, "head") + ".";
    }
    if (plan.config.projection == Projection::none) {
        if (!plan.has_x()) return "Drawn directly at random: there is no x and no projection.";
        return "No projection: these are the features of " + source + " themselves" +
               (plan.has_head
                    ? ", cut into " + counted(plan.heads, "head") + " of " + std::to_string(width)
                    : "") +
               ".";
    }
    if (plan.head_axis_on_weight()) {
        return "Each head has a matrix of its own, which mixes " + mixed + ".";
    }
    return "The matrix w_" + std::string(plan.one_weight() ? "qkv" : part) + " mixes " + mixed +
           ".";
}

/// `b_query adds the same vector to each token.` where the projection of this step has a bias.
std::string bias_sentence(const Subject& subject, const std::string& part) {
    const std::string name = subject.plan.one_weight() ? "b_qkv" : "b_" + part;
    if (!subject.ledger.has(name)) return {};
    return std::string("The bias ") + name + " adds the same vector to each token.";
}

/// The bias where this step adds it, and not one before.
std::string own_bias_sentence(const Subject& subject, const std::string& part) {
    const bool earlier = subject.ledger.has("projected_" + part) || subject.ledger.has("qkv");
    return earlier ? std::string() : bias_sentence(subject, part);
}

/// The token whose row is longest: its dot products can be largest.
std::string longest_sentence(const Subject& subject, Side side, const std::string& what) {
    if (!Matrices(subject.tensor).readable()) return {};
    const std::optional<Place> longest = longest_row(subject.tensor, 0);
    if (!longest) return {};
    const std::size_t batch = batch_of(subject.tensor, 0);
    const std::string name = label(subject.plan, side, batch, longest->row);
    const std::string where = in_matrix(subject.tensor, 0);
    return where + (where.empty() ? capitalised(name) : name) + " has the longest " + what + " (" +
           number(longest->value) + "): the longer it is, the larger its scores can be.";
}

}  // namespace

std::string weight_parameter_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::string part = part_of(subject);
    const bool output = part == "output";
    const bool out_in =
        !plan.config.weight_layout || *plan.config.weight_layout == WeightLayout::out_in;
    const std::string line = out_in ? "row" : "column";
    const std::string source =
        output ? (plan.has_head ? "merged" : "context") : source_name(plan, part);
    const bool headed = subject.tensor.has_axis("head");
    std::string note = "Each " + line + (headed ? " of each head's matrix" : "") +
                       " holds the factors that make one feature of " +
                       (part == "qkv" ? "query, key or value" : part) + " from those of " + source +
                       (part == "qkv" && plan.has_memory ? " or memory" : "") + ".";
    if (part == "qkv") say(note, fused_order(plan, line) + ".");
    return note;
}

std::string bias_note(const Subject& subject) {
    const bool headed = subject.tensor.has_axis("head");
    std::string note = std::string("Added to each token alike: one number for each feature") +
                       (headed ? " of each head." : ".");
    const Matrices matrices(subject.tensor);
    if (matrices.all_readable() && zero_rows(subject.tensor, 0).count == matrices.rows) {
        say(note, "All of them are 0, so nothing changes yet.");
    }
    return note;
}

std::string projected_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::string part = part_of(subject);
    const std::size_t width = width_of(plan, part);
    std::string note = "Each token's " + counted(source_width(plan, part), "feature") + " of " +
                       source_name(plan, part) + " are mixed into the " + part +
                       " features of all heads: " + head_features(plan, width) + ".";
    say(note, bias_sentence(subject, part));
    return note;
}

std::string qkv_note(const Subject& subject) {
    std::string note = fused_order(subject.plan, "feature") + ".";
    say(note, bias_sentence(subject, "qkv"));
    return note;
}

std::string query_note(const Subject& subject) {
    std::string note = origin(subject, "query");
    say(note, own_bias_sentence(subject, "query"));
    if (!Matrices(subject.tensor).readable()) return note;
    const Rows zero = zero_rows(subject.tensor, 0);
    if (zero.count > 0) {
        const std::string names = named(subject.plan, batch_of(subject.tensor, 0), zero);
        const std::string where = in_matrix(subject.tensor, 0);
        say(note, where + (where.empty() ? capitalised(names) : names) +
                      (zero.count == 1 ? " has a zero query" : " have zero queries") +
                      ": looking for nothing in particular.");
        return note;
    }
    say(note, longest_sentence(subject, Side::query, "query"));
    return note;
}

std::string key_note(const Subject& subject) {
    std::string note = origin(subject, "key");
    say(note, own_bias_sentence(subject, "key"));
    say(note, longest_sentence(subject, Side::key, "key"));
    return note;
}

std::string value_note(const Subject& subject) {
    std::string note = origin(subject, "value");
    say(note, own_bias_sentence(subject, "value"));
    say(note, "A query that attended to " + column_label(subject.plan, 0, 0) +
                  " alone would receive exactly its row.");
    return note;
}

}  // namespace attn::notes
