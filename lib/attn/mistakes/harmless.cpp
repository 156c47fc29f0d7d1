#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

/// A norm behind it takes a factor out again, and what is given is not scaled here.
std::string needs_lasting_scale(const Plan& plan) {
    if (!plan.has_x()) return "query and key are given";
    return plan.norms() ? "query and key are normalised afterwards" : needs_scale(plan);
}

/// The scores come out scaled already.
TableEdit no_scaling_later() { return follows("scaled_scores[q,k] = scores[q,k]"); }

Mistake scaled_before(std::string id, std::string title, const std::vector<std::string>& steps) {
    const bool both = steps.size() > 1;
    const bool query_alone = !both && steps.front() == "query";
    std::vector<TableEdit> edits{no_scaling_later()};
    for (const std::string& step : steps) {
        edits.push_back(follows([=](const Plan& plan) {
            return step + "[t,f] = " + step + "[t,f]" +
                   (both ? root_of_scale_rule(plan) : scale_rule(plan));
        }));
    }
    return entry(
        std::move(id), steps.front(), std::move(title), "the scores come out scaled already", "",
        "", "Scaling the query, the key or the scores is the same product.", "",
        first_of(
            {needs_lasting_scale,
             unless([query_alone](const Plan& plan) { return query_alone || plan.past_len == 0; },
                    "the keys of the cache are not scaled")}),
        all_of(std::move(edits)));
}

/// The mask first, the scale afterwards: the scores that softmax reads are the same.
Mistake masked_before_scaled() {
    const auto unscaled = [](const Plan&, const Ledger& ledger) { return ledger["scores"]; };
    // What the scale makes of one score it makes of all, whichever scale that is.
    const auto scaled_late = [](const Plan&, const Ledger& ledger) {
        const Tensor& scores = ledger["scores"];
        std::size_t cell = 0;
        while (cell + 1 < scores.size() && scores.at(cell) == 0) ++cell;
        const double score = scores.at(cell);
        const double factor = score == 0 ? 1 : ledger["scaled_scores"].at(cell) / score;
        return mapped(ledger["masked_scores"], [factor](double each) { return each * factor; });
    };
    return entry(
        "masked-before-scaled", "masked_scores", "The mask came before the scale",
        "hidden scores are -inf before and after", "", "",
        "Minus infinity stays what it is, whatever it is divided by.", "",
        first_of({needs_mask, needs_scale,
                  unless([](const Plan& plan) { return !plan.caps() && !plan.biases(); },
                         "a cap or a bias stands between scale and mask")}),
        all_of({reads(
                    {"masked_scores"}, "scaled_scores",
                    [](const Plan& plan) {
                        return "scaled_scores[q,k] = scaled_scores[q,k]" + inverse_scale_rule(plan);
                    },
                    say("masked_scores = scores.masked_fill(mask, float(\"-inf\"))",
                        "masked_scores = np.where(mask, -np.inf, scores)"),
                    unscaled),
                reads(
                    {"row_max", "exponentials", "weights", "sink_weight"}, "masked_scores",
                    [](const Plan& plan) {
                        return "masked_scores[q,k] = masked_scores[q,k]" + scale_rule(plan);
                    },
                    {}, scaled_late)}));
}

Lines padded_rows_lines(const std::string& step) {
    return [step](const StepLines& of, const std::string& right) {
        // The mask has an axis for the heads, which the output has no more.
        const bool by_head = of.plan.has_batch && of.plan.has_head && step == "output";
        const std::string rows = of.swapped(by_head ? "padding[:, 0]" : "padding", "-2, -1");
        return right + "\n" + step + " = " +
               (of.torch() ? step + ".masked_fill(" + rows + ", 0)"
                           : "np.where(" + rows + ", 0, " + step + ")");
    };
}

/// The entry, whose numbers are the right ones from there on.
Mistake rewriting(Mistake entry) {
    entry.rewrites_result = true;
    return entry;
}

