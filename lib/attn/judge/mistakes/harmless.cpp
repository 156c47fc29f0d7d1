#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/visibility.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

/// A norm after it takes a factor out again, and what is given is not scaled here.
const Need needs_lasting_scale{
    {&Plan::has_x, "query and key are given"},
    {[](const Plan& plan) { return !plan.norms(); }, "query and key are normalised afterwards"},
    needs_scale};

const Need needs_no_last_norm{[](const Plan& plan) {
                                  return !plan.norms() ||
                                         plan.config.qk_norm.place == QkNorm::Place::before;
                              },
                              "the rotated query is normalised"};

/// The scores come out scaled already.
void scaled_before(std::vector<Mistake>& list, const char* id, const char* title,
                   const std::vector<std::string>& steps, const std::string& factor,
                   const Need& needs = needs_lasting_scale) {
    const bool query_alone = steps.size() == 1 && steps.front().ends_with("query");
    std::vector<TableEdit> edits{follows("scaled_scores[q,k] = scores[q,k]")};
    for (const std::string& step : steps) {
        edits.push_back(follows(step + "[t,f] = " + step + "[t,f]" + factor));
    }
    entry(list, id, steps.front(), title, "the scores come out scaled already", "",
          "Scaling the query, the key or the scores is the same product.",
          {needs,
           {[query_alone](const Plan& plan) { return query_alone || plan.past_len == 0; },
            "the keys of the cache are not scaled"}},
          all_of(edits));
}

void padded_rows_zero(std::vector<Mistake>& list, const std::string& step) {
    const auto rule = [step](const Plan& plan) {
        const std::string cell = step + index_letters(find_step(step_table(), step).outline(plan));
        const std::string sample = plan.has_batch ? "b" : "";
        const std::string rows =
            where_true(plan.key_padding, sample + (step == "output" ? "t" : "q"));
        return cell + " = if " + rows + " then 0 else " + cell;
    };
    entry(list, "padded-rows-zero=" + step, step, "The rows of padded queries are zero in " + step,
          "nothing that is read changes", "",
          "Nobody reads the rows of padded queries, so any number may stand there.",
          {pads_queries, "no query is padded"}, follows({.rule = rule}))
        .rewrites_result = true;
}

/// An entry that is read off the tensors instead of being replayed.
void read_off(std::vector<Mistake>& list, const char* id, const char* step, const char* title,
              const char* effect, const char* lesson) {
    entry(list, id, step, title, effect, "", lesson,
          {[](const Plan&) { return false; },
           "it is a way to write the tensors, and changes no result"},
          all_of({}));
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
        auto* const list_of_all =
            new std::vector<Mistake>{finite_fill(-1e9), added_fill(-1e4), added_fill(-1e9)};
        std::vector<Mistake>& list = *list_of_all;
        scaled_before(list, "query-scaled-first", "The query was scaled before it met the keys",
                      {"query"}, "{scale}");
        scaled_before(list, "normed-query-scaled-first",
                      "The normed query was scaled before it met the keys", {"normed_query"},
                      "{scale}", {needs_scale, {&Plan::norms, "nothing is normalised"}});
        scaled_before(list, "rotated-query-scaled-first",
                      "The rotated query was scaled before it met the keys", {"rotated_query"},
                      "{scale}", {needs_rope, needs_scale, needs_no_last_norm});
        scaled_before(list, "key-scaled-first", "The key was scaled before it met the queries",
                      {"key"}, "{scale}");
        scaled_before(list, "query-and-key-scaled",
                      "Query and key were each scaled by the root of the factor", {"query", "key"},
                      "{root}");
        // The scores that softmax reads are the same.
        entry(list, "masked-before-scaled", "masked_scores", "The mask came before the scale",
              "hidden scores are -inf before and after", "",
              "Minus infinity stays what it is, whatever it is divided by.",
              {needs_mask,
               needs_scale,
               {[](const Plan& plan) { return !plan.caps() && !plan.biases(); },
                "a cap or a bias stands between scale and mask"}},
              all_of({reads({"masked_scores"}, "scaled_scores",
                            "scaled_scores[q,k] = scaled_scores[q,k]{unscaled}"),
                      reads({"row_max", "exponentials", "weights", "sink_weight"}, "masked_scores",
                            "masked_scores[q,k] = if mask[q,k] then masked_scores[q,k]{scale} else "
                            "scaled_scores[q,k]")}));
        alibi_of_keys(list, true);
        entry(list, "empty-rows-zero", "weights",
              "Rows that hide every key are zero instead of nan",
              "rows with a visible key do not change", "",
              "A fully masked row has no weights that sum to 1: zero says so without nan.",
              {needs_mask,
               {[](const Plan& plan) { return plan.config.empty_row != EmptyRow::zero; },
                "this walk makes them zero itself"}},
              with_plan({"row_max", "exponentials", "row_sum", "weights"},
                        [](Plan& plan) { plan.config.empty_row = EmptyRow::zero; }))
            .rewrites_result = true;
        for (const char* step : {"weights", "context", "output"}) padded_rows_zero(list, step);
        read_off(list, "padded-rows-other", "weights",
                 "The rows of padded queries hold other numbers", "nothing that is read changes",
                 "Nobody reads the rows of padded queries, so any number may stand there.");
        read_off(list, "same-scores", "rotated_query",
                 "Query and key differ, and their product does not",
                 "what was done to one side undoes what was done to the other",
                 "Only the product of query and key is read: rotate or mirror both, and no score "
                 "changes, until they meet others.");
        read_off(list, "mask-polarity", "mask", "The mask says keep where ours says hidden",
                 "the same cells are hidden as long as the code means keep where it says true",
                 "masked_fill takes true for hidden, scaled_dot_product_attention takes it for "
                 "kept: say which.");
        read_off(
            list, "same-after-softmax", "masked_scores",
            "The scores differ, and softmax takes the difference out again",
            "the weights are those of the reference",
            "Softmax reads differences within a row: a constant added to a whole row is lost.");
        read_off(list, "other-row-max", "row_max",
                 "Another number than the largest was taken off each row",
                 "the exponentials and their sum change by one factor, and the weights do not",
                 "Any number may be taken off before exp(): a running softmax starts at 0, or at "
                 "the largest score of its first block.");
        add_harmless_rotations(list);
        add_harmless_pairings(list);
        return list_of_all;
    }();
    return all;
}

}  // namespace attn
