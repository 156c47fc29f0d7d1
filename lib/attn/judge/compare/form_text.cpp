#include "attn/ground/tensor/slice.hpp"
#include "attn/ground/text/number_text.hpp"
#include "attn/ground/text/strings.hpp"
#include "attn/judge/compare/forms.hpp"

namespace attn {

std::string FormComparison::text() const {
    const std::string both = " in " + left + " and ";
    if (!step.same_shape()) {
        return step.name + " is " + shape_text(step.left) + both + shape_text(step.right) + " in " +
               right;
    }
    if (equal()) {
        const double most = step.distance.absolute;
        const std::string separated =
            most == 0      ? "to the last bit"
            : step.equal() ? brief(most) + " apart at most, and rounding explains up to " +
                                 brief(step.tolerance.absolute)
                           : brief(most) + " apart at most" +
                                 (is_rounding ? ", which float64 shows to be rounding" : "");
        const std::string more =
            (shapes.empty() ? "" : "; proved with other sizes, too: " + joined(shapes, ", ")) +
            (float64_shapes.empty() ? ""
                                    : "; the same in float64 with " + joined(float64_shapes, ", "));
        if (proof.verdict == Proof::Verdict::proved) {
            return step.name + " is the same" + both + right +
                   ", proved for every input of these shapes" + proof.limits() + ": here " +
                   separated + more;
        }
        return step.name + " is the same" + both + right + " on this walk: " + separated +
               (proof.why.empty() ? "" : " (undecided for other inputs: " + proof.why + ")") + more;
    }
    const std::string cell = step.name + index_text(indices_of(proof.cell, proof.shape));
    if (!refuted_at.empty()) {
        return step.name + " is the same" + both + right + " here, but not " + refuted_at + ": " +
               cell + " differs";
    }
    if (step.equal()) {
        return cell + both + right + " is not the same function, although " +
               (step.distance.absolute == 0 ? "its numbers are the same here"
                                            : "rounding hides it here: " +
                                                  brief(step.distance.absolute) + " apart at most");
    }
    return step.name + index_text(step.cell) + " is " + brief(step.left_value) + both +
           brief(step.right_value) + " in " + right + ": " + brief(step.distance.absolute) +
           " apart at most, and rounding explains up to " + brief(step.tolerance.absolute);
}

JsonText json_of(const FormComparison& compared) {
    using Verdict = Proof::Verdict;
    const StepComparison& step = compared.step;
    const Proof& proof = compared.proof;
    const bool is_proved = proof.verdict == Verdict::proved;
    const bool is_refuted = proof.verdict == Verdict::refuted;
    const std::vector<std::size_t> at =
        is_refuted ? indices_of(proof.cell, proof.shape) : step.cell;
    const std::vector<std::int64_t> cell(at.begin(), at.end());
    return {{"name", step.name},
            {"left", compared.left},
            {"right", compared.right},
            {"max_difference", step.distance.absolute},
            {"bound", step.tolerance.absolute},
            {"same", compared.equal()},
            {"proof", is_proved    ? "proved"
                      : is_refuted ? "refuted"
                                   : "undecided"},
            {"undecided", is_proved ? "" : proof.why},
            {"step", step.name},
            {"forms", std::vector<std::string>{compared.left, compared.right}},
            {"verdict", !compared.equal() ? "differs"
                        : is_proved       ? "proved"
                                          : "holds"},
            {"why", proof.why + compared.refuted_at},
            {"shapes", compared.shapes},
            {"float64_shapes", compared.float64_shapes},
            {"cell", compared.equal() ? std::vector<std::int64_t>() : cell}};
}

}  // namespace attn
