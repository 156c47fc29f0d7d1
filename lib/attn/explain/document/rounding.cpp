#include <cmath>

#include "attn/core/walk/walk.hpp"
#include "attn/explain/document/document.hpp"
#include "attn/explain/notes/labels.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"

namespace attn {
namespace {

/// The largest rounding error in the numbers of a step, and the largest number that became
/// infinite.
struct Moved {
    double most = 0, largest_lost = 0;
    std::size_t lost = 0;

    Moved(const PlannedStep& of, const Ledger& ledger) {
        const Tensor exact = compute_in_float32(of.step, of.plan, ledger);
        const Tensor& stored = ledger[of.step.name];
        if (exact.shape() != stored.shape()) return;
        for (std::size_t i = 0; i < stored.size(); ++i) {
            const double before = exact.at(i), after = stored.at(i);
            if (!std::isfinite(before)) continue;
            if (std::isfinite(after)) {
                most = std::max(most, std::abs(after - before));
            } else if (std::isinf(after)) {
                largest_lost = std::max(largest_lost, std::abs(before));
                ++lost;
            }
        }
    }
};

}  // namespace

std::string overflow_note(const PlannedStep& of, const Ledger& ledger) {
    if (of.plan.compute_dtype != DType::float16 || !of.step.compute) return {};
    const Tensor& tensor = ledger[of.step.name];
    bool is_infinite = false;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        is_infinite = is_infinite || std::isinf(tensor.at(i));
    }
    if (!is_infinite || of.step.kind == Step::Kind::input || of.step.kind == Step::Kind::parameter)
        return {};
    const Moved moved(of, ledger);
    if (moved.lost == 0) return {};
    return counted(moved.lost, "number") + " became infinite: float16 ends at 65504, and the " +
           "largest is " + brief(moved.largest_lost) +
           ". Implementations divide the query by sqrt(head_dim) before the product, add up and "
           "keep scores in float32, subtract each row's maximum before exp(), or use bfloat16, "
           "which has the range of float32.";
}

void add_rounding(Document& document, const Plan& plan, const StepTable& table,
                  const Ledger& ledger) {
    if (!is_16_bit(plan.compute_dtype)) return;
    const std::string type(dtype_name(plan.compute_dtype));
    for (Section& section : document.sections) {
        const PlannedStep of{plan, table, find_step(table, section.name)};
        if (of.step.stays_float32(plan)) {
            notes::append_sentence(section.note, "Stored in float32, as in libraries.");
        }
        const RoundedAt rounds = rounded_at(of);
        if (rounds == RoundedAt::nothing) continue;
        const bool once = rounds == RoundedAt::result;
        const double most = Moved(of, ledger).most;
        notes::append_sentence(
            section.note, "Computed in float32 and rounded to " + type +
                              (once ? " once: " : " after each operation: ") +
                              (most == 0 ? "no number moved."
                                         : "no number moved by more than " + brief(most) + "."));
    }
}

}  // namespace attn
