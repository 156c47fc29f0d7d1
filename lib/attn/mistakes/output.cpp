#include "attn/cards/step_table.hpp"
#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

std::string needs_output(const Plan& plan) {
    return plan.config.output_projection ? "" : "there is no output projection";
}

}  // namespace

void add_output_mistakes(std::vector<Mistake>& list) {
    entry(list, "no-output-projection", "output", "The output projection was not applied",
          "the result is the merged heads, which nothing has mixed", "return self.w_output(merged)",
          "output = merged @ w_output",
          "Concatenating puts heads next to each other; only the last matrix lets them mix.", "",
          needs_output,
          follows({"output[t,c] = contexts[t,c]", {}, [](const Plan& plan) {
                       const StepTable& table = step_table();
                       const PlannedStep of{plan, table, find_step(table, "output")};
                       return find_step(table, of.latest(Chain::contexts)).outline(plan);
                   }}));
    entry(list, "wo-transposed", "output",
          "The output weight was transposed once too often, or too seldom",
          "each output feature is made with a column of the weight instead of a row",
          "output = merged @ w_output.T  # or F.linear(merged, w_output)",
          "output = merged @ w_output",
          "The output weight is stored like the others: transpose it like the others.", "",
          first_of({needs_output, unless(
                                      [](const Plan& plan) {
                                          return plan.context_heads() * plan.value_dim ==
                                                 plan.output_dim;
                                      },
                                      "the output weight is not square")}),
          with_plan({"output"}, [](Plan& plan) {
              plan.config.weight_layout = *plan.config.weight_layout == WeightLayout::out_in
                                              ? WeightLayout::in_out
                                              : WeightLayout::out_in;
          }));
    entry(list, "bias-missing=output", "output", "The bias of the output projection was left out",
          "every output vector misses the same constant", "nn.Linear(..., bias=True)",
          "output = merged @ w_output + b_output", "A trained bias belongs to its layer.", "",
          unless([](const Plan& plan) { return plan.config.output_bias; },
                 "the output projection has no bias"),
          reads({"output"}, "b_output", "b_output[o] = 0"));
}

}  // namespace attn
