#include "attn/explain/notes/step_notes.hpp"

#include <cmath>

#include "attn/core/cards/cards.hpp"
#include "attn/core/steps/norm.hpp"
#include "attn/explain/notes/findings.hpp"
#include "attn/explain/notes/labels.hpp"

namespace attn::notes {
namespace {

/// Returns the mean and the size of row `row` of x.
RowSize size_of_row(const Plan& plan, const Tensor& x, std::size_t row) {
    return with_floating(plan.compute_dtype, [&](auto zero) {
        const std::size_t features = x.shape().back();
        return row_size(x.as<decltype(zero)>().data() + row * features, features,
                        *plan.config.x_norm, plan.config.x_norm_eps);
    });
}

std::string norm_note(const Subject& subject) {
    const Tensor* x = subject.ledger.find("x");  // the size depends on all features
    std::string note = "Every token gets a row of the same size, whatever has been added to x.";
    if (x == nullptr || x->shape() != subject.tensor.shape()) return note;
    const RowSize size = size_of_row(subject.plan, *x, 0);
    append_sentence(
        note,
        of_first_matrix(
            subject, "the row of " + row_label(subject, 0) + " is divided by " + number(size.root) +
                         (*subject.plan.config.x_norm == NormKind::rms
                              ? ""
                              : ", after its mean " + number(size.mean) + " is subtracted") +
                         "; then each feature is multiplied by its gain."));
    return note;
}

/// Returns the root mean square that divides row `row`.
double root_of_row(double eps, const Plan& plan, const Tensor& before, std::size_t row) {
    return with_floating(plan.compute_dtype, [&](auto zero) {
        const std::size_t features = before.shape().back();
        const auto* first = before.as<decltype(zero)>().data() + row * features;
        return row_size(first, features, NormKind::rms, eps).root;
    });
}

std::string rms_note(const Subject& subject, double eps, std::string note) {
    const Input read = subject.step.reads(subject.plan).front();
    const Tensor& before = tensor_of(read, subject.ledger, subject.step.name);
    if (before.shape() != subject.tensor.shape() || before.size() == 0) return note;
    append_sentence(
        note, of_first_matrix(subject, "the row of " + row_label(subject, 0) + " is divided by " +
                                           number(root_of_row(eps, subject.plan, before, 0)) +
                                           "; then each feature is multiplied by its gain."));
    return note;
}

/// Describes the longest row before and after the norm.
std::string longest_row_sentence(const Subject& subject) {
    const Ledger::Entry* before = subject.ledger.find_latest(subject.step.chain, subject.step.name);
    if (before == nullptr || before->tensor.shape() != subject.tensor.shape()) return {};
    const std::optional<MatrixCell> longest = longest_row(before->tensor, 0);
    if (!longest || !subject.excerpt.has_all("feature") || !Matrices(subject.tensor).readable())
        return {};
    const std::size_t width = subject.tensor.shape().back();
    const Cells cells(subject.tensor);
    double squares = 0;
    for (std::size_t f = 0; f < width; ++f) {
        squares += cells[longest->row * width + f] * cells[longest->row * width + f];
    }
    const bool is_key = subject.step.chain == Chain::keys;
    return in_matrix(subject) + "the row of " +
           (is_key ? column_label(subject, longest->row) : row_label(subject, longest->row)) +
           " had length " + number(longest->value) + " and now has " + number(std::sqrt(squares)) +
           ".";
}

std::string normed_note(const Subject& subject) {
    const std::optional<NormOver> over = subject.plan.config.qk_norm.over;
    std::string note = over == NormOver::l2 ? "Each row is divided by its length."
                                            : "Each row is divided by its root mean square "
                                              "(RMSNorm), then multiplied by the gain.";
    append_sentence(note, capitalised(longest_row_sentence(subject)));
    return note;
}

}  // namespace

NoteTable norm_notes() {
    const auto rms = [](double eps, std::string why) {
        return [=](const Subject& subject) { return rms_note(subject, eps, why); };
    };
    NoteTable table{
        {"g_x", fixed_note("The factor of each feature after the norm.")},
        {"b_x", fixed_note("Added to each feature after the norm.")},
        {"normed_x", norm_note},
        {"normed_query", normed_note},
        {"normed_key", normed_note},
        {"normed_query_latent",
         rms(latent_norm_eps, "The queries of all heads are computed from this row.")},
        {"normed_latent",
         rms(latent_norm_eps,
             "Only the latent is normalised, not the part of the key that rotates.")},
        {"normed_context",
         rms(context_norm_eps,
             "Weights that sum to 1 - lambda make heads of different sizes: each row of each head "
             "is divided by its root mean square.")},
    };
    for (const char* gain : {"g_query", "g_key", "g_query_latent", "g_latent", "g_context"}) {
        table.push_back(
            {gain,
             fixed_note(
                 "Multiplies each feature of the normalised rows; training starts it at 1.")});
    }
    return table;
}

}  // namespace attn::notes
