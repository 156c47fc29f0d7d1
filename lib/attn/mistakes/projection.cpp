#include "attn/cards/step_table.hpp"
#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"
#include "attn/plan/projected.hpp"

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

/// Each of query, key and value is written as the one whose block it took.
std::vector<WrongLines> fused_order_lines(const std::string& letters) {
    std::vector<WrongLines> lines;
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string name = part_names[i];
        const std::string taken = part_names[letters.find("qkv"[i])];
        const auto write = [name, taken](const StepLines& of, const std::string&) {
            const Step& step = find_step(step_table(), taken);
            return name + step.code({{of.plan, of.table, step}, of.language}).substr(taken.size());
        };
        lines.push_back({name, write, formula(name + " = the " + taken + " features")});
    }
    return lines;
}

/// Lets each of query, key and value be computed as another one of them: `order` says which block
/// of the fused product each of the three took.
Mistake fused_order(const char* order) {
    const std::string letters = order;
    const auto apply = [letters](StepTable table, const Plan&) {
        std::array<Compute, 3> computes;
        for (const Step& step : table) {
            for (std::size_t i = 0; i < 3; ++i) {
                if (step.name == part_names[i]) computes[i] = step.compute;
            }
        }
        for (Step& step : table) {
            for (std::size_t i = 0; i < 3; ++i) {
                if (step.name != part_names[i]) continue;
                // Name number i was given to the block that stands at its letter's place.
                const std::size_t block = letters.find("qkv"[i]);
                step.compute = [i, other = computes[block]](const Plan& plan,
                                                            const Ledger& ledger) -> Tensor {
                    return {plan.per_head_axes(i == 0 ? "query" : "key", "feature"),
                            other(plan, ledger).values()};
                };
            }
        }
        return table;
    };
    return {
        std::string("fused-order=") + order,
        "query",
        std::string("The fused blocks were unpacked in the order ") + order,
        "query, key and value trade places",
        "q, k, v = qkv.chunk(3, dim=-1)",
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
        apply,
        fused_order_lines(letters)};
}

/// Lines that alter a parameter right before it is first used.
std::vector<WrongLines> altered_first(Lines alter) {
    std::vector<WrongLines> lines;
    for (const std::string& step : projecting_steps()) {
        const auto write = [alter](const StepLines& of, const std::string& right) {
            return (multiplies_first(of) ? alter(of, right) + "\n" : "") + right;
        };
        lines.push_back({step, write, formula("{right}")});
    }
    return lines;
}

/// Query, key or value, as 0, 1 or 2.
using Parts = std::vector<std::size_t>;

/// The line that sets one part of a bias of all three to zero.
std::string zeroed_part(const StepLines& of, std::size_t part) {
    const Projected& projected = query_key_value()[part];
    const bool by_head = of.plan.config.projection == Projection::fused_by_head;
    const std::string range =
        slice_text(of.plan.fused_features(part).front(),
                   by_head ? projected.width(of.plan) : projected.all_features(of.plan));
    return std::string("\nb_qkv") + (by_head ? say(".reshape({H}, -1)[:, ")(of, "") : "[") + range +
           "] = 0";
}

std::vector<WrongLines> bias_lines(const Parts& parts) {
    std::vector<WrongLines> lines;
    for (const std::size_t part : parts) {
        const std::string name = part_names[part];
        for (const std::string& step : {"projected_" + name, name}) {
            const std::string bias = " \\+ b_" + name + "(\\[[^\\]]*\\])?";
            lines.push_back({step, replaced(bias, ""), formula_with(bias, "")});
        }
    }
    const auto zero = [parts](const StepLines& of, const std::string&) -> std::string {
        if (!of.plan.one_weight()) return "";
        std::string text = std::string("b_qkv = b_qkv.") + (of.torch() ? "clone()" : "copy()");
        for (const std::size_t part : parts) text += zeroed_part(of, part);
        return text;
    };
    for (WrongLines& each : altered_first(zero)) {
        const auto write = [write = each.lines](const StepLines& of, const std::string& right) {
            return of.plan.one_weight() ? write(of, right) : right;
        };
        lines.push_back({each.step, write, formula("{right}")});
    }
    return lines;
}

