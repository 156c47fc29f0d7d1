#include "attn/explain/diagnose.hpp"
#include "attn/cards/step_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/explain/words.hpp"
#include "attn/tensor/error.hpp"

namespace attn {
namespace {

/// Somebody's tensor as the walk would hold it: our axis names and types, where the shape allows.
Tensor adopted(const Tensor& theirs, const Tensor& expected) {
    if (theirs.dimension() != expected.dimension()) return theirs;
    const Tensor named = theirs.renamed(expected.axes());
    if (named.dtype() == expected.dtype()) return named;
    return std::visit(
        [&](const auto& like) -> Tensor {
            using T = std::decay_t<decltype(*like.data())>;
            Array<T> cells = empty_array<T>(named.shape());
            for (std::size_t i = 0; i < cells.size(); ++i) {
                cells.data()[i] = static_cast<T>(named.at(i));
            }
            return {named.axes(), std::move(cells)};
        },
        expected.values());
}

double largest_finite(const Tensor& tensor) {
    double largest = 0;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (std::isfinite(tensor.at(i))) largest = std::max(largest, std::abs(tensor.at(i)));
    }
    return largest;
}

/// Replays walks from somebody's own tensors and compares the outcome with what they have.
class Examiner {
public:
    Examiner(const Plan& plan, const Ledger& given, const Ledger& theirs,
             const DiagnoseOptions& options)
        : plan_(plan), given_(given), options_(options), reference_(walk(plan, given)) {
        for (const auto& [name, tensor] : reference_.entries()) {
            if (const Tensor* mine = theirs.find(name)) {
                theirs_.record(name, adopted(*mine, tensor));
            }
        }
        if (theirs_.entries().empty()) {
            std::string names;
            for (const auto& entry : theirs.entries()) names += " " + entry.name;
            throw ConfigError("none of the tensors" + names +
                              " is a step of this walk: say which is which with --map theirs:ours");
        }
    }

    Diagnosis examine() {
        upstream_ = given_;
        for (const auto& [name, tensor] : theirs_.entries()) {
            examine_step(name, tensor);
            upstream_.record(name, tensor);
            uses_theirs_ = true;
        }
        for (Finding& finding : diagnosis_.findings) finding.harmless = is_harmless(finding);
        return std::move(diagnosis_);
    }

private:
    /// One step of a walk from `upstream_`, or nothing where their shapes do not let it run.
    std::optional<Tensor> replay(const StepTable& table, const std::string& step) const {
        try {
            const Ledger ledger = walk(plan_, upstream_, table);
            const Tensor* tensor = ledger.find(step);
            return tensor ? std::optional(*tensor) : std::nullopt;
        } catch (const ShapeError&) {
            return std::nullopt;  // a wrong shape upstream: this operation cannot follow it
        }
    }

    /// How much a rounding of their tensors upstream may grow on its way through one step.
    double amplification(const std::string& step) const {
        const auto size = [this](const char* name) {
            const Tensor* tensor = reference_.find(name);
            return tensor ? largest_finite(*tensor) : 0.0;
        };
        const auto keys = static_cast<double>(plan_.key_len);
        double parameter = 0;
        for (const auto& [name, tensor] : given_.entries()) {
            if (name.size() > 1 && name[1] == '_') {
                parameter = std::max(parameter, largest_finite(tensor));
            }
        }
        const double scores = static_cast<double>(plan_.head_dim) * (size("query") + size("key"));
        if (step == "scores" || step == "scaled_scores" || step == "masked_scores")
            return scores + 1;
        if (step == "weights") return 2 * (scores + 1);
        if (step == "context" || step == "merged") return keys * (size("value") + 2);
        if (step == "output") {
            return static_cast<double>(plan_.heads * plan_.value_dim) * parameter *
                   (keys * (size("value") + 2));
        }
        return static_cast<double>(plan_.embed_dim) * parameter + 1;
    }

