#include "attn/core/cards/step_table.hpp"
#include "attn/core/plan/projected.hpp"
#include "attn/core/rules/print.hpp"
#include "attn/core/walk/step_rule.hpp"
#include "attn/judge/mistakes/change.hpp"

namespace attn {
namespace {

/// How many features come out of one stored query (or value) matrix.
std::size_t stored_width(const Plan& plan, std::size_t part) {
    const Projected& projected = query_key_value()[part];
    return plan.head_axis_on_weight() ? projected.width(plan) : projected.all_features(plan);
}

bool one_product(const Plan& plan) { return plan.one_weight() && !plan.has_memory; }
bool several_weights(const Plan& plan) { return projects_x(plan) && !plan.one_weight(); }
bool equal_widths(const Plan& plan) {
    return plan.value_dim == plan.head_dim && plan.value_heads() == plan.heads;
}

bool square_weights(const Plan& plan) {
    return projects_x(plan) && plan.config.projection != Projection::fused_by_head &&
           stored_width(plan, 0) == plan.embed_dim && stored_width(plan, 1) == plan.memory_dim &&
           stored_width(plan, 2) == plan.memory_dim;
}

/// The weight of all three with its rows taken from elsewhere; `{o}` is the row, `{i}` the column.
std::string fused_weight(const Plan& plan, const std::string& row, const std::string& column) {
    const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
    return out_in ? "w_qkv[o,i] = w_qkv[" + row + ", " + column + "]"
                  : "w_qkv[i,o] = w_qkv[" + column + ", " + row + "]";
}

/// Reads weights in the other layout: each matrix, or each third of the one of all three.
TableEdit read_in_other_layout() {
    const TableEdit each = with_plan(projecting_steps, other_layout);
    const TableEdit thirds = reads(projecting_steps, "w_qkv", [](const Plan& plan) {
        return fused_weight(plan, "o - o % C + i", "o % C");
    });
    return [=](StepTable table, const Plan& plan) {
        return (plan.one_weight() ? thirds : each)(std::move(table), plan);
    };
}

bool keys_fit_value_weight(const Plan& plan) {
    return several_weights(plan) && !plan.head_axis_on_weight() &&
           plan.kv_heads * plan.head_dim == plan.memory_dim;
}

/// A weight that was taken for one of the other layout.
void mistaken_layout(std::vector<Mistake>& list, const char* id, const char* title,
                     const char* effect, const Fix& fix, const char* lesson, WeightLayout stored,
                     const char* reason) {
    entry(list, id, "projected_query", title, effect, fix, lesson,
          {{square_weights, "the weights are not square: the product would not fit"},
           {[stored](const Plan& plan) { return *plan.config.weight_layout == stored; }, reason}},
          read_in_other_layout());
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
        return rule;
    });
}

/// Lets each of query, key and value be computed as another one of them: `order` says which block
/// of the fused product each of the three took.
void fused_order(std::vector<Mistake>& list, const std::string& order) {
    // Name number i was given to the block that is at its letter's place.
    const auto taken = [order](std::size_t i) { return part_names[order.find("qkv"[i])]; };
    entry(
        list, "fused-order=" + order, "query",
        "The fused blocks were unpacked in the order " + order, "query, key and value trade places",
        Fix("q, k, v = qkv.chunk(3, dim=-1)", "q, k, v = np.split(qkv, 3, axis=-1)"),
        "The order of the blocks belongs to the weights: unpack them in the order in which they "
        "were stored.",
        {{one_product, "query, key and value do not come out of one product"},
         {equal_widths, "the blocks differ in width"}},
        all_of({made_as("query", taken(0)), made_as("key", taken(1)), made_as("value", taken(2))}));
}

