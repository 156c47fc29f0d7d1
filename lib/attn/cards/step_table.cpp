#include "attn/cards/step_table.hpp"

#include "attn/cards/cards.hpp"

namespace attn {

const StepTable& step_table() {
    static const StepTable table = [] {
        StepTable all;
        for (const auto& cards :
             {input_cards, norm_cards, parameter_cards, projection_cards, head_cards, angle_cards,
              rotary_cards, cache_cards, repeated_cards, slope_cards, score_cards, bias_cards,
              mask_cards, sink_cards, softmax_cards, block_cards, context_cards}) {
            for (Step& card : cards()) all.push_back(std::move(card));
        }
        return all;
    }();
    return table;
}

Ledger walk(const Plan& plan, const Ledger& given) { return walk(plan, given, step_table()); }

}  // namespace attn
