#include "attn/explain/notes/step_notes.hpp"

#include "attn/core/cards/cards.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {
namespace {

std::string query_latent_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    return "The " + counted(plan.embed_dim, "feature") + " of each token are compressed to " +
           std::to_string(*plan.config.latent.query_rank) +
           ", from which all heads compute their queries: two small matrices instead of a large "
           "one.";
}

std::string projected_latent_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::size_t kept = plan.latent_rank() + 2 * plan.rotary_pairs();
    const std::size_t usual =
        plan.heads * (still_dim(plan) + plan.value_dim + 2 * plan.rotary_pairs());
    return "A cache keeps only these " + counted(kept, "number") +
           " of a token; keys and values of " + counted(plan.heads, "head") + " would be " +
           std::to_string(usual) + ".";
}

std::string projected_key_value_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    return "Head by head, " + counted(pair_width(plan), "feature") + " per head: first " +
           std::to_string(still_dim(plan)) + " for its key, then " +
           std::to_string(plan.value_dim) + " for its value.";
}

std::string absorbed_query_note(const Subject& subject) {
    return "q . (W c) is (q W) . c: the query is multiplied by the key matrix of its head, so it "
           "is compared with the latents, " +
           std::to_string(subject.plan.latent_rank()) +
           " features wide, and no head needs keys of its own. The scale is still that of " +
           std::to_string(subject.plan.head_dim) + " features.";
}

}  // namespace

NoteTable latent_notes() {
    return {
        {"w_query_latent",
         fixed_note("Each row has the factors that compute one feature of query_latent.")},
        {"w_latent",
         fixed_note(
             "Its first rows compute the latent, the last ones the part of the key that rotates.")},
        {"w_key_value", fixed_note("Head by head: the rows of its key, then those of its value.")},
        {"query_latent", query_latent_note},
        {"projected_latent", projected_latent_note},
        {"projected_key_value", projected_key_value_note},
        {"latent", fixed_note("Keys and values of all heads are linear in this row: no head can "
                              "see more than it contains.")},
        {"rotary_key",
         fixed_note("Positions cannot go through the latent, because a rotation would come between "
                    "the two matrices: they have features of their own, which all heads share.")},
        {"absorbed_query", absorbed_query_note},
        {"expanded_context",
         fixed_note("A weighted sum of W c is W times the weighted sum of c: the same context as "
                    "from values of every head, to rounding, with one product per query instead of "
                    "one per key.")},
    };
}

}  // namespace attn::notes
