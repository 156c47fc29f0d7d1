#include "attn/core/cards/cards.hpp"
#include "attn/core/walk/step_rule.hpp"

namespace attn {
namespace {

// sink: one logit for each head. sink_weight: what it takes of each query's attention.

bool keeps_sink_weight(const Plan& plan) { return keeps_scores(plan) && has_sink(plan); }

bool is_off_by_one(const Plan& plan) { return plan.config.sink == SinkLogit::zero; }
bool is_given_sink(const Plan& plan) { return plan.config.sink == SinkLogit::given; }
bool has_heads(const Plan& plan) { return plan.has_head; }

Outline sink_weight_outline(const Plan& plan) {
    Outline outline = score_outline(plan);
    outline.axes.pop_back();
    outline.shape.pop_back();
    return outline;
}

}  // namespace

std::vector<Input> summed_with_sink(const Plan& plan) {
    return has_sink(plan) ? std::vector<Input>{"exponentials", "row_max", "sink"}
                          : std::vector<Input>{"exponentials"};
}

std::string sink_cell(const Plan& plan) { return plan.has_head ? "sink[h]" : "sink[0]"; }

StepTable sink_cards() {
    return {{
        .name = "sink",
        .title = "the logit of a key that is not there, for each head",
        .kind = Step::Kind::parameter,
        .applies = has_sink,
        .outline = drawn_outline("sink"),
        .formula = texts({{is_off_by_one, "sink = 0 for each head"},
                          {is_given_sink, "a parameter: learned in training, given here"},
                          {"a parameter: learned in training, drawn here"}}),
    }};
}

Step sink_weight_card() {
    Step card{
        .name = "sink_weight",
        .title = "how much of each query's attention the sink takes",
        .called = "sink_weights sink_prob sink_probs sink_attn weight_of_sink",
        .applies = keeps_sink_weight,
        .reads = these({Chain::scores, "sink"}),
        .outline = sink_weight_outline,
        .at_once = always_so,
        .exponentiates = true,
        .rule = texts({{has_heads, "sink_weight[h,q] = exp(sink[h] - row_max[h,q]) / row_sum[h,q]"},
                       {"sink_weight[q] = exp(sink[0] - row_max[q]) / row_sum[q]"}}),
    };
    // The rule reads the parts of softmax, which a walk may leave out.
    card.compute = [its_rule = by_rule(card), parts = softmax_part_cards()](const Plan& plan,
                                                                            const Ledger& ledger) {
        // Those of a walk in 16 bits are rounded, and softmax is not until it is whole.
        const Tensor* const sums = ledger.find("row_sum");
        if (sums != nullptr && sums->dtype() == plan.compute_dtype) return its_rule(plan, ledger);
        Ledger with_parts = ledger;
        for (const Step& part : parts) {
            with_parts.record(part.name, part.compute(plan, with_parts));
        }
        return its_rule(plan, with_parts);
    };
    return card;
}

}  // namespace attn