/// The bias of one part left out, of all three where they have one.
TableEdit without_bias(std::size_t part) {
    const auto name = [part](const Plan& plan) {
        return std::string("b_") + (plan.one_weight() ? "qkv" : part_names[part]);
    };
    return reads(projecting_steps, name, [=](const Plan& plan) -> std::string {
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

/// Sets the parts of a bias that belong to query, key or value to zero.
void bias_missing(std::vector<Mistake>& list, const char* id, const std::string& title,
                  const char* effect, std::vector<std::size_t> parts,
                  const char* torch = "nn.Linear(..., bias=True)", const char* same_as = "") {
    const std::string name = part_names[parts.front()];
    std::vector<TableEdit> edits;
    for (const std::size_t part : parts) edits.push_back(without_bias(part));
    entry(list, id, "projected_" + name, title + " left out", effect,
          Fix(torch, name + " = x @ w_" + name + " + b_" + name),
          "A bias that was trained belongs to the layer; only the key's can be left out unseen.",
          {[](const Plan& plan) { return plan.config.bias; }, "the projections have no bias"},
          all_of(edits), same_as);
}

/// query, key and value are x itself, only cut into heads.
TableEdit skip_projection() {
    std::vector<TableEdit> edits;
    for (const Projected& part : query_key_value()) {
        const std::string whole = "projected_" + part.name;
        edits.push_back(follows(
            [=](const Plan& plan) { return whole + "[t,o] = " + part.source(plan) + "[t,o]"; }));
        edits.push_back(follows([=](const Plan& plan) {
            const std::string from = walk_has(plan, whole) ? whole : part.source(plan);
            return part.name + (plan.has_head ? "[h,t,f] = " + from + "[t, h * D + f]"
                                              : "[t,f] = " + from + "[t,f]");
        }));
    }
    return all_of(edits);
}

/// Makes one of query, key and value with the parameters of another.
void wrong_weight(std::vector<Mistake>& list, std::size_t part, std::size_t other,
                  const char* same_as = "") {
    const std::string name = part_names[part];
    const std::string taken = part_names[other];
    const std::vector<std::string> steps{"projected_" + name, name};
    const auto same_shape = [part, other](const Plan& plan) {
        if (plan.one_weight()) return equal_widths(plan) && !plan.has_memory;
        const bool same_source = (part != 0 && other != 0) || plan.embed_dim == plan.memory_dim;
        const auto& parts = query_key_value();
        const bool same_heads =
            !plan.head_axis_on_weight() || parts[part].heads(plan) == parts[other].heads(plan);
        return same_source && same_heads && stored_width(plan, part) == stored_width(plan, other);
    };
    // Of one weight, the rows of the other part.
    const auto row = [part, other](const Plan& plan) {
        const bool by_head = plan.config.projection == Projection::fused_by_head;
        const std::size_t width = by_head ? plan.head_dim : plan.heads * plan.head_dim;
        const std::string block = "floor(o / " + std::to_string(width) + ")";
        const std::string own = "(if " + block + (by_head ? " % 3" : "") + " == ";
        const auto shift = static_cast<std::ptrdiff_t>(other) - static_cast<std::ptrdiff_t>(part);
        const std::string far =
            std::to_string(std::abs(shift) * static_cast<std::ptrdiff_t>(width));
        return own + std::to_string(part) + " then o " + (shift < 0 ? "- " : "+ ") + far +
               " else o)";
    };
    entry(
        list, "wrong-weight=" + name + "-by-" + taken, "projected_" + name,
        "The " + name + " was made with the " + taken + "'s weight",
        "the weight of the " + name + " has no influence",
        Fix(name + " = self.w_" + name + "(x)", name + " = x @ w_" + name),
        "Three projections, three weights: a line that was copied needs its new name twice.",
        {{projects_x, "nothing is projected"},
         {same_shape, "the weights differ in shape: the program would stop"}},
        all_of({reads(steps, "w_" + name, "w_" + taken), reads(steps, "b_" + name, "b_" + taken),
                reads(projecting_steps, "w_qkv",
                      [row](const Plan& plan) { return fused_weight(plan, row(plan), "i"); }),
                reads(projecting_steps, "b_qkv",
                      [row](const Plan& plan) { return "b_qkv[o] = b_qkv[" + row(plan) + "]"; })}),
        same_as);
}

/// The weight, or bias, of one part with the block of head 0 once for each head, and zeros around
/// it. `{first}` is where the features of the part begin, `{width}` how many of them a head has.
std::string one_block(const Plan& plan, std::size_t part, bool bias) {
    const bool by_head = plan.config.projection == Projection::fused_by_head;
    const bool of_all = plan.one_weight() && !by_head;
    const std::string first = "(if o < 2 * H * D then o - o % (H * D) else 2 * H * D)";
    const std::string width = by_head     ? "(2 * D + Dv)"
                              : of_all    ? "(if o < 2 * H * D then D else Dv)"
                              : part == 2 ? "Dv"
                                          : "D";
    const std::string name = plan.one_weight() ? "qkv" : part_names[part];
    const std::size_t in = part == 0 ? plan.embed_dim : plan.memory_dim;
    std::string rule = "b_" + name + "[o] = b_" + name + "[{first} + {place} % {width}]";
    if (!bias) {
        const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
        rule = "w_" + name + (out_in ? "[o,i]" : "[i,o]") +
               " = if floor({place} / {width}) == floor(i / {in}) then w_" + name +
               (out_in ? "[{first} + {place} % {width}, i % {in}]"
                       : "[i % {in}, {first} + {place} % {width}]") +
               " else 0";
    }
    return filled(rule, {{"first", of_all ? first : "0"},
                         {"place", of_all ? "(o - " + first + ")" : "o"},
                         {"width", width},
                         {"in", std::to_string(in / plan.heads)}});
}

TableEdit share_one_block() {
    std::vector<TableEdit> edits;
    for (std::size_t part = 0; part < 3; ++part) {
        for (const bool bias : {false, true}) {
            const auto name = [=](const Plan& plan) {
                // One weight of all three is shared once.
                if (plan.one_weight() && part > 0) return std::string("none");
                return std::string(bias ? "b_" : "w_") +
                       (plan.one_weight() ? "qkv" : part_names[part]);
            };
            edits.push_back(reads(projecting_steps, name,
                                  [=](const Plan& plan) { return one_block(plan, part, bias); }));
        }
    }
    return all_of(edits);
}

bool makes_heads_at_once(const Plan& plan) {
    return projects_x(plan) && plan.heads > 1 && !plan.head_axis_on_weight() &&
           plan.value_heads() == plan.heads;
}

}  // namespace

void add_projection_mistakes(std::vector<Mistake>& list) {
    mistaken_layout(
        list, "weight-not-transposed", "An (out, in) weight was multiplied without transposing it",
        "each new feature is made with a column of the weight instead of a row",
        Fix("q = x @ w_query.T  # or F.linear(x, w_query)", "q = x @ w_query.T"),
        "PyTorch's Linear keeps one row for each output feature, so x meets its transpose.",
        WeightLayout::out_in, "the weights are stored (in, out) here");
    mistaken_layout(
        list, "conv1d-layout", "An (in, out) weight was transposed as if it were a Linear's",
        "each new feature is made with a row of the weight instead of a column",
        Fix("q = x @ w_query  # Conv1D weights are (in, out)", "q = x @ w_query"),
        "GPT-2's Conv1D and plain NumPy matrices keep one column for each output feature.",
        WeightLayout::in_out, "the weights are stored (out, in) here");
    entry(
        list, "fused-layout", "query", "The fused projection was cut in the other layout",
        "heads receive features of other heads, and of key or value",
        Fix("q, k, v = qkv.chunk(3, dim=-1)  # or .view(B, T, H, 3, D), as the weights were stored",
            "q, k, v = np.split(qkv, 3, axis=-1)  # or reshape(B, T, H, 3, D), as stored"),
        "All numbers are right and in the wrong heads: find out how the checkpoint orders its "
        "features.",
        {{&Plan::one_weight, "query, key and value have weights of their own"},
         {[](const Plan& plan) { return plan.heads > 1; },
          "with one head both layouts are the same"},
         {[](const Plan& plan) { return plan.value_heads() == plan.heads; },
          "the heads share keys or values: there is no such layout head by head"}},
        with_plan(projecting_steps, read_fused_the_other_way));
    for (const char* order : {"kqv", "qvk", "vkq", "vqk", "kvq"}) fused_order(list, order);
    entry(list, "v-from-projected-k", "projected_value", "Values were made from the finished keys",
          "the value weight is applied to keys instead of x",
          Fix("v = self.w_value(x)", "v = x @ w_value"),
          "A name used twice: keep the input under a name of its own.",
          {keys_fit_value_weight, "the keys do not fit the value weight"},
          reads(
              {"projected_value", "value"},
              [](const Plan& plan) { return query_key_value()[2].source(plan); },
              [](const Plan& plan) -> std::string {
                  return walk_has(plan, "projected_key") ? "projected_key" : "key";
              }));
    entry(list, "no-projection", "projected_query", "Query, key and value are x itself",
          "the projection weights have no influence",
          Fix("q, k, v = self.w_query(x), self.w_key(x), self.w_value(x)",
              "q, k, v = x @ w_query, x @ w_key, x @ w_value"),
          "Without projections there is nothing to learn, and every token likes itself best.",
          {[](const Plan& plan) {
               return projects_x(plan) && plan.embed_dim == plan.heads * plan.head_dim &&
                      plan.memory_dim == plan.embed_dim && equal_widths(plan);
           },
           "x does not have as many features as all heads together"},
          skip_projection());
    entry(list, "shared-head-weight", "projected_query",
          "x was cut into heads first and one small weight served all of them",
          "each head sees only its own slice of x; here the small weight is head 0's first block",
          Fix("q = nn.Linear(C, C)(x).view(B, T, H, D)", "q = (x @ w_query).reshape(B, T, H, D)"),
          "Project first, split afterwards: each head has to see all of the embedding.",
          {{makes_heads_at_once, "there is no weight that makes several heads at once"},
           {[](const Plan& plan) {
                return plan.embed_dim % plan.heads == 0 && plan.memory_dim % plan.heads == 0;
            },
            "x does not divide into heads"}},
          share_one_block());
    wrong_weight(list, 0, 1, "keys for queries");
    wrong_weight(list, 1, 0, "queries for keys");
    wrong_weight(list, 2, 1, "keys for values");
    wrong_weight(list, 2, 0);
    wrong_weight(list, 0, 2);
    wrong_weight(list, 1, 2);
    const char* const linear = "nn.Linear(..., bias=True)";
    bias_missing(list, "bias-missing=query", "The bias of the query was",
                 "scores lose the part that depends on the key alone", {0});
    bias_missing(list, "bias-missing=key", "The bias of the key was",
                 "every row of scores moves by a constant, which softmax takes out again", {1},
                 linear, "no difference after softmax");
    bias_missing(list, "bias-missing=value", "The bias of the value was",
                 "every context vector misses the same constant", {2});
    bias_missing(list, "bias-qkv-missing", "The biases of query, key and value were",
                 "all three are off by a constant; in models that rotate, scores change too",
                 {0, 1, 2},
                 "self.q_proj = nn.Linear(..., bias=True)  # Qwen2: k_proj and v_proj too");
}

}  // namespace attn
