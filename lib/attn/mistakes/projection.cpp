#include "attn/cards/step_table.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/plan/projected.hpp"
#include "attn/rules/print.hpp"
#include "attn/walk/step_rule.hpp"

namespace attn {
namespace {

bool one_product(const Plan& plan) { return plan.one_weight() && !plan.has_memory; }

bool square_weights(const Plan& plan) {
    return projects_x(plan) && !plan.one_weight() && stored_width(plan, 0) == plan.embed_dim &&
           stored_width(plan, 1) == plan.memory_dim && stored_width(plan, 2) == plan.memory_dim;
}

PlanEdit other_layout() {
    return [](Plan& plan) {
        plan.config.weight_layout = *plan.config.weight_layout == WeightLayout::out_in
                                        ? WeightLayout::in_out
                                        : WeightLayout::out_in;
    };
}

NotApplicable layout_not_applicable(WeightLayout stored, const char* reason) {
    return first_of(
        {unless(square_weights, "the weights are not square: the product would not fit"),
         unless([stored](const Plan& plan) { return *plan.config.weight_layout == stored; },
                reason)});
}

void read_fused_the_other_way(Plan& plan) {
    plan.config.projection = plan.config.projection == Projection::fused_by_head
                                 ? Projection::fused
                                 : Projection::fused_by_head;
}

/// A step that is made as another one is.
TableEdit made_as(const std::string& step, const std::string& other) {
    return follows([=](const Plan& plan) {
        Rule rule = *rule_of({plan, step_table(), find_step(step_table(), other)});
        rule.step = step;
        return rule_text(rule);
    });
}

/// Lets each of query, key and value be computed as another one of them: `order` says which block
/// of the fused product each of the three took.
Mistake fused_order(const std::string& order) {
    // Name number i was given to the block that stands at its letter's place.
    const auto taken = [order](std::size_t i) { return part_names[order.find("qkv"[i])]; };
    return entry(
        "fused-order=" + order, "query", "The fused blocks were unpacked in the order " + order,
        "query, key and value trade places", "q, k, v = qkv.chunk(3, dim=-1)",
        "q, k, v = np.split(qkv, 3, axis=-1)",
        "The order of the blocks belongs to the weights: unpack them in the order in which they "
        "were stored.",
        "",
        first_of({unless(one_product, "query, key and value do not come out of one product"),
                  unless(
                      [](const Plan& plan) {
                          return plan.value_dim == plan.head_dim &&
                                 plan.value_heads() == plan.heads;
                      },
                      "the blocks differ in width")}),
        all_of({made_as("query", taken(0)), made_as("key", taken(1)), made_as("value", taken(2))}));
}

/// Query, key or value, as 0, 1 or 2.
using Parts = std::vector<std::size_t>;

/// The bias of one part left out, of all three where they have one.
TableEdit without_bias(std::size_t part) {
    const auto name = [part](const Plan& plan) {
        return std::string("b_") + (plan.one_weight() ? "qkv" : part_names[part]);
    };
    return reads(projecting_steps(), name, [=](const Plan& plan) -> std::string {
        if (!plan.one_weight()) return name(plan) + "[f] = 0";
        const Projected& projected = query_key_value()[part];
        const bool by_head = plan.config.projection == Projection::fused_by_head;
        const std::size_t first = plan.fused_features(part).front();
        const std::size_t count = by_head ? projected.width(plan) : projected.all_features(plan);
        const std::string feature = by_head ? "o % (2 * D + Dv)" : "o";
        return "b_qkv[o] = if " + feature + " >= " + std::to_string(first) + " and " + feature +
               " < " + std::to_string(first + count) + " then 0 else b_qkv[o]";
    });
}

struct MissingBias {
    std::string id, title, effect, fix, same_as;
    Parts parts;
};

/// Sets the parts of a bias that belong to query, key or value to zero.
Mistake bias_missing(const MissingBias& of) {
    const std::string name = part_names[of.parts.front()];
    std::vector<TableEdit> edits;
    for (const std::size_t part : of.parts) edits.push_back(without_bias(part));
    return entry(
        of.id, "projected_" + name, of.title, of.effect, of.fix,
        name + " = x @ w_" + name + " + b_" + name,
        "A bias that was trained belongs to the layer; only the key's can be left out unseen.",
        of.same_as,
        unless([](const Plan& plan) { return plan.config.bias; }, "the projections have no bias"),
        all_of(std::move(edits)));
}

/// query, key and value are x itself, only cut into heads.
TableEdit skip_projection() {
    std::vector<TableEdit> edits{
        with_plan(head_steps(), [](Plan& plan) { plan.config.projection = Projection::none; })};
    for (const Projected& part : query_key_value()) {
        edits.push_back(follows([part](const Plan& plan) {
            return "projected_" + part.name + "[t,o] = " + part.source(plan) + "[t,o]";
        }));
    }
    return all_of(std::move(edits));
}

/// Makes one of query, key and value with the parameters of another.
Mistake wrong_weight(std::size_t part, std::size_t other, const char* same_as) {
    const std::string name = part_names[part];
    const std::string taken = part_names[other];
    const std::vector<std::string> steps{"projected_" + name, name};
    return entry(
        "wrong-weight=" + name + "-by-" + taken, "projected_" + name,
        "The " + name + " was made with the " + taken + "'s weight",
        "the weight of the " + name + " has no influence", name + " = self.w_" + name + "(x)",
        name + " = x @ w_" + name,
        "Three projections, three weights: a line that was copied needs its new name twice.",
        same_as,
        first_of({unless([](const Plan& plan) { return projects_x(plan) && !plan.one_weight(); },
                         "query, key and value come out of one weight, or of none"),
                  unless(
                      [part, other](const Plan& plan) {
                          const bool same_source =
                              (part != 0 && other != 0) || plan.embed_dim == plan.memory_dim;
                          const auto& parts = query_key_value();
                          const bool same_heads =
                              !plan.head_axis_on_weight() ||
                              parts[part].heads(plan) == parts[other].heads(plan);
                          return same_source && same_heads &&
                                 stored_width(plan, part) == stored_width(plan, other);
                      },
                      "the weights differ in shape: the program would stop")}),
        all_of({reads(steps, "w_" + name, "w_" + taken), reads(steps, "b_" + name, "b_" + taken)}));
}

bool keys_fit_value_weight(const Plan& plan) {
    return projects_x(plan) && !plan.one_weight() && !plan.head_axis_on_weight() &&
           plan.kv_heads * plan.head_dim == plan.memory_dim;
}

}  // namespace

void add_projection_mistakes(std::vector<Mistake>& list) {
    entry(list, "weight-not-transposed", "projected_query",
          "An (out, in) weight was multiplied without transposing it",
          "each new feature is made with a column of the weight instead of a row",
          "q = x @ w_query.T  # or F.linear(x, w_query)", "q = x @ w_query.T",
          "PyTorch's Linear keeps one row for each output feature, so x meets its transpose.", "",
          layout_not_applicable(WeightLayout::out_in, "the weights are stored (in, out) here"),
          with_plan(projecting_steps(), other_layout()));
    entry(list, "conv1d-layout", "projected_query",
          "An (in, out) weight was transposed as if it were a Linear's",
          "each new feature is made with a row of the weight instead of a column",
          "q = x @ w_query  # Conv1D weights are (in, out)", "q = x @ w_query",
          "GPT-2's Conv1D and plain NumPy matrices keep one column for each output feature.", "",
          layout_not_applicable(WeightLayout::in_out, "the weights are stored (out, in) here"),
          with_plan(projecting_steps(), other_layout()));
    entry(
        list, "fused-layout", "query", "The fused projection was cut in the other layout",
        "heads receive features of other heads, and of key or value",
        "q, k, v = qkv.chunk(3, dim=-1)  # or .view(B, T, H, 3, D), as the weights were "
        "stored",
        "q, k, v = np.split(qkv, 3, axis=-1)  # or reshape(B, T, H, 3, D), as stored",
        "All numbers are right and in the wrong heads: find out how the checkpoint orders "
        "its "
        "features.",
        "",
        first_of({unless([](const Plan& plan) { return plan.one_weight(); },
                         "query, key and value have weights of their own"),
                  unless([](const Plan& plan) { return plan.heads > 1; },
                         "with one head both layouts are the same"),
                  unless([](const Plan& plan) { return plan.value_heads() == plan.heads; },
                         "the heads share keys or values: there is no such layout head by head")}),
        with_plan(projecting_steps(), read_fused_the_other_way));
    for (const char* order : {"kqv", "qvk", "vkq", "vqk", "kvq"}) {
        list.push_back(fused_order(order));
    }
    entry(list, "v-from-projected-k", "projected_value", "Values were made from the finished keys",
          "the value weight is applied to keys instead of x", "v = self.w_value(x)",
          "v = x @ w_value", "A name used twice: keep the input under a name of its own.", "",
          unless(keys_fit_value_weight, "the keys do not fit the value weight"),
          reads(
              {"projected_value", "value"},
              [](const Plan& plan) { return query_key_value()[2].source(plan); },
              [](const Plan& plan) -> std::string {
                  return walk_has(plan, "projected_key") ? "projected_key" : "key";
              }));
    entry(list, "no-projection", "projected_query", "Query, key and value are x itself",
          "the projection weights have no influence",
          "q, k, v = self.w_query(x), self.w_key(x), self.w_value(x)",
          "q, k, v = x @ w_query, x @ w_key, x @ w_value",
          "Without projections there is nothing to learn, and every token likes itself best.", "",
          unless(
              [](const Plan& plan) {
                  return projects_x(plan) && plan.embed_dim == plan.heads * plan.head_dim &&
                         plan.memory_dim == plan.embed_dim && plan.value_dim == plan.head_dim &&
                         plan.value_heads() == plan.heads;
              },
              "x does not have as many features as all heads together"),
          skip_projection());
    list.push_back(shared_head_weight());
    list.push_back(wrong_weight(0, 1, "keys for queries"));
    list.push_back(wrong_weight(1, 0, "queries for keys"));
    list.push_back(wrong_weight(2, 1, "keys for values"));
    list.push_back(wrong_weight(2, 0, ""));
    list.push_back(wrong_weight(0, 2, ""));
    list.push_back(wrong_weight(1, 2, ""));
    const std::string linear = "nn.Linear(..., bias=True)";
    for (const MissingBias& each : std::vector<MissingBias>{
             {"bias-missing=query",
              "The bias of the query was left out",
              "scores lose the part that depends on the key alone",
              linear,
              "",
              {0}},
             {"bias-missing=key",
              "The bias of the key was left out",
              "every row of scores moves by a constant, which softmax takes out again",
              linear,
              "no difference after softmax",
              {1}},
             {"bias-missing=value",
              "The bias of the value was left out",
              "every context vector misses the same constant",
              linear,
              "",
              {2}},
             {"bias-qkv-missing",
              "The biases of query, key and value were left out",
              "all three are off by a constant; in models that rotate, scores change too",
              "self.q_proj = nn.Linear(..., bias=True)  # Qwen2: k_proj and v_proj too",
              "",
              {0, 1, 2}}}) {
        list.push_back(bias_missing(each));
    }
}

}  // namespace attn