void drop_bias(Ledger& ledger, const Plan& plan, std::size_t part) {
    const std::string name = std::string("b_") + (plan.one_weight() ? "qkv" : part_names[part]);
    const Tensor* bias = ledger.find(name);
    if (bias == nullptr) return;
    const std::vector<std::size_t> features =
        plan.one_weight() ? plan.fused_features(part) : std::vector<std::size_t>{};
    with_floating(plan.compute_dtype, [&](auto zero) {
        Array<decltype(zero)> less = bias->as<decltype(zero)>();
        if (!plan.one_weight()) less.fill(0);
        for (const std::size_t feature : features) less.data()[feature] = 0;
        ledger.record(name, {bias->axes(), less});
    });
}

struct MissingBias {
    std::string id, title, effect, fix, same_as;
    Parts parts;
};

/// Sets the parts of a bias that belong to query, key or value to zero.
Mistake bias_missing(const MissingBias& of) {
    const std::string name = part_names[of.parts.front()];
    return {
        of.id,
        "projected_" + name,
        of.title,
        of.effect,
        of.fix,
        name + " = x @ w_" + name + " + b_" + name,
        "A bias that was trained belongs to the layer; only the key's can be left out unseen.",
        of.same_as,
        unless([](const Plan& plan) { return plan.config.bias; }, "the projections have no bias"),
        with_ledger(projecting_steps(),
                    [parts = of.parts](Ledger& ledger, const Plan& plan) {
                        for (const std::size_t part : parts) drop_bias(ledger, plan, part);
                    }),
        bias_lines(of.parts)};
}

Lines unprojected(const Projected& part) {
    return [part](const StepLines& of, const std::string&) {
        return "projected_" + part.name + " = " + part.source(of.plan);
    };
}

/// query, key and value are x itself, only cut into heads.
TableEdit skip_projection() {
    TableEdit heads =
        with_plan(head_steps(), [](Plan& plan) { plan.config.projection = Projection::none; });
    const auto plain = [](const Projected& part) {
        return replace_step({"projected_" + part.name},
                            [part](const Plan& plan, const Ledger& ledger, const Compute&) {
                                return ledger[part.source(plan)];
                            });
    };
    const auto& [query, key, value] = query_key_value();
    return all_of({heads, plain(query), plain(key), plain(value)});
}

std::vector<WrongLines> taken_lines(const std::string& name, const std::string& taken) {
    std::vector<WrongLines> lines;
    for (const std::string& step : {"projected_" + name, name}) {
        lines.push_back({step, replaced("\\b([wb])_" + name + "\\b", "$1_" + taken),
                         formula_with("\\b([wb])_" + name + "\\b", "$1_" + taken)});
    }
    return lines;
}

/// Makes one of query, key and value with the parameters of another.
Mistake wrong_weight(std::size_t part, std::size_t other, const char* same_as) {
    const std::string name = part_names[part];
    const std::string taken = part_names[other];
    const auto take = [name, taken](Ledger& ledger, const Plan&) {
        for (const std::string parameter : {"w_", "b_"}) {
            if (const Tensor* tensor = ledger.find(parameter + taken)) {
                const Tensor copy = *tensor;
                ledger.record(parameter + name, copy);
            }
        }
    };
    return {
        "wrong-weight=" + name + "-by-" + taken,
        "projected_" + name,
        "The " + name + " was made with the " + taken + "'s weight",
        "the weight of the " + name + " has no influence",
        name + " = self.w_" + name + "(x)",
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
        with_ledger({"projected_" + name, name}, take),
        taken_lines(name, taken)};
}

/// The value projection reads the finished keys instead of x.
void put_keys_in_place_of_x(Ledger& ledger, const Plan& plan) {
    const Tensor* keys = ledger.find("projected_key");
    ledger.record(query_key_value()[2].source(plan), keys != nullptr ? *keys : ledger["key"]);
}

bool keys_fit_value_weight(const Plan& plan) {
    return projects_x(plan) && !plan.one_weight() && !plan.head_axis_on_weight() &&
           plan.kv_heads * plan.head_dim == plan.memory_dim;
}

}  // namespace

