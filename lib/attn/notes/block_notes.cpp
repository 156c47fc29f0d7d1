#include <cmath>

#include "attn/notes/findings.hpp"
#include "attn/notes/labels.hpp"
#include "attn/notes/note_parts.hpp"

namespace attn::notes {
namespace {

/// A query and a block, in the first matrix.
struct Met {
    std::size_t query = 0, block = 0;
    double value = 0;
};

/// The first number behind block 0 for which `wanted(before, now)` holds.
template <class Wanted>
std::optional<Met> first_met(const Tensor& tensor, Wanted wanted) {
    const Matrices matrices(tensor);
    const Cells cells(tensor);
    for (std::size_t q = 0; q < matrices.rows; ++q) {
        for (std::size_t b = 1; b < matrices.columns; ++b) {
            const double before = cells[q * matrices.columns + b - 1];
            const double now = cells[q * matrices.columns + b];
            if (wanted(before, now)) return Met{q, b, now};
        }
    }
    return std::nullopt;
}

std::string who(const Subject& subject, std::size_t query) {
    return row_label(subject.plan, batch_of(subject.tensor, 0), query);
}

/// A sentence about the first matrix, which says so where there are several.
std::string in_first(const Subject& subject, const std::string& rest) {
    const std::string place = in_matrix(subject.tensor, 0);
    return place.empty() ? capitalised(rest) : place + rest;
}

}  // namespace

std::string running_max_note(const Subject& subject) {
    const Plan& plan = subject.plan;
    const std::size_t blocks = subject.tensor.shape().back();
    std::string note = "The keys come in " + counted(blocks, "block") + " of up to " +
                       counted(plan.key_block(), "key") +
                       ". Each query keeps only the largest score it has met.";
    const auto raised = first_met(subject.tensor, [](double a, double b) { return b > a; });
    if (raised) {
        say(note, in_first(subject, who(subject, raised->query) + " meets a larger one, " +
                                        number(raised->value) + ", in block " +
                                        std::to_string(raised->block) + "."));
    }
    return note;
}

std::string correction_note(const Subject& subject) {
    std::string note =
        "Exponentials are measured from the maximum, so a new maximum makes the old ones smaller "
        "by one factor. It is 1 where the maximum stays, and 0 while there is nothing to correct.";
    const auto below = first_met(subject.tensor, [](double, double b) { return b > 0 && b < 1; });
    if (below) {
        say(note, in_first(subject, "what " + who(subject, below->query) +
                                        " has gathered is multiplied by " + number(below->value) +
                                        " in block " + std::to_string(below->block) + "."));
    }
    return note;
}

std::string running_sum_note(const Subject& subject) {
    const Matrices matrices(subject.tensor);
    if (matrices.cells() == 0) return {};
    const double last = Cells(subject.tensor)[matrices.columns - 1];
    std::string note = "After the last block it is what softmax over all keys divides by.";
    if (std::isfinite(last)) {
        say(note, in_first(subject, "for " + who(subject, 0) + " that is " + number(last) + "."));
    }
    return note;
}

std::string partial_context_note(const Subject&) {
    return "Each block adds its values, weighted by their exponentials, to what was corrected. "
           "Divided by running_sum after the last block, it is the context: the softmax over all "
           "keys, though no query ever held all its scores.";
}

std::string fused_context_note(const Subject& subject) {
    std::string note =
        "The kernel never stored the scores: a block of them at a time, in the cache, and for each "
        "query a maximum, a sum and a context.";
    say(note, not_finite(subject.tensor));
    return note;
}

}  // namespace attn::notes
