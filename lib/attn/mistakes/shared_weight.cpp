#include "attn/codegen/step_lines.hpp"
#include "attn/mistakes/change.hpp"

// The mistake that lets one small weight serve all heads.

namespace attn {
namespace {

/// One block, that of head 0's first features, in the place of every head's own.
template <class T>
Array<T> repeated_block(const Array<T>& weight, const std::vector<std::size_t>& out,
                        std::size_t heads, bool out_in) {
    Array<T> result = weight;
    const std::size_t in = out_in ? weight.shape(1) : weight.shape(0);
    const std::size_t outs = out_in ? weight.shape(0) : weight.shape(1);
    const std::size_t tall = out.size() / heads;
    const std::size_t wide = in / heads;
    const auto place = [&](std::size_t o, std::size_t i) {
        return out_in ? o * in + i : i * outs + o;
    };
    for (std::size_t o = 0; o < out.size(); ++o) {
        for (std::size_t i = 0; i < in; ++i) {
            const bool own_slice = o / tall == i / wide;
            result.data()[place(out[o], i)] =
                own_slice ? weight.data()[place(out[o % tall], i % wide)] : T(0);
        }
    }
    return result;
}

void share_one_block(Ledger& ledger, const Plan& plan) {
    const bool out_in = *plan.config.weight_layout == WeightLayout::out_in;
    for (std::size_t part = 0; part < 3; ++part) {
        const std::string name = plan.one_weight() ? "qkv" : part_names[part];
        if (!ledger.has("w_" + name)) continue;  // another mistake does without it
        std::vector<std::size_t> out(stored_width(plan, part));
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = i;
        if (plan.one_weight()) out = plan.fused_features(part);
        with_floating(plan.compute_dtype, [&](auto zero) {
            using T = decltype(zero);
            const Tensor weight = ledger["w_" + name];
            ledger.record("w_" + name,
                          {weight.axes(), repeated_block(weight.as<T>(), out, plan.heads, out_in)});
            if (const Tensor* bias = ledger.find("b_" + name)) {
                Array<T> shared = bias->as<T>();
                for (std::size_t o = 0; o < out.size(); ++o) {
                    shared.data()[out[o]] =
                        bias->as<T>().data()[out[o % (out.size() / plan.heads)]];
                }
                ledger.record("b_" + name, {bias->axes(), shared});
            }
        });
    }
}

/// Writes the block of head 0 on the diagonal, once for each head, and zeros around it.
std::string one_block(const StepLines& of, const std::string& weight, const std::string& rows,
                      std::size_t columns) {
    const std::string wide = slice_text(0, columns);
    const std::string block =
        weight + "[" + (of.out_in() ? rows + ", " + wide : wide + ", " + rows) + "]";
    const std::string heads = std::to_string(of.plan.heads);
    return of.torch() ? "torch.block_diag(*[" + block + "] * " + heads + ")"
                      : "np.kron(np.eye(" + heads + ", dtype=" + weight + ".dtype), " + block + ")";
}

/// Writes the parameters of one projection, each head with those of head 0.
std::string share(const StepLines& of, const std::string& name, std::size_t columns,
                  const std::vector<std::pair<std::size_t, std::size_t>>& blocks) {
    std::string weights;
    std::string biases;
    for (const auto& [first, count] : blocks) {
        const std::string rows = slice_text(first, count);
        weights += (weights.empty() ? "" : ", ") + one_block(of, "w_" + name, rows, columns);
        const std::string bias = "b_" + name + "[" + rows + "]";
        const std::string heads = std::to_string(of.plan.heads);
        biases +=
            (biases.empty() ? "" : ", ") +
            (of.torch() ? bias + ".repeat(" + heads + ")" : "np.tile(" + bias + ", " + heads + ")");
    }
    const auto joined = [&](const std::string& parts, const std::string& axis) {
        if (blocks.size() == 1) return parts;
        return of.torch()
                   ? "torch.cat([" + parts + "]" + (axis.empty() ? "" : ", dim=" + axis) + ")"
                   : "np.concatenate([" + parts + "]" + (axis.empty() ? "" : ", axis=" + axis) +
                         ")";
    };
    std::string code = "w_" + name + " = " + joined(weights, of.out_in() ? "" : "1") + "\n";
    if (of.plan.config.bias) code += "b_" + name + " = " + joined(biases, "") + "\n";
    return code;
}

std::vector<WrongLines> shared_lines() {
    std::vector<WrongLines> lines;
    for (const std::string& step : projecting_steps()) {
        const auto write = [step](const StepLines& of, const std::string& right) {
            const Plan& plan = of.plan;
            const std::size_t queries = plan.heads * plan.head_dim;
            if (plan.one_weight() && multiplies_first(of)) {
                const std::size_t columns = plan.embed_dim / plan.heads;
                if (plan.config.projection == Projection::fused_by_head) {
                    return share(of, "qkv", columns, {{0, 2 * plan.head_dim + plan.value_dim}}) +
                           right;
                }
                return share(of, "qkv", columns,
                             {{0, plan.head_dim},
                              {queries, plan.head_dim},
                              {2 * queries, plan.value_dim}}) +
                       right;
            }
            for (std::size_t part = 0; part < 3 && !plan.one_weight(); ++part) {
                const std::string name = part_names[part];
                if (right.find("w_" + name) == std::string::npos) continue;
                const std::size_t in = part == 0 ? plan.embed_dim : plan.memory_dim;
                return share(of, name, in / plan.heads,
                             {{0, part == 2 ? plan.value_dim : plan.head_dim}}) +
                       right;
            }
            return right;
        };
        lines.push_back({step, write, formula("{right}, one block for all heads")});
    }
    return lines;
}

}  // namespace

Mistake shared_head_weight() {
    return {"shared-head-weight",
            "projected_query",
            "x was cut into heads first and one small weight served all of them",
            "each head sees only its own slice of x; here the small weight is head 0's first "
            "block",
            "q = nn.Linear(C, C)(x).view(B, T, H, D)",
            "q = (x @ w_query).reshape(B, T, H, D)",
            "Project first, split afterwards: each head has to see all of the embedding.",
            "",
            first_of({unless(
                          [](const Plan& plan) {
                              return projects_x(plan) && plan.heads > 1 &&
                                     !plan.head_axis_on_weight() &&
                                     plan.value_heads() == plan.heads;
                          },
                          "there is no weight that makes several heads at once"),
                      unless(
                          [](const Plan& plan) {
                              return plan.embed_dim % plan.heads == 0 &&
                                     plan.memory_dim % plan.heads == 0;
                          },
                          "x does not divide into heads")}),
            with_ledger(projecting_steps(), share_one_block),
            shared_lines()};
}

}  // namespace attn
