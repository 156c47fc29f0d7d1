#include "attn/explain/notes/step_notes.hpp"

#include "attn/core/plan/projected.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn::notes {
namespace {

std::string past_note(const Subject& subject, const Projected& part) {
    const std::string tokens = counted(subject.plan.past_len, "earlier token");
    if (part.letter() == 'v') return "The values of the same " + tokens + ".";
    return "The keys of " + tokens +
           ", computed when these tokens were x: later tokens do not change them. They are "
           "stored as the scores read them, positions included.";
}

std::string present_note(const Subject& subject, const Projected& part) {
    const Plan& plan = subject.plan;
    std::size_t past = 0;
    const std::size_t all = subject.excerpt.count("key", plan.key_len);
    for (std::size_t k = 0; k < all; ++k) {
        past += subject.excerpt.index("key", k) < plan.past_len ? 1 : 0;
    }
    std::string note = counted(past, part.name) + " of the past and " +
                       counted(all - past, "new one") + shown_here(subject) +
                       ": the cache for the next token.";
    if (part.letter() == 'v') return note;
    const std::string first = std::to_string(plan.past_len);
    append_sentence(note, "The queries of x have positions " + first + " to " +
                              std::to_string(plan.key_len - 1) +
                              ": row 0 of the scores is position " + first + ".");
    return note;
}

/// Returns `heads 0 to 1 have the same numbers here`; for an excerpt, the key head of its first
/// head.
std::string same_numbers_text(const Subject& subject, const Projected& part) {
    const std::size_t times = subject.plan.queries_per_key();
    if (subject.excerpt.has_all("head")) {
        return "heads 0 to " + std::to_string(times - 1) + " have the same numbers here";
    }
    const std::size_t head = subject.excerpt.index("head", 0);
    return "head " + std::to_string(head) + " here is " + part.name + " head " +
           std::to_string(head / times);
}

std::string repeated_note(const Subject& subject, const Projected& part) {
    const Plan& plan = subject.plan;
    const std::string times = std::to_string(plan.queries_per_key());
    std::string note = counted(plan.kv_heads, part.name + " head") + " for " +
                       counted(plan.heads, "query head") + ": each is read by " + times + ", so " +
                       same_numbers_text(subject, part) + ". Nothing is computed.";
    // The note of the latent itself explains its cache.
    if (part.letter() == 'v' || subject.has("latent")) return note;
    append_sentence(note, "Caching keys and values of " + counted(plan.kv_heads, "head") +
                              " instead of " + std::to_string(plan.heads) + " makes the cache " +
                              times + " times smaller.");
    return note;
}

}  // namespace

NoteTable cache_notes() {
    NoteTable table;
    for (const char letter : {'k', 'v'}) {
        const Projected& part = projected_of(letter);
        const auto add_note = [&](const char* step,
                                  std::string (*note)(const Subject&, const Projected&)) {
            table.push_back({step + part.name, [&part, note](const Subject& subject) {
                                 return note(subject, part);
                             }});
        };
        add_note("past_", past_note);
        add_note("present_", present_note);
        add_note("repeated_", repeated_note);
    }
    return table;
}

}  // namespace attn::notes