Mistake padded_rows_zero(const char* step) {
    return entry(std::string("padded-rows-zero=") + step, step,
                 std::string("The rows of padded queries are zero in ") + step,
                 "nothing that is read changes", "", "",
                 "Nobody reads the rows of padded queries, so any number may stand there.", "",
                 unless(pads_queries, "no query is padded"),
                 computed(
                     step, std::string(step) + ", 0 for padded queries",
                     [](const Plan& plan, const Ledger& ledger, const Compute& before) {
                         return without_padded_rows(plan, before(plan, ledger));
                     },
                     padded_rows_lines(step)));
}

Mistake empty_rows_zero() {
    return {
        "empty-rows-zero",
        "weights",
        "Rows that hide every key are zero instead of nan",
        "rows with a visible key do not change",
        "",
        "",
        "A fully masked row has no weights that sum to 1: zero says so without nan.",
        "",
        first_of({needs_mask,
                  unless([](const Plan& plan) { return plan.config.empty_row != EmptyRow::zero; },
                         "this walk makes them zero itself")}),
        with_plan({"row_max", "exponentials", "row_sum", "weights"},
                  [](Plan& plan) { plan.config.empty_row = EmptyRow::zero; })};
}

/// An entry that is read off the tensors instead of being replayed.
Mistake read_off(std::string id, std::string step, std::string title, std::string effect,
                 std::string lesson) {
    return {std::move(id),
            std::move(step),
            std::move(title),
            std::move(effect),
            "",
            "",
            std::move(lesson),
            "",
            [](const Plan&) { return "it is a way to write the tensors, and changes no result"; },
            [](StepTable table, const Plan&) { return table; }};
}

}  // namespace

bool pads_queries(const Plan& plan) {
    return plan.config.mask.padding && !plan.has_memory && plan.query_len == plan.key_len;
}

Tensor without_padded_rows(const Plan& plan, const Tensor& tensor) {
    const Shape shape = tensor.shape();
    const std::size_t width = shape.back();
    const std::size_t queries = shape[shape.size() - 2];
    const std::size_t samples = plan.has_batch ? shape.front() : 1;
    const std::size_t each = tensor.size() / samples;
    std::size_t cell = 0;
    return mapped(tensor, [&](double value) {
        const std::size_t sample = plan.key_padding.dimension() == 2 ? cell / each : 0;
        const std::size_t query = cell / width % queries;
        ++cell;
        return plan.key_padding.data()[sample * plan.key_len + query] ? 0.0 : value;
    });
}

const std::vector<Mistake>& harmless_differences() {
    static const std::vector<Mistake>& all = *[] {
        auto* const list = new std::vector<Mistake>{
            finite_fill(-1e9),
            added_fill(-1e4),
            added_fill(-1e9),
            scaled_before("query-scaled-first", "The query was scaled before it met the keys",
                          {"query"}),
            scaled_before("key-scaled-first", "The key was scaled before it met the queries",
                          {"key"}),
            scaled_before("query-and-key-scaled",
                          "Query and key were each scaled by the root of the factor",
                          {"query", "key"}),
            masked_before_scaled(),
            alibi_of_keys(true),
            rewriting(empty_rows_zero()),
            rewriting(padded_rows_zero("weights")),
            rewriting(padded_rows_zero("context")),
            rewriting(padded_rows_zero("output")),
            read_off("padded-rows-other", "weights",
                     "The rows of padded queries hold other numbers",
                     "nothing that is read changes",
                     "Nobody reads the rows of padded queries, so any number may stand there."),
            read_off(
                "same-scores", "rotated_query", "Query and key differ, and their product does not",
                "what was done to one side undoes what was done to the other",
                "Only the product of query and key is read: rotate or mirror both, and no score "
                "changes, until they meet others."),
            read_off("mask-polarity", "mask", "The mask says keep where ours says hidden",
                     "the same cells are hidden as long as the code means keep where it says true",
                     "masked_fill takes true for hidden, scaled_dot_product_attention takes it for "
                     "kept: say which."),
            read_off(
                "same-after-softmax", "masked_scores",
                "The scores differ, and softmax takes the difference out again",
                "the weights are those of the reference",
                "Softmax reads differences within a row: a constant added to a whole row is lost."),
        };
        add_harmless_rotations(*list);
        add_harmless_pairings(*list);
        return list;
    }();
    return all;
}

}  // namespace attn
