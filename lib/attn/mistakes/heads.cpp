#include "attn/mistakes/change.hpp"

namespace attn {
namespace {

/// Query, key and value with their heads taken from other places of what they were split from, of
/// which each sample has `H * W` features a token, `T` tokens: `at` is the place of (h, t, f).
TableEdit split_as(std::string at, const std::string& torch, const std::string& numpy) {
    return for_each_step(head_steps(), [=](const std::string& step) {
        const auto rule = [=](const Plan& plan) {
            const bool is_query = step == "query";
            const std::string width = step == "value" ? "Dv" : "D";
            const std::size_t heads = is_query        ? plan.heads
                                      : step == "key" ? plan.kv_heads
                                                      : plan.value_heads();
            std::string text =
                step + "[h,t,f] = " + step +
                "[(AT) % (HEADS * WIDTH) / WIDTH, (AT) / (HEADS * WIDTH), (AT) % WIDTH]";
            for (const auto& [name, meant] :
                 {std::pair{std::string("AT"), at},
                  {"HEADS", std::to_string(heads)},
                  {"WIDTH", width},
                  {"TOKENS", std::to_string(is_query ? plan.query_len : plan.new_keys())}}) {
                text = replaced_all(text, name, meant);
            }
            return text;
        };
        const std::string unsplit = "{right}\n" + step + " = " + step;
        return follows(rule, say(unsplit + torch, unsplit + numpy));
    });
}

bool splits(const Plan& plan) {
    return plan.heads > 1 && !plan.head_axis_on_weight() && plan.has_x() &&
           !walk_has(plan, "latent");
}

}  // namespace

void add_head_mistakes(std::vector<Mistake>& list) {
    entry(list, "split-view", "query", "The projection was viewed as (B, H, T, D) directly",
          "a head's tokens are pieces of one or two true tokens, and causal masks leak",
          "q = q.view(B, T, H, D).transpose(1, 2)", "q = q.reshape(B, T, H, D).swapaxes(1, 2)",
          "A view re-reads memory in order; only a transpose moves an axis.", "",
          first_of({unless(splits, "nothing is split into heads"),
                    unless([](const Plan& plan) { return plan.query_len > 1 || plan.key_len > 1; },
                           "with one token both shapes read memory alike")}),
          split_as("(h * TOKENS + t) * WIDTH + f", ".transpose(-3, -2).reshape({shape})",
                   ".swapaxes(-3, -2).reshape({shape})"));
    entry(list, "split-strided", "query", "Features were dealt out to the heads in turn",
          "head h holds features h, h + H, h + 2 H, ... instead of neighbours",
          "q = q.view(B, T, H, D)  # not view(B, T, D, H)",
          "q = q.reshape(B, T, H, D)  # not reshape(B, T, D, H)",
          "A head is a run of neighbouring features; the weights were trained that way.", "",
          first_of({unless(splits, "nothing is split into heads"),
                    unless([](const Plan& plan) { return plan.head_dim > 1 || plan.value_dim > 1; },
                           "with one feature a head there is no difference")}),
          split_as("(t * WIDTH + f) * HEADS + h",
                   ".transpose(-3, -2).reshape({feature by head}).transpose(-2, "
                   "-1).transpose(-3, -2)",
                   ".swapaxes(-3, -2).reshape({feature by head}).swapaxes(-2, "
                   "-1).swapaxes(-3, -2)"));
}

}  // namespace attn