    Tolerance tolerance(const std::string& step, const Tensor& theirs, const Tensor& expected,
                        bool local) const {
        if (options_.tolerance) return *options_.tolerance;
        Tolerance rounding = rounding_tolerance(plan_, step_table(), reference_, step, expected,
                                                coarser_type(theirs, expected));
        if (options_.decimals) {
            const double half = 0.5 * std::pow(10.0, -*options_.decimals) * (1 + 1e-9);
            rounding.absolute += local && uses_theirs_ ? half * (1 + amplification(step)) : half;
        }
        return rounding;
    }

    /// The verdict on their tensor against one expectation, and how far it is.
    std::pair<Verdict, double> judge(const std::string& step, const Tensor& theirs,
                                     const Tensor& expected, bool local) const {
        if (theirs.shape() != expected.shape()) return {Verdict::shape, HUGE_VAL};
        const Distance far = distance(theirs, expected, tolerance(step, theirs, expected, local));
        return {far.within() ? Verdict::right : Verdict::wrong, far.absolute};
    }

    void examine_step(const std::string& name, const Tensor& tensor) {
        StepVerdict verdict;
        verdict.name = name;
        verdict.theirs = tensor.shape();
        const Tensor& reference = reference_[name];
        verdict.expected = reference.shape();
        std::tie(verdict.global, verdict.global_difference) = judge(name, tensor, reference, false);
        const std::optional<Tensor> local = replay(table_, name);
        if (local) {
            std::tie(verdict.local, verdict.local_difference) = judge(name, tensor, *local, true);
        } else {
            verdict.local = Verdict::right;  // it cannot be judged: the fault lies upstream
        }
        // What equals the reference is right, whatever rounding says of the way there.
        if (verdict.global == Verdict::right) verdict.local = Verdict::right;
        diagnosis_.steps.push_back(verdict);
        if (verdict.local != Verdict::right) find_mistake_at(name, tensor, *local);
    }

    /// A mistake's replay of one step, if it changes it at all.
    std::optional<Tensor> mistaken(const Mistake& mistake, const StepTable& table,
                                   const std::string& name, const Tensor& expected) const {
        if (!mistake.applies(plan_)) return std::nullopt;
        std::optional<Tensor> tensor = replay(mistake.apply(table, plan_), name);
        if (!tensor) return std::nullopt;
        const Tensor adopted_tensor = adopted(*tensor, expected);
        const bool same = adopted_tensor.shape() == expected.shape() &&
                          distance(adopted_tensor, expected, {}).within();
        return same ? std::nullopt : std::optional(adopted_tensor);
    }

    void find_mistake_at(const std::string& name, const Tensor& tensor, const Tensor& expected) {
        Finding finding;
        finding.step = name;
        finding.evidence = signs(name, tensor, expected);
        finding.difference = finding.runner_up_difference = HUGE_VAL;
        try_each(table_, name, tensor, expected, finding);
        if (finding.mistake == nullptr) try_dropout(name, tensor, expected, finding);
        if (finding.mistake == nullptr) try_beside_harmless(name, tensor, expected, finding);
        if (finding.mistake == nullptr && options_.pairs)
            try_pairs(name, tensor, expected, finding);
        for (const Mistake* made : {finding.beside, finding.mistake, finding.second}) {
            if (made != nullptr) table_ = made->apply(std::move(table_), plan_);
        }
        diagnosis_.findings.push_back(std::move(finding));
    }

    void try_each(const StepTable& table, const std::string& name, const Tensor& tensor,
                  const Tensor& expected, Finding& finding) const {
        for (const std::vector<Mistake>* entries : {&mistakes(), &harmless_differences()}) {
            for (const Mistake& mistake : *entries) {
                const std::optional<Tensor> wrong = mistaken(mistake, table, name, expected);
                if (!wrong) continue;
                consider(mistake, name, tensor, *wrong, finding);
            }
        }
    }

    /// A replay draws other cells than their dropout did, so its traces are looked for instead.
    void try_dropout(const std::string& name, const Tensor& tensor, const Tensor& expected,
                     Finding& finding) const {
        if (name != "weights" || tensor.shape() != expected.shape()) return;
        const auto dropout = dropout_in(tensor, expected, tolerance(name, tensor, expected, true));
        if (!dropout) return;
        finding.mistake = &find_mistake("dropout-at-eval");
        finding.difference = dropout->difference;
        finding.evidence.push_back(std::to_string(dropout->dropped) +
                                   " weights are 0, the others " + brief(dropout->factor) +
                                   " times what they should be: p is " +
                                   brief(1 - 1 / dropout->factor));
    }

