#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

std::string needs_output(const Plan& plan) {
    return plan.config.output_projection ? "" : "there is no output projection";
}

void drop_output_bias(Ledger& ledger, const Plan&) {
    const Tensor* bias = ledger.find("b_output");
    if (bias != nullptr) ledger.record("b_output", mapped(*bias, [](double) { return 0; }));
}

}  // namespace

void add_output_mistakes(std::vector<Mistake>& list) {
    add(list,
        {
            {"no-output-projection",
             "output",
             "The output projection was not applied",
             "the result is the merged heads, which nothing has mixed",
             "return self.w_output(merged)",
             "output = merged @ w_output",
             "Concatenating puts heads next to each other; only the last matrix lets them mix.",
             "",
             needs_output,
             replace_step({"output"},
                          [](const Plan&, const Ledger& ledger, const Compute&) {
                              return ledger.latest(Chain::contexts, "output");
                          }),
             {{"output", say("output = {contexts}"), {}}}},
            {"wo-transposed", "output",
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
             with_plan({"output"},
                       [](Plan& plan) {
                           plan.config.weight_layout =
                               *plan.config.weight_layout == WeightLayout::out_in
                                   ? WeightLayout::in_out
                                   : WeightLayout::out_in;
                       })},
            {"bias-missing=output",
             "output",
             "The bias of the output projection was left out",
             "every output vector misses the same constant",
             "nn.Linear(..., bias=True)",
             "output = merged @ w_output + b_output",
             "A trained bias belongs to its layer.",
             "",
             unless([](const Plan& plan) { return plan.config.output_bias; },
                    "the output projection has no bias"),
             with_ledger({"output"}, drop_output_bias),
             {{"output", replaced(" \\+ b_output", ""), formula_with(" \\+ b_output", "")}}},
        });
}

}  // namespace attn