void add_projection_mistakes(std::vector<Mistake>& list) {
    add(list,
        {
            {"weight-not-transposed", "projected_query",
             "An (out, in) weight was multiplied without transposing it",
             "each new feature is made with a column of the weight instead of a row",
             "q = x @ w_query.T  # or F.linear(x, w_query)", "q = x @ w_query.T",
             "PyTorch's Linear keeps one row for each output feature, so x meets its transpose.",
             "",
             layout_not_applicable(WeightLayout::out_in, "the weights are stored (in, out) here"),
             with_plan(projecting_steps(), other_layout())},
            {"conv1d-layout", "projected_query",
             "An (in, out) weight was transposed as if it were a Linear's",
             "each new feature is made with a row of the weight instead of a column",
             "q = x @ w_query  # Conv1D weights are (in, out)", "q = x @ w_query",
             "GPT-2's Conv1D and plain NumPy matrices keep one column for each output feature.", "",
             layout_not_applicable(WeightLayout::in_out, "the weights are stored (out, in) here"),
             with_plan(projecting_steps(), other_layout())},
            {"fused-layout", "query", "The fused projection was cut in the other layout",
             "heads receive features of other heads, and of key or value",
             "q, k, v = qkv.chunk(3, dim=-1)  # or .view(B, T, H, 3, D), as the weights were "
             "stored",
             "q, k, v = np.split(qkv, 3, axis=-1)  # or reshape(B, T, H, 3, D), as stored",
             "All numbers are right and in the wrong heads: find out how the checkpoint orders its "
             "features.",
             "",
             first_of(
                 {unless([](const Plan& plan) { return plan.one_weight(); },
                         "query, key and value have weights of their own"),
                  unless([](const Plan& plan) { return plan.heads > 1; },
                         "with one head both layouts are the same"),
                  unless([](const Plan& plan) { return plan.value_heads() == plan.heads; },
                         "the heads share keys or values: there is no such layout head by head")}),
             with_plan(projecting_steps(), read_fused_the_other_way)},
        });
    for (const char* order : {"kqv", "qvk", "vkq", "vqk", "kvq"}) {
        list.push_back(fused_order(order));
    }
    add(list,
        {
            {"v-from-projected-k",
             "projected_value",
             "Values were made from the finished keys",
             "the value weight is applied to keys instead of x",
             "v = self.w_value(x)",
             "v = x @ w_value",
             "A name used twice: keep the input under a name of its own.",
             "",
             unless(keys_fit_value_weight, "the keys do not fit the value weight"),
             with_ledger({"projected_value", "value"},
                         [](Ledger& ledger, const Plan& plan) {
                             if (ledger.has("projected_value")) return;
                             put_keys_in_place_of_x(ledger, plan);
                         }),
             {{"projected_value", replaced("= (x|normed_x|memory) @", "= projected_key @"),
               formula_with("= (x|normed_x|memory) @", "= projected_key @")},
              {"value", replaced("= (x|normed_x|memory) @", "= key @"),
               formula_with("= (x|normed_x|memory) @", "= key @")}}},
            {"no-projection",
             "projected_query",
             "Query, key and value are x itself",
             "the projection weights have no influence",
             "q, k, v = self.w_query(x), self.w_key(x), self.w_value(x)",
             "q, k, v = x @ w_query, x @ w_key, x @ w_value",
             "Without projections there is nothing to learn, and every token likes itself best.",
             "",
             unless(
                 [](const Plan& plan) {
                     return projects_x(plan) && plan.embed_dim == plan.heads * plan.head_dim &&
                            plan.memory_dim == plan.embed_dim && plan.value_dim == plan.head_dim &&
                            plan.value_heads() == plan.heads;
                 },
                 "x does not have as many features as all heads together"),
             skip_projection(),
             {{"projected_query", unprojected(query_key_value()[0])},
              {"projected_key", unprojected(query_key_value()[1])},
              {"projected_value", unprojected(query_key_value()[2])}}},
            shared_head_weight(),
        });
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