    /// Where nobody can be seen, a finite fill and -inf part ways, so a mistake that hides too much
    /// shows otherwise in code with such a fill.
    void try_beside_harmless(const std::string& name, const Tensor& tensor, const Tensor& expected,
                             Finding& finding) const {
        for (const Mistake& harmless : harmless_differences()) {
            if (!harmless.applies(plan_)) continue;
            Finding beside = finding;
            try_each(harmless.apply(table_, plan_), name, tensor, expected, beside);
            if (beside.mistake == nullptr) continue;
            finding = std::move(beside);
            finding.beside = &harmless;
            return;
        }
    }

    /// Takes a mistake in as the match, as a tie or as the runner-up.
    void consider(const Mistake& mistake, const std::string& name, const Tensor& tensor,
                  const Tensor& wrong, Finding& finding) const {
        const auto [verdict, difference] = judge(name, tensor, wrong, true);
        if (verdict != Verdict::right) {
            if (difference < finding.runner_up_difference) {
                finding.runner_up = &mistake;
                finding.runner_up_difference = difference;
            }
            return;
        }
        // Among those that match, the one that shows first at this very step is named first.
        const bool nearer =
            finding.mistake == nullptr || (mistake.step == name && finding.mistake->step != name);
        if (finding.mistake != nullptr) {
            finding.ties.push_back(nearer ? finding.mistake : &mistake);
        }
        if (nearer) {
            finding.mistake = &mistake;
            finding.difference = difference;
        }
    }

    void try_pairs(const std::string& name, const Tensor& tensor, const Tensor& expected,
                   Finding& finding) const {
        for (std::size_t i = 0; i < mistakes().size() && finding.mistake == nullptr; ++i) {
            const Mistake& first = mistakes()[i];
            if (!first.applies(plan_)) continue;
            const StepTable table = first.apply(table_, plan_);
            for (std::size_t j = i + 1; j < mistakes().size(); ++j) {
                const Mistake& second = mistakes()[j];
                const std::optional<Tensor> wrong = mistaken(second, table, name, expected);
                if (!wrong) continue;
                const auto [verdict, difference] = judge(name, tensor, *wrong, true);
                if (verdict != Verdict::right) continue;
                finding.mistake = &first;
                finding.second = &second;
                finding.difference = difference;
                break;
            }
        }
    }

    /// True when this step differs and the weights and everything after them are right all the
    /// same.
    bool is_harmless(const Finding& finding) const {
        if (finding.mistake == nullptr) return false;
        bool after = false;
        bool judged = false;
        bool behind_scores = false;
        for (const StepVerdict& verdict : diagnosis_.steps) {
            behind_scores = behind_scores || verdict.name == "weights" ||
                            verdict.name == "context" || verdict.name == "merged" ||
                            verdict.name == "output";
            after = after || verdict.name == finding.step;
            if (after && behind_scores) {
                judged = true;
                if (verdict.global != Verdict::right) return false;
            }
        }
        const std::vector<Mistake>& harmless = harmless_differences();
        return judged || std::any_of(harmless.begin(), harmless.end(), [&](const Mistake& entry) {
                   return &entry == finding.mistake;
               });
    }

    const Plan& plan_;
    const Ledger& given_;
    const DiagnoseOptions& options_;
    Ledger reference_;
    Ledger theirs_;
    Ledger upstream_;
    bool uses_theirs_ = false;
    StepTable table_ = step_table();
    Diagnosis diagnosis_;
};

}  // namespace

bool Diagnosis::has_mistake() const {
    return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
        return finding.mistake != nullptr && !finding.harmless;
    });
}

bool Diagnosis::has_unknown() const {
    return std::any_of(findings.begin(), findings.end(),
                       [](const Finding& finding) { return finding.mistake == nullptr; });
}

Diagnosis diagnose(const Plan& plan, const Ledger& given, const Ledger& theirs,
                   const DiagnoseOptions& options) {
    return Examiner(plan, given, theirs, options).examine();
}

}  // namespace attn
